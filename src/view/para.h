/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * para.h: paragraphs of words that wrap under a label: what the summary is made of.
 *
 *     samples   1980 in 10.0 s; lost: a sample inside a sample 2,
 *               table of counts full 1
 *
 * What is written to the stream between begin and end is split at its spaces, encoded for a terminal and wrapped; a
 * word that is longer than a line stands alone on it. When memory is short `failed` says so and the words may be
 * missing. Private to the views; the struct owns nothing outside of begin and end.
 */
#ifndef SP_VIEW_PARA_H
#define SP_VIEW_PARA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct sp_para {
	FILE *out;
	size_t width, indent; /* columns */
	bool bold_label;      /* for a terminal */
	bool failed;
	FILE *words;
	char *text;
	size_t len, column;
};

FILE *sp_para_begin(struct sp_para *para, const char *label);
void sp_para_end(struct sp_para *para);

#endif

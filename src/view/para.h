/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * para.h: labelled paragraphs with wrapped text, of which the summary is made.
 *
 *     samples   1980 in 10.0 s; lost: a sample inside a sample 2,
 *               table of counts full 1
 *
 * What is written to the stream between begin and end is split at spaces, encoded for a terminal and wrapped; a word
 * longer than a line gets a line of its own. `failed`: out of memory, text may be missing. Private to the views; the
 * struct owns memory only between begin and end.
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

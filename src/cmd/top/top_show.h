/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_show.h: what `soprof top` shows, as lines of text for the screen and for scripts.
 *
 * All output is encoded for a terminal (base/encode.h), since names are untrusted. The caller cuts the lines of the
 * head; grid.h fits the table to the width. 0 or a negative errno. Reentrant.
 */
#ifndef SP_CMD_TOP_TOP_SHOW_H
#define SP_CMD_TOP_TOP_SHOW_H

#include <stdio.h>

#include "cmd/top/top_cpus.h"
#include "cmd/top/top_history.h"
#include "cmd/top/top_page.h"
#include "cmd/top/top_slide.h"

/* What the samples are, and where from. */
struct sp_top_info {
	struct sp_slide_time time;
	uint64_t rate_millihertz; /* a CPU; 0 = not known */
	uint64_t n_cpus;          /* 0 = not known */
	const char *event;        /* what is counted; NULL = CPU time */
	bool is_agent;            /* asked of the agent */
	bool own_only;            /* of the user's own processes only */
	bool has_own;             /* time.own_ns is known */
	char guard[128];          /* what --max-overhead has led to; "" = nothing */
};

struct sp_top_seen {
	const struct sp_top_state *state;
	const struct sp_profile *profile; /* NULL: nothing yet */
	const struct sp_top_page *page;
	const struct sp_top_info *info;
	const char *narrowed; /* by which options; "" = none */
	const char *error;    /* why there is nothing newer; "" = nothing is wrong */
	const struct sp_top_history *history;
	const struct sp_top_cpus *cpus;
	bool is_drawn, is_ascii; /* with bars and the last minute (top_draw.h), for a screen */
};

enum { SP_TOP_HEAD_LINES = 3, SP_TOP_LINE = 512 };

/* The lines above the table, each with a NUL. */
void sp_top_head(const struct sp_top_seen *seen, char ret_lines[SP_TOP_HEAD_LINES][SP_TOP_LINE]);
/* The rows from `first` on, and a heading above them. */
int sp_top_rows_write(const struct sp_top_seen *seen, size_t first, size_t n, unsigned width, FILE *out);
/* Line i of help; NULL after the last. */
const char *sp_top_help(const struct sp_top_seen *seen, size_t i);

#endif

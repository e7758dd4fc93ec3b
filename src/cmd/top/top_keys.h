/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_keys.h: what the keys of `soprof top` do, as a state machine without terminal or profile.
 *
 * The state is a stack of levels (the table, and what was opened in it), the order, the filter and the cursor.
 * sp_top_key() changes it and returns what the owner has to do. The owner sets n_rows and n_fit, the rows there are
 * and the rows that fit, and pushes a level when a row is to be opened. Keys are Unicode characters, and above those
 * the enum's. Pure: no memory, no errors, no clock.
 */
#ifndef SP_CMD_TOP_TOP_KEYS_H
#define SP_CMD_TOP_TOP_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/totals.h"

enum { SP_TOP_MAX_LEVELS = 4, SP_TOP_WORD = 512, SP_TOP_FILTER = 128, SP_TOP_N_VIEWS = 8 };

enum sp_top_key {
	SP_KEY_ESCAPE = 27,
	SP_KEY_SPECIAL = 0x110000,
	SP_KEY_UP,
	SP_KEY_DOWN,
	SP_KEY_LEFT,
	SP_KEY_RIGHT,
	SP_KEY_PAGE_UP,
	SP_KEY_PAGE_DOWN,
	SP_KEY_HOME,
	SP_KEY_END,
	SP_KEY_ENTER,
	SP_KEY_BACK,
	SP_KEY_TAB,
	SP_KEY_BACK_TAB,
	SP_KEY_RESIZE,
};

/* What a key asks for; bits. */
enum {
	SP_TOP_DRAW = 1,
	SP_TOP_BUILD = 2, /* other rows, of the same samples */
	SP_TOP_OPEN = 4,  /* the row under the cursor */
	SP_TOP_LATER = 8, /* the next refresh comes at another time */
	SP_TOP_QUIT = 16,
	SP_TOP_CLEAR = 32, /* the terminal may show anything */
};

enum sp_top_sort { SP_TOP_SELF, SP_TOP_TOTAL, SP_TOP_NAME };

/* The first is a table of everything; others are of what was opened in the one before. */
struct sp_top_level {
	bool is_tree, calls; /* a tree of callers, or of what it calls */
	enum sp_total_by by; /* how the table groups; of a tree: what was opened */
	enum sp_total_by of; /* grouping of the table from which `what` was opened */
	char what[SP_TOP_WORD], title[SP_TOP_WORD];
	size_t cursor, first; /* row under the cursor, row at the top */
};

struct sp_top_state {
	struct sp_top_level levels[SP_TOP_MAX_LEVELS];
	unsigned level;
	enum sp_top_sort sort;
	char filter[SP_TOP_FILTER], before[SP_TOP_FILTER]; /* UTF-8; before: it was edited */
	bool is_editing, is_paused, is_help;
	uint64_t interval_ms;
	size_t n_rows, n_fit;
};

struct sp_top_level *sp_top_level(struct sp_top_state *s);
unsigned sp_top_key(struct sp_top_state *s, uint32_t key);
/* The cursor stays in the rows, and the rows around it in sight; after n_rows or n_fit have changed. */
void sp_top_scroll(struct sp_top_state *s);
/* The level that opening a row of the one on top leads to: a tree, or another table; false: it leads nowhere. */
bool sp_top_push(struct sp_top_state *s, const char *what, const char *title);

/* The groupings that have a key, in order: 0 to SP_TOP_N_VIEWS - 1. NULL after the last. */
const char *sp_top_view_name(size_t i);
enum sp_total_by sp_top_view(size_t i);
const char *sp_top_by_name(enum sp_total_by by);

#endif

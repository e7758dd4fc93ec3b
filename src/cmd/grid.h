/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * grid.h: a table of text cells that fits the terminal.
 *
 * Cells are added row by row and encoded for a terminal. A column is as wide as its cells. If the table is wider than
 * `width`, the widest columns that may shrink become narrower, and their cells end in an ellipsis. If that is not
 * enough, columns that may be dropped are, the greatest `drop` first. Empty columns are left out; the last one is not
 * padded. -ENOMEM is reported when the table is printed. Not thread-safe.
 */
#ifndef SP_CMD_GRID_H
#define SP_CMD_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct sp_grid_column {
	const char *title;
	bool right;    /* justified */
	unsigned min;  /* it may shrink to so many columns; 0 = it may not */
	unsigned max;  /* never wider than this; 0 = no limit */
	unsigned drop; /* 0 = never */
};

enum sp_grid_colour { SP_GRID_PLAIN, SP_GRID_BOLD, SP_GRID_RED, SP_GRID_YELLOW, SP_GRID_DIM };

struct sp_grid;

struct sp_grid *sp_grid_new(const struct sp_grid_column *columns, size_t n_columns); /* NULL: out of memory */
void sp_grid_free(struct sp_grid *g);
/* The next cell of the row, or the first of the next row. */
void sp_grid_put(struct sp_grid *g, enum sp_grid_colour colour, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* width 0 = no limit. Without `colour` no escape sequences. */
int sp_grid_print(const struct sp_grid *g, unsigned width, bool colour, const char *indent, FILE *out);

/* The width of the terminal that out is; 0 = it is none. ret_lines: how high it is; may be NULL. */
unsigned sp_terminal_width(FILE *out, unsigned *ret_lines);
/* Lines of a table that the terminal shows beside `others`, at least SP_TERMINAL_LEAST; 0 = out is no terminal. */
enum { SP_TERMINAL_LEAST = 10 };
unsigned sp_terminal_rows(FILE *out, unsigned others);
/* Whether out is a terminal that understands escape sequences (TERM), and whether colours are wanted (NO_COLOR). */
bool sp_terminal_has_escapes(FILE *out);
bool sp_terminal_has_colour(FILE *out);

/*
 * A line that is encoded for a terminal, cut to so many of its columns, with an ellipsis where something is missing.
 * Wide characters take two, combining ones none, as far as the locale knows them. NULL: out of memory; free it.
 */
char *sp_terminal_cut(const char *text, unsigned columns);

/* Words from this column on, where the cursor is, within the width (0 = none); a longer one is broken. Ends the line.
 */
void sp_terminal_wrap(const char *text, unsigned column, unsigned width, FILE *out);

#endif

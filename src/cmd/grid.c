/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/grid.h"

#include "base/encode.h"
#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

enum { MAX_COLUMNS = 16, GAP = 2, MIN_WRAPPED = 24 };

struct cell {
	char *text; /* encoded: neither control characters nor invalid UTF-8 */
	enum sp_grid_colour colour;
};

struct sp_grid {
	const struct sp_grid_column *columns;
	size_t n_columns, n_cells, capacity;
	struct cell *cells;
	bool failed;
};

struct layout {
	unsigned width[MAX_COLUMNS]; /* 0 = left out */
	size_t last;
};

struct sp_grid *sp_grid_new(const struct sp_grid_column *columns, size_t n_columns)
{
	struct sp_grid *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->columns = columns;
	g->n_columns = SP_MIN(n_columns, MAX_COLUMNS);
	return g;
}

void sp_grid_free(struct sp_grid *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->n_cells; i++)
		free(g->cells[i].text);
	free(g->cells);
	free(g);
}

void sp_grid_put(struct sp_grid *g, enum sp_grid_colour colour, const char *format, ...)
{
	va_list args;

	if (sp_grow(&g->cells, &g->capacity, g->n_cells + 1, sizeof(*g->cells)) < 0) {
		g->failed = true;
		return;
	}
	va_start(args, format);
	g->cells[g->n_cells] =
	    (struct cell){.text = sp_encoded_format(SP_ENCODE_TERMINAL, format, args), .colour = colour};
	va_end(args);
	g->failed |= !g->cells[g->n_cells].text;
	g->n_cells++;
}

/* --- widths, in columns of the terminal --- */
/* The length of the character, and how many columns it takes: one, where the locale does not know better. */
static size_t character(const char *text, unsigned *ret_columns)
{
	static const uint8_t bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	unsigned char lead = (unsigned char)*text;
	size_t n = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	wchar_t c = lead & bits[n];
	int columns;

	for (size_t i = 1; i < n && text[i]; i++)
		c = c << 6 | ((unsigned char)text[i] & 0x3f);
	columns = lead < 0x80 ? 1 : wcwidth(c);
	*ret_columns = columns < 0 ? 1 : (unsigned)columns;
	return n;
}

static unsigned width_of(const char *text)
{
	unsigned n = 0, columns;

	for (; *text; n += columns)
		text += character(text, &columns);
	return n;
}

/* Where the first n columns end; *ret_columns: how many of them are used. */
static size_t bytes_of(const char *text, unsigned n, unsigned *ret_columns)
{
	unsigned used = 0, columns;
	size_t i = 0;

	while (text[i]) {
		size_t length = character(text + i, &columns);

		if (used + columns > n)
			break;
		used += columns;
		i += length;
	}
	*ret_columns = used;
	return i;
}

char *sp_terminal_cut(const char *text, unsigned columns)
{
	unsigned used;
	char *cut;
	size_t n;

	if (width_of(text) <= columns || !columns)
		return strdup(columns ? text : "");
	n = bytes_of(text, columns - 1, &used);
	return asprintf(&cut, "%.*s…", (int)n, text) < 0 ? NULL : cut;
}

/* The bytes of the first word, or of as much of it as has room on a line. */
static size_t word_of(const char *text, unsigned room, unsigned *ret_columns)
{
	unsigned used = 0, columns;
	size_t i = 0;

	while (text[i] && text[i] != ' ') {
		size_t length = character(text + i, &columns);

		if (used + columns > room)
			break;
		used += columns;
		i += length;
	}
	*ret_columns = used;
	return i;
}

void sp_terminal_wrap(const char *text, unsigned column, unsigned width, FILE *out)
{
	unsigned end = width ? SP_MAX(width, column + MIN_WRAPPED) : UINT_MAX, at = column, columns;
	bool spaced = false;

	while (*text) {
		size_t len = word_of(text, end - column, &columns);

		if (at > column && at + spaced + columns > end) {
			fprintf(out, "\n%*s", (int)column, "");
			at = column;
		} else if (at > column && spaced) {
			fputc(' ', out);
			at++;
		}
		fwrite(text, 1, len, out);
		at += columns;
		spaced = text[len] == ' ';
		text += len + strspn(text + len, " ");
	}
	fputc('\n', out);
}

static void natural(const struct sp_grid *g, struct layout *l)
{
	*l = (struct layout){0};
	for (size_t i = 0; i < g->n_cells; i++) {
		unsigned *width = &l->width[i % g->n_columns];
		*width = SP_MAX(*width, width_of(g->cells[i].text));
	}
	for (size_t c = 0; c < g->n_columns; c++) {
		if (l->width[c])
			l->width[c] = SP_MAX(l->width[c], width_of(g->columns[c].title));
		if (g->columns[c].max)
			l->width[c] = SP_MIN(l->width[c], g->columns[c].max);
	}
}

static unsigned total(const struct sp_grid *g, const struct layout *l)
{
	unsigned sum = 0;

	for (size_t c = 0; c < g->n_columns; c++)
		sum += l->width[c] ? l->width[c] + GAP : 0;
	return sum ? sum - GAP : 0;
}

/* The widest column that may shrink, by one. */
static bool shrink(const struct sp_grid *g, struct layout *l)
{
	unsigned *widest = NULL;

	for (size_t c = 0; c < g->n_columns; c++)
		if (g->columns[c].min && l->width[c] > g->columns[c].min && (!widest || l->width[c] > *widest))
			widest = &l->width[c];
	if (widest)
		--*widest;
	return widest != NULL;
}

static bool drop(const struct sp_grid *g, struct layout *l)
{
	size_t worst = g->n_columns;

	for (size_t c = 0; c < g->n_columns; c++)
		if (l->width[c] && g->columns[c].drop &&
		    (worst == g->n_columns || g->columns[c].drop > g->columns[worst].drop))
			worst = c;
	if (worst == g->n_columns)
		return false;
	l->width[worst] = 0;
	return true;
}

static void lay_out(const struct sp_grid *g, unsigned width, struct layout *ret_layout)
{
	struct layout all, l;

	natural(g, &all);
	l = all;
	while (width && total(g, &l) > width) {
		if (shrink(g, &l))
			continue;
		for (size_t c = 0; c < g->n_columns; c++)
			l.width[c] = l.width[c] ? all.width[c] : 0;
		if (!drop(g, &l))
			break;
	}
	/* Where nothing helps, as narrow as it goes. */
	while (width && total(g, &l) > width && shrink(g, &l))
		;
	for (size_t c = 0; c < g->n_columns; c++)
		l.last = l.width[c] ? c : l.last;
	*ret_layout = l;
}

/* --- printing --- */
static void put_cell(const struct sp_grid *g, const struct layout *l, size_t c, const struct cell *cell, bool colour,
		     FILE *out)
{
	static const char *const begin[] = {[SP_GRID_BOLD] = "\033[1m",
					    [SP_GRID_RED] = "\033[31m",
					    [SP_GRID_YELLOW] = "\033[33m",
					    [SP_GRID_DIM] = "\033[2m"};
	unsigned width = width_of(cell->text), room = l->width[c], used;
	bool coloured = colour && cell->colour != SP_GRID_PLAIN && *cell->text;

	if (g->columns[c].right && width < room)
		fprintf(out, "%*s", (int)(room - width), "");
	fputs(coloured ? begin[cell->colour] : "", out);
	if (width > room) {
		fwrite(cell->text, 1, bytes_of(cell->text, room - 1, &used), out);
		fprintf(out, "…%*s", (int)(room - 1 - used), "");
	} else {
		fputs(cell->text, out);
	}
	fputs(coloured ? "\033[0m" : "", out);
	if (!g->columns[c].right && width < room && c != l->last)
		fprintf(out, "%*s", (int)(room - width), "");
}

static void put_line(const struct sp_grid *g, const struct layout *l, const struct cell *cells, bool colour,
		     const char *indent, FILE *out)
{
	bool any = false;

	fputs(indent, out);
	for (size_t c = 0; c < g->n_columns; c++) {
		if (!l->width[c])
			continue;
		fprintf(out, "%*s", any ? GAP : 0, "");
		put_cell(g, l, c, &cells[c], colour, out);
		any = true;
	}
	fputc('\n', out);
}

int sp_grid_print(const struct sp_grid *g, unsigned width, bool colour, const char *indent, FILE *out)
{
	struct cell titles[MAX_COLUMNS];
	struct layout l;

	if (g->failed)
		return -ENOMEM;
	lay_out(g, width ? SP_MAX(width - SP_MIN(width, width_of(indent)), 1U) : 0, &l);
	for (size_t c = 0; c < g->n_columns; c++)
		titles[c] = (struct cell){.text = (char *)g->columns[c].title, .colour = SP_GRID_BOLD};
	put_line(g, &l, titles, colour, indent, out);
	for (size_t i = 0; i + g->n_columns <= g->n_cells; i += g->n_columns)
		put_line(g, &l, &g->cells[i], colour, indent, out);
	return 0;
}

unsigned sp_terminal_width(FILE *out, unsigned *ret_lines)
{
	struct winsize size;
	bool is_terminal = isatty(fileno(out)) && !ioctl(fileno(out), TIOCGWINSZ, &size) && size.ws_col;

	if (ret_lines)
		*ret_lines = is_terminal ? size.ws_row : 0;
	return is_terminal ? size.ws_col : 0;
}

unsigned sp_terminal_rows(FILE *out, unsigned others)
{
	unsigned lines;

	sp_terminal_width(out, &lines);
	return lines ? SP_MAX(lines, others + SP_TERMINAL_LEAST) - others : 0;
}

bool sp_terminal_has_escapes(FILE *out)
{
	const char *term = getenv("TERM");

	return isatty(fileno(out)) && term && *term && strcmp(term, "dumb") != 0;
}

bool sp_terminal_has_colour(FILE *out)
{
	const char *no_colour = getenv("NO_COLOR");

	return sp_terminal_has_escapes(out) && !(no_colour && *no_colour);
}

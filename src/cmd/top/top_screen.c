/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/top/top_screen.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "cmd/grid.h"
#include "cmd/top/top_draw.h"

/* Last: this defines words as common as `columns` and `lines`. */
#include "cmd/top/top_curses.h"

enum { RED = 1, YELLOW, GREEN, ESCAPE_MS = 25, BYTES = 1024 };

static struct {
	SCREEN *screen;
	bool is_utf8, has_colours;
	bool has_blocks; /* its font has the block characters of Unicode, by eighths */
	struct termios before;
	char give_back[BYTES]; /* what the terminal is sent when the program crashes */
	size_t n_give_back;
} terminal;

/* --- a crash --- */
static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/* Only what may be done in a handler of signals; then the signal has its way. */
static void crashed(int number)
{
	ssize_t n = write(STDOUT_FILENO, terminal.give_back, terminal.n_give_back);

	(void)n;
	tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
	raise(number);
}

static int byte_keep(int c)
{
	if (terminal.n_give_back < sizeof(terminal.give_back))
		terminal.give_back[terminal.n_give_back++] = (char)c;
	return c;
}

static void give_back_prepare(void)
{
	static const char *const names[] = {"sgr0", "rmkx", "cnorm", "rmcup"};
	struct sigaction action = {.sa_handler = crashed, .sa_flags = (int)SA_RESETHAND};

	for (size_t i = 0; i < SP_COUNT(names); i++) {
		const char *text = tigetstr(names[i]);

		if (text && text != (const char *)-1)
			tputs(text, 1, byte_keep);
	}
	for (size_t i = 0; i < SP_COUNT(crashes); i++)
		sigaction(crashes[i], &action, NULL);
}

static void crashes_back(void)
{
	for (size_t i = 0; i < SP_COUNT(crashes); i++)
		signal(crashes[i], SIG_DFL);
}

/* --- beginning and end --- */
static void colours_begin(void)
{
	terminal.has_colours = sp_terminal_has_colour(stdout) && has_colors() && start_color() == OK;
	if (!terminal.has_colours)
		return;
	use_default_colors();
	init_pair(RED, COLOR_RED, -1);
	init_pair(YELLOW, COLOR_YELLOW, -1);
	init_pair(GREEN, COLOR_GREEN, -1);
}

int sp_top_screen_open(void)
{
	const char *kind = getenv("TERM");
	int r;

	setlocale(LC_CTYPE, "");
	terminal.is_utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	terminal.has_blocks = terminal.is_utf8 && kind && strcmp(kind, "linux") != 0;
	if (tcgetattr(STDIN_FILENO, &terminal.before))
		return sp_fail_said(-ENOTTY, "standard input is no terminal; --batch prints tables");
	r = sp_curses_load();
	if (r < 0)
		return r;
	terminal.screen = newterm(NULL, stdout, stdin);
	if (!terminal.screen)
		return sp_fail_said(-ENOTTY, "a terminal of the kind '%s' is not known; --batch prints tables",
				    kind ? kind : "");
	set_term(terminal.screen);
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	colours_begin();
	give_back_prepare();
	return 0;
}

void sp_top_screen_close(void)
{
	if (!terminal.screen)
		return;
	endwin();
	crashes_back();
	delscreen(sp_take_ptr(terminal.screen));
	tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
}

/* --- keys --- */
static uint32_t special(wint_t key)
{
	static const struct {
		wint_t is;
		uint32_t key;
	} keys[] = {{KEY_UP, SP_KEY_UP},          {KEY_DOWN, SP_KEY_DOWN},     {KEY_LEFT, SP_KEY_LEFT},
		    {KEY_RIGHT, SP_KEY_RIGHT},    {KEY_PPAGE, SP_KEY_PAGE_UP}, {KEY_NPAGE, SP_KEY_PAGE_DOWN},
		    {KEY_HOME, SP_KEY_HOME},      {KEY_END, SP_KEY_END},       {KEY_ENTER, SP_KEY_ENTER},
		    {KEY_BACKSPACE, SP_KEY_BACK}, {KEY_BTAB, SP_KEY_BACK_TAB}, {KEY_RESIZE, SP_KEY_RESIZE}};

	for (size_t i = 0; i < SP_COUNT(keys); i++)
		if (keys[i].is == key)
			return keys[i].key;
	return SP_KEY_SPECIAL; /* means nothing */
}

bool sp_top_screen_key(uint32_t *ret_key)
{
	wint_t key;
	int kind = get_wch(&key);

	if (kind == ERR)
		return false;
	if (kind == KEY_CODE_YES)
		*ret_key = special(key);
	else if (key == '\r' || key == '\n')
		*ret_key = SP_KEY_ENTER;
	else if (key == 0x7f || key == '\b')
		*ret_key = SP_KEY_BACK;
	else if (key == '\t')
		*ret_key = SP_KEY_TAB;
	else
		*ret_key = key;
	return true;
}

/* --- drawing --- */
/* One `?` a character, where the terminal's are not known. */
static void to_ascii(char *text)
{
	size_t n = 0;

	for (const char *c = text; *c; c++)
		if (((unsigned char)*c & 0xc0) != 0x80)
			text[n++] = (unsigned char)*c < 0x80 ? *c : '?';
	text[n] = '\0';
}

static bool text_put(int y, const char *text)
{
	SP_FREE char *line = y < LINES && COLS > 0 ? sp_terminal_cut(text, (unsigned)COLS) : NULL;

	if (!line)
		return false;
	if (!terminal.is_utf8)
		to_ascii(line);
	mvaddstr(y, 0, line);
	return true;
}

static void line_put(int y, const char *text, attr_t attributes)
{
	if (text_put(y, text))
		mvchgat(y, 0, -1, attributes, 0, NULL);
}

/* Red from a tenth of the whole, yellow from a hundredth: the shares stand at the beginning. */
static short pair_of(const struct sp_top_seen *seen, size_t row)
{
	const struct sp_top_page *p = seen->page;
	int64_t value = p->is_tree ? p->tree.nodes[p->rows[row].node].total : p->rows[row].total.self;

	if (!terminal.has_colours || !p->value)
		return 0;
	return value >= p->value / 10 ? RED : value >= p->value / 100 ? YELLOW : 0;
}

enum { SHARE_COLUMNS = 7 };

static void row_put(const struct sp_top_seen *seen, int y, const char *text, size_t row)
{
	bool is_chosen = row == seen->state->levels[seen->state->level].cursor;

	if (!text_put(y, text))
		return;
	if (is_chosen)
		mvchgat(y, 0, -1, A_REVERSE, 0, NULL);
	else
		mvchgat(y, 0, SHARE_COLUMNS, A_NORMAL, pair_of(seen, row), NULL);
}

/* The heading stands in line `top`, n rows below it. */
static int table_put(const struct sp_top_seen *seen, int top, size_t n)
{
	size_t first = seen->state->levels[seen->state->level].first, size = 0;
	SP_FREE char *text = NULL;
	FILE *out = open_memstream(&text, &size);
	int r, y = top;
	char *line, *rest;

	if (!out)
		return -ENOMEM;
	r = sp_top_rows_write(seen, first, n, (unsigned)SP_MAX(COLS, 1), out);
	if (fclose(out) || r < 0)
		return r < 0 ? r : -ENOMEM;
	for (rest = text; (line = strsep(&rest, "\n")) && *line && y < LINES; y++) {
		if (y == top)
			line_put(y, line, A_BOLD);
		else
			row_put(seen, y, line, first + (size_t)(y - top - 1));
	}
	return 0;
}

static void foot_put(const struct sp_top_state *s)
{
	char text[4 * SP_TOP_FILTER + 128]; /* what is encoded may be four times as long */
	SP_FREE char *filter = sp_encoded(SP_ENCODE_TERMINAL, s->filter);

	if (s->is_editing)
		snprintf(text, sizeof(text), "filter: %s_   Enter keeps it, Esc does not", filter ? filter : "");
	else if (*s->filter)
		snprintf(text, sizeof(text), "filtered by %s, %zu row%s; Esc: all", filter ? filter : "", s->n_rows,
			 s->n_rows == 1 ? "" : "s");
	else if (s->levels[s->level].is_tree)
		snprintf(text, sizeof(text), "Esc back  c callers/called  / filter  p pause  ? help  q quit");
	else
		snprintf(text, sizeof(text), "Enter open  %s1-8 view  s t n sort  / filter  p pause  ? help  q quit",
			 s->level ? "Esc back  " : "");
	line_put(LINES - 1, text, A_REVERSE);
}

static void help_put(const struct sp_top_seen *seen)
{
	const char *text;

	for (int y = 0; (text = sp_top_help(seen, (size_t)y)); y++)
		line_put(y, text, A_NORMAL);
	line_put(LINES - 1, "any key: back", A_REVERSE);
}

/* The parts of meters, which are ASCII: programs' green, the kernel's red. */
static void meters_put(int y, const char *text)
{
	bool is_within = false;

	line_put(y, text, A_NORMAL);
	for (int x = 0; terminal.has_colours && text[x] && x < COLS; x++) {
		is_within = text[x] == '[' || (is_within && text[x] != ']');
		if (is_within && (text[x] == '|' || text[x] == ':'))
			mvchgat(y, x, 1, A_NORMAL, text[x] == '|' ? GREEN : RED, NULL);
	}
}

/* What is above the table; the number of lines. A low terminal has no room for the CPUs. */
static int head_put(const struct sp_top_seen *seen)
{
	enum { ONE = 14, BOTH = 20 };
	char head[SP_TOP_HEAD_LINES][SP_TOP_LINE], meters[SP_TOP_METER_LINES][SP_TOP_METER_LINE];
	size_t n = LINES >= BOTH ? 2 : LINES >= ONE, i;
	int y = 0;

	n = sp_top_meters(seen->cpus, (unsigned)SP_MAX(COLS, 1), n, seen->is_ascii, meters);
	sp_top_head(seen, head);
	line_put(y++, head[0], A_BOLD);
	for (i = 0; i < n; i++)
		meters_put(y++, meters[i]);
	for (i = 1; i < SP_TOP_HEAD_LINES; i++)
		line_put(y++, head[i], A_NORMAL);
	return y;
}

int sp_top_screen_draw(const struct sp_top_seen *seen, struct sp_top_state *state, bool clear)
{
	struct sp_top_seen drawn = *seen;
	int r = 0, top;

	drawn.is_drawn = true;
	drawn.is_ascii = !terminal.has_blocks;
	if (clear)
		clearok(stdscr, TRUE);
	erase();
	top = head_put(&drawn);
	state->n_fit = LINES > top + 2 ? (size_t)(LINES - top - 2) : 1;
	sp_top_scroll(state);
	if (state->is_help) {
		erase();
		help_put(seen);
	} else {
		if (seen->profile)
			r = table_put(&drawn, top, state->n_fit);
		foot_put(state);
	}
	refresh();
	return r;
}

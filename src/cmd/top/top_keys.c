/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/top/top_keys.h"

#include <string.h>

#include "base/mem.h"

static const struct {
	enum sp_total_by by;
	const char *name;
} views[SP_TOP_N_VIEWS] = {
    {SP_TOTAL_BY_LIBRARY, "libraries"},    {SP_TOTAL_BY_FUNCTION, "functions"}, {SP_TOTAL_BY_PROCESS, "processes"},
    {SP_TOTAL_BY_COMM, "threads"},         {SP_TOTAL_BY_CGROUP, "cgroups"},     {SP_TOTAL_BY_USER, "users"},
    {SP_TOTAL_BY_CONTAINER, "containers"}, {SP_TOTAL_BY_PACKAGE, "packages"},
};

/* Ways between two refreshes, in ms. */
static const uint64_t intervals[] = {1000, 2000, 3000, 5000, 10000, 30000, 60000};

const char *sp_top_view_name(size_t i)
{
	return i < SP_COUNT(views) ? views[i].name : NULL;
}

enum sp_total_by sp_top_view(size_t i)
{
	return views[i].by;
}

static size_t view_of(enum sp_total_by by)
{
	size_t i = 0;

	while (i + 1 < SP_COUNT(views) && views[i].by != by)
		i++;
	return i;
}

const char *sp_top_by_name(enum sp_total_by by)
{
	return views[view_of(by)].name;
}

struct sp_top_level *sp_top_level(struct sp_top_state *s)
{
	return &s->levels[s->level];
}

/* --- where the cursor is --- */
void sp_top_scroll(struct sp_top_state *s)
{
	struct sp_top_level *l = sp_top_level(s);
	size_t fit = SP_MAX(s->n_fit, (size_t)1);

	l->cursor = s->n_rows ? SP_MIN(l->cursor, s->n_rows - 1) : 0;
	if (l->first > l->cursor)
		l->first = l->cursor;
	if (l->cursor >= l->first + fit)
		l->first = l->cursor + 1 - fit;
	if (l->first + fit > s->n_rows) /* no empty lines while there are rows above */
		l->first = s->n_rows > fit ? s->n_rows - fit : 0;
}

static unsigned cursor_move(struct sp_top_state *s, uint32_t key)
{
	struct sp_top_level *l = sp_top_level(s);
	size_t page = SP_MAX(s->n_fit, (size_t)2) - 1;

	switch (key) {
	case SP_KEY_UP:
	case 'k':
		l->cursor -= l->cursor > 0;
		break;
	case SP_KEY_DOWN:
	case 'j':
		l->cursor++;
		break;
	case SP_KEY_PAGE_UP:
		l->cursor -= SP_MIN(page, l->cursor);
		l->first -= SP_MIN(page, l->first);
		break;
	case SP_KEY_PAGE_DOWN:
		l->cursor += page;
		l->first += page;
		break;
	case SP_KEY_HOME:
		l->cursor = 0;
		break;
	case SP_KEY_END:
		l->cursor = s->n_rows;
		break;
	default:
		return 0;
	}
	sp_top_scroll(s);
	return SP_TOP_DRAW;
}

static void cursor_home(struct sp_top_state *s)
{
	sp_top_level(s)->cursor = sp_top_level(s)->first = 0;
}

/* --- the filter --- */
static void character_append(char *text, size_t size, uint32_t c)
{
	static const uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
	size_t n = strlen(text);
	unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;

	if (c < ' ' || c == 0x7f || c >= SP_KEY_SPECIAL || (c >= 0xd800 && c < 0xe000) || n + more + 1 >= size)
		return;
	text[n] = (char)(lead[more] | c >> 6 * more);
	for (unsigned i = 1; i <= more; i++)
		text[n + i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3f));
	text[n + more + 1] = '\0';
}

static void character_remove(char *text)
{
	size_t n = strlen(text);

	while (n && ((unsigned char)text[n - 1] & 0xc0) == 0x80)
		n--;
	text[n ? n - 1 : 0] = '\0';
}

enum { CTRL_U = 'U' - '@' };

static unsigned filter_key(struct sp_top_state *s, uint32_t key)
{
	switch (key) {
	case SP_KEY_ENTER:
		s->is_editing = false;
		return SP_TOP_DRAW;
	case SP_KEY_ESCAPE:
		memcpy(s->filter, s->before, sizeof(s->filter));
		s->is_editing = false;
		break;
	case SP_KEY_BACK:
		character_remove(s->filter);
		break;
	case CTRL_U:
		s->filter[0] = '\0';
		break;
	default:
		character_append(s->filter, sizeof(s->filter), key);
	}
	cursor_home(s);
	return SP_TOP_DRAW | SP_TOP_BUILD;
}

static unsigned filter_begin(struct sp_top_state *s)
{
	memcpy(s->before, s->filter, sizeof(s->before));
	s->is_editing = true;
	return SP_TOP_DRAW;
}

/* --- levels --- */
bool sp_top_push(struct sp_top_state *s, const char *what, const char *title)
{
	const struct sp_top_level *l = sp_top_level(s);
	struct sp_top_level *next = &s->levels[s->level + 1];

	if (l->is_tree || s->level + 1 >= SP_TOP_MAX_LEVELS || strlen(what) >= sizeof(next->what))
		return false;
	*next = (struct sp_top_level){.is_tree = sp_total_is_by_frames(l->by), .of = l->by};
	next->by = next->is_tree ? l->by : SP_TOTAL_BY_LIBRARY;
	memcpy(next->what, what, strlen(what) + 1);
	memcpy(next->title, title, SP_MIN(strlen(title), sizeof(next->title) - 1));
	s->filter[0] = '\0'; /* it was for the rows above */
	s->level++;
	return true;
}

static unsigned back(struct sp_top_state *s)
{
	if (s->filter[0]) {
		s->filter[0] = '\0';
		return SP_TOP_DRAW | SP_TOP_BUILD;
	}
	if (!s->level)
		return 0;
	s->level--;
	return SP_TOP_DRAW | SP_TOP_BUILD;
}

static unsigned view_choose(struct sp_top_state *s, size_t view)
{
	while (sp_top_level(s)->is_tree)
		s->level--;
	sp_top_level(s)->by = views[view % SP_COUNT(views)].by;
	cursor_home(s);
	return SP_TOP_DRAW | SP_TOP_BUILD;
}

static unsigned view_next(struct sp_top_state *s, size_t step)
{
	while (sp_top_level(s)->is_tree)
		s->level--;
	return view_choose(s, view_of(sp_top_level(s)->by) + step);
}

/* --- the rest --- */
static unsigned sort_choose(struct sp_top_state *s, enum sp_top_sort sort)
{
	s->sort = sort;
	cursor_home(s);
	return SP_TOP_DRAW | SP_TOP_BUILD;
}

static unsigned interval_change(struct sp_top_state *s, bool longer)
{
	size_t i;

	if (longer) {
		for (i = 0; i + 1 < SP_COUNT(intervals) && intervals[i] <= s->interval_ms; i++)
			;
	} else {
		for (i = SP_COUNT(intervals) - 1; i > 0 && intervals[i] >= s->interval_ms; i--)
			;
	}
	s->interval_ms = intervals[i];
	return SP_TOP_DRAW | SP_TOP_LATER;
}

static unsigned tree_turn(struct sp_top_state *s)
{
	struct sp_top_level *l = sp_top_level(s);

	if (!l->is_tree)
		return 0;
	l->calls = !l->calls;
	cursor_home(s);
	return SP_TOP_DRAW | SP_TOP_BUILD;
}

static unsigned help_key(struct sp_top_state *s, uint32_t key)
{
	if (key == SP_KEY_RESIZE)
		return SP_TOP_DRAW | SP_TOP_CLEAR;
	s->is_help = false;
	return key == 'q' ? SP_TOP_QUIT : SP_TOP_DRAW;
}

static unsigned toggle(bool *what)
{
	*what = !*what;
	return SP_TOP_DRAW;
}

static unsigned letter_key(struct sp_top_state *s, uint32_t key)
{
	switch (key) {
	case 'q':
		return SP_TOP_QUIT;
	case '?':
	case 'h':
		return toggle(&s->is_help);
	case 'p':
	case ' ':
		return toggle(&s->is_paused) | SP_TOP_LATER;
	case '/':
	case 'f':
		return filter_begin(s);
	case 's':
		return sort_choose(s, SP_TOP_SELF);
	case 't':
		return sort_choose(s, SP_TOP_TOTAL);
	case 'n':
		return sort_choose(s, SP_TOP_NAME);
	case 'c':
		return tree_turn(s);
	case '+':
	case '-':
		return interval_change(s, key == '+');
	case 'L' - '@': /* as terminals' programs have it: all is drawn anew */
		return SP_TOP_DRAW | SP_TOP_CLEAR;
	default:
		return cursor_move(s, key);
	}
}

unsigned sp_top_key(struct sp_top_state *s, uint32_t key)
{
	if (s->is_help)
		return help_key(s, key);
	if (key == SP_KEY_RESIZE)
		return SP_TOP_DRAW | SP_TOP_CLEAR;
	if (s->is_editing && (key < SP_KEY_SPECIAL || key == SP_KEY_ENTER || key == SP_KEY_BACK))
		return filter_key(s, key);
	if (key >= '1' && key < '1' + SP_TOP_N_VIEWS)
		return view_choose(s, key - '1');
	switch (key) {
	case SP_KEY_TAB:
		return view_next(s, 1);
	case SP_KEY_BACK_TAB:
		return view_next(s, SP_TOP_N_VIEWS - 1);
	case SP_KEY_ENTER:
	case SP_KEY_RIGHT:
		return s->n_rows && !sp_top_level(s)->is_tree ? SP_TOP_OPEN : 0;
	case SP_KEY_ESCAPE:
	case SP_KEY_BACK:
	case SP_KEY_LEFT:
		return back(s);
	default:
		return letter_key(s, key);
	}
}

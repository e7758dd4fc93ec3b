/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/library.h"
#include "base/mem.h"

#define SP_CURSES_ITSELF
/* Last: this defines words as common as `columns` and `lines`. */
#include "cmd/top/top_curses.h"

struct sp_curses sp_curses;

static const struct sp_library_function symbols[] = {
#define NAME(name) {#name, offsetof(struct sp_curses, name)},
    SP_CURSES_SYMBOLS(NAME)};

int sp_curses_load(void)
{
	static const char *const sonames[] = {"libncursesw.so.6", NULL};

	return sp_library_load("a screen", "libncursesw6", sonames, symbols, SP_COUNT(symbols), &sp_curses);
}

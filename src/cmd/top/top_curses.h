/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_curses.h: ncurses, loaded at run time.
 *
 * It and the library of terminals below it take a quarter of a MiB in each of soprof's processes, and of all commands
 * only `top` on a terminal needs them. So the first screen loads them, and they stay loaded. Its names mean what was
 * loaded, with the types of its header. -ELIBACC with dlopen(3)'s message. One thread.
 */
#ifndef SP_CMD_TOP_TOP_CURSES_H
#define SP_CMD_TOP_TOP_CURSES_H

#define NCURSES_NOMACROS /* all that is called is a function */
#include <ncurses.h>
#include <term.h>

#define SP_CURSES_SYMBOLS(X)                                                                                           \
	X(cbreak)                                                                                                      \
	X(clearok)                                                                                                     \
	X(curs_set)                                                                                                    \
	X(delscreen)                                                                                                   \
	X(endwin)                                                                                                      \
	X(erase)                                                                                                       \
	X(get_wch)                                                                                                     \
	X(has_colors)                                                                                                  \
	X(init_pair)                                                                                                   \
	X(keypad)                                                                                                      \
	X(mvaddstr)                                                                                                    \
	X(mvchgat)                                                                                                     \
	X(newterm)                                                                                                     \
	X(nodelay)                                                                                                     \
	X(noecho)                                                                                                      \
	X(nonl)                                                                                                        \
	X(refresh)                                                                                                     \
	X(set_escdelay)                                                                                                \
	X(set_term)                                                                                                    \
	X(start_color)                                                                                                 \
	X(tigetstr)                                                                                                    \
	X(tputs)                                                                                                       \
	X(use_default_colors)                                                                                          \
	X(stdscr)                                                                                                      \
	X(COLS)                                                                                                        \
	X(LINES)

struct sp_curses {
#define SP_CURSES_MEMBER(name) __typeof__(name) *name;
	SP_CURSES_SYMBOLS(SP_CURSES_MEMBER)
};
extern struct sp_curses sp_curses;

int sp_curses_load(void);

#ifndef SP_CURSES_ITSELF
#define cbreak (*sp_curses.cbreak)
#define clearok (*sp_curses.clearok)
#define curs_set (*sp_curses.curs_set)
#define delscreen (*sp_curses.delscreen)
#define endwin (*sp_curses.endwin)
#define erase (*sp_curses.erase)
#define get_wch (*sp_curses.get_wch)
#define has_colors (*sp_curses.has_colors)
#define init_pair (*sp_curses.init_pair)
#define keypad (*sp_curses.keypad)
#define mvaddstr (*sp_curses.mvaddstr)
#define mvchgat (*sp_curses.mvchgat)
#define newterm (*sp_curses.newterm)
#define nodelay (*sp_curses.nodelay)
#define noecho (*sp_curses.noecho)
#define nonl (*sp_curses.nonl)
#define refresh (*sp_curses.refresh)
#define set_escdelay (*sp_curses.set_escdelay)
#define set_term (*sp_curses.set_term)
#define start_color (*sp_curses.start_color)
#define tigetstr (*sp_curses.tigetstr)
#define tputs (*sp_curses.tputs)
#define use_default_colors (*sp_curses.use_default_colors)
#define stdscr (*sp_curses.stdscr)
#define COLS (*sp_curses.COLS)
#define LINES (*sp_curses.LINES)
#endif

#endif

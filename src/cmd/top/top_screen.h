/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_screen.h: the terminal of `soprof top`, with ncurses: output of lines, input of keys.
 *
 * sp_top_screen_close() restores the terminal; if the program crashes, a signal handler does. Only lines encoded by
 * top_show.h are shown, cut to the width; in locales other than UTF-8, characters beyond ASCII are shown as `?`. One
 * terminal, one thread. 0 or a negative errno with sp_error_text().
 */
#ifndef SP_CMD_TOP_TOP_SCREEN_H
#define SP_CMD_TOP_TOP_SCREEN_H

#include "cmd/top/top_show.h"

int sp_top_screen_open(void);
void sp_top_screen_close(void);
/* The next key that was typed; false: none. */
bool sp_top_screen_key(uint32_t *ret_key);
/* Tells the state how many rows fit. clear: whatever the terminal shows is drawn over. */
int sp_top_screen_draw(const struct sp_top_seen *seen, struct sp_top_state *state, bool clear);

#endif

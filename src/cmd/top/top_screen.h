/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_screen.h: the terminal, by ncurses: pictures of what is seen, and keys.
 *
 * Opening takes the terminal over; it is given back by sp_top_screen_close(), and, where the program crashes, by a
 * handler of the signals that end it so. Only lines that top_show.h has encoded get there, cut to its width; where the
 * locale's characters are not UTF-8, others than ASCII are shown as `?`. There is one terminal, and one thread. 0 or a
 * negative errno with sp_error_text().
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

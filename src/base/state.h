/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * state.h: the user's directory for what soprof keeps of his: soprof/ in $XDG_STATE_HOME, else in ~/.local/state.
 *
 * Paths are new strings. 0 or a negative errno with sp_error_text(). No state.
 */
#ifndef SP_BASE_STATE_H
#define SP_BASE_STATE_H

#include <stdbool.h>
#include <stddef.h>

/* `below` is behind its name: "", "/calls". -ENOENT: neither variable has an absolute path. Nothing is made. */
int sp_state_path(const char *below, char **ret_path);
/* Makes it, and all on the way, with mode 0700. -EPERM: it is not the user's, or others may write to it. */
int sp_state_make(char *path);
/* Whether it lies in root's home, since sudo was asked: whoever did finds it by sudo again. */
bool sp_state_is_roots(void);
/* How a path is shown: the bytes of $HOME that it begins with, in place of which the user's shell takes "~"; 0: none.
 */
size_t sp_state_in_home(const char *path);

#endif

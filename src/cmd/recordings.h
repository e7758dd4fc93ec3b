/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recordings.h: the last few recordings that a user has looked at on a terminal, so that none is lost.
 *
 * They are pprof files in soprof/ of $XDG_STATE_HOME, else of ~/.local/state, named by the time: YYYYMMDD-HHMMSS.PID.
 * SP_RECORDINGS of them are kept, and fewer if they take more than SP_RECORDINGS_BYTES together; the oldest go first.
 * The directory must be the user's own, and nobody else's to write to: for root, another user's home is not. 0 or a
 * negative errno with sp_error_text(). No state.
 */
#ifndef SP_CMD_RECORDINGS_H
#define SP_CMD_RECORDINGS_H

#include <stdio.h>

enum { SP_RECORDINGS = 5, SP_RECORDINGS_BYTES = 256 << 20 };

/* ret_path: where it is, a new string. */
int sp_recording_keep(int (*write)(void *arg, FILE *out), void *arg, char **ret_path);
/*
 * The file of "last", or of "last-1", "last-2" ... before it, a new string. NULL: the name is no such word, or a file
 * of that name is in the current directory. -ENOENT: there is no such recording.
 */
int sp_recording_find(const char *name, char **ret_path);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * error.h: errors are 0 or a negative errno, with a chain of messages.
 *
 * `return sp_fail(r, "open %s", path);` returns r and puts "open PATH" in front of the messages that were added
 * below, so that the command can print `soprof: profile: open /x: Permission denied` from sp_error_text(). The chain
 * belongs to the thread and holds at most 1 KiB; one that was longer ends with "...". It is cleared by
 * sp_error_clear(), by a failure with another errno (if you change r, repeat the message), and by the first failure
 * after it was read. Whoever handles a failure without reporting it clears the chain. Layers below cmd and agent never
 * print and never exit.
 */
#ifndef SP_BASE_ERROR_H
#define SP_BASE_ERROR_H

#include <stddef.h>

/* Adds a message for the failure r (negative errno) and returns r. */
int sp_fail(int r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, for a message that says it all: no ": strerror" is added at the end. */
int sp_fail_said(int r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The same, for a mistake in a text that the user gave: keeps up to 1 KiB of the text, and the byte at which it is
 * wrong, to be shown below the message.
 */
int sp_fail_at(int r, const char *text, size_t at, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* That text, for the failure r; NULL: there is none. Valid until the next call. */
const char *sp_error_where(int r, size_t *ret_at);

/*
 * The chain for the failure r, outermost first, ended by strerror(-r) unless sp_fail_said() was used. Valid until the
 * next call.
 */
const char *sp_error_text(int r);
void sp_error_clear(void);

#endif

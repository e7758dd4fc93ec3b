/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * error.h: errors are 0 or a negative errno, with a chain of words beside them.
 *
 * `return sp_fail(r, "open %s", path);` keeps r and puts "open PATH" in front of what was already said below it, so
 * that the top can print `soprof: profile: open /x: Permission denied` from sp_error_text(). The chain belongs to the
 * thread, holds at most 1 KiB (cut, never overrun) and is cleared by sp_error_clear(), by a failure with another number
 * (say the lower words anew if you change r), and by the first failure after it was read. A failure that is dealt with
 * and not reported should be cleared. Layers below cmd and agent never print and never exit.
 */
#ifndef SP_BASE_ERROR_H
#define SP_BASE_ERROR_H

/* Adds context for the failure r (negative errno) and returns r. */
int sp_fail(int r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As sp_fail, but the words are the whole message: no ": strerror" is added at the end. */
int sp_fail_said(int r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The chain for the failure r, outermost first, ended by strerror(-r) unless said otherwise. Valid until the next call.
 */
const char *sp_error_text(int r);
void sp_error_clear(void);

#endif

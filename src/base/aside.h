/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * aside.h: a piece of work that is done in a thread of its own meanwhile: a system call that waits, or takes long.
 *
 * The work touches nothing that others use before sp_aside_wait(). It runs at once, in the caller's thread, if no
 * other is to be had. Whoever drops privileges waits first: a thread keeps those that it began with.
 */
#ifndef SP_BASE_ASIDE_H
#define SP_BASE_ASIDE_H

#include <pthread.h>
#include <stdbool.h>

struct sp_aside {
	pthread_t thread;
	bool is_begun;
};

void sp_aside_begin(struct sp_aside *a, void *(*work)(void *arg), void *arg);
void sp_aside_wait(struct sp_aside *a); /* returns when the work is done; what was not begun, or waited for, is */

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * users.h: what each user's programs may have of the workers, as the caller decides. Part of capture.h's options.
 *
 * A user is who runs the program that has the file mapped, by his number in the first user namespace. Files are looked
 * at (opened and identified) at once if their user may; else one file of the profile, "[unidentified]", stands for all
 * of them, and the kernel half announces them no more, until is_over() says otherwise: then they are announced again at
 * their next samples. What has been queued already, and no worker has begun, is taken back. One thread; functions
 * neither fail nor call the session.
 */
#ifndef SP_CAPTURE_USERS_H
#define SP_CAPTURE_USERS_H

#include "bpf/wire.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_capture_users {
	void *arg;
	/* Whether a new file may be looked at. After true comes looked(), once, with what it cost, or taken_back(). */
	bool (*may_look)(void *arg, uint32_t uid);
	void (*looked)(void *arg, uint32_t uid, uint64_t cpu_ns);
	void (*taken_back)(void *arg, uint32_t uid);
	bool (*is_over)(void *arg, uint32_t uid); /* whether his files are to wait, and need not be announced */
	/*
	 * Called before a file's table is built; n_drains: in how many drains the file was met; bytes: its size. false:
	 * not now; until a later call allows it, frames in the file are unwound by frame pointers.
	 */
	bool (*may_build)(void *arg, uint32_t uid, unsigned n_drains, uint64_t bytes);
	/*
	 * Called before a parser reads code out of a process of his, for one stack; false: not now; until a later call
	 * allows it, frames of this memory are unwound by frame pointers.
	 */
	bool (*may_read)(void *arg, uint32_t uid);
	void (*parsed)(void *arg, uint32_t uid, uint64_t cpu_ns); /* a table, names, or code */
};

struct sp_over_users { /* private to users.c: whose files are announced no more */
	int fd;        /* the kernel half's map of them */
	uint32_t uids[SP_MAX_OVER_USERS];
	size_t n;
};

#endif

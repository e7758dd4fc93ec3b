/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deleted.c: how much is kept of deleted files by descriptors of ours, when their processes have ended.
 *
 * A descriptor keeps a file's memory, or its place on a disk; that of others, which nobody can see, until it is closed.
 */
#include "capture/priv.h"
#include "worker/worker.h"

/* Memfds, tmpfs: and others without a disk of their own (overlayfs). Asking the file system might block. */
static bool is_memory(uint64_t dev)
{
	return dev >> 20 == 0;
}

/* Others may make and delete files as large as they like: what we hold of these stays below a bound. */
static bool is_too_much(const struct sp_capture *c, bool in_memory, uint64_t bytes)
{
	uint64_t sum = bytes;

	for (size_t i = 1; i < c->n_known; i++) {
		const struct sp_known_file *k = &c->known[i];

		if (k->is_deleted && k->fd > 0 && k->is_memory == in_memory)
			sum += k->size;
	}
	return sum > (in_memory ? SP_MAX_DELETED_MEMORY : SP_MAX_DELETED_DISK);
}

void sp_files_note_deleted(const struct sp_capture *c, struct sp_known_file *k, const struct sp_open_result *o)
{
	k->is_passing = o->deleted && is_too_much(c, is_memory(o->state.dev), o->size);
	k->is_deleted = o->deleted;
	k->is_memory = is_memory(o->state.dev);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deleted.c: how much is kept of deleted files by descriptors of ours, when their processes have ended.
 *
 * A descriptor keeps a file's memory, or its place on a disk; that of others, which nobody can see, until it is closed.
 */
#include "base/mem.h"
#include "capture/priv.h"
#include "worker/worker.h"
#include <sys/stat.h>
#include <unistd.h>

/* Memfds, tmpfs: and others without a disk of their own (overlayfs). Asking the file system might block. */
static bool is_memory(uint64_t dev)
{
	return dev >> 20 == 0;
}

/* A file may have room beyond its end, and may grow after it was opened. (A file system that may not answer is
 * refused.) */
static uint64_t size_of(int fd, uint64_t size)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return size;
	return SP_MAX((uint64_t)st.st_size, (uint64_t)st.st_blocks * 512);
}

static bool is_kept(const struct sp_known_file *k, bool in_memory)
{
	return k->is_deleted && k->fd > 0 && k->is_memory == in_memory;
}

static uint64_t max_bytes(const struct sp_capture *c, bool in_memory)
{
	if (!in_memory)
		return SP_MAX_DELETED_DISK;
	return c->o.max_deleted_bytes ? c->o.max_deleted_bytes : SP_MAX_DELETED_MEMORY;
}

uint64_t sp_files_deleted_bytes(const struct sp_capture *c, bool in_memory)
{
	uint64_t sum = 0;

	for (size_t i = 1; i < c->n_known; i++)
		if (is_kept(&c->known[i], in_memory))
			sum += c->known[i].kept_bytes;
	return sum;
}

static uint64_t bytes_of_user(const struct sp_capture *c, bool in_memory, uint32_t user)
{
	uint64_t sum = 0;

	for (size_t i = 1; i < c->n_known; i++)
		if (is_kept(&c->known[i], in_memory) && c->known[i].user == user)
			sum += c->known[i].kept_bytes;
	return sum;
}

/* Others may make and delete files as large as they like: what we hold of these stays below a bound, of one of several
 * users below half of it. */
static bool is_too_much(const struct sp_capture *c, const struct sp_known_file *k)
{
	uint64_t max = max_bytes(c, k->is_memory);

	if (sp_files_deleted_bytes(c, k->is_memory) + k->kept_bytes > max)
		return true;
	return c->o.users && k->user && bytes_of_user(c, k->is_memory, k->user) + k->kept_bytes > max / 2;
}

static void count_let_go(struct sp_capture *c, const struct sp_known_file *k)
{
	c->stats.n_let_go++;
	c->stats.let_go_uid = k->user;
}

void sp_files_note_deleted(struct sp_capture *c, struct sp_known_file *k, const struct sp_open_result *o)
{
	if (k->fd >= 0) /* it is held already */
		return;
	k->is_deleted = o->deleted;
	k->is_memory = is_memory(o->state.dev);
	k->kept_bytes = o->deleted ? size_of(o->fd, o->size) : 0;
	k->is_passing = o->deleted && is_too_much(c, k);
	if (k->is_passing)
		count_let_go(c, k);
}

/* The largest of those that all is known of. */
static struct sp_known_file *largest(const struct sp_capture *c, bool in_memory)
{
	struct sp_known_file *most = NULL;

	for (size_t i = 1; i < c->n_known; i++) {
		struct sp_known_file *k = &c->known[i];

		if (is_kept(k, in_memory) && k->is_identified && (!most || k->kept_bytes > most->kept_bytes))
			most = k;
	}
	return most;
}

static void bound(struct sp_capture *c, bool in_memory)
{
	struct sp_known_file *k;

	while (sp_files_deleted_bytes(c, in_memory) > max_bytes(c, in_memory) && (k = largest(c, in_memory))) {
		if (!k->is_passing) /* else it was counted, and waits for its table */
			count_let_go(c, k);
		close(sp_take_fd(&k->fd));
	}
}

void sp_files_bound_deleted(struct sp_capture *c)
{
	for (size_t i = 1; i < c->n_known; i++)
		if (c->known[i].is_deleted && c->known[i].fd > 0)
			c->known[i].kept_bytes = size_of(c->known[i].fd, c->known[i].size);
	bound(c, true);
	bound(c, false);
}

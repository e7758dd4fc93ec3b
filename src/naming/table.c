/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table.c: finds a file's name table on disk, or has a worker make it.
 *
 * A table of a stripped file that was made without its debug file is made again when there is one, since debug
 * packages may be installed later. If a table cannot be kept on disk (the file's owner or mode forbid it, or the disk
 * is full), it is in a memory file for this run.
 */
#include "base/entries.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "naming/priv.h"
#include "unwind/build.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	LIKELY_BYTES = 256 << 10, /* of a table that is to be made; most are smaller */
	ASK_BYTES = 1 << 20       /* of a file, for each question before its table */
};

struct sp_name_table sp_naming_table(int fd, const struct sp_name_table_head *h)
{
	return (struct sp_name_table){
	    .fd = fd, .n_blocks = h->n_blocks, .index_at = h->index_at, .index_hash = h->index_hash};
}

/* --- making --- */
static void describe(const struct sp_cache_key *key, struct sp_name_table_head *head)
{
	head->file_size = key->file_size;
	head->ranges = SP_BLOB_VERSION;
	head->build_id_len = (uint32_t)SP_MIN(key->build_id_len, sizeof(head->build_id));
	memcpy(head->build_id, key->build_id, head->build_id_len);
}

static int made(struct sp_naming *n, int r);

static int ask(struct sp_naming *n)
{
	struct sp_naming_work *w = n->work;
	int debug_fd = sp_named_file(n, w->file)->debug_fd;

	w->head = (struct sp_name_table_head){.with_debug = debug_fd >= 0};
	if (w->is_cached)
		describe(&w->key, &w->head);
	sp_naming_then(n, made);
	return sp_naming_asked(
	    n, sp_workers_spans(n->workers, w->fd, debug_fd, w->table_fd, &w->head, sp_naming_table_came, w));
}

/* In a new file: on disk, or in memory. */
static int make_in(struct sp_naming *n, bool is_cached)
{
	struct sp_naming_work *w = n->work;

	w->is_cached = is_cached;
	w->table_fd =
	    is_cached ? sp_entries_new(n->entries, LIKELY_BYTES, w->entry) : memfd_create("soprof-names", MFD_CLOEXEC);
	if (w->table_fd < 0)
		return made(n, is_cached ? w->table_fd : -errno);
	return ask(n);
}

static int keep(struct sp_naming *n, int r)
{
	struct sp_naming_work *w = n->work;

	if (r >= 0 && sp_entries_changed_ns(w->fd) != w->key.state.ctime_ns)
		r = sp_fail_said(-ESTALE, "the file was changed while it was read");
	if (r >= 0)
		r = sp_entries_commit(n->entries, w->entry, &w->key, w->head.bytes);
	else if (w->table_fd >= 0)
		sp_entries_discard(n->entries, w->entry);
	if (r < 0)
		sp_entries_count_failed(n->entries);
	return r;
}

static int is_made(struct sp_naming *n, struct sp_named_file *f)
{
	struct sp_naming_work *w = n->work;
	int table_fd = sp_take_fd(&w->table_fd);

	n->stats.n_made++;
	n->stats.n_private += !w->is_cached;
	n->stats.made_bytes += w->head.bytes;
	f->state = w->is_cached ? SP_NAMED_CACHED : SP_NAMED_PRIVATE;
	if (w->is_cached)
		close(table_fd);
	else
		f->table = sp_naming_table(table_fd, &w->head);
	if (*w->head.warning)
		sp_naming_note_text(n, w->file, w->head.warning);
	if (!n->with_lines)
		sp_debug_file_drop(f);
	return 0;
}

/* Who takes up the disk's last bytes is not known here: what failed for want of them may still be made in memory. */
static bool is_place_bad(int r)
{
	return r == -ENOSPC || r == -EDQUOT || r == -EROFS || r == -EIO || r == -EACCES || r == -EPERM || r == -ENOENT;
}

/*
 * A file that cannot be written down whole may still be asked for some of its functions; but not one that a parser has
 * crashed at.
 */
static int is_not_made(struct sp_named_file *f, int r)
{
	f->state = r == -EIO || r == -EBADMSG ? SP_NAMED_FAILED : SP_NAMED_ASKED;
	f->failure = r;
	f->looked_ns = sp_time_ns(CLOCK_BOOTTIME);
	if (f->state == SP_NAMED_FAILED)
		return r;
	sp_error_clear();
	return 0;
}

/* Again without the debug file, if that is what cannot be read; and in memory, if the place was bad. */
static int made(struct sp_naming *n, int r)
{
	struct sp_naming_work *w = n->work;
	struct sp_named_file *f = sp_named_file(n, w->file);

	if (r < 0 && f->debug_fd >= 0 && w->table_fd >= 0) {
		sp_naming_note(n, w->file, "debug file", r);
		sp_debug_file_drop(f);
		if (!ftruncate(w->table_fd, 0))
			return ask(n);
		r = -errno;
	}
	if (w->is_cached)
		r = keep(n, r);
	if (r >= 0)
		return is_made(n, f);
	if (w->table_fd >= 0)
		close(sp_take_fd(&w->table_fd));
	if (!w->is_cached || !is_place_bad(r))
		return is_not_made(f, r);
	sp_error_clear();
	return make_in(n, false);
}

static int make(struct sp_naming *n)
{
	const struct sp_named_file *f = sp_named_file(n, n->work->file);

	return make_in(n, n->entries && sp_entries_allow(n->entries, &n->work->key) &&
			      (f->debug_fd < 0 || f->debug_is_trusted));
}

/* --- finding --- */
static void entries_open(struct sp_naming *n)
{
	SP_FREE char *own = NULL;

	if (n->entries || (n->cache && !*n->cache))
		return;
	if (!n->cache)
		sp_entries_default_dir("names", &own);
	if (!own && !n->cache)
		return;
	sp_entries_open(own ? own : n->cache, 0, &n->entries);
	sp_error_clear();
}

static bool is_of(const struct sp_name_table_head *h, const struct sp_cache_key *key)
{
	return h->file_size == key->file_size && h->ranges == SP_BLOB_VERSION &&
	       h->build_id_len == SP_MIN(key->build_id_len, sizeof(h->build_id)) &&
	       !memcmp(h->build_id, key->build_id, h->build_id_len);
}

/* The descriptor of its table on disk, or a negative errno. */
static int open_cached(struct sp_naming *n, const struct sp_cache_key *key, struct sp_name_table_head *ret_head)
{
	SP_CLOSE int fd = -1;
	uint64_t size;
	int r = n->entries ? sp_entries_get(n->entries, key, &fd, &size) : -ENOENT;

	if (r < 0)
		return r;
	r = sp_name_table_open(fd, ret_head);
	if (r < 0 || !is_of(ret_head, key)) {
		sp_entries_damaged(n->entries, key);
		return -ENOENT;
	}
	sp_entries_used(n->entries, fd);
	return sp_take_fd(&fd);
}

/* A table of a small file costs no more than two or three questions about it. */
static bool was_asked_enough(const struct sp_naming *n, const struct sp_named_file *f, const struct sp_cache_key *key)
{
	return f->n_asked >= SP_MIN((uint64_t)n->n_asks_first, key->file_size / ASK_BYTES);
}

static int use_cached(struct sp_naming *n)
{
	struct sp_naming_work *w = n->work;

	sp_named_file(n, w->file)->state = SP_NAMED_CACHED;
	n->stats.n_found++;
	if (*w->head.warning)
		sp_naming_note_text(n, w->file, w->head.warning);
	return 0;
}

/* Whether a debug file is there now that was not when the table was made. */
static int looked_again(struct sp_naming *n, int r)
{
	struct sp_debug_search *s = &n->work->search;
	struct sp_named_file *f = sp_named_file(n, n->work->file);

	(void)r;
	f->has_looked = true;
	f->debug_fd = sp_take_fd(&s->found);
	f->debug_is_trusted = s->is_trusted;
	f->looked_ns = f->debug_fd < 0 ? sp_time_ns(CLOCK_BOOTTIME) : 0;
	return f->debug_fd < 0 ? use_cached(n) : make(n);
}

static int debug_chosen(struct sp_naming *n, int r)
{
	(void)r;
	return make(n);
}

/* Then the file's state says where its table is, or that it has none. */
static int choose(struct sp_naming *n)
{
	struct sp_naming_work *w = n->work;
	const struct sp_named_file *f = sp_named_file(n, w->file);
	SP_CLOSE int table_fd = open_cached(n, &w->key, &w->head);
	bool may = (table_fd >= 0 || was_asked_enough(n, f, &w->key)) && sp_naming_may_parse(n, f, SP_NAMING_TABLE);

	if (table_fd >= 0 && (!may || w->head.own.has_symtab || w->head.with_debug))
		return use_cached(n);
	if (!may) /* what a parser says of some may still be had */
		return n->n_asks_first ? -ENOENT : -EAGAIN;
	sp_naming_then(n, table_fd >= 0 ? looked_again : debug_chosen);
	return table_fd >= 0 ? sp_debug_file_search(n, &w->head.own) : sp_debug_file_choose(n);
}

static int find_cached(struct sp_naming *n)
{
	const struct sp_naming_work *w = n->work;
	struct sp_name_table_head head;
	SP_CLOSE int table_fd = open_cached(n, &w->key, &head);
	struct sp_name_table t;
	int r;

	if (table_fd < 0)
		return -EBADMSG;
	t = sp_naming_table(table_fd, &head);
	t.scratch = n->scratch;
	r = sp_name_table_find(&t, w->offsets, w->n, w->names);
	if (r == -EBADMSG)
		sp_entries_damaged(n->entries, &w->key);
	return r;
}

static int find(struct sp_naming *n)
{
	const struct sp_naming_work *w = n->work;
	struct sp_named_file *f = sp_named_file(n, w->file);

	if (!n->scratch && sp_name_scratch_new(&n->scratch) < 0)
		return -ENOMEM;
	f->table.scratch = n->scratch;
	if (f->state == SP_NAMED_CACHED)
		return find_cached(n);
	return f->state == SP_NAMED_PRIVATE ? sp_name_table_find(&f->table, w->offsets, w->n, w->names) : -ENOENT;
}

static void forget(struct sp_named_file *f)
{
	const uint64_t tag = f->tag;

	sp_named_file_done(f);
	f->tag = tag;
}

static int look(struct sp_naming *n);

static int chosen(struct sp_naming *n, int r)
{
	struct sp_naming_work *w = n->work;

	if (r < 0)
		return r;
	r = find(n);
	if (r != -EBADMSG)
		return r;
	sp_error_clear();
	if (w->is_second)
		return -ENOENT;
	w->is_second = true;
	forget(sp_named_file(n, w->file));
	return look(n);
}

static int look(struct sp_naming *n)
{
	sp_naming_then(n, chosen);
	return sp_named_file(n, n->work->file)->state == SP_NAMED_NEW ? choose(n) : 0;
}

/* What is read from now on is what the file's times tell, even if these were too new when it was opened. */
static void settle(struct sp_naming_work *w)
{
	uint64_t now_ns = sp_time_ns(CLOCK_REALTIME);

	if (sp_entries_changed_ns(w->fd) == w->key.state.ctime_ns)
		w->key.state.opened_ns = SP_MAX(now_ns, w->key.state.opened_ns);
}

int sp_naming_look_up(struct sp_naming *n)
{
	struct sp_naming_work *w = n->work;

	if (!sp_naming_file_key(n, w->file, &w->key))
		return -ENOENT;
	w->key.build_id_len = SP_MIN(w->key.build_id_len, sizeof(w->build_id));
	memcpy(w->build_id, w->key.build_id, w->key.build_id_len);
	w->key.build_id = w->build_id; /* the session's may move while we wait */
	settle(w);
	entries_open(n);
	return look(n);
}

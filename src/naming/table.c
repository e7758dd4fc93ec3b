/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table.c: the table of a file's functions: found on disk, or made by a worker.
 *
 * A table that was made without a debug file, of a file that has no symbols of its own, is made anew once there is one:
 * a debug package may come later. Where it cannot be kept on disk (the file's owner or mode do not allow it, the disk
 * is full) it is made in a memory file for this run.
 */
#include "base/entries.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "naming/priv.h"
#include "profile/profile.h"
#include "unwind/build.h"
#include "worker/jobs_names.h"
#include "worker/worker.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	LIKELY_BYTES = 256 << 10, /* of a table that is to be made; most are smaller */
	ASK_BYTES = 1 << 20       /* of a file, for each question before its table */
};

void sp_naming_table_came(void *arg, int r, const struct sp_name_table_head *head)
{
	struct sp_naming_making *m = arg;

	m->done = true;
	m->r = r;
	if (r >= 0)
		m->head = *head;
}

int sp_naming_making_wait(struct sp_naming *n, int asked, struct sp_naming_making *m)
{
	int r = asked < 0 ? asked : sp_naming_wait(n, &m->done);

	return r < 0 ? r : m->r;
}

struct sp_name_table sp_naming_table(int fd, const struct sp_name_table_head *h)
{
	return (struct sp_name_table){
	    .fd = fd, .n_blocks = h->n_blocks, .index_at = h->index_at, .index_hash = h->index_hash};
}

/* --- making ---------------------------------------------------------------------------------------------------------
 */
static int ask(struct sp_naming *n, int fd, int debug_fd, int table_fd, struct sp_naming_making *m)
{
	return sp_naming_making_wait(
	    n, sp_workers_spans(n->workers, fd, debug_fd, table_fd, &m->head, sp_naming_table_came, m), m);
}

/* In table_fd, which is empty; again without the debug file, if it is that which cannot be read. */
static int write_table(struct sp_naming *n, uint32_t file, struct sp_named_file *f, int fd, int table_fd,
		       struct sp_naming_making *m)
{
	struct sp_name_table_head what = m->head;
	int r;

	m->head.with_debug = f->debug_fd >= 0;
	r = ask(n, fd, f->debug_fd, table_fd, m);
	if (r >= 0 || f->debug_fd < 0)
		return r;
	sp_naming_note(n, file, "debug file", r);
	sp_debug_file_drop(f);
	*m = (struct sp_naming_making){.head = what};
	return ftruncate(table_fd, 0) < 0 ? -errno : ask(n, fd, -1, table_fd, m);
}

static void describe(const struct sp_cache_key *key, struct sp_name_table_head *head)
{
	head->file_size = key->file_size;
	head->ranges = SP_BLOB_VERSION;
	head->build_id_len = (uint32_t)SP_MIN(key->build_id_len, sizeof(head->build_id));
	memcpy(head->build_id, key->build_id, head->build_id_len);
}

static int make_cached(struct sp_naming *n, uint32_t file, struct sp_named_file *f, int fd,
		       const struct sp_cache_key *key)
{
	struct sp_naming_making m = {0};
	char name[SP_ENTRY_NAME];
	SP_CLOSE int table_fd = sp_entries_new(n->entries, LIKELY_BYTES, name);
	uint64_t changed_ns = sp_entries_changed_ns(fd);
	int r;

	if (table_fd < 0)
		return table_fd;
	describe(key, &m.head);
	r = write_table(n, file, f, fd, table_fd, &m);
	if (r >= 0 && sp_entries_changed_ns(fd) != changed_ns)
		r = sp_fail_said(-ESTALE, "the file was changed while it was read");
	if (r >= 0)
		r = sp_entries_keep(n->entries, name, key, m.head.bytes);
	else
		sp_entries_forget(n->entries, name);
	if (r < 0)
		return r;
	n->stats.n_made++;
	n->stats.made_bytes += m.head.bytes;
	f->state = SP_NAMED_CACHED;
	if (*m.head.warning)
		sp_naming_note_text(n, file, m.head.warning);
	return 0;
}

static int make_private(struct sp_naming *n, uint32_t file, struct sp_named_file *f, int fd)
{
	SP_CLOSE int table_fd = memfd_create("soprof-names", MFD_CLOEXEC);
	struct sp_naming_making m = {0};
	int r = table_fd < 0 ? -errno : write_table(n, file, f, fd, table_fd, &m);

	if (r < 0)
		return r;
	n->stats.n_made++;
	n->stats.n_private++;
	n->stats.made_bytes += m.head.bytes;
	f->table = sp_naming_table(sp_take_fd(&table_fd), &m.head);
	f->state = SP_NAMED_PRIVATE;
	if (*m.head.warning)
		sp_naming_note_text(n, file, m.head.warning);
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
static int make(struct sp_naming *n, uint32_t file, struct sp_named_file *f, int fd, const struct sp_cache_key *key)
{
	bool cached = n->entries && sp_entries_may(n->entries, key) && (f->debug_fd < 0 || f->debug_is_trusted);
	int r = cached ? make_cached(n, file, f, fd, key) : -EACCES;

	if (cached && r < 0)
		sp_entries_missed(n->entries);
	if (is_place_bad(r)) {
		sp_error_clear();
		r = make_private(n, file, f, fd);
	}
	if (r >= 0 && !n->with_lines)
		sp_debug_file_drop(f);
	if (r >= 0)
		return 0;
	f->state = r == -EIO || r == -EBADMSG ? SP_NAMED_FAILED : SP_NAMED_ASKED;
	f->failure = r;
	f->looked_ns = sp_time_ns(CLOCK_BOOTTIME);
	if (f->state == SP_NAMED_FAILED)
		return r;
	sp_error_clear();
	return 0;
}

/* --- finding --------------------------------------------------------------------------------------------------------
 */
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

/* Whether a debug file is there now that was not when the table was made; it is then in f. */
static bool debug_came(struct sp_naming *n, uint32_t file, struct sp_named_file *f,
		       const struct sp_name_table_head *head)
{
	if (head->own.has_symtab || head->with_debug)
		return false;
	f->has_looked = true;
	f->debug_fd = sp_debug_file_search(n, file, &head->own, &f->debug_is_trusted);
	f->looked_ns = f->debug_fd < 0 ? sp_time_ns(CLOCK_BOOTTIME) : 0;
	return f->debug_fd >= 0;
}

/* A table of a small file costs no more than two or three questions about it. */
static bool was_asked_enough(const struct sp_naming *n, const struct sp_named_file *f, const struct sp_cache_key *key)
{
	return f->n_asked >= SP_MIN((uint64_t)n->n_asks_first, key->file_size / ASK_BYTES);
}

/* Then f's state says where its table is, or that it has none. */
static int choose(struct sp_naming *n, uint32_t file, struct sp_named_file *f, int fd, const struct sp_cache_key *key)
{
	struct sp_name_table_head head;
	SP_CLOSE int table_fd = open_cached(n, key, &head);

	bool may = (table_fd >= 0 || was_asked_enough(n, f, key)) && sp_naming_may_parse(n, f, SP_NAMING_TABLE);

	if (table_fd >= 0 && (!may || !debug_came(n, file, f, &head))) {
		f->state = SP_NAMED_CACHED;
		n->stats.n_found++;
		if (*head.warning)
			sp_naming_note_text(n, file, head.warning);
		return 0;
	}
	if (!may) /* what a parser says of some may still be had */
		return n->n_asks_first ? -ENOENT : -EAGAIN;
	if (table_fd < 0)
		sp_debug_file_choose(n, file, f, fd);
	return make(n, file, f, fd, key);
}

/* The session may close its own descriptor while we wait. */
static int choose_held(struct sp_naming *n, uint32_t file, struct sp_named_file *f, int fd,
		       const struct sp_cache_key *key)
{
	SP_CLOSE int held = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return held < 0 ? -errno : choose(n, file, f, held, key);
}

static int find_cached(struct sp_naming *n, const struct sp_cache_key *key, const uint64_t *offsets, size_t n_offsets,
		       struct sp_name *names)
{
	struct sp_name_table_head head;
	SP_CLOSE int table_fd = open_cached(n, key, &head);
	struct sp_name_table t;
	int r;

	if (table_fd < 0)
		return -EBADMSG;
	t = sp_naming_table(table_fd, &head);
	t.scratch = n->scratch;
	r = sp_name_table_find(&t, offsets, n_offsets, names);
	if (r == -EBADMSG)
		sp_entries_damaged(n->entries, key);
	return r;
}

static int find(struct sp_naming *n, struct sp_named_file *f, const struct sp_cache_key *key, const uint64_t *offsets,
		size_t n_offsets, struct sp_name *names)
{
	if (!n->scratch && sp_name_scratch_new(&n->scratch) < 0)
		return -ENOMEM;
	f->table.scratch = n->scratch;
	if (f->state == SP_NAMED_CACHED)
		return find_cached(n, key, offsets, n_offsets, names);
	return f->state == SP_NAMED_PRIVATE ? sp_name_table_find(&f->table, offsets, n_offsets, names) : -ENOENT;
}

static void forget(struct sp_named_file *f)
{
	const uint64_t tag = f->tag;

	sp_named_file_done(f);
	f->tag = tag;
}

int sp_naming_look_up(struct sp_naming *n, uint32_t file, int fd, const uint64_t *offsets, size_t n_offsets,
		      struct sp_name *names)
{
	struct sp_named_file *f = sp_named_file(n, file);
	struct sp_cache_key key;
	uint8_t build_id[32];
	int r = -EBADMSG;

	if (!f)
		return -ENOMEM;
	if (!sp_naming_file_key(n, file, &key))
		return -ENOENT;
	key.build_id_len = SP_MIN(key.build_id_len, sizeof(build_id));
	memcpy(build_id, key.build_id, key.build_id_len);
	key.build_id = build_id; /* the session's may move while we wait */
	entries_open(n);
	for (int i = 0; i < 2 && r == -EBADMSG; i++) { /* one that was there may be damaged, or gone since */
		sp_error_clear();
		if (i)
			forget(f);
		r = f->state == SP_NAMED_NEW ? choose_held(n, file, f, fd, &key) : 0;
		if (r < 0)
			return r;
		r = find(n, f, &key, offsets, n_offsets, names);
	}
	return r == -EBADMSG ? -ENOENT : r;
}

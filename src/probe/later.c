/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/later.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/share.h"
#include "base/time.h"
#include "probe/file.h"
#include "probe/watch.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { MAX_SEEN = 4096 };
/*
 * A user may have a tenth of a CPU of the workers, and ten seconds at once: what a hundred containers bring along. A
 * look that waits counts as a long one, so that no queue is longer than 2,000 of a user.
 */
static const struct sp_bucket_size share_size = {
    .gain_ppm = 100000, .burst_ns = 10 * (int64_t)SP_NS_PER_S, .debt_ns = 60 * (int64_t)SP_NS_PER_S};
static const int64_t waiting_ns = 5000000;

struct seen { /* a file that was looked at, or is */
	uint64_t ino, generation;
	uint32_t dev;
	bool is_looked_at;
	uint32_t next_pid; /* has it, too, so it is asked if the one before has ended; 0 = none */
	uint64_t next_start, next_end;
};
struct sp_probe_later {
	struct sp_probe_later_options options;
	struct sp_probe_watch *watch;
	struct sp_workers *workers;
	const struct sp_probe_name **names;
	size_t n_names, names_capacity;
	struct seen *seen;
	size_t n_seen, seen_capacity;
	struct sp_shares shares; /* of users */
	struct sp_probe_unlooked left_out;
};
struct look { /* at a file; it is found again by what it is, since the array moves */
	struct sp_probe_later *later;
	struct seen file;
	uint64_t user;
	char path[];
};

int sp_probe_later_new(const struct sp_probe_later_options *o, struct sp_probe_later **ret_later)
{
	struct sp_probe_later *l = calloc(1, sizeof(*l));
	int r = l ? sp_probe_watch_new(o->cpus, o->n_cpus, &l->watch) : -ENOMEM;

	if (r < 0) {
		sp_probe_later_free(l);
		return r;
	}
	l->options = *o;
	l->shares.size = share_size;
	*ret_later = l;
	return 0;
}

void sp_probe_later_free(struct sp_probe_later *l)
{
	if (!l)
		return;
	sp_probe_watch_free(l->watch);
	free(l->names);
	free(l->seen);
	free(l);
}

int sp_probe_later_add(struct sp_probe_later *l, const struct sp_probe_name *name)
{
	return SP_APPEND(l->names, l->n_names, l->names_capacity, name);
}

int sp_probe_later_fd(const struct sp_probe_later *l)
{
	return sp_probe_watch_fd(l->watch);
}

uint64_t sp_probe_later_n_lost(const struct sp_probe_later *l)
{
	return sp_probe_watch_n_lost(l->watch);
}

struct sp_probe_unlooked sp_probe_later_unlooked(const struct sp_probe_later *l)
{
	return l->left_out;
}

void sp_probe_unlooked_text(const struct sp_probe_unlooked *l, char ret_text[SP_PROBE_UNLOOKED_TEXT])
{
	char whose[48] = "programs that have ended map";

	*ret_text = '\0';
	if (!l->n)
		return;
	if (l->user != SP_PROBE_NO_USER)
		snprintf(whose, sizeof(whose), "programs of user %" PRIu64 " map", l->user);
	snprintf(ret_text, SP_PROBE_UNLOOKED_TEXT,
		 "%" PRIu64 " %s not looked at: %s more new ones than a user's share of CPU time pays for", l->n,
		 l->n == 1 ? "mapping of a new file was" : "mappings of new files were", whose);
}

/* --- users' shares --- */
static void share_take(struct sp_probe_later *l, uint64_t user, int64_t cpu_ns)
{
	sp_share_take(&l->shares, user, sp_time_ns(CLOCK_MONOTONIC), cpu_ns);
}

void sp_probe_later_took(struct sp_probe_later *l, uint64_t user, uint64_t cpu_ns)
{
	share_take(l, user, (int64_t)cpu_ns);
}

static uint64_t user_of(uint32_t pid)
{
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return stat(path, &st) ? SP_PROBE_NO_USER : st.st_uid;
}

static bool may_look(struct sp_probe_later *l, uint64_t user)
{
	if (!sp_share_is_used_up(&l->shares, user, sp_time_ns(CLOCK_MONOTONIC)))
		return true;
	l->left_out.n++;
	l->left_out.user = user;
	return false;
}

/* --- files that were seen --- */
static struct seen *seen_find(const struct sp_probe_later *l, const struct seen *file)
{
	for (size_t i = 0; i < l->n_seen; i++) {
		struct seen *s = &l->seen[i];

		if (s->ino == file->ino && s->generation == file->generation && s->dev == file->dev)
			return s;
	}
	return NULL;
}

/* When there is no room all are forgotten: a file is looked at once more. */
static int seen_add(struct sp_probe_later *l, const struct seen *file)
{
	if (l->n_seen == MAX_SEEN)
		l->n_seen = 0;
	return SP_APPEND(l->seen, l->n_seen, l->seen_capacity, *file);
}

/* --- looking at a file --- */
static void looked(void *arg, int r, struct sp_probe_file *file);

static int look_begin(struct look *look, uint32_t pid, uint64_t start, uint64_t end)
{
	int r = sp_probe_file_look(look->later->workers, pid, start, end, looked, look);

	if (r >= 0)
		share_take(look->later, look->user, waiting_ns);
	return r;
}

/* The process has ended. Another that has the file is asked, one that is known or the next that comes. */
static bool look_again(struct look *look)
{
	struct sp_probe_later *l = look->later;
	struct seen *seen = seen_find(l, &look->file), now = seen ? *seen : (struct seen){.ino = 0};

	if (seen)
		seen->next_pid = 0;
	if (now.next_pid && look_begin(look, now.next_pid, now.next_start, now.next_end) >= 0)
		return true;
	if (seen)
		*seen = l->seen[--l->n_seen];
	return false;
}

/* -ENOEXEC: whatever its name, it is no library or program. */
static void looked(void *arg, int r, struct sp_probe_file *file)
{
	struct look *look = arg;
	struct sp_probe_later *l = look->later;
	struct sp_probe_file unseen = {
	    .fd = -1, .dev = makedev(look->file.dev >> 20, look->file.dev & 0xfffff), .ino = look->file.ino};
	bool is_gone = r == -ENOENT || r == -ESRCH;
	struct seen *seen;

	share_take(l, look->user, (int64_t)file->cpu_ns - waiting_ns);
	file->user = look->user;
	if (is_gone && look_again(look)) {
		sp_error_clear();
		return;
	}
	seen = seen_find(l, &look->file);
	if (seen)
		seen->is_looked_at = false;
	if (r != -ECANCELED && r != -ENOEXEC)
		l->options.take(l->options.arg, is_gone ? -ESRCH : r, look->path, r < 0 ? &unseen : file);
	sp_error_clear();
	free(look);
}

static int look_new(struct sp_probe_later *l, const struct seen *file, uint64_t user, const struct sp_probe_mapping *m)
{
	size_t n = strlen(m->path) + 1;
	struct look *look = malloc(sizeof(*look) + n);
	int r = look ? 0 : -ENOMEM;

	if (look) {
		*look = (struct look){.later = l, .file = *file, .user = user};
		memcpy(look->path, m->path, n);
		r = look_begin(look, m->pid, m->start, m->end);
	}
	if (r < 0)
		free(look);
	return r;
}

/* --- what is mapped --- */
static bool is_wanted(const struct sp_probe_later *l, const struct sp_probe_mapping *m)
{
	const struct sp_probe_later_options *o = &l->options;
	bool by_whom = !o->n_pids;

	for (size_t i = 0; i < o->n_pids && !by_whom; i++)
		by_whom = o->pids[i] == m->pid;
	for (size_t i = 0; i < l->n_names && by_whom; i++)
		if ((!l->names[i]->pid || l->names[i]->pid == m->pid) && sp_probe_name_may_be(l->names[i], m->path))
			return true;
	return false;
}

static int mapping_take(void *arg, const struct sp_probe_mapping *m)
{
	struct sp_probe_later *l = arg;
	const struct seen file = {.ino = m->ino, .generation = m->generation, .dev = m->dev, .is_looked_at = true};
	struct seen *seen;
	uint64_t user;
	int r;

	if (!is_wanted(l, m))
		return 0;
	seen = seen_find(l, &file);
	if (seen && seen->is_looked_at) {
		seen->next_pid = m->pid;
		seen->next_start = m->start;
		seen->next_end = m->end;
	}
	if (seen)
		return 0;
	user = user_of(m->pid);
	if (!may_look(l, user))
		return 0;
	r = seen_add(l, &file);
	return r < 0 ? r : look_new(l, &file, user, m);
}

int sp_probe_later_turn(struct sp_probe_later *l, struct sp_workers *w)
{
	l->workers = w;
	return sp_probe_watch_read(l->watch, mapping_take, l);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* machine_watch.c: files with a name that is counted, which come while soprof counts: they are probed when first
 * mapped. */
#include "base/error.h"
#include "base/mem.h"
#include "cmd/calls/machine.h"
#include "cmd/cmd.h"
#include "proc/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

enum { MAX_SEEN = 4096 };

int sp_machine_watch_new(struct sp_machine_watch *w)
{
	SP_FREE uint32_t *cpus = NULL;
	size_t n;
	int r = sp_process_cpus_online(&cpus, &n);

	return r < 0 ? r : sp_probe_watch_new(cpus, n, &w->watch);
}

void sp_machine_watch_done(struct sp_machine_watch *w)
{
	sp_probe_watch_free(w->watch);
	free(w->seen);
}

void sp_machine_watch_failed(struct sp_machine_watch *w, int r)
{
	if (r >= 0 || r == -ECANCELED)
		return;
	w->n_failed++;
	sp_cmd_warn(sp_error_text(r));
	sp_error_clear();
}

/* --- files that were seen --- */
struct look { /* at a file; it is found again by what it is, since the array moves */
	struct sp_machine_watch *watch;
	struct sp_machine_seen file;
};

static bool is_same(const struct sp_machine_seen *a, const struct sp_machine_seen *b)
{
	return a->ino == b->ino && a->generation == b->generation && a->dev == b->dev;
}

static struct sp_machine_seen *seen_find(const struct sp_machine_watch *w, const struct sp_machine_seen *file)
{
	for (size_t i = 0; i < w->n_seen; i++)
		if (is_same(&w->seen[i], file))
			return &w->seen[i];
	return NULL;
}

/* When there is no room all are forgotten: a file is looked at once more. */
static int seen_add(struct sp_machine_watch *w, const struct sp_machine_seen *file)
{
	int r;

	if (w->n_seen == MAX_SEEN)
		w->n_seen = 0;
	r = sp_grow(&w->seen, &w->seen_capacity, w->n_seen + 1, sizeof(*w->seen));
	if (r >= 0)
		w->seen[w->n_seen++] = *file;
	return r;
}

static bool is_probed(const struct sp_machine_watch *w, const struct sp_probe_mapping *m)
{
	for (size_t i = 0; i < w->targets->n; i++) {
		const struct sp_probe_files *files = &w->targets->at[i].files;

		for (size_t k = 0; k < files->n; k++)
			if (files->files[k].ino == m->ino &&
			    (major(files->files[k].dev) << 20 | minor(files->files[k].dev)) == m->dev)
				return true;
	}
	return false;
}

/* --- looking at a file --- */
static void looked(void *arg, int r, struct sp_probe_file *file);

static int look_begin(struct sp_machine_watch *w, const struct sp_machine_seen *file, uint32_t pid, uint64_t start,
		      uint64_t end)
{
	struct look *look = malloc(sizeof(*look));
	int r = look ? 0 : -ENOMEM;

	if (look) {
		*look = (struct look){w, *file};
		r = sp_probe_file_look(w->workers, pid, start, end, looked, look);
	}
	if (r < 0)
		free(look);
	return r;
}

/* The process had ended. Another that has the file is asked, one that is known or the next that comes. */
static void look_again(struct sp_machine_watch *w, const struct sp_machine_seen *file)
{
	struct sp_machine_seen *seen = seen_find(w, file), now;

	if (!seen)
		return;
	now = *seen;
	seen->next_pid = 0;
	if (now.next_pid && look_begin(w, file, now.next_pid, now.next_start, now.next_end) >= 0)
		return;
	w->n_gone++;
	*seen = w->seen[--w->n_seen];
}

static int file_take(struct sp_machine_watch *w, struct sp_probe_file *file)
{
	struct sp_machine_targets *t = w->targets;

	for (size_t i = 0; i < t->n; i++)
		if (sp_probe_name_is(&t->at[i].files.name, file)) /* it is the target's from here on */
			return sp_machine_targets_add(w, i, file);
	return 0;
}

static void looked(void *arg, int r, struct sp_probe_file *file)
{
	struct look *look = arg;
	struct sp_machine_watch *w = look->watch;
	struct sp_machine_seen *seen = seen_find(w, &look->file);

	if (w->targets->is_over) {
		sp_error_clear();
	} else if (r == -ENOENT || r == -ESRCH) {
		sp_error_clear();
		look_again(w, &look->file);
	} else {
		if (seen)
			seen->is_looked_at = false;
		sp_machine_watch_failed(w, r < 0 ? r : file_take(w, file));
	}
	free(look);
}

static bool is_wanted(const struct sp_machine_watch *w, const struct sp_probe_mapping *m)
{
	const struct sp_u32_list *pids = w->args->pids;
	bool is_target = !pids->n;

	for (size_t i = 0; i < pids->n; i++)
		is_target = is_target || pids->values[i] == m->pid;
	for (size_t i = 0; i < w->targets->n && is_target; i++) {
		const struct sp_probe_name *name = &w->targets->at[i].files.name;

		if ((!name->pid || name->pid == m->pid) && sp_probe_name_may_be(name, m->path))
			return true;
	}
	return false;
}

static int mapping_take(void *arg, const struct sp_probe_mapping *m)
{
	struct sp_machine_watch *w = arg;
	const struct sp_machine_seen file = {
	    .ino = m->ino, .generation = m->generation, .dev = m->dev, .is_looked_at = true};
	struct sp_machine_seen *seen;
	int r;

	if (!is_wanted(w, m) || is_probed(w, m))
		return 0;
	seen = seen_find(w, &file);
	if (seen && seen->is_looked_at) {
		seen->next_pid = m->pid;
		seen->next_start = m->start;
		seen->next_end = m->end;
	}
	if (seen)
		return 0;
	r = seen_add(w, &file);
	return r < 0 ? r : look_begin(w, &file, m->pid, m->start, m->end);
}

int sp_machine_watch_turn(struct sp_machine_watch *w)
{
	return sp_probe_watch_read(w->watch, mapping_take, w);
}

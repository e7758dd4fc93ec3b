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

static void looked(void *arg, int r, struct sp_probe_file *file)
{
	struct sp_machine_watch *w = arg;
	struct sp_machine_targets *t = w->targets;

	for (size_t i = 0; i < t->n && r >= 0 && !t->is_over; i++) {
		if (!sp_probe_name_is(&t->at[i].files.name, file))
			continue;
		r = sp_machine_targets_add(w, i, file);
		break; /* the file is the target's now */
	}
	sp_machine_watch_failed(w, r);
}

/* When there is no room all are forgotten: a file is looked at once more. */
static bool is_seen(struct sp_machine_watch *w, const struct sp_probe_mapping *m)
{
	const struct sp_machine_seen file = {.ino = m->ino, .generation = m->generation, .dev = m->dev};

	for (size_t i = 0; i < w->n_seen; i++)
		if (!memcmp(&w->seen[i], &file, sizeof(file)))
			return true;
	if (w->n_seen == MAX_SEEN)
		w->n_seen = 0;
	if (sp_grow(&w->seen, &w->seen_capacity, w->n_seen + 1, sizeof(*w->seen)) >= 0)
		w->seen[w->n_seen++] = file;
	return false;
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

	if (!is_wanted(w, m) || is_seen(w, m))
		return 0;
	return sp_probe_file_look(w->workers, m->pid, m->start, m->end, looked, w);
}

int sp_machine_watch_turn(struct sp_machine_watch *w)
{
	return sp_probe_watch_read(w->watch, mapping_take, w);
}

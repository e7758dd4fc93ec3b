/* SPDX-License-Identifier: GPL-2.0-or-later */
/* machine_watch.c: files with a name that is counted, which come while soprof counts: they are probed when first
 * mapped. */
#include "base/error.h"
#include "base/mem.h"
#include "cmd/calls/machine.h"
#include "cmd/cmd.h"
#include "proc/process.h"

#include <errno.h>

void sp_machine_watch_failed(struct sp_machine_watch *w, int r)
{
	if (r >= 0 || r == -ECANCELED)
		return;
	if (w->n_failed++ < SP_MACHINE_TOLD)
		sp_cmd_warn(sp_error_text(r));
	sp_error_clear();
}

static int file_add(struct sp_machine_watch *w, struct sp_probe_file *file)
{
	struct sp_machine_targets *t = w->targets;

	for (size_t i = 0; i < t->n; i++)
		if (sp_probe_name_is(&t->at[i].files.name, file)) /* it is the target's from here on */
			return sp_machine_targets_add(w, i, file);
	return 0;
}

/* One that is probed: all who map it are counted, also who has ended since. */
static bool is_probed(const struct sp_machine_targets *t, const struct sp_probe_file *file)
{
	for (size_t i = 0; i < t->n; i++)
		if (sp_probe_files_have(&t->at[i].files, file))
			return true;
	return false;
}

static void file_take(void *arg, int r, const char *path, struct sp_probe_file *file)
{
	struct sp_machine_watch *w = arg;

	(void)path;
	if (w->targets->is_over || (r < 0 && is_probed(w->targets, file)))
		return;
	if (r == -ESRCH)
		w->n_gone++;
	else
		sp_machine_watch_failed(w, r < 0 ? r : file_add(w, file));
}

int sp_machine_watch_new(struct sp_machine_watch *w)
{
	SP_FREE uint32_t *cpus = NULL;
	struct sp_probe_later_options o = {
	    .pids = w->args->pids->values, .n_pids = w->args->pids->n, .take = file_take, .arg = w};
	int r = sp_process_cpus_online(&cpus, &o.n_cpus);

	o.cpus = cpus;
	return r < 0 ? r : sp_probe_later_new(&o, &w->later);
}

int sp_machine_watch_names(struct sp_machine_watch *w)
{
	int r = 0;

	for (size_t i = 0; i < w->targets->n && r >= 0; i++)
		r = sp_probe_later_add(w->later, &w->targets->at[i].files.name);
	return r;
}

int sp_machine_watch_turn(struct sp_machine_watch *w)
{
	return sp_probe_later_turn(w->later, w->workers);
}

void sp_machine_watch_done(struct sp_machine_watch *w)
{
	sp_probe_later_free(w->later);
}

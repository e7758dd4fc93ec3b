/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stat_by.c: `soprof stat --by library`: what `soprof profile` samples of the events, a column each. */
#include "base/error.h"
#include "base/mem.h"
#include "cmd/output.h"
#include "cmd/profile/profile_args.h"
#include "cmd/stat/stat.h"

#include <errno.h>
#include <stdlib.h>

/* `profile` calls CPU time "cpu", and has one clock. */
static int names_join(const struct sp_stat_events *events, char **ret_names)
{
	const char *before = "";
	bool has_clock = false;
	size_t size;
	FILE *out = open_memstream(ret_names, &size);

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < events->n; i++) {
		const struct sp_stat_event *e = &events->events[i];

		if (!e->is_clock || !has_clock)
			fprintf(out, "%s%s", before,
				e->is_clock && !e->user_only && !e->kernel_only ? "cpu" : e->sampled);
		before = ",";
		has_clock |= e->is_clock;
	}
	return fclose(out) ? -ENOMEM : 0;
}

static int events_join(const struct sp_stat_args *a, char **ret_names)
{
	struct sp_stat_events events = {0};
	int r = sp_stat_events_add(&events,
				   a->events ? a->events : "cpu-clock,context-switches,cpu-migrations,page-faults");

	if (r >= 0)
		r = names_join(&events, ret_names);
	sp_stat_events_done(&events);
	return r;
}

/* As `soprof profile -e EVENTS --by WHAT ...` would have it. */
static int profile_fill(const struct sp_stat_args *a, const char *events, struct sp_profile_args *ret_args)
{
	const char *view = a->csv ? "csv" : a->json ? "json" : NULL;

	ret_args->events = events;
	ret_args->by = a->by;
	ret_args->pids = a->pids;
	ret_args->tids = a->tids;
	ret_args->cpus = a->cpus;
	ret_args->output = a->output;
	ret_args->duration_s = a->seconds;
	ret_args->command = a->command;
	if (view)
		ret_args->view_number = sp_choice_number(sp_sample_view_choice, view);
	return view && ret_args->view_number < 0 ? sp_fail_said(-EINVAL, "this soprof was built without %s", view) : 0;
}

int sp_stat_by(const struct sp_cmd *cmd, const struct sp_stat_args *a)
{
	struct sp_profile_args profile;
	SP_FREE char *events = NULL;
	int r = events_join(a, &events), code;

	sp_profile_args_default(&profile);
	profile.cmd = cmd; /* whose name errors have */
	if (r >= 0)
		r = profile_fill(a, events, &profile);
	if (r >= 0)
		r = sp_profile_args_complete(&profile);
	code = r < 0 ? sp_cmd_error(cmd, r, sp_cmd_exit_code(r)) : sp_cmd_profile_run(&profile);
	profile.pids = profile.tids = profile.cpus = (struct sp_u32_list){0}; /* those of stat */
	sp_profile_args_done(&profile);
	return code;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calls_stacks.c: `soprof calls --stacks` is `soprof profile -e LIB:FUNCTION`. */
#include "base/error.h"
#include "base/mem.h"
#include "cmd/calls/calls_args.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/profile/profile_args.h"
#include "probe/file.h"
#include "profile/totals.h"
#include "view/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* "LIB:FUNCTION,LIB:FUNCTION": all functions of a library that is named alone. */
static int named_write(const struct sp_calls_args *a, const char *name, FILE *out)
{
	static const char *const all[] = {"*"};
	const char *const *functions = a->functions.n ? a->functions.words : all;
	size_t n = a->functions.n ? a->functions.n : 1;
	struct sp_probe_asked asked;
	int r = sp_probe_asked_parse(name, &asked);
	bool is_whole;

	if (r < 0)
		return r;
	is_whole = !asked.function && !asked.has_address;
	for (size_t i = 0; i < (is_whole ? n : 1); i++)
		fprintf(out, is_whole ? "%s%s:%s" : "%s%s", ftell(out) ? "," : "", name, functions[i]);
	sp_probe_asked_done(&asked);
	return 0;
}

static int events_make(const struct sp_calls_args *a, char **ret_events)
{
	size_t size;
	FILE *out = open_memstream(ret_events, &size);
	int r = out ? 0 : -ENOMEM;

	for (size_t i = 0; i < a->named.n && r >= 0; i++)
		r = named_write(a, a->named.words[i], out);
	if (out && fclose(out) && r >= 0)
		r = -ENOMEM;
	return r;
}

/* The number of profile's view, which are those that need no counted calls; -1: none was asked for. */
static int view_choose(const struct sp_calls_args *a, int *ret_number)
{
	const char *name = a->show.csv         ? "csv"
			   : a->show.json      ? "json"
			   : a->show.view >= 0 ? sp_view_choice((size_t)a->show.view)
					       : NULL;

	*ret_number = name ? sp_choice_number(sp_sample_view_choice, name) : -1;
	return !name || *ret_number >= 0 ? 0 : sp_fail_said(-EINVAL, "--format %s is not for --stacks", name);
}

static int profile_fill(const struct sp_cmd *cmd, const struct sp_calls_args *a, struct sp_profile_args *p)
{
	p->cmd = cmd;
	p->pids = a->pids;
	p->comm = a->comm;
	p->cgroup = a->cgroup;
	p->by = a->show.by;
	p->output = a->show.output;
	p->max_overhead = a->max_overhead;
	p->duration_s = a->seconds;
	if (a->show.by == SP_N_TOTAL_BY)
		return sp_fail_said(-EINVAL, "--by thread is for counting inside a command");
	return view_choose(a, &p->view_number);
}

int sp_calls_stacks(const struct sp_cmd *cmd, const struct sp_calls_args *a)
{
	SP_FREE char *events = NULL;
	struct sp_profile_args p;
	int code, r;

	sp_profile_args_default(&p);
	r = profile_fill(cmd, a, &p);
	if (r >= 0)
		r = events_make(a, &events);
	p.events = events;
	if (r >= 0)
		r = sp_profile_args_complete(&p);
	if (sp_cmd_parsed(cmd, r, &code))
		code = sp_cmd_profile_run(&p);
	p.pids.n = 0; /* those of calls */
	p.pids.values = NULL;
	sp_profile_args_done(&p);
	return code;
}

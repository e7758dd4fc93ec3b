/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stat_by.c: `soprof stat --by library`: what `soprof profile` samples of the events, a column each. */
#include "base/error.h"
#include "base/mem.h"
#include "cmd/profile/profile_args.h"
#include "cmd/stat/stat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 20 };

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

		if (!e->sampled || e->user_only || e->kernel_only) {
			fclose(out);
			return sp_fail_said(-EINVAL, "--by: %s cannot be sampled, only counted", e->name);
		}
		if (!e->is_clock || !has_clock)
			fprintf(out, "%s%s", before, e->is_clock ? "cpu" : e->sampled);
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

static char *list_join(const struct sp_u32_list *list)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; out && i < list->n; i++)
		fprintf(out, "%s%u", i ? "," : "", list->values[i]);
	return out && !fclose(out) ? text : NULL;
}

/* As `soprof profile -e EVENTS --by WHAT ...` would have it. */
static int profile_args_make(const struct sp_stat_args *a, char *events, struct sp_profile_args *ret_args)
{
	const struct {
		const char *option;
		const struct sp_u32_list *list;
	} lists[] = {{"-p", &a->pids}, {"-L", &a->tids}, {"-C", &a->cpus}};
	char by[] = "--by", format[] = "--format"; /* the parser cuts names where they end */
	char *words[MAX_WORDS] = {(char *)"-e", events, by, (char *)a->by}, *made[SP_COUNT(lists)] = {0};
	char seconds[24];
	int n = 4, r = 0;

	for (size_t i = 0; i < SP_COUNT(lists) && r >= 0; i++) {
		made[i] = lists[i].list->n ? list_join(lists[i].list) : NULL;
		if (made[i]) {
			words[n++] = (char *)lists[i].option;
			words[n++] = made[i];
		}
	}
	if (a->csv || a->json) {
		words[n++] = format;
		words[n++] = (char *)(a->csv ? "csv" : "json");
	}
	if (a->output) {
		words[n++] = (char *)"-o";
		words[n++] = (char *)a->output;
	}
	if (a->seconds) {
		snprintf(seconds, sizeof(seconds), "%llu", (unsigned long long)a->seconds);
		words[n++] = seconds;
	}
	r = sp_profile_args_parse(n, words, ret_args);
	ret_args->command = a->command;
	for (size_t i = 0; i < SP_COUNT(lists); i++)
		free(made[i]);
	return r;
}

int sp_stat_by(const struct sp_cmd *cmd, const struct sp_stat_args *a)
{
	struct sp_profile_args profile = {0};
	SP_FREE char *events = NULL;
	int r = events_join(a, &events), code;

	if (r >= 0)
		r = profile_args_make(a, events, &profile);
	code = r < 0 ? sp_cmd_error(cmd, r, sp_cmd_exit_code(r)) : sp_cmd_profile_run(&profile);
	sp_profile_args_done(&profile);
	return code;
}

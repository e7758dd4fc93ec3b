/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calls_stacks.c: `soprof calls --stacks` is `soprof profile` of the calls, so these are its words. */
#include "base/error.h"
#include "base/mem.h"
#include "cmd/calls/calls_args.h"
#include "cmd/cmd.h"
#include "cmd/profile/profile_parts.h"
#include "view/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 20 };

struct line {
	char *words[MAX_WORDS], options[MAX_WORDS][16]; /* parsing writes to an option */
	int n;
	char numbers[24], overhead[24];
};

static void put(struct line *l, const char *option, const char *value)
{
	if (!value)
		return;
	snprintf(l->options[l->n], sizeof(l->options[l->n]), "%s", option);
	l->words[l->n] = l->options[l->n];
	l->words[l->n + 1] = (char *)value;
	l->n += 2;
}

/* "LIB:FUNCTION,LIB:FUNCTION": all functions of a library that is named alone. */
static void events_write(const struct sp_calls_args *a, FILE *out)
{
	static const char *const all[] = {"*"};
	const char *const *functions = a->functions.n ? a->functions.words : all;
	size_t n_functions = a->functions.n ? a->functions.n : 1;
	const char *comma = "";

	for (size_t i = 0; i < a->named.n; i++) {
		const char *name = a->named.words[i];
		const char *after = name + strspn(name, "0123456789");
		bool is_whole = !strchr(after != name && *after == ':' ? after + 1 : name, ':') && !strstr(name, "+0x");

		for (size_t k = 0; k < (is_whole ? n_functions : 1); k++) {
			fprintf(out, is_whole ? "%s%s:%s" : "%s%s", comma, name, functions[k]);
			comma = ",";
		}
	}
}

static void pids_write(const struct sp_calls_args *a, FILE *out)
{
	for (size_t i = 0; i < a->pids.n; i++)
		fprintf(out, "%s%" PRIu32, i ? "," : "", a->pids.values[i]);
}

static int text_make(void (*write)(const struct sp_calls_args *a, FILE *out), const struct sp_calls_args *a,
		     char **ret_text)
{
	size_t size;
	FILE *out = open_memstream(ret_text, &size);

	if (!out)
		return -ENOMEM;
	write(a, out);
	return fclose(out) ? -ENOMEM : 0;
}

static void line_make(const struct sp_calls_args *a, char *events, char *pids, struct line *l)
{
	const char *format = a->show.csv         ? "csv"
			     : a->show.json      ? "json"
			     : a->show.view >= 0 ? sp_view_choice((size_t)a->show.view)
						 : NULL;

	put(l, "-e", events);
	put(l, "-p", *pids ? pids : NULL);
	put(l, "--comm", a->comm);
	put(l, "--cgroup", a->cgroup);
	put(l, "--by", a->show.by >= 0 ? sp_grouping_choice((size_t)a->show.by) : NULL);
	put(l, "--format", format);
	put(l, "-o", a->show.output);
	snprintf(l->overhead, sizeof(l->overhead), "%" PRIu64, a->max_overhead);
	put(l, "--max-overhead", a->max_overhead == SP_NO_OVERHEAD ? NULL : l->overhead);
	snprintf(l->numbers, sizeof(l->numbers), "%" PRIu64, a->seconds);
	if (a->seconds)
		l->words[l->n++] = l->numbers;
}

int sp_calls_stacks(const struct sp_cmd *cmd, const struct sp_calls_args *a)
{
	SP_FREE char *events = NULL, *pids = NULL;
	struct line l = {.n = 0};
	int r = text_make(events_write, a, &events);

	if (r >= 0)
		r = text_make(pids_write, a, &pids);
	if (r < 0)
		return sp_cmd_error(cmd, r, SP_EXIT_FAILED);
	line_make(a, events, pids, &l);
	return sp_cmd_profile.run(cmd, l.n, l.words);
}

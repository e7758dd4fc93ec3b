/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_list.c: the presets of `soprof trace`: what each tells, and whether this kernel has its events, and this user
 * may trace; with -v the fields of these, of tracepoints, of pairs, and of a library's marks (USDT). Shells complete
 * fields by these lines (completion.bash).
 */
#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/profile/profile_parts.h"
#include "cmd/trace/trace.h"
#include "recipe/expr.h"
#include "recipe/fields.h"
#include "recipe/kprobe.h"
#include "recipe/narrow.h"
#include "recipe/probe.h"
#include "recipe/recipe.h"
#include "recipe/tracepoint.h"
#include "recipe/types.h"
#include "trace/presets.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct list {
	const char *glob;
	bool with_fields;
	struct sp_types types;
	size_t n;
	char *refused; /* why this user may trace nothing; NULL: he may */
	bool tells_refused;
};

/* --- fields --- */
static void fields_write(const struct sp_fields *fields)
{
	size_t n = 0;

	for (size_t i = 0; i < fields->n; i++) {
		const struct sp_field *f = &fields->list[i];

		if (f->from == SP_FIELD_NOWHERE || !strncmp(f->name, "common_", 7))
			continue;
		printf("%s%s%s%s", n++ ? ", " : "", f->type, f->type[strlen(f->type) - 1] == '*' ? "" : " ", f->name);
	}
	puts(n ? "" : "none");
}

/* Of one event, by its name alone. What cannot be read is said in its place. */
static void fields_print(struct list *l, const char *name)
{
	struct sp_recipe_point point;
	struct sp_fields fields = {0};
	int r = sp_recipe_point_make(name, &point);

	if (r >= 0)
		r = sp_narrowing_fields(name, &point, &(struct sp_expr_list){NULL, 0}, &l->types, &fields);
	printf("    %s: ", name);
	if (r < 0)
		puts(sp_error_text(r));
	else
		fields_write(&fields);
	sp_error_clear();
	sp_fields_done(&fields);
}

/* Of all events in the preset's text, which are words with a colon, each once. */
static void preset_fields_print(struct list *l, const char *text)
{
	unsigned depth = 0;

	for (const char *at = text; *at;) {
		size_t n = depth ? 0 : strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789:");
		SP_FREE char *name = n && memchr(at, ':', n) ? strndup(at, n) : NULL;

		if (name && strstr(text, name) == at)
			fields_print(l, name);
		depth += strchr("[{(", *at) != NULL;
		depth -= depth && strchr("]})", *at);
		at += n ? n : 1;
	}
	if (strstr(text, ".."))
		puts("    pair: long dur");
}

/* --- presets --- */
static bool is_asked_for(const char *glob, const struct sp_trace_preset *preset)
{
	return !*glob || !fnmatch(glob, preset->name, 0) || sp_trace_preset_find(glob, strlen(glob)) == preset;
}

static int event_try(const char *event, const struct sp_trace_preset *preset, struct sp_types *types)
{
	const struct sp_trace_asked asked = {.by = preset->by,
					     .sum = preset->sum,
					     .hist = preset->hist,
					     .print = preset->print,
					     .tells = !preset->by && !preset->hist && !preset->counts};
	struct sp_trace_spec spec;
	int r = sp_trace_spec_make(event, &asked, types, &spec);

	if (r >= 0)
		sp_trace_spec_done(&spec);
	return r;
}

/* Whether its events and fields are here. They are made as they would be, and not loaded. */
static int preset_try(const struct sp_trace_preset *preset, struct sp_types *types)
{
	const char *next = preset->event;
	int r = 0;

	if (!strchr(preset->event, ';'))
		return event_try(preset->name, preset, types);
	while (next && r >= 0) {
		const char *one = next;
		SP_FREE char *event = strndup(one, sp_trace_preset_event(one, &next));

		r = event ? event_try(event, preset, types) : -ENOMEM;
	}
	return r;
}

static void option_print(const char *label, const char *expressions)
{
	if (expressions)
		printf("    %s %s\n", label, expressions);
}

/* Of bcc's tools that the preset stands for. */
static void tools_print(const struct sp_trace_preset *preset)
{
	sp_trace_bcc_options_print(preset->name, strlen(preset->name));
	for (const char *tool = preset->also; tool && *tool; tool += strspn(tool, " ")) {
		size_t n = strcspn(tool, " ");

		sp_trace_bcc_options_print(tool, n);
		tool += n;
	}
}

static void preset_print(struct list *l, const struct sp_trace_preset *preset)
{
	int r = preset_try(preset, &l->types);
	bool for_root = l->refused && (r >= 0 || r == -EACCES); /* who may not read fields may not trace, either */

	l->tells_refused |= for_root;
	printf("%-12s %-4s %s%s%s%s\n", preset->name,
	       for_root ? "root"
	       : r < 0  ? "no"
			: "yes",
	       preset->summary, preset->also ? " (" : "", preset->also ? preset->also : "", preset->also ? ")" : "");
	if (r < 0 && !for_root)
		printf("    not here: %s\n", sp_error_text(r));
	sp_error_clear();
	if (!l->with_fields)
		return;
	printf("    %s\n", preset->event);
	option_print("only", preset->which);
	option_print("--print", preset->print);
	option_print("--by", preset->by);
	option_print("--sum", preset->sum);
	option_print("--hist", preset->hist);
	if (preset->counts)
		puts("    --count");
	tools_print(preset);
	preset_fields_print(l, preset->event);
}

/* --- tracepoints --- */
static void tracepoint_take(void *arg, const char *name)
{
	struct list *l = arg;

	if (fnmatch(l->glob, name, 0))
		return;
	l->n++;
	puts(name);
	if (l->with_fields)
		fields_print(l, name);
}

/* One by its whole name needs no list, which cannot be read where tracefs is not mounted. */
static int tracepoints_print(struct list *l)
{
	struct sp_recipe_point point;

	if (strpbrk(l->glob, "*?["))
		return sp_tracepoints_each(tracepoint_take, l);
	if (sp_recipe_probe_is(l->glob) && !sp_kprobe_is(l->glob))
		return 0;
	if (sp_recipe_point_make(l->glob, &point) < 0)
		return -EINVAL;
	tracepoint_take(l, l->glob);
	return 0;
}

/* --- marks --- */
static bool is_same(const struct sp_recipe_mark *a, const struct sp_recipe_mark *b)
{
	return !strcmp(a->provider, b->provider) && !strcmp(a->name, b->name);
}

/* Where nothing makes sense all twelve have one reason. */
static void unread_print(const struct sp_fields *fields)
{
	const char *last = NULL;

	for (size_t i = 0; i < fields->n; i++) {
		const struct sp_field *f = &fields->list[i];

		if (!f->why_not || f->why_not == last)
			continue;
		last = f->why_not;
		printf("        %s cannot be read: ", f->name);
		sp_encode(stdout, SP_ENCODE_TERMINAL, f->why_not);
		putchar('\n');
	}
}

/* The arguments of a mark; then its places, also those in other files, and where each has them. */
static void mark_arguments_print(struct sp_recipe_probe *probe, const struct sp_recipe_mark *mark, size_t from)
{
	struct sp_recipe_mark place;
	struct sp_fields fields = {0};
	SP_FREE char *text = NULL;

	if (sp_recipe_probe_mark_fields(probe, mark, &fields) >= 0 &&
	    asprintf(&text, "%s:%s", mark->provider, mark->name) >= 0) {
		printf("    ");
		sp_encode(stdout, SP_ENCODE_TERMINAL, text);
		printf(": ");
		fields_write(&fields);
		unread_print(&fields);
	}
	sp_fields_done(&fields);
	for (size_t i = from; sp_recipe_probe_mark_at(probe, i, &place); i++) {
		SP_FREE char *at = NULL;

		if (!is_same(mark, &place) || asprintf(&at, "%s+0x%" PRIx64 ": %s", place.path, place.offset,
						       *place.arguments ? place.arguments : "no arguments") < 0)
			continue;
		printf("        ");
		sp_encode(stdout, SP_ENCODE_TERMINAL, at);
		putchar('\n');
	}
}

/* One of a name, of all that are there. */
static void mark_print(struct list *l, struct sp_recipe_probe *probe, size_t number)
{
	struct sp_recipe_probe_stats stats;
	struct sp_recipe_mark mark, before;
	SP_FREE char *name = NULL;

	sp_recipe_probe_mark_at(probe, number, &mark);
	for (size_t i = 0; i < number; i++)
		if (sp_recipe_probe_mark_at(probe, i, &before) && is_same(&mark, &before))
			return;
	l->n++;
	sp_recipe_probe_stats(&probe, 1, &stats);
	if (asprintf(&name, "usdt:%s:%s:%s", stats.library, mark.provider, mark.name) < 0)
		return;
	sp_encode(stdout, SP_ENCODE_TERMINAL, name);
	putchar('\n');
	if (l->with_fields)
		mark_arguments_print(probe, &mark, number);
}

/* usdt:LIBRARY:NAME, where NAME may be a glob. */
static int marks_print(struct list *l)
{
	struct sp_recipe_point point;
	struct sp_recipe_mark mark;
	struct sp_fields fields = {0};
	int r = sp_recipe_probe_point(l->glob, &point);

	if (r < 0)
		return r;
	r = sp_recipe_probe_fields(&point, &fields);
	for (size_t i = 0; r >= 0 && sp_recipe_probe_mark_at(point.probe, i, &mark); i++)
		mark_print(l, point.probe, i);
	sp_fields_done(&fields);
	sp_recipe_probe_free(point.probe);
	return r;
}

/* --- pairs --- */
/* syscall:NAME, and a pair as it is typed. */
static bool is_pair(const char *glob)
{
	return !strncmp(glob, "syscall:", 8) || strstr(glob, "..");
}

static int pair_print(struct list *l)
{
	const char *call = strncmp(l->glob, "syscall:", 8) ? NULL : l->glob + 8;
	SP_FREE char *enter = NULL, *text = NULL;
	struct sp_recipe_point point;

	if (asprintf(&enter, "syscalls:sys_enter_%s", call ? call : "") < 0 ||
	    (call ? asprintf(&text, "%s..syscalls:sys_exit_%s", enter, call) : asprintf(&text, "%s", l->glob)) < 0)
		return -ENOMEM;
	if (call && sp_recipe_point_make(enter, &point) < 0)
		return -EINVAL;
	l->n++;
	sp_encode(stdout, SP_ENCODE_TERMINAL, l->glob);
	putchar('\n');
	if (l->with_fields)
		preset_fields_print(l, text);
	return 0;
}

int sp_trace_list_print(const struct sp_cmd *cmd, const char *glob, bool with_fields)
{
	const struct sp_trace_preset *preset;
	struct list l = {.glob = glob, .with_fields = with_fields};
	int r = sp_privileges_check("trace");

	l.refused = r < 0 ? strdup(sp_error_text(r)) : NULL;
	sp_error_clear();
	r = 0;
	for (size_t i = 0; (preset = sp_trace_preset_at(i)); i++)
		if (is_asked_for(glob, preset) && ++l.n)
			preset_print(&l, preset);
	if (l.tells_refused)
		printf("root: %s\n", l.refused);
	free(l.refused);
	if (is_pair(glob))
		r = pair_print(&l);
	else if (!strncmp(glob, "usdt:", 5))
		r = marks_print(&l);
	else if (strchr(glob, ':'))
		r = tracepoints_print(&l);
	sp_types_done(&l.types);
	if (r >= 0 && !l.n)
		r = sp_fail_said(
		    -EINVAL,
		    "no preset matches '%s', and no tracepoint: presets are words, as open*, tracepoints have a "
		    "colon, as sched:*",
		    glob);
	return r < 0 ? sp_cmd_error(cmd, r, sp_cmd_exit_code(r)) : SP_EXIT_OK;
}

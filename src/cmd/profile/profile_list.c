/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/profile/profile_list.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "cmd/grid.h"
#include "cmd/output.h"
#include "cmd/profile/profile_parts.h"
#include "cmd/profile/profile_try.h"
#include "link/audit_library.h"
#include "recipe/events.h"
#include "recipe/fields.h"
#include "recipe/front.h"
#include "recipe/probe.h"
#include "recipe/recipe.h"
#include "recipe/tracepoint.h"

#include <errno.h>
#include <fnmatch.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

enum here { HERE_YES, HERE_OWN, HERE_NO };
static const char *const here_words[] = {[HERE_YES] = "yes", [HERE_OWN] = "own", [HERE_NO] = "no"};

struct line {
	char *name, *why; /* why it does not work, or not for all processes; NULL: there is nothing to say */
	const char *unit, *what;
	unsigned hit_ns;
	enum here here;
};
struct list {
	const char *glob;
	bool with_fields;
	struct line *lines;
	size_t n, capacity;
	struct sp_backend_choice backend;
	char *why_nothing; /* nothing can be sampled here */
	struct sp_recipe_trial trials[SP_MAX_RECIPES];
	char *why_no_tracefs;
	size_t n_tracepoints;
	enum here tracepoints_here;
	char *why_no_tracepoints;
	unsigned width; /* of the terminal; 0 = there is none */
	bool failed;
};

/* --- what works --- */
static bool is_by_bpf(const struct list *l)
{
	return !l->why_nothing && l->backend.kind == SP_BACKEND_BPF;
}

static const char *root_needed(const struct list *l)
{
	return *l->backend.missing ? l->backend.missing : "what this kernel refuses";
}

/* A perf event; by_bpf: of all processes, by programs that can be loaded. */
static enum here event_here(struct list *l, const struct sp_event *e, bool by_bpf, char **ret_why)
{
	pid_t who = by_bpf ? -1 : 0;
	bool switches = e->type == PERF_TYPE_SOFTWARE && e->config == PERF_COUNT_SW_CONTEXT_SWITCHES;
	int r;

	if (l->why_nothing) {
		*ret_why = strdup(l->why_nothing);
		return HERE_NO;
	}
	if (!by_bpf && l->backend.user_mode_only && switches) {
		l->failed |= asprintf(ret_why, "they are the kernel's, which needs %s; run it as root, with sudo",
				      root_needed(l)) < 0;
		return HERE_NO;
	}
	if (sp_event_try(e->type, e->config, -1, true) >= 0)
		return HERE_YES;
	r = sp_event_try(e->type, e->config, who, by_bpf || !l->backend.user_mode_only);
	if (r >= 0) {
		l->failed |=
		    asprintf(ret_why,
			     "your own programs (-p PID, -- COMMAND)%s; %s would allow all: run it as root, "
			     "with sudo",
			     l->backend.user_mode_only ? ", without the kernel's part" : "", root_needed(l)) < 0;
		return HERE_OWN;
	}
	if (e->type == PERF_TYPE_HARDWARE && (r == -ENOENT || r == -EOPNOTSUPP)) {
		*ret_why = strdup("this machine has no hardware counters, as most virtual ones");
		return HERE_NO;
	}
	r = sp_event_refused(r, e->name, 0);
	*ret_why = strdup(sp_error_text(r));
	sp_error_clear();
	return HERE_NO;
}

/* What samples allocations in programs. */
static enum here library_here(char **ret_why)
{
	int r = sp_audit_library_find();

	if (r >= 0)
		return HERE_YES;
	*ret_why = strdup(sp_error_text(r));
	sp_error_clear();
	return HERE_NO;
}

/* Where the programs cannot be loaded perf_event_open serves, for what is a perf event. */
static enum here recipe_here(struct list *l, size_t i, char **ret_why)
{
	const struct sp_recipe *recipe = sp_recipe_at(i);

	if (is_by_bpf(l) && !l->trials[i].result && recipe->is_live)
		return library_here(ret_why);
	if (is_by_bpf(l) && !l->trials[i].result)
		return HERE_YES;
	if (!sp_recipe_has(recipe, SP_AT_RAW) && !recipe->is_live)
		return event_here(l, sp_event_find(recipe->without_bpf ? recipe->without_bpf : recipe->points[0].where),
				  false, ret_why);
	if (l->why_nothing)
		*ret_why = strdup(l->why_nothing);
	else if (is_by_bpf(l))
		*ret_why = l->trials[i].why ? strdup(l->trials[i].why) : NULL;
	else
		l->failed |= asprintf(ret_why, "needs %s; run it as root, with sudo", root_needed(l)) < 0;
	return HERE_NO;
}

/* --- the lines --- */
static bool is_asked_for(const struct list *l, const char *name)
{
	return !*l->glob || !fnmatch(l->glob, name, 0);
}

static void line_add(struct list *l, struct line line, const char *name)
{
	line.name = strdup(name);
	if (!line.name || sp_grow(&l->lines, &l->capacity, l->n + 1, sizeof(*l->lines)) < 0) {
		l->failed = true;
		free(line.name);
		free(line.why);
		return;
	}
	l->lines[l->n++] = line;
}

static const char *unit_short(const char *unit)
{
	return !strcmp(unit, "nanoseconds") ? "ns" : unit;
}

static void recipes_add(struct list *l)
{
	for (size_t i = 0; sp_recipe_at(i); i++) {
		const struct sp_recipe *recipe = sp_recipe_at(i);
		struct line line = {
		    .unit = unit_short(recipe->values[1].unit), .what = recipe->summary, .hit_ns = recipe->hit_ns};

		if (!is_asked_for(l, recipe->name))
			continue;
		line.here = recipe_here(l, i, &line.why);
		line_add(l, line, recipe->name);
	}
}

static void events_add(struct list *l)
{
	bool by_bpf = is_by_bpf(l) && !l->trials[0].result; /* of cpu, whose program is that of all perf events */

	for (size_t i = 0; sp_event_at(i); i++) {
		const struct sp_event *e = sp_event_at(i);
		struct line line = {.unit = e->is_clock ? "ns" : "count", .what = e->summary, .hit_ns = e->hit_ns};

		if (!is_asked_for(l, e->name))
			continue;
		line.here = event_here(l, e, by_bpf, &line.why);
		line_add(l, line, e->name);
	}
}

static void tracepoint_add(struct list *l, const char *name, const char *what)
{
	line_add(l,
		 (struct line){.unit = "count",
			       .what = what,
			       .hit_ns = SP_TRACEPOINT_HIT_NS,
			       .here = l->tracepoints_here,
			       .why = l->why_no_tracepoints ? strdup(l->why_no_tracepoints) : NULL},
		 name);
}

static void tracepoint_take(void *arg, const char *name)
{
	struct list *l = arg;

	l->n_tracepoints++;
	if (!*l->glob || fnmatch(l->glob, name, 0))
		return;
	tracepoint_add(l, name, "a tracepoint");
}

/* A tracepoint works where those of the recipes do: it is attached in the same way. */
static void tracepoints_add(struct list *l)
{
	size_t i = 0;
	int r;

	while (sp_recipe_at(i) && !sp_recipe_has(sp_recipe_at(i), SP_AT_RAW))
		i++;
	l->tracepoints_here = recipe_here(l, i, &l->why_no_tracepoints);
	r = sp_tracepoints_each(tracepoint_take, l);
	if (r < 0)
		l->why_no_tracefs = strdup(sp_error_text(r));
	sp_error_clear();
	if (*l->glob)
		return;
	tracepoint_add(l, "SYSTEM:EVENT", "a tracepoint, each time it is reached");
	tracepoint_add(l, "LIBRARY:FUNCTION", "a function, each time it is called");
	if (!l->failed)
		l->lines[l->n - 1].hit_ns += sp_recipe_probe_least_ns();
}

static void list_fill(struct list *l)
{
	int r = sp_privileges_backend(true, &l->backend);

	if (r < 0)
		l->why_nothing = strdup(sp_error_text(r));
	sp_error_clear();
	if (is_by_bpf(l))
		sp_recipe_trials(l->trials);
	recipes_add(l);
	events_add(l);
	tracepoints_add(l);
}

/* --- printing --- */
/* "no: offcpu, locks: needs CAP_BPF": words are wrapped behind the label. */
static int note_print(const struct list *l, const char *label, const char *names, const char *text, FILE *out)
{
	SP_FREE char *raw = NULL, *encoded = NULL;

	if (asprintf(&raw, "%s%s%s", names, *names ? ": " : "", text) < 0 ||
	    !(encoded = sp_encoded(SP_ENCODE_TERMINAL, raw)))
		return -ENOMEM;
	fprintf(out, "%s: ", label);
	sp_terminal_wrap(encoded, (unsigned)strlen(label) + 2, l->width, out);
	return 0;
}

static bool has_reason_of(const struct line *line, const struct line *other)
{
	return line->why && line->here == other->here && !strcmp(line->why, other->why);
}

/* All whose reason is that of line i, if it is the first of them. */
static int reason_print(const struct list *l, size_t i, FILE *out)
{
	const struct line *line = &l->lines[i];
	SP_FREE char *names = NULL;
	size_t size;
	FILE *words;

	for (size_t k = 0; k < i; k++)
		if (has_reason_of(&l->lines[k], line))
			return 0;
	words = open_memstream(&names, &size);
	if (!words)
		return -ENOMEM;
	for (size_t k = i; k < l->n; k++)
		if (has_reason_of(&l->lines[k], line))
			fprintf(words, "%s%s", k > i ? ", " : "", l->lines[k].name);
	return fclose(words) ? -ENOMEM : note_print(l, here_words[line->here], names, line->why, out);
}

/* What --min makes of the cost of waits, where they can be had. */
static int min_print(const struct list *l, FILE *out)
{
	const struct sp_recipe *recipe;
	char names[128] = "", text[128];
	unsigned short_ns = 0;
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		recipe = sp_recipe_find(l->lines[i].name);
		if (!recipe || !recipe->short_ns || l->lines[i].here != HERE_YES || n >= sizeof(names))
			continue;
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "", recipe->name);
		short_ns = recipe->short_ns;
	}
	if (!n)
		return 0;
	if (sp_front_can_be_at(SP_RETURN_AT))
		snprintf(text, sizeof(text), "what is shorter than --min costs %.1f us", short_ns / 1e3);
	else
		snprintf(
		    text, sizeof(text),
		    "what is shorter than --min costs as much (this kernel lacks the tracepoint %s, of Linux 6.15)",
		    SP_RETURN_AT);
	return note_print(l, names, "", text, out);
}

static int tracepoints_print(const struct list *l, FILE *out)
{
	char text[128];

	if (l->why_no_tracefs)
		return note_print(l, "SYSTEM:EVENT", "which tracepoints there are is not known", l->why_no_tracefs,
				  out);
	if (*l->glob)
		return 0;
	snprintf(text, sizeof(text),
		 "this kernel has %zu tracepoints; soprof profile --list 'sched:*' shows those of sched",
		 l->n_tracepoints);
	return note_print(l, "SYSTEM:EVENT", "", text, out);
}

static int functions_print(const struct list *l, FILE *out)
{
	char text[256];

	if (*l->glob)
		return 0;
	snprintf(text, sizeof(text),
		 "%.1f us where the kernel cannot emulate the first instruction; LIBRARY+0xOFFSET and "
		 "usdt:LIBRARY:PROBE, too; soprof calls counts by function",
		 (SP_TRACEPOINT_HIT_NS + sp_recipe_probe_most_ns()) / 1e3);
	return note_print(l, "LIBRARY:FUNCTION", "", text, out);
}

/* In the place of a name in the list. */
static bool is_placeholder(const char *name)
{
	return !strcmp(name, "SYSTEM:EVENT") || !strcmp(name, "LIBRARY:FUNCTION");
}

static void field_print(const struct sp_field *f, FILE *out)
{
	fprintf(out, "  %-20s %s%s%s\n", f->name, f->type, f->why_not ? "; not for expressions: " : "",
		f->why_not ? f->why_not : "");
}

/* What expressions may name in place of the fields. */
static void arguments_print(struct sp_types *types, const char *event, FILE *out)
{
	struct sp_fields arguments;

	if (sp_types_arguments(types, event, &arguments) < 0) {
		sp_error_clear();
		return;
	}
	if (arguments.n)
		fprintf(out, "  or, as of raw:%s\n", event);
	for (size_t i = 0; i < arguments.n; i++)
		field_print(&arguments.list[i], out);
	sp_fields_done(&arguments);
}

/* The fields of each tracepoint in the list, and those that all events have. */
static void fields_print(const struct list *l, FILE *out)
{
	struct sp_types types = {0};

	for (size_t i = 0; i < l->n; i++) {
		const char *name = l->lines[i].name;
		struct sp_fields fields = {0};
		int r = strchr(name, ':') && !is_placeholder(name) ? sp_fields_read(name, &types, &fields) : 1;

		if (r > 0)
			continue;
		fprintf(out, "\n%s\n", name);
		if (r < 0)
			fprintf(out, "  %s\n", sp_error_text(r));
		for (size_t k = 0; k < fields.n; k++)
			if (strncmp(fields.list[k].name, "common_", 7) != 0 || fields.list[k].from != SP_FIELD_NOWHERE)
				field_print(&fields.list[k], out);
		sp_fields_done(&fields);
		if (strncmp(name, "syscalls:", 9) != 0)
			arguments_print(&types, strchr(name, ':') + 1, out);
	}
	sp_types_done(&types);
	fputs("\nall tracepoints\n", out);
	for (size_t i = 0; sp_builtin_at(i); i++)
		field_print(sp_builtin_at(i), out);
}

static int grid_fill(const struct list *l, struct sp_grid *g)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct line *line = &l->lines[i];

		sp_grid_put(g, SP_GRID_BOLD, "%s", line->name);
		sp_grid_put(g, SP_GRID_PLAIN, "%s", line->unit);
		if (line->hit_ns)
			sp_grid_put(g, SP_GRID_PLAIN, "%.1f", line->hit_ns / 1e3);
		else
			sp_grid_put(g, SP_GRID_PLAIN, "-");
		sp_grid_put(g,
			    line->here == HERE_YES   ? SP_GRID_PLAIN
			    : line->here == HERE_OWN ? SP_GRID_YELLOW
						     : SP_GRID_RED,
			    "%s", here_words[line->here]);
		sp_grid_put(g, SP_GRID_PLAIN, "%s", line->what);
	}
	return 0;
}

static int list_print(void *arg, FILE *out)
{
	static const struct sp_grid_column columns[] = {{.title = "event"},
							{.title = "unit"},
							{.title = "us a hit", .right = true},
							{.title = "here"},
							{.title = "what it counts", .min = 20}};
	struct list *l = arg;
	struct sp_grid *g = sp_grid_new(columns, SP_COUNT(columns));
	int r = g ? grid_fill(l, g) : -ENOMEM;

	l->width = sp_terminal_width(out, NULL);
	if (r >= 0)
		r = sp_grid_print(g, l->width, l->width > 0, "", out);
	sp_grid_free(g);
	for (size_t i = 0; r >= 0 && i < l->n; i++)
		if (l->lines[i].why)
			r = reason_print(l, i, out);
	if (r >= 0)
		r = min_print(l, out);
	if (r >= 0)
		r = tracepoints_print(l, out);
	if (r >= 0)
		r = functions_print(l, out);
	if (r >= 0 && l->with_fields)
		fields_print(l, out);
	return r;
}

static void list_done(struct list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->lines[i].name);
		free(l->lines[i].why);
	}
	free(l->lines);
	free(l->why_nothing);
	free(l->why_no_tracefs);
	free(l->why_no_tracepoints);
	sp_recipe_trials_done(l->trials);
}

int sp_profile_list(const char *glob, bool with_fields)
{
	struct list l = {.glob = glob, .with_fields = with_fields};
	int r, code = SP_EXIT_OK;

	list_fill(&l);
	if (l.failed)
		r = -ENOMEM;
	else if (!l.n && l.why_no_tracefs)
		r = sp_fail_said(-EACCES, "--list: no event of ours matches '%s'; tracepoints are not known: %s", glob,
				 l.why_no_tracefs);
	else if (!l.n)
		r = sp_fail_said(-EINVAL, "--list: no event matches '%s'", glob);
	else
		r = sp_output(NULL, list_print, &l);
	if (r < 0)
		code = sp_cmd_error(&sp_cmd_profile, r, sp_cmd_exit_code(r));
	list_done(&l);
	return code;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/export/metrics.h"
#include "agent/export/metrics_priv.h"
#include "base/error.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "profile/values.h"
#include "view/stop.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Labels of what found no room. No build id is "other", so they are unique. */
static const char *const other_library[] = {
    [SP_METRICS_BY_LIBRARY] = "build_id=\"other\",library=\"other\"",
    [SP_METRICS_BY_PROCESS] = "build_id=\"other\",library=\"other\",process=\"other\"",
    [SP_METRICS_BY_CGROUP] = "build_id=\"other\",cgroup=\"other\",library=\"other\"",
};
static const char other_function[] = "build_id=\"other\",function=\"other\",library=\"other\"";

/* Kinds of the store's events; the last is for all others. */
static const char *const kinds[] = {"gap",  "upgrade", "change", "rate",      "clock",
				    "drop", "late",    "cpu",    "throttled", "other"};

/* --- start and stop --- */
static int init_tables(struct sp_metrics *m)
{
	int r = sp_series_init(&m->libraries, &m->budget, other_library[m->by]);

	if (r >= 0)
		r = sp_series_init(&m->functions_table, &m->budget, other_function);
	return r < 0 ? r : sp_series_init(&m->infos, &m->budget, "");
}

int sp_metrics_new(const struct sp_agent_config *c, struct sp_metrics **ret_metrics)
{
	struct sp_metrics *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->by = c->metrics_by;
	m->budget.n = 4; /* the lines of `other` */
	sp_metrics_configure(m, c);
	if (init_tables(m) < 0) {
		sp_metrics_free(m);
		return -ENOMEM;
	}
	*ret_metrics = m;
	return 0;
}

void sp_metrics_free(struct sp_metrics *m)
{
	if (!m)
		return;
	sp_series_done(&m->libraries);
	sp_series_done(&m->functions_table);
	sp_series_done(&m->infos);
	free(m->matches);
	free(m);
}

void sp_metrics_configure(struct sp_metrics *m, const struct sp_agent_config *c)
{
	m->budget.max = SP_MAX(m->budget.max, c->metrics_series);
	memcpy(m->functions, c->metrics_functions, sizeof(m->functions));
	m->n_functions = c->n_metrics_functions;
	free(sp_take_ptr(m->matches));
	m->n_matches = 0;
}

int sp_metrics_add(struct sp_metrics *m, void (*write)(void *arg, struct sp_expo *x), void *arg)
{
	if (m->n_others >= SP_METRICS_MAX_OTHERS)
		return sp_fail(-E2BIG, "add metrics");
	m->others[m->n_others].write = write;
	m->others[m->n_others++].arg = arg;
	return 0;
}

/* --- counting --- */
/* NULL: more sources than an agent can have. */
static struct sp_metrics_source *get_source(struct sp_metrics *m, const char *name)
{
	size_t i;

	for (i = 0; i < m->n_sources; i++)
		if (!strcmp(m->sources[i].name, name))
			return &m->sources[i];
	if (i == SP_COUNT(m->sources))
		return NULL;
	m->n_sources++;
	snprintf(m->sources[i].name, sizeof(m->sources[i].name), "%s", name);
	return &m->sources[i];
}

static void count_samples(struct sp_metrics_source *s, const struct sp_profile *p)
{
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		struct sp_stack stack = sp_profile_stack(p, row->user);
		uint64_t n = (uint64_t)SP_MAX(row->values[0], 0);

		s->n_samples[row->user ? stack.stack_class % SP_METRICS_CLASSES : SP_CLASS_ABSENT] += n;
		if (row->user && stack.stack_class == SP_CLASS_CUT && stack.reason < SP_N_STOPS)
			s->n_cut[stack.reason] += n;
	}
}

static void count_window(void *arg, const struct sp_profile *p, const struct sp_store_window *w)
{
	struct sp_metrics *m = arg;
	struct sp_metrics_source *s = get_source(m, w->source);
	int value = sp_profile_find_value(p, "cpu", "nanoseconds"); /* sources of other events have none */

	if (s) {
		count_samples(s, p);
		s->last_end_ns = w->wall_ns + w->duration_ns;
	}
	if (value >= 0 && sp_metrics_fold(m, p, w, (uint32_t)value) < 0) {
		m->n_failed++;
		sp_error_clear();
	}
}

static void count_event(void *arg, const struct sp_store_event *e)
{
	struct sp_metrics *m = arg;
	size_t i = 0;

	while (i + 1 < SP_COUNT(kinds) && strcmp(kinds[i], e->kind))
		i++;
	m->n_events[i]++;
}

struct sp_agent_listener sp_metrics_listener(struct sp_metrics *m)
{
	return (struct sp_agent_listener){.arg = m, .window = count_window, .event = count_event};
}

/* --- writing --- */
static void put_series(struct sp_expo *x, const struct sp_series *s, bool is_self)
{
	const struct sp_exemplar e = {s->span.from_ns, s->span.to_ns, is_self ? s->last.self_ns : s->last.total_ns};

	sp_expo_seconds_of(x, s->labels, is_self ? s->all.self_ns : s->all.total_ns, &e);
}

static void put_table(struct sp_expo *x, const struct sp_series_table *t, bool is_self)
{
	for (size_t i = 0; i < sp_series_count(t); i++)
		put_series(x, &t->series[i], is_self);
	put_series(x, &t->other, is_self);
}

static void put_libraries(const struct sp_metrics *m, struct sp_expo *x)
{
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_library_self_cpu_seconds", "seconds",
		       "CPU time in functions of the library itself.");
	put_table(x, &m->libraries, true);
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_library_inclusive_cpu_seconds", "seconds",
		       "CPU time with the library anywhere on the stack.");
	put_table(x, &m->libraries, false);
	sp_expo_family(x, SP_EXPO_INFO, "soprof_library", NULL, "The package that the library is of.");
	for (size_t i = 0; i < sp_series_count(&m->infos); i++)
		if (*m->infos.series[i].labels)
			sp_expo_number(x, m->infos.series[i].labels, 1);
}

static void put_functions(const struct sp_metrics *m, struct sp_expo *x)
{
	if (!m->n_functions && !sp_series_count(&m->functions_table))
		return;
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_function_self_cpu_seconds", "seconds",
		       "CPU time in the function itself, of the functions that were chosen.");
	put_table(x, &m->functions_table, true);
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_function_inclusive_cpu_seconds", "seconds",
		       "CPU time with the function anywhere on the stack, of the functions that were chosen.");
	put_table(x, &m->functions_table, false);
}

static void put_samples(const struct sp_metrics *m, struct sp_expo *x)
{
	static const char *const classes[SP_METRICS_CLASSES] = {[SP_CLASS_COMPLETE] = "complete",
								[SP_CLASS_CUT] = "cut",
								[SP_CLASS_GUESSED] = "guessed",
								[SP_CLASS_ABSENT] = "absent"};
	struct sp_labels l;

	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_samples", NULL, "Samples by how complete their user stack is.");
	for (size_t i = 0; i < m->n_sources; i++)
		for (size_t k = 0; k < SP_METRICS_CLASSES; k++)
			sp_expo_number(x, sp_labels_of(x, &l, "source", m->sources[i].name, "stack", classes[k]),
				       m->sources[i].n_samples[k]);
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_cut_stacks", NULL, "User stacks that were cut, by what cut them.");
	for (size_t i = 0; i < m->n_sources; i++)
		for (unsigned k = 0; k < SP_N_STOPS; k++)
			if (sp_stop_is_cut(k))
				sp_expo_number(
				    x, sp_labels_of(x, &l, "reason", sp_stop_words(k), "source", m->sources[i].name),
				    m->sources[i].n_cut[k]);
}

static void put_times(const struct sp_metrics *m, struct sp_expo *x)
{
	struct sp_labels l;

	sp_expo_family(x, SP_EXPO_GAUGE, "soprof_last_window_end_timestamp_seconds", "seconds",
		       "End of the last window that was counted.");
	for (size_t i = 0; i < m->n_sources; i++)
		sp_expo_seconds(x, sp_labels_of(x, &l, "source", m->sources[i].name, NULL, NULL),
				m->sources[i].last_end_ns);
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_events", NULL, "What happened: gaps, upgrades and so on.");
	for (size_t i = 0; i < SP_COUNT(kinds); i++)
		sp_expo_number(x, sp_labels_of(x, &l, "kind", kinds[i], NULL, NULL), m->n_events[i]);
}

static void put_bounds(const struct sp_metrics *m, struct sp_expo *x)
{
	sp_expo_family(x, SP_EXPO_GAUGE, "soprof_metrics_series", NULL, "Series of libraries and functions.");
	sp_expo_number(x, "", m->budget.n);
	sp_expo_family(x, SP_EXPO_GAUGE, "soprof_metrics_series_limit", NULL, "Limit of their number.");
	sp_expo_number(x, "", m->budget.max);
	sp_expo_family(
	    x, SP_EXPO_COUNTER, "soprof_metrics_refused_series", NULL,
	    "Libraries and functions that came when there was no room for more series: their time is in other.");
	sp_expo_number(x, "kind=\"library\"", sp_series_refused(&m->libraries));
	sp_expo_number(x, "kind=\"function\"", sp_series_refused(&m->functions_table));
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_metrics_refused_cpu_seconds", "seconds",
		       "CPU time in those libraries and functions themselves.");
	sp_expo_seconds(x, "kind=\"library\"", m->libraries.other.all.self_ns);
	sp_expo_seconds(x, "kind=\"function\"", m->functions_table.other.all.self_ns);
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_metrics_failed_windows", NULL,
		       "Windows that are missing in the metrics, or partly, because memory was short.");
	sp_expo_number(x, "", m->n_failed);
}

int sp_metrics_write(struct sp_metrics *m, struct sp_expo *x)
{
	put_libraries(m, x);
	put_functions(m, x);
	put_samples(m, x);
	put_times(m, x);
	put_bounds(m, x);
	for (size_t i = 0; i < m->n_others; i++)
		m->others[i].write(m->others[i].arg, x);
	return sp_expo_end(x);
}

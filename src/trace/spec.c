/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/spec.h"
#include "base/error.h"
#include "base/mem.h"
#include "recipe/probe.h"
#include "recipe/recipe.h"
#include "trace/later.h"
#include "trace/presets.h"
#include "trace/spec_priv.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const use_names[] = {[SP_TRACE_USE_COLUMN] = "--by or --print",
					[SP_TRACE_USE_HIST] = "--hist",
					[SP_TRACE_USE_SUM] = "--sum",
					[SP_TRACE_USE_MATCH] = "on",
					[SP_TRACE_USE_WHOSE] = "of",
					[SP_TRACE_USE_KEPT] = "what is kept"};

/* --- reading --- */
size_t sp_trace_list_length(const char *list)
{
	unsigned depth = 0;
	size_t at = 0;

	for (; list[at] && (list[at] != ',' || depth); at++) {
		if (list[at] == '"')
			for (at++; list[at] && list[at] != '"'; at++)
				at += list[at] == '\\' && list[at + 1];
		if (!list[at])
			break;
		depth += strchr("([{", list[at]) != NULL;
		depth -= depth && strchr(")]}", list[at]);
	}
	return at;
}

/* "ustr(X)": what is within the parentheses. */
static enum sp_trace_text_kind text_call(const char *text, size_t *from, size_t *to)
{
	enum sp_trace_text_kind kind = !strncmp(text + *from, "ustr(", 5)   ? SP_TRACE_USER_TEXT
				       : !strncmp(text + *from, "kstr(", 5) ? SP_TRACE_KERNEL_TEXT
									    : SP_TRACE_NO_TEXT;

	if (!kind || text[*to - 1] != ')')
		return SP_TRACE_NO_TEXT;
	*from += 5;
	*to -= 1;
	return kind;
}

/* "ustr(X, N)": N, which is taken off the end. */
static int text_length_take(struct sp_trace_making *m, struct sp_trace_wanted *w, size_t from, size_t *to)
{
	size_t comma = from + sp_trace_list_length(w->expr.text + from);
	int r = comma >= *to ? 0 : sp_trace_wanted_add(m, SP_TRACE_USE_LENGTH, w->expr.text, comma + 1, *to);

	if (r || comma >= *to)
		return r;
	w->length = m->wanted[m->n_wanted - 1];
	*to = comma;
	return 0;
}

/* "NAME=EXPR": behind the sign; else where it was. */
static size_t name_skip(const char *text, size_t from, size_t to)
{
	size_t at = from;

	while (at < to && (isalnum((unsigned char)text[at]) || text[at] == '_'))
		at++;
	return at > from && at + 1 < to && text[at] == '=' && text[at + 1] != '=' ? at + 1 : from;
}

int sp_trace_wanted_add(struct sp_trace_making *m, enum sp_trace_use use, const char *text, size_t from, size_t to)
{
	struct sp_trace_wanted *w;
	size_t begin;

	while (from < to && isspace((unsigned char)text[from]))
		from++;
	while (to > from && isspace((unsigned char)text[to - 1]))
		to--;
	if (from == to)
		return sp_fail_at(-EINVAL, text, from, "an expression is missing");
	if (m->n_wanted == SP_TRACE_WANTED)
		return sp_fail_at(-EINVAL, text, from, "these are more than %d expressions", SP_TRACE_WANTED);
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	m->wanted[m->n_wanted++] = w;
	w->use = use;
	w->at = from;
	begin = (use >= SP_TRACE_USE_COLUMN && use != SP_TRACE_USE_LENGTH) || use == SP_TRACE_USE_KEPT
		    ? name_skip(text, from, to)
		    : from;
	w->n = begin > from ? begin - 1 - from : to - from;
	w->is_named = begin > from;
	for (from = begin; from < to && isspace((unsigned char)text[from]);)
		from++;
	w->expr.text = text;
	w->is_arguments = use == SP_TRACE_USE_COLUMN && to - from == 7 && !strncmp(text + from, "sysargs", 7);
	if (w->is_arguments)
		return 0;
	if (use == SP_TRACE_USE_COLUMN)
		w->text = text_call(text, &from, &to);
	if (w->text) {
		int r = text_length_take(m, w, from, &to);

		if (r)
			return r;
	}
	return sp_expr_parse(text, from, to, &w->expr);
}

int sp_trace_list_add(struct sp_trace_making *m, enum sp_trace_use use, const char *list, size_t max)
{
	size_t at = 0, n = 0;
	int r = 0;

	for (bool more = list != NULL; more && !r; at++) {
		size_t length = sp_trace_list_length(list + at);

		if (n++ == max)
			return sp_fail_at(-EINVAL, list, at, "%s takes at most %zu", use_names[use], max);
		r = sp_trace_wanted_add(m, use, list, at, at + length);
		at += length;
		more = list[at] != '\0';
	}
	return r;
}

/* The thread is the kernel's struct task_struct at which the expression points. */
static int whose_add(struct sp_trace_making *m)
{
	const char *of = m->last.whose;

	if (asprintf(&m->whose, "%s->tgid,%s->pid,%s->comm", of, of, of) < 0) {
		m->whose = NULL;
		return -ENOMEM;
	}
	m->spec->config.of_task = 1;
	return sp_trace_list_add(m, SP_TRACE_USE_WHOSE, m->whose, 3);
}

/* comm == "NAME" */
int sp_trace_comm_add(struct sp_trace_making *m)
{
	size_t n = (size_t)snprintf(m->comm, sizeof(m->comm), "comm == \"");

	if (!m->asked->comm)
		return 0;
	for (const char *c = m->asked->comm; *c; c++) {
		if (n + 4 > sizeof(m->comm))
			return sp_fail_said(-EINVAL, "--comm: a thread's name has at most 15 characters");
		if (strchr("\"\\", *c))
			m->comm[n++] = '\\';
		m->comm[n++] = *c;
	}
	m->comm[n++] = '"';
	m->comm[n] = 0;
	return sp_trace_wanted_add(m, SP_TRACE_USE_COMM, m->comm, 0, n);
}

static int which_add(struct sp_trace_making *m)
{
	int r = m->which ? sp_trace_wanted_add(m, SP_TRACE_USE_WHICH, m->which, 0, m->n_which) : 0;

	if (!r && m->preset && m->preset->which)
		r = sp_trace_wanted_add(m, SP_TRACE_USE_WHICH, m->preset->which, 0, strlen(m->preset->which));
	if (r || !m->asked->min_ns)
		return r;
	if (!m->n_first)
		return sp_fail_said(-EINVAL, "--min is for what lasts: pairs, A..B, and syscall:NAME");
	snprintf(m->least, sizeof(m->least), "dur >= %" PRIu64, m->asked->min_ns);
	return sp_trace_wanted_add(m, SP_TRACE_USE_WHICH, m->least, 0, strlen(m->least));
}

static int all_parse(struct sp_trace_making *m)
{
	const struct sp_narrowing *n = &m->narrowing;
	int r = 0;

	if (n->n_filter)
		r = sp_trace_wanted_add(m, SP_TRACE_USE_FILTER, m->last.event, n->filter, n->filter + n->n_filter);
	if (!r && m->n_first)
		r = sp_trace_list_add(m, SP_TRACE_USE_MATCH, m->last.match ? m->last.match : "tid", SP_TRACE_MATCHES);
	if (!r && m->n_first && m->last.whose)
		r = whose_add(m);
	if (!r)
		r = which_add(m);
	if (!r && (!m->n_first || m->last.whose || m->claims))
		r = sp_trace_comm_add(m);
	if (!r)
		r = sp_trace_list_add(m, SP_TRACE_USE_COLUMN, m->asked->tells ? m->asked->print : m->asked->by,
				      SP_TRACE_COLUMNS);
	if (!r)
		r = sp_trace_list_add(m, SP_TRACE_USE_HIST, m->asked->hist, 1);
	return r ? r : sp_trace_list_add(m, SP_TRACE_USE_SUM, m->asked->sum, SP_TRACE_SUMS);
}

int sp_trace_fields_find(struct sp_trace_making *m, const char *name, const struct sp_recipe_point *point,
			 struct sp_types *types)
{
	struct sp_expr *each[SP_TRACE_WANTED];
	int r = point->at == SP_AT_PROBE ? sp_trace_later_begin(m->asked->later) : 0;

	if (r < 0)
		return r;
	for (size_t i = 0; i < m->n_wanted; i++)
		each[i] = &m->wanted[i]->expr;
	r = sp_narrowing_fields(name, point, &(struct sp_expr_list){each, m->n_wanted}, types, &m->fields);
	m->has_fields = !r;
	return r;
}

/* Which event is the second point, and of which pair, is asked before anything is known of the pair. */
int sp_trace_names_resolve(struct sp_trace_making *m, const char *name)
{
	size_t n = m->fields.n;
	int r = 0;

	for (size_t i = 0; i < m->n_wanted && !r; i++) {
		m->fields.n = m->n_first && m->wanted[i]->use <= SP_TRACE_USE_WHOSE ? m->n_own : n;
		r = sp_expr_resolve(&m->wanted[i]->expr, &m->fields, name);
	}
	m->fields.n = n;
	return r;
}

/* --- the whole --- */
void sp_trace_point_finish(const struct sp_trace_making *m, struct sp_recipe_point *point)
{
	bool has_record = false;

	memcpy(point->slot.ops, m->list.ops, sizeof(point->slot.ops));
	for (size_t i = m->list.n; i < SP_N_OPS; i++)
		point->slot.ops[i] = (struct sp_op){.kind = SP_OP_END};
	point->slot.n_arguments = sp_op_list_arguments(&m->list);
	for (size_t i = 0; i < m->n_wanted; i++)
		has_record |= sp_expr_has_record(&m->wanted[i]->expr);
	if (has_record)
		sp_narrowing_record(point, m->fields.id);
}

int sp_trace_places_find(struct sp_recipe_point *point)
{
	return point->at == SP_AT_PROBE ? sp_recipe_probe_find(point, false) : 0;
}

int sp_trace_point_name(const char *event, struct sp_narrowing *ret_narrowing, char **ret_name,
			struct sp_recipe_point *ret_point)
{
	int r = sp_narrowing_split(event, ret_narrowing);

	if (r < 0)
		return r;
	*ret_name = strndup(event, ret_narrowing->n_name);
	if (!*ret_name)
		return -ENOMEM;
	if (!strchr(*ret_name, ':') && !sp_recipe_probe_is(*ret_name))
		return sp_trace_preset_unknown(*ret_name);
	return sp_recipe_point_make(*ret_name, ret_point);
}

/* A preset, or `syscall:NAME`, with a filter or without: what it stands for. NULL: it is neither; out of memory: r. */
static int text_find(struct sp_trace_making *m, char **ret_text)
{
	const char *event = m->spec->event;
	size_t n = strcspn(event, "[{");
	const struct sp_trace_preset *preset = sp_trace_preset_find(event, n);
	struct sp_narrowing narrowing = {0};
	int r;

	*ret_text = NULL;
	if (!preset && strncmp(event, "syscall:", 8) != 0)
		return 0;
	r = sp_narrowing_split(event, &narrowing);
	if (r < 0)
		return r;
	if (narrowing.n_value)
		return sp_fail_at(-EINVAL, event, narrowing.value, "what is to be summed is said by --sum");
	m->which = narrowing.n_filter ? event + narrowing.filter : NULL;
	m->n_which = narrowing.n_filter;
	m->preset = preset;
	if (preset)
		return (*ret_text = strdup(preset->event)) ? 0 : -ENOMEM;
	m->call = event + 8;
	n -= 8;
	return asprintf(ret_text, "syscalls:sys_enter_%.*s..syscalls:sys_exit_%.*s", (int)n, m->call, (int)n, m->call) <
		       0
		   ? -ENOMEM
		   : 0;
}

/* In lines a preset or call goes by its name, a pair as it was typed. */
static int shown_make(struct sp_trace_making *m, bool has_name)
{
	struct sp_trace_spec *s = m->spec;
	size_t n = strcspn(s->event, "[{");
	const struct sp_trace_preset *preset = sp_trace_preset_find(s->event, n);

	s->shown = preset       ? strdup(preset->name)
		   : has_name   ? strndup(s->event, n)
		   : m->n_first ? strdup(s->event)
				: strdup(s->name);
	return s->shown ? 0 : -ENOMEM;
}

static int name_take(struct sp_trace_making *m)
{
	struct sp_trace_spec *s = m->spec;
	SP_FREE char *text = NULL;
	int r = text_find(m, &text);

	if (r >= 0)
		r = sp_trace_pair_cut(text ? text : s->event, m);
	if (r >= 0)
		r = sp_trace_point_name(m->last.event, &m->narrowing, &s->name, &s->point);
	if (r >= 0 && m->narrowing.n_value)
		return sp_fail_at(-EINVAL, m->last.event, m->narrowing.value, "what is to be summed is said by --sum");
	return r < 0 ? r : shown_make(m, text != NULL);
}

static int spec_make(struct sp_trace_making *m, struct sp_types *types)
{
	struct sp_trace_spec *s = m->spec;
	int r = name_take(m);

	if (r >= 0 && m->n_first)
		r = sp_trace_pair_firsts(m, types);
	if (r >= 0)
		r = all_parse(m);
	if (r >= 0)
		r = sp_trace_fields_find(m, s->name, &s->point, types);
	if (r >= 0 && m->n_first)
		r = sp_trace_pair_fields(m, types);
	if (r >= 0)
		r = sp_trace_names_resolve(m, s->shown);
	if (r < 0)
		return r;
	sp_narrowing_ops(&s->point, &m->list);
	r = sp_trace_columns_make(m);
	if (r < 0)
		return r;
	sp_trace_point_finish(m, &s->point);
	return sp_trace_places_find(&s->point);
}

void sp_trace_making_done(struct sp_trace_making *m)
{
	for (size_t i = 0; i < m->n_wanted; i++)
		free(m->wanted[i]);
	for (size_t i = 0; i < SP_TRACE_FIRSTS; i++) {
		free(m->first[i].event);
		free(m->first[i].match);
		free(m->first[i].whose);
	}
	free(m->last.event);
	free(m->last.match);
	free(m->last.whose);
	free(m->whose);
	if (m->has_fields)
		sp_fields_done(&m->fields);
}

int sp_trace_spec_make(const char *event, const struct sp_trace_asked *asked, struct sp_types *types,
		       struct sp_trace_spec *ret_spec)
{
	struct sp_trace_making m = {.spec = ret_spec, .asked = asked};
	int r;

	*ret_spec = (struct sp_trace_spec){.event = strdup(event),
					   .config = {.hist = SP_NO_REG, .tells = asked->tells, .asks_who = 1}};
	r = ret_spec->event ? spec_make(&m, types) : -ENOMEM;
	sp_trace_making_done(&m);
	if (r < 0)
		sp_trace_spec_done(ret_spec);
	return r;
}

void sp_trace_spec_done(struct sp_trace_spec *spec)
{
	sp_recipe_probe_free(spec->point.probe);
	for (size_t i = 0; i < SP_COUNT(spec->columns); i++)
		free(spec->columns[i].name);
	for (size_t i = 0; i < SP_COUNT(spec->sums); i++)
		free(spec->sums[i].name);
	for (size_t i = 0; i < SP_COUNT(spec->before); i++) {
		sp_recipe_probe_free(spec->before[i].point.probe);
		free(spec->before[i].name);
	}
	free(spec->hist.name);
	free(spec->left_out);
	free(spec->shown);
	free(spec->name);
	free(spec->event);
	*spec = (struct sp_trace_spec){0};
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pair.c: two points that belong together, A..B on KEY: the first ones leave what the second finds. */
#include "base/error.h"
#include "base/mem.h"
#include "recipe/probe.h"
#include "recipe/recipe.h"
#include "trace/spec_priv.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREAD_ENDS "raw:sched_process_exit"

/* --- cutting --- */
/* Where the word is, outside of brackets and texts; `to`: nowhere. "../" is part of a path. */
static size_t word_find(const char *text, size_t from, size_t to, const char *word)
{
	unsigned depth = 0;

	for (size_t at = from; at < to; at++) {
		if (text[at] == '"')
			for (at++; at < to && text[at] != '"'; at++)
				at += text[at] == '\\' && at + 1 < to;
		if (at >= to)
			break;
		depth += strchr("([{", text[at]) != NULL;
		depth -= depth && strchr(")]}", text[at]);
		if (!depth && !strncmp(text + at, word, strlen(word)) && text[at + strlen(word)] != '/')
			return at;
	}
	return to;
}

static char *trimmed(const char *text, size_t from, size_t to)
{
	while (from < to && isspace((unsigned char)text[from]))
		from++;
	while (to > from && isspace((unsigned char)text[to - 1]))
		to--;
	return strndup(text + from, to - from);
}

/* "POINT on KEY of TASK"; with & in front it claims the pair. */
static int typed_take(const char *text, size_t from, size_t to, struct sp_trace_typed *typed)
{
	size_t of = word_find(text, from, to, " of "), on = word_find(text, from, of, " on ");

	while (from < on && isspace((unsigned char)text[from]))
		from++;
	if (from < on && text[from] == '&') {
		typed->claims = true;
		from++;
	}
	typed->event = trimmed(text, from, on);
	if (on < of)
		typed->match = trimmed(text, on + 4, of);
	if (of < to)
		typed->whose = trimmed(text, of + 4, to);
	if (!typed->event || (on < of && !typed->match) || (of < to && !typed->whose))
		return -ENOMEM;
	return *typed->event ? 0 : sp_fail_at(-EINVAL, text, from, "an event is missing");
}

int sp_trace_pair_cut(const char *text, struct sp_trace_making *m)
{
	size_t n = strlen(text), dots = word_find(text, 0, n, ".."), from = 0;
	int r = 0;

	if (dots == n) {
		m->last.event = strdup(text);
		return m->last.event ? 0 : -ENOMEM;
	}
	for (bool more = true; more && !r;) {
		size_t to;

		while (from < dots && isspace((unsigned char)text[from]))
			from++;
		to = SP_MIN(word_find(text, from, dots, "|"), word_find(text, from, dots, " &"));
		if (m->n_first == SP_TRACE_FIRSTS)
			return sp_fail_at(-EINVAL, text, from, "a pair has at most %d first points", SP_TRACE_FIRSTS);
		r = typed_take(text, from, to, &m->first[m->n_first++]);
		if (!r && m->first[m->n_first - 1].whose)
			return sp_fail_at(-EINVAL, text, from, "`of` stands behind the second point of a pair");
		m->claims |= m->first[m->n_first - 1].claims;
		more = to < dots;
		from = to + 1;
	}
	if (!r && m->first[0].claims)
		r = sp_fail_at(-EINVAL, text, 0, "before a point with & there is one that begins the pair");
	if (!r)
		r = typed_take(text, dots + 2, n, &m->last);
	m->claims |= m->last.claims;
	return r;
}

/* --- fields --- */
bool sp_trace_pair_is_dur(const struct sp_field *f)
{
	return f->from == SP_FIELD_BUILTIN && f->offset == SP_BUILTIN_DUR;
}

bool sp_trace_pair_is_thread(const struct sp_field *f)
{
	return f->from == SP_FIELD_BUILTIN && f->offset >= SP_BUILTIN_FIRST_PID && f->offset < SP_BUILTIN_KEPT;
}

static int field_add(struct sp_trace_making *m, const struct sp_field *f)
{
	struct sp_fields *fields = &m->fields;

	for (size_t i = 0; i < fields->n; i++)
		if (!strcmp(fields->list[i].name, f->name))
			return 0; /* the event has one of its own */
	if (sp_grow(&fields->list, &fields->capacity, fields->n + 1, sizeof(*f)) < 0)
		return -ENOMEM;
	fields->list[fields->n++] = *f;
	return 0;
}

/* The arguments of a system call are still there when it returns. */
static int arguments_add(struct sp_trace_making *m, struct sp_types *types)
{
	struct sp_fields enter, own = m->fields;
	SP_FREE char *name = NULL;
	int r;

	if (asprintf(&name, "syscalls:sys_enter_%s", strchr(m->spec->name, ':') + sizeof("sys_exit_")) < 0)
		return -ENOMEM;
	r = sp_fields_read(name, types, &enter);
	if (r < 0)
		return sp_fail(r, "read the fields of %s", name);
	m->fields = enter;
	for (size_t i = 0; i < own.n && !r; i++)
		r = field_add(m, &own.list[i]);
	sp_fields_done(&own);
	return r;
}

int sp_trace_pair_fields(struct sp_trace_making *m, struct sp_types *types)
{
	static const struct sp_field of_pairs[] = {
	    {.name = "dur", .type = "long", .offset = SP_BUILTIN_DUR, .size = 8, .is_signed = true},
	    {.name = "pid", .type = "int", .offset = SP_BUILTIN_FIRST_PID, .size = 4, .is_signed = true},
	    {.name = "tid", .type = "int", .offset = SP_BUILTIN_FIRST_TID, .size = 4, .is_signed = true},
	    {.name = "comm", .type = "char[16]", .offset = SP_BUILTIN_FIRST_COMM, .size = 16, .is_text = true},
	};
	int r = strncmp(m->spec->name, "syscalls:", 9) != 0 ? 0 : arguments_add(m, types);

	m->n_own = m->fields.n;
	for (size_t i = 0; i < m->n_kept && !r; i++)
		r = field_add(m, &m->kept[i]);
	for (size_t i = 0; i < SP_COUNT(of_pairs) && !r; i++) {
		struct sp_field f = of_pairs[i];

		if (i && m->spec->config.asks_who)
			break; /* the thread is the current one */
		f.from = SP_FIELD_BUILTIN;
		r = field_add(m, &f);
	}
	return r;
}

/* --- first points --- */
/* The first points of a pair keep the same: the second knows them by one number. */
static int kept_note(struct sp_trace_making *m, bool is_first, size_t i, const struct sp_trace_wanted *w)
{
	struct sp_field f = {.type = "long", .from = SP_FIELD_BUILTIN, .size = 8};
	const struct sp_expr_node *root = &w->expr.nodes[w->expr.root];

	if (!w->is_named && root->kind != SP_EXPR_NAME)
		return sp_fail_at(-EINVAL, w->expr.text, w->at, "what is kept needs a name: NAME=EXPR");
	snprintf(f.name, sizeof(f.name), "%.*s", (int)w->n, w->expr.text + w->at);
	if (root->kind == SP_EXPR_NAME && !strncmp(root->field->type, "struct ", 7) && strchr(root->field->type, '*'))
		memcpy(f.type, root->field->type, sizeof(f.type)); /* so its members can be named */
	f.offset = SP_BUILTIN_KEPT + (uint32_t)i;
	f.is_signed = !sp_expr_is_unsigned(&w->expr);
	if (is_first)
		m->kept[m->n_kept++] = f;
	else if (i >= m->n_kept || strcmp(m->kept[i].name, f.name) != 0)
		return sp_fail_at(-EINVAL, w->expr.text, w->at, "the first points of a pair must keep the same");
	return 0;
}

/* What is wanted of the point, in registers: its keys, then what is kept. */
static int numbers_compile(struct sp_trace_making *m, bool is_first, struct sp_trace_making *of,
			   struct sp_trace_config *c)
{
	unsigned n_keys = 0, n_registers = 0;
	int r = 0;

	for (size_t i = 0; i < of->n_wanted && !r; i++) {
		const struct sp_trace_wanted *w = of->wanted[i];

		if (w->use != SP_TRACE_USE_MATCH && w->use != SP_TRACE_USE_KEPT) {
			r = sp_expr_need(&w->expr, &of->list);
			continue;
		}
		if (w->use == SP_TRACE_USE_MATCH)
			c->pair_key[n_keys++] = n_registers;
		else
			r = kept_note(m, is_first, c->n_kept++, w);
		if (!r)
			r = sp_expr_number(&w->expr, &of->list, n_registers++);
	}
	c->kept = n_keys;
	if (!r && c->role == SP_TRACE_FIRST && c->n_kept != m->n_kept)
		return sp_fail_said(-EINVAL, "the first points of a pair must keep the same");
	return r;
}

/* has_whose: the thread is another's than the current one, and is asked for at the second point. */
static int first_parse(struct sp_trace_making *of, const char *event, const char *match, bool has_whose)
{
	const struct sp_narrowing *n = &of->narrowing;
	int r = 0;

	if (n->n_filter)
		r = sp_trace_wanted_add(of, SP_TRACE_USE_FILTER, event, n->filter, n->filter + n->n_filter);
	if (!r && !has_whose && !of->claims)
		r = sp_trace_comm_add(of);
	if (!r)
		r = sp_trace_list_add(of, SP_TRACE_USE_MATCH, match, SP_TRACE_MATCHES);
	if (r || !n->n_value)
		return r;
	of->kept_text = strndup(event + n->value, n->n_value);
	return of->kept_text ? sp_trace_list_add(of, SP_TRACE_USE_KEPT, of->kept_text, SP_N_KEPT) : -ENOMEM;
}

static int first_compile(struct sp_trace_making *m, struct sp_trace_making *of, struct sp_trace_point *p,
			 struct sp_types *types)
{
	bool needs_fields = p->config.role != SP_TRACE_FORGET;
	int r = needs_fields ? sp_trace_fields_find(of, p->name, &p->point, types) : 0;

	if (!r)
		r = sp_trace_names_resolve(of, p->name);
	if (r)
		return r;
	sp_narrowing_ops(&p->point, &of->list);
	r = numbers_compile(m, p == m->spec->before, of, &p->config);
	if (!r && p->config.role == SP_TRACE_CLAIM && p->config.n_kept)
		r = sp_fail_said(-EINVAL, "a point with & keeps nothing");
	if (r)
		return r;
	sp_trace_point_finish(of, &p->point);
	return sp_trace_places_find(&p->point);
}

static int first_make(struct sp_trace_making *m, const char *event, const char *match, enum sp_trace_role role,
		      bool asks_who, struct sp_types *types)
{
	struct sp_trace_making of = {.spec = m->spec, .asked = m->asked, .claims = m->claims};
	struct sp_trace_point *p = &m->spec->before[m->spec->n_before++];
	int r;

	p->config = (struct sp_trace_config){.role = role,
					     .asks_who = asks_who,
					     .hist = SP_NO_REG,
					     .pair_key = {SP_NO_REG, SP_NO_REG},
					     .of_task = m->last.whose != NULL};
	r = sp_trace_point_name(event, &of.narrowing, &p->name, &p->point);
	if (!r && role != SP_TRACE_FORGET)
		r = first_parse(&of, event, match, m->last.whose != NULL);
	else if (!r)
		r = sp_trace_list_add(&of, SP_TRACE_USE_MATCH, match, 1);
	if (!r)
		r = first_compile(m, &of, p, types);
	free(of.kept_text);
	sp_trace_making_done(&of);
	return r;
}

static bool is_by_thread(const char *match)
{
	return !match || !strcmp(match, "tid");
}

/* Whose it is is asked at a first point, unless the next one, or the second, claims the pair. */
static bool is_asked_at(const struct sp_trace_making *m, size_t i)
{
	return !m->last.claims && !m->last.whose && !m->first[i].claims &&
	       (i + 1 == m->n_first || !m->first[i + 1].claims);
}

/*
 * A pair that is known by its thread has a place that stays, since the thread's next is soon to come; a thread that
 * ends within one, as all do in exit(2), takes it along.
 */
int sp_trace_pair_firsts(struct sp_trace_making *m, struct sp_types *types)
{
	bool by_thread = is_by_thread(m->last.match);
	int r = 0;

	for (size_t i = 0; i < m->n_first && !r; i++) {
		const char *match = m->first[i].match ? m->first[i].match : m->last.match;

		by_thread &= is_by_thread(match);
		r = first_make(m, m->first[i].event, match ? match : "tid",
			       m->first[i].claims ? SP_TRACE_CLAIM : SP_TRACE_FIRST, is_asked_at(m, i), types);
	}
	m->spec->config.pair_stays = by_thread;
	m->spec->config.asks_who = m->last.claims;
	m->spec->config.needs_claim = m->claims && !m->last.claims;
	return r || !by_thread ? r : first_make(m, THREAD_ENDS, "tid", SP_TRACE_FORGET, false, types);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * columns.c: what is wanted of an event, compiled: which register has what, how it is shown, and its place in a key or
 * record.
 */
#include "base/error.h"
#include "base/mem.h"
#include "trace/spec_priv.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what a column is --- */
static const struct sp_field *field_of(const struct sp_trace_wanted *w)
{
	const struct sp_expr_node *root = &w->expr.nodes[w->expr.root];

	return root->kind == SP_EXPR_NAME ? root->field : NULL;
}

static bool is_call(const struct sp_trace_making *m)
{
	return !strncmp(m->spec->name, "syscalls:", 9);
}

/* Whether a field is the address of text, or text in memory: in whose. */
static enum sp_trace_text_kind field_text(const struct sp_trace_making *m, const struct sp_field *f)
{
	if (is_call(m) && f->from == SP_FIELD_BUILTIN && strstr(f->type, "char *"))
		return SP_TRACE_USER_TEXT;
	if (f->from == SP_FIELD_BUILTIN)
		return SP_TRACE_NO_TEXT;
	return f->is_text || f->is_string ? SP_TRACE_KERNEL_TEXT : SP_TRACE_NO_TEXT;
}

/* The same of what is wanted; a column of ustr() or kstr() says it itself. */
static enum sp_trace_text_kind text_of(const struct sp_trace_making *m, const struct sp_trace_wanted *w)
{
	const struct sp_field *f = field_of(w);

	return w->text || !f || w->use != SP_TRACE_USE_COLUMN ? w->text : field_text(m, f);
}

/* By the name that it was given, or that of its field. */
static enum sp_trace_as meaning_of(const struct sp_trace_making *m, const struct sp_trace_wanted *w)
{
	const struct sp_field *f = field_of(w);
	const char *name = w->is_named ? w->expr.text + w->at : f ? f->name : "";
	size_t n = w->is_named ? w->n : strlen(name);
	enum sp_trace_as as = sp_trace_meaning(m->spec->shown, name, n);

	if (as == SP_TRACE_AS_NUMBER)
		as = sp_trace_meaning(m->spec->name, name, n);
	if (as != SP_TRACE_AS_NUMBER)
		return as;
	if (f && (strchr(f->type, '*') || !strcmp(f->name, "task")))
		return SP_TRACE_AS_ADDRESS;
	return sp_expr_is_unsigned(&w->expr) ? SP_TRACE_AS_UNSIGNED : SP_TRACE_AS_NUMBER;
}

/* --- compiling --- */
static int register_take(struct sp_trace_making *m, const struct sp_trace_wanted *w, sp_u32 *ret_register)
{
	if (m->n_registers == SP_N_OP_REGS)
		return sp_fail_at(
		    -EINVAL, w->expr.text, w->at,
		    "this is too much for one event: keys, columns, sums and the histogram are %d numbers "
		    "at most",
		    SP_N_OP_REGS);
	*ret_register = m->n_registers++;
	return 0;
}

static int number_compile(struct sp_trace_making *m, const struct sp_trace_wanted *w, sp_u32 *ret_register)
{
	int r = register_take(m, w, ret_register);

	return r ? r : sp_expr_number(&w->expr, &m->list, *ret_register);
}

/* As in C an array is its address. */
static bool is_list(const struct sp_field *f)
{
	return f->from == SP_FIELD_PLACE && strchr(f->type, '[');
}

static int text_compile(struct sp_trace_making *m, const struct sp_trace_wanted *w, enum sp_trace_text_kind kind,
			struct sp_trace_column *column)
{
	const struct sp_field *f = field_of(w);
	struct sp_trace_config *c = &m->spec->config;
	struct sp_trace_text *text = &c->text[c->n_texts];
	unsigned most = m->asked->tells ? SP_TRACE_TEXT : SP_TRACE_KEY_TEXT;
	bool is_array = f && f->is_text && f->from != SP_FIELD_DYNAMIC;
	int r;

	if (c->n_texts == (m->asked->tells ? SP_TRACE_TEXTS : 1))
		return sp_fail_at(-EINVAL, w->expr.text, w->at, "at most %d of the %s may be texts",
				  m->asked->tells ? SP_TRACE_TEXTS : 1, m->asked->tells ? "columns" : "keys");
	r = register_take(m, w, &text->reg);
	if (r)
		return r;
	text->length = SP_NO_REG;
	if (w->length)
		r = number_compile(m, w->length, &text->length);
	if (r)
		return r;
	text->from = kind == SP_TRACE_USER_TEXT ? SP_TRACE_TEXT_USER : SP_TRACE_TEXT_KERNEL;
	text->bytes = is_array ? SP_MIN(f->size + 1, most) : most;
	text->at = c->n_texts++; /* its number, until all places are known */
	column->as = SP_TRACE_AS_TEXT;
	column->at = text->at;
	column->bytes = most;
	column->is_counted = w->length != NULL;
	column->is_internet = column->is_counted && meaning_of(m, w) == SP_TRACE_AS_INTERNET;
	if (f && (is_list(f) || (!w->text && kind != SP_TRACE_USER_TEXT)))
		return sp_expr_text_address(&w->expr, &m->list, text->reg);
	return sp_expr_number(&w->expr, &m->list, text->reg);
}

static int column_name(const struct sp_trace_wanted *w, struct sp_trace_column *column)
{
	column->name = strndup(w->expr.text + w->at, w->n);
	return column->name ? 0 : -ENOMEM;
}

static struct sp_trace_column *column_add(struct sp_trace_making *m)
{
	return &m->spec->columns[m->spec->n_columns++];
}

/* A column that is a number. Its place is its register's number, until all places are known. */
static int number_column(struct sp_trace_making *m, const struct sp_trace_wanted *w)
{
	struct sp_trace_column *column = column_add(m);
	sp_u32 at = 0;
	int r = column_name(w, column);

	if (!r)
		r = number_compile(m, w, &at);
	column->at = at;
	column->as = meaning_of(m, w);
	m->spec->config.n_numbers = m->n_registers;
	return r;
}

static bool is_comm(const struct sp_trace_wanted *w)
{
	const struct sp_field *f = field_of(w);

	return w->use == SP_TRACE_USE_COLUMN && !w->text && f && f->from == SP_FIELD_BUILTIN &&
	       (f->offset == SP_BUILTIN_COMM || f->offset == SP_BUILTIN_FIRST_COMM);
}

/* All arguments of the system call, which the program reads by itself. */
static int arguments_column(struct sp_trace_making *m, const struct sp_trace_wanted *w)
{
	struct sp_trace_column *column = column_add(m);

	column->as = SP_TRACE_AS_ARGUMENTS;
	return m->asked->tells ? column_name(w, column)
			       : sp_fail_at(-EINVAL, w->expr.text, w->at, "sysargs is for events printed one by one");
}

static int column_compile(struct sp_trace_making *m, const struct sp_trace_wanted *w)
{
	enum sp_trace_text_kind kind = text_of(m, w);
	struct sp_trace_column *column;
	int r;

	if (w->is_arguments)
		return arguments_column(m, w);
	if (!kind && !is_comm(w))
		return number_column(m, w);
	column = column_add(m);
	r = column_name(w, column);
	if (!r && kind)
		r = text_compile(m, w, kind, column);
	else if (!r)
		column->as = SP_TRACE_AS_COMM;
	return r;
}

static int sum_compile(struct sp_trace_making *m, const struct sp_trace_wanted *w)
{
	struct sp_trace_config *c = &m->spec->config;
	struct sp_trace_column *sum = &m->spec->sums[c->n_sums];
	int r =
	    asprintf(&sum->name, w->is_named ? "%.*s" : "sum(%.*s)", (int)w->n, w->expr.text + w->at) < 0 ? -ENOMEM : 0;

	if (!r)
		r = number_compile(m, w, &c->sum[c->n_sums]);
	sum->unit = meaning_of(m, w) == SP_TRACE_AS_TIME                         ? "nanoseconds"
		    : w->is_named && strstr(sum->name, "bytes") /* of its own */ ? "bytes"
										 : sp_expr_unit(&w->expr);
	sum->at = c->n_sums++;
	return r;
}

static int hist_compile(struct sp_trace_making *m, const struct sp_trace_wanted *w)
{
	struct sp_trace_config *c = &m->spec->config;
	int r = column_name(w, &m->spec->hist);

	c->hist_is_unsigned = sp_expr_is_unsigned(&w->expr);
	m->spec->hist.as = meaning_of(m, w);
	return r ? r : number_compile(m, w, &c->hist);
}

/* They are used up when the pair is found, before anything else has a register. */
static int match_compile(struct sp_trace_making *m, const struct sp_trace_wanted *w)
{
	struct sp_trace_config *c = &m->spec->config;
	unsigned i = c->role == SP_TRACE_SECOND;
	int r = sp_expr_number(&w->expr, &m->list, i);

	c->pair_key[i] = i;
	if (!i)
		c->pair_key[1] = SP_NO_REG;
	c->role = SP_TRACE_SECOND;
	c->pair_at = (sp_u32)m->list.n;
	return r;
}

/* In the registers behind the keys, each in its turn: process, thread, and where its name is. */
static int whose_compile(struct sp_trace_making *m, const struct sp_trace_wanted *w)
{
	struct sp_trace_config *c = &m->spec->config;
	unsigned reg = SP_TRACE_MATCHES + m->n_whose;
	int r =
	    m->n_whose++ < 2 ? sp_expr_number(&w->expr, &m->list, reg) : sp_expr_text_address(&w->expr, &m->list, reg);

	c->whose = SP_TRACE_MATCHES;
	c->pair_at = (sp_u32)m->list.n;
	return r;
}

static int wanted_compile(struct sp_trace_making *m, const struct sp_trace_wanted *w)
{
	switch (w->use) {
	case SP_TRACE_USE_MATCH:
		return match_compile(m, w);
	case SP_TRACE_USE_WHOSE:
		return whose_compile(m, w);
	case SP_TRACE_USE_FILTER:
	case SP_TRACE_USE_WHICH:
	case SP_TRACE_USE_COMM:
		return sp_expr_need(&w->expr, &m->list);
	case SP_TRACE_USE_COLUMN:
		return column_compile(m, w);
	case SP_TRACE_USE_HIST:
		return hist_compile(m, w);
	default:
		return sum_compile(m, w);
	}
}

/* Numbers that are keys or columns have the lowest registers, so they are compiled before texts. */
static bool is_in_turn(const struct sp_trace_making *m, const struct sp_trace_wanted *w, unsigned turn)
{
	if (w->use == SP_TRACE_USE_LENGTH)
		return false;
	if (w->use != SP_TRACE_USE_COLUMN)
		return turn == (w->use < SP_TRACE_USE_COLUMN ? 0 : 3);
	return turn == (text_of(m, w) || is_comm(w) || w->is_arguments ? 2 : 1);
}

static int all_compile(struct sp_trace_making *m)
{
	int r = 0;

	for (unsigned turn = 0; turn < 4; turn++)
		for (size_t i = 0; i < m->n_wanted && !r; i++)
			if (is_in_turn(m, m->wanted[i], turn))
				r = wanted_compile(m, m->wanted[i]);
	return r;
}

/* --- the default columns --- */
/* Whether one more column fits: it is taken back if not. */
static int default_add(struct sp_trace_making *m, const char *name)
{
	struct sp_trace_spec *s = m->spec;
	struct sp_op_list list = m->list;
	struct sp_trace_config config = s->config;
	unsigned n_registers = m->n_registers;
	size_t n = s->n_columns, n_wanted = m->n_wanted;
	int r = sp_trace_wanted_add(m, SP_TRACE_USE_COLUMN, name, 0, strlen(name));

	if (!r)
		r = sp_expr_resolve(&m->wanted[m->n_wanted - 1]->expr, &m->fields, s->name);
	if (!r && n < SP_TRACE_COLUMNS)
		r = column_compile(m, m->wanted[m->n_wanted - 1]);
	if (!r && n < SP_TRACE_COLUMNS)
		return 0;
	for (size_t i = n; i < s->n_columns; i++)
		free(sp_take_ptr(s->columns[i].name));
	s->n_columns = n;
	s->config = config;
	m->list = list;
	m->n_registers = n_registers;
	while (m->n_wanted > n_wanted)
		free(m->wanted[--m->n_wanted]);
	sp_error_clear();
	return r == -ENOMEM ? r : 1;
}

static int left_out_add(struct sp_trace_spec *s, const char *name)
{
	char *more = NULL;

	if (asprintf(&more, "%s%s%s", s->left_out ? s->left_out : "", s->left_out ? ", " : "", name) < 0)
		return -ENOMEM;
	free(s->left_out);
	s->left_out = more;
	return 0;
}

/* Whether it is a function that is probed, whose fields are of its beginning or of its end. A mark has one place. */
static bool is_function(const struct sp_trace_making *m)
{
	return m->spec->point.at == SP_AT_PROBE && sp_fields_find(&m->fields, "retval", 6);
}

/* Whether the event is a call's end, by what is asked of it so far: then its arguments are gone. */
static bool has_returned(const struct sp_trace_making *m)
{
	if (!is_function(m))
		return false;
	for (size_t i = 0; i < m->list.n; i++)
		if (m->list.ops[i].kind == SP_OP_ARGUMENT && m->list.ops[i].imm == SP_FIELD_RETURNED)
			return true;
	return false;
}

/* Whether a field is a column where none were asked for. */
static bool is_default(const struct sp_trace_making *m, const struct sp_field *f, bool returned)
{
	if (is_function(m) && f->from == SP_FIELD_ARGUMENT)
		return f->offset <= SP_FIELD_RETURNED && (f->offset == SP_FIELD_RETURNED) == returned;
	return f->from != SP_FIELD_NOWHERE && !f->why_not && strncmp(f->name, "common_", 7) != 0 &&
	       strcmp(f->name, "__syscall_nr") != 0 && (strcmp(f->name, "retval") != 0 || m->fields.n == 1) &&
	       !sp_trace_pair_is_thread(f);
}

/* All fields of the event, numbers first, then texts; then they are put into the event's order. */
static int defaults_add(struct sp_trace_making *m)
{
	struct sp_trace_spec *s = m->spec;
	bool returned = has_returned(m);
	int r = 0;

	for (unsigned turn = 0; turn < 3; turn++) /* first how long it took */
		for (size_t i = 0; i < m->fields.n && r >= 0; i++) {
			const struct sp_field *f = &m->fields.list[i];
			unsigned its_turn = field_text(m, f) ? 2 : sp_trace_pair_is_dur(f) ? 0 : 1;

			if (!is_default(m, f, returned) || turn != its_turn)
				continue;
			r = default_add(m, f->name);
			if (r == 1)
				r = left_out_add(s, f->name);
		}
	return r;
}

/* --- places --- */
static size_t order_of(const struct sp_trace_making *m, const char *name)
{
	bool has_list = !m->asked->tells || m->asked->print;

	for (size_t i = 0; i < m->n_wanted; i++) {
		const struct sp_trace_wanted *w = m->wanted[i];

		if (has_list && w->use == SP_TRACE_USE_COLUMN && strlen(name) == w->n &&
		    !strncmp(w->expr.text + w->at, name, w->n))
			return i;
	}
	for (size_t i = 0; i < m->fields.n; i++)
		if (!strcmp(m->fields.list[i].name, name))
			return i;
	return 0;
}

/* In the order in which they were asked for, or the event has them. */
static void columns_sort(const struct sp_trace_making *m)
{
	struct sp_trace_column *c = m->spec->columns;

	for (size_t i = 1; i < m->spec->n_columns; i++)
		for (size_t k = i; k && order_of(m, c[k - 1].name) > order_of(m, c[k].name); k--) {
			struct sp_trace_column swapped = c[k];

			c[k] = c[k - 1];
			c[k - 1] = swapped;
		}
}

/* What a result means depends on the call, if its number is beside it. */
static void calls_find(struct sp_trace_spec *s)
{
	unsigned at = 0;

	for (size_t i = 0; i < s->n_columns; i++)
		if (s->columns[i].as == SP_TRACE_AS_CALL)
			at = s->columns[i].at;
	for (size_t i = 0; i < s->n_columns; i++)
		s->columns[i].call_at = s->columns[i].as == SP_TRACE_AS_RESULT ? at : 0;
}

/* A record begins with its head; a key with the word that has point and bucket. Then numbers, name, texts. */
static void places_set(struct sp_trace_making *m)
{
	struct sp_trace_spec *s = m->spec;
	struct sp_trace_config *c = &s->config;
	unsigned begin = m->asked->tells ? sizeof(struct sp_trace_record) : 8, at = begin + 8 * c->n_numbers;

	for (size_t i = 0; i < s->n_columns; i++) {
		if (s->columns[i].as != SP_TRACE_AS_COMM)
			continue;
		s->columns[i].at = m->asked->tells ? offsetof(struct sp_trace_record, comm) : at;
		c->comm_at = s->columns[i].at;
	}
	at += c->comm_at && !m->asked->tells ? SP_COMM_LEN : 0;
	for (size_t i = 0; i < s->n_columns; i++)
		if (s->columns[i].as == SP_TRACE_AS_ARGUMENTS) {
			s->columns[i].at = c->calls_at = at;
			at += SP_TRACE_CALL_ARGUMENTS * 8;
		}
	for (size_t i = 0; i < s->n_columns; i++)
		if (s->columns[i].as == SP_TRACE_AS_TEXT)
			s->columns[i].at = at + s->columns[i].at * s->columns[i].bytes;
		else if (s->columns[i].as != SP_TRACE_AS_COMM && s->columns[i].as != SP_TRACE_AS_ARGUMENTS)
			s->columns[i].at = begin + 8 * s->columns[i].at;
	for (unsigned i = 0; i < c->n_texts; i++)
		c->text[i].at = at + i * (m->asked->tells ? SP_TRACE_TEXT : SP_TRACE_KEY_TEXT);
	at += c->n_texts * (m->asked->tells ? SP_TRACE_TEXT : SP_TRACE_KEY_TEXT);
	s->key_bytes = at;
	c->record_bytes = at;
}

int sp_trace_columns_make(struct sp_trace_making *m)
{
	int r = all_compile(m);

	if (r >= 0 && m->asked->tells && !m->asked->print)
		r = defaults_add(m);
	if (r < 0)
		return r;
	columns_sort(m);
	places_set(m);
	calls_find(m->spec);
	return 0;
}

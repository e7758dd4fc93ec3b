/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/spec.h"
#include "base/error.h"
#include "base/mem.h"
#include "recipe/expr.h"
#include "recipe/narrow.h"
#include "recipe/probe.h"
#include "recipe/recipe.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WANTED = SP_TRACE_COLUMNS + SP_TRACE_SUMS + 3 };

/* What an expression is for, in the order in which their numbers are left in registers. */
enum use { FILTER, COMM, COLUMN, HIST, SUM, N_USES };
static const char *const use_names[] = {[COLUMN] = "--by or --print", [HIST] = "--hist", [SUM] = "--sum"};

enum text { NO_TEXT, USER_TEXT, KERNEL_TEXT };

struct wanted {
	enum use use;
	enum text text; /* it is the address of one */
	size_t at, n;   /* what it is called, or what was typed, in expr.text */
	bool is_named;
	struct sp_expr expr;
};

struct making {
	struct sp_trace_spec *spec;
	const struct sp_trace_asked *asked;
	struct sp_narrowing narrowing;
	char comm[64];
	struct wanted *wanted[MAX_WANTED];
	size_t n_wanted;
	struct sp_op_list list;
	unsigned n_registers;
	struct sp_fields fields;
	bool has_fields;
};

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
static enum text text_call(const char *text, size_t *from, size_t *to)
{
	enum text kind = !strncmp(text + *from, "ustr(", 5)   ? USER_TEXT
			 : !strncmp(text + *from, "kstr(", 5) ? KERNEL_TEXT
							      : NO_TEXT;

	if (!kind || text[*to - 1] != ')')
		return NO_TEXT;
	*from += 5;
	*to -= 1;
	return kind;
}

/* "NAME=EXPR": behind the sign; else where it was. */
static size_t name_skip(const char *text, size_t from, size_t to)
{
	size_t at = from;

	while (at < to && (isalnum((unsigned char)text[at]) || text[at] == '_'))
		at++;
	return at > from && at + 1 < to && text[at] == '=' && text[at + 1] != '=' ? at + 1 : from;
}

static int wanted_add(struct making *m, enum use use, const char *text, size_t from, size_t to)
{
	struct wanted *w;
	size_t begin;

	while (from < to && isspace((unsigned char)text[from]))
		from++;
	while (to > from && isspace((unsigned char)text[to - 1]))
		to--;
	if (from == to)
		return sp_fail_at(-EINVAL, text, from, "an expression is missing");
	if (m->n_wanted == MAX_WANTED)
		return sp_fail_at(-EINVAL, text, from, "these are more than %d expressions", MAX_WANTED);
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	m->wanted[m->n_wanted++] = w;
	w->use = use;
	w->at = from;
	begin = use == COLUMN || use == SUM ? name_skip(text, from, to) : from;
	w->n = begin > from ? begin - 1 - from : to - from;
	w->is_named = begin > from;
	for (from = begin; from < to && isspace((unsigned char)text[from]);)
		from++;
	if (use == COLUMN)
		w->text = text_call(text, &from, &to);
	return sp_expr_parse(text, from, to, &w->expr);
}

static int list_add(struct making *m, enum use use, const char *list, size_t max)
{
	size_t at = 0, n = 0;
	int r = 0;

	for (bool more = list != NULL; more && !r; at++) {
		size_t length = sp_trace_list_length(list + at);

		if (n++ == max)
			return sp_fail_at(-EINVAL, list, at, "%s takes at most %zu", use_names[use], max);
		r = wanted_add(m, use, list, at, at + length);
		at += length;
		more = list[at] != '\0';
	}
	return r;
}

/* comm == "NAME" */
static int comm_add(struct making *m)
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
	return wanted_add(m, COMM, m->comm, 0, n);
}

static int all_parse(struct making *m)
{
	const struct sp_narrowing *narrowing = &m->narrowing;
	int r = 0;

	if (narrowing->n_filter)
		r = wanted_add(m, FILTER, m->spec->event, narrowing->filter, narrowing->filter + narrowing->n_filter);
	if (!r)
		r = comm_add(m);
	if (!r)
		r = list_add(m, COLUMN, m->asked->tells ? m->asked->print : m->asked->by, SP_TRACE_COLUMNS);
	if (!r)
		r = list_add(m, HIST, m->asked->hist, 1);
	return r ? r : list_add(m, SUM, m->asked->sum, SP_TRACE_SUMS);
}

static int fields_find(struct making *m, struct sp_types *types)
{
	struct sp_expr *each[MAX_WANTED];
	int r;

	for (size_t i = 0; i < m->n_wanted; i++)
		each[i] = &m->wanted[i]->expr;
	r = sp_narrowing_fields(m->spec->name, &m->spec->point, &(struct sp_expr_list){each, m->n_wanted}, types,
				&m->fields);
	m->has_fields = !r;
	for (size_t i = 0; i < m->n_wanted && !r; i++)
		r = sp_expr_resolve(&m->wanted[i]->expr, &m->fields, m->spec->name);
	return r;
}

/* --- what a column is --- */
static const struct sp_field *field_of(const struct wanted *w)
{
	const struct sp_expr_node *root = &w->expr.nodes[w->expr.root];

	return root->kind == SP_EXPR_NAME ? root->field : NULL;
}

static bool is_call(const struct making *m)
{
	return !strncmp(m->spec->name, "syscalls:", 9);
}

/* Whether it is the address of text, or text in memory: in whose. */
static enum text text_of(const struct making *m, const struct wanted *w)
{
	const struct sp_field *f = field_of(w);

	if (w->text || !f || w->use != COLUMN)
		return w->text;
	if (is_call(m) && f->from == SP_FIELD_BUILTIN && strstr(f->type, "char *"))
		return USER_TEXT;
	if (f->from == SP_FIELD_BUILTIN)
		return NO_TEXT;
	return f->is_text || f->is_string ? KERNEL_TEXT : NO_TEXT;
}

/* By the name that it was given, or that of its field. */
static enum sp_trace_as meaning_of(const struct making *m, const struct wanted *w)
{
	const struct sp_field *f = field_of(w);
	const char *name = w->is_named ? w->expr.text + w->at : f ? f->name : "";
	enum sp_trace_as as = sp_trace_meaning(m->spec->name, name, w->is_named ? w->n : strlen(name));

	if (as != SP_TRACE_AS_NUMBER)
		return as;
	if (f && (strchr(f->type, '*') || !strcmp(f->name, "task")))
		return SP_TRACE_AS_ADDRESS;
	return sp_expr_is_unsigned(&w->expr) ? SP_TRACE_AS_UNSIGNED : SP_TRACE_AS_NUMBER;
}

/* --- compiling --- */
static int register_take(struct making *m, const struct wanted *w, sp_u32 *ret_register)
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

static int number_compile(struct making *m, const struct wanted *w, sp_u32 *ret_register)
{
	int r = register_take(m, w, ret_register);

	return r ? r : sp_expr_number(&w->expr, &m->list, *ret_register);
}

static int text_compile(struct making *m, const struct wanted *w, enum text kind, struct sp_trace_column *column)
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
	text->from = kind == USER_TEXT ? SP_TRACE_TEXT_USER : SP_TRACE_TEXT_KERNEL;
	text->bytes = is_array ? SP_MIN(f->size + 1, most) : most;
	text->at = c->n_texts++; /* its number, until all places are known */
	column->as = SP_TRACE_AS_TEXT;
	column->at = text->at;
	column->bytes = most;
	return w->text || !f || (kind == USER_TEXT) ? sp_expr_number(&w->expr, &m->list, text->reg)
						    : sp_expr_text_address(&w->expr, &m->list, text->reg);
}

static int column_name(const struct wanted *w, struct sp_trace_column *column)
{
	column->name = strndup(w->expr.text + w->at, w->n);
	return column->name ? 0 : -ENOMEM;
}

static struct sp_trace_column *column_add(struct making *m)
{
	return &m->spec->columns[m->spec->n_columns++];
}

/* A column that is a number. Its place is its register's number, until all places are known. */
static int number_column(struct making *m, const struct wanted *w)
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

static bool is_comm(const struct wanted *w)
{
	const struct sp_field *f = field_of(w);

	return w->use == COLUMN && !w->text && f && f->from == SP_FIELD_BUILTIN && f->offset == SP_BUILTIN_COMM;
}

static int column_compile(struct making *m, const struct wanted *w)
{
	enum text kind = text_of(m, w);
	struct sp_trace_column *column;
	int r;

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

static int sum_compile(struct making *m, const struct wanted *w)
{
	struct sp_trace_config *c = &m->spec->config;
	struct sp_trace_column *sum = &m->spec->sums[c->n_sums];
	int r =
	    asprintf(&sum->name, w->is_named ? "%.*s" : "sum(%.*s)", (int)w->n, w->expr.text + w->at) < 0 ? -ENOMEM : 0;

	if (!r)
		r = number_compile(m, w, &c->sum[c->n_sums]);
	sum->unit = sp_expr_unit(&w->expr);
	sum->at = c->n_sums++;
	return r;
}

static int hist_compile(struct making *m, const struct wanted *w)
{
	struct sp_trace_config *c = &m->spec->config;
	int r = column_name(w, &m->spec->hist);

	c->hist_is_unsigned = sp_expr_is_unsigned(&w->expr);
	return r ? r : number_compile(m, w, &c->hist);
}

static int wanted_compile(struct making *m, const struct wanted *w)
{
	switch (w->use) {
	case FILTER:
	case COMM:
		return sp_expr_need(&w->expr, &m->list);
	case COLUMN:
		return column_compile(m, w);
	case HIST:
		return hist_compile(m, w);
	default:
		return sum_compile(m, w);
	}
}

/* Numbers that are keys or columns have the lowest registers, so they are compiled before texts. */
static bool is_in_turn(const struct making *m, const struct wanted *w, unsigned turn)
{
	if (w->use != COLUMN)
		return turn == (w->use < COLUMN ? 0 : 3);
	return turn == (text_of(m, w) || is_comm(w) ? 2 : 1);
}

static int all_compile(struct making *m)
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
static int default_add(struct making *m, const char *name)
{
	struct sp_trace_spec *s = m->spec;
	struct sp_op_list list = m->list;
	struct sp_trace_config config = s->config;
	unsigned n_registers = m->n_registers;
	size_t n = s->n_columns, n_wanted = m->n_wanted;
	int r = wanted_add(m, COLUMN, name, 0, strlen(name));

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

static bool is_shown(const struct making *m, const struct sp_field *f, bool is_text)
{
	struct wanted probe = {.use = COLUMN};

	probe.expr.nodes[1] = (struct sp_expr_node){.kind = SP_EXPR_NAME, .field = f};
	probe.expr.root = 1;
	return f->from != SP_FIELD_NOWHERE && !f->why_not && strncmp(f->name, "common_", 7) != 0 &&
	       strcmp(f->name, "__syscall_nr") != 0 && strcmp(f->name, "retval") != 0 &&
	       (text_of(m, &probe) != NO_TEXT) == is_text;
}

/* All fields of the event, numbers first, then texts; then they are put into the event's order. */
static int defaults_add(struct making *m)
{
	struct sp_trace_spec *s = m->spec;
	int r = 0;

	for (unsigned is_text = 0; is_text < 2; is_text++)
		for (size_t i = 0; i < m->fields.n && r >= 0; i++) {
			if (!is_shown(m, &m->fields.list[i], is_text))
				continue;
			r = default_add(m, m->fields.list[i].name);
			if (r == 1)
				r = left_out_add(s, m->fields.list[i].name);
		}
	return r;
}

/* --- places --- */
static size_t order_of(const struct making *m, const char *name)
{
	bool has_list = !m->asked->tells || m->asked->print;

	for (size_t i = 0; i < m->n_wanted; i++) {
		const struct wanted *w = m->wanted[i];

		if (has_list && w->use == COLUMN && strlen(name) == w->n && !strncmp(w->expr.text + w->at, name, w->n))
			return i;
	}
	for (size_t i = 0; i < m->fields.n; i++)
		if (!strcmp(m->fields.list[i].name, name))
			return i;
	return 0;
}

/* In the order in which they were asked for, or the event has them. */
static void columns_sort(const struct making *m)
{
	struct sp_trace_column *c = m->spec->columns;

	for (size_t i = 1; i < m->spec->n_columns; i++)
		for (size_t k = i; k && order_of(m, c[k - 1].name) > order_of(m, c[k].name); k--) {
			struct sp_trace_column swapped = c[k];

			c[k] = c[k - 1];
			c[k - 1] = swapped;
		}
}

/* A record begins with its head; a key with the word that has point and bucket. Then numbers, name, texts. */
static void places_set(struct making *m)
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
		if (s->columns[i].as == SP_TRACE_AS_TEXT)
			s->columns[i].at = at + s->columns[i].at * s->columns[i].bytes;
		else if (s->columns[i].as != SP_TRACE_AS_COMM)
			s->columns[i].at = begin + 8 * s->columns[i].at;
	for (unsigned i = 0; i < c->n_texts; i++)
		c->text[i].at = at + i * (m->asked->tells ? SP_TRACE_TEXT : SP_TRACE_KEY_TEXT);
	at += c->n_texts * (m->asked->tells ? SP_TRACE_TEXT : SP_TRACE_KEY_TEXT);
	s->key_bytes = at;
	c->record_bytes = at;
}

/* --- the whole --- */
static void point_finish(struct making *m)
{
	struct sp_recipe_point *point = &m->spec->point;
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

static int name_take(struct making *m)
{
	struct sp_trace_spec *s = m->spec;
	int r = sp_narrowing_split(s->event, &m->narrowing);

	if (r < 0)
		return r;
	if (m->narrowing.n_value)
		return sp_fail_at(-EINVAL, s->event, m->narrowing.value, "what is to be summed is said by --sum");
	s->name = strndup(s->event, m->narrowing.n_name);
	if (!s->name)
		return -ENOMEM;
	if (!strchr(s->name, ':') && !sp_recipe_probe_is(s->name))
		return sp_fail_said(-EINVAL,
				    "'%s' is no event that can be traced: there are tracepoints, SYSTEM:EVENT, and "
				    "functions, LIBRARY:FUNCTION; soprof profile --list shows them",
				    s->name);
	return sp_recipe_point_make(s->name, &s->point);
}

static int spec_make(struct making *m, struct sp_types *types)
{
	struct sp_trace_spec *s = m->spec;
	int r = name_take(m);

	if (r >= 0)
		r = all_parse(m);
	if (r >= 0)
		r = fields_find(m, types);
	if (r < 0)
		return r;
	sp_narrowing_ops(&s->point, &m->list);
	r = all_compile(m);
	if (r >= 0 && m->asked->tells && !m->asked->print)
		r = defaults_add(m);
	if (r < 0)
		return r;
	columns_sort(m);
	places_set(m);
	point_finish(m);
	return s->point.at == SP_AT_PROBE ? sp_recipe_probe_find(&s->point) : 0;
}

int sp_trace_spec_make(const char *event, const struct sp_trace_asked *asked, struct sp_types *types,
		       struct sp_trace_spec *ret_spec)
{
	struct making m = {.spec = ret_spec, .asked = asked};
	int r;

	*ret_spec =
	    (struct sp_trace_spec){.event = strdup(event), .config = {.hist = SP_NO_REG, .tells = asked->tells}};
	r = ret_spec->event ? spec_make(&m, types) : -ENOMEM;
	for (size_t i = 0; i < m.n_wanted; i++)
		free(m.wanted[i]);
	if (m.has_fields)
		sp_fields_done(&m.fields);
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
	free(spec->hist.name);
	free(spec->left_out);
	free(spec->name);
	free(spec->event);
	*spec = (struct sp_trace_spec){0};
}

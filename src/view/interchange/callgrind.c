/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * callgrind.c: any profile in callgrind's format, for callgrind_annotate and KCachegrind.
 *
 * The events are the profile's values. A function's own cost is that of the samples whose leaf it is. A call's cost is
 * that of all samples with caller and callee next to each other, each counted once; as in callgrind, the inclusive cost
 * of recursion may exceed the whole. `calls=` is the number of counted calls, else 1: samples do not tell the number,
 * and callgrind_annotate takes the cost behind a 0 for the caller's own. Functions are in object files, and in source
 * files and lines where these are known. Format: Valgrind's manual, "Callgrind Format Specification".
 */
#include "view/priv.h"

#include "base/encode.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/sum.h"
#include "profile/identity.h"
#include "profile/profile.h"
#include "profile/values.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EVENT_NAME = 64 };

struct function {
	uint32_t library, func; /* func 0: all functions of the library without names */
	uint32_t stands_for;    /* not a function, but one of: */
};
enum { A_FUNCTION, THE_ROOT /* what calls the root of each stack */, NO_FRAMES /* samples without a stack */ };
/* Where a cost belongs: to the call of function number `to`, or (OWN) to the function itself. */
struct place {
	uint32_t from, line, to;
};
#define OWN UINT32_MAX

struct cost {
	int64_t values[SP_MAX_VALUES];
	int64_t calls;
	uint32_t row; /* the last row added, from 1 */
};

struct callgrind {
	const struct sp_profile *p;
	const struct sp_view_options *o;
	struct sp_identity same;
	struct sp_intern *functions, *places;
	struct cost *costs; /* by place */
	size_t n_costs;
	uint32_t n_values;
	int64_t totals[SP_MAX_VALUES];
	int calls_value; /* -1 = none */
	uint32_t *path;  /* frames of one row, leaf first */
	size_t n_path;
	bool *is_named[3]; /* by object file, source file, function: the name was written before */
	FILE *out;
};

/* --- costs --- */
static int append(struct callgrind *c, uint32_t stack, size_t *n)
{
	struct sp_stack s = sp_profile_stack(c->p, stack);

	if (sp_grow(&c->path, &c->n_path, *n + s.n_frames, sizeof(*c->path)) < 0)
		return -ENOMEM;
	if (s.n_frames)
		memcpy(c->path + *n, s.frames, s.n_frames * sizeof(*c->path));
	*n += s.n_frames;
	return 0;
}

static int64_t callgrind_function_of(struct callgrind *c, uint32_t frame)
{
	struct function f = {sp_identity_function_file(c->p, &c->same, frame), c->same.function_of[frame], A_FUNCTION};

	return sp_intern_add(c->functions, &f, sizeof(f));
}

static struct cost *cost_at(struct callgrind *c, struct place place)
{
	int64_t number =
	    sp_intern_add_to(c->places, &place, sizeof(place), &c->costs, &c->n_costs, sizeof(*c->costs), NULL);

	return number < 0 ? NULL : &c->costs[number];
}

/* Adds the cost of row number `row` (from 1), unless the row is already in it. */
static int add_cost(struct callgrind *c, struct place place, const struct sp_row *row, uint32_t number)
{
	struct cost *cost = cost_at(c, place);

	if (!cost)
		return -ENOMEM;
	for (uint32_t i = 0; cost->row != number && i < c->n_values; i++)
		sp_saturating_add(&cost->values[i], row->values[i]);
	cost->row = number;
	return 0;
}

static bool has_calls(const struct callgrind *c, const struct sp_row *row)
{
	return c->calls_value >= 0 && row->values[c->calls_value] > 0;
}

static int count_calls(struct callgrind *c, struct place place, const struct sp_row *row)
{
	struct cost *cost = cost_at(c, place);

	if (!cost)
		return -ENOMEM;
	if (has_calls(c, row))
		sp_saturating_add(&cost->calls, row->values[c->calls_value]);
	return 0;
}

/*
 * For functions that are called at all, callgrind_annotate takes the calls for the inclusive cost: so the roots of
 * stacks get a caller, too.
 */
static int add_root(struct callgrind *c, int64_t callee, const struct sp_row *row, uint32_t number)
{
	int64_t root = sp_intern_add(c->functions, &(struct function){.stands_for = THE_ROOT}, sizeof(struct function));

	return root < 0 ? -ENOMEM : add_cost(c, (struct place){(uint32_t)root, 0, (uint32_t)callee}, row, number);
}

/* Adds the costs of a path, leaf first: the leaf's own cost, and that of each call. */
static int add_path(struct callgrind *c, size_t n, const struct sp_row *row, uint32_t number)
{
	int64_t callee = callgrind_function_of(c, c->path[0]);
	struct place own = {(uint32_t)callee, sp_profile_frame(c->p, c->path[0])->line, OWN};
	int r = callee < 0 ? -ENOMEM : add_cost(c, own, row, number);

	for (size_t i = 1; i < n && r >= 0; i++) {
		int64_t caller = callgrind_function_of(c, c->path[i]);
		struct place call = {(uint32_t)caller, sp_profile_frame(c->p, c->path[i])->line, (uint32_t)callee};

		if (caller == callee && !c->same.function_of[c->path[i]] && !has_calls(c, row))
			continue; /* frames without names are not recursion */
		r = caller < 0 ? -ENOMEM : add_cost(c, call, row, number);
		if (r >= 0 && i == 1)
			r = count_calls(c, call, row);
		callee = caller;
	}
	return r < 0 || has_calls(c, row) ? r : add_root(c, callee, row, number);
}

/* A sample without a stack: without it the functions' own costs would not add up. */
static int add_nowhere(struct callgrind *c, const struct sp_row *row, uint32_t number)
{
	int64_t none =
	    sp_intern_add(c->functions, &(struct function){.stands_for = NO_FRAMES}, sizeof(struct function));
	int r = none < 0 ? -ENOMEM : add_cost(c, (struct place){(uint32_t)none, 0, OWN}, row, number);

	return r < 0 || has_calls(c, row) ? r : add_root(c, none, row, number);
}

static int callgrind_add_row(struct callgrind *c, uint32_t i)
{
	const struct sp_row *row = sp_profile_row(c->p, i);
	size_t n = 0;
	int r = 0;

	if (!c->o->user_only)
		r = append(c, row->kernel, &n);
	if (r >= 0 && !c->o->kernel_only)
		r = append(c, row->user, &n);
	for (uint32_t v = 0; v < c->n_values; v++)
		sp_saturating_add(&c->totals[v], row->values[v]);
	if (r < 0)
		return r;
	return n ? add_path(c, n, row, i + 1) : add_nowhere(c, row, i + 1);
}

static int gather(struct callgrind *c)
{
	int r = sp_identity_new(c->p, &c->same);

	if (r >= 0)
		r = sp_intern_new(&c->functions);
	if (r >= 0)
		r = sp_intern_new(&c->places);
	for (uint32_t i = 0; r >= 0 && i < sp_profile_n_rows(c->p); i++)
		r = callgrind_add_row(c, i);
	return r;
}

/* --- the file --- */
static void callgrind_put_values(const struct callgrind *c, const int64_t *values)
{
	for (uint32_t i = 0; i < c->n_values; i++)
		fprintf(c->out, " %" PRId64, values[i]);
	fputc('\n', c->out);
}

/* Writes an event's name, a word of letters, digits and underscores that begins with a letter. */
static void callgrind_put_event(const struct callgrind *c, uint32_t i)
{
	const char *name = sp_profile_string(c->p, sp_profile_value_type(c->p, i)->name);

	fputs(strchr("0123456789_", *name) ? " v" : " ", c->out);
	for (size_t k = 0; name[k] && k < MAX_EVENT_NAME; k++)
		fputc(strchr("_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", name[k]) ? name[k]
													 : '_',
		      c->out);
}

/* What the events are, whose names the format restricts, and their units, which it has none for: our own reader's. */
static void callgrind_put_meaning(const struct callgrind *c)
{
	fputs("# soprof: values: ", c->out);
	for (uint32_t i = 0; i < c->n_values; i++) {
		const struct sp_value_type *type = sp_profile_value_type(c->p, i);

		fputs(i ? ", " : "", c->out);
		sp_encode(c->out, SP_ENCODE_TERMINAL, sp_profile_string(c->p, type->name));
		fputc(' ', c->out);
		sp_encode(c->out, SP_ENCODE_TERMINAL, sp_profile_string(c->p, type->unit));
	}
	fputs("; shown: ", c->out);
	sp_encode(c->out, SP_ENCODE_TERMINAL, sp_profile_string(c->p, sp_profile_value_type(c->p, c->o->value)->name));
	fputc('\n', c->out);
}

static void callgrind_put_head(const struct callgrind *c)
{
	fputs("# callgrind format\n", c->out);
	if (c->n_values)
		callgrind_put_meaning(c);
	fputs("version: 1\ncreator: soprof\ncmd: ", c->out);
	sp_encode(c->out, SP_ENCODE_TERMINAL, c->o->title ? c->o->title : "");
	fputs("\npositions: line\nevents:", c->out);
	for (uint32_t i = 0; i < c->n_values; i++)
		callgrind_put_event(c, i);
	fputs("\nsummary:", c->out);
	callgrind_put_values(c, c->totals);
}

enum named { NAMED_OBJECT, NAMED_SOURCE, NAMED_FUNCTION };

/* "KEY=(NUMBER) NAME"; the name only the first time. */
static bool put_key(const struct callgrind *c, const char *key, enum named what, uint32_t number)
{
	bool is_new = !c->is_named[what][number];

	c->is_named[what][number] = true;
	fprintf(c->out, "%s=(%" PRIu32 ")%s", key, number + 1, is_new ? " " : "\n");
	return is_new;
}

static void put_end(const struct callgrind *c, const char *name)
{
	sp_encode(c->out, SP_ENCODE_TERMINAL, *name ? name : "???");
	fputc('\n', c->out);
}

static void put_object(const struct callgrind *c, const char *key, uint32_t file)
{
	SP_FREE char *path = NULL;

	if (!put_key(c, key, NAMED_OBJECT, file))
		return;
	path = sp_view_path(c->p, file);
	put_end(c, path ? path : "");
}

static void put_source(const struct callgrind *c, const char *key, uint32_t source)
{
	if (put_key(c, key, NAMED_SOURCE, source))
		put_end(c, sp_profile_string(c->p, source));
}

static void callgrind_put_function(const struct callgrind *c, const char *key, uint32_t number,
				   const struct function *f)
{
	static const char *const others[] = {[A_FUNCTION] = "???", [THE_ROOT] = "(all)", [NO_FRAMES] = "[no function]"};
	const char *library = sp_profile_string(c->p, sp_profile_file(c->p, f->library)->name);

	if (!put_key(c, key, NAMED_FUNCTION, number))
		return;
	if (f->func) {
		put_end(c, sp_profile_string(c->p, sp_profile_func(c->p, f->func)->name));
		return;
	}
	fputs(*library ? "<" : others[f->stands_for], c->out);
	sp_encode(c->out, SP_ENCODE_TERMINAL, library);
	fputs(*library ? ">\n" : "\n", c->out);
}

static const struct function *put_where(const struct callgrind *c, const char *const keys[3], uint32_t number)
{
	const struct function *f = sp_intern_get(c->functions, number, NULL);

	put_object(c, keys[NAMED_OBJECT], f->library);
	put_source(c, keys[NAMED_SOURCE], sp_profile_func(c->p, f->func)->source);
	callgrind_put_function(c, keys[NAMED_FUNCTION], number, f);
	return f;
}

static void put_place(const struct callgrind *c, const struct place *place, const struct cost *cost)
{
	static const char *const callee[] = {"cob", "cfi", "cfn"};

	if (place->to != OWN) {
		const struct function *f = put_where(c, callee, place->to);

		fprintf(c->out, "calls=%" PRId64 " %" PRIu32 "\n", SP_MAX(cost->calls, 1),
			sp_profile_func(c->p, f->func)->source_line);
	}
	fprintf(c->out, "%" PRIu32, place->line);
	callgrind_put_values(c, cost->values);
}

static int compare_places(const void *a, const void *b, void *arg)
{
	const struct callgrind *c = arg;
	const struct place *l = sp_intern_get(c->places, *(const uint32_t *)a, NULL);
	const struct place *r = sp_intern_get(c->places, *(const uint32_t *)b, NULL);

	if (l->from != r->from)
		return l->from < r->from ? -1 : 1;
	if ((l->to == OWN) != (r->to == OWN))
		return l->to == OWN ? -1 : 1;
	if (l->line != r->line)
		return l->line < r->line ? -1 : 1;
	return (l->to > r->to) - (l->to < r->to);
}

static int callgrind_put_all(struct callgrind *c)
{
	static const char *const own[] = {"ob", "fl", "fn"};
	uint32_t n = sp_intern_count(c->places), last = UINT32_MAX;
	SP_FREE uint32_t *order = calloc((size_t)n + 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), compare_places, c);
	callgrind_put_head(c);
	for (uint32_t i = 0; i < n; i++) {
		const struct place *place = sp_intern_get(c->places, order[i], NULL);

		if (place->from != last) {
			fputc('\n', c->out);
			put_where(c, own, place->from);
		}
		last = place->from;
		put_place(c, place, &c->costs[order[i]]);
	}
	return 0;
}

static int tell_room(struct callgrind *c)
{
	uint32_t n_strings = 0;

	for (uint32_t i = 0; i < sp_profile_n_funcs(c->p); i++)
		n_strings = SP_MAX(n_strings, sp_profile_func(c->p, i)->source);
	c->is_named[NAMED_OBJECT] = calloc((size_t)sp_profile_n_files(c->p) + 1, sizeof(bool));
	c->is_named[NAMED_SOURCE] = calloc((size_t)n_strings + 1, sizeof(bool));
	c->is_named[NAMED_FUNCTION] = calloc((size_t)sp_intern_count(c->functions) + 1, sizeof(bool));
	return c->is_named[NAMED_OBJECT] && c->is_named[NAMED_SOURCE] && c->is_named[NAMED_FUNCTION] ? 0 : -ENOMEM;
}

static void callgrind_done(struct callgrind *c)
{
	sp_identity_done(&c->same);
	sp_intern_free(c->functions);
	sp_intern_free(c->places);
	free(c->costs);
	free(c->path);
	for (size_t i = 0; i < SP_COUNT(c->is_named); i++)
		free(c->is_named[i]);
}

static int callgrind_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	struct callgrind c = {.p = p, .o = o, .n_values = sp_profile_n_value_types(p), .out = out};
	int r;

	c.calls_value = sp_profile_find_value(p, "calls", NULL);
	r = gather(&c);
	if (r >= 0)
		r = tell_room(&c);
	if (r >= 0)
		r = callgrind_put_all(&c);
	callgrind_done(&c);
	return r;
}

const struct sp_view sp_view_callgrind = {
    .name = "callgrind",
    .suffix = ".callgrind",
    .mime = "text/plain; charset=utf-8",
    .summary = "callers and callees, for callgrind_annotate and KCachegrind",
    .write = callgrind_write,
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shown.c: the rows of a profile, merged by what a view shows of them.
 *
 * In a profile, stacks differ by the exact address of each frame; a view that shows only names would print the same
 * block many times. Each row becomes an array of words (comm, pid, and for both halves the state and one word for each
 * frame), and equal arrays are interned to one number, whose values add up. 4 bytes a frame, where text would take 30.
 */
#include "view/priv.h"

#include "base/encode.h"
#include "base/intern.h"
#include "base/mem.h"
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

#define ID_IS_FRAME 0x80000000u
enum { WORD_SLICE, WORD_PID, WORD_COMM, WORD_USER, WORD_N_USER, WORD_KERNEL, WORD_N_KERNEL, N_HEAD_WORDS };
/* A half's word: state in the low 8 bits, cut above it, the reason from 16 up. */
#define HALF_CUT 0x100u
#define HALF_REASON_SHIFT 16

bool sp_shown_rows_frame(uint32_t id, uint32_t *ret_frame, uint32_t *ret_name)
{
	if (id & ID_IS_FRAME)
		*ret_frame = id & ~ID_IS_FRAME;
	else
		*ret_name = id;
	return id & ID_IS_FRAME;
}

void sp_shown_rows_put_name(const struct sp_profile *p, uint32_t id, int encoding, FILE *out)
{
	uint32_t frame, name;

	if (sp_shown_rows_frame(id, &frame, &name))
		sp_view_put_name(p, frame, encoding, out);
	else
		sp_encode(out, encoding, sp_profile_string(p, name));
}

static uint32_t id_of(const struct sp_profile *p, uint32_t frame, bool exact)
{
	uint32_t name = sp_profile_func(p, sp_profile_frame(p, frame)->func)->name;

	return exact || !name ? frame | ID_IS_FRAME : name;
}

/*
 * A stack is missed if there was one but no frame of it is known: the sample could not be unwound, or its frames were
 * lost. There bcc prints a placeholder. Where there was no stack (kernel threads, samples inside execve and exit, the
 * kernel half of samples in user mode) bcc prints nothing, and neither do we.
 */
static uint32_t half_word(const struct sp_profile *p, uint32_t number, bool exact)
{
	struct sp_stack s = sp_profile_stack(p, number);
	uint32_t state = s.n_frames ? SP_HALF_FRAMES : SP_HALF_MISSED;

	if (!number || s.stack_class == SP_CLASS_ABSENT)
		return SP_HALF_NONE;
	if (!exact || s.stack_class != SP_CLASS_CUT)
		return state;
	return state | HALF_CUT | (uint32_t)s.reason << HALF_REASON_SHIFT;
}

struct words {
	uint32_t *data;
	size_t capacity, n;
};

static int add_half(const struct sp_profile *p, uint32_t number, bool wanted, bool exact, struct words *w,
		    int head) /* head: WORD_USER or WORD_KERNEL; the number of frames stands in the word after it */
{
	struct sp_stack s = sp_profile_stack(p, number);
	uint32_t word = wanted ? half_word(p, number, exact) : SP_HALF_NONE;
	uint32_t n = word == SP_HALF_NONE ? 0 : s.n_frames;
	int r = sp_grow(&w->data, &w->capacity, w->n + n, sizeof(*w->data));

	if (r < 0)
		return r;
	w->data[head] = word;
	w->data[head + 1] = n;
	for (uint32_t i = 0; i < n; i++)
		w->data[w->n++] = id_of(p, s.frames[i], exact);
	return 0;
}

static int rows_words_of(const struct sp_profile *p, const struct sp_row *row, const struct sp_view_options *o,
			 unsigned int flags, struct words *w)
{
	const struct sp_key *key = sp_profile_key(p, row->key);
	int r = sp_grow(&w->data, &w->capacity, N_HEAD_WORDS, sizeof(*w->data));

	if (r < 0)
		return r;
	w->n = N_HEAD_WORDS;
	w->data[WORD_SLICE] = flags & SP_SHOWN_BY_SLICE ? key->slice : 0;
	w->data[WORD_PID] = flags & SP_SHOWN_BY_PID ? sp_profile_process(p, key->process)->pid : 0;
	w->data[WORD_COMM] = key->comm;
	r = add_half(p, row->user, !o->kernel_only, flags & SP_SHOWN_EXACT, w, WORD_USER);
	if (r < 0)
		return r;
	return add_half(p, row->kernel, !o->user_only, flags & SP_SHOWN_EXACT, w, WORD_KERNEL);
}

static struct sp_half half_of(const uint32_t *words, int head, const uint32_t *ids)
{
	uint32_t word = words[head];

	return (struct sp_half){.state = (enum sp_half_state)(word & 0xff),
				.cut = word & HALF_CUT,
				.reason = word >> HALF_REASON_SHIFT,
				.n = words[head + 1],
				.ids = ids};
}

static void row_of(const uint32_t *words, struct sp_shown_row *row)
{
	row->slice = words[WORD_SLICE];
	row->pid = words[WORD_PID];
	row->comm = words[WORD_COMM];
	row->user = half_of(words, WORD_USER, words + N_HEAD_WORDS);
	row->kernel = half_of(words, WORD_KERNEL, words + N_HEAD_WORDS + words[WORD_N_USER]);
}

static int rows_add_rows(const struct sp_profile *p, const struct sp_view_options *o, unsigned int flags,
			 struct sp_shown_rows *rows)
{
	uint32_t *data SP_FREE = NULL;
	struct words w = {0};
	size_t capacity = 0;
	int r = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(p) && r >= 0; i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		int64_t number;

		r = rows_words_of(p, row, o, flags, &w);
		data = w.data; /* may have moved, even after a failure */
		if (r < 0)
			return r;
		number = sp_intern_add(rows->keys, w.data, w.n * sizeof(*w.data));
		r = number < 0 ? (int)number : sp_grow(&rows->rows, &capacity, number + 1, sizeof(*rows->rows));
		if (r < 0)
			return r;
		rows->n = SP_MAX(rows->n, (size_t)number + 1);
		rows->rows[number].value += row->values[o->value];
		if (flags & SP_SHOWN_SECOND && o->has_second)
			rows->rows[number].second += row->values[o->second];
	}
	return r;
}

static int compare_ids(const struct sp_profile *p, uint32_t a, uint32_t b)
{
	uint32_t fa = 0, fb = 0, na = 0, nb = 0;

	if (sp_shown_rows_frame(a, &fa, &na))
		na = sp_profile_func(p, sp_profile_frame(p, fa)->func)->name;
	if (sp_shown_rows_frame(b, &fb, &nb))
		nb = sp_profile_func(p, sp_profile_frame(p, fb)->func)->name;
	if (na != nb)
		return strcmp(sp_profile_string(p, na), sp_profile_string(p, nb));
	return (fa > fb) - (fa < fb);
}

static int compare_halves(const struct sp_profile *p, const struct sp_half *a, const struct sp_half *b)
{
	for (uint32_t i = 0; i < a->n && i < b->n; i++) {
		int order = a->ids[i] == b->ids[i] ? 0 : compare_ids(p, a->ids[i], b->ids[i]);

		if (order)
			return order;
	}
	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	return (a->reason > b->reason) - (a->reason < b->reason);
}

struct order {
	const struct sp_profile *p;
	bool ascending;
};

static int compare_rows(const void *x, const void *y, void *arg)
{
	const struct sp_shown_row *a = x, *b = y;
	const struct order *o = arg;
	int order;

	if (a->value != b->value)
		return (a->value < b->value) == o->ascending ? -1 : 1;
	order = strcmp(sp_profile_string(o->p, a->comm), sp_profile_string(o->p, b->comm));
	if (!order)
		order = (a->pid > b->pid) - (a->pid < b->pid);
	if (!order)
		order = compare_halves(o->p, &a->user, &b->user);
	return order ? order : compare_halves(o->p, &a->kernel, &b->kernel);
}

/* Drops rows whose values add up to 0 (they lack the value shown), and completes the others. */
static void rows_sort(struct sp_shown_rows *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++) {
		struct sp_shown_row row = rows->rows[i];

		if (!row.value && !row.second)
			continue;
		row_of(sp_intern_get(rows->keys, (uint32_t)i, NULL), &row);
		rows->rows[n++] = row;
	}
	rows->n = n;
}

int sp_shown_rows_merge(const struct sp_profile *p, const struct sp_view_options *o, unsigned int flags,
			struct sp_shown_rows *ret)
{
	struct order order = {p, o->ascending};
	struct sp_shown_rows rows = {0};
	int r = sp_intern_new(&rows.keys);

	if (r >= 0)
		r = rows_add_rows(p, o, flags, &rows);
	if (r < 0) {
		sp_shown_rows_done(&rows);
		return r;
	}
	rows_sort(&rows);
	if (rows.n)
		qsort_r(rows.rows, rows.n, sizeof(*rows.rows), compare_rows, &order);
	*ret = rows;
	return 0;
}

void sp_shown_rows_done(struct sp_shown_rows *rows)
{
	sp_intern_free(rows->keys);
	free(rows->rows);
	*rows = (struct sp_shown_rows){0};
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/answer/long_totals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/sum.h"
#include "profile/profile.h"
#include "profile/values.h"

struct sums {
	struct sp_profile *p;
	const struct sp_long_totals_from *from;
	const struct sp_store_query *q;
	enum sp_total_by by;
	struct sp_store_answer answer;
	uint32_t last_file;      /* of the last total: a file's functions come one after the other */
	struct sp_intern *files; /* build id, or name */
	uint32_t *file_of;       /* by number in files */
	size_t file_capacity;
	struct sp_intern *ids; /* file, and string of the function: number of the row */
	struct sp_total *rows;
	int64_t (*selves)[SP_MAX_VALUES], (*totals)[SP_MAX_VALUES]; /* by row */
	size_t capacity, self_capacity, total_capacity;
	int64_t whole[SP_MAX_VALUES];
};

/* --- one total --- */
static int64_t add_file(struct sums *s, const struct sp_store_total *t, uint32_t tag)
{
	struct sp_file f = {.kind = SP_FILE_ELF, .tag = tag + 1};
	int64_t name = sp_profile_add_string(s->p, t->file);

	f.name = (uint32_t)name;
	f.build_id_len = (uint8_t)SP_MIN(t->build_id_len, (uint32_t)SP_BUILD_ID_MAX);
	memcpy(f.build_id, t->build_id, f.build_id_len);
	return name < 0 ? name : sp_profile_add_file(s->p, &f);
}

static bool is_same_file(const struct sums *s, uint32_t number, const struct sp_store_total *t)
{
	const struct sp_file *f = sp_profile_file(s->p, number);

	return number != 0 && f->build_id_len == t->build_id_len &&
	       memcmp(f->build_id, t->build_id, f->build_id_len) == 0 &&
	       strcmp(sp_profile_string(s->p, f->name), t->file) == 0;
}

static int64_t get_file(struct sums *s, const struct sp_store_total *t)
{
	size_t len = SP_MIN(t->build_id_len, (uint32_t)SP_BUILD_ID_MAX);

	if (*t->file == '\0' || is_same_file(s, s->last_file, t))
		return *t->file == '\0' ? 0 : s->last_file;
	int64_t n =
	    sp_intern_add_to(s->files, len > 0 ? (const void *)t->build_id : t->file, len > 0 ? len : strlen(t->file),
			     &s->file_of, &s->file_capacity, sizeof(*s->file_of), NULL);
	if (n < 0)
		return n;
	if (s->file_of[n] == 0) {
		int64_t file = add_file(s, t, (uint32_t)n);
		if (file < 0)
			return file;
		s->file_of[n] = (uint32_t)file;
	}
	return s->last_file = s->file_of[n];
}

static int add_row(struct sums *s, uint32_t row, uint32_t file, uint32_t name)
{
	struct sp_func func = {.name = name, .file = file};
	int64_t id = name == 0 ? file : sp_profile_add_func(s->p, &func);

	if (id < 0 || sp_grow(&s->rows, &s->capacity, (size_t)row + 1, sizeof(*s->rows)) < 0 ||
	    sp_grow(&s->selves, &s->self_capacity, (size_t)row + 1, sizeof(*s->selves)) < 0 ||
	    sp_grow(&s->totals, &s->total_capacity, (size_t)row + 1, sizeof(*s->totals)) < 0)
		return -ENOMEM;
	s->rows[row] = (struct sp_total){.id = (uint32_t)id, .file = name == 0 ? 0 : file, .none = id == 0};
	return 0;
}

static int64_t get_row(struct sums *s, const struct sp_store_total *t)
{
	int64_t file = get_file(s, t), name = sp_profile_add_string(s->p, t->function);
	uint32_t id[2] = {(uint32_t)file, (uint32_t)name}, n_before = sp_intern_count(s->ids);

	if (file < 0 || name < 0)
		return -ENOMEM;
	int64_t n = sp_intern_add(s->ids, id, sizeof(id));
	if (n < 0 || n < n_before)
		return n;
	int r = add_row(s, (uint32_t)n, id[0], id[1]);
	return r < 0 ? r : n;
}

static int add_types(struct sums *s, const struct sp_store_total *t)
{
	int r = 0;

	for (uint32_t i = sp_profile_n_value_types(s->p); i < t->n_values && r == 0; i++)
		r = sp_profile_add_value_type(s->p, t->value_names[i], t->value_units[i]);
	return r;
}

static int add_total(void *arg, const struct sp_store_total *t)
{
	struct sums *s = arg;
	bool is_library = *t->function == '\0';
	int r = add_types(s, t);

	for (uint32_t k = 0; k < SP_MAX_VALUES && is_library; k++)
		sp_saturating_add(&s->whole[k], t->self[k]);
	if (r < 0 || is_library == (s->by == SP_TOTAL_BY_FUNCTION))
		return r;
	int64_t row = get_row(s, t);
	if (row < 0)
		return (int)row;
	for (uint32_t k = 0; k < SP_MAX_VALUES; k++) {
		sp_saturating_add(&s->selves[row][k], t->self[k]);
		sp_saturating_add(&s->totals[row][k], t->total[k]);
	}
	return 0;
}

/* --- the range --- */
static int compare_rows(const void *a, const void *b)
{
	const struct sp_total *x = a, *y = b;

	return SP_FALLING(x->self, y->self) ?: SP_FALLING(x->total, y->total) ?: SP_RISING(x->id, y->id);
}

static int make_totals(struct sums *s, const char *value, struct sp_totals *ret_totals)
{
	uint32_t k = 0, samples = sp_profile_samples_value(s->p);
	int r = s->from->value(s->p, value, &k);

	for (uint32_t i = 0; i < sp_intern_count(s->ids) && r == 0; i++) {
		s->rows[i].self = s->selves[i][k];
		s->rows[i].total = s->totals[i][k];
		s->rows[i].n_samples = s->totals[i][samples];
	}
	if (r < 0)
		return r;
	if (sp_intern_count(s->ids) > 1)
		qsort(s->rows, sp_intern_count(s->ids), sizeof(*s->rows), compare_rows);
	*ret_totals = (struct sp_totals){.rows = sp_take_ptr(s->rows),
					 .n_rows = sp_intern_count(s->ids),
					 .value = s->whole[k],
					 .n_samples = s->whole[samples]};
	return 0;
}

static int sum_totals(struct sums *s, const char *value, struct sp_totals *ret_totals)
{
	int r = sp_profile_new(&s->p);

	if (r == 0)
		r = sp_intern_new(&s->files);
	if (r == 0)
		r = sp_intern_new(&s->ids);
	if (r == 0)
		r = s->from->totals(s->from->arg, s->q, s->by == SP_TOTAL_BY_FUNCTION, add_total, s, &s->answer);
	if (r == 0 && s->answer.n_windows == 0)
		return -ENODATA;
	return r < 0 ? r : make_totals(s, value, ret_totals);
}

int sp_long_totals(const struct sp_long_totals_from *from, const struct sp_store_query *q, enum sp_total_by by,
		   const char *value, struct sp_profile **ret_profile, struct sp_totals *ret_totals,
		   struct sp_store_answer *ret_answer)
{
	struct sums s = {.from = from, .q = q, .by = by};
	int r = sum_totals(&s, value, ret_totals);

	if (r == 0) {
		*ret_profile = sp_take_ptr(s.p);
		*ret_answer = s.answer;
	}
	sp_profile_free(s.p);
	sp_intern_free(s.files);
	sp_intern_free(s.ids);
	free(s.file_of);
	free(s.rows);
	free(s.selves);
	free(s.totals);
	return r;
}

/* --- totals of a profile --- */
/* One value at a time, the others are 0, because the receiver adds them up. */
static int report_row(const struct sp_profile *p, enum sp_total_by by, const struct sp_total *row, uint32_t value,
		      int (*each)(void *arg, const struct sp_store_total *t), void *arg)
{
	bool is_function = by == SP_TOTAL_BY_FUNCTION;
	const struct sp_file *f = sp_profile_file(p, row->none ? 0 : is_function ? row->file : row->id);
	struct sp_store_total t = {.file = sp_profile_string(p, f->name),
				   .function = is_function ? sp_total_name(p, by, row) : "",
				   .build_id = f->build_id,
				   .build_id_len = f->build_id_len,
				   .n_values = sp_profile_n_value_types(p)};

	if (is_function && (row->none || row->id == 0)) /* unnamed frames count for their library only */
		return 0;
	for (uint32_t v = 0; v < t.n_values; v++) {
		t.value_names[v] = sp_profile_string(p, sp_profile_value_type(p, v)->name);
		t.value_units[v] = sp_profile_string(p, sp_profile_value_type(p, v)->unit);
	}
	t.self[value] = row->self;
	t.total[value] = row->total;
	return each(arg, &t);
}

static int report_totals(const struct sp_profile *p, enum sp_total_by by, uint32_t value,
			 int (*each)(void *arg, const struct sp_store_total *t), void *arg)
{
	struct sp_totals totals = {0};
	int r = sp_totals_by(p, by, value, &totals);

	for (size_t i = 0; i < totals.n_rows && r == 0; i++)
		r = report_row(p, by, &totals.rows[i], value, each, arg);
	sp_totals_done(&totals);
	return r;
}

int sp_totals_of_profile(const struct sp_profile *p, bool by_function,
			 int (*each)(void *arg, const struct sp_store_total *t), void *arg)
{
	int r = 0;

	for (uint32_t v = 0; v < sp_profile_n_value_types(p) && r == 0; v++) {
		r = report_totals(p, SP_TOTAL_BY_LIBRARY, v, each, arg);
		if (r == 0 && by_function)
			r = report_totals(p, SP_TOTAL_BY_FUNCTION, v, each, arg);
	}
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/answer/api_sums.h"
#include "agent/answer/tree_columns.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/time.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DAY_NS (UINT64_C(86400) * SP_NS_PER_S)

bool sp_api_sums_wanted(const struct sp_api *a, const struct sp_store_query *q)
{
	bool is_of_all = q->all_users && !q->library && !q->function && !q->process && !q->cgroup;

	return !a->fleet && is_of_all && q->to_ns - q->from_ns >= SP_STORE_ROUGH_NS;
}

/* --- libraries of the chart as files of the profile --- */
/* The sums know a file by its build id, or else by its name. */
static int64_t add_file_key(struct sp_intern *keys, const uint8_t *id, uint32_t n_id, const char *name)
{
	return n_id > 0 ? sp_intern_add(keys, id, n_id) : sp_intern_add(keys, name, strlen(name) + 1);
}

struct files {
	struct sp_profile *p;
	struct sp_intern *keys;
	uint32_t *file_of; /* by key */
	size_t capacity;
};

static int set_file(struct files *f, int64_t key, uint32_t file)
{
	if (key < 0 || sp_grow(&f->file_of, &f->capacity, (size_t)key + 1, sizeof(*f->file_of)) < 0)
		return -ENOMEM;
	if (f->file_of[key] == 0)
		f->file_of[key] = file;
	return 0;
}

static int add_files(struct files *f)
{
	int r = sp_intern_new(&f->keys);

	for (uint32_t i = 1; r == 0 && i < sp_profile_n_files(f->p); i++) {
		const struct sp_file *file = sp_profile_file(f->p, i);
		r = set_file(
		    f, add_file_key(f->keys, file->build_id, file->build_id_len, sp_profile_string(f->p, file->name)),
		    i);
	}
	return r;
}

static int64_t add_file(struct files *f, const struct sp_store_chart_library *l, int64_t key)
{
	int64_t name = sp_profile_add_string(f->p, l->name);
	struct sp_file file = {.kind = SP_FILE_ELF, .name = (uint32_t)name, .tag = UINT64_MAX - (uint64_t)key};

	file.build_id_len = (uint8_t)SP_MIN(l->build_id_len, (uint32_t)SP_BUILD_ID_MAX);
	memcpy(file.build_id, l->build_id, file.build_id_len);
	int64_t number = name < 0 ? name : sp_profile_add_file(f->p, &file);
	return number > 0 && set_file(f, key, (uint32_t)number) < 0 ? -ENOMEM : number;
}

static int64_t get_file(struct files *f, const struct sp_store_chart_library *l)
{
	if (!*l->name)
		return 0;
	int64_t key = add_file_key(f->keys, l->build_id, SP_MIN(l->build_id_len, (uint32_t)SP_BUILD_ID_MAX), l->name);
	if (key < 0 || set_file(f, key, 0) < 0)
		return -ENOMEM;
	return f->file_of[key] != 0 ? f->file_of[key] : add_file(f, l, key);
}

/* --- sums --- */
static int read_sum(const struct sp_api *a, const struct sp_api_ask *ask, const char *value, struct files *f,
		    struct sp_api_sum *sum, struct sp_store_answer *ret_answer)
{
	int r = sp_store_chart(a->store, &ask->q, value, DAY_NS, &sum->chart, ret_answer);

	if (r < 0)
		return r;
	sum->files = calloc(sum->chart->n_libraries + 1U, sizeof(*sum->files));
	r = sum->files ? 0 : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < sum->chart->n_libraries; i++) {
		int64_t file = get_file(f, &sum->chart->libraries[i]);
		sum->files[i] = file < 0 ? 0 : (uint32_t)file;
		sum->whole += sum->chart->libraries[i].self;
		r = file < 0 ? (int)file : 0;
	}
	return r;
}

int sp_api_sums_new(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_profile *p,
		    struct sp_api_sums *ret_sums)
{
	const char *values[SP_API_SUMS] = {ask->value ? ask->value : "cpu", "samples"};
	struct files f = {.p = p};
	struct sp_api_sums s = {0};
	int r = add_files(&f);

	for (uint32_t i = 0; r == 0 && i < SP_API_SUMS; i++)
		r = read_sum(a, ask, values[i], &f, &s.of[i], &s.answer);
	if (r == 0 && s.of[0].chart->n_libraries > 0)
		s.n = strcmp(values[0], values[1]) == 0 ? 1 : SP_API_SUMS;
	sp_intern_free(f.keys);
	free(f.file_of);
	if (r < 0)
		sp_api_sums_done(&s);
	else
		*ret_sums = s;
	return r;
}

void sp_api_sums_done(struct sp_api_sums *s)
{
	for (uint32_t i = 0; i < SP_API_SUMS; i++) {
		sp_store_chart_free(s->of[i].chart);
		free(s->of[i].files);
	}
	*s = (struct sp_api_sums){0};
}

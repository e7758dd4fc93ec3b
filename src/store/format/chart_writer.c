/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/format/chart.h"

#include "base/mem.h"
#include "base/sum.h"
#include "store/format/pruned_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SLICE_MS = SP_CHART_SLICE_S * 1000 };

int sp_chart_writer_init(struct sp_chart_writer *c, uint32_t n_values)
{
	*c = (struct sp_chart_writer){.sums = {.n_values = n_values}, .slice = {.n_values = n_values}};
	return 0;
}

void sp_chart_writer_done(struct sp_chart_writer *c)
{
	sp_sums_done(&c->sums);
	sp_sums_done(&c->slice);
	free(c->slot_of_file);
	*c = (struct sp_chart_writer){0};
}

static int end_slice(struct sp_chart_writer *c)
{
	struct sp_sums *slice = &c->slice;

	for (size_t i = 0; i < slice->n; i++) {
		int64_t *sums = sp_sums_add(&c->sums, slice->accounts[i].file, 0);
		if (!sums)
			return -ENOMEM;
		memcpy(sums, sp_sums_at(slice, i), 2 * slice->n_values * sizeof(*sums));
		c->slot_of_file[slice->accounts[i].file] = 0;
	}
	c->slices[c->n_slices - 1].n_sums = slice->n;
	slice->n = 0;
	return 0;
}

static int begin_slice(struct sp_chart_writer *c, uint64_t t_ms)
{
	int r = c->n_slices > 0 ? end_slice(c) : 0;

	if (r == 0 && c->n_slices == SP_CHART_MAX_SLICES)
		r = -EBADMSG; /* more than an hour has */
	if (r == 0)
		c->slices[c->n_slices++] = (struct sp_chart_slice){.begin_ms = t_ms};
	return r;
}

static int add_sums(struct sp_chart_writer *c, uint32_t file, const int64_t *values)
{
	if (sp_grow(&c->slot_of_file, &c->slot_capacity, (size_t)file + 1, sizeof(*c->slot_of_file)) < 0)
		return -ENOMEM;
	if (c->slot_of_file[file] == 0) {
		if (!sp_sums_add(&c->slice, file, 0))
			return -ENOMEM;
		c->slot_of_file[file] = (uint32_t)c->slice.n;
	}
	int64_t *sums = sp_sums_at(&c->slice, c->slot_of_file[file] - 1);
	for (uint32_t i = 0; i < 2 * c->slice.n_values; i++)
		sp_saturating_add(&sums[i], values[i]);
	return 0;
}

int sp_chart_writer_add(struct sp_chart_writer *c, uint64_t t_ms, uint64_t duration_ns, const struct sp_sums *s)
{
	const struct sp_chart_slice *last = c->n_slices > 0 ? &c->slices[c->n_slices - 1] : NULL;
	int r = s->n_values != c->slice.n_values ? -EBADMSG : 0;

	if (r == 0 && (!last || last->begin_ms / SLICE_MS != t_ms / SLICE_MS))
		r = begin_slice(c, t_ms);
	if (r < 0)
		return r;
	c->slices[c->n_slices - 1].duration_ns += duration_ns;
	for (size_t i = 0; i < s->n && r == 0; i++)
		if (s->accounts[i].func == 0 && s->accounts[i].file < SP_CHART_MAX_FILES)
			r = add_sums(c, s->accounts[i].file, sp_sums_at(s, i));
	return r;
}

static int pack_columns(struct sp_chart_writer *c, struct sp_tree_merge *merge, const struct sp_dict *names,
			struct sp_packer *p)
{
	uint64_t begins[SP_CHART_MAX_SLICES], durations[SP_CHART_MAX_SLICES], counts[SP_CHART_MAX_SLICES];
	int r = c->n_slices > 0 ? end_slice(c) : 0;

	r = r < 0 ? r : sp_tree_merge_add_files(merge, names, &c->sums);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < c->n_slices; i++) {
		begins[i] = c->slices[i].begin_ms;
		durations[i] = c->slices[i].duration_ns;
		counts[i] = c->slices[i].n_sums;
	}
	sp_chunk_pack(&merge->chunk, p, true);
	sp_pack_u64(p, begins, c->n_slices);
	sp_pack_u64(p, durations, c->n_slices);
	sp_pack_u64(p, counts, c->n_slices);
	sp_sums_pack(&c->sums, p);
	return 0;
}

int sp_chart_writer_pack(struct sp_chart_writer *c, const struct sp_dict *names, struct sp_packer *p)
{
	struct sp_tree_merge merge;
	int r = sp_tree_merge_init(&merge);

	r = r < 0 ? r : pack_columns(c, &merge, names, p);
	sp_tree_merge_done(&merge);
	return r;
}

static int unpack_slices(struct sp_unpacker *u, struct sp_chart_read *c)
{
	uint64_t column[SP_CHART_MAX_SLICES], sum = 0;
	size_t n = sp_unpack_length(u);

	if (n > SP_CHART_MAX_SLICES)
		return -EBADMSG;
	c->n_slices = (uint32_t)n;
	for (int field = 0; field < 3; field++) {
		sp_unpack_u64(u, column, n);
		for (size_t i = 0; i < n; i++)
			*(field == 0   ? &c->slices[i].begin_ms
			  : field == 1 ? &c->slices[i].duration_ns
				       : &c->slices[i].n_sums) = column[i];
	}
	int r = u->bad ? -EBADMSG : sp_sums_unpack(&c->sums, u);
	for (size_t i = 0; i < n && r == 0; i++) {
		if (c->slices[i].n_sums > c->sums.n - sum)
			r = -EBADMSG;
		else
			sum += c->slices[i].n_sums;
	}
	return r < 0 || sum == c->sums.n ? r : -EBADMSG;
}

int sp_chart_unpack(struct sp_unpacker *u, uint64_t day_s, struct sp_chart_read *ret_chart)
{
	static const uint32_t first[SP_N_DICT_KINDS];
	struct sp_chunk chunk = {0};
	int r = sp_dict_new(day_s, 0, &ret_chart->dict);

	ret_chart->sums = (struct sp_sums){0};
	sp_chunk_clear(&chunk, first);
	r = r < 0 ? r : sp_chunk_unpack(&chunk, u);
	r = r < 0 ? r : sp_dict_apply(ret_chart->dict, &chunk);
	sp_chunk_done(&chunk);
	r = r < 0 ? r : unpack_slices(u, ret_chart);
	for (size_t i = 0; i < ret_chart->sums.n && r == 0; i++)
		if (ret_chart->sums.accounts[i].file >= ret_chart->dict->dict.n_files)
			r = -EBADMSG;
	return r;
}

void sp_chart_read_done(struct sp_chart_read *c)
{
	sp_dict_free(c->dict);
	sp_sums_done(&c->sums);
	c->dict = NULL;
}

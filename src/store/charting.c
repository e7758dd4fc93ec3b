/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/chart.h"
#include "store/tree.h"

enum { SLICE_MS = SP_CHART_SLICE_S * 1000 };

int sp_charting_init(struct sp_charting *c, uint32_t n_values)
{
	*c = (struct sp_charting){.sums = {.n_values = n_values}, .slice = {.n_values = n_values}};
	return 0;
}

void sp_charting_done(struct sp_charting *c)
{
	sp_sums_done(&c->sums);
	sp_sums_done(&c->slice);
	free(c->at);
	*c = (struct sp_charting){0};
}

static void add(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value > 0 ? INT64_MAX : INT64_MIN;
}

/* The slice under way is over. */
static int end_slice(struct sp_charting *c)
{
	size_t n = c->slice.n;
	int r = sp_grow(&c->sums.totals, &c->sums.capacity, c->sums.n + n + 1, sizeof(*c->sums.totals));

	if (r < 0 || n == 0)
		return r;
	memcpy(c->sums.totals + c->sums.n, c->slice.totals, n * sizeof(*c->sums.totals));
	for (size_t i = 0; i < n; i++)
		c->at[c->slice.totals[i].file] = 0;
	c->sums.n += n;
	c->slice.n = 0;
	c->slices[c->n_slices - 1].n_sums = n;
	return 0;
}

static int begin_slice(struct sp_charting *c, uint64_t t_ms)
{
	int r = c->n_slices > 0 ? end_slice(c) : 0;

	if (r == 0 && c->n_slices == SP_CHART_MAX_SLICES)
		r = -EBADMSG; /* an hour has not as many */
	if (r == 0)
		c->slices[c->n_slices++] = (struct sp_chart_slice){.begin_ms = t_ms};
	return r;
}

static int add_total(struct sp_charting *c, const struct sp_scan_total *t)
{
	int r = sp_grow(&c->at, &c->at_capacity, (size_t)t->file + 1, sizeof(*c->at));

	r = r < 0 ? r : sp_grow(&c->slice.totals, &c->slice.capacity, c->slice.n + 1, sizeof(*t));
	if (r < 0)
		return r;
	if (c->at[t->file] == 0) {
		c->slice.totals[c->slice.n++] = (struct sp_scan_total){.file = t->file};
		c->at[t->file] = (uint32_t)c->slice.n;
	}
	struct sp_scan_total *sum = &c->slice.totals[c->at[t->file] - 1];
	for (uint32_t v = 0; v < c->slice.n_values; v++) {
		add(&sum->self[v], t->self[v]);
		add(&sum->total[v], t->total[v]);
	}
	return 0;
}

int sp_charting_add(struct sp_charting *c, uint64_t t_ms, uint64_t duration_ns, const struct sp_sums *s)
{
	const struct sp_chart_slice *last = c->n_slices > 0 ? &c->slices[c->n_slices - 1] : NULL;
	int r = s->n_values != c->slice.n_values ? -EBADMSG : 0;

	if (r == 0 && (last == NULL || last->begin_ms / SLICE_MS != t_ms / SLICE_MS))
		r = begin_slice(c, t_ms);
	if (r < 0)
		return r;
	c->slices[c->n_slices - 1].duration_ns += duration_ns;
	for (size_t i = 0; i < s->n && r == 0; i++)
		if (s->totals[i].func == 0 && s->totals[i].file < SP_CHART_MAX_FILES)
			r = add_total(c, &s->totals[i]);
	return r;
}

static int pack_all(struct sp_charting *c, struct sp_graft *g, const struct sp_dict *names, struct sp_packer *p)
{
	uint64_t begins[SP_CHART_MAX_SLICES], durations[SP_CHART_MAX_SLICES], counts[SP_CHART_MAX_SLICES];
	int r = c->n_slices > 0 ? end_slice(c) : 0;

	r = r < 0 ? r : sp_graft_add_files(g, names, c->sums.totals, c->sums.n);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < c->n_slices; i++) {
		begins[i] = c->slices[i].begin_ms;
		durations[i] = c->slices[i].duration_ns;
		counts[i] = c->slices[i].n_sums;
	}
	sp_chunk_pack(&g->chunk, p, true);
	sp_pack_u64(p, begins, c->n_slices);
	sp_pack_u64(p, durations, c->n_slices);
	sp_pack_u64(p, counts, c->n_slices);
	sp_sums_pack(&c->sums, p);
	return 0;
}

int sp_charting_pack(struct sp_charting *c, const struct sp_dict *names, struct sp_packer *p)
{
	struct sp_graft g;
	int r = sp_graft_init(&g);

	r = r < 0 ? r : pack_all(c, &g, names, p);
	sp_graft_done(&g);
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
	static const uint32_t first[SP_N_THINGS];
	struct sp_chunk chunk = {0};
	int r = sp_dict_new(day_s, 0, &ret_chart->dict);

	ret_chart->sums = (struct sp_sums){0};
	sp_chunk_clear(&chunk, first);
	r = r < 0 ? r : sp_chunk_unpack(&chunk, u);
	r = r < 0 ? r : sp_dict_apply(ret_chart->dict, &chunk);
	sp_chunk_done(&chunk);
	r = r < 0 ? r : unpack_slices(u, ret_chart);
	for (size_t i = 0; i < ret_chart->sums.n && r == 0; i++)
		if (ret_chart->sums.totals[i].file >= ret_chart->dict->d.n_files)
			r = -EBADMSG;
	return r;
}

void sp_chart_read_done(struct sp_chart_read *c)
{
	sp_dict_free(c->dict);
	sp_sums_done(&c->sums);
	c->dict = NULL;
}

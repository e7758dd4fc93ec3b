/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/tracing.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "trace/tracing_priv.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A record's place in the ring is taken after its time: so long a program may be interrupted in between. */
#define SETTLE_NS 5000000ULL
/*
 * So many records are held back at most, by who writes faster than we show them, or has us wait for stacks: what comes
 * then is lost in the ring, and counted there.
 */
enum { MAX_WAITING = 1 << 16 };

/* --- beginning and end --- */
static int layout_find(struct sp_tracing *t)
{
	t->value_bytes = offsetof(struct sp_trace_value, sum);
	for (size_t i = 0; i < t->o.n_specs; i++) {
		const struct sp_trace_spec *s = &t->o.specs[i];

		t->has_pairs |= s->n_before != 0;
		t->key_bytes = SP_MAX(t->key_bytes, s->key_bytes);
		t->value_bytes = SP_MAX(t->value_bytes, offsetof(struct sp_trace_value, sum) + 8 * s->config.n_sums);
	}
	t->n_cpus = libbpf_num_possible_cpus();
	return t->n_cpus < 0 ? sp_fail(t->n_cpus, "count the CPUs") : 0;
}

static int record_take(void *arg, void *data, size_t size)
{
	struct sp_tracing *t = arg;
	struct sp_trace_record *copy = malloc(size);

	if (!copy || sp_grow(&t->waiting, &t->capacity, t->n_waiting + 1, sizeof(struct sp_trace_record *)) < 0) {
		free(copy);
		t->failure = -ENOMEM;
		return -ENOMEM;
	}
	memcpy(copy, data, size);
	t->waiting[t->n_waiting++] = copy;
	return t->n_waiting < MAX_WAITING ? 0 : -EAGAIN; /* this one is taken */
}

static int tracing_open(struct sp_tracing *t)
{
	int r = layout_find(t);

	if (!r)
		r = sp_tracing_points_load(t);
	if (r || !t->o.tells)
		return r;
	t->ring = ring_buffer__new(sp_tracing_map(t, SP_TRACE_MAP_RECORDS), record_take, t, NULL);
	return t->ring ? 0 : sp_fail(-errno, "map the ring of records");
}

static int libbpf_silent(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

int sp_tracing_new(const struct sp_tracing_options *o, struct sp_tracing **ret_tracing)
{
	struct sp_tracing *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	if (!o->stacks) /* else the session of sampling, which is loaded meanwhile, wants to know */
		libbpf_set_print(libbpf_silent);
	t->o = *o;
	r = tracing_open(t);
	if (r < 0)
		sp_tracing_free(t);
	else
		*ret_tracing = t;
	return r;
}

void sp_tracing_free(struct sp_tracing *t)
{
	if (!t)
		return;
	sp_tracing_detach(t);
	ring_buffer__free(t->ring);
	for (size_t i = 0; i < t->n_waiting; i++)
		free(t->waiting[i]);
	free(t->waiting);
	sp_tracing_points_free(t);
	free(t);
}

/* --- attaching --- */
int sp_tracing_target_add(struct sp_tracing *t, uint32_t pid, enum sp_target state)
{
	uint32_t value = state;

	if (bpf_map_update_elem(sp_tracing_map(t, SP_TRACE_MAP_TARGETS), &pid, &value, BPF_ANY))
		return sp_fail(-errno, "note the process %u", pid);
	return 0;
}

int sp_tracing_attach(struct sp_tracing *t)
{
	return sp_tracing_points_attach(t);
}

void sp_tracing_detach(struct sp_tracing *t)
{
	sp_tracing_points_detach(t);
}

/* --- rows --- */
size_t sp_tracing_key_bytes(const struct sp_tracing *t)
{
	return t->key_bytes;
}

static struct sp_trace_value value_sum(const struct sp_tracing *t, const char *of_cpus)
{
	size_t stride = (t->value_bytes + 7) & ~(size_t)7;
	struct sp_trace_value sum = {0};

	for (int cpu = 0; cpu < t->n_cpus; cpu++) {
		struct sp_trace_value one = {0};

		memcpy(&one, of_cpus + (size_t)cpu * stride, t->value_bytes);
		sum.n += one.n;
		for (size_t i = 0; i < SP_TRACE_SUMS; i++)
			sum.sum[i] += one.sum[i];
	}
	return sum;
}

int sp_tracing_rows(struct sp_tracing *t, int (*each)(void *arg, const sp_u64 *key, const struct sp_trace_value *sum),
		    void *arg)
{
	int map = sp_tracing_map(t, SP_TRACE_MAP_ROWS), r = 0;
	SP_FREE char *values = calloc((size_t)t->n_cpus, sizeof(struct sp_trace_value));
	sp_u64 key[SP_TRACE_KEY_WORDS] = {0};
	void *before = NULL;

	if (!values)
		return -ENOMEM;
	while (r >= 0 && !bpf_map_get_next_key(map, before, key)) {
		struct sp_trace_value sum;

		before = key;
		if (bpf_map_lookup_elem(map, key, values))
			return sp_fail(-errno, "read a row");
		sum = value_sum(t, values);
		r = each(arg, key, &sum);
	}
	return r < 0 ? r : 0;
}

uint64_t sp_tracing_lost(const struct sp_tracing *t, enum sp_trace_counter counter)
{
	uint32_t number = counter;
	uint64_t n = 0;

	bpf_map_lookup_elem(sp_tracing_map(t, SP_TRACE_MAP_LOSSES), &number, &n);
	return n;
}

uint64_t sp_tracing_missed(const struct sp_tracing *t)
{
	uint64_t n = 0;

	for (size_t i = 0; i < t->n_points; i++) {
		struct bpf_prog_info info = {0};
		__u32 size = sizeof(info);

		if (!bpf_obj_get_info_by_fd(sp_tracing_program(&t->points[i]), &info, &size))
			n += info.recursion_misses;
	}
	return n;
}

/* --- records --- */
int sp_tracing_fd(const struct sp_tracing *t)
{
	return ring_buffer__epoll_fd(t->ring);
}

static int by_time(const void *a, const void *b)
{
	const struct sp_trace_record *const *x = a, *const *y = b;

	return ((*x)->ns > (*y)->ns) - ((*x)->ns < (*y)->ns);
}

/* No record came after these. */
static int losses_end(struct sp_tracing *t,
		      int (*each)(void *arg, const struct sp_trace_record *record, uint64_t n_lost), void *arg)
{
	uint64_t n_lost = sp_tracing_lost(t, SP_TRACE_LOST_RECORDS), told = t->n_told_lost;

	t->n_told_lost = SP_MAX(n_lost, told);
	return n_lost > told ? each(arg, NULL, n_lost - told) : 0;
}

/* Takes what is in the ring, sorted. 1: there was no room for all of it. */
static int ring_take(struct sp_tracing *t)
{
	int r = t->n_waiting < MAX_WAITING ? ring_buffer__consume(t->ring) : -EAGAIN;

	if (t->failure || (r < 0 && r != -EAGAIN))
		return sp_fail(t->failure ? t->failure : r, "read records");
	if (t->n_waiting)
		qsort(t->waiting, t->n_waiting, sizeof(struct sp_trace_record *), by_time);
	return r == -EAGAIN;
}

/* Gives those before this time. *ret_n: how many. */
static int waiting_give(struct sp_tracing *t, uint64_t until,
			int (*each)(void *arg, const struct sp_trace_record *record, uint64_t n_lost), void *arg,
			size_t *ret_n)
{
	size_t n = 0;
	int r = 0;

	for (; n < t->n_waiting && r >= 0 && t->waiting[n]->ns < until; n++) {
		uint64_t lost = t->waiting[n]->n_lost;

		r = each(arg, t->waiting[n], lost > t->n_told_lost ? lost - t->n_told_lost : 0);
		if (r > 0)
			break;
		t->n_told_lost = SP_MAX(t->n_told_lost, lost);
		free(t->waiting[n]);
	}
	if (n)
		memmove(t->waiting, t->waiting + n, (t->n_waiting - n) * sizeof(struct sp_trace_record *));
	t->n_waiting -= n;
	*ret_n = n;
	return SP_MIN(r, 0);
}

int sp_tracing_records(struct sp_tracing *t, bool all,
		       int (*each)(void *arg, const struct sp_trace_record *record, uint64_t n_lost), void *arg)
{
	uint64_t until = sp_time_ns(CLOCK_MONOTONIC) - SETTLE_NS; /* taken first: what is older has come by then */
	size_t n_given;
	int r, rest;

	do {
		rest = ring_take(t);
		if (rest < 0)
			return rest;
		if (rest) /* what is still in the ring may be older than the newest by that much */
			until = SP_MIN(until, t->waiting[t->n_waiting - 1]->ns - SETTLE_NS);
		r = waiting_give(t, all ? UINT64_MAX : until, each, arg, &n_given);
	} while (r >= 0 && all && rest && n_given);
	return r < 0 ? r : all && !t->n_waiting ? losses_end(t, each, arg) : 0;
}

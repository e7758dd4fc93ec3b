/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/tracing.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "recipe/front.h"
#include "recipe/probe.h"
#include "trace.skel.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FOLLOWERS = 3 };
/* A record's place in the ring is taken after its time: so long a program may be interrupted in between. */
#define SETTLE_NS 5000000ULL

struct tracing_point {
	const struct sp_recipe_point *point;
	const char *name;
	struct trace_bpf *skel;
	struct bpf_link *link;
};

struct sp_tracing {
	struct sp_tracing_options o;
	struct tracing_point points[SP_TRACE_POINTS * (SP_TRACE_FIRSTS + 2)];
	size_t n_points, key_bytes, value_bytes;
	struct bpf_link *followers[FOLLOWERS];
	struct ring_buffer *ring;
	int n_cpus;
	bool has_pairs;
	/* Records that were read and not given yet: copies, ours. */
	struct sp_trace_record **waiting;
	size_t n_waiting, capacity;
	uint64_t n_told_lost;
	int failure;
};

/* --- loading --- */
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

/* The first point's maps are everybody's. What a session does not use is not made. */
static int maps_choose(struct sp_tracing *t, struct trace_bpf *skel)
{
	struct trace_bpf *first = t->points[0].skel;
	int r = 0;

	bpf_map__set_autocreate(skel->maps.scratch, false);
	bpf_map__set_autocreate(skel->maps.pending, false);
	bpf_map__set_autocreate(skel->maps.counters, t->o.follow);
	if (first != skel) {
		r = bpf_map__reuse_fd(skel->maps.losses, bpf_map__fd(first->maps.losses));
		if (!r)
			r = bpf_map__reuse_fd(skel->maps.rows, bpf_map__fd(first->maps.rows));
		if (!r)
			r = bpf_map__reuse_fd(skel->maps.records, bpf_map__fd(first->maps.records));
		if (!r)
			r = bpf_map__reuse_fd(skel->maps.pairs, bpf_map__fd(first->maps.pairs));
		return r ? r : bpf_map__reuse_fd(skel->maps.targets, bpf_map__fd(first->maps.targets));
	}
	bpf_map__set_max_entries(skel->maps.rows, t->o.tells ? 1 : t->o.max_rows);
	bpf_map__set_max_entries(skel->maps.records, t->o.tells ? t->o.ring_bytes : (uint32_t)sysconf(_SC_PAGESIZE));
	bpf_map__set_max_entries(skel->maps.pairs, t->has_pairs ? SP_TRACE_PAIRS : 1);
	bpf_map__set_key_size(skel->maps.rows, (uint32_t)t->key_bytes);
	bpf_map__set_value_size(skel->maps.rows, (uint32_t)t->value_bytes);
	return 0;
}

static void programs_choose(struct sp_tracing *t, struct trace_bpf *skel, const struct sp_recipe_point *point)
{
	bool follows = t->o.follow && skel == t->points[0].skel;

	sp_slot_program_set(&point->slot, skel->progs.sp_trace_event);
	bpf_program__set_autoload(skel->progs.sp_fork, follows);
	bpf_program__set_autoload(skel->progs.sp_exec, follows);
	bpf_program__set_autoload(skel->progs.sp_exit, follows);
}

static void config_write(const struct sp_tracing *t, const struct tracing_point *p, const struct sp_trace_config *of,
			 size_t number)
{
	struct sp_trace_config *config = (struct sp_trace_config *)&p->skel->rodata->sp_trace;

	*(struct sp_front_slot *)&p->skel->rodata->sp_slot = p->point->slot;
	((struct sp_config *)&p->skel->rodata->sp_config)->nests = 1;
	*config = *of;
	config->point = (sp_u32)number;
	config->targets = t->o.targets;
	config->cgroup = t->o.cgroup;
	config->cgroup_level = t->o.cgroup_level;
}

static int point_load(struct sp_tracing *t, const struct sp_recipe_point *point, const char *name,
		      const struct sp_trace_config *config, size_t spec)
{
	struct tracing_point *p = &t->points[t->n_points];
	int r;

	*p = (struct tracing_point){.point = point, .name = name, .skel = trace_bpf__open()};
	if (!p->skel)
		return sp_fail(-errno, "open the BPF object of an event");
	t->n_points++;
	config_write(t, p, config, spec);
	programs_choose(t, p->skel, point);
	r = maps_choose(t, p->skel);
	if (!r)
		r = trace_bpf__load(p->skel);
	return r ? sp_fail(r, "load the BPF program of %s", name) : 0;
}

/* The second point of a pair is attached before the first ones: so it does not end what began in the same event. */
static int spec_load(struct sp_tracing *t, size_t number)
{
	const struct sp_trace_spec *s = &t->o.specs[number];
	int r = point_load(t, &s->point, s->name, &s->config, number);

	for (size_t i = 0; i < s->n_before && !r; i++)
		r = point_load(t, &s->before[i].point, s->before[i].name, &s->before[i].config, number);
	return r;
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
	return 0;
}

static int tracing_open(struct sp_tracing *t)
{
	int r = layout_find(t);

	for (size_t i = 0; i < t->o.n_specs && !r; i++)
		r = spec_load(t, i);
	if (r || !t->o.tells)
		return r;
	t->ring = ring_buffer__new(bpf_map__fd(t->points[0].skel->maps.records), record_take, t, NULL);
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
	for (size_t i = 0; i < t->n_points; i++)
		trace_bpf__destroy(t->points[i].skel);
	free(t);
}

/* --- attaching --- */
int sp_tracing_target_add(struct sp_tracing *t, uint32_t pid, enum sp_target state)
{
	uint32_t value = state;

	if (bpf_map_update_elem(bpf_map__fd(t->points[0].skel->maps.targets), &pid, &value, BPF_ANY))
		return sp_fail(-errno, "note the process %u", pid);
	return 0;
}

static int followers_attach(struct sp_tracing *t)
{
	struct trace_bpf *skel = t->points[0].skel;
	struct bpf_program *programs[FOLLOWERS] = {skel->progs.sp_fork, skel->progs.sp_exec, skel->progs.sp_exit};

	for (size_t i = 0; i < FOLLOWERS && t->o.follow; i++) {
		t->followers[i] = bpf_program__attach(programs[i]);
		if (!t->followers[i])
			return sp_fail(-errno, "follow processes");
	}
	return 0;
}

int sp_tracing_attach(struct sp_tracing *t)
{
	int r = followers_attach(t);

	for (size_t i = 0; i < t->n_points && r >= 0; i++) {
		struct tracing_point *p = &t->points[i];

		r = sp_point_attach(p->point, p->skel->progs.sp_trace_event, t->o.only, NULL, &p->link);
	}
	return r < 0 ? r : 0;
}

void sp_tracing_detach(struct sp_tracing *t)
{
	for (size_t i = 0; i < t->n_points; i++) {
		if (t->points[i].point->probe)
			sp_recipe_probe_detach(t->points[i].point->probe);
		bpf_link__destroy(sp_take_ptr(t->points[i].link));
	}
	for (size_t i = 0; i < FOLLOWERS; i++)
		bpf_link__destroy(sp_take_ptr(t->followers[i]));
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
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
	int map = bpf_map__fd(t->points[0].skel->maps.rows), r = 0;
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

	bpf_map_lookup_elem(bpf_map__fd(t->points[0].skel->maps.losses), &number, &n);
	return n;
}

uint64_t sp_tracing_missed(const struct sp_tracing *t)
{
	uint64_t n = 0;

	for (size_t i = 0; i < t->n_points; i++) {
		struct bpf_prog_info info = {0};
		__u32 size = sizeof(info);

		if (!bpf_obj_get_info_by_fd(bpf_program__fd(t->points[i].skel->progs.sp_trace_event), &info, &size))
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

int sp_tracing_records(struct sp_tracing *t, bool all,
		       int (*each)(void *arg, const struct sp_trace_record *record, uint64_t n_lost), void *arg)
{
	uint64_t until = sp_time_ns(CLOCK_MONOTONIC) - SETTLE_NS; /* taken first: what is older has come by then */
	size_t n = 0;
	int r = ring_buffer__consume(t->ring);

	if (t->failure || r < 0)
		return sp_fail(t->failure ? t->failure : r, "read records");
	if (t->n_waiting)
		qsort(t->waiting, t->n_waiting, sizeof(struct sp_trace_record *), by_time);
	for (r = 0; n < t->n_waiting && r >= 0 && (all || t->waiting[n]->ns < until); n++) {
		uint64_t lost = t->waiting[n]->n_lost;

		r = each(arg, t->waiting[n], lost > t->n_told_lost ? lost - t->n_told_lost : 0);
		t->n_told_lost = SP_MAX(t->n_told_lost, lost);
		free(t->waiting[n]);
	}
	memmove(t->waiting, t->waiting + n, (t->n_waiting - n) * sizeof(struct sp_trace_record *));
	t->n_waiting -= n;
	return r < 0 ? r : all ? losses_end(t, each, arg) : 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* points.c: the programs of a session's attach points, and those that follow a command: loaded, attached, detached. */
#include "trace/tracing_priv.h"

#include "base/error.h"
#include "base/mem.h"
#include "recipe/front.h"
#include "recipe/probe.h"
#include "trace.skel.h"
#include "trace_follow.skel.h"
#include "trace_short.skel.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The first point's maps are everybody's. */
static struct trace_bpf *first_of(const struct sp_tracing *t)
{
	return t->points[0].skel;
}

int sp_tracing_map(const struct sp_tracing *t, enum sp_trace_map which)
{
	const struct trace_bpf *skel = first_of(t);
	const struct bpf_map *maps[] = {[SP_TRACE_MAP_ROWS] = skel->maps.rows,
					[SP_TRACE_MAP_RECORDS] = skel->maps.records,
					[SP_TRACE_MAP_LOSSES] = skel->maps.losses,
					[SP_TRACE_MAP_TARGETS] = skel->maps.targets};

	return bpf_map__fd(maps[which]);
}

int sp_tracing_program(const struct sp_tracing_point *p)
{
	return bpf_program__fd(p->skel->progs.sp_trace_event);
}

uint64_t sp_tracing_unfollowed(const struct sp_tracing *t)
{
	SP_FREE uint64_t(*of_cpus)[SP_N_COUNTERS] = t->follow ? calloc((size_t)t->n_cpus, sizeof(*of_cpus)) : NULL;
	uint64_t n = 0;
	uint32_t zero = 0;

	if (of_cpus && !bpf_map_lookup_elem(bpf_map__fd(t->follow->maps.counters), &zero, of_cpus))
		for (int i = 0; i < t->n_cpus; i++)
			n += of_cpus[i][SP_N_LOST_TARGETS];
	return n;
}

/* --- loading --- */
/* An object with fewer steps is loaded in half the time. It has the same variables and maps, so it goes by this name.
 */
static struct trace_bpf *point_open(const struct sp_front_slot *slot)
{
	struct trace_bpf *skel = calloc(1, sizeof(*skel));
	int r = skel ? trace_bpf__create_skeleton(skel) : -ENOMEM;

	if (!r && slot->ops[SP_N_OPS_SHORT].kind == SP_OP_END)
		skel->skeleton->data = (void *)trace_short_bpf__elf_bytes(&skel->skeleton->data_sz);
	if (!r)
		r = bpf_object__open_skeleton(skel->skeleton, NULL);
	if (!r)
		return skel;
	trace_bpf__destroy(skel);
	errno = -r;
	return NULL;
}

static int maps_share(const struct sp_tracing *t, const struct trace_bpf *skel)
{
	const struct trace_bpf *first = first_of(t);
	struct bpf_map *const own[] = {skel->maps.losses, skel->maps.rows,    skel->maps.records,
				       skel->maps.pairs,  skel->maps.targets, skel->maps.counters};
	const struct bpf_map *const theirs[] = {first->maps.losses, first->maps.rows,    first->maps.records,
						first->maps.pairs,  first->maps.targets, first->maps.counters};
	int r = 0;

	for (size_t i = 0; i < SP_COUNT(own) && !r; i++)
		r = bpf_map__reuse_fd(own[i], bpf_map__fd(theirs[i]));
	return r;
}

/* What a session does not use is not made. */
static void maps_size(const struct sp_tracing *t, const struct trace_bpf *skel)
{
	bpf_map__set_max_entries(skel->maps.rows, t->o.tells ? 1 : t->o.max_rows);
	bpf_map__set_max_entries(skel->maps.records, t->o.tells ? t->o.ring_bytes : (uint32_t)sysconf(_SC_PAGESIZE));
	bpf_map__set_max_entries(skel->maps.pairs, t->has_pairs ? SP_TRACE_PAIRS : 1);
	bpf_map__set_key_size(skel->maps.rows, (uint32_t)t->key_bytes);
	bpf_map__set_value_size(skel->maps.rows, (uint32_t)t->value_bytes);
}

/* The session's that samples. */
static int maps_sampled(const struct sp_tracing *t, const struct trace_bpf *skel)
{
	struct sp_front_maps maps;
	int r;

	if (!t->o.stacks) {
		bpf_map__set_autocreate(skel->maps.sink, false);
		return bpf_map__set_autocreate(skel->maps.scratch, false);
	}
	sp_ground_maps(t->o.stacks, SP_AT_RAW, &maps);
	r = bpf_map__reuse_fd(skel->maps.scratch, maps.scratch);
	if (!r)
		r = bpf_map__reuse_fd(skel->maps.counters, maps.counters);
	return r ? r : bpf_map__reuse_fd(skel->maps.targets, maps.targets);
}

static int maps_choose(const struct sp_tracing *t, const struct trace_bpf *skel)
{
	int r = maps_sampled(t, skel);

	if (r)
		return r;
	if (skel != first_of(t))
		return maps_share(t, skel);
	maps_size(t, skel);
	return 0;
}

static sp_u32 walks_of(const struct sp_tracing *t, const struct sp_tracing_point *p)
{
	if (!t->o.stacks || !sp_trace_walks(&t->o.specs[p->spec], p->config))
		return 0;
	return SP_SLOT_NUMBERED | SP_SLOT_USER | (t->o.kernel_stacks ? SP_SLOT_KERNEL : 0) |
	       (p->point->slot.flags & (SP_SLOT_RECORD | SP_SLOT_PROBE | SP_SLOT_KPROBE));
}

static void config_write(const struct sp_tracing *t, const struct sp_tracing_point *p)
{
	struct sp_trace_config *config = (struct sp_trace_config *)&p->skel->rodata->sp_trace;

	*(struct sp_front_slot *)&p->skel->rodata->sp_slot = p->point->slot;
	*config = *p->config;
	config->point = (sp_u32)p->spec;
	config->walks = walks_of(t, p);
	((struct sp_config *)&p->skel->rodata->sp_config)->nests = 1;
	config->targets = t->o.targets;
	config->cgroup = t->o.cgroup;
	config->cgroup_level = t->o.cgroup_level;
}

static int point_load(const struct sp_tracing *t, struct sp_tracing_point *p)
{
	int r;

	p->skel = point_open(&p->point->slot);
	if (!p->skel)
		return -errno;
	config_write(t, p);
	sp_slot_program_set(&p->point->slot, p->skel->progs.sp_trace_event);
	bpf_map__set_autocreate(p->skel->maps.marks, p->point->slot.flags & SP_SLOT_MARK);
	r = maps_choose(t, p->skel);
	if (!r)
		r = trace_bpf__load(p->skel);
	return !r && p->point->slot.flags & SP_SLOT_MARK
		   ? sp_recipe_probe_front(p->point->probe, bpf_map__fd(p->skel->maps.marks))
		   : r;
}

static void point_add(struct sp_tracing *t, const struct sp_recipe_point *point, const char *name,
		      const struct sp_trace_config *config, size_t spec)
{
	t->points[t->n_points++] =
	    (struct sp_tracing_point){.point = point, .name = name, .config = config, .spec = spec};
}

/* The second point of a pair is attached before the first ones: so it does not end what began in the same event. */
static void points_add(struct sp_tracing *t)
{
	for (size_t i = 0; i < t->o.n_specs; i++) {
		const struct sp_trace_spec *s = &t->o.specs[i];

		point_add(t, &s->point, s->name, &s->config, i);
		for (size_t k = 0; k < s->n_before; k++)
			point_add(t, &s->before[k].point, s->before[k].name, &s->before[k].config, i);
	}
}

static int followers_load(struct sp_tracing *t)
{
	int r;

	t->follow = trace_follow_bpf__open();
	if (!t->follow)
		return -errno;
	((struct sp_config *)&t->follow->rodata->sp_config)->nests = 1;
	bpf_map__set_autocreate(t->follow->maps.scratch, false);
	bpf_map__set_autocreate(t->follow->maps.pending, false);
	r = bpf_map__reuse_fd(t->follow->maps.targets, sp_tracing_map(t, SP_TRACE_MAP_TARGETS));
	return r ? r : trace_follow_bpf__load(t->follow);
}

/* --- several at the same time: most of it is the verifier's --- */
enum { LOADERS = 4 };
struct loading {
	struct sp_tracing *tracing;
	struct sp_aside aside;
	size_t first; /* its points: this one, and each so many further on; 0: the followers */
	int r;
	const char *what; /* r < 0 */
};

static void *some_load(void *arg)
{
	struct loading *l = arg;
	struct sp_tracing *t = l->tracing;

	if (!l->first) {
		l->r = followers_load(t);
		l->what = "processes that are followed";
		return NULL;
	}
	for (size_t i = l->first; i < t->n_points && !l->r; i += LOADERS) {
		l->what = t->points[i].name;
		l->r = point_load(t, &t->points[i]);
	}
	return NULL;
}

static int rest_load(struct sp_tracing *t)
{
	struct loading all[LOADERS + 1] = {0};
	size_t n = t->o.follow && !t->o.stacks ? 0 : 1;
	int r = 0;

	for (size_t i = n; i < SP_COUNT(all) && (!i || i < t->n_points); i++) {
		all[i] = (struct loading){.tracing = t, .first = i};
		sp_aside_begin(&all[i].aside, some_load, &all[i]);
	}
	for (size_t i = n; i < SP_COUNT(all); i++) {
		sp_aside_wait(&all[i].aside);
		r = r ? r : all[i].r ? sp_fail(all[i].r, "load the BPF programs of %s", all[i].what) : 0;
	}
	return r;
}

int sp_tracing_points_load(struct sp_tracing *t)
{
	int r;

	points_add(t);
	r = point_load(t, &t->points[0]); /* which makes the maps */
	return r ? sp_fail(r, "load the BPF program of %s", t->points[0].name) : rest_load(t);
}

/* --- attaching --- */
static int followers_attach(struct sp_tracing *t)
{
	const struct bpf_program *programs[SP_TRACE_FOLLOWERS] = {t->follow->progs.sp_fork, t->follow->progs.sp_exec,
								  t->follow->progs.sp_exit};

	for (size_t i = 0; i < SP_TRACE_FOLLOWERS; i++) {
		t->followers[i] = bpf_program__attach(programs[i]);
		if (!t->followers[i])
			return sp_fail(-errno, "follow processes");
	}
	return 0;
}

/* Where it goes on: the session that walks stacks has loaded that by now. */
static int sink_set(const struct sp_tracing *t, const struct sp_tracing_point *p)
{
	struct sp_front_maps maps;
	sp_u32 zero = 0, sink;

	if (!p->skel->rodata->sp_trace.walks)
		return 0;
	sp_ground_maps(t->o.stacks, p->point->at, &maps);
	sink = (sp_u32)maps.sink;
	return bpf_map_update_elem(bpf_map__fd(p->skel->maps.sink), &zero, &sink, BPF_ANY)
		   ? sp_fail(-errno, "have the stacks of %s walked", p->name)
		   : 0;
}

int sp_tracing_points_attach(struct sp_tracing *t)
{
	int r = t->follow ? followers_attach(t) : 0;

	t->is_attached = true;
	for (size_t i = 0; i < t->n_points && r >= 0; i++) {
		struct sp_tracing_point *p = &t->points[i];

		r = sink_set(t, p);
		if (r >= 0)
			r = sp_point_attach(p->point, p->skel->progs.sp_trace_event, t->o.only, NULL, &p->link,
					    &p->event);
	}
	return r < 0 ? r : 0;
}

static void *point_detach(void *arg)
{
	struct sp_tracing_point *p = arg;

	if (p->point->probe)
		sp_recipe_probe_detach(p->point->probe);
	bpf_link__destroy(sp_take_ptr(p->link));
	return NULL;
}

/* The kernel waits, for each, until no CPU runs the program any more: for all at the same time. */
void sp_tracing_points_detach(struct sp_tracing *t)
{
	if (!t->is_attached)
		return;
	t->is_attached = false;
	for (size_t i = 0; i < t->n_points; i++)
		sp_aside_begin(&t->points[i].detaching, point_detach, &t->points[i]);
	for (size_t i = 0; i < SP_TRACE_FOLLOWERS; i++)
		bpf_link__destroy(sp_take_ptr(t->followers[i]));
	for (size_t i = 0; i < t->n_points; i++)
		sp_aside_wait(&t->points[i].detaching);
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

void sp_tracing_points_free(struct sp_tracing *t)
{
	for (size_t i = 0; i < t->n_points; i++) {
		trace_bpf__destroy(t->points[i].skel);
		if (t->points[i].event > 0)
			close(t->points[i].event);
	}
	trace_follow_bpf__destroy(t->follow);
}

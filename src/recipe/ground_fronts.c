/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ground_fronts.c: the fronts of a session, and the sinks that they end in. */
#include "base/error.h"
#include "base/mem.h"
#include "capture/capture.h"
#include "ground.skel.h"
#include "probe/attach.h"
#include "recipe/front.h"
#include "recipe/ground_priv.h"
#include "recipe/probe.h"
#include "recipe/probe_watch.h"
#include "recipe/recipe.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool sp_ground_has(const struct sp_capture_options *o, enum sp_at at)
{
	for (unsigned i = 0; o->recipes[i]; i++)
		if (sp_recipe_has(o->recipes[i], at))
			return true;
	return false;
}

/* A program goes on only into one of its own type. */
static void sink_type_set(unsigned sink, struct bpf_program *program)
{
	if (sink == SP_AT_RAW)
		return;
	bpf_program__set_type(program, sink == SP_AT_RECORD ? BPF_PROG_TYPE_TRACEPOINT : BPF_PROG_TYPE_KPROBE);
	if (sink == SP_AT_PROBE || sink == SP_SINK_SESSION)
		bpf_program__set_expected_attach_type(program,
						      (enum bpf_attach_type)sp_probe_attach_type(
							  sink == SP_AT_PROBE ? SP_PROBE_ENTRY : SP_PROBE_SESSION));
}

/* Once more, of another type: from a second ground that has the maps of the first. */
static int sink_load(const struct ground *s, unsigned sink, struct bpf_object **ret_object)
{
	struct bpf_map *map = NULL, *theirs = NULL;
	struct bpf_program *program;
	struct bpf_object *object;
	size_t n;
	const void *bytes = ground_bpf__elf_bytes(&n);
	int r = 0;

	object = *ret_object = bpf_object__open_mem(bytes, n, NULL);
	if (!object)
		return sp_fail(-errno, "open the BPF object once more");
	bpf_object__for_each_program(program, object)
	    bpf_program__set_autoload(program, !strcmp(bpf_program__name(program), "sp_sink_raw"));
	program = bpf_object__find_program_by_name(object, "sp_sink_raw");
	sink_type_set(sink, program);
	while (!r && (map = bpf_object__next_map(s->skel->obj, map)) && (theirs = bpf_object__next_map(object, theirs)))
		r = bpf_map__fd(map) < 0 ? bpf_map__set_autocreate(theirs, false)
					 : bpf_map__reuse_fd(theirs, bpf_map__fd(map));
	if (!r)
		r = bpf_object__load(object);
	return r ? sp_fail(r, "load the BPF program of %s", sink == SP_AT_RECORD ? "tracepoints' records" : "probes")
		 : bpf_program__fd(program);
}

/* Which sink a point's front ends in; others' fronts (numbered) are no sessions. */
static unsigned sink_of(const struct sp_capture_options *o, const struct sp_recipe_point *point)
{
	bool is_session = point->at == SP_AT_PROBE && !o->numbered && sp_recipe_probe_by_session(point->probe);

	return is_session ? (unsigned)SP_SINK_SESSION : point->at;
}

static bool needs_sink(const struct sp_capture_options *o, unsigned sink)
{
	for (unsigned i = 0; o->recipes[i]; i++)
		for (const struct sp_recipe_point *point = o->recipes[i]->points; point->at; point++)
			if (sink_of(o, point) == sink)
				return true;
	return false;
}

/* In the order in which they are loaded. */
static const unsigned kinds[] = {SP_AT_RAW, SP_AT_RECORD, SP_AT_PROBE, SP_AT_KPROBE, SP_SINK_SESSION};

void sp_sinks_choose(struct ground *s, const struct sp_capture_options *o)
{
	for (size_t i = 0; i < SP_COUNT(kinds) && !s->first_sink; i++)
		if (needs_sink(o, kinds[i]))
			s->first_sink = kinds[i];
	bpf_program__set_autoload(s->skel->progs.sp_sink_raw, s->first_sink != 0);
	if (s->first_sink)
		sink_type_set(s->first_sink, s->skel->progs.sp_sink_raw);
}

int sp_sinks_load(struct ground *s, const struct sp_capture_options *o)
{
	int r = 0;

	s->sinks[s->first_sink] = bpf_program__fd(s->skel->progs.sp_sink_raw);
	for (size_t i = 0; i < SP_COUNT(kinds) && r >= 0; i++)
		if (kinds[i] != s->first_sink && needs_sink(o, kinds[i]))
			r = s->sinks[kinds[i]] = sink_load(s, kinds[i], &s->sink_objects[kinds[i]]);
	return SP_MIN(r, 0);
}

/* The only process that is asked for: probes need not be in others. 0: several, or not known yet. */
static pid_t only_process(const struct sp_capture_options *o)
{
	return o->filter == SP_TARGETS_TGID && o->n_targets == 1 && !o->follow ? (pid_t)o->targets[0] : 0;
}

int sp_fronts_attach(struct ground *s, const struct sp_capture_options *o)
{
	struct sp_front_maps maps = {.scratch = bpf_map__fd(s->skel->maps.scratch),
				     .counters = bpf_map__fd(s->skel->maps.counters),
				     .targets = o->filter == SP_TARGETS_ALL ? 0 : bpf_map__fd(s->skel->maps.targets),
				     .config = (const struct sp_config *)&s->skel->rodata->sp_config,
				     .broker = o->broker,
				     .only = only_process(o),
				     .guards = sp_guard_is_wanted(o) ? bpf_map__fd(s->skel->maps.guards) : 0,
				     .stamps = s->has_stamps ? bpf_map__fd(s->skel->maps.stamps) : 0};
	const struct sp_recipe_point *point;
	struct sp_recipe_point own;
	unsigned i;
	int r = 0;

	if (sp_guard_is_wanted(o) || o->filter != SP_TARGETS_ALL || o->cgroup)
		maps.episodes = bpf_map__fd(s->skel->maps.episodes);
	if (sp_recipes_have_live(o->recipes)) {
		maps.live = bpf_map__fd(s->skel->maps.live);
		maps.calls = bpf_map__fd(s->skel->maps.calls);
	}
	for (i = 0; o->recipes[i] && !r; i++)
		for (point = o->recipes[i]->points; point->at && !r; point++) {
			if (!point->where ||
			    (point->at != SP_AT_RAW && point->at != SP_AT_RECORD && point->at != SP_AT_PROBE))
				continue;
			own = *point;
			if (!sp_role_choose(s->has_stamps, &own.slot.role))
				continue;
			own.slot.recipe = i;
			if (!o->objects)
				own.slot.flags &= ~(sp_u32)SP_SLOT_LOCK;
			own.slot.min_ns = sp_recipe_min_ns(o->recipes[i], o->min_ns);
			own.slot.max_ns = o->max_ns;
			if (sink_of(o, point) == SP_SINK_SESSION)
				own.slot.flags |= SP_SLOT_SESSION;
			maps.sink = s->sinks[sink_of(o, point)];
			r = sp_front_new(&own, &maps, &s->fronts[s->n_fronts]);
			s->front_recipe[s->n_fronts] = i;
			s->n_fronts += !r;
		}
	return r;
}

void sp_ground_maps(const struct sp_recipe_object *object, enum sp_at at, struct sp_front_maps *ret_maps)
{
	const struct ground *s = object->private;

	*ret_maps = (struct sp_front_maps){.scratch = bpf_map__fd(s->skel->maps.scratch),
					   .counters = bpf_map__fd(s->skel->maps.counters),
					   .targets = bpf_map__fd(s->skel->maps.targets),
					   .sink = s->sinks[at == SP_AT_KRETPROBE ? SP_AT_KPROBE : at]};
}

/* One that began before files were looked for, or a new one. */
static int watch_take(struct ground *s, const struct sp_capture_options *o)
{
	if (!sp_ground_has(o, SP_AT_PROBE) || o->numbered)
		return 0;
	for (unsigned i = 0; o->recipes[i] && !s->watch; i++)
		if (o->recipes[i]->points[0].at == SP_AT_PROBE)
			s->watch = sp_recipe_probe_watch(o->recipes[i]->points[0].probe);
	s->owns_watch = !s->watch;
	return s->watch ? 0 : sp_recipe_watch_new(o->cpus, o->n_cpus, &s->watch);
}

/* Before the probes are attached: a file that appears meanwhile is attached twice, which is once. */
int sp_fronts_watch(struct ground *s, const struct sp_capture_options *o)
{
	int r = watch_take(s, o);

	for (unsigned i = 0; o->recipes[i] && r >= 0 && s->watch; i++)
		if (o->recipes[i]->points[0].at == SP_AT_PROBE && sp_recipe_probe_name(o->recipes[i]->points[0].probe))
			r = sp_recipe_watch_add(s->watch, o->recipes[i]->points[0].probe);
	return r;
}

int sp_fronts_wait(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
		return sp_fail(-errno, "wait for the programs that run");
	return 0;
}

/* Of one recipe, or of all (-1). Ends are seen for as long as episodes begin: their fronts come first, and go last. */
void sp_fronts_detach(struct ground *s, int recipe)
{
	for (size_t i = s->n_fronts; i-- > 0;)
		if (recipe < 0 || s->front_recipe[i] == (unsigned)recipe)
			sp_front_detach(s->fronts[i]);
}

/* Fronts that run while they are detached have ended when this returns. */
int sp_fronts_pause(struct ground *s, bool is_paused)
{
	int r = 0;

	if (is_paused) {
		sp_fronts_detach(s, -1);
		return s->n_fronts ? sp_fronts_wait() : 0;
	}
	for (size_t i = 0; i < s->n_fronts && r >= 0; i++)
		if (!s->is_off[s->front_recipe[i]])
			r = sp_front_attach(s->fronts[i]);
	return r;
}

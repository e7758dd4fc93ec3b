/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/front.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/recipe_ops.h"
#include "front.skel.h"
#include "front_live.skel.h"
#include "front_session.skel.h"
#include "front_short.skel.h"
#include "probe/attach.h"
#include "recipe/kprobe.h"
#include "recipe/probe.h"
#include "worker/broker.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct sp_front {
	struct front_bpf *skel;
	struct bpf_link *link;
	struct sp_recipe_point point;
	pid_t only;
	struct sp_broker *broker;
};

static bool is_live(enum sp_front_role role)
{
	return role == SP_ROLE_ASK || role == SP_ROLE_GIVEN || role == SP_ROLE_ALLOC || role == SP_ROLE_FREE;
}

/*
 * An object with fewer steps is loaded in half the time. Those of allocations and of whole calls need the kernel's
 * types, which libbpf reads for each object that does. They have the same variables, and maps, or more of them, so they
 * go by this name.
 */
static int object_choose(const struct sp_front_slot *slot, struct bpf_object_skeleton *skeleton)
{
	bool is_short = slot->ops[SP_N_OPS_SHORT].kind == SP_OP_END;

	if (slot->flags & SP_SLOT_SESSION)
		skeleton->data = (void *)front_session_bpf__elf_bytes(&skeleton->data_sz);
	else if (is_live(slot->role))
		skeleton->data = (void *)front_live_bpf__elf_bytes(&skeleton->data_sz);
	else if (is_short)
		skeleton->data = (void *)front_short_bpf__elf_bytes(&skeleton->data_sz);
	return is_live(slot->role) && !is_short ? -E2BIG : 0;
}

static struct front_bpf *front_open(const struct sp_front_slot *slot)
{
	struct front_bpf *skel = calloc(1, sizeof(*skel));
	int r = skel ? front_bpf__create_skeleton(skel) : -ENOMEM;

	if (!r)
		r = object_choose(slot, skel->skeleton);
	if (!r)
		r = bpf_object__open_skeleton(skel->skeleton, NULL);
	if (!r)
		return skel;
	front_bpf__destroy(skel);
	errno = -r;
	return NULL;
}

/* Makes the map the session's, or leaves it out. Not all objects have all maps. */
static int map_share(const struct bpf_object *object, const char *name, int session)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);

	if (!map)
		return 0;
	return session ? bpf_map__reuse_fd(map, session) : bpf_map__set_autocreate(map, false);
}

static int maps_share(const struct bpf_object *object, const struct sp_front_maps *maps)
{
	const struct {
		const char *name;
		int session;
	} all[] = {{"scratch", maps->scratch},   {"counters", maps->counters}, {"guards", maps->guards},
		   {"episodes", maps->episodes}, {"targets", maps->targets},   {"stamps", maps->stamps},
		   {"live", maps->live},         {"calls", maps->calls}};
	int r = 0;

	for (size_t i = 0; i < SP_COUNT(all) && !r; i++)
		r = map_share(object, all[i].name, all[i].session);
	return r;
}

static int front_load(struct sp_front *f, const struct sp_front_slot *slot, const struct sp_front_maps *maps)
{
	sp_u32 zero = 0, sink = (sp_u32)maps->sink;
	struct sp_config *config;
	int r;

	f->skel = front_open(slot);
	if (!f->skel)
		return sp_fail(-errno, "open the BPF object of an event");
	config = (struct sp_config *)&f->skel->rodata->sp_config;
	*(struct sp_front_slot *)&f->skel->rodata->sp_slot = *slot;
	sp_slot_program_set(slot, f->skel->progs.sp_front_raw);
	config->nests = 1;
	config->guards = maps->guards != 0;
	if (maps->config) {
		config->filter = maps->config->filter;
		config->cgroup = maps->config->cgroup;
		config->cgroup_level = maps->config->cgroup_level;
	}
	r = maps_share(f->skel->obj, maps);
	if (!r)
		r = bpf_map__set_autocreate(f->skel->maps.marks, slot->flags & SP_SLOT_MARK);
	if (!r)
		r = front_bpf__load(f->skel);
	if (!r && bpf_map_update_elem(bpf_map__fd(f->skel->maps.sink), &zero, &sink, BPF_ANY))
		r = -errno;
	return r ? sp_fail(r, "load the BPF program of an event") : 0;
}

int sp_front_load(const struct sp_front_slot *slot, const struct sp_front_maps *maps, struct sp_front **ret_front)
{
	struct sp_front *f = calloc(1, sizeof(*f));
	int r = f ? front_load(f, slot, maps) : -ENOMEM;

	if (r < 0)
		sp_front_free(f);
	else
		*ret_front = f;
	return r;
}

/*
 * A perf event of the tracepoint, opened on one CPU, runs the program on all of them. It need not count by itself, and
 * is switched off again: then the kernel leaves it when the program has run.
 */
static int record_attach(const struct sp_recipe_point *point, struct bpf_program *program, struct sp_broker *broker,
			 struct bpf_link **ret_link, int *ret_event)
{
	struct perf_event_attr attr = {.size = sizeof(attr), .type = PERF_TYPE_TRACEPOINT, .config = point->id};
	int r, fd = broker ? sp_broker_event(broker, &attr, 0)
			   : (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return sp_fail(broker ? fd : -errno, "open the tracepoint %s", point->where);
	if (ret_event)
		*ret_event = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	*ret_link = bpf_program__attach_perf_event(program, fd); /* the link owns fd now */
	if (*ret_link)
		return ioctl(fd, PERF_EVENT_IOC_DISABLE, 0)
			   ? sp_fail(-errno, "attach to the tracepoint %s", point->where)
			   : 0;
	r = -errno;
	close(fd);
	return sp_fail(r, "attach to the tracepoint %s", point->where);
}

int sp_point_attach(const struct sp_recipe_point *point, struct bpf_program *program, pid_t only,
		    struct sp_broker *broker, struct bpf_link **ret_link, int *ret_event)
{
	if (point->probe)
		return sp_recipe_probe_attach(point->probe, bpf_program__fd(program), only);
	if (point->slot.flags & SP_SLOT_KPROBE)
		return sp_kprobe_attach(point, program, ret_link);
	if (point->at == SP_AT_RECORD)
		return record_attach(point, program, broker, ret_link, ret_event);
	*ret_link = bpf_program__attach_raw_tracepoint(program, point->where);
	if (*ret_link)
		return 0;
	if (errno == ENOENT)
		return sp_fail_said(-EOPNOTSUPP, "this kernel has no tracepoint %s", point->where);
	return sp_fail(-errno, "attach to the tracepoint %s", point->where);
}

void sp_slot_program_set(const struct sp_front_slot *slot, struct bpf_program *program)
{
	if (slot->flags & SP_SLOT_RECORD)
		bpf_program__set_type(program, BPF_PROG_TYPE_TRACEPOINT);
	if (!(slot->flags & SP_SLOT_PROBE))
		return;
	bpf_program__set_type(program, BPF_PROG_TYPE_KPROBE);
	if (!(slot->flags & SP_SLOT_KPROBE))
		bpf_program__set_expected_attach_type(
		    program, (enum bpf_attach_type)sp_probe_attach_type(
				 slot->flags & SP_SLOT_SESSION ? SP_PROBE_SESSION : SP_PROBE_ENTRY));
}

int sp_front_attach(struct sp_front *f)
{
	if (f->link)
		return 0;
	return sp_point_attach(&f->point, f->skel->progs.sp_front_raw, f->only, f->broker, &f->link, NULL);
}

int sp_front_new(const struct sp_recipe_point *point, const struct sp_front_maps *maps, struct sp_front **ret_front)
{
	struct sp_front *f;
	int r = sp_front_load(&point->slot, maps, &f);

	if (r < 0)
		return r;
	f->point = *point;
	f->only = maps->only;
	if (point->slot.flags & SP_SLOT_MARK)
		r = sp_recipe_probe_front(point->probe, bpf_map__fd(f->skel->maps.marks));
	r = r < 0 ? r : sp_front_attach(f); /* we still have the privileges; once more it is attached by the broker */
	f->broker = maps->broker;
	if (point->probe)
		sp_recipe_probe_broker(point->probe, maps->broker);
	if (r < 0)
		sp_front_free(f);
	else
		*ret_front = f;
	return r;
}

int sp_front_program(const struct sp_front *front)
{
	return bpf_program__fd(front->skel->progs.sp_front_raw);
}

unsigned sp_front_trap_ns(const struct sp_front *front)
{
	return front->point.probe ? sp_recipe_probe_trap_ns(front->point.probe) : 0;
}

enum sp_front_role sp_front_role(const struct sp_front *front)
{
	return front->skel->rodata->sp_slot.role;
}

bool sp_front_can_be_at(const char *tracepoint)
{
	const struct bpf_insn nothing[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
	SP_CLOSE int program =
	    bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL, "GPL", nothing, SP_COUNT(nothing), NULL);
	SP_CLOSE int fd = program < 0 ? -1 : bpf_raw_tracepoint_open(tracepoint, program);

	return fd >= 0;
}

void sp_front_detach(struct sp_front *front)
{
	if (front->point.probe)
		sp_recipe_probe_detach(front->point.probe);
	bpf_link__destroy(front->link);
	front->link = NULL;
}

void sp_front_free(struct sp_front *front)
{
	if (!front)
		return;
	sp_front_detach(front);
	front_bpf__destroy(front->skel);
	free(front);
}

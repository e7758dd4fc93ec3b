/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpu.c: the cpu recipe: one perf event on every CPU, whose overflow runs the kernel half.
 *
 * The clock events get a fixed period in ns (frequency / 1e9); hardware and other software events get either the given
 * period or, by frequency, the kernel's own adjustment.
 */
#include "base/error.h"
#include "base/mem.h"
#include "capture/capture.h"
#include "cpu.skel.h"
#include "recipe/events.h"
#include "recipe/recipe.h"
#include "worker/broker.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct cpu_link {
	unsigned cpu;
	int fd; /* of the event; the link's */
	struct bpf_link *link;
};
struct cpu_session {
	struct cpu_bpf *skel;
	struct cpu_link *links;
	size_t n_links, links_capacity;
	struct bpf_link *follow_links[3];
};

static int cpu_open(const struct sp_capture_options *o, struct sp_recipe_object *ret_object)
{
	struct cpu_session *s = calloc(1, sizeof(*s));

	(void)o;
	if (!s)
		return -ENOMEM;
	s->skel = cpu_bpf__open();
	if (!s->skel) {
		int r = -errno;

		free(s);
		return sp_fail(r, "open the BPF object");
	}
	ret_object->object = s->skel->obj;
	ret_object->config = (struct sp_config *)&s->skel->rodata->sp_config;
	ret_object->private = s;
	return 0;
}

static int cpu_load(struct sp_recipe_object *object, struct sp_recipe_shared *ret_shared)
{
	struct cpu_session *s = object->private;
	int r = cpu_bpf__load(s->skel);

	if (r)
		return r;
	ret_shared->slicing = (volatile struct sp_slicing *)&s->skel->bss->sp_slicing;
	ret_shared->window = &s->skel->bss->sp_drain_number;
	ret_shared->check = &s->skel->bss->sp_check;
	ret_shared->last_process = &s->skel->bss->sp_last_process;
	return 0;
}

static int cpu_event(const struct sp_capture_options *o, struct perf_event_attr *ret_attr)
{
	const struct sp_event *event = sp_event_find(o->event);

	if (!event)
		return sp_recipe_event_check(o->event);
	*ret_attr = (struct perf_event_attr){.size = sizeof(*ret_attr), .type = event->type, .config = event->config};
	if (o->period) {
		ret_attr->sample_period = o->period;
	} else if (event->is_clock) {
		ret_attr->sample_period = 1000000000ULL / o->frequency_hz;
	} else {
		ret_attr->freq = 1;
		ret_attr->sample_freq = o->frequency_hz;
	}
	return 0;
}

static int event_open(const struct sp_capture_options *o, unsigned cpu)
{
	struct perf_event_attr attr;
	int fd, r = cpu_event(o, &attr);

	if (r < 0)
		return r;
	fd = o->broker ? sp_broker_event(o->broker, &attr, cpu)
		       : (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		return fd;
	r = o->broker ? fd : -errno;
	sp_error_clear();
	return sp_event_refused(r, o->event, cpu);
}

/* Where the link of this CPU is or is to be; NULL: out of memory. */
static struct cpu_link *link_of(struct cpu_session *s, unsigned cpu)
{
	size_t i;

	for (i = 0; i < s->n_links; i++)
		if (s->links[i].cpu == cpu)
			return &s->links[i];
	if (sp_grow(&s->links, &s->links_capacity, s->n_links + 1, sizeof(*s->links)) < 0)
		return NULL;
	s->links[s->n_links] = (struct cpu_link){.cpu = cpu};
	return &s->links[s->n_links++];
}

static int cpu_attach_one(struct sp_recipe_object *object, const struct sp_capture_options *o, unsigned cpu)
{
	struct cpu_session *s = object->private;
	struct cpu_link *at = link_of(s, cpu);
	int fd = at ? event_open(o, cpu) : -ENOMEM, r;

	if (fd < 0)
		return fd;
	bpf_link__destroy(at->link);                                          /* of a CPU that was away: it is dead */
	at->link = bpf_program__attach_perf_event(s->skel->progs.sp_cpu, fd); /* the link owns fd now */
	at->fd = fd;
	if (at->link)
		return 0;
	r = -errno;
	close(fd);
	return sp_fail(r, "attach to the event on CPU %u", cpu);
}

/* An event of a CPU that has gone takes no orders any more, which is no failure. */
static int each_event(struct cpu_session *s, unsigned long request, void *value)
{
	size_t i;

	for (i = 0; i < s->n_links; i++)
		if (s->links[i].link && ioctl(s->links[i].fd, request, value) && errno != ENODEV)
			return sp_fail(-errno, "give orders to the event on CPU %u", s->links[i].cpu);
	return 0;
}

/* Events that do not take it keep the old one, all of them. */
static int clock_rate(struct cpu_session *s, uint64_t period_ns)
{
	volatile struct sp_ticks *ticks = &s->skel->bss->sp_ticks;
	uint64_t old_ns = ticks->period_ns;
	int r;

	ticks->longest_ns = SP_MAX(ticks->longest_ns, 2 * (old_ns + period_ns)); /* ticks may be late */
	__atomic_fetch_add(&ticks->change, 1, __ATOMIC_SEQ_CST);
	r = each_event(s, PERF_EVENT_IOC_PERIOD, &period_ns);
	if (r < 0)
		each_event(s, PERF_EVENT_IOC_PERIOD, &old_ns);
	ticks->period_ns = r < 0 ? old_ns : period_ns;
	__atomic_fetch_add(&ticks->change, 1, __ATOMIC_SEQ_CST);
	return r;
}

static int cpu_rate(struct sp_recipe_object *object, struct sp_capture_options *o, uint64_t rate_millihertz)
{
	const struct sp_event *event = sp_event_find(o->event);
	struct sp_capture_options changed = *o;
	uint64_t hz = SP_MAX(rate_millihertz / 1000, 1);
	int r;

	if (!event || !rate_millihertz || (o->period && !event->is_clock))
		return sp_fail_said(-EINVAL, "this event has no rate");
	changed.frequency_hz = hz;
	changed.period = event->is_clock ? 1000000000000ULL / rate_millihertz : 0;
	r = event->is_clock ? clock_rate(object->private, changed.period)
			    : each_event(object->private, PERF_EVENT_IOC_PERIOD, &hz);
	if (r >= 0)
		*o = changed;
	return r;
}

static int cpu_pause(struct sp_recipe_object *object, bool is_paused)
{
	return each_event(object->private, is_paused ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, NULL);
}

static int follow_attach(struct cpu_session *s)
{
	struct bpf_program *programs[] = {s->skel->progs.sp_fork, s->skel->progs.sp_exec, s->skel->progs.sp_exit};
	size_t i;

	for (i = 0; i < SP_COUNT(programs); i++) {
		s->follow_links[i] = bpf_program__attach(programs[i]);
		if (!s->follow_links[i])
			return sp_fail(-errno, "follow the processes that the command starts");
	}
	return 0;
}

static int cpu_attach(struct sp_recipe_object *object, const struct sp_capture_options *o)
{
	struct cpu_session *s = object->private;
	struct perf_event_attr attr;
	size_t i;
	int r = o->follow ? follow_attach(s) : 0;

	if (!r)
		r = cpu_event(o, &attr);
	if (!r && sp_event_find(o->event)->is_clock)
		s->skel->bss->sp_ticks.period_ns = attr.sample_period;
	for (i = 0; !r && i < o->n_cpus; i++)
		r = cpu_attach_one(object, o, o->cpus[i]);
	return r;
}

static void cpu_detach(struct sp_recipe_object *object)
{
	struct cpu_session *s = object->private;
	size_t i;

	for (i = 0; i < s->n_links; i++)
		bpf_link__destroy(s->links[i].link);
	s->n_links = 0;
	for (i = 0; i < SP_COUNT(s->follow_links); i++) {
		bpf_link__destroy(s->follow_links[i]);
		s->follow_links[i] = NULL;
	}
}

static void cpu_destroy(struct sp_recipe_object *object)
{
	struct cpu_session *s = object->private;

	cpu_detach(object);
	cpu_bpf__destroy(s->skel);
	free(s->links);
	free(s);
	object->object = NULL;
}

static void cpu_period(const struct sp_capture_options *o, uint64_t *ret_period, const char **ret_type,
		       const char **ret_unit)
{
	const struct sp_event *event = sp_event_find(o->event);
	bool is_clock = !event || event->is_clock;

	*ret_type = is_clock ? "cpu" : event->name;
	*ret_unit = is_clock ? "nanoseconds" : "count";
	*ret_period = o->period ? o->period : is_clock ? 1000000000ULL / o->frequency_hz : 1;
}

const struct sp_recipe sp_recipe_cpu = {
    .name = "cpu",
    .summary = "stacks of threads running on a CPU, at a timed interval",
    .values = {{"samples", "count"}, {"cpu", "nanoseconds"}},
    .open = cpu_open,
    .load = cpu_load,
    .attach = cpu_attach,
    .attach_cpu = cpu_attach_one,
    .rate = cpu_rate,
    .pause = cpu_pause,
    .detach = cpu_detach,
    .destroy = cpu_destroy,
    .event = cpu_event,
    .period = cpu_period,
};

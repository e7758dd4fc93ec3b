/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ground.c: the user half of the ground: its object, and what is attached to it: perf events on every CPU, whose
 * overflows run it, and fronts (front.h).
 *
 * The clock events get a fixed period in ns (frequency / 1e9); hardware and other software events get either the given
 * period or, by frequency, the kernel's own adjustment.
 */
#include "base/error.h"
#include "base/mem.h"
#include "capture/capture.h"
#include "ground.skel.h"
#include "recipe/beside.h"
#include "recipe/events.h"
#include "recipe/front.h"
#include "recipe/ground_priv.h"
#include "recipe/probe_watch.h"
#include "recipe/recipe.h"
#include "worker/broker.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SP_N_SCRATCH = 4 }; /* for each CPU, where programs nest */

/* Programs that no recipe of the session needs are not loaded. */
static void programs_choose(struct ground_bpf *skel, const struct sp_capture_options *o, bool has_stamps)
{
	bool nests = sp_recipes_nest(o->recipes);

	bpf_program__set_autoload(skel->progs.sp_cpu, sp_ground_has(o, SP_AT_PERF));
	bpf_program__set_autoload(skel->progs.sp_blocked, sp_recipes_wait(o->recipes) && (!o->follow || has_stamps));
	bpf_program__set_autoload(skel->progs.sp_flush, sp_ground_has(o, SP_AT_RAW) && o->drain_ns);
	bpf_program__set_autoload(skel->progs.sp_seek, !o->no_seek);
	bpf_program__set_autoload(skel->progs.sp_kernel_name, o->kernel || o->wakers != SP_NO_WAKERS);
	/* sinks name them */
	bpf_map__set_autocreate(skel->maps.episodes, sp_ground_has(o, SP_AT_RAW) || sp_ground_has(o, SP_AT_RECORD) ||
							 sp_ground_has(o, SP_AT_PROBE) ||
							 sp_ground_has(o, SP_AT_KPROBE));
	bpf_map__set_autocreate(skel->maps.usual, sp_recipes_wait(o->recipes));
	skel->rodata->sp_config.usual = sp_recipes_wait(o->recipes);
	skel->rodata->sp_config.is_live = sp_recipes_have_live(o->recipes);
	bpf_map__set_autocreate(skel->maps.live, sp_recipes_have_live(o->recipes));
	bpf_map__set_autocreate(skel->maps.calls, sp_recipes_have_live(o->recipes));
	bpf_program__set_autoload(skel->progs.sp_age, sp_recipes_have_live(o->recipes) && o->older_ns);
	skel->rodata->sp_config.older_ns = o->older_ns;
	if (o->live_entries)
		bpf_map__set_max_entries(skel->maps.live, o->live_entries);
	bpf_map__set_autocreate(skel->maps.stamps, has_stamps);
	skel->rodata->sp_config.stamps = has_stamps;
	bpf_map__set_autocreate(skel->maps.guards, sp_guard_is_wanted(o));
	bpf_map__set_autocreate(skel->maps.guard_counts, sp_guard_is_wanted(o));
	skel->rodata->sp_config.guards = sp_guard_is_wanted(o);
	bpf_map__set_autocreate(skel->maps.over_users, o->users != NULL);
	skel->rodata->sp_config.users = o->users != NULL;
	skel->rodata->sp_config.nests = nests;
	skel->rodata->sp_config.n_recipes = sp_recipes_count(o->recipes);
	if (nests)
		bpf_map__set_max_entries(skel->maps.scratch, SP_N_SCRATCH);
}

static int ground_open(const struct sp_capture_options *o, struct sp_recipe_object *ret_object)
{
	struct ground *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	sp_beside_prepare();
	s->skel = ground_bpf__open();
	if (!s->skel) {
		int r = -errno;

		free(s);
		return sp_fail(r, "open the BPF object");
	}
	s->has_stamps = sp_recipes_want_stamps(o);
	programs_choose(s->skel, o, s->has_stamps);
	sp_sinks_choose(s, o);
	ret_object->object = s->skel->obj;
	ret_object->config = (struct sp_config *)&s->skel->rodata->sp_config;
	ret_object->private = s;
	return 0;
}

/* The programs with the unwinder, of which each takes as long as all others together, but for one of them. */
static int besides_choose(const struct ground_bpf *skel, struct sp_besides *ret_besides)
{
	struct bpf_program *large[] = {skel->progs.sp_sink_raw, skel->progs.sp_cpu, skel->progs.sp_blocked};
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < SP_COUNT(large); i++)
		n += bpf_program__autoload(large[i]);
	for (size_t i = 0; i < SP_COUNT(large) && ret_besides->n + 1 < n && !r; i++)
		if (bpf_program__autoload(large[i]))
			r = sp_beside_choose(ret_besides, large[i]);
	return r;
}

static int programs_load(struct ground_bpf *skel)
{
	struct sp_besides besides = {.n = 0};
	int r = besides_choose(skel, &besides);

	if (!r)
		r = ground_bpf__load(skel);
	return sp_beside_finish(&besides, r);
}

static int ground_load(struct sp_recipe_object *object, const struct sp_capture_options *o,
		       struct sp_recipe_shared *ret_shared)
{
	struct ground *s = object->private;
	int r = programs_load(s->skel);

	if (!r)
		r = sp_sinks_load(s, o);
	if (r)
		return r;
	ret_shared->slicing = (volatile struct sp_slicing *)&s->skel->bss->sp_slicing;
	ret_shared->drain = &s->skel->bss->sp_drain_number;
	ret_shared->check = &s->skel->bss->sp_check;
	ret_shared->kernel_name = &s->skel->bss->sp_kernel_name_ask;
	ret_shared->last_process = &s->skel->bss->sp_last_process;
	return 0;
}

/* The perf event of an attach point; false: it has none, or an unknown one. */
static bool event_at(const struct sp_recipe_point *point, const struct sp_capture_options *o,
		     struct sp_event *ret_event)
{
	return point->at == SP_AT_PERF && sp_event_named(point->where ? point->where : o->event, ret_event);
}

/* That of a recipe, or the first of several. */
static bool event_of(const struct sp_recipe *recipe, const struct sp_capture_options *o, struct sp_event *ret_event)
{
	const struct sp_recipe_point *point = recipe->points;

	if (o->backend == SP_BACKEND_PERF && recipe->without_bpf)
		return sp_event_named(recipe->without_bpf, ret_event);
	while (point->at && point->at != SP_AT_PERF)
		point++;
	return event_at(point, o, ret_event);
}

static uint64_t period_of(const struct sp_recipe *recipe, const struct sp_capture_options *o)
{
	return o->period ? o->period : recipe->period;
}

static void attr_make(const struct sp_event *event, uint64_t period, const struct sp_capture_options *o,
		      struct perf_event_attr *ret_attr)
{
	*ret_attr = (struct perf_event_attr){.size = sizeof(*ret_attr),
					     .type = event->type,
					     .config = event->config,
					     .exclude_user = event->kernel_only,
					     .exclude_kernel = event->user_only};
	if (period) {
		ret_attr->sample_period = period;
	} else if (event->is_clock) {
		ret_attr->sample_period = 1000000000ULL / o->frequency_hz;
	} else {
		ret_attr->freq = 1;
		ret_attr->sample_freq = o->frequency_hz;
	}
}

static int ground_event(const struct sp_recipe *recipe, const struct sp_capture_options *o,
			struct perf_event_attr *ret_attr)
{
	struct sp_event event;

	if (!event_of(recipe, o, &event))
		return sp_fail_said(-EOPNOTSUPP, "%s is sampled with BPF only", recipe->name);
	attr_make(&event, period_of(recipe, o), o, ret_attr);
	return 0;
}

static int event_open(const struct sp_event *event, uint64_t period, const struct sp_capture_options *o, unsigned cpu)
{
	struct perf_event_attr attr;
	int fd, r;

	attr_make(event, period, o, &attr);
	fd = o->broker ? sp_broker_event(o->broker, &attr, cpu)
		       : (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		return fd;
	r = o->broker ? fd : -errno;
	sp_error_clear();
	return sp_event_refused(r, event->name, cpu);
}

/* Where the link of this attach point and CPU is kept; NULL: out of memory. */
static struct event_link *link_of(struct ground *s, unsigned recipe, unsigned point, unsigned cpu)
{
	size_t i;

	for (i = 0; i < s->n_links; i++)
		if (s->links[i].cpu == cpu && s->links[i].recipe == recipe && s->links[i].point == point)
			return &s->links[i];
	if (sp_grow(&s->links, &s->links_capacity, s->n_links + 1, sizeof(*s->links)) < 0)
		return NULL;
	s->links[s->n_links] = (struct event_link){.cpu = cpu, .recipe = recipe, .point = point};
	return &s->links[s->n_links++];
}

static int event_attach(struct ground *s, const struct sp_capture_options *o, unsigned recipe, unsigned point,
			unsigned cpu)
{
	const struct sp_recipe_point *what = &o->recipes[recipe]->points[point];
	LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = recipe | (o->objects ? what->cookie : 0));
	struct event_link *at;
	struct sp_event event;
	int fd, r;

	if (!event_at(what, o, &event))
		return 0;
	at = link_of(s, recipe, point, cpu);
	fd = at ? event_open(&event, period_of(o->recipes[recipe], o), o, cpu) : -ENOMEM;

	if (fd < 0)
		return fd;
	bpf_link__destroy(at->link); /* if the CPU was away: that link is dead */
	at->link = bpf_program__attach_perf_event_opts(s->skel->progs.sp_cpu, fd, &opts); /* the link owns fd now */
	at->fd = fd;
	if (at->link && s->is_off[recipe] && ioctl(fd, PERF_EVENT_IOC_DISABLE, 0))
		return sp_fail(-errno, "switch off the event on CPU %u", cpu);
	if (at->link)
		return 0;
	r = -errno;
	close(fd);
	return sp_fail(r, "attach to the event on CPU %u", cpu);
}

static int ground_attach_one(struct sp_recipe_object *object, const struct sp_capture_options *o, unsigned cpu)
{
	struct ground *s = object->private;
	int r = 0;

	for (unsigned i = 0; o->recipes[i] && !r; i++)
		for (unsigned k = 0; k < SP_MAX_POINTS && !r; k++)
			r = event_attach(s, o, i, k, cpu);
	return r;
}

/* Those of recipes that are off stay as they are. ENODEV is no failure: the event's CPU has gone. */
static int each_event(struct ground *s, unsigned long request, void *value)
{
	size_t i;

	for (i = 0; i < s->n_links; i++)
		if (s->links[i].link && !s->is_off[s->links[i].recipe] && ioctl(s->links[i].fd, request, value) &&
		    errno != ENODEV)
			return sp_fail(-errno, "give orders to the event on CPU %u", s->links[i].cpu);
	return 0;
}

/* If one event refuses the new period, all of them get the old one back. */
static int clock_rate(struct ground *s, uint64_t period_ns)
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

static int ground_rate(struct sp_recipe_object *object, struct sp_capture_options *o, uint64_t rate_millihertz)
{
	struct sp_capture_options changed = *o;
	struct sp_event event;
	uint64_t hz = SP_MAX(rate_millihertz / 1000, 1);
	int r;

	if (!event_of(o->recipes[0], o, &event) || !rate_millihertz || (o->period && !event.is_clock))
		return sp_fail_said(-EINVAL, "this event has no rate");
	changed.frequency_hz = hz;
	changed.period = event.is_clock ? 1000000000000ULL / rate_millihertz : 0;
	r = event.is_clock ? clock_rate(object->private, changed.period)
			   : each_event(object->private, PERF_EVENT_IOC_PERIOD, &hz);
	if (r >= 0)
		*o = changed;
	return r;
}

static int events_switch(struct ground *s, unsigned recipe, bool is_on)
{
	for (size_t i = 0; i < s->n_links; i++)
		if (s->links[i].recipe == recipe && s->links[i].link &&
		    ioctl(s->links[i].fd, is_on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) && errno != ENODEV)
			return sp_fail(-errno, "switch the event on CPU %u", s->links[i].cpu);
	return 0;
}

static int ground_set(struct sp_recipe_object *object, const struct sp_capture_options *o, unsigned recipe, bool is_on)
{
	struct ground *s = object->private;
	int r = events_switch(s, recipe, is_on);

	s->is_off[recipe] = !is_on;
	if (!is_on)
		sp_fronts_detach(s, (int)recipe);
	for (size_t i = 0; i < s->n_fronts && r >= 0 && is_on; i++)
		if (s->front_recipe[i] == recipe)
			r = sp_front_attach(s->fronts[i]);
	return r < 0 || is_on || !o->recipes[recipe]->min_ns ? r : sp_fronts_wait();
}

static uint64_t ground_hits(const struct sp_recipe_object *object, const struct sp_capture_options *o, unsigned recipe)
{
	const struct ground *s = object->private;
	uint64_t sum = 0, n;

	for (size_t i = 0; i < s->n_links; i++)
		if (s->links[i].recipe == recipe && s->links[i].link &&
		    read(s->links[i].fd, &n, sizeof(n)) == sizeof(n))
			sum += n;
	return sum / SP_MAX(period_of(o->recipes[recipe], o), 1);
}

static int ground_pause(struct sp_recipe_object *object, bool is_paused)
{
	int r = sp_fronts_pause(object->private, is_paused);

	return r < 0 ? r
		     : each_event(object->private, is_paused ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, NULL);
}

/* One that is not loaded is not wanted. */
static int ground_run(const struct bpf_program *program, const char *what)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int fd = bpf_program__fd(program);

	return fd >= 0 && bpf_prog_test_run_opts(fd, &opts) ? sp_fail(-errno, "%s", what) : 0;
}

static int ground_flush(struct sp_recipe_object *object)
{
	const struct ground *s = object->private;
	int r = ground_run(s->skel->progs.sp_flush, "count the episodes that are open");

	return r < 0 ? r : ground_run(s->skel->progs.sp_age, "tell young allocations from old ones");
}

static int ground_threads(struct sp_recipe_object *object, const struct sp_threads_asked *asked)
{
	struct ground *s = object->private;
	struct bpf_link *link = bpf_program__attach_iter(s->skel->progs.sp_blocked, NULL);
	int fd;

	if (!link)
		return sp_fail(-errno, "attach to the list of threads");
	s->skel->bss->sp_blocked_asked = *asked;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		fd = sp_fail(-errno, "list the threads");
	bpf_link__destroy(link);
	return fd;
}

static int ground_stamps_end(struct sp_recipe_object *object, unsigned recipe)
{
	struct ground *s = object->private;
	int r;

	if (!s->has_stamps)
		return 0;
	for (size_t i = 0; i < s->n_fronts; i++)
		if (s->front_recipe[i] == recipe && sp_front_role(s->fronts[i]) == SP_ROLE_LEAVE)
			sp_front_detach(s->fronts[i]);
	r = sp_fronts_wait();
	return r < 0 ? r : 1;
}

static int follow_attach(struct ground *s)
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

/* Only one clock's ticks are weighed by sp_weight(): those of the first recipe that samples by a clock. */
static int ticks_choose(struct ground *s, const struct sp_capture_options *o)
{
	struct perf_event_attr attr;
	struct sp_event event;
	unsigned i;
	int r = 0;

	for (i = 0; o->recipes[i] && !r; i++) {
		if (!event_of(o->recipes[i], o, &event) || !event.is_clock)
			continue;
		r = ground_event(o->recipes[i], o, &attr);
		s->skel->bss->sp_ticks.period_ns = attr.sample_period;
		s->skel->bss->sp_ticks.recipe = i;
		break;
	}
	return r;
}

static int ground_watch_fd(const struct sp_recipe_object *object)
{
	const struct ground *s = object->private;

	return s->watch ? sp_recipe_watch_fd(s->watch) : -1;
}

static int ground_watch(struct sp_recipe_object *object, struct sp_workers *workers)
{
	struct ground *s = object->private;

	return s->watch ? sp_recipe_watch_turn(s->watch, workers) : 0;
}

/* We still have the privileges for the events here; those of CPUs that come later are opened by the broker. */
static int ground_attach(struct sp_recipe_object *object, const struct sp_capture_options *o)
{
	struct sp_capture_options privileged = *o;
	struct ground *s = object->private;
	size_t i;
	int r = o->follow ? follow_attach(s) : 0;

	privileged.broker = NULL;
	if (!r)
		r = ticks_choose(s, o);
	for (i = 0; !r && i < o->n_cpus; i++)
		r = ground_attach_one(object, &privileged, o->cpus[i]);
	if (!r)
		r = sp_fronts_watch(s, o);
	return r ? r : sp_fronts_attach(s, o);
}

static void ground_detach(struct sp_recipe_object *object)
{
	struct ground *s = object->private;
	size_t i;

	for (i = 0; i < s->n_links; i++)
		bpf_link__destroy(s->links[i].link);
	s->n_links = 0;
	sp_fronts_detach(s, -1);
	for (i = 0; i < SP_COUNT(s->follow_links); i++) {
		bpf_link__destroy(s->follow_links[i]);
		s->follow_links[i] = NULL;
	}
}

static void ground_destroy(struct sp_recipe_object *object)
{
	struct ground *s = object->private;

	ground_detach(object);
	for (size_t i = 0; i < s->n_fronts; i++)
		sp_front_free(s->fronts[i]);
	for (size_t i = 0; i < SP_COUNT(s->sink_objects); i++)
		bpf_object__close(s->sink_objects[i]);
	if (s->owns_watch)
		sp_recipe_watch_free(s->watch);
	ground_bpf__destroy(s->skel);
	free(s->links);
	free(s);
	object->object = NULL;
}

static int ground_front(const struct sp_recipe_object *object, size_t i, unsigned *ret_recipe, unsigned *ret_trap_ns)
{
	const struct ground *s = object->private;

	if (i >= s->n_fronts)
		return -1;
	*ret_recipe = s->front_recipe[i];
	*ret_trap_ns = sp_front_trap_ns(s->fronts[i]);
	return sp_front_program(s->fronts[i]);
}

static void ground_period(const struct sp_capture_options *o, uint64_t *ret_period, const char **ret_type,
			  const char **ret_unit)
{
	const struct sp_recipe *recipe = o->recipes[0];
	struct sp_event event = {0};
	bool has_event = event_of(recipe, o, &event), is_counter = has_event && !event.is_clock;
	uint64_t period = has_event ? period_of(recipe, o) : 1;

	*ret_type = is_counter ? event.name : recipe->values[1].name;
	*ret_unit = is_counter ? "count" : recipe->values[1].unit;
	*ret_period = period ? period : event.is_clock ? 1000000000ULL / o->frequency_hz : 1;
}

const struct sp_ground sp_ground = {
    .open = ground_open,
    .load = ground_load,
    .attach = ground_attach,
    .attach_cpu = ground_attach_one,
    .rate = ground_rate,
    .pause = ground_pause,
    .set = ground_set,
    .hits = ground_hits,
    .flush = ground_flush,
    .threads = ground_threads,
    .stamps_end = ground_stamps_end,
    .watch_fd = ground_watch_fd,
    .watch = ground_watch,
    .detach = ground_detach,
    .destroy = ground_destroy,
    .front = ground_front,
    .event = ground_event,
    .period = ground_period,
};

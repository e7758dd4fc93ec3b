/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "capture/capture.h"
#include "proc/process.h"
#include "recipe/events.h"
#include "recipe/front.h"
#include "recipe/kprobe.h"
#include "recipe/narrow.h"
#include "recipe/probe.h"
#include "recipe/probe_watch.h"
#include "recipe/recipe_point.h"
#include "recipe/tracepoint.h"
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

const struct sp_recipe sp_recipe_cpu = {
    .name = "cpu",
    .title = "CPU time",
    .summary = "threads that run, at a timed interval",
    .values = {{"samples", "count"}, {"cpu", "nanoseconds"}},
    .points = {{.at = SP_AT_PERF}},
    .hit_ns = 11000,
    .ground = &sp_ground,
};

/*
 * sched_switch runs in the thread that stops: here its wait begins, and that of the next thread ends. A thread is known
 * by the address of its task. Idle threads and dying ones begin no wait. The kernel runs our programs in the order of
 * the points: the end goes first, so that the thread that goes on does not seem to wait while the other's stack is
 * walked.
 */
#define SWITCH                                                                                                         \
	.at = SP_AT_RAW, .where = "sched_switch",                                                                      \
	.arguments = "bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state"
#define WAIT_END                                                                                                       \
	{                                                                                                              \
		SWITCH, .slot = {.role = SP_ROLE_END}, .match = "next"                                                 \
	}

/* It runs in a thread that ends. Since it runs, the end of a wait that is still open was missed. */
#define WAIT_FORGET(f)                                                                                                 \
	{                                                                                                              \
		.at = SP_AT_RAW, .where = "sched_process_exit", .arguments = "struct task_struct *p",                  \
		.slot = {.role = SP_ROLE_FORGET, .flags = (f)}, .match = "p"                                           \
	}

/* Where threads are stamped. It runs in a thread that is back, before it does anything. */
#define WAIT_RETURN(f)                                                                                                 \
	.at = SP_AT_RAW, .where = SP_RETURN_AT, .arguments = "bool is_switch", .filter = "is_switch", .match = "task", \
	.slot = {.role = SP_ROLE_RETURN, .flags = (f)}

#define ALL_WAITS                                                                                                      \
	WAIT_END, {WAIT_RETURN(SP_SLOT_USER | SP_SLOT_KERNEL | SP_SLOT_NO_KTHREAD)},                                   \
	    {SWITCH, .filter = "tid && !(prev_state & 0x80)" /* TASK_DEAD */, .match = "prev",                         \
	     .state = "preempt ? 0 : prev_state",                                                                      \
	     .slot = {.role = SP_ROLE_BEGIN,                                                                           \
		      .flags = SP_SLOT_USER | SP_SLOT_KERNEL | SP_SLOT_NO_KTHREAD | SP_SLOT_ALL_WAITS}},               \
	    WAIT_FORGET(SP_SLOT_ALL_WAITS)

/* sched_waking(p) runs in the thread that wakes p, or in the interrupt. */
static const struct sp_recipe_point waker = {.at = SP_AT_RAW,
					     .where = "sched_waking",
					     .arguments = "struct task_struct *p",
					     .match = "p",
					     .slot = {.role = SP_ROLE_WAKER, .flags = SP_SLOT_USER | SP_SLOT_KERNEL}};

#define TEXT(x) #x
#define NUMBER(x) TEXT(x)

/*
 * The built-in recipes: what is sampled or counted. The system call of `locks` is read from the registers that the
 * thread saved, so that other calls cost nothing; its commands of futex(2) are those that wait: WAIT, LOCK_PI,
 * WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2. A thread that is preempted on the way in or out, or stopped there by a signal
 * or a debugger, does not wait for another: it is neither in TASK_INTERRUPTIBLE (1) nor in TASK_UNINTERRUPTIBLE (2).
 */
static const struct sp_recipe built_in[] = {
    {.name = "offcpu",
     .title = "Off-CPU time",
     .summary = "time in which threads do not run",
     .values = {{"samples", "count"}, {"offcpu", "nanoseconds"}},
     .points = {ALL_WAITS},
     .min_ns = 1000,
     .hit_ns = 2000,
     .short_ns = 300},
    {.name = "wall",
     .title = "Wall-clock time",
     .summary = "cpu and offcpu as one value",
     .values = {{"samples", "count"}, {"wall", "nanoseconds"}},
     .points = {{.at = SP_AT_PERF}, ALL_WAITS},
     .min_ns = 1000,
     .hit_ns = 2000,
     .short_ns = 300},
    {.name = "locks",
     .title = "Waiting for locks",
     .summary = "waits for each other, all of futex(2)",
     .values = {{"samples", "count"}, {"locks", "nanoseconds"}},
     .points = {WAIT_END,
		{WAIT_RETURN(SP_SLOT_USER | SP_SLOT_KERNEL | SP_SLOT_NO_KTHREAD | SP_SLOT_NO_EXITING | SP_SLOT_LOCK),
		 .object = "sysarg0"},
		{SWITCH,
		 .filter = "sys == " NUMBER(SYS_futex) " && (sysarg1 & 127) in {0, 6, 9, 11, 13}"
						       " && !preempt && prev_state & 3",
		 .match = "prev", .state = "prev_state", .object = "sysarg0",
		 .slot = {.role = SP_ROLE_BEGIN,
			  .flags =
			      SP_SLOT_USER | SP_SLOT_KERNEL | SP_SLOT_NO_KTHREAD | SP_SLOT_NO_EXITING | SP_SLOT_LOCK}},
		WAIT_FORGET(0)},
     .about = SP_ABOUT_LOCK,
     .min_ns = 1000,
     .hit_ns = 2000,
     .short_ns = 300},
    {.name = "faults",
     .title = "Page faults",
     .summary = "page faults, and what was touched",
     .values = {{"samples", "count"}, {"faults", "count"}},
     .points = {{.at = SP_AT_PERF, .where = "minor-faults", .cookie = SP_COOKIE_MEMORY},
		{.at = SP_AT_PERF, .where = "major-faults", .cookie = SP_COOKIE_MEMORY | SP_COOKIE_MAJOR}},
     .without_bpf = "page-faults",
     .about = SP_ABOUT_MEMORY,
     .period = 1,
     .hit_ns = 2900},
    {.name = "mem",
     .title = "Memory not freed",
     .summary = "memory not freed, and all allocated",
     .values = {{"live", "count"}, {"live_bytes", "bytes"}},
     .is_live = true,
     .hit_ns = 5000},
};

/* What stands behind `mem`. */
static const struct sp_recipe allocations = {
    .name = "allocations",
    .title = "Memory allocated",
    .values = {{"allocations", "count"}, {"bytes", "bytes"}},
    .hit_ns = 0,
    .ground = &sp_ground,
};

/* The built-in recipes with what their fronts run, which is made of their expressions at first use. */
static struct sp_recipe made[SP_COUNT(built_in)];
static int made_result;

static void built_in_make(void)
{
	for (size_t i = 0; i < SP_COUNT(built_in); i++) {
		made[i] = built_in[i];
		made[i].ground = &sp_ground;
		/* A user's points, of other kinds, have their expressions compiled elsewhere. */
		for (size_t k = 0; k < SP_MAX_POINTS && made[i].points[k].at && !made_result; k++)
			if (made[i].points[k].at == SP_AT_RAW)
				made_result = sp_recipe_point_compile(&made[i].points[k], NULL);
			else if (made[i].points[k].at != SP_AT_PERF)
				made_result = -EINVAL;
	}
}

const struct sp_recipe *sp_recipe_at(size_t i)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (!i)
		return &sp_recipe_cpu;
	pthread_once(&once, built_in_make);
	return i <= SP_COUNT(built_in) ? &made[i - 1] : NULL;
}

const struct sp_recipe *sp_recipe_find(const char *name)
{
	for (size_t i = 0; sp_recipe_at(i); i++)
		if (!strcmp(sp_recipe_at(i)->name, name))
			return sp_recipe_at(i);
	return NULL;
}

bool sp_recipe_has_front(const struct sp_recipe *recipe)
{
	return sp_recipe_has(recipe, SP_AT_RAW) || sp_recipe_has(recipe, SP_AT_RECORD) ||
	       sp_recipe_has(recipe, SP_AT_PROBE) || sp_recipe_has(recipe, SP_AT_KPROBE);
}

bool sp_recipe_has(const struct sp_recipe *recipe, enum sp_at at)
{
	for (size_t i = 0; i < SP_MAX_POINTS && recipe->points[i].at; i++)
		if (recipe->points[i].at == at)
			return true;
	return false;
}

bool sp_recipe_counts(const struct sp_recipe *recipe)
{
	return recipe->period || !sp_recipe_has(recipe, SP_AT_PERF) || sp_recipe_has_front(recipe);
}

bool sp_recipe_is_guarded(const struct sp_recipe *recipe)
{
	return sp_recipe_counts(recipe) && recipe->points[0].at && (!recipe->is_live || recipe->trap_ns);
}

bool sp_recipes_have_live(const struct sp_recipe *const *recipes)
{
	for (size_t i = 0; recipes[i]; i++)
		if (recipes[i]->is_live)
			return true;
	return false;
}

bool sp_recipe_has_rate(const struct sp_recipe *recipe)
{
	return sp_recipe_has(recipe, SP_AT_PERF) && !recipe->period;
}

/* --- sets --- */
/* Makes a recipe that the set owns, with so many bytes behind it; its value has the event's name. */
static struct sp_recipe *own_new(struct sp_recipe_set *set, const char *name, size_t more)
{
	struct sp_recipe *own = calloc(1, sizeof(*own) + more);

	if (!own)
		return NULL;
	set->own[set->n] = own;
	own->name = own->title = own->values[1].name = name;
	own->values[0] = sp_recipe_cpu.values[0];
	own->values[1].unit = "count";
	own->ground = &sp_ground;
	return own;
}

/* The error for an unknown name: the tracepoint called so, else the nearest name, or, if none is near, all. */
static int unknown(const char *name)
{
	struct sp_suggest near = {.word = name};
	char list[512] = "", tracepoint[256], event[SP_EVENT_NAME];
	size_t n = 0;

	if (strchr(name, '/') || strstr(name, ".so"))
		return sp_fail_said(-EINVAL, "which function? '%s:FUNCTION', or '%s:*' for all of them", name, name);
	for (size_t i = 0; sp_recipe_at(i) && n < sizeof(list); i++) {
		sp_suggest_offer(&near, sp_recipe_at(i)->name);
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s, ", sp_recipe_at(i)->name);
	}
	for (size_t i = 0; sp_event_at(i) && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s, ", sp_event_at(i)->name);
	sp_event_suggest(&near, event);
	if (sp_tracepoints_nearest(name, near.best != NULL, tracepoint, sizeof(tracepoint)))
		near.best = tracepoint;
	if (near.best)
		return sp_fail_said(-EINVAL, "there is no event '%s'; did you mean %s?", name, near.best);
	return sp_fail_said(-EINVAL,
			    "there is no event '%s'; there are %sand tracepoints, SYSTEM:EVENT, and functions, "
			    "LIBRARY:FUNCTION",
			    name, list);
}

/* A function of the kernel, a place in a library or program, or a tracepoint. Which file a probe is in is looked for
 * afterwards. */
int sp_recipe_point_make(const char *name, struct sp_recipe_point *ret_point)
{
	if (sp_kprobe_is(name))
		return sp_kprobe_point(name, ret_point);
	return sp_recipe_probe_is(name) ? sp_recipe_probe_point(name, ret_point) : sp_tracepoint_point(name, ret_point);
}

/*
 * No file is missed that is mapped while files are looked for, and until probes are attached. Who may not watch may not
 * probe, which the session says.
 */
static void watch_begin(struct sp_recipe_set *set, struct sp_recipe_probe *probe)
{
	SP_FREE unsigned *cpus = NULL;
	size_t n = 0;
	int r = set->watch ? 0 : sp_process_cpus_online(&cpus, &n);

	if (r >= 0 && !set->watch)
		r = sp_recipe_watch_new(cpus, n, &set->watch);
	if (r < 0)
		sp_error_clear();
	sp_recipe_probe_watched(probe, set->watch);
}

static int probe_find(struct sp_recipe_set *set, struct sp_recipe *own)
{
	bool is_probe = own->points[0].at == SP_AT_PROBE;
	int r;

	if (is_probe)
		watch_begin(set, own->points[0].probe);
	r = is_probe ? sp_recipe_probe_find(&own->points[0], true) : 0;
	if (r >= 0 && own->points[0].slot.flags & SP_SLOT_KPROBE)
		return sp_fail_said(-EINVAL, "%s: functions of the kernel are for soprof trace", own->name);
	if (r < 0 || !is_probe)
		return r;
	own->trap_ns = sp_recipe_probe_trap_ns(own->points[0].probe);
	own->hit_ns = SP_TRACEPOINT_HIT_NS + own->trap_ns;
	return 0;
}

/* SYSTEM:EVENT[FILTER]{VALUE}. Behind the recipe are the tracepoint's name and the value's, which is the expression. */
static int narrowed_make(struct sp_recipe_set *set, const char *event, const struct sp_recipe **ret_recipe)
{
	struct sp_narrowing narrowing;
	struct sp_recipe *own;
	char *name, *value;
	int r = sp_narrowing_split(event, &narrowing);

	if (r < 0)
		return r;
	own = own_new(set, event, narrowing.n_name + narrowing.n_value + 2);
	if (!own)
		return -ENOMEM;
	name = (char *)(own + 1);
	memcpy(name, event, narrowing.n_name);
	value = name + narrowing.n_name + 1;
	memcpy(value, event + narrowing.value, narrowing.n_value);
	if (!strchr(name, ':') && !sp_recipe_probe_is(name))
		return sp_fail_at(-EINVAL, event, narrowing.n_name,
				  "only tracepoints, SYSTEM:EVENT, and functions, LIBRARY:FUNCTION, have fields");
	r = sp_recipe_point_make(name, &own->points[0]);
	if (!r && own->points[0].at == SP_AT_PROBE)
		watch_begin(set, own->points[0].probe);
	if (!r)
		r = sp_narrowing_apply(event, name, &narrowing, &set->types, &own->points[0], &own->values[1].unit);
	if (!r)
		r = probe_find(set, own);
	if (narrowing.n_value)
		own->values[1].name = value;
	*ret_recipe = own;
	return r;
}

static int named_make(struct sp_recipe_set *set, const char *name, const struct sp_recipe **ret_recipe)
{
	struct sp_event event;
	struct sp_recipe *own;
	bool is_event = sp_event_named(name, &event);
	int r = 0;

	*ret_recipe = sp_recipe_find(name);
	if (*ret_recipe)
		return made_result;
	if (is_event && event.is_clock) {
		set->event = event.name;
		*ret_recipe = &sp_recipe_cpu;
		return 0;
	}
	if (strpbrk(name, "[{"))
		return narrowed_make(set, name, ret_recipe);
	if (!*name)
		return sp_fail_said(-EINVAL, "an event's name is missing between or behind the commas");
	if (!is_event && !strchr(name, ':') && !sp_recipe_probe_is(name))
		return unknown(name);
	own = own_new(set, name, 0);
	if (!own)
		return -ENOMEM;
	if (is_event)
		own->points[0] = (struct sp_recipe_point){.at = SP_AT_PERF, .where = name};
	else
		r = sp_recipe_point_make(name, &own->points[0]);
	if (!r)
		r = probe_find(set, own);
	*ret_recipe = own;
	return r;
}

/* wall has in it what cpu and offcpu are. */
static bool is_part_of(const struct sp_recipe *part, const struct sp_recipe *whole)
{
	return whole == sp_recipe_find("wall") && (part == &sp_recipe_cpu || part == sp_recipe_find("offcpu"));
}

static int set_check(const struct sp_recipe *a, const struct sp_recipe *b, const char *name)
{
	if (is_part_of(a, b) || is_part_of(b, a))
		return sp_fail_said(-EINVAL, "wall is cpu and offcpu as one value: it goes without them");
	if (strcmp(a->name, b->name))
		return 0;
	if (a == &sp_recipe_cpu)
		return sp_fail_said(-EINVAL, "cpu, cpu-clock, task-clock: one of them, once");
	return sp_fail_said(-EINVAL, "%s is there twice", name);
}

static int set_add(struct sp_recipe_set *set, const char *name)
{
	const struct sp_recipe *recipe;
	int r;

	if (set->n == SP_MAX_RECIPES)
		return sp_fail_said(-EINVAL, "more than %d events", SP_MAX_RECIPES);
	r = named_make(set, name, &recipe);
	if (r < 0)
		return r;
	if (recipe->is_live && set->n + 1 == SP_MAX_RECIPES)
		return sp_fail_said(-EINVAL, "more than %d events: %s is two", SP_MAX_RECIPES, name);
	for (size_t i = 0; i < set->n && r >= 0; i++)
		r = set_check(recipe, set->recipes[i], name);
	if (r < 0)
		return r;
	for (size_t i = 0; i < set->n; i++) /* two may have a value of one name; then it is the whole event's */
		if (set->own[set->n] && !strcmp(set->recipes[i]->values[1].name, recipe->values[1].name))
			set->own[set->n]->values[1].name = set->own[set->n]->name;
	set->recipes[set->n++] = recipe;
	if (recipe->is_live)
		set->recipes[set->n++] = &allocations;
	return 0;
}

int sp_recipe_set_parse(const char *list, struct sp_recipe_set *ret_set)
{
	char *word;
	size_t n = 0;
	bool more = true;
	int r = 0;

	*ret_set = (struct sp_recipe_set){.words = strdup(list)};
	if (!ret_set->words)
		return -ENOMEM;
	for (word = ret_set->words; !r && more; word += n + 1) {
		n = sp_narrowing_length(word);
		more = word[n] != '\0';
		word[n] = '\0';
		r = set_add(ret_set, word);
	}
	sp_types_done(&ret_set->types);
	if (r < 0)
		sp_recipe_set_done(ret_set);
	return r;
}

void sp_recipe_set_done(struct sp_recipe_set *set)
{
	for (size_t i = 0; i < SP_MAX_RECIPES; i++) {
		for (size_t k = 0; set->own[i] && k < SP_MAX_POINTS; k++)
			sp_recipe_probe_free(set->own[i]->points[k].probe);
		free(set->own[i]);
	}
	sp_recipe_watch_free(set->watch);
	free(set->words);
	*set = (struct sp_recipe_set){0};
}

/* The events of a point in which the thread's state has one of these bits; 0: in which it is ready to run. */
static int state_need(struct sp_recipe_point *point, uint64_t state)
{
	char also[128];
	int n = snprintf(also, sizeof(also), state ? "(%s) & %" PRIu64 : "!(%s)", point->state, state);

	if (n < 0 || (size_t)n >= sizeof(also))
		return sp_fail_said(-EINVAL, "the expression of a state is too long");
	return sp_recipe_point_compile(point, also);
}

static int wait_narrow(struct sp_recipe_point *point, const struct sp_waits *waits)
{
	sp_u32 *flags = &point->slot.flags;

	if (waits->by_state)
		*flags &= ~(sp_u32)SP_SLOT_ALL_WAITS;
	if (point->slot.role != SP_ROLE_BEGIN && point->slot.role != SP_ROLE_RETURN)
		return 0;
	if (waits->threads != SP_WAIT_USER)
		*flags &= ~(sp_u32)SP_SLOT_NO_KTHREAD;
	if (waits->threads == SP_WAIT_KERNEL)
		*flags |= SP_SLOT_KTHREAD;
	return waits->by_state && point->slot.role == SP_ROLE_BEGIN ? state_need(point, waits->state) : 0;
}

struct sp_recipe *sp_recipe_set_own(struct sp_recipe_set *set, size_t i)
{
	if (set->own[i])
		return set->own[i];
	set->own[i] = malloc(sizeof(*set->own[i]));
	if (!set->own[i])
		return NULL;
	*set->own[i] = *set->recipes[i];
	set->recipes[i] = set->own[i];
	return set->own[i];
}

int sp_recipe_set_wakers(struct sp_recipe_set *set)
{
	bool any = false;
	int r;

	for (size_t i = 0; i < set->n; i++) {
		size_t k = 0;

		if (!set->recipes[i]->min_ns)
			continue;
		if (!sp_recipe_set_own(set, i))
			return -ENOMEM;
		while (k < SP_MAX_POINTS - 1 && set->own[i]->points[k].at)
			k++;
		if (k == SP_MAX_POINTS - 1)
			return sp_fail_said(-EINVAL, "%s has no room for wakers", set->own[i]->name);
		set->own[i]->points[k] = waker;
		r = sp_recipe_point_compile(&set->own[i]->points[k], NULL);
		if (r < 0)
			return r;
		any = true;
	}
	return any ? 0 : sp_fail_said(-EINVAL, "--waker is for events that last: offcpu, wall, locks");
}

int sp_recipe_set_waits(struct sp_recipe_set *set, const struct sp_waits *waits)
{
	int r = 0;

	for (size_t i = 0; i < set->n && !r; i++) {
		if (!set->recipes[i]->min_ns)
			continue;
		if (!sp_recipe_set_own(set, i))
			return -ENOMEM;
		for (size_t k = 0; k < SP_MAX_POINTS && set->own[i]->points[k].at && !r; k++)
			r = wait_narrow(&set->own[i]->points[k], waits);
	}
	return r;
}

bool sp_recipe_set_has_rate(const struct sp_recipe_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (sp_recipe_has_rate(set->recipes[i]))
			return true;
	return false;
}

bool sp_guard_is_wanted(const struct sp_capture_options *o)
{
	for (size_t i = 0; o->max_overhead_percent && o->recipes[i]; i++)
		if (sp_recipe_is_guarded(o->recipes[i]))
			return true;
	return false;
}

bool sp_recipes_nest(const struct sp_recipe *const *recipes)
{
	return recipes[1] || sp_recipe_has_front(recipes[0]);
}

bool sp_recipes_are_clocks(const struct sp_capture_options *o)
{
	const struct sp_recipe_point *point;
	struct sp_event event;

	for (unsigned i = 0; o->recipes[i]; i++)
		for (point = o->recipes[i]->points; point->at; point++)
			if (point->at != SP_AT_PERF ||
			    !sp_event_named(point->where ? point->where : o->event, &event) || !event.is_clock)
				return false;
	return true;
}

sp_u32 sp_recipes_count(const struct sp_recipe *const *recipes)
{
	sp_u32 n = 0;

	while (recipes[n])
		n++;
	return n;
}

bool sp_recipes_wait(const struct sp_recipe *const *recipes)
{
	for (unsigned i = 0; recipes[i]; i++)
		if (recipes[i]->min_ns)
			return true;
	return false;
}

/*
 * A session that lasts wants the stacks of waits that are still open, again and again; and a waker is told to an
 * episode.
 */
bool sp_recipes_want_stamps(const struct sp_capture_options *o)
{
	return sp_recipes_wait(o->recipes) && o->min_ns && !o->drain_ns && !o->wakers &&
	       sp_front_can_be_at(SP_RETURN_AT);
}

bool sp_role_choose(bool has_stamps, sp_u32 *role)
{
	if (!has_stamps)
		return *role != SP_ROLE_RETURN;
	if (*role == SP_ROLE_BEGIN)
		*role = SP_ROLE_LEAVE;
	return *role != SP_ROLE_END && *role != SP_ROLE_FORGET;
}

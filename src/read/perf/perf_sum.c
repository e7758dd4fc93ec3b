/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "read/perf/perf_sum.h"

#include "base/intern.h"
#include "base/mem.h"
#include "base/sum.h"
#include "read/perf/perf_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A later time is not one since boot but the wall clock's (perf record -k CLOCK_REALTIME). */
#define WALL_CLOCK_NS (UINT64_C(1000000000) * 1000000000)

/*
 * Slices are needed to judge differences between profiles. The recording's length is known only at its end, so there
 * are at most MAX_SLICES, and when they are full, neighbours are joined into slices of twice the length.
 */
enum { MAX_SLICES = 32 };
#define FIRST_SLICE_NS (UINT64_C(1) << 22)

struct thread {
	uint32_t process, comm;
};

struct event {
	uint32_t name;    /* string */
	bool has_periods; /* some sample had one */
	uint64_t period;  /* of all samples so far, if they agree */
	bool is_fixed;
	uint64_t n;
};

struct cell {
	uint32_t thread, event, stack, slice;
};

struct amounts {
	int64_t n, period;
};

struct sp_perf_sum {
	struct sp_profile *p;
	struct sp_intern *who, *threads, *cells; /* text -> threads_of[], struct thread, struct cell */
	uint32_t *threads_of;
	size_t who_capacity;
	struct event events[SP_PERF_MAX_EVENTS];
	uint32_t n_events;
	char last_event[64]; /* its text, and its number */
	uint32_t last_event_number;
	struct amounts *amounts; /* of cells */
	size_t amount_capacity;
	uint64_t first_ns, last_ns, to_wall_ns;
	bool has_times, has_clock, leaves_times;
	uint64_t origin_ns, slice_ns; /* of slice 1; the length of each */
};

int sp_perf_sum_new(struct sp_profile *p, struct sp_perf_sum **ret_sum)
{
	struct sp_perf_sum *s = calloc(1, sizeof(*s));

	if (!s || sp_intern_new(&s->who) < 0 || sp_intern_new(&s->threads) < 0 || sp_intern_new(&s->cells) < 0) {
		sp_perf_sum_free(s);
		return -ENOMEM;
	}
	s->p = p;
	s->slice_ns = FIRST_SLICE_NS;
	*ret_sum = s;
	return 0;
}

void sp_perf_sum_free(struct sp_perf_sum *s)
{
	if (!s)
		return;
	sp_intern_free(s->who);
	sp_intern_free(s->threads);
	sp_intern_free(s->cells);
	free(s->threads_of);
	free(s->amounts);
	free(s);
}

/* --- who --- */
/* A process has the name of its main thread, or of its first thread in the text. */
static int64_t add_process(struct sp_perf_sum *s, const struct sp_perf_header *h, uint32_t comm)
{
	const struct sp_process process = {.pid = h->pid, .comm = comm};
	int64_t number = h->pid ? sp_profile_add_process(s->p, &process) : 0;
	struct sp_process *known;

	if (number <= 0)
		return number;
	known = sp_profile_process(s->p, (uint32_t)number);
	if (!known->comm || h->tid == h->pid)
		known->comm = comm;
	return number;
}

static int64_t add_thread(struct sp_perf_sum *s, const struct sp_perf_header *h)
{
	int64_t comm = sp_perf_name(s->p, h->comm);
	int64_t process = comm < 0 ? comm : add_process(s, h, (uint32_t)comm);
	struct thread thread = {(uint32_t)process, (uint32_t)comm};

	return process < 0 ? process : sp_intern_add(s->threads, &thread, sizeof(thread));
}

static int find_thread(struct sp_perf_sum *s, const struct sp_perf_header *h, uint32_t *ret_thread)
{
	bool is_new;
	int64_t who = sp_intern_add_to(s->who, h->who.s, h->who.n, &s->threads_of, &s->who_capacity,
				       sizeof(*s->threads_of), &is_new),
		thread;

	if (who < 0)
		return (int)who;
	if (is_new) {
		thread = add_thread(s, h);
		if (thread < 0)
			return (int)thread;
		s->threads_of[who] = (uint32_t)thread;
	}
	*ret_thread = s->threads_of[who];
	return 0;
}

static int add_event(struct sp_perf_sum *s, struct sp_perf_text text, uint32_t *ret_event)
{
	int64_t name = sp_perf_name(s->p, text);

	if (name < 0)
		return (int)name;
	for (uint32_t i = 0; i < s->n_events; i++)
		if (s->events[i].name == name) {
			*ret_event = i;
			return 0;
		}
	if (s->n_events == SP_PERF_MAX_EVENTS)
		return -E2BIG;
	s->events[s->n_events] = (struct event){.name = (uint32_t)name};
	*ret_event = s->n_events++;
	return 0;
}

/* Mostly the event of the sample before. */
static int find_event(struct sp_perf_sum *s, struct sp_perf_text text, uint32_t *ret_event)
{
	bool fits = text.n > 0 && text.n < sizeof(s->last_event);
	int r;

	if (fits && !s->last_event[text.n] && !memcmp(s->last_event, text.s, text.n)) {
		*ret_event = s->last_event_number;
		return 0;
	}
	r = add_event(s, text, ret_event);
	if (r < 0 || !fits)
		return r;
	memset(s->last_event, 0, sizeof(s->last_event));
	memcpy(s->last_event, text.s, text.n);
	s->last_event_number = *ret_event;
	return 0;
}

int sp_perf_sum_who(struct sp_perf_sum *s, const struct sp_perf_header *h, struct sp_perf_who *ret_who)
{
	struct sp_perf_who who = {.pid = h->pid,
				  .period = h->period,
				  .time_ns = h->time_ns,
				  .has_period = h->has_period,
				  .has_time = h->has_time};
	int r = find_event(s, h->event, &who.event);

	if (r >= 0)
		r = find_thread(s, h, &who.thread);
	if (r >= 0)
		*ret_who = who;
	return r;
}

/* --- sums --- */
static void note_event(struct event *e, const struct sp_perf_who *who)
{
	e->has_periods |= who->has_period;
	e->is_fixed = who->has_period && (!e->n || (e->is_fixed && e->period == who->period));
	e->period = who->period;
	e->n++;
}

static void note_time(struct sp_perf_sum *s, uint64_t time_ns)
{
	s->first_ns = s->has_times ? SP_MIN(s->first_ns, time_ns) : time_ns;
	s->last_ns = s->has_times ? SP_MAX(s->last_ns, time_ns) : time_ns;
	s->has_times = true;
}

static int add_cell(struct sp_perf_sum *s, const struct cell *cell, const struct amounts *more)
{
	int64_t number = sp_intern_add_to(s->cells, cell, sizeof(*cell), &s->amounts, &s->amount_capacity,
					  sizeof(*s->amounts), NULL);

	if (number < 0)
		return (int)number;
	sp_saturating_add(&s->amounts[number].n, more->n);
	sp_saturating_add(&s->amounts[number].period, more->period);
	return 0;
}

/* --- slices --- */
/* Makes every 1 << shift slices one. */
static int widen(struct sp_perf_sum *s, unsigned int shift)
{
	struct amounts *amounts SP_FREE = NULL;
	struct sp_intern *cells = s->cells, *wider;
	int r = sp_intern_new(&wider);

	if (r < 0)
		return r;
	s->cells = wider;
	amounts = sp_take_ptr(s->amounts);
	s->amount_capacity = 0;
	s->slice_ns <<= shift;
	for (uint32_t i = 0; i < sp_intern_count(cells) && r >= 0; i++) {
		struct cell cell = *(const struct cell *)sp_intern_get(cells, i, NULL);

		cell.slice = cell.slice ? (uint32_t)((uint64_t)(cell.slice - 1) >> shift) + 1 : 0;
		r = add_cell(s, &cell, &amounts[i]);
	}
	sp_intern_free(cells);
	return r;
}

/* The slice of this time, counted from 1. Samples of several CPUs may be slightly out of order. */
static int find_slice(struct sp_perf_sum *s, uint64_t time_ns, uint32_t *ret_slice)
{
	unsigned int shift = 0;
	uint64_t since;
	int r;

	if (!s->has_times)
		s->origin_ns = time_ns;
	since = time_ns > s->origin_ns ? time_ns - s->origin_ns : 0;
	while (since / s->slice_ns >> shift >= MAX_SLICES)
		shift++;
	r = shift ? widen(s, shift) : 0;
	*ret_slice = (uint32_t)(since / s->slice_ns) + 1;
	return r;
}

int sp_perf_sum_add(struct sp_perf_sum *s, const struct sp_perf_who *who, uint32_t stack)
{
	struct cell cell = {.thread = who->thread, .event = who->event, .stack = stack};
	const struct amounts one = {1, who->has_period ? (int64_t)SP_MIN(who->period, (uint64_t)INT64_MAX) : 0};
	int r = who->has_time ? find_slice(s, who->time_ns, &cell.slice) : 0;

	if (r >= 0)
		r = add_cell(s, &cell, &one);
	if (r < 0)
		return r;
	note_event(&s->events[who->event], who);
	if (who->has_time)
		note_time(s, who->time_ns);
	return 0;
}

void sp_perf_sum_set_clock(struct sp_perf_sum *s, uint64_t to_wall_ns)
{
	s->to_wall_ns = to_wall_ns;
	s->has_clock = true;
}

void sp_perf_sum_ignore_times(struct sp_perf_sum *s)
{
	s->leaves_times = true;
}

/* --- the profile --- */
static const char *perf_sum_name_of(const struct sp_perf_sum *s, const struct event *e)
{
	return e->name ? sp_profile_string(s->p, e->name) : "period";
}

static const char *perf_sum_unit_of(const struct sp_perf_sum *s, const struct event *e)
{
	static const char *const clocks[] = {"cpu-clock", "task-clock", "duration_time", "user_time", "system_time"};
	const char *name = perf_sum_name_of(s, e);

	if (!e->has_periods)
		return "samples";
	for (size_t i = 0; i < SP_COUNT(clocks); i++) {
		size_t n = strlen(clocks[i]);

		if (!strncmp(name, clocks[i], n) && (!name[n] || name[n] == ':'))
			return "nanoseconds";
	}
	return "count";
}

/* Whether the event "samples" counts samples, as our own view writes it: its period is then a number of samples. */
static bool is_samples(const struct sp_perf_sum *s)
{
	return s->n_events == 1 && s->events[0].has_periods && !strcmp(perf_sum_name_of(s, &s->events[0]), "samples");
}

static bool has_own_value(const struct sp_perf_sum *s, uint32_t event)
{
	return s->n_events > 1 || (s->events[event].has_periods && !is_samples(s));
}

static int declare_values(struct sp_perf_sum *s)
{
	int r = sp_profile_add_value_type(s->p, "samples", "count");

	for (uint32_t i = 0; i < s->n_events && r >= 0; i++)
		if (has_own_value(s, i))
			r = sp_profile_add_value_type(s->p, perf_sum_name_of(s, &s->events[i]),
						      perf_sum_unit_of(s, &s->events[i]));
	return r;
}

static int perf_sum_add_row(struct sp_perf_sum *s, const struct sp_perf_stacks *stacks, uint32_t number)
{
	const struct cell *c = sp_intern_get(s->cells, number, NULL);
	const struct thread *t = sp_intern_get(s->threads, c->thread, NULL);
	const struct event *e = &s->events[c->event];
	const struct amounts *a = &s->amounts[number];
	struct sp_key key = {.process = t->process, .comm = t->comm, .recipe = e->name};
	int64_t key_number, values[SP_MAX_VALUES] = {0};
	uint32_t user, kernel;

	key.slice = s->leaves_times ? 0 : c->slice;
	key_number = sp_profile_add_key(s->p, &key);
	if (key_number < 0)
		return (int)key_number;
	values[0] = is_samples(s) ? a->period : a->n;
	if (has_own_value(s, c->event))
		values[1 + c->event] = e->has_periods ? a->period : a->n;
	sp_perf_stacks_get(stacks, c->stack, &user, &kernel);
	return sp_profile_add(s->p, (uint32_t)key_number, user, kernel, values);
}

static void tell_info(const struct sp_perf_sum *s)
{
	struct sp_profile_info *info = sp_profile_info(s->p);
	const struct event *e = &s->events[0];

	if (s->has_times && !s->leaves_times) {
		info->duration_ns = s->last_ns - s->first_ns;
		info->slice_ns = s->slice_ns;
		if (s->has_clock)
			info->time_ns = s->first_ns + s->to_wall_ns;
		else if (s->first_ns >= WALL_CLOCK_NS)
			info->time_ns = s->first_ns;
	}
	if (s->n_events > 1) /* the number of samples of different events says little */
		info->default_type = sp_profile_value_type(s->p, 1)->name;
	if (s->n_events == 1 && e->is_fixed && has_own_value(s, 0)) {
		info->period = e->period;
		info->period_type = *sp_profile_value_type(s->p, 1);
	}
}

int sp_perf_sum_finish(struct sp_perf_sum *s, const struct sp_perf_stacks *stacks)
{
	int r = declare_values(s);

	for (uint32_t i = 0; i < sp_intern_count(s->cells) && r >= 0; i++)
		r = perf_sum_add_row(s, stacks, i);
	if (r >= 0)
		tell_info(s);
	return r;
}

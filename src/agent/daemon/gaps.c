/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gaps.c: finds time that was not sampled, and makes events of it. */
#include "agent/daemon/loop_priv.h"
#include "agent/log.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Naming what is new in a window may take that long. */
#define MAX_LATE_NS (2 * SP_NS_PER_S)
/* Of the expected ticks of the clock. */
#define MIN_TICK_SHARE 0.5

void sp_loop_add_event(struct sp_agent *a, uint64_t from_ns, uint64_t to_ns, const char *kind, const char *subject,
		       const char *data, const char *format, ...)
{
	struct sp_store_event event = {
	    .from_ns = from_ns, .to_ns = to_ns, .kind = kind, .subject = subject, .data = data};
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	event.text = text;
	sp_event_queue_add(&a->env.events, &event);
	sp_log(SP_LOG_NOTICE, "%s: %s: %s", kind, subject, text);
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static void gap_add(struct sp_agent *a, uint64_t from_ns, uint64_t to_ns, const char *subject, const char *text)
{
	a->status.n_gaps++;
	a->status.gap_ns += to_ns - from_ns;
	sp_loop_add_event(a, from_ns, to_ns, "gap", subject, "", "%s for %.1f s", text, seconds(to_ns - from_ns));
}

/*
 * An agent that was killed loses what it sampled but did not store: the window that was running, and those that waited
 * for names or for the disk. It marked itself alive at each window's end, so it lived at most a window longer.
 */
static uint64_t report_kill(struct sp_agent *a, uint64_t from, uint64_t alive, uint64_t now)
{
	uint64_t until = SP_MIN(SP_MAX(SP_MIN(alive, now), from) + a->window_ns, now);

	a->status.n_gaps++;
	a->status.gap_ns += until - from;
	a->status.unstored_ns = until - from;
	sp_loop_add_event(
	    a, from, until, "gap", "killed", "",
	    "the agent was killed, or the machine went down: up to %.0f s that were sampled are not stored",
	    seconds(until - from));
	return until;
}

static void report_stop(struct sp_agent *a, const struct sp_store_stats *stats, uint64_t now)
{
	uint64_t from = stats->last_end_ns;

	if (stats->was_killed)
		from = report_kill(a, from, stats->alive_ns, now);
	if (from < now)
		gap_add(a, from, now, "stopped", "the agent did not run");
}

void sp_gap_check_start(struct sp_agent *a)
{
	struct sp_store_stats stats;
	uint64_t now = a->window_began.wall_ns;
	int r = sp_store_stats(a->env.store, &stats);

	sp_store_alive(a->env.store);
	if (r < 0) {
		sp_error_clear();
		return;
	}
	a->env.latest_wall_ns = stats.last_end_ns;
	a->env.n_set_back =
	    (unsigned)(a->window_began.boot_ns >> 20); /* any start that differs from the last agent's */
	sp_upgrades_start(&a->env.upgrades, stats.last_end_ns, now);
	if (stats.last_ns > now)
		sp_loop_add_event(a, now, now, "clock", "back", "",
				  "the store has windows of a time that lies %.1f s ahead",
				  seconds(stats.last_ns - now));
	else if (stats.last_ns > 0 && stats.last_end_ns < now)
		report_stop(a, &stats, now);
}

void sp_gap_check_clocks(struct sp_agent *a, const struct sp_clock *now, const struct sp_clock_change *change)
{
	uint64_t unset_ns =
	    now->wall_ns - (uint64_t)change->stepped_ns; /* what the wall clock would say now if it had not been set */
	char data[64];

	if (change->suspended_ns)
		gap_add(a, unset_ns - change->suspended_ns, unset_ns, "suspended", "the machine was suspended");
	if (!change->stepped_ns)
		return;
	a->env.n_set_back += change->stepped_ns < 0;
	snprintf(data, sizeof(data), "step_ns=%" PRId64, change->stepped_ns);
	sp_loop_add_event(a, unset_ns, now->wall_ns, "clock", change->stepped_ns > 0 ? "forward" : "back", data,
			  "the clock was set %s by %.3f s", change->stepped_ns > 0 ? "forward" : "back",
			  seconds((uint64_t)(change->stepped_ns > 0 ? change->stepped_ns : -change->stepped_ns)));
	if (change->stepped_ns > 0)
		gap_add(a, unset_ns, now->wall_ns, "clock", "the clock skipped this time, it was set forward");
}

void sp_gap_check_late(struct sp_agent *a, const struct sp_clock *now)
{
	if (now->boot_ns < a->window_end_boot_ns + MAX_LATE_NS)
		return;
	a->status.n_late++;
	sp_loop_add_event(a, a->window_began.wall_ns, now->wall_ns, "late", "window", "",
			  "a window is %.1f s long: the agent was not given the CPU, or was held up",
			  seconds(now->boot_ns - a->window_began.boot_ns));
}

/* Every tick of a CPU that is online and awake is a sample, also of the idle task. */
void sp_gap_check_samples(struct sp_agent *a, const struct sp_clock *now)
{
	const struct sp_sampler *s = &a->samplers[0];
	bool is_starved = s->expected >= 20 && s->taken < s->expected * MIN_TICK_SHARE;

	if (is_starved && !a->starved.is_on)
		a->starved = (struct sp_time_span){true, a->window_began.wall_ns};
	if (is_starved || !a->starved.is_on)
		return;
	a->starved.is_on = false;
	sp_loop_add_event(a, a->starved.from_ns, now->wall_ns, "throttled", s->recipe->name, "",
			  "fewer than half of the samples came: the kernel held them back, or a hypervisor the CPUs");
}

void sp_gap_cpu_changed(void *agent, unsigned cpu, bool is_online)
{
	struct sp_agent *a = agent;
	struct sp_time_span *away = cpu < SP_MAX_CPUS ? &a->cpu_away[cpu] : NULL;
	uint64_t now = sp_time_ns(CLOCK_REALTIME);
	char subject[32];

	snprintf(subject, sizeof(subject), "CPU %u", cpu);
	if (!away || away->is_on == !is_online)
		return;
	a->env.n_online = is_online ? a->env.n_online + 1 : SP_MAX(a->env.n_online, 2U) - 1;
	if (!is_online) {
		*away = (struct sp_time_span){true, now};
		sp_loop_add_event(a, now, now, "cpu", subject, "online=0", "went offline");
		return;
	}
	away->is_on = false;
	gap_add(a, SP_MIN(away->from_ns, now), now, subject, "it was offline");
	sp_loop_add_event(a, now, now, "cpu", subject, "online=1", "came online");
}

void sp_gap_end(struct sp_agent *a)
{
	uint64_t now = sp_time_ns(CLOCK_REALTIME);
	char subject[32];

	for (unsigned cpu = 0; cpu < SP_MAX_CPUS; cpu++) {
		if (!a->cpu_away[cpu].is_on)
			continue;
		snprintf(subject, sizeof(subject), "CPU %u", cpu);
		gap_add(a, SP_MIN(a->cpu_away[cpu].from_ns, now), now, subject, "it was offline");
	}
}

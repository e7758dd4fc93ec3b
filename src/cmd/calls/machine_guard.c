/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/calls/machine_guard.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/random.h>
#include <unistd.h>

#define WINDOW_NS UINT64_C(10000000) /* or as long as it takes to attach and detach */
#define LOOK_NS (SP_GUARD_LOOK_MS * UINT64_C(1000000))

static uint64_t now_ns(void)
{
	return sp_time_ns(CLOCK_MONOTONIC);
}

/* Without cookies a hit does not tell which it was: then it costs what one does on average. */
static void costs_set(struct sp_machine_guard *g, bool latency)
{
	const struct sp_machine_targets *t = g->targets;
	unsigned more = latency ? SP_PROBE_RETURN_NS : 0;
	size_t n_stepped = 0;

	for (size_t i = 0; i < t->n_points; i++)
		n_stepped += t->points[i].is_stepped;
	g->hit_ns[0] = SP_PROBE_EMULATED_NS + more;
	g->hit_ns[1] = SP_PROBE_STEPPED_NS + more;
	if (!sp_probe_has(SP_PROBE_ENTRY) && t->n_points)
		g->hit_ns[0] += (unsigned)((SP_PROBE_STEPPED_NS - SP_PROBE_EMULATED_NS) * n_stepped / t->n_points);
}

void sp_machine_guard_begin(struct sp_machine_guard *g, unsigned percent, bool latency)
{
	g->guard = (struct sp_guard){.percent = percent, .left_ns = (int64_t)(SP_NS_PER_S / 100 * percent)};
	g->guard.events[0] = (struct sp_guard_event){.is_guarded = percent > 0,
						     .can_window = true,
						     .no_thin = true,
						     .one_in = 1,
						     .most = 1,
						     .windows = 1,
						     .most_windows = 1};
	costs_set(g, latency);
	g->looked_ns = now_ns();
	g->look_ns = percent ? g->looked_ns + LOOK_NS : UINT64_MAX;
	g->own_ns = sp_time_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static uint64_t cost_of(const struct sp_machine_guard *g)
{
	uint64_t hits[2];

	sp_counting_hits(g->counting, hits);
	return hits[0] * g->hit_ns[0] + hits[1] * g->hit_ns[1];
}

/* --- windows --- */
static void period_begin(struct sp_machine_guard *g)
{
	uint32_t part = 0;

	if (getrandom(&part, sizeof(part), GRND_NONBLOCK) != sizeof(part))
		part = (uint32_t)(now_ns() / 1000);
	g->period_ns = now_ns();
	g->window_ns = SP_MIN(SP_MAX(WINDOW_NS, g->switch_ns), LOOK_NS);
	g->next_ns = g->period_ns + (part & (g->guard.events[0].windows - 1)) * g->window_ns;
	g->opened_ns = g->closed_ns = 0;
	g->period_cost_ns = cost_of(g);
}

/* While it is read afterwards time goes on, but not what it covers. */
static uint64_t covered_until_ns(const struct sp_machine_guard *g)
{
	return g->stopped_ns ? g->stopped_ns : now_ns();
}

/* It is as long as it is, from when all probes are there to when the first goes. */
static int window_open(struct sp_machine_guard *g)
{
	uint64_t begin = now_ns();
	int r = sp_machine_targets_resume(g->targets, g->counting, g->pid);

	if (r == -ESRCH) { /* the only process has ended, and nothing calls */
		sp_error_clear();
		r = 0;
	}
	sp_counting_close(g->counting, false);
	g->opened_ns = now_ns();
	g->switch_ns = g->opened_ns - begin;
	g->next_ns = g->opened_ns + g->window_ns;
	return r;
}

static void window_close(struct sp_machine_guard *g)
{
	uint64_t end = g->period_ns + g->guard.events[0].windows * g->window_ns;

	sp_counting_close(g->counting, true);
	g->closed_ns = covered_until_ns(g);
	sp_machine_targets_pause(g->targets);
	g->next_ns = SP_MAX(end, now_ns());
	g->switch_ns += now_ns() - g->closed_ns;
}

static int period_end(struct sp_machine_guard *g)
{
	uint64_t now = covered_until_ns(g), open = SP_MAX(g->closed_ns - g->opened_ns, 1), whole = now - g->period_ns;
	struct sp_machine_period period;

	g->windowed_ns += whole;
	g->open_ns += open;
	g->rows->window_share = (double)g->open_ns / (double)g->windowed_ns;
	g->share = (double)(cost_of(g) - g->period_cost_ns) / (double)SP_MAX(whole, 1);
	period = (struct sp_machine_period){.seconds = (double)whole / 1e9, .times = (double)whole / (double)open};
	return sp_machine_rows_read(g->rows, g->counting, &period);
}

/* From exact counts to windows. */
static int windows_begin(struct sp_machine_guard *g)
{
	int r;

	sp_counting_close(g->counting, true);
	r = sp_machine_rows_read(g->rows, g->counting, NULL);
	sp_machine_targets_pause(g->targets);
	period_begin(g);
	return r;
}

/* And back, when a period is over. */
static int windows_end(struct sp_machine_guard *g)
{
	g->period_ns = g->next_ns = 0;
	return window_open(g);
}

static int windows_turn(struct sp_machine_guard *g)
{
	int r;

	if (!g->opened_ns)
		return window_open(g);
	if (!g->closed_ns) {
		window_close(g);
		return 0;
	}
	r = period_end(g);
	if (r < 0)
		return r;
	if (g->guard.events[0].windows == 1)
		return windows_end(g);
	period_begin(g);
	return 0;
}

/* --- looking --- */
static void step_tell(const struct sp_guard_step *step)
{
	if (isatty(STDOUT_FILENO) && isatty(STDERR_FILENO)) /* the tables mark what is estimated */
		return;
	if (step->act == SP_GUARD_WINDOWS)
		fprintf(stderr,
			"soprof: counting costs %u %% of a CPU, more than %u %% (--max-overhead): calls are estimated "
			"from now on, by random windows of 1/%u of the time\n",
			step->percent, step->limit, step->windows);
	else if (step->windows > 1)
		fprintf(stderr, "soprof: calls are estimated by windows of 1/%u of the time now\n", step->windows);
	else
		fputs("soprof: every call is counted again\n", stderr);
}

static struct sp_guard_use use_take(struct sp_machine_guard *g, uint64_t now)
{
	uint64_t own = sp_time_ns(CLOCK_PROCESS_CPUTIME_ID), cost = cost_of(g);
	struct sp_guard_use use = {.ns = now - g->looked_ns, .own_ns = own - g->own_ns};

	if (!g->period_ns)
		g->share = (double)(cost - g->cost_ns) / (double)SP_MAX(use.ns, 1);
	use.kernel_ns[0] = (uint64_t)(g->share * (double)use.ns);
	g->looked_ns = now;
	g->own_ns = own;
	g->cost_ns = cost;
	return use;
}

static int look(struct sp_machine_guard *g, uint64_t now)
{
	struct sp_guard_event *e = &g->guard.events[0];
	uint32_t windows = e->windows;
	struct sp_guard_use use = use_take(g, now);
	struct sp_guard_step step = sp_guard_decide(&g->guard, &use);

	g->look_ns = now + LOOK_NS;
	e->is_detached = false; /* the least there is stays: rather too dear than nothing */
	if (step.act == SP_GUARD_STAYS || e->windows == windows)
		return 0;
	step_tell(&step);
	g->share *= (double)windows / (double)e->windows; /* until a period has told */
	return g->period_ns ? 0 : windows_begin(g);
}

int sp_machine_guard_turn(struct sp_machine_guard *g)
{
	uint64_t now = now_ns();
	int r = 0;

	if (g->period_ns && now >= g->next_ns)
		r = windows_turn(g);
	return r < 0 || now < g->look_ns ? r : look(g, now);
}

uint64_t sp_machine_guard_next_ns(const struct sp_machine_guard *g)
{
	return g->period_ns ? SP_MIN(g->next_ns, g->look_ns) : g->look_ns;
}

/* --- what is read --- */
void sp_machine_guard_close(struct sp_machine_guard *g)
{
	sp_counting_close(g->counting, true);
	g->stopped_ns = now_ns();
	g->look_ns = UINT64_MAX;
}

void sp_machine_guard_stop(struct sp_machine_guard *g)
{
	if (g->guard.percent && !g->stopped_ns)
		sp_machine_guard_close(g);
	if (g->period_ns && g->opened_ns && !g->closed_ns)
		window_close(g);
}

int sp_machine_guard_read(struct sp_machine_guard *g, bool is_end, uint64_t *ret_until_ns)
{
	int r = 0;

	*ret_until_ns = g->period_ns;
	if (!g->period_ns) {
		*ret_until_ns = covered_until_ns(g);
		return sp_machine_rows_read(g->rows, g->counting, NULL);
	}
	if (!is_end || !g->opened_ns)
		return 0;
	*ret_until_ns = covered_until_ns(g);
	r = period_end(g);
	g->opened_ns = 0;
	return r;
}

void sp_machine_guard_tell(const struct sp_machine_guard *g)
{
	uint32_t n = g->rows->n_windows;

	if (g->guard.events[0].most_windows == 1)
		return;
	fprintf(stderr,
		"soprof: calls of %.2f s are estimated (~), since counting cost more than %u %% of a CPU "
		"(--max-overhead): by %" PRIu32 " random window%s, %.2f s in all\n",
		(double)g->windowed_ns / 1e9, g->guard.percent, n, n == 1 ? "" : "s", (double)g->open_ns / 1e9);
	if (g->guard.events[0].n_detached)
		fprintf(stderr, "soprof: counting cost more than that even in 1/%d of the time\n",
			SP_GUARD_MOST_WINDOWS);
}

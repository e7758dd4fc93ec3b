/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage.c: measures the agent's own CPU time and memory, and adjusts the sampling rate. */
#include "proc/usage.h"
#include "agent/daemon/loop_priv.h"
#include "agent/log.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/recipe_ops.h"
#include "capture/users.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define INTERVAL_NS (60 * SP_NS_PER_S)
/* By measurement: the memory that parsing needs, with the answer. A file that needs little is always parsed. */
enum { NAMES_16TH = 7, TABLE_16TH = 4, LITTLE_BYTES = 8 << 20 };
enum { TABLE_COST = 4 }; /* a byte takes a quarter of what it does for names */

/* Files that those workers should have read have no names or no unwind table. */
static void report_workers(struct sp_agent *a, const struct sp_workers_stats *now)
{
	struct sp_workers_stats *before = &a->workers_seen;
	uint64_t n_unstarted = now->n_unstarted - before->n_unstarted, n_crashed = now->n_crashed - before->n_crashed,
		 n_late = now->n_late - before->n_late;

	if (n_unstarted)
		sp_log(SP_LOG_WARNING,
		       "%" PRIu64 " workers could not be started, so files have no names or unwind tables: %s",
		       n_unstarted, strerror(-now->unstarted));
	if (n_crashed)
		sp_log(SP_LOG_NOTICE,
		       "%" PRIu64 " workers crashed, so files have no names or unwind tables; the last: %s", n_crashed,
		       now->crashed);
	if (n_late)
		sp_log(SP_LOG_NOTICE,
		       "%" PRIu64 " workers took too long, so files have no names or unwind tables; the last: %s",
		       n_late, now->late);
	a->env.n_errors += n_unstarted + n_crashed + n_late;
	*before = *now;
}

static void measure_usage(struct sp_agent *a)
{
	struct sp_agent_status *t = &a->status;
	struct sp_workers_stats workers;
	struct sp_usage own = {0};
	uint64_t mapped = 0;
	size_t i;

	sp_workers_stats(a->env.workers, &workers);
	report_workers(a, &workers);
	sp_agent_add_service(a, a->env.upgrades.cpu_ns);
	a->env.upgrades.cpu_ns = 0;
	if (sp_usage_get(0, &own) < 0)
		sp_error_clear();
	t->bpf_ns = 0;
	t->memory_bytes = own.memory_bytes + workers.own_bytes;
	for (i = 0; i < a->n_samplers; i++) {
		struct sp_capture_stats stats = sp_sampler_measure(&a->samplers[i]);

		t->bpf_ns += stats.bpf_ns;
		t->memory_bytes += stats.bpf_bytes;
		mapped = stats.mapped_bytes; /* of all samplers: maps that own.memory_bytes contains, too */
	}
	t->memory_bytes -= SP_MIN(mapped, t->memory_bytes);
	t->own_ns = own.user_ns + own.system_ns;
	t->workers_ns = workers.cpu_ns;
	t->parsers_ns = workers.parsers_ns;
	t->n_late_files = workers.n_late;
	t->cpu_ns = t->own_ns + t->workers_ns + t->bpf_ns + a->answers_ns;
	t->peak_bytes = SP_MAX(t->peak_bytes, t->memory_bytes);
	a->measured_ns = sp_time_ns(CLOCK_MONOTONIC);
}

/* The BPF part is of the last measurement: it is small, and reading it is expensive. */
static uint64_t sum_cpu_ns(const struct sp_agent *a)
{
	return sp_usage_cpu_ns(0) + sp_workers_cpu_ns(a->env.workers) + a->status.bpf_ns + a->answers_ns;
}

void sp_own_usage_start(struct sp_agent *a, const struct sp_clock *now)
{
	a->checked_ns = now->mono_ns;
	sp_parse_budget_init(&a->parse_budget, a->config.max_cpu_ppm, now->mono_ns, sum_cpu_ns(a));
	sp_user_budget_limit(&a->user_budget, a->config.max_cpu_ppm);
}

void sp_own_usage_limit(struct sp_agent *a, uint64_t max_cpu_ppm)
{
	a->limits.max_cpu_ppm = a->parse_budget.max_cpu_ppm = a->pace.max_cpu_ppm = max_cpu_ppm;
	sp_user_budget_limit(&a->user_budget, max_cpu_ppm);
}

/*
 * A parser and its answer may need more than all else. With what is held for names, all together stays within one and a
 * half times the limit.
 */
static bool has_room(struct sp_agent *a, uint64_t needed_bytes)
{
	uint64_t bytes = a->status.memory_bytes + needed_bytes;
	size_t i;

	if (!a->limits.max_memory_bytes || needed_bytes < LITTLE_BYTES)
		return true;
	for (i = 0; i < a->n_samplers; i++)
		bytes += sp_sampler_status(&a->samplers[i])->deleted_bytes;
	return bytes <= a->limits.max_memory_bytes / 2 * 3;
}

/* The clocks of all processes are read once in a slot for all that is refused, and for each that is not. */
static bool has_budget(struct sp_agent *a, uint64_t now_ns, uint64_t n_samples, uint64_t bytes)
{
	struct sp_parse_budget *p = &a->parse_budget;

	if (sp_parse_budget_is_of_slot(p, now_ns) && !sp_parse_budget_allows(p, n_samples, bytes))
		return false;
	sp_parse_budget_update(p, now_ns, sum_cpu_ns(a));
	return sp_parse_budget_allows(p, n_samples, bytes);
}

/* Of a file of so many bytes, with so much memory. */
static bool may_parse(struct sp_agent *a, uint32_t uid, uint64_t n_samples, uint64_t bytes, uint64_t needed_bytes)
{
	uint64_t now_ns = sp_time_ns(CLOCK_MONOTONIC);
	bool may = sp_user_budget_may_parse(&a->user_budget, uid, now_ns) && has_budget(a, now_ns, n_samples, bytes) &&
		   has_room(a, needed_bytes);

	if (may)
		sp_parse_budget_ask(&a->parse_budget, bytes);
	return may;
}

bool sp_own_usage_may_parse(void *agent, uint32_t uid, uint64_t n_samples, uint64_t bytes)
{
	return may_parse(agent, uid, n_samples, bytes, bytes / 16 * NAMES_16TH);
}

/* --- by user --- */
static bool may_look(void *agent, uint32_t uid)
{
	return sp_user_budget_may_look(&((struct sp_agent *)agent)->user_budget, uid, sp_time_ns(CLOCK_MONOTONIC));
}

static void looked(void *agent, uint32_t uid, uint64_t cpu_ns)
{
	sp_user_budget_looked(&((struct sp_agent *)agent)->user_budget, uid, sp_time_ns(CLOCK_MONOTONIC), cpu_ns);
}

static void taken_back(void *agent, uint32_t uid)
{
	sp_user_budget_taken_back(&((struct sp_agent *)agent)->user_budget, uid, sp_time_ns(CLOCK_MONOTONIC));
}

static bool is_over(void *agent, uint32_t uid)
{
	return sp_user_budget_is_over(&((struct sp_agent *)agent)->user_budget, uid, sp_time_ns(CLOCK_MONOTONIC));
}

/* Tables go before names: names may come later, a cut stack stays cut. */
static bool may_build(void *agent, uint32_t uid, unsigned n_drains, uint64_t bytes)
{
	return may_parse(agent, uid, n_drains > 2 ? 64 : 4U << (2 * (n_drains - 1)), bytes / TABLE_COST,
			 bytes / 16 * TABLE_16TH);
}

/* It takes microseconds, which are not put aside before. */
static bool may_read(void *agent, uint32_t uid)
{
	uint64_t now_ns = sp_time_ns(CLOCK_MONOTONIC);
	struct sp_agent *a = agent;

	return sp_user_budget_may_parse(&a->user_budget, uid, now_ns) && has_budget(a, now_ns, UINT64_MAX, 0);
}

static void parsed(void *agent, uint32_t uid, uint64_t cpu_ns)
{
	sp_user_budget_parsed(&((struct sp_agent *)agent)->user_budget, uid, sp_time_ns(CLOCK_MONOTONIC), cpu_ns);
}

const struct sp_capture_users sp_own_usage_users = {.may_look = may_look,
						    .looked = looked,
						    .taken_back = taken_back,
						    .is_over = is_over,
						    .may_build = may_build,
						    .may_read = may_read,
						    .parsed = parsed};

/* Once a user, and one with each window: he may have as many numbers as he likes. */
void sp_own_usage_report_refused(struct sp_agent *a)
{
	const struct sp_user_files *u = sp_user_budget_tell(&a->user_budget);

	if (u)
		sp_log(SP_LOG_WARNING,
		       "user %u runs more new programs and libraries than a user's share of --max-cpu pays for: for "
		       "now the "
		       "rest of them are stored as [unidentified]; soprof agent --status counts them",
		       (unsigned)u->uid);
}

/* Logs when parsing is first put off, and when nothing waits any more. */
static void report_put_off(struct sp_agent *a)
{
	uint64_t n_names = 0, n_tables = 0;
	size_t i;

	for (i = 0; i < a->n_samplers; i++) {
		const struct sp_agent_source_status *t = sp_sampler_status(&a->samplers[i]);

		n_names += t->n_unnamed_files;
		n_tables += t->n_tables_later;
	}
	if (!a->is_parsing_put_off && n_names + n_tables)
		sp_log(SP_LOG_NOTICE,
		       "parsing is put off to keep within --max-cpu: %" PRIu64 " files have no names yet, %" PRIu64
		       " no unwind tables",
		       n_names, n_tables);
	else if (a->is_parsing_put_off && !(n_names + n_tables))
		sp_log(SP_LOG_NOTICE, "nothing waits to be parsed any more");
	a->is_parsing_put_off = n_names + n_tables;
}

static void set_rates(struct sp_agent *a, const struct sp_clock *now, bool is_too_much)
{
	size_t i;

	for (i = 0; i < a->n_samplers; i++) {
		struct sp_sampler *s = &a->samplers[i];
		char data[64];
		int r = sp_sampler_set_rate(s, s->wanted_millihertz, a->limits.halvings);

		if (r < 0) {
			sp_log(SP_LOG_WARNING, "%s", sp_error_text(r));
			sp_error_clear();
			continue;
		}
		snprintf(data, sizeof(data), "rate_mhz=%" PRIu64 " wanted_mhz=%" PRIu64, s->rate_millihertz,
			 s->wanted_millihertz);
		sp_loop_add_event(
		    a, now->wall_ns, now->wall_ns, "rate", s->recipe->name, data,
		    "sampling %s to %.1f Hz: it took %s --max-cpu (the agent uses %.2f %% of a CPU and %.1f MiB)",
		    is_too_much ? "slowed" : "back", (double)s->rate_millihertz / 1000,
		    is_too_much ? "more than" : "well below", (double)a->limits.cpu_ppm / 1e4,
		    (double)a->status.memory_bytes / (1 << 20));
	}
}

static void request_renewals(struct sp_agent *a)
{
	size_t i;

	for (i = 0; i < a->n_samplers; i++)
		a->samplers[i].wants_renewal = true;
}

void sp_own_usage_check(struct sp_agent *a, const struct sp_clock *now)
{
	if (now->mono_ns - a->checked_ns < INTERVAL_NS)
		return;
	a->checked_ns = now->mono_ns;
	measure_usage(a);
	report_put_off(a);
	switch (sp_limits_update(&a->limits, now->mono_ns, a->status.cpu_ns,
				 a->status.parsers_ns + a->status.service_ns, a->status.memory_bytes)) {
	case SP_LIMITS_RENEW:
		request_renewals(a);
		break;
	case SP_LIMITS_HALVE:
		set_rates(a, now, true);
		break;
	case SP_LIMITS_RAISE:
		set_rates(a, now, false);
		break;
	case SP_LIMITS_GO_ON:
		break;
	}
	a->status.halvings = a->limits.halvings;
	a->status.why_halved = a->limits.why;
	a->status.cpu_ppm = a->limits.cpu_ppm;
}

void sp_agent_add_service(struct sp_agent *a, uint64_t cpu_ns)
{
	a->answers_ns += cpu_ns;
	a->status.service_ns += cpu_ns;
}

void sp_agent_status_last(struct sp_agent *a, struct sp_agent_status *ret_status)
{
	const struct sp_user_files *u = sp_user_budget_most_refused(&a->user_budget);
	struct sp_agent_status *t = &a->status;
	size_t i;

	t->n_cpus = a->env.n_online;
	t->n_errors = a->env.n_errors;
	t->parse_left_ns = a->parse_budget.left_ns;
	t->n_refused_files = a->user_budget.n_refused;
	t->refused_uid = u ? u->uid : 0;
	t->n_refused_of_uid = u ? u->n_refused : 0;
	t->n_sources = a->n_samplers;
	t->store_error = t->kernel_failure = "";
	t->late_file = a->workers_seen.late;
	for (i = 0; i < a->n_samplers; i++) {
		t->sources[i] = *sp_sampler_status(&a->samplers[i]);
		if (a->samplers[i].queue.error[0])
			t->store_error = a->samplers[i].queue.error;
		if (a->samplers[i].naming.kernel_failure[0])
			t->kernel_failure = a->samplers[i].naming.kernel_failure;
	}
	*ret_status = *t;
}

void sp_agent_status(struct sp_agent *a, struct sp_agent_status *ret_status)
{
	/* whoever asks again and again must not make us measure as often */
	if (sp_time_ns(CLOCK_MONOTONIC) - a->measured_ns >= SP_NS_PER_S)
		measure_usage(a);
	sp_agent_status_last(a, ret_status);
}

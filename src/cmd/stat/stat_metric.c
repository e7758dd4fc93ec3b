/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/stat/stat.h"

#include "base/mem.h"

#include <linux/perf_event.h>
#include <math.h>

/* --- runs --- */
/* Welford 1962: a mean and the sum of squared differences, one value at a time. */
void sp_stat_spread_add(struct sp_stat_spread *s, size_t n_runs, double value)
{
	double before = value - s->mean;

	s->mean += before / (double)n_runs;
	s->m2 += before * (value - s->mean);
}

double sp_stat_error_percent(const struct sp_stat_spread *s, size_t n_runs)
{
	if (n_runs < 2 || s->mean == 0)
		return 0;
	return 100 * sqrt(s->m2 / (double)(n_runs - 1) / (double)n_runs) / fabs(s->mean);
}

double sp_stat_printed_value(const struct sp_stat_result *result, size_t i, double *ret_share)
{
	double value = sp_stat_value(&result->counters->counters[i], result->at_s > 0, ret_share);

	return result->spreads ? result->spreads[i].mean : value;
}

/* --- what a count means beside others --- */
static const struct sp_stat_counter *counter_of(const struct sp_stat_result *r, uint32_t type, uint64_t config,
						bool user_only, size_t *ret_i)
{
	for (size_t i = 0; i < r->counters->n; i++) {
		const struct sp_stat_counter *c = &r->counters->counters[i];

		if (c->event->type == type && c->event->config == config && !c->refused && c->user_only == user_only) {
			*ret_i = i;
			return c;
		}
	}
	return NULL;
}

static double value_of(const struct sp_stat_result *r, size_t i)
{
	double share;

	return sp_stat_printed_value(r, i, &share);
}

/* CPU time that the other counts are of; 0: it was not counted. */
static double clock_ns(const struct sp_stat_result *r)
{
	for (size_t i = 0; i < r->counters->n; i++)
		if (r->counters->counters[i].event->is_clock && !r->counters->counters[i].refused)
			return value_of(r, i);
	return 0;
}

static bool metric_ratio(const struct sp_stat_result *r, size_t i, uint32_t type, uint64_t of, double times,
			 const char *unit, struct sp_stat_metric *m)
{
	size_t k;

	if (!counter_of(r, type, of, r->counters->counters[i].user_only, &k) || value_of(r, k) <= 0)
		return false;
	*m = (struct sp_stat_metric){times * value_of(r, i) / value_of(r, k), unit, times == 100};
	return true;
}

static void metric_rate(double value, double seconds, struct sp_stat_metric *m)
{
	static const char *const units[] = {"/sec", "K/sec", "M/sec", "G/sec"};
	double rate = value / seconds;
	size_t i = 0;

	for (; rate >= 1000 && i + 1 < SP_COUNT(units); i++)
		rate /= 1000;
	*m = (struct sp_stat_metric){rate, units[i], false};
}

static bool metric_hardware(const struct sp_stat_result *r, size_t i, struct sp_stat_metric *m)
{
	switch (r->counters->counters[i].event->config) {
	case PERF_COUNT_HW_INSTRUCTIONS:
		return metric_ratio(r, i, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1, "insn per cycle", m);
	case PERF_COUNT_HW_BRANCH_MISSES:
		return metric_ratio(r, i, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 100, "of all branches",
				    m);
	case PERF_COUNT_HW_CACHE_MISSES:
		return metric_ratio(r, i, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, 100, "of all cache refs",
				    m);
	case PERF_COUNT_HW_CPU_CYCLES:
		if (clock_ns(r) <= 0)
			return false;
		*m = (struct sp_stat_metric){value_of(r, i) / clock_ns(r), "GHz", false};
		return true;
	}
	return false;
}

static bool metric_special(const struct sp_stat_result *r, size_t i, struct sp_stat_metric *m)
{
	const struct sp_stat_event *e = r->counters->counters[i].event;

	if (e->is_clock) {
		*m = (struct sp_stat_metric){value_of(r, i) / 1e9 / r->elapsed_s, "CPUs utilized", false};
		return true;
	}
	if (e->type == PERF_TYPE_HARDWARE)
		return metric_hardware(r, i, m);
	if (e->type == PERF_TYPE_HW_CACHE && e->config >> 16 == PERF_COUNT_HW_CACHE_RESULT_MISS)
		return metric_ratio(r, i, e->type, e->config & 0xffff, 100, "of all accesses", m);
	return false;
}

void sp_stat_metric(const struct sp_stat_result *result, size_t i, struct sp_stat_metric *ret_metric)
{
	*ret_metric = (struct sp_stat_metric){0};
	if (result->counters->counters[i].refused || result->elapsed_s <= 0)
		return;
	if (!metric_special(result, i, ret_metric) && clock_ns(result) > 0)
		metric_rate(value_of(result, i), clock_ns(result) / 1e9, ret_metric);
}

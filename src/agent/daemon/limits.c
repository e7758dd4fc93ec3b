/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/daemon/limits.h"
#include "base/mem.h"
#include <string.h>

uint64_t sp_limits_profile_bytes(uint64_t max_memory_bytes)
{
	return max_memory_bytes / 12;
}

uint64_t sp_limits_dictionary_bytes(uint64_t max_memory_bytes)
{
	uint64_t above = max_memory_bytes > SP_LIMITS_FOR_ALL ? max_memory_bytes - SP_LIMITS_FOR_ALL : 0;

	return max_memory_bytes / 10 + above / 5;
}

void sp_limits_init(struct sp_limits *l, uint64_t max_cpu_ppm, uint64_t max_memory_bytes)
{
	*l = (struct sp_limits){.max_cpu_ppm = max_cpu_ppm, .max_memory_bytes = max_memory_bytes, .why = ""};
}

static void add_reading(struct sp_limits *l, uint64_t now_ns, uint64_t cpu_ns, uint64_t rest_ns)
{
	if (l->n_readings > SP_LIMITS_MINUTES) {
		memmove(l->readings, l->readings + 1, SP_LIMITS_MINUTES * sizeof(l->readings[0]));
		l->n_readings--;
	}
	l->readings[l->n_readings].at_ns = now_ns;
	l->readings[l->n_readings].rest_ns = rest_ns;
	l->readings[l->n_readings++].cpu_ns = cpu_ns;
}

/* Over all readings. 0: not known. */
static void compute_shares(struct sp_limits *l)
{
	uint64_t time = l->readings[l->n_readings - 1].at_ns - l->readings[0].at_ns;
	double ppm = time ? 1e6 / (double)time : 0;

	l->cpu_ppm = (uint64_t)((double)(l->readings[l->n_readings - 1].cpu_ns - l->readings[0].cpu_ns) * ppm);
	l->rest_ppm = (uint64_t)((double)(l->readings[l->n_readings - 1].rest_ns - l->readings[0].rest_ns) * ppm);
}

/* From here on only the new rate counts. */
static void restart_readings(struct sp_limits *l)
{
	l->readings[0] = l->readings[l->n_readings - 1];
	l->n_readings = 1;
}

static enum sp_limits_advice halve_rate(struct sp_limits *l, const char *why)
{
	restart_readings(l);
	if (l->halvings >= SP_LIMITS_HALVINGS)
		return SP_LIMITS_GO_ON;
	l->halvings++;
	l->why = why;
	return SP_LIMITS_HALVE;
}

static enum sp_limits_advice check_memory(struct sp_limits *l, uint64_t bytes)
{
	bool was_over = l->memory_was_over;

	l->memory_was_over = l->max_memory_bytes && bytes > l->max_memory_bytes;
	if (!l->memory_was_over)
		return SP_LIMITS_GO_ON;
	if (!was_over)
		return SP_LIMITS_RENEW;
	l->memory_was_over = false; /* the next one asks for a fresh profile again */
	return halve_rate(l, "memory");
}

static bool may_double(const struct sp_limits *l, uint64_t memory_bytes)
{
	return l->halvings && l->n_readings > SP_LIMITS_MINUTES &&
	       (!l->max_cpu_ppm || l->rest_ppm < l->max_cpu_ppm / 3) &&
	       (!l->max_memory_bytes || memory_bytes < l->max_memory_bytes / 8 * 7);
}

static bool is_over(const struct sp_limits *l)
{
	return l->max_cpu_ppm && l->n_readings > SP_LIMITS_MINUTES && l->cpu_ppm > l->max_cpu_ppm &&
	       l->rest_ppm > l->max_cpu_ppm / 4 * 3;
}

enum sp_limits_advice sp_limits_update(struct sp_limits *l, uint64_t now_ns, uint64_t cpu_ns, uint64_t parsers_ns,
				       uint64_t memory_bytes)
{
	enum sp_limits_advice advice;

	add_reading(l, now_ns, cpu_ns, cpu_ns - SP_MIN(parsers_ns, cpu_ns));
	compute_shares(l);
	advice = check_memory(l, memory_bytes);
	if (advice != SP_LIMITS_GO_ON)
		return advice;
	if (is_over(l))
		return halve_rate(l, "cpu");
	if (!may_double(l, memory_bytes))
		return SP_LIMITS_GO_ON;
	restart_readings(l);
	l->halvings--;
	if (!l->halvings)
		l->why = "";
	return SP_LIMITS_DOUBLE;
}

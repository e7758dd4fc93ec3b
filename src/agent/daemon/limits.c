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

uint64_t sp_limits_deleted_bytes(uint64_t max_memory_bytes)
{
	return max_memory_bytes / 2;
}

uint64_t sp_limits_user_nodes(uint64_t max_memory_bytes)
{
	return sp_limits_profile_bytes(max_memory_bytes) / 128;
}

uint64_t sp_limits_user_name_bytes(uint64_t max_memory_bytes)
{
	return sp_limits_profile_bytes(max_memory_bytes) / 8;
}

void sp_limits_init(struct sp_limits *l, uint64_t max_cpu_ppm, uint64_t max_memory_bytes)
{
	*l = (struct sp_limits){.max_cpu_ppm = max_cpu_ppm, .max_memory_bytes = max_memory_bytes, .why = ""};
}

static void add_reading(struct sp_limits *l, uint64_t now_ns, uint64_t cpu_ns, uint64_t sampling_ns)
{
	if (l->n_readings > SP_LIMITS_MINUTES) {
		memmove(l->readings, l->readings + 1, SP_LIMITS_MINUTES * sizeof(l->readings[0]));
		l->n_readings--;
	}
	l->readings[l->n_readings].at_ns = now_ns;
	l->readings[l->n_readings].sampling_ns = sampling_ns;
	l->readings[l->n_readings++].cpu_ns = cpu_ns;
}

/* Since the reading that is so many before the last. 0: not known. */
static void compute_shares(const struct sp_limits *l, unsigned n_back, uint64_t *ret_cpu_ppm,
			   uint64_t *ret_sampling_ppm)
{
	unsigned last = l->n_readings - 1, first = last - SP_MIN(n_back, last);
	uint64_t time = l->readings[last].at_ns - l->readings[first].at_ns;
	double ppm = time ? 1e6 / (double)time : 0;

	*ret_cpu_ppm = (uint64_t)((double)(l->readings[last].cpu_ns - l->readings[first].cpu_ns) * ppm);
	*ret_sampling_ppm = (uint64_t)((double)(l->readings[last].sampling_ns - l->readings[first].sampling_ns) * ppm);
}

/* From here on only the new rate counts. */
static void restart_readings(struct sp_limits *l)
{
	l->readings[0] = l->readings[l->n_readings - 1];
	l->n_readings = 1;
}

static bool is_over(const struct sp_limits *l)
{
	return l->max_cpu_ppm && l->n_readings > SP_LIMITS_MINUTES && l->cpu_ppm > l->max_cpu_ppm &&
	       l->sampling_ppm > l->max_cpu_ppm / 4 * 3;
}

/* How many halvings can be taken back, by the last minute: what it would be then stays below two thirds of the limit.
 */
static unsigned count_doublings(const struct sp_limits *l)
{
	uint64_t cpu_ppm, sampling_ppm;
	unsigned n = 0;

	if (!l->halvings || l->n_readings < 2)
		return 0;
	compute_shares(l, 1, &cpu_ppm, &sampling_ppm);
	while (n < l->halvings && (!l->max_cpu_ppm || sampling_ppm << (n + 1) < l->max_cpu_ppm / 3 * 2))
		n++;
	return n;
}

static enum sp_limits_advice judge_cpu(struct sp_limits *l)
{
	unsigned n = count_doublings(l);

	if (is_over(l)) {
		restart_readings(l);
		if (l->halvings >= SP_LIMITS_HALVINGS)
			return SP_LIMITS_GO_ON;
		l->halvings++;
		l->why = "cpu";
		return SP_LIMITS_HALVE;
	}
	if (!n)
		return SP_LIMITS_GO_ON;
	restart_readings(l);
	l->halvings -= n;
	if (!l->halvings)
		l->why = "";
	return SP_LIMITS_RAISE;
}

enum sp_limits_advice sp_limits_update(struct sp_limits *l, uint64_t now_ns, uint64_t cpu_ns, uint64_t other_ns,
				       uint64_t memory_bytes)
{
	enum sp_limits_advice advice;

	add_reading(l, now_ns, cpu_ns, cpu_ns - SP_MIN(other_ns, cpu_ns));
	compute_shares(l, SP_LIMITS_MINUTES, &l->cpu_ppm, &l->sampling_ppm);
	advice = judge_cpu(l);
	if (advice == SP_LIMITS_GO_ON && l->max_memory_bytes && memory_bytes > l->max_memory_bytes)
		return SP_LIMITS_RENEW;
	return advice;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "made.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "profile/profile.h"

enum { N_FUNCS = 6, N_PHASES = 4, N_CALLERS = 2, DEPTH = 4 }; /* functions of each library */

struct program {
	double weight[SP_MADE_LIBRARIES];          /* shares of the time */
	double swing[N_PHASES][SP_MADE_LIBRARIES]; /* times these, in each phase */
	double length_s[SP_MADE_LIBRARIES];        /* of an activity, on average */
	uint32_t caller[SP_MADE_LIBRARIES][N_FUNCS][N_CALLERS];
};

struct maker {
	struct sp_profile *p;
	uint32_t frames[SP_MADE_LIBRARIES * N_FUNCS];
	uint32_t stacks[SP_MADE_LIBRARIES][N_FUNCS][N_CALLERS];
};

struct activity {
	uint32_t library, func, caller;
	double until_s;
};

/* --- chance: splitmix64 (Steele, Lea and Flood, 2014) --- */
static double uniform(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}

static uint32_t below(uint64_t *state, uint32_t n)
{
	return (uint32_t)(uniform(state) * n);
}

static double exponential(uint64_t *state, double mean)
{
	return -mean * log(uniform(state));
}

static double normal(uint64_t *state)
{
	double radius = sqrt(-2 * log(uniform(state)));

	return radius * cos(2 * M_PI * uniform(state));
}

/* --- programs --- */
static double phase_sum(const struct program *g, uint32_t phase)
{
	double sum = 0;

	for (uint32_t i = 0; i < SP_MADE_LIBRARIES; i++)
		sum += g->weight[i] * g->swing[phase][i];
	return sum;
}

static double expected_share(const struct program *g, uint32_t library)
{
	double share = 0;

	for (uint32_t k = 0; k < N_PHASES; k++)
		share += g->weight[library] * g->swing[k][library] / phase_sum(g, k) / N_PHASES;
	return share;
}

static void set_share(struct program *g, uint32_t library, double share)
{
	double low = 0, high = 1e6;

	for (int i = 0; i < 100; i++) {
		g->weight[library] = (low + high) / 2;
		*(expected_share(g, library) < share ? &low : &high) = g->weight[library];
	}
}

/* A few libraries have most of the time, and so do a few functions of each. */
static void invent(const struct sp_made *m, struct program *g)
{
	uint64_t state = m->program;

	for (uint32_t i = 0; i < SP_MADE_LIBRARIES; i++) {
		g->weight[i] = 1 / (1.5 + i);
		g->length_s[i] = fmax(m->kind->longest_s * pow(10, -2 * uniform(&state)), 0.0005);
		for (uint32_t k = 0; k < N_PHASES; k++)
			g->swing[k][i] = exp(m->kind->swing * normal(&state));
		for (uint32_t f = 0; f < N_FUNCS; f++)
			for (uint32_t c = 0; c < N_CALLERS; c++)
				g->caller[i][f][c] = below(&state, SP_MADE_LIBRARIES * N_FUNCS);
	}
	set_share(g, SP_MADE_TARGET, m->share);
}

/* --- profiles --- */
static void make_frame(struct maker *k, uint32_t library, uint32_t number)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "lib%u.so.1", library);
	struct sp_file f = {.kind = SP_FILE_ELF, .tag = library + 1, .build_id_len = 1, .build_id = {(uint8_t)library}};
	f.name = (uint32_t)sp_profile_add_string(k->p, name);
	struct sp_func func = {.file = (uint32_t)sp_profile_add_file(k->p, &f)};
	(void)snprintf(name, sizeof(name), "function_%u_%u", library, number);
	func.name = (uint32_t)sp_profile_add_string(k->p, name);
	struct sp_frame frame = {.file = func.file, .offset = 16 * number};
	frame.func = (uint32_t)sp_profile_add_func(k->p, &func);
	k->frames[library * N_FUNCS + number] = (uint32_t)sp_profile_add_frame(k->p, &frame);
}

static bool make_profile(const struct program *g, struct maker *k)
{
	if (sp_profile_new(&k->p) < 0 || sp_profile_add_value_type(k->p, "samples", "count") < 0 ||
	    sp_profile_add_value_type(k->p, "cpu", "nanoseconds") < 0)
		return false;
	for (uint32_t i = 0; i < SP_MADE_LIBRARIES * N_FUNCS; i++)
		make_frame(k, i / N_FUNCS, i % N_FUNCS);
	for (uint32_t i = 0; i < SP_MADE_LIBRARIES; i++)
		for (uint32_t f = 0; f < N_FUNCS; f++)
			for (uint32_t c = 0; c < N_CALLERS; c++) {
				uint32_t caller = g->caller[i][f][c];
				uint32_t frames[DEPTH] = {k->frames[i * N_FUNCS + f], k->frames[caller],
							  k->frames[caller % N_FUNCS], k->frames[0]};
				struct sp_stack s = {.n_frames = DEPTH, .frames = frames};
				k->stacks[i][f][c] = (uint32_t)sp_profile_add_stack(k->p, &s);
			}
	return true;
}

static void take_sample(const struct sp_made *m, struct maker *k, const struct activity *a, double t)
{
	uint32_t slice = m->n_slices > 0 ? 1 + (uint32_t)(t / m->seconds * m->n_slices) : 0;
	int64_t key = sp_profile_add_key(k->p, &(struct sp_key){.slice = slice});
	int64_t values[] = {1, (int64_t)(1e9 / m->hz)};

	(void)sp_profile_add(k->p, (uint32_t)key, k->stacks[a->library][a->func][a->caller], 0, values);
}

/* --- time --- */
/* The time in a phase is shared by weight, so what lasts long begins the more rarely. */
static struct activity next_activity(const struct program *g, const double *rates, double t, uint64_t *state)
{
	struct activity a = {0};
	double at = uniform(state) * rates[SP_MADE_LIBRARIES];

	while (a.library < SP_MADE_LIBRARIES - 1 && at >= rates[a.library])
		at -= rates[a.library++];
	a.func = (uint32_t)(pow(N_FUNCS + 1, uniform(state)) - 1);
	a.caller = below(state, N_CALLERS);
	a.until_s = t + exponential(state, g->length_s[a.library]);
	return a;
}

static void set_rates(const struct program *g, uint32_t phase, double rates[SP_MADE_LIBRARIES + 1])
{
	rates[SP_MADE_LIBRARIES] = 0;
	for (uint32_t i = 0; i < SP_MADE_LIBRARIES; i++) {
		rates[i] = g->weight[i] * g->swing[phase][i] / g->length_s[i];
		rates[SP_MADE_LIBRARIES] += rates[i];
	}
}

/* Phases are the same on all CPUs, by a state of their own. The clock of a CPU ticks a little unevenly. */
static void run_cpu(const struct sp_made *m, const struct program *g, struct maker *k, uint32_t cpu)
{
	uint64_t phases = m->seed * 977, state = m->seed * 1009 + cpu + 1;
	double rates[SP_MADE_LIBRARIES + 1], tick = uniform(&state) / m->hz, phase_until = 0;
	struct activity a = {0};

	for (double t = 0; t < m->seconds;) {
		if (t >= phase_until) {
			set_rates(g, below(&phases, N_PHASES), rates);
			phase_until = m->kind->phase_s > 0 ? t + exponential(&phases, m->kind->phase_s) : INFINITY;
		}
		if (t >= a.until_s)
			a = next_activity(g, rates, t, &state);
		double end = fmin(fmin(a.until_s, phase_until), m->seconds);
		for (; tick < end; tick += (0.95 + 0.1 * uniform(&state)) / m->hz)
			take_sample(m, k, &a, tick);
		t = end;
	}
}

struct sp_profile *sp_made_record(const struct sp_made *m)
{
	struct program g;
	struct maker k = {0};

	invent(m, &g);
	if (!make_profile(&g, &k)) {
		sp_profile_free(k.p);
		return NULL;
	}
	sp_profile_info(k.p)->duration_ns = (uint64_t)(m->seconds * 1e9);
	for (uint32_t cpu = 0; cpu < m->n_cpus; cpu++)
		run_cpu(m, &g, &k, cpu);
	return k.p;
}

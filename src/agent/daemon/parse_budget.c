/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/daemon/parse_budget.h"
#include "base/mem.h"
#include "base/time.h"
#include <string.h>

/* By measurement, on a machine that does little else: 1.3 to 2.3 ns a byte for an unwind table, 2.3 to 8 for names. */
enum { NS_PER_BYTE = 8, NS_PER_FILE = 300000, MIN_MS = 1000, MAX_MS = 10000 };

static int64_t whole(const struct sp_parse_budget *p)
{
	return (int64_t)(p->max_cpu_ppm * (SP_NS_PER_S / 1000000) * SP_PARSE_BUDGET_S);
}

/* More than a half never is there for long. */
static int64_t estimate(const struct sp_parse_budget *p, uint64_t bytes)
{
	uint64_t ns = NS_PER_FILE + SP_MIN(bytes, UINT64_C(1) << 40) * NS_PER_BYTE;

	return SP_MIN((int64_t)ns, whole(p) / 2);
}

unsigned sp_parse_budget_longest_ms(uint64_t max_cpu_ppm)
{
	const struct sp_parse_budget p = {.max_cpu_ppm = max_cpu_ppm};
	uint64_t ms = (uint64_t)whole(&p) / 1000000 / 3 * 2;

	return max_cpu_ppm ? (unsigned)SP_MIN(SP_MAX(ms, MIN_MS), MAX_MS) : MAX_MS;
}

void sp_parse_budget_init(struct sp_parse_budget *p, uint64_t max_cpu_ppm, uint64_t now_ns, uint64_t cpu_ns)
{
	*p = (struct sp_parse_budget){.max_cpu_ppm = max_cpu_ppm, .began_ns = now_ns, .cpu_ns = cpu_ns};
	sp_parse_budget_update(p, now_ns, cpu_ns);
}

static uint64_t slot_at(const struct sp_parse_budget *p, uint64_t now_ns)
{
	return (now_ns - SP_MIN(p->began_ns, now_ns)) / (SP_PARSE_SLOT_S * SP_NS_PER_S);
}

bool sp_parse_budget_is_of_slot(const struct sp_parse_budget *p, uint64_t now_ns)
{
	return slot_at(p, now_ns) <= p->slot;
}

/* What was allowed and cost less, or was taken back, is forgotten by and by. */
static void go_to_slot(struct sp_parse_budget *p, uint64_t slot)
{
	if (slot >= p->slot + SP_PARSE_SLOTS) {
		memset(p->used_ns, 0, sizeof(p->used_ns));
		p->sum_ns = 0;
		p->asked_ns = 0;
		p->slot = slot;
	}
	while (p->slot < slot) {
		uint64_t *oldest = &p->used_ns[++p->slot % SP_PARSE_SLOTS];

		p->sum_ns -= *oldest;
		*oldest = 0;
		p->asked_ns /= 2;
	}
}

/*
 * Less an eighth for what cannot wait, if it should grow; at first less three, which come by and by. They are for the
 * time that the sum does not know yet, and for files that come later: all is unknown at first, and what takes the whole
 * at once would leave new files without names until it is forgotten.
 */
static int64_t allowed(const struct sp_parse_budget *p)
{
	int64_t part = whole(p) / 8, n = (int64_t)SP_MIN(p->slot, SP_PARSE_SLOTS);

	return 5 * part + 2 * part * n / SP_PARSE_SLOTS;
}

void sp_parse_budget_update(struct sp_parse_budget *p, uint64_t now_ns, uint64_t cpu_ns)
{
	/* A process's last moments are reported late and coarsely; the sum must not go back. */
	uint64_t used_ns = SP_MAX(cpu_ns, p->cpu_ns) - p->cpu_ns;

	go_to_slot(p, slot_at(p, now_ns));
	p->cpu_ns += used_ns;
	p->used_ns[p->slot % SP_PARSE_SLOTS] += used_ns;
	p->sum_ns += used_ns;
	p->asked_ns -= SP_MIN((int64_t)SP_MIN(used_ns, (uint64_t)INT64_MAX), p->asked_ns);
	p->left_ns = allowed(p) - (int64_t)SP_MIN(p->sum_ns, (uint64_t)INT64_MAX / 2) - p->asked_ns;
}

bool sp_parse_budget_allows(const struct sp_parse_budget *p, uint64_t n_samples, uint64_t bytes)
{
	int64_t threshold = whole(p) / 2;
	uint64_t needed = 1;

	if (!p->max_cpu_ppm)
		return true;
	for (; needed < 64 && p->left_ns <= threshold; needed *= 4)
		threshold /= 2;
	return p->left_ns > 0 && p->left_ns >= estimate(p, bytes) && n_samples >= needed;
}

void sp_parse_budget_ask(struct sp_parse_budget *p, uint64_t bytes)
{
	int64_t ns = estimate(p, bytes);

	p->asked_ns += ns;
	p->left_ns -= ns;
}

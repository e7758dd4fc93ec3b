/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machinery.c: the kernel functions that lead from a tracepoint to our program, with which its kernel stacks begin:
 * bpf_trace_run4, __bpf_trace_sched_switch, __traceiter_sched_switch, of classic ones perf_trace_sched_switch, unless
 * the compiler has inlined them. They are removed, since they say nothing about the event.
 *
 * Their addresses are in kallsyms, which is opened while we may see addresses, and read when the first such stack
 * comes.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "capture/priv.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct range {
	uint64_t start, end;
};
struct sp_machinery {
	FILE *kallsyms; /* NULL: it was read already, or could not be opened */
	struct range *ranges;
	size_t n, capacity;
};

int sp_machinery_open(struct sp_capture *c)
{
	c->machinery = calloc(1, sizeof(*c->machinery));
	if (!c->machinery)
		return -ENOMEM;
	c->machinery->kallsyms = fopen("/proc/kallsyms", "re");
	return 0;
}

void sp_machinery_done(struct sp_capture *c)
{
	if (!c->machinery)
		return;
	if (c->machinery->kallsyms)
		fclose(c->machinery->kallsyms);
	free(c->machinery->ranges);
	free(sp_take_ptr(c->machinery));
}

static bool is_machinery(const char *name)
{
	static const char *const starts[] = {"bpf_trace_run", "__bpf_trace_", "__traceiter_", "perf_trace_",
					     "trace_call_bpf"};

	for (size_t i = 0; i < SP_COUNT(starts); i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* The lines are sorted by address, so a function ends where the next one begins. */
static int take_line(struct sp_machinery *m, const char *line, bool *open)
{
	char *name;
	uint64_t address = strtoull(line, &name, 16);

	if (*open && address > m->ranges[m->n - 1].start) {
		m->ranges[m->n - 1].end = address;
		*open = false;
	}
	if (!address || strlen(name) < 4 || !strchr("tT", name[1]) || !is_machinery(name + 3))
		return 0;
	if (sp_grow(&m->ranges, &m->capacity, m->n + 1, sizeof(*m->ranges)) < 0)
		return -ENOMEM;
	m->ranges[m->n++] = (struct range){.start = address};
	*open = true;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int read_all(struct sp_machinery *m)
{
	SP_FCLOSE FILE *f = sp_take_ptr(m->kallsyms);
	char line[512];
	bool open = false;
	int r = 0;

	while (!r && fgets(line, sizeof(line), f))
		r = take_line(m, line, &open);
	if (m->n)
		qsort(m->ranges, m->n, sizeof(*m->ranges), by_start);
	return r;
}

static bool holds(const struct sp_machinery *m, uint64_t address)
{
	size_t n = SP_N_UP_TO(m->ranges, m->n, start, address);

	return n && address < m->ranges[n - 1].end;
}

int sp_machinery_skip(struct sp_capture *c, const sp_u64 *words, uint32_t n, uint32_t *ret_n)
{
	struct sp_machinery *m = c->machinery;
	uint32_t i = 0;
	int r = m && m->kallsyms ? read_all(m) : 0;

	while (!r && m && i < n && words[i] >> SP_FRAME_KIND_SHIFT == SP_FRAME_KERNEL &&
	       holds(m, (words[i] & SP_FRAME_KERNEL_MASK) | ~SP_FRAME_KERNEL_MASK))
		i++;
	*ret_n = i;
	return r;
}

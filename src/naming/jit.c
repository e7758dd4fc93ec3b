/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jit.c: memory without a file: the sources of names, one after the other, for what none before has named. */
#include "naming/jit.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/capture.h"
#include "profile/profile.h"
#include <errno.h>
#include <stdlib.h>

/*
 * Samples that were taken before a question may be drained after it, and then asked for by the next: what lay at an
 * address so long before a question may be what was sampled.
 */
static const uint64_t slack_ns = 10 * SP_NS_PER_S;

/* Functions begin and end in addresses; in the profile, relative to the region. */
static void relate(uint64_t bias, struct sp_name *m)
{
	uint64_t below = m->start < bias ? bias - m->start : 0;

	m->start += below;
	m->size -= m->size ? below : 0;
	m->start -= bias;
}

static void take(struct sp_jit_question *q, struct sp_name *from, bool lasts, struct sp_name *names)
{
	uint64_t bias = sp_profile_file(q->naming->profile, q->file)->bias;
	size_t i;

	for (i = 0; i < q->n; i++) {
		if (names[i].size || !from[i].size)
			continue;
		names[i] = from[i];
		from[i] = (struct sp_name){0};
		relate(bias, &names[i]);
		names[i].from = lasts ? names[i].start : 0;
		names[i].to = lasts ? names[i].start + names[i].size : 0;
	}
	sp_names_done(from, q->n);
}

static bool has_all(const struct sp_name *names, size_t n)
{
	size_t i;

	for (i = 0; i < n && names[i].size; i++)
		;
	return i == n;
}

static const struct source {
	int (*find)(const struct sp_jit_question *q, struct sp_name *names);
	const char *what;
	bool lasts; /* who asks for another address of a function later need not be told again */
} sources[] = {{sp_jit_by_dump, "jit dump", false},
	       {sp_jit_by_map, "perf map", true},
	       {sp_jit_by_objects, "GDB's list of made code", false}};

/* What one of them fails at stands in the file's note. */
static int ask_sources(struct sp_jit_question *q, struct sp_name *names)
{
	SP_FREE struct sp_name *found = calloc(q->n + 1, sizeof(*found));
	int all = -ENOENT, r;
	size_t i;

	if (!found)
		return -ENOMEM;
	for (i = 0; i < SP_COUNT(sources) && !has_all(names, q->n); i++) {
		r = sources[i].find(q, found);
		if (r < 0 && r != -ENOENT)
			sp_naming_note(q->naming, q->file, sources[i].what, r);
		sp_error_clear();
		if (r < 0)
			continue;
		take(q, found, sources[i].lasts, names);
		all = 0;
	}
	return all;
}

static uint64_t since_of(const struct sp_naming *n, const struct sp_named_file *f)
{
	return SP_MAX(SP_MAX(f->asked_ns, n->renewed_ns), sp_capture_began_ns(n->capture) + slack_ns) - slack_ns;
}

int sp_naming_jit_code(struct sp_naming *n, uint32_t file, const uint64_t *offsets, size_t n_offsets,
		       struct sp_name *names)
{
	const struct sp_file *f = sp_profile_file(n->profile, file);
	struct sp_named_file *named = sp_named_file(n, file);
	struct sp_jit_question q = {
	    .naming = n, .file = file, .process = *sp_profile_process(n->profile, f->process), .n = n_offsets};
	SP_FREE uint64_t *addresses = calloc(n_offsets + 1, sizeof(*addresses));
	uint64_t now_ns = sp_time_ns(CLOCK_MONOTONIC);
	size_t i;
	int r;

	if (!named || !addresses)
		return -ENOMEM;
	if (!q.process.pid)
		return -ENOENT;
	for (i = 0; i < n_offsets; i++)
		addresses[i] = f->bias + offsets[i];
	q.addresses = addresses;
	q.since_ns = since_of(n, named);
	r = ask_sources(&q, names);
	sp_named_file(n, file)->asked_ns = now_ns; /* which may have moved meanwhile, but is there */
	return r;
}

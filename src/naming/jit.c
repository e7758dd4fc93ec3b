/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jit.c: names memory without a file: asks its sources in turn, each about what is left without a name. */
#include "naming/jit.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/capture.h"
#include "naming/priv.h"
#include "profile/profile.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { MADE_AGAIN_S = 60 };
/* A session that lasts asks about the same memory for this part of the time at most: perf maps are read whole. */
enum { ASKING_PART = 1000 };

/*
 * Samples that were taken before a question may be drained after it, and then asked for by the next: what lay at an
 * address so long before a question may be what was sampled.
 */
static const uint64_t slack_ns = 10 * SP_NS_PER_S;

static const struct source {
	int (*find)(struct sp_naming *n);
	const char *what;
	bool lasts; /* so that a later question about the same function need not be asked */
} sources[] = {{sp_jit_by_dump, "jit dump", false},
	       {sp_jit_by_map, "perf map", true},
	       {sp_jit_by_objects, "GDB's list of JIT code", false}};

/* Functions begin and end in addresses; in the profile, relative to the region. */
static void relate(uint64_t bias, struct sp_name *m)
{
	uint64_t below = m->start < bias ? bias - m->start : 0;

	m->start += below;
	m->size -= m->size ? below : 0;
	m->start -= bias;
}

void sp_jit_take(struct sp_naming *n)
{
	struct sp_naming_work *w = n->work;
	uint64_t bias = sp_profile_file(n->profile, w->file)->bias;
	struct sp_name *names = w->names, *found = w->jit.found;
	bool lasts = sources[w->jit.source].lasts;
	size_t i;

	for (i = 0; i < w->n; i++) {
		if (names[i].size || !found[i].size)
			continue;
		names[i] = found[i];
		found[i] = (struct sp_name){0};
		relate(bias, &names[i]);
		names[i].from = lasts ? names[i].start : 0;
		names[i].to = lasts ? names[i].start + names[i].size : 0;
	}
	sp_names_done(found, w->n);
}

static bool has_all(const struct sp_name *names, size_t n)
{
	size_t i;

	for (i = 0; i < n && names[i].size; i++)
		;
	return i == n;
}

static int asked(struct sp_naming *n, int r);

static int ask_next(struct sp_naming *n)
{
	struct sp_naming_work *w = n->work;

	if (w->jit.source == SP_COUNT(sources) || has_all(w->names, w->n))
		return w->jit.result;
	sp_naming_then(n, asked);
	return sources[w->jit.source].find(n);
}

/* What one of them fails at stands in the file's note. */
static int asked(struct sp_naming *n, int r)
{
	struct sp_jit_question *m = &n->work->jit;

	if (r == -EAGAIN) /* it may not be read now: all of them are asked again later */
		return r;
	if (r < 0 && r != -ENOENT)
		sp_naming_note(n, n->work->file, sources[m->source].what, r);
	sp_error_clear();
	if (r >= 0) {
		sp_jit_take(n);
		m->result = 0;
	}
	sp_cleanup_close(&m->fd);
	m->fd = -1;
	m->source++;
	return ask_next(n);
}

static uint64_t since_of(const struct sp_naming *n, const struct sp_named_file *f)
{
	return SP_MAX(SP_MAX(f->asked_ns, n->renewed_ns), sp_capture_began_ns(n->capture) + slack_ns) - slack_ns;
}

static int begin(struct sp_naming *n)
{
	struct sp_naming_work *w = n->work;
	struct sp_jit_question *m = &w->jit;
	const struct sp_file *f = sp_profile_file(n->profile, w->file);
	size_t i;

	m->process = *sp_profile_process(n->profile, f->process);
	m->addresses = calloc(w->n + 1, sizeof(*m->addresses));
	m->found = w->answer = calloc(w->n + 1, sizeof(*m->found));
	if (!m->addresses || !m->found)
		return -ENOMEM;
	if (!m->process.pid)
		return -ENOENT;
	for (i = 0; i < w->n; i++)
		m->addresses[i] = f->bias + w->offsets[i];
	m->since_ns = since_of(n, sp_named_file(n, w->file));
	m->began_ns = sp_time_ns(CLOCK_MONOTONIC);
	m->result = -ENOENT;
	return ask_next(n);
}

static int end(struct sp_naming *n, int r)
{
	struct sp_named_file *f = sp_named_file(n, n->work->file);

	f->looked_ns = r == -ENOENT ? sp_time_ns(CLOCK_BOOTTIME) : 0;
	f->rests_until_ns = n->may_parse ? sp_time_ns(CLOCK_BOOTTIME) + n->work->cpu_ns * ASKING_PART : 0;
	if (r != -EAGAIN)
		f->asked_ns = SP_MAX(f->asked_ns, n->work->jit.began_ns);
	return r;
}

/* Most programs that make code tell nothing of it; one that does may begin to. */
int sp_naming_jit_code(struct sp_naming *n, int r)
{
	const struct sp_named_file *f = sp_named_file(n, n->work->file);

	(void)r;
	if (!f)
		return -ENOMEM;
	if (f->looked_ns && sp_time_ns(CLOCK_BOOTTIME) - f->looked_ns < (uint64_t)MADE_AGAIN_S * SP_NS_PER_S)
		return -ENOENT;
	if (sp_time_ns(CLOCK_BOOTTIME) < f->rests_until_ns || !sp_naming_may_parse(n, f, SP_NAMING_QUESTION))
		return -EAGAIN;
	sp_naming_then(n, end);
	return begin(n);
}

void sp_jit_done(struct sp_jit_question *m, size_t n)
{
	if (m->found)
		sp_names_done(m->found, n);
	free(m->found);
	free(m->addresses);
	free(m->files);
	sp_cleanup_close(&m->fd);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calls_read.c: files of counted calls as profiles with names. */
#include "base/error.h"
#include "base/mem.h"
#include "cmd/calls/calls.h"
#include "link/profile.h"
#include "naming/naming.h"
#include "profile/profile.h"
#include "symbol/names.h"
#include "worker/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool sp_calls_is_file(int fd)
{
	uint8_t head[8];

	return pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) && sp_calls_is(head, sizeof(head));
}

/* What the file says of where functions begin; without the file nothing is known. */
static int place(void *arg, struct sp_profile *p, uint32_t file, const uint64_t *offsets, size_t n, uint64_t *vaddrs,
		 uint64_t *sizes)
{
	struct sp_naming *naming = arg;
	struct sp_name *names = calloc(n, sizeof(*names));
	int r = names ? 0 : -ENOMEM;

	naming->profile = p;
	if (r >= 0)
		r = sp_naming_resolve(naming, &(struct sp_name_question){file, offsets, n, names});
	for (size_t i = 0; i < n && r >= 0; i++) {
		if (!names[i].size || names[i].start > offsets[i])
			continue;
		vaddrs[i] = names[i].vaddr ? names[i].vaddr + (offsets[i] - names[i].start) : 0;
		sizes[i] = names[i].size - SP_MIN(names[i].size, offsets[i] - names[i].start);
	}
	if (names)
		sp_names_done(names, n);
	free(names);
	if (r != -ENOMEM)
		sp_error_clear();
	return r == -ENOMEM ? r : 0;
}

int sp_calls_make(const struct sp_calls_snapshot *s, struct sp_workers *workers, struct sp_profile **ret_profile)
{
	struct sp_naming naming = {.workers = workers, .by_path = true};
	struct sp_calls_namer namer = {.demangle = sp_demangle, .place = place, .arg = &naming};
	struct sp_profile *p = NULL;
	int r = sp_calls_profile(s, &namer, &p);

	if (r >= 0) {
		naming.profile = p;
		r = sp_naming_run(&naming);
	}
	sp_naming_done(&naming);
	if (r < 0) {
		sp_profile_free(p);
		return r;
	}
	*ret_profile = p;
	return 0;
}

int sp_calls_read_named(int fd, const char *name, struct sp_profile **ret_profile, struct sp_calls_summary *summary)
{
	struct sp_workers_options o = {0};
	struct sp_workers *workers = NULL;
	struct sp_calls_snapshot s;
	int r = sp_calls_read_fd(fd, name, &s);

	if (r < 0)
		return r;
	r = sp_workers_new(&o, &workers);
	if (r >= 0)
		r = sp_calls_make(&s, workers, ret_profile);
	if (r >= 0)
		sp_calls_summary_add(summary, &s);
	sp_workers_free(workers);
	sp_calls_done(&s);
	return r;
}

/* --- what else there is to tell --- */
static void tell_counter(uint64_t n, const char *one, const char *many, const char *why)
{
	if (n)
		fprintf(stderr, "soprof: %" PRIu64 " %s %s\n", n, n == 1 ? one : many, why);
}

void sp_calls_summary_add(struct sp_calls_summary *t, const struct sp_calls_snapshot *s)
{
	for (size_t i = 0; i < s->n_arcs; i++)
		t->n_calls += s->arcs[i].n_calls;
	for (size_t i = 0; i < s->n_libraries; i++)
		t->n_references +=
		    (uint64_t)s->libraries[i].n_by_address + s->libraries[i].n_mixed + s->libraries[i].n_words;
	for (size_t i = 0; i < SP_CALLS_COUNTERS; i++)
		t->counters[i] += s->counters[i];
	t->n_torn += s->n_torn;
}

void sp_calls_tell(const struct sp_calls_summary *t)
{
	uint64_t n_programs = t->counters[SP_CALLS_N_PROCESSES];
	bool is_least = t->n_references || t->n_torn || t->counters[SP_CALLS_N_NO_ROOM] ||
			t->counters[SP_CALLS_N_LOST_CALLS] || t->counters[SP_CALLS_N_UNCOUNTED];

	fprintf(stderr, "soprof: %s%" PRIu64 " call%s by %" PRIu64 " program%s\n", is_least ? "at least " : "",
		t->n_calls, t->n_calls == 1 ? "" : "s", n_programs, n_programs == 1 ? "" : "s");
	sp_calls_losses_tell(t);
}

void sp_calls_losses_tell(const struct sp_calls_summary *t)
{
	tell_counter(t->n_references, "reference was", "references were",
		     "left alone, since addresses of functions are taken by them: calls through those are not counted");
	tell_counter(t->counters[SP_CALLS_N_NO_ROOM], "reference was", "references were",
		     "left alone, since a table in the program was full: calls through those are not counted");
	tell_counter(
	    t->counters[SP_CALLS_N_UNCOUNTED], "program ran", "programs ran",
	    "uncounted, with all that it started: its libraries want static TLS that an auditor's programs cannot "
	    "have");
	tell_counter(t->counters[SP_CALLS_N_UNTIMED], "program was", "programs were",
		     "counted but not timed: its stack could not be unwound through timed calls, or it forbade itself "
		     "the time-stamp counter");
	tell_counter(t->counters[SP_CALLS_N_FOLDED_SITES], "place of calls has", "places of calls have",
		     "no row of their own: their calls are counted without a caller");
	tell_counter(t->counters[SP_CALLS_N_NO_BLOCK], "time the file", "times the file",
		     "could not grow, since it or the disk is full");
	tell_counter(t->counters[SP_CALLS_N_LOST_CALLS], "call was", "calls were",
		     "lost, since their functions found no room");
	tell_counter(t->n_torn, "record is", "records are",
		     "unfinished: a program was killed while it wrote, or is writing; what belongs to it is left out");
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* machine_tell.c: what the counted add up to, and what is missing of them, with why. */
#include "base/encode.h"
#include "base/mem.h"
#include "cmd/calls/machine_guard.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MAX_NAMED = 3 };

static uint64_t begun_of(const struct sp_machine_shown *s)
{
	uint32_t n = s->no_cookies ? 1 : sp_machine_n_functions(s->rows->targets);
	uint64_t begun = 0;

	for (uint32_t i = 0; i < n; i++)
		begun += sp_counting_entered(s->counting, i);
	return begun;
}

static uint64_t counted_of(const struct sp_machine_rows *r)
{
	uint64_t n = r->n_unplaced;

	for (uint32_t i = 0; i < sp_machine_n_rows(r); i++)
		n += r->rows[i].all.n_calls;
	return n;
}

uint64_t sp_machine_unreturned(const struct sp_machine_shown *s)
{
	uint64_t begun = s->args->latency ? begun_of(s) : 0,
		 ended = counted_of(s->rows) + sp_counting_lost(s->counting, SP_PROBED_N_NO_ROOM);

	return begun > ended ? begun - ended : 0;
}

void sp_machine_tell_count(uint64_t n, const char *one, const char *many, const char *what)
{
	if (n)
		fprintf(stderr, "soprof: %" PRIu64 " %s %s\n", n, n == 1 ? one : many, what);
}

/* Of which functions, those with the most first. */
static void unreturned_name(const struct sp_machine_shown *s)
{
	uint32_t n = sp_machine_n_functions(s->rows->targets);
	SP_FREE uint64_t *open = calloc(n + 1, sizeof(*open));

	if (!open || s->no_cookies || s->rows->by == SP_MACHINE_BY_LIBRARY)
		return;
	for (uint32_t i = 0; i < n; i++)
		open[i] = sp_counting_entered(s->counting, i);
	for (uint32_t i = 0; i < sp_machine_n_rows(s->rows); i++)
		open[s->rows->rows[i].of] -= SP_MIN(s->rows->rows[i].all.n_calls, open[s->rows->rows[i].of]);
	for (int k = 0; k < MAX_NAMED; k++) {
		uint32_t most = 0;

		for (uint32_t i = 1; i < n; i++)
			most = open[i] > open[most] ? i : most;
		if (!open[most])
			return;
		fputs(k ? ", " : " (", stderr);
		sp_encode(stderr, SP_ENCODE_TERMINAL, s->rows->targets->functions[most].name);
		fprintf(stderr, ": %" PRIu64, open[most]);
		open[most] = 0;
	}
}

static void unreturned_tell(const struct sp_machine_shown *s)
{
	uint64_t n = sp_machine_unreturned(s);

	if (!n)
		return;
	fprintf(stderr, "soprof: %" PRIu64 " call%s not timed, as no return was seen", n, n == 1 ? " is" : "s are");
	unreturned_name(s);
	if (!s->no_cookies && s->rows->by != SP_MACHINE_BY_LIBRARY)
		fputc(')', stderr);
	fputs(": still running, left by longjmp, an exception or the thread's end, or more than 64 deep\n", stderr);
}

void sp_machine_tell(const struct sp_machine_shown *s)
{
	const struct sp_machine_targets *t = s->rows->targets;
	uint64_t n = counted_of(s->rows), n_stepped = 0, n_loops = 0;

	fprintf(stderr, "soprof: %" PRIu64 " call%s of %" PRIu32 " function%s in %" PRIu64 " file%s, in %.2f s\n", n,
		n == 1 ? "" : "s", sp_machine_n_functions(t), sp_machine_n_functions(t) == 1 ? "" : "s", t->n_files,
		t->n_files == 1 ? "" : "s", s->seconds);
	sp_machine_guard_tell(s->guard);
	for (uint32_t i = 0; i < sp_machine_n_functions(t); i++) {
		n_stepped += t->functions[i].is_stepped;
		n_loops += t->functions[i].loops;
	}
	if (n)
		sp_machine_tell_count(n_stepped, "function costs its", "functions cost their",
				      "callers a single step a call, some 10 times more than the others");
	sp_machine_tell_count(n_loops, "function begins", "functions begin",
			      "with a loop, whose turns count like calls");
	sp_machine_tell_count(t->n_refused_functions, "function is", "functions are",
			      "not counted: no place for a probe is safe there");
	sp_machine_tell_count(t->n_refused_by_kernel, "function is", "functions are",
			      "not counted: the kernel takes no probe there");
	sp_machine_tell_count(sp_counting_lost(s->counting, SP_PROBED_N_NO_ROOM), "call was", "calls were",
			      "lost, since the table of rows was full: --rows N makes room for more");
	sp_machine_tell_count(sp_counting_lost(s->counting, SP_PROBED_N_NO_START), "call was", "calls were",
			      "counted by no time, since too many ran at once");
	sp_machine_tell_count(sp_counting_lost(s->counting, SP_PROBED_N_ELSEWHERE), "call is", "calls are",
			      "not timed, since they ran on a stack that is not their thread's own");
	sp_machine_tell_count(sp_counting_lost(s->counting, SP_PROBED_N_NO_BEGIN), "return was", "returns were",
			      "seen without its beginning");
	sp_machine_tell_count(sp_counting_lost(s->counting, SP_PROBED_N_UNREAD), "call has", "calls have",
			      "no caller: its return address could not be read");
	sp_machine_tell_count(sp_counting_lost(s->counting, SP_PROBED_N_UNSAMPLED), "row is", "rows are",
			      "of processes that found no room among the sampled: their times are missing");
	sp_machine_tell_count(s->rows->n_unplaced, "call was", "calls were", "at a place that is not known");
	unreturned_tell(s);
}

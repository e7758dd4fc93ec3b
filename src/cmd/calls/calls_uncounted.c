/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls_uncounted.c: tells which of the programs that a command started did not count.
 *
 * Programs that cannot use the file report that themselves (link/audit_library.h). For the others the kernel half, if
 * it follows the command, counts each exec and what the dynamic linker was asked to do.
 */
#include "base/mem.h"
#include "capture/capture.h"
#include "cmd/calls/calls.h"
#include "link/format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void refused_tell(uint64_t n, bool more)
{
	if (n)
		fprintf(stderr,
			"soprof: %s%" PRIu64 " program%s ran uncounted: %s the file of counts, as another user, say\n",
			more ? "more than " : "", n, n == 1 ? "" : "s",
			n == 1 ? "it could not use" : "they could not use");
}

static void cause_put(FILE *out, uint64_t n, const char *what)
{
	if (n)
		fprintf(out, "%s%" PRIu64 " %s", ftell(out) > 0 ? ", " : "", n, what);
}

/* Where more said so than inotify keeps, all of whom nothing else is known. */
static int tell(const struct sp_calls_uncounted *u, uint64_t n_ran, uint64_t n_missing)
{
	const uint64_t *seen = u->seen->counter;
	uint64_t n_no_tls = u->counters[SP_CALLS_N_UNCOUNTED],
		 known = seen[SP_N_PROGRAMS_STATIC] + seen[SP_N_PROGRAMS_SECURE] + n_no_tls,
		 rest = n_missing > known ? n_missing - known : 0,
		 n_refused = u->has_more_refused ? rest : SP_MIN(u->n_refused, rest);
	SP_FREE char *causes = NULL;
	size_t len;
	FILE *out = open_memstream(&causes, &len);

	if (!out)
		return -ENOMEM;
	cause_put(out, seen[SP_N_PROGRAMS_STATIC], "linked statically");
	cause_put(out, seen[SP_N_PROGRAMS_SECURE], "set-user-id or with capabilities");
	cause_put(out, n_no_tls, "for want of static TLS");
	cause_put(out, n_refused, "could not use the file of counts (as another user, say)");
	cause_put(out, rest - n_refused,
		  "without LD_AUDIT (as by env -i), where the audit library is not (chroot), not of glibc, of 32 bits, "
		  "or ended at once");
	if (fclose(out))
		return -ENOMEM;
	fprintf(stderr, "soprof: %" PRIu64 " of %" PRIu64 " programs that ran %s not counted: %s\n", n_missing, n_ran,
		n_missing == 1 ? "was" : "were", causes);
	return 0;
}

/* A program that was executed once more for its static TLS is one. Where none has counted others say why (calls_why.c).
 */
int sp_calls_uncounted_tell(const struct sp_calls_uncounted *u)
{
	uint64_t n_twice = u->counters[SP_CALLS_N_AGAIN] + u->counters[SP_CALLS_N_UNCOUNTED],
		 n_counted = u->counters[SP_CALLS_N_PROCESSES] - u->counters[SP_CALLS_N_UNCOUNTED], n_ran;

	if (!u->seen || !n_counted || u->seen->counter[SP_N_LOST_TARGETS] ||
	    u->seen->counter[SP_N_PROGRAMS] < n_twice + n_counted) {
		refused_tell(u->n_refused, u->has_more_refused);
		return 0;
	}
	n_ran = u->seen->counter[SP_N_PROGRAMS] - n_twice;
	return n_ran > n_counted ? tell(u, n_ran, n_ran - n_counted) : 0;
}

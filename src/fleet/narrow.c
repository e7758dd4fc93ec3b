/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * narrow.c: what a query's globs choose of files, functions and processes, so that the server leaves out the rest; a
 * part of question.h.
 *
 * Names come here, and what matches goes back by number. Samples are left out by their process, or because their stack
 * has no frame of these; what is left is filtered here once more, so too much is no error. Where the numbers are too
 * many for a statement, the server leaves out nothing.
 */
#include "base/mem.h"
#include "fleet/question.h"
#include "profile/filter.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the numbers of one glob: a statement has them up to six times (query.c). */
enum { MAX_NUMBERS = 20000 };

static void number_put(struct sp_bytes *ids, uint64_t id)
{
	sp_fleet_print(ids, "%s%" PRIu64, ids->n ? "," : "", id);
}

/* Whether it is to be said which these are: not if there are none, nor if there are too many. */
static bool wants_numbers(struct sp_fleet_question *q, const struct sp_bytes *ids)
{
	if (!ids->n)
		sp_fleet_print(&q->narrowed, " AND stack IN (0)"); /* which no row has */
	return ids->n && ids->n <= MAX_NUMBERS;
}

static bool function_matches(const char *glob, const char *name, const char *linkage)
{
	return sp_glob_matches(glob, name) || sp_glob_matches(glob, linkage);
}

/* The ids of a table whose two texts match. */
static int ids_choose(struct sp_fleet_question *q, const char *columns, const char *table,
		      bool (*matches)(const char *glob, const char *a, const char *b), const char *glob,
		      struct sp_bytes *ret_ids)
{
	struct sp_row_reader row;
	int r;

	sp_fleet_print(&q->sql, "SELECT id, %s FROM %s WHERE ", columns, table);
	sp_fleet_put_days(q, &q->sql);
	sp_fleet_print(&q->sql, " GROUP BY id");
	r = sp_fleet_question_ask(q, &row);
	while (r == 0 && sp_row_is_there(&row)) {
		uint64_t id = sp_row_u64(&row);
		SP_FREE char *a = sp_fleet_row_copy(&row), *b = sp_fleet_row_copy(&row);
		r = a && b ? sp_fleet_row_check(q, &row) : -ENOMEM;
		if (r == 0 && matches(glob, a, b))
			number_put(ret_ids, id);
	}
	return r;
}

/* --- stacks --- */
static void stacks_put(struct sp_fleet_question *q, const char *before, const struct sp_bytes *ids, const char *after)
{
	struct sp_bytes *to = &q->narrowed;

	sp_fleet_print(to,
		       " AND stack GLOBAL IN (SELECT id FROM (SELECT id, arrayJoin(frames) AS f FROM stacks WHERE ");
	sp_fleet_put_days(q, to);
	sp_fleet_print(to, ") AS one WHERE f %s", before);
	sp_fleet_put_text(to, ids);
	sp_fleet_print(to, "%s)", after);
}

/* A kernel module's functions are in the kernel's file, and their own: either may match. */
static int library_choose(struct sp_fleet_question *q)
{
	struct sp_bytes ids = {0}, frames = {0};
	int r = ids_choose(q, "any(name), any(path)", "files", sp_glob_matches_file, q->q->library, &ids);

	if (r == 0 && wants_numbers(q, &ids)) {
		sp_fleet_print(&frames, "GLOBAL IN (SELECT id FROM frames WHERE ");
		sp_fleet_put_days(q, &frames);
		sp_fleet_print(&frames, " AND (file IN (");
		sp_fleet_put_text(&frames, &ids);
		sp_fleet_print(&frames, ") OR of IN (");
		sp_bytes_put_u8(&frames, '\0');
		r = frames.failed ? -ENOMEM : 0;
		if (r == 0)
			stacks_put(q, frames.bytes, &ids, ")))");
	}
	r = r == 0 && ids.failed ? -ENOMEM : r;
	sp_bytes_done(&ids);
	sp_bytes_done(&frames);
	return r;
}

static int function_choose(struct sp_fleet_question *q)
{
	struct sp_bytes ids = {0};
	int r = ids_choose(q, "any(name), any(linkage)", "frames", function_matches, q->q->function, &ids);

	if (r == 0 && wants_numbers(q, &ids))
		stacks_put(q, "IN (", &ids, ")");
	r = r == 0 && ids.failed ? -ENOMEM : r;
	sp_bytes_done(&ids);
	return r;
}

/* --- processes --- */
static void who_ask(struct sp_fleet_question *q, const struct sp_bytes *exes)
{
	sp_fleet_print(&q->sql, "SELECT id, p, c, toUInt8(");
	if (exes->n) {
		sp_fleet_print(&q->sql, "e IN (");
		sp_fleet_put_text(&q->sql, exes);
		sp_fleet_print(&q->sql, ")");
	} else {
		sp_fleet_print(&q->sql, "0");
	}
	sp_fleet_print(&q->sql, ") AS is_exe FROM (SELECT id, any(process) AS p, any(cgroup) AS c, any(exe) AS e FROM "
				"who WHERE ");
	sp_fleet_put_days(q, &q->sql);
	sp_fleet_print(&q->sql, " GROUP BY id) AS one");
}

static int who_read(struct sp_fleet_question *q, struct sp_bytes *ids)
{
	const char *process_glob = q->q->process, *cgroup_glob = q->q->cgroup;
	struct sp_row_reader row;
	int r = sp_fleet_question_ask(q, &row);

	while (r == 0 && sp_row_is_there(&row)) {
		uint64_t id = sp_row_u64(&row);
		SP_FREE char *process = sp_fleet_row_copy(&row), *cgroup = sp_fleet_row_copy(&row);
		bool is_exe = sp_row_u8(&row);

		r = process && cgroup ? sp_fleet_row_check(q, &row) : -ENOMEM;
		if (r == 0 && (!process_glob || is_exe || sp_glob_matches(process_glob, process)) &&
		    (!cgroup_glob || sp_glob_matches_cgroup(cgroup_glob, cgroup)))
			number_put(ids, id);
	}
	return r;
}

static int who_choose(struct sp_fleet_question *q)
{
	struct sp_bytes exes = {0}, ids = {0};
	int r = q->q->process
		    ? ids_choose(q, "any(name), any(path)", "files", sp_glob_matches_file, q->q->process, &exes)
		    : 0;

	if (r == 0 && exes.n <= MAX_NUMBERS) {
		who_ask(q, &exes);
		r = who_read(q, &ids);
		if (r == 0 && wants_numbers(q, &ids)) {
			sp_fleet_print(&q->narrowed, " AND who IN (");
			sp_fleet_put_text(&q->narrowed, &ids);
			sp_fleet_print(&q->narrowed, ")");
		}
	}
	r = r == 0 && (ids.failed || exes.failed) ? -ENOMEM : r;
	sp_bytes_done(&exes);
	sp_bytes_done(&ids);
	return r;
}

int sp_fleet_question_narrow(struct sp_fleet_question *q)
{
	int r = q->q->process || q->q->cgroup ? who_choose(q) : 0;

	if (r == 0 && q->q->library)
		r = library_choose(q);
	return r == 0 && q->q->function ? function_choose(q) : r;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_calls.c: a good file of calls with words of it turned: input is (offset, xor) pairs of 4 and 8 bytes.
 *
 * What is read without an error has only numbers that exist, calls that are positive, and is nothing when it is
 * subtracted from itself (every eighth input). A file may be refused for damage or version alone, and with words.
 */
#include "base/error.h"
#include "link/made.h"
#include "require.h"

#include <errno.h>

enum { MAX_PAIRS = 64, AGAIN_EVERY = 8 }; /* it is read once more for that */

static void fill(struct made *m)
{
	uint32_t library = made_object(m, "/lib/libmade.so", 1, SP_CALLS_OBJECT_TARGET);
	uint32_t program = made_object(m, "/bin/program", 0, SP_CALLS_OBJECT_PROGRAM), one, other;

	one = made_function(m, library, 0x1000, "made_one");
	other = made_function(m, library, 0x2000, "made_two");
	for (uint32_t i = 0; i < 4; i++)
		made_row(m,
			 (struct sp_calls_row){.function = i % 2 == 0 ? one : other,
					       .caller = program,
					       .site_object = program,
					       .site_offset = 16 * i},
			 i, 1);
	made_row(m, (struct sp_calls_row){.function = one}, 3, 0);
	made_row(m, (struct sp_calls_row){.function = one, .process = made_process(m, 17, program, "seventeen")}, 4, 0);
}

static bool known(uint32_t library, const struct sp_calls_snapshot *s)
{
	return library == SP_CALLS_NONE || library < s->n_libraries;
}

static uint64_t check(const struct sp_calls_snapshot *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n_callees; i++)
		require(s->callees[i].library < s->n_libraries && s->callees[i].name[0] != '\0');
	for (size_t i = 0; i < s->n_libraries; i++)
		require(strlen(s->libraries[i].path) < 4096 && s->libraries[i].build_id_len <= SP_CALLS_BUILD_ID);
	for (size_t i = 0; i < s->n_whos; i++)
		require(known(s->whos[i].program, s) && strlen(s->whos[i].name) < 16);
	for (size_t i = 0; i < s->n_arcs; i++) {
		const struct sp_calls_arc *a = &s->arcs[i];
		require(a->callee < s->n_callees && known(a->caller, s) && known(a->site_library, s));
		require(a->who == SP_CALLS_NONE || a->who < s->n_whos);
		require(a->n_calls > 0 && a->n_calls <= INT64_MAX);
		sum += a->n_calls;
	}
	return sum;
}

static void read_and_check(const char *path)
{
	static unsigned n_runs;
	struct sp_calls_snapshot s, again;
	int r = sp_calls_read(path, &s);

	require(r == 0 || r == -EBADMSG || r == -EPROTONOSUPPORT);
	if (r < 0) {
		require(strncmp(sp_error_text(r), path, strlen(path)) == 0);
		sp_error_clear();
		return;
	}
	(void)check(&s);
	if (n_runs++ % AGAIN_EVERY == 0 && sp_calls_read(path, &again) == 0) {
		require(sp_calls_subtract(&s, &again) == 0 && s.n_arcs == 0);
		require(check(&s) == 0);
		sp_calls_done(&again);
	}
	sp_calls_done(&s);
}

static void turn(struct made *m, const uint8_t *data, size_t n_pairs, uint64_t used)
{
	for (size_t i = 0; i < n_pairs; i++) {
		uint32_t at;
		uint64_t turned, word;
		memcpy(&at, data + 12 * i, sizeof(at));
		memcpy(&turned, data + 12 * i + 4, sizeof(turned));
		memcpy(&word, m->base + at % (used - 8), sizeof(word));
		word ^= turned;
		memcpy(m->base + at % (used - 8), &word, sizeof(word));
	}
}

static struct made made;

static void end(void)
{
	made_close(&made);
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	static uint64_t used;
	size_t n_pairs = size / 12 < MAX_PAIRS ? size / 12 : MAX_PAIRS;

	if (used == 0) {
		require(made_open(&made));
		fill(&made);
		used = made.header->used_bytes;
		atexit(end);
	}
	turn(&made, data, n_pairs, used);
	read_and_check(made.path);
	turn(&made, data, n_pairs, used); /* back */
	return 0;
}

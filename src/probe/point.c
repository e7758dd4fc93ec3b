/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/point.h"
#include "base/error.h"
#include "base/search.h"
#include "elf/elf.h"
#include "probe/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static const char *const refusals[] = {
    [SP_PROBE_NO_CODE] = "lie where no code is",
    [SP_PROBE_PLT] = "are stubs",
    [SP_PROBE_UNDECODABLE] = "are not made of instructions",
    [SP_PROBE_UNCOVERED] = "have no unwind information, and no symbol that their code bears out",
    [SP_PROBE_INSIDE] = "begin inside an instruction",
    [SP_PROBE_PREFIX] = "begin with a lock or segment prefix",
    [SP_PROBE_OPCODE] = "begin with an instruction that the kernel cannot probe",
    [SP_PROBE_IFUNC] = "do not tell which functions they choose from",
    [SP_PROBE_ASTRAY] = "would go astray with a return probe",
    [SP_PROBE_UNWOUND] = "may be left by an exception, which a return probe would turn into the program's end",
};

const char *sp_probe_refusal_text(enum sp_probe_refusal why)
{
	return why < SP_PROBE_N_REFUSALS ? refusals[why] : "";
}

/* --- what is refused --- */

static size_t n_different(uint64_t *at, size_t n)
{
	size_t different = 0;
	if (n)
		qsort(at, n, sizeof(*at), sp_compare_u64);
	for (size_t i = 0; i < n; i++)
		different += i == 0 || at[i] != at[i - 1];
	return different;
}

static bool has_ranges(const struct sp_functions *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->at[i].flags & SP_FN_RANGE)
			return true;
	return false;
}

/* Code without unwind information is believed if following it leads to no contradiction. */
static int cover_all(struct sp_functions *f)
{
	for (size_t i = 0; i < f->n; i++)
		if ((f->at[i].flags & (SP_FN_WANTED | SP_FN_COVERED | SP_FN_PLT)) == SP_FN_WANTED)
			return sp_functions_derive(f);
	return 0;
}

/* The enum sp_probe_refusal, or -1. */
static int refusal_of(const struct sp_functions *f, const struct sp_probe_wanted *w, bool ranges)
{
	uint32_t flags = f->at[w->function].flags;
	if (flags & SP_FN_PLT)
		return SP_PROBE_PLT;
	if (flags & SP_FN_INSIDE)
		return SP_PROBE_INSIDE;
	if (w->is_bad)
		return SP_PROBE_UNDECODABLE;
	if (ranges && !(flags & SP_FN_COVERED))
		return SP_PROBE_UNCOVERED;
	if (!(flags & SP_FN_FDE) && (w->is_odd || !(flags & SP_FN_SYMBOL)))
		return SP_PROBE_UNCOVERED;
	if (flags & SP_FN_ASTRAY)
		return SP_PROBE_ASTRAY;
	if (f->unwinds && w->calls)
		return SP_PROBE_UNWOUND;
	return w->n_candidates ? -1 : w->refusal;
}

/* --- points --- */

/*
 * The cheapest candidate before the limit. A computed jump may lead to a place before a branch, where a loop begins,
 * but not to where the caller's registers are saved. NULL: none.
 */
static const struct sp_candidate *choose(const struct sp_functions *f, const struct sp_probe_wanted *w)
{
	uint64_t start = f->at[w->function].start;
	for (size_t i = w->n_candidates; i > 0; i--) {
		const struct sp_candidate *c = &w->candidates[i - 1];
		if (c->behind == 0 || (start + c->behind < w->limit && (!w->is_open || c->saves)))
			return c;
	}
	return NULL;
}

static void add_point(const struct sp_functions *f, const struct sp_probe_wanted *w, struct sp_probe_set *s,
		      bool ranges)
{
	const struct sp_function *function = &f->at[w->function];
	const struct sp_candidate *c = choose(f, w);
	int refusal = refusal_of(f, w, ranges);
	if (refusal >= 0 || !c) {
		refusal = refusal >= 0 ? refusal : w->refusal;
		s->refused[refusal]++;
		s->left_out[s->n_left_out++] =
		    (struct sp_probe_left_out){.function = function->start, .why = (uint8_t)refusal};
		return;
	}
	uint64_t address = 0;
	sp_elf_vaddr_of(f->elf, function->start, &address); /* it lies in a segment */
	s->points[s->n++] = (struct sp_probe_point){.offset = function->start + c->behind,
						    .function = function->start,
						    .address = address,
						    .cost = c->cost,
						    .pushed = c->pushed,
						    .length = c->length,
						    .jump = c->jump,
						    .loops = w->loops};
	s->n_cost[c->cost]++;
	s->n_moved += c->behind > 0;
	s->n_loops += w->loops;
}

static int add_points(struct sp_functions *f, struct sp_probe_set *s)
{
	bool ranges = has_ranges(f);
	size_t n_no_code = n_different(f->no_code, f->n_no_code);
	s->points = calloc(f->n_wanted + 1, sizeof(*s->points));
	s->left_out = calloc(f->n_wanted + 1, sizeof(*s->left_out));
	if (!s->points || !s->left_out)
		return -ENOMEM;
	for (size_t i = 0; i < f->n_wanted; i++)
		add_point(f, &f->wanted[i], s, ranges);
	s->refused[SP_PROBE_NO_CODE] += n_no_code;
	s->refused[SP_PROBE_IFUNC] += f->n_unresolved;
	s->n_functions = f->n_wanted + n_no_code + f->n_unresolved;
	s->n_ifuncs = f->n_ifuncs;
	s->n_ifuncs_unsure = f->n_unsure;
	s->is_go = f->is_go;
	return 0;
}

/* Nothing is left to probe: says of what was asked for why not. */
static int fail_refused(const struct sp_probe_set *s)
{
	char text[512] = "";
	size_t n = 0;
	for (unsigned i = 0; i < SP_PROBE_N_REFUSALS; i++)
		if (s->refused[i] && n < sizeof(text))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%zu %s", n ? ", " : "", s->refused[i],
					      sp_probe_refusal_text(i));
	if (!s->n_functions)
		return sp_fail_said(-ENOENT, "there are no functions");
	return sp_fail_said(-ENOENT, "nothing of it can be probed: of %zu functions %s", s->n_functions, text);
}

static int find_points(struct sp_functions *f, const struct sp_probe_what *what, struct sp_probe_set *s)
{
	int r = sp_names_try(f, what);
	if (r == 0)
		r = sp_functions_find(f);
	if (r == 0)
		r = sp_names_want(f, what);
	if (r == 0)
		r = sp_resolvers_follow(f);
	if (r == 0)
		r = cover_all(f);
	if (r == 0)
		r = sp_functions_list_wanted(f);
	if (r == 0)
		r = sp_code_examine(f, what);
	if (r == 0 && what->return_probe)
		r = sp_returns_examine(f);
	f->unwinds = f->unwinds && !what->no_throw;
	if (r == 0)
		r = what->ends ? sp_ends_find(f, s) : add_points(f, s);
	if (r == 0 && !s->n)
		r = fail_refused(s);
	return r < 0 || what->ends ? r : sp_names_attach(f, what, s);
}

static int points_of(struct sp_elf *elf, const struct sp_probe_what *what, struct sp_probe_set *ret_set)
{
	struct sp_functions f = {.elf = elf};
	struct sp_probe_set s = {0};
	int r = find_points(&f, what, &s);
	sp_functions_done(&f);
	if (r < 0)
		sp_probe_set_done(&s);
	else
		*ret_set = s;
	return r;
}

int sp_probe_points(struct sp_elf *elf, const struct sp_probe_what *what, struct sp_probe_set *ret_set)
{
	struct sp_probe_what all = *what;
	int r = points_of(elf, what, ret_set);
	if (r == -ENOENT && what->or_inner && !what->inner) {
		sp_error_clear();
		all.inner = true;
		r = points_of(elf, &all, ret_set);
	}
	return r < 0 && r != -ENOENT ? sp_fail(r, "find what to probe") : r;
}

void sp_probe_set_done(struct sp_probe_set *set)
{
	free(set->points);
	free(set->left_out);
	free(set->names);
	sp_arena_done(&set->strings);
	*set = (struct sp_probe_set){0};
}

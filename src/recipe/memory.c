/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/memory.h"
#include "base/error.h"
#include "base/mem.h"
#include "probe/attach.h"
#include "probe/file.h"
#include "probe/point.h"
#include "recipe/probe.h"
#include "recipe/recipe.h"
#include "recipe/recipe_point.h"
#include "worker/jobs_probes.h"
#include "worker/worker.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_MS = 60000, OPEN_MS = 10000 };

/* --- in a command --- */
/* What the library's two functions get as arguments: memory/memory.h. */
static int hook_make(const char *library, bool is_taken, struct sp_recipe_point *ret_point)
{
	char name[PATH_MAX + 32];
	int n = snprintf(name, sizeof(name), "%s:%s", library, is_taken ? "sp_memory_taken" : "sp_memory_freed"), r;

	if (n < 0 || (size_t)n >= sizeof(name))
		return sp_fail_said(-ENAMETOOLONG, "the path of the library that samples allocations is too long");
	r = sp_recipe_probe_point(name, ret_point);
	if (r < 0)
		return r;
	ret_point->where = is_taken ? "malloc" : "free";
	ret_point->slot.role = is_taken ? SP_ROLE_ALLOC : SP_ROLE_FREE;
	ret_point->match = "arg0";
	ret_point->value = is_taken ? "arg1" : NULL;
	ret_point->times = is_taken ? "arg2" : NULL;
	r = sp_recipe_point_compile(ret_point, NULL);
	return r < 0 ? r : sp_recipe_probe_find(ret_point, false);
}

int sp_recipe_set_memory(struct sp_recipe_set *set, const char *library)
{
	int r = 0;

	for (size_t i = 0; i < set->n && !r; i++) {
		if (!set->recipes[i]->is_live)
			continue;
		if (!sp_recipe_set_own(set, i))
			return -ENOMEM;
		r = hook_make(library, true, &set->own[i]->points[0]);
		if (!r)
			r = hook_make(library, false, &set->own[i]->points[1]);
	}
	return r;
}

/* --- in a process that runs --- */
#define OPERATORS_NEW                                                                                                  \
	"_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t", "_ZnwmSt11align_val_t",                        \
	    "_ZnamSt11align_val_t", "_ZnwmSt11align_val_tRKSt9nothrow_t", "_ZnamSt11align_val_tRKSt9nothrow_t"
/*
 * They are attached in this order, and detached in the opposite one: no end is missed whose beginning was seen, and no
 * block is let go unseen that was seen to be taken. Sizes are those that are asked for, as C has the arguments.
 * Exceptions may pass through the operators, so their ends are seen at their `ret` (SP_SLOT_BY_RET).
 */
static const struct group {
	enum sp_front_role role;
	const char *names[12]; /* GIVEN: those of all that ask */
	const char *filter, *match, *value, *object;
	bool is_block; /* `match` is what malloc and its like gave */
	bool is_cxx;   /* C++'s operators, of a library with a malloc of its own; libstdc++'s come by malloc */
} groups[] = {
    {SP_ROLE_GIVEN, {NULL}, .match = "retval"},
    {SP_ROLE_GIVEN, {NULL}, .match = "retval", .is_cxx = true},
    {SP_ROLE_FREE, {"free", "cfree"}, .match = "arg0", .is_block = true},
    {SP_ROLE_FREE,
     {"_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm", "_ZdlPvRKSt9nothrow_t", "_ZdaPvRKSt9nothrow_t", "_ZdlPvSt11align_val_t",
      "_ZdaPvSt11align_val_t", "_ZdlPvmSt11align_val_t", "_ZdaPvmSt11align_val_t",
      "_ZdlPvSt11align_val_tRKSt9nothrow_t", "_ZdaPvSt11align_val_tRKSt9nothrow_t"},
     .match = "arg0",
     .is_block = true,
     .is_cxx = true},
    {SP_ROLE_FREE, {"munmap"}, .match = "arg0"},
    {SP_ROLE_ASK, {"realloc"}, .value = "arg1", .match = "arg0", .is_block = true},
    {SP_ROLE_ASK, {"reallocarray"}, .value = "arg1 * arg2", .match = "arg0", .is_block = true},
    {SP_ROLE_ASK, {"malloc", "valloc", "pvalloc"}, .value = "arg0"},
    {SP_ROLE_ASK, {"calloc"}, .value = "arg0 * arg1"},
    {SP_ROLE_ASK, {"aligned_alloc", "memalign"}, .value = "arg1"},
    {SP_ROLE_ASK, {"posix_memalign"}, .value = "arg2", .object = "arg0"},
    {SP_ROLE_ASK, {OPERATORS_NEW}, .value = "arg0", .is_cxx = true},
    /* anonymous memory that can be written to: PROT_WRITE, MAP_ANONYMOUS */
    {SP_ROLE_ASK, {"mmap", "mmap64"}, .value = "arg1", .filter = "arg2 & 2 && arg3 & 0x20"},
};
enum { N_GROUPS = SP_COUNT(groups), N_NAMES = 12 };
#define OPERATOR_NEW "_Znwm"
_Static_assert((int)N_GROUPS < (int)SP_MAX_POINTS, "the last is always empty");

struct found { /* in one file */
	struct sp_probe_set set;
	struct sp_probe_set ends; /* of operators new that do not come by malloc */
	int r;
	char *why; /* r < 0 */
};
struct search {
	struct sp_workers *workers;
	struct sp_probe_files files;
	struct found *found; /* of each */
	const char *names[N_GROUPS * N_NAMES + 1];
	size_t n_names;
};

static void points_found(void *arg, int r, struct sp_probe_set *set)
{
	struct found *f = arg;

	f->r = r;
	if (r < 0 && r != -ENOENT)
		f->why = strdup(sp_error_text(r));
	if (r < 0) {
		sp_error_clear();
		return;
	}
	f->set = *set;
	*set = (struct sp_probe_set){0};
}

static int file_ask(struct search *s, size_t i, bool inner)
{
	const struct sp_probe_what what = {.globs = s->names,
					   .n_globs = s->n_names,
					   .any_glob = true,
					   .inner = inner,
					   .returns = true,
					   .return_probe = true,
					   .no_throw = true, /* they are C's */
					   .nop5_is_fast = sp_probe_nop5_is_fast(),
					   .arguments = 0xf};

	s->found[i].r = -ETIMEDOUT; /* until there is an answer */
	return sp_workers_points(s->workers, s->files.files[i].fd, &what, points_found, &s->found[i]);
}

static void ends_found(void *arg, int r, struct sp_probe_set *set)
{
	struct found *f = arg;

	if (r < 0) {
		sp_error_clear();
		return;
	}
	f->ends = *set;
	*set = (struct sp_probe_set){0};
}

static bool has_point(const struct sp_probe_set *set, const char *name)
{
	for (size_t i = 0; i < set->n; i++)
		for (size_t k = 0; k < set->points[i].n_names; k++)
			if (!strcmp(set->points[i].names[k], name))
				return true;
	return false;
}

/* Operators that do not come by malloc: libstdc++'s do. */
static bool has_operators(const struct found *f)
{
	return has_point(&f->set, "malloc") && has_point(&f->set, OPERATOR_NEW);
}

static void all_wait(struct search *s)
{
	while (sp_workers_outstanding(s->workers) && sp_workers_wait(s->workers, WAIT_MS) < 0) {
		sp_error_clear();
		for (size_t i = 0; i < s->files.n; i++)
			sp_workers_cancel(s->workers, &s->found[i]);
	}
}

static int ends_ask(struct search *s, bool inner)
{
	static const char *const names[] = {OPERATORS_NEW};
	const struct sp_probe_what what = {
	    .globs = names, .n_globs = SP_COUNT(names), .any_glob = true, .inner = inner, .ends = true};
	int r = 0;

	for (size_t i = 0; i < s->files.n && r >= 0; i++)
		if (has_operators(&s->found[i]))
			r = sp_workers_points(s->workers, s->files.files[i].fd, &what, ends_found, &s->found[i]);
	all_wait(s);
	return r;
}

/* Whether any file has them. inner: those that are not exported, too, as in a program that is linked statically. */
static int all_ask(struct search *s, bool inner, bool *ret_any)
{
	int r = 0;

	for (size_t i = 0; i < s->files.n && r >= 0; i++)
		r = file_ask(s, i, inner);
	all_wait(s);
	*ret_any = false;
	for (size_t i = 0; i < s->files.n; i++)
		*ret_any = *ret_any || has_point(&s->found[i].set, "malloc");
	return r < 0 ? r : ends_ask(s, inner);
}

static int nothing(const struct search *s, const struct sp_allocators *what)
{
	for (size_t i = 0; i < s->files.n; i++) {
		if (s->found[i].r == -ETIMEDOUT && !s->found[i].why)
			return sp_fail_said(-ETIMEDOUT, "%s: not read within %d s", s->files.files[i].path,
					    WAIT_MS / 1000);
		if (s->found[i].why)
			return sp_fail_said(s->found[i].r, "%s: %s", s->files.files[i].path, s->found[i].why);
	}
	if (what->library)
		return sp_fail_said(-ENOENT, "%s of process %u has no malloc that can be probed", what->library,
				    what->pid);
	return sp_fail_said(-ENOENT, "process %u has no malloc that can be probed", what->pid);
}

static int search_run(struct search *s, const struct sp_allocators *what, const char *named)
{
	bool any = false;
	int r = sp_workers_new(&(struct sp_workers_options){.open_deadline_ms = OPEN_MS}, &s->workers);

	for (size_t g = 0; g < N_GROUPS; g++)
		for (size_t k = 0; k < N_NAMES && groups[g].names[k]; k++)
			s->names[s->n_names++] = groups[g].names[k];
	if (r >= 0)
		r = sp_probe_files(named, s->workers, &s->files);
	if (what->library)
		r = sp_probe_mistake(r);
	if (r >= 0) {
		s->found = calloc(s->files.n + 1, sizeof(*s->found));
		r = s->found ? all_ask(s, false, &any) : -ENOMEM;
	}
	if (r >= 0 && !any)
		r = all_ask(s, true, &any);
	return r < 0 || any ? r : nothing(s, what);
}

static void search_done(struct search *s)
{
	sp_workers_free(s->workers); /* before what their answers go to */
	for (size_t i = 0; s->found && i < s->files.n; i++) {
		sp_probe_set_done(&s->found[i].set);
		sp_probe_set_done(&s->found[i].ends);
		free(s->found[i].why);
	}
	free(s->found);
	sp_probe_files_done(&s->files);
}

static bool has_name(const struct group *g, const char *name)
{
	for (size_t k = 0; k < N_NAMES && g->names[k]; k++)
		if (!strcmp(g->names[k], name))
			return true;
	return false;
}

static bool has_any_name(const struct group *g, const struct sp_probe_point *point)
{
	for (size_t i = 0; i < point->n_names; i++)
		if (has_name(g, point->names[i]))
			return true;
	return false;
}

/* Whether one of C's functions of this role begins there. */
static bool is_of_c(enum sp_front_role role, const struct sp_probe_point *point)
{
	for (size_t k = 0; k < N_GROUPS; k++)
		if (groups[k].role == role && !groups[k].is_cxx && has_any_name(&groups[k], point))
			return true;
	return false;
}

/* An operator may be another name of C's function: that is seen already. */
static bool is_of(const struct group *g, const struct sp_probe_point *point)
{
	if (g->role == SP_ROLE_GIVEN)
		return is_of_c(SP_ROLE_ASK, point);
	return has_any_name(g, point) && !(g->is_cxx && is_of_c(g->role, point));
}

static int places_put(const struct search *s, const struct group *g, struct sp_recipe_probe *probe, size_t *ret_n)
{
	int r = 0;

	*ret_n = 0;
	for (size_t i = 0; i < s->files.n; i++) {
		bool are_ends = g->is_cxx && g->role == SP_ROLE_GIVEN;
		const struct sp_probe_set *set = are_ends ? &s->found[i].ends : &s->found[i].set;

		for (size_t k = 0; k < set->n && r >= 0; k++) {
			if (!are_ends && (!is_of(g, &set->points[k]) || (g->is_cxx && !s->found[i].ends.n)))
				continue;
			r = sp_recipe_probe_put(probe, &s->files.files[i], &set->points[k]);
			++*ret_n;
		}
	}
	return r;
}

/* Then a block that goes and is not held was there before. */
static bool sees_all(const struct sp_allocators *what)
{
	return what->thin_bytes == 1 && !what->one_in && !what->least && !what->most && !what->library;
}

/* A point without places is none. */
static int point_make(const struct search *s, const struct group *g, const struct sp_allocators *what,
		      struct sp_recipe_point *ret_point, size_t *ret_n)
{
	struct sp_recipe_point point;
	char name[32];
	int r;

	snprintf(name, sizeof(name), "process %u", what->pid);
	r = sp_recipe_probe_empty(name, g->role == SP_ROLE_GIVEN && !g->is_cxx, &point);
	if (r < 0)
		return r;
	r = places_put(s, g, point.probe, ret_n);
	point.slot.role = g->role;
	point.slot.thin = what->thin_bytes;
	point.slot.one_in = what->one_in;
	if (g->is_cxx)
		point.slot.flags |= SP_SLOT_BY_RET;
	if (g->is_block && sees_all(what))
		point.slot.flags |= SP_SLOT_UNSEEN;
	point.slot.least = what->least;
	point.slot.most = what->most ? what->most : UINT64_MAX;
	point.filter = g->filter;
	point.match = g->match;
	point.value = g->value;
	point.object = g->object;
	if (r >= 0)
		r = sp_recipe_point_compile(&point, NULL);
	if (r < 0 || !*ret_n)
		sp_recipe_probe_free(point.probe);
	else
		*ret_point = point;
	return r;
}

static int points_make(const struct search *s, const struct sp_allocators *what, struct sp_recipe *recipe)
{
	size_t n = 0, n_places;
	int r = 0;

	for (size_t g = 0; g < N_GROUPS && r >= 0; g++) {
		r = point_make(s, &groups[g], what, &recipe->points[n], &n_places);
		if (r < 0 || !n_places)
			continue;
		recipe->trap_ns = SP_MAX(recipe->trap_ns, sp_recipe_probe_trap_ns(recipe->points[n].probe));
		n++;
	}
	return r;
}

/* Operators whose ends were not found. */
static int unseen_find(const struct search *s, char **ret_unseen)
{
	for (size_t i = 0; i < s->files.n && !*ret_unseen; i++) {
		if (!has_operators(&s->found[i]) || s->found[i].ends.n)
			continue;
		*ret_unseen = strdup(s->files.files[i].path);
		if (!*ret_unseen)
			return -ENOMEM;
	}
	return 0;
}

int sp_recipe_set_allocators(struct sp_recipe_set *set, const struct sp_allocators *what, char **ret_unseen)
{
	struct search s = {.n_names = 0};
	char named[PATH_MAX + 16];
	int n = snprintf(named, sizeof(named), "%u:%s", what->pid, what->library ? what->library : "*"), r = 0;

	*ret_unseen = NULL;
	if (n < 0 || (size_t)n >= sizeof(named))
		return sp_fail_said(-ENAMETOOLONG, "the name of the library with malloc is too long");
	for (size_t i = 0; i < set->n && r >= 0; i++) {
		if (!set->recipes[i]->is_live)
			continue;
		if (!sp_recipe_set_own(set, i))
			return -ENOMEM;
		r = search_run(&s, what, named);
		if (r >= 0)
			r = points_make(&s, what, set->own[i]);
		if (r >= 0)
			r = unseen_find(&s, ret_unseen);
		search_done(&s);
	}
	return r;
}

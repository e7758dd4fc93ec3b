/* SPDX-License-Identifier: GPL-2.0-or-later */
/* upgrade_compare.c: compares programs before and after upgrades: which libraries changed, and what it cost. */
#include "agent/request.h"
#include "agent/upgrade/upgrade_priv.h"
#include "base/encode.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/time.h"
#include "profile/diff.h"
#include "profile/filter.h"
#include "profile/profile.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SLICES = 20, MAX_PROGRAMS = 4096, MAX_NAMED = 3, TEXT = 1024 };

/* A window belongs to the side that it begins in, and may begin some milliseconds beside the full ten seconds. */
#define MARGIN_NS SP_NS_PER_S

/* See upgrade.h: the 95 % interval is widened, and smaller changes do not count. */
static const double widening = 1.5, min_change = 0.005;

struct program { /* of the profile after */
	const char *path, *container, *root;
};

struct upgraded { /* a library, over all programs */
	char *library;
	char versions[256];
	char programs[TEXT / 2];
	uint32_t n_programs;
};

struct compare {
	const struct sp_upgrade_comparison *q;
	struct sp_profile *before, *after;
	int (*each)(void *arg, const struct sp_store_event *e);
	void *arg;
	struct upgraded *upgraded;
	size_t n_upgraded, capacity;
};

/* --- programs --- */
static const char *exe_path(const struct sp_profile *p, const struct sp_process *process)
{
	const struct sp_file *f = sp_profile_file(p, process->exe);

	return process->exe ? sp_profile_string(p, f->path ? f->path : f->name) : "";
}

static bool is_of_program(const struct sp_profile *p, const struct sp_row *row, void *arg)
{
	const struct sp_process *process = sp_profile_process(p, sp_profile_key(p, row->key)->process);
	const struct program *program = arg;

	return !strcmp(exe_path(p, process), program->path) && !strcmp(sp_upgrades_root(p, process), program->root);
}

static int compare_programs(const void *a, const void *b)
{
	const struct program *x = a, *y = b;
	int c = strcmp(x->path, y->path);

	return c ? c : strcmp(x->root, y->root);
}

static int find_programs(const struct sp_profile *p, struct program **ret_programs, size_t *ret_n)
{
	uint32_t n = sp_profile_n_processes(p), i;
	SP_FREE struct program *programs = calloc(n + 1, sizeof(*programs));
	size_t k = 0, n_unique = 0;

	if (!programs)
		return -ENOMEM;
	for (i = 1; i < n; i++) {
		const struct sp_process *process = sp_profile_process(p, i);

		if (process->exe)
			programs[k++] = (struct program){exe_path(p, process), sp_profile_string(p, process->container),
							 sp_upgrades_root(p, process)};
	}
	qsort(programs, k, sizeof(*programs), compare_programs);
	for (i = 0; i < k; i++)
		if (!n_unique || compare_programs(&programs[n_unique - 1], &programs[i]))
			programs[n_unique++] = programs[i];
	*ret_n = SP_MIN(n_unique, (size_t)MAX_PROGRAMS);
	*ret_programs = sp_take_ptr(programs);
	return 0;
}

/* --- events --- */
static void format_build(const struct sp_profile *p, uint32_t file, char *ret_text, size_t size)
{
	const struct sp_file *f = sp_profile_file(p, file);
	char id[2 * SP_BUILD_ID_MAX + 1];

	sp_hex(f->build_id, SP_MIN(f->build_id_len, (uint8_t)SP_BUILD_ID_MAX), id);
	id[12] = '\0';
	if (f->package_version && *sp_profile_string(p, f->package_version))
		snprintf(ret_text, size, "%s (build id %s)", sp_profile_string(p, f->package_version), id);
	else
		snprintf(ret_text, size, "build id %s", id);
}

static bool is_same_build(const struct sp_file *a, const struct sp_file *b)
{
	return a->build_id_len == b->build_id_len && !memcmp(a->build_id, b->build_id, a->build_id_len);
}

static bool has_build(const struct sp_profile *p, const struct sp_file *build)
{
	for (uint32_t i = 1; i < sp_profile_n_files(p); i++)
		if (is_same_build(sp_profile_file(p, i), build))
			return true;
	return false;
}

/* Where a program that starts finds the one instead of the other. */
static bool is_replacement(const struct compare *c, const struct sp_file *old, const struct sp_file *new)
{
	const char *a = sp_profile_string(c->before, old->path), *b = sp_profile_string(c->after, new->path);
	size_t n = sp_upgrades_directory(a);

	return old->kind == new->kind &&n == sp_upgrades_directory(b) && !memcmp(a, b, n) &&
	       !strcmp(sp_profile_string(c->before, old->name), sp_profile_string(c->after, new->name));
}

/* The build that was there before, preferably one that is gone; 0: none. */
static uint32_t find_old_build(const struct compare *c, const struct sp_file *new)
{
	uint32_t found = 0;

	for (uint32_t i = 1; i < sp_profile_n_files(c->before); i++) {
		const struct sp_file *old = sp_profile_file(c->before, i);

		if (!is_replacement(c, old, new))
			continue;
		if (!has_build(c->after, old))
			return i;
		found = i;
	}
	return found;
}

/* A side may have several builds, in several directories. False: no directory has a new one. */
static bool find_pair(const struct compare *c, const struct sp_upgrade *u, uint32_t *ret_old, uint32_t *ret_new)
{
	for (uint32_t i = 0; i < u->n_new; i++) {
		const struct sp_file *new = sp_profile_file(c->after, u->new_files[i]);
		uint32_t old = has_build(c->before, new) ? 0 : find_old_build(c, new);

		if (!old)
			continue;
		*ret_old = old;
		*ret_new = u->new_files[i];
		return true;
	}
	return false;
}

/* False: it is not upgraded. */
static bool format_versions(const struct compare *c, const struct sp_upgrade *u, char *ret_text, size_t size)
{
	uint32_t old_file, new_file;
	char old[96], new[96];

	if (!find_pair(c, u, &old_file, &new_file))
		return false;
	format_build(c->before, old_file, old, sizeof(old));
	format_build(c->after, new_file, new, sizeof(new));
	snprintf(ret_text, size, "%s -> %s", old, new);
	return true;
}

/* Whether the list "a, b, c" has the name. */
static bool is_named(const char *names, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = names; at; at = strstr(at, ", ")) {
		at += at != names ? 2 : 0;
		if (!strncmp(at, name, len) && (!at[len] || at[len] == ','))
			return *at;
	}
	return false;
}

static int add_upgrade(struct compare *c, const char *library, const char *versions, const struct program *program)
{
	struct upgraded *u = NULL;
	size_t i, len;
	int r;

	for (i = 0; !u && i < c->n_upgraded; i++)
		if (!strcmp(c->upgraded[i].library, library))
			u = &c->upgraded[i];
	if (!u) {
		r = sp_grow(&c->upgraded, &c->capacity, c->n_upgraded + 1, sizeof(*c->upgraded));
		if (r < 0)
			return r;
		u = &c->upgraded[c->n_upgraded];
		*u = (struct upgraded){.library = strdup(library)};
		if (!u->library)
			return -ENOMEM;
		c->n_upgraded++;
		snprintf(u->versions, sizeof(u->versions), "%s", versions);
	}
	len = strlen(u->programs);
	/* programs of one name, at other places or in containers, are listed once */
	if (is_named(u->programs, sp_path_last(program->path)))
		return 0;
	if (u->n_programs++ < MAX_NAMED)
		snprintf(u->programs + len, sizeof(u->programs) - len, "%s%s", len ? ", " : "",
			 sp_path_last(program->path));
	return 0;
}

static int report_upgrade(const struct compare *c, const struct upgraded *u)
{
	char text[TEXT], more[64] = "";

	if (u->n_programs > MAX_NAMED)
		snprintf(more, sizeof(more), " and %" PRIu32 " other programs", u->n_programs - MAX_NAMED);
	snprintf(text, sizeof(text), "%s: %s, in %s%s", u->library, u->versions, u->programs, more);
	return c->each(c->arg, &(struct sp_store_event){.from_ns = c->q->from_ns,
							.to_ns = c->q->to_ns,
							.kind = "upgrade",
							.subject = u->library,
							.text = text,
							.data = ""});
}

static int report_change(const struct compare *c, const char *library, const char *versions,
			 const struct program *program, const struct sp_change *change)
{
	char subject[TEXT / 2], text[TEXT], data[TEXT];
	double half = (change->high - change->low) / 2 * widening;

	snprintf(subject, sizeof(subject), "%s in %s%s%s", library, program->path, *program->container ? " of " : "",
		 program->container);
	snprintf(
	    text, sizeof(text),
	    "%s took %.1f %% of %s's time, and takes %.1f %% since its upgrade (%+.1f, %+.1f to %+.1f points; %s); "
	    "without counts of calls the workload may have changed",
	    library, 100 * change->old, sp_path_last(program->path), 100 * change->new, 100 * change->delta,
	    100 * (change->delta - half), 100 * (change->delta + half), versions);
	snprintf(data, sizeof(data), "old=%.6f new=%.6f low=%.6f high=%.6f", change->old, change->new,
		 change->delta - half, change->delta + half);
	return c->each(c->arg, &(struct sp_store_event){.from_ns = c->q->from_ns,
							.to_ns = c->q->to_ns,
							.kind = "change",
							.subject = subject,
							.text = text,
							.data = data});
}

/* --- one program --- */
static bool is_significant(const struct sp_diff *d, const struct sp_change *change)
{
	double half = (change->high - change->low) / 2 * widening;

	return d->method == SP_DIFF_FROM_SLICES && change->q <= 0.05 && change->delta * change->delta > half * half &&
	       (change->delta >= min_change || change->delta <= -min_change);
}

static int report_row(struct compare *c, const struct program *program, const struct sp_diff *d,
		      const struct sp_diff_row *row)
{
	const struct sp_upgrade *u = &d->upgrades[row->upgrade - 1];
	const char *library = sp_profile_string(d->joined, sp_profile_file(d->joined, row->id)->name);
	char versions[256];
	int r;

	if (!format_versions(c, u, versions, sizeof(versions)))
		return 0;
	r = add_upgrade(c, library, versions, program);
	if (r < 0 || !is_significant(d, &row->total))
		return r;
	return report_change(c, library, versions, program, &row->total);
}

static int report_rows(struct compare *c, const struct program *program, const struct sp_diff *d)
{
	struct sp_diff_rows rows = {0};
	int r = sp_diff_rows_new(d, SP_DIFF_BY_LIBRARY, &rows);

	for (size_t i = 0; r >= 0 && i < rows.n_rows && rows.rows[i].upgrade; i++)
		if (!rows.rows[i].none)
			r = report_row(c, program, d, &rows.rows[i]);
	sp_diff_rows_done(&rows);
	return r;
}

static int compare_program(struct compare *c, struct program *program)
{
	struct sp_profile *whole[2] = {c->before, c->after}, *own[2] = {NULL, NULL};
	struct sp_diff_options o = {.scale = SP_DIFF_SHARES};
	struct sp_filter_result result[2] = {{0}};
	struct sp_diff *d = NULL;
	int r = 0, i;

	for (i = 0; r >= 0 && i < 2; i++)
		r = sp_profile_filter(whole[i], is_of_program, program, &own[i], &result[i]);
	if (r >= 0 && result[0].n_kept && result[1].n_kept) {
		struct compare narrow = *c;

		r = sp_diff_new(own[0], own[1], &o, &d);
		narrow.before = own[0]; /* the diff's files are those of these profiles */
		narrow.after = own[1];
		if (r >= 0 && d->n_upgrades)
			r = report_rows(&narrow, program, d);
		c->upgraded = narrow.upgraded;
		c->n_upgraded = narrow.n_upgraded;
		c->capacity = narrow.capacity;
	}
	sp_diff_free(d);
	sp_profile_free(own[0]);
	sp_profile_free(own[1]);
	return r;
}

/* --- all programs --- */
static int read_side(struct sp_store *s, const struct sp_upgrade_comparison *q, bool is_after, struct sp_profile **ret)
{
	uint64_t from = q->from_ns - SP_MIN(q->from_ns, MARGIN_NS), to = q->to_ns - SP_MIN(q->to_ns, MARGIN_NS);
	struct sp_store_query query = {.from_ns = is_after ? to : from - SP_MIN(from, q->span_ns),
				       .to_ns = is_after ? to + q->span_ns : from,
				       .source = q->source,
				       .all_users = true,
				       .resolution = -1,
				       .n_slices = SLICES,
				       .ends_stay = true};
	struct sp_store_answer answer;
	int r = sp_profile_new(ret);

	return r < 0 ? r : sp_store_query(s, &query, *ret, &answer);
}

static int compare_all_programs(struct compare *c)
{
	SP_FREE struct program *programs = NULL;
	size_t n = 0, i;
	int r = find_programs(c->after, &programs, &n);

	for (i = 0; r >= 0 && i < n; i++)
		r = compare_program(c, &programs[i]);
	for (i = 0; r >= 0 && i < c->n_upgraded; i++)
		r = report_upgrade(c, &c->upgraded[i]);
	return r;
}

int sp_upgrade_compare(struct sp_store *s, const struct sp_upgrade_comparison *q,
		       int (*each)(void *arg, const struct sp_store_event *e), void *arg)
{
	struct compare c = {.q = q, .each = each, .arg = arg};
	int r = read_side(s, q, false, &c.before);

	if (r >= 0)
		r = read_side(s, q, true, &c.after);
	if (r >= 0)
		r = compare_all_programs(&c);
	for (size_t i = 0; i < c.n_upgraded; i++)
		free(c.upgraded[i].library);
	free(c.upgraded);
	sp_profile_free(c.before);
	sp_profile_free(c.after);
	return r;
}

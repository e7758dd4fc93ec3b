/* SPDX-License-Identifier: GPL-2.0-or-later */
/* machine_targets.c: what is named (machine_named.c) becomes files, functions and probes. */
#include "base/encode.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/path.h"
#include "cmd/calls/machine.h"
#include "cmd/calls/machine_rows.h"
#include "cmd/cmd.h"
#include "probe/point.h"
#include "worker/jobs_probes.h"
#include "worker/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * Names are as long as who makes a file likes, and cost him nothing: in a symbol table they may be parts of each other.
 * So many bytes of them are kept, and as many held while a name's files are looked at.
 */
enum { MAX_POINTS = 1 << 20, MAX_NAMES_MIB = 256 };
#define MAX_NAMES_BYTES ((size_t)MAX_NAMES_MIB << 20)

/* --- functions --- */
uint32_t sp_machine_n_functions(const struct sp_machine_targets *t)
{
	return sp_intern_count(t->keys);
}

static const char *library_name(const struct sp_probe_file *f)
{
	return *f->soname ? f->soname : sp_path_last(f->path);
}

static int names_fail(void)
{
	return sp_fail_said(-E2BIG, "the names of its functions, with those before them, take more than %d MiB",
			    MAX_NAMES_MIB);
}

static size_t set_bytes(const struct sp_probe_set *set)
{
	size_t bytes = set->n * sizeof(*set->points);

	for (size_t i = 0; i < set->n; i++)
		for (size_t k = 0; k < set->points[i].n_names; k++)
			bytes += strlen(set->points[i].names[k]) + 1;
	return bytes;
}

static size_t function_bytes(const struct sp_probe_file *file, const struct sp_probe_point *point)
{
	return (point->name ? strlen(point->name) : 0) + strlen(library_name(file)) + strlen(file->path);
}

/* As if none were known yet: so much room has to be there. */
static bool has_names_room(const struct sp_machine_targets *t, const struct sp_probe_file *file,
			   const struct sp_probe_set *set)
{
	size_t bytes = t->names_bytes;

	for (size_t i = 0; i < set->n && bytes <= MAX_NAMES_BYTES; i++)
		bytes += function_bytes(file, &set->points[i]);
	return bytes <= MAX_NAMES_BYTES;
}

static int function_fill(struct sp_machine_function *f, const struct sp_probe_file *file,
			 const struct sp_probe_point *point)
{
	sp_hex(file->build_id, SP_MIN(file->build_id_len, sizeof(f->build_id) / 2), f->build_id);
	f->library = strdup(library_name(file));
	f->path = strdup(file->path);
	f->is_stepped = point->cost == SP_PROBE_STEPPED;
	f->loops = point->loops;
	f->start = point->function;
	if (point->name)
		f->name = strdup(point->name);
	else if (f->library && asprintf(&f->name, "%s+0x%" PRIx64, f->library, point->address) < 0)
		f->name = NULL;
	return f->name && f->library && f->path ? 0 : -ENOMEM;
}

/* Files of one build have one number for a function. Who forges a build id joins rows, with a name that they had. */
static int64_t function_number(struct sp_machine_targets *t, const struct sp_probe_file *file,
			       const struct sp_probe_point *point)
{
	struct {
		uint64_t function, hash, ino, dev;
		uint8_t build_id[32];
	} key = {.function = point->function};
	const char *library = library_name(file);
	bool is_new;
	int64_t number;

	key.hash = sp_hash_bytes(library, strlen(library), 0);
	if (point->name)
		key.hash = sp_hash_bytes(point->name, strlen(point->name), key.hash);
	if (file->build_id_len) {
		memcpy(key.build_id, file->build_id, SP_MIN(file->build_id_len, sizeof(key.build_id)));
	} else {
		key.ino = file->ino;
		key.dev = file->dev;
	}
	number = sp_intern_add_to(t->keys, &key, sizeof(key), &t->functions, &t->functions_capacity,
				  sizeof(*t->functions), &is_new);
	if (number >= 0 && is_new) {
		int r = function_fill(&t->functions[number], file, point);

		t->names_bytes += function_bytes(file, point);
		return r < 0 ? r : number;
	}
	return number;
}

static int points_take(struct sp_machine_targets *t, size_t target, size_t number, const struct sp_probe_set *set)
{
	const struct sp_probe_file *file = &t->at[target].files.files[number];
	int r = has_names_room(t, file, set) ? 0 : names_fail();

	if (r >= 0)
		r = t->n_points + set->n > MAX_POINTS
			? sp_fail_said(-EINVAL, "more than %d functions: name fewer, by a glob", MAX_POINTS)
			: sp_grow(&t->points, &t->points_capacity, t->n_points + set->n, sizeof(*t->points));
	for (size_t i = 0; i < set->n && r >= 0; i++) {
		int64_t function = function_number(t, file, &set->points[i]);

		if (function < 0)
			return (int)function;
		t->points[t->n_points++] =
		    (struct sp_machine_point){.ino = file->ino,
					      .target = (uint32_t)target,
					      .file = (uint32_t)number,
					      .offset = set->points[i].offset,
					      .pushed = set->points[i].pushed,
					      .length = set->points[i].length,
					      .jump = set->points[i].jump,
					      .is_stepped = set->points[i].cost == SP_PROBE_STEPPED,
					      .function = (uint32_t)function};
	}
	for (size_t i = 0; i < SP_PROBE_N_REFUSALS; i++)
		t->n_refused_functions += set->refused[i];
	return r;
}

/* --- what a worker finds in a file --- */
struct found {
	struct sp_probe_set set;
	int r;
	char *why;    /* r < 0 */
	size_t *held; /* bytes of all sets that are held at the same time; NULL: it is this one alone */
	/* Of a file that came later: */
	struct sp_machine_watch *watch;
	size_t target, file;
};

static void found_take(struct found *f, int r, struct sp_probe_set *set)
{
	size_t bytes = r >= 0 && f->held ? set_bytes(set) : 0;

	if (bytes && bytes > MAX_NAMES_BYTES - *f->held)
		r = names_fail();
	else if (bytes)
		*f->held += bytes;
	f->r = r;
	f->why = r < 0 ? sp_workers_probes_why(r) : NULL;
	if (r < 0)
		return;
	f->set = *set;
	*set = (struct sp_probe_set){.n = 0};
}

static void found_done(struct found *f)
{
	sp_probe_set_done(&f->set);
	free(f->why);
}

static void found_now(void *arg, int r, struct sp_probe_set *set)
{
	found_take(arg, r, set);
}

/* Which functions are meant: by name or address; or all that are exported, or, where none is, all. */
static int functions_ask(const struct sp_machine_target *target, const struct sp_machine_args *a, int file,
			 struct sp_workers *w, void (*done)(void *arg, int r, struct sp_probe_set *set),
			 struct found *found)
{
	const struct sp_probe_what what = {.globs = target->globs.words,
					   .n_globs = target->globs.n,
					   .addresses = target->addresses,
					   .n_addresses = target->n_addresses,
					   .inner = target->globs.n || target->n_addresses,
					   .or_inner = true,
					   .returns = a->latency || !sp_probe_has(SP_PROBE_ENTRY),
					   .return_probe = a->latency};

	return sp_workers_points(w, file, &what, done, found);
}

/* Fails with the file's name. */
static int functions_take(struct sp_machine_targets *t, const struct sp_machine_args *a, size_t target, size_t number,
			  const struct found *found)
{
	const struct sp_probe_file *file = &t->at[target].files.files[number];
	int r = found->r;

	sp_error_clear();
	if (r < 0)
		return sp_fail_said(r, "%s: %s", file->path, found->why ? found->why : strerror(-r));
	if (a->latency && found->set.is_go)
		r = sp_fail_said(-EINVAL,
				 "a Go program's stacks move, so its calls cannot be timed; leave out --latency");
	if (r >= 0)
		r = points_take(t, target, number, &found->set);
	return r < 0 ? sp_fail(r, "%s", file->path) : 0;
}

/* --- files --- */
/* Two names of one file would be two probes at each place, and count twice. */
static int twice_check(const struct sp_machine_targets *t, size_t i)
{
	for (size_t j = 0; j < i; j++)
		for (size_t k = 0; k < t->at[j].files.n; k++)
			for (size_t l = 0; l < t->at[i].files.n; l++) {
				const struct sp_probe_file *a = &t->at[j].files.files[k], *b = &t->at[i].files.files[l];

				if (a->ino == b->ino && a->dev == b->dev)
					return sp_fail_said(-EINVAL, "%s and %s are one file, %s: name it once",
							    t->at[j].name, t->at[i].name, a->path);
			}
	return 0;
}

/* They are answered in any order, and taken in this one. */
static int all_ask(const struct sp_machine_target *target, const struct sp_machine_args *a, struct sp_workers *w,
		   struct found *found)
{
	int r = 0;

	for (size_t k = 0; k < target->files.n && r >= 0; k++)
		r = functions_ask(target, a, target->files.files[k].fd, w, found_now, &found[k]);
	sp_workers_probes_wait(w, found, target->files.n, sizeof(*found));
	return r;
}

/*
 * A file that cannot be read, or is made to harm who reads it, costs its own functions: it is told, and the others are
 * counted. An older build may lack what a newer one has.
 */
static int all_take(struct sp_machine_targets *t, const struct sp_machine_target *target,
		    const struct sp_machine_args *a, const struct found *found)
{
	size_t n_taken = 0, n_failed = 0, n = target->files.n;
	int r = 0, failed = 0;

	for (size_t k = 0; k < n; k++) {
		r = functions_take(t, a, (size_t)(target - t->at), k, &found[k]);
		n_taken += r >= 0;
		failed = r < 0 && (r != -ENOENT || !failed) ? r : failed;
		if (r < 0 && r != -ENOENT && n > 1 && n_failed++ < SP_MACHINE_TOLD)
			sp_cmd_warn(sp_error_text(r));
	}
	sp_machine_tell_count(n_failed - SP_MIN(n_failed, (size_t)SP_MACHINE_TOLD), "more file", "more files",
			      "of the same name cannot be probed");
	if (n_taken || !n) {
		sp_error_clear();
		return 0;
	}
	return n == 1 || failed == -ENOENT
		   ? r
		   : sp_fail_said(failed, "%s: none of the %zu files with this name can be probed", target->name, n);
}

static int functions_find(struct sp_machine_targets *t, const struct sp_machine_target *target,
			  const struct sp_machine_args *a, struct sp_workers *w)
{
	size_t n = target->files.n;
	struct found *found = calloc(n + 1, sizeof(*found));
	size_t held = 0;
	int r;

	for (size_t k = 0; found && k < n; k++)
		found[k].held = &held;
	r = found ? all_ask(target, a, w, found) : -ENOMEM;
	if (r >= 0)
		r = all_take(t, target, a, found);
	for (size_t k = 0; found && k < n; k++)
		found_done(&found[k]);
	free(found);
	return r;
}

static int target_find(struct sp_machine_targets *t, size_t i, const struct sp_machine_args *a, struct sp_workers *w)
{
	struct sp_machine_target *target = &t->at[i];
	size_t n_pids = 0;
	int r = sp_probe_files(target->name, w, &target->files);

	if (r >= 0 && target->files.unread)
		sp_cmd_warn(target->files.unread);
	if (r >= 0)
		r = twice_check(t, i);
	if (r >= 0)
		r = functions_find(t, target, a, w);
	for (size_t k = 0; k < target->files.n; k++)
		n_pids += target->files.files[k].n_pids;
	t->n_files += target->files.n;
	t->is_waiting |= r >= 0 && !n_pids;
	return r;
}

int sp_machine_targets_find(struct sp_machine_targets *t, const struct sp_machine_args *a, struct sp_workers *w)
{
	int r = 0;

	for (size_t i = 0; i < t->n && r >= 0; i++)
		r = target_find(t, i, a, w);
	return sp_probe_mistake(r);
}

/* --- probes --- */
struct places {
	uint64_t *offsets, *cookies;
	size_t n;
};

static int link_add(struct sp_machine_targets *t, const struct sp_probe_program *program, int fd,
		    const struct places *places, pid_t pid)
{
	const struct sp_probe_at at = {.offsets = places->offsets,
				       .cookies = sp_probe_has(SP_PROBE_ENTRY) ? places->cookies : NULL,
				       .n = places->n};
	struct sp_probe_program by = *program;
	struct sp_probe_link *link;
	int r = sp_grow(&t->links, &t->links_capacity, t->n_links + 1, sizeof(*t->links));

	if (r < 0)
		return r;
	by.broker = t->broker;
	link = &t->links[t->n_links];
	r = sp_probe_attach(&by, fd, &at, pid, link);
	if (r < 0)
		return r;
	t->n_links++;
	t->n_refused_by_kernel += program->kind == SP_PROBE_RETURN ? 0 : link->n_refused;
	return 0;
}

static int file_attach(struct sp_machine_targets *t, size_t target, size_t number, const struct sp_counting *counting,
		       pid_t pid)
{
	const struct sp_probe_files *files = &t->at[target].files;
	SP_FREE uint64_t *offsets = calloc(t->n_points + 1, sizeof(*offsets));
	SP_FREE uint64_t *cookies = calloc(t->n_points + 1, sizeof(*cookies));
	struct places places = {.offsets = offsets, .cookies = cookies};
	struct sp_probe_program programs[2];
	size_t n = sp_counting_programs(counting, programs);
	int r = offsets && cookies ? 0 : -ENOMEM;

	pid = files->name.pid ? (pid_t)files->name.pid : pid;
	for (size_t i = 0; i < t->n_points && r >= 0; i++) {
		const struct sp_machine_point *p = &t->points[i];

		if (p->target != target || p->file != number)
			continue;
		offsets[places.n] = p->offset;
		cookies[places.n++] = SP_PROBED_COOKIE(p->function, p->pushed, p->is_stepped);
	}
	for (size_t i = 0; i < n && places.n && r >= 0; i++)
		r = link_add(t, &programs[i], files->files[number].fd, &places, pid);
	return r < 0 ? sp_fail(r, "probe %s", files->files[number].path) : 0;
}

int sp_machine_targets_attach(struct sp_machine_targets *t, const struct sp_counting *counting, pid_t pid)
{
	int r = 0, failed = 0;

	for (size_t i = 0; i < t->n; i++)
		for (size_t k = 0; k < t->at[i].files.n; k++) {
			r = file_attach(t, i, k, counting, pid);
			if (r >= 0)
				continue;
			if (t->n_files == 1 || r == -ESRCH)
				return r;
			failed = r;
			if (!t->has_warned)
				sp_cmd_warn(sp_error_text(r));
			sp_error_clear();
		}
	t->has_warned = true;
	return failed && !t->n_links ? sp_fail_said(failed, "no file can be probed") : 0;
}

/* --- files that come later --- */
static int later_add(struct sp_machine_watch *w, const struct found *f)
{
	struct sp_machine_targets *t = w->targets;
	int r = functions_take(t, w->args, f->target, f->file, f);

	if (r >= 0 && sp_machine_n_functions(t) > t->max_functions)
		r = sp_fail_said(
		    -E2BIG, "%s: more functions than there is room for beside those from the beginning: count again",
		    t->at[f->target].files.files[f->file].path);
	return r < 0 ? r : file_attach(t, f->target, f->file, w->counting, w->pid);
}

/* What cannot be probed costs its own calls, not those of the others: it is told, and counting goes on. */
static void found_later(void *arg, int r, struct sp_probe_set *set)
{
	struct found *f = arg;
	struct sp_machine_watch *w = f->watch;

	sp_probe_later_took(w->later, w->targets->at[f->target].files.files[f->file].user,
			    sp_workers_called_ns(w->workers));
	if (!w->targets->is_over && r != -ECANCELED) {
		found_take(f, r, set);
		r = later_add(w, f);
		w->n_added += r >= 0;
		sp_machine_watch_failed(w, r);
	}
	found_done(f);
	free(f);
}

int sp_machine_targets_add(struct sp_machine_watch *w, size_t target, struct sp_probe_file *file)
{
	struct sp_machine_targets *t = w->targets;
	struct sp_probe_files *files = &t->at[target].files;
	struct found *f;
	int r = sp_probe_files_add(files, file);

	if (r <= 0)
		return r;
	t->n_files++;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	*f = (struct found){.watch = w, .target = target, .file = files->n - 1};
	r = functions_ask(&t->at[target], w->args, files->files[f->file].fd, w->workers, found_later, f);
	if (r < 0)
		free(f);
	return r;
}

void sp_machine_targets_detach(struct sp_machine_targets *t)
{
	t->is_over = true;
	sp_machine_targets_pause(t);
}

static void kind_detach(struct sp_machine_targets *t, struct sp_probe_link **links, bool returns)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_links; i++)
		if ((t->links[i].kind == SP_PROBE_RETURN) == returns)
			links[n++] = &t->links[i];
	sp_probe_detach_some(links, n);
}

/* The beginnings of calls before their ends. */
void sp_machine_targets_pause(struct sp_machine_targets *t)
{
	SP_FREE struct sp_probe_link **links = calloc(t->n_links + 1, sizeof(struct sp_probe_link *));

	if (links) {
		kind_detach(t, links, false);
		kind_detach(t, links, true);
		t->n_links = 0;
	}
	while (t->n_links)
		sp_probe_detach(&t->links[--t->n_links]);
}

int sp_machine_targets_resume(struct sp_machine_targets *t, const struct sp_counting *counting, pid_t pid)
{
	uint64_t n_refused = t->n_refused_by_kernel;
	int r;

	sp_machine_targets_pause(t); /* of a file that came meanwhile */
	r = sp_machine_targets_attach(t, counting, pid);
	t->n_refused_by_kernel = n_refused;
	return r;
}

uint32_t sp_machine_function_at(const struct sp_machine_targets *t, const struct sp_probed_place *place)
{
	for (size_t i = 0; i < t->n_points; i++)
		if (t->points[i].ino == place->ino && t->points[i].offset == place->offset)
			return t->points[i].function;
	return UINT32_MAX;
}

void sp_machine_targets_done(struct sp_machine_targets *t)
{
	sp_machine_targets_detach(t);
	for (size_t i = 0; i < t->n; i++) {
		sp_probe_files_done(&t->at[i].files);
		sp_words_done(&t->at[i].globs);
		free(t->at[i].addresses);
	}
	for (size_t i = 0; i < t->n_asked; i++)
		sp_probe_asked_done(&t->asked[i]);
	free(t->asked);
	for (uint32_t i = 0; t->keys && i < sp_intern_count(t->keys); i++) {
		free(t->functions[i].name);
		free(t->functions[i].library);
		free(t->functions[i].path);
	}
	free(t->at);
	free(t->functions);
	free(t->points);
	free(t->links);
	sp_intern_free(t->keys);
}

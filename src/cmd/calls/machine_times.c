/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine_times.c: what was counted in all processes as a profile, joined with the samples taken meanwhile, so that
 * functions have times as those of a command have.
 *
 * A row is the callee, by its file's build id and where it begins, and the function that called it. Samples that are
 * there only because of the probes are left out (machine_disturbed.c).
 */
#include "cmd/calls/machine_times.h"

#include "base/encode.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/parse.h"
#include "cmd/calls/calls.h"
#include "cmd/profile/profile_parts.h"
#include "link/profile.h"
#include "profile/profile.h"
#include "symbol/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- the samples --- */
static int pids_copy(const struct sp_u32_list *from, struct sp_u32_list *to)
{
	if (!from->n)
		return 0;
	to->values = malloc(from->n * sizeof(*to->values));
	if (!to->values)
		return -ENOMEM;
	memcpy(to->values, from->values, from->n * sizeof(*to->values));
	to->n = from->n;
	return 0;
}

int sp_machine_times_args(const struct sp_machine_args *a, struct sp_profile_args *ret_args)
{
	char hz[24];
	char *words[] = {(char *)"-F", hz};
	int r;

	snprintf(hz, sizeof(hz), "%" PRIu64, a->frequency_hz);
	r = sp_profile_args_parse(SP_COUNT(words), words, ret_args);
	ret_args->targets_come = !a->pids->n;
	ret_args->comm = a->comm;
	ret_args->cgroup = a->cgroup;
	return r < 0 ? r : pids_copy(a->pids, &ret_args->pids);
}

/* --- the counts --- */
static void build_id_read(const char *hex, struct sp_file *file)
{
	for (; hex[0] && hex[1] && file->build_id_len < SP_BUILD_ID_MAX; hex += 2)
		file->build_id[file->build_id_len++] = (uint8_t)(sp_hex_digit(hex[0]) << 4 | sp_hex_digit(hex[1]));
}

static int64_t file_add(struct sp_profile *p, const char *library, const char *build_id)
{
	struct sp_file file = {
	    .kind = SP_FILE_ELF,
	    .tag = sp_hash_bytes(library, strlen(library), sp_hash_bytes(build_id, strlen(build_id), 0))};
	int64_t name = sp_profile_add_string(p, library);

	if (name < 0)
		return name;
	if (*library == '[')
		file.kind = SP_FILE_OTHER;
	file.name = (uint32_t)name;
	build_id_read(build_id, &file);
	return sp_profile_add_file(p, &file);
}

/* Places of one file are told apart by their functions. */
static int64_t frame_add(struct sp_profile *p, int64_t file, const char *name, uint64_t start)
{
	SP_FREE char *text = sp_demangle(name);
	int64_t shown = text ? sp_profile_add_string(p, text) : -ENOMEM, linkage = sp_profile_add_string(p, name), func;

	if (file < 0 || shown < 0 || linkage < 0)
		return file < 0 ? file : shown < 0 ? shown : linkage;
	func = sp_profile_add_func(
	    p, &(struct sp_func){
		   .name = (uint32_t)shown, .linkage_name = (uint32_t)linkage, .file = (uint32_t)file, .start = start});
	return func < 0
		   ? func
		   : sp_profile_add_frame_variant(
			 p, &(struct sp_frame){.file = (uint32_t)file, .offset = start, .func = (uint32_t)func}, true);
}

static int row_put(struct sp_profile *p, const struct sp_machine_rows *rows, const struct sp_machine_row *row)
{
	const struct sp_machine_function *f = &rows->targets->functions[row->function];
	const char *name, *library, *build_id;
	int64_t callee = frame_add(p, file_add(p, f->library, f->build_id), f->name, f->start), caller, number,
		values[SP_MAX_VALUES] = {(int64_t)SP_MIN(row->all.n_calls, (uint64_t)INT64_MAX)};
	uint32_t frames[2];

	sp_machine_caller(rows->callers, row->who, &name, &library);
	build_id = library + strlen(library) + 1;
	caller = frame_add(p, file_add(p, *library ? library : name, build_id), name, 0);
	if (callee < 0 || caller < 0)
		return (int)(callee < 0 ? callee : caller);
	frames[0] = (uint32_t)callee;
	frames[1] = (uint32_t)caller;
	number = sp_profile_add_stack(
	    p, &(struct sp_stack){.stack_class = SP_CLASS_COMPLETE, .n_frames = SP_COUNT(frames), .frames = frames});
	return number < 0 ? (int)number : sp_profile_add(p, 0, (uint32_t)number, 0, values);
}

static int counts_profile(const struct sp_machine_rows *rows, struct sp_profile **ret_profile)
{
	struct sp_profile *p = NULL;
	int r = sp_profile_new(&p);

	if (r >= 0)
		r = sp_profile_add_value_type(p, SP_CALLS_VALUE, "count");
	for (uint32_t i = 0; i < sp_machine_n_rows(rows) && r >= 0; i++)
		if (rows->rows[i].all.n_calls)
			r = row_put(p, rows, &rows->rows[i]);
	if (r < 0) {
		sp_profile_free(p);
		return r;
	}
	*ret_profile = p;
	return 0;
}

int sp_machine_times_join(struct sp_profile_session *s, const struct sp_machine_rows *rows, uint64_t *ret_n_left_out)
{
	struct sp_profile *calls = NULL;
	int r = sp_profile_narrow(s);

	if (r >= 0)
		r = sp_machine_disturbed_leave_out(&s->sampling.profile, rows->targets, ret_n_left_out);
	if (r >= 0)
		r = counts_profile(rows, &calls);
	if (r >= 0)
		r = sp_calls_join(&s->sampling, true, calls);
	sp_profile_free(calls);
	return r;
}

/* --- afterwards --- */
static bool is_called(const struct sp_machine_rows *rows, uint32_t function)
{
	for (uint32_t i = 0; i < sp_machine_n_rows(rows); i++)
		if (rows->rows[i].function == function && rows->rows[i].all.n_calls)
			return true;
	return false;
}

/* One name may stand for several builds, each with rows of its own. */
static void builds_tell(const struct sp_machine_rows *rows)
{
	const struct sp_machine_function *all = rows->targets->functions;
	uint32_t n = sp_machine_n_functions(rows->targets);
	const char *last = NULL, *last_path = NULL;

	for (uint32_t i = 0; i < n; i++) {
		bool is_same = last && !strcmp(last, all[i].build_id) && (*last || !strcmp(last_path, all[i].path));

		if (is_same || !is_called(rows, i))
			continue;
		fputs("soprof: ", stderr);
		sp_encode(stderr, SP_ENCODE_TERMINAL, all[i].library);
		fprintf(stderr, ": %s%s, ", *all[i].build_id ? "build id " : "no build id", all[i].build_id);
		sp_encode(stderr, SP_ENCODE_TERMINAL, all[i].path);
		fputc('\n', stderr);
		last = all[i].build_id;
		last_path = all[i].path;
	}
}

/* Where others have the CPUs, soprof may come too late to make room. */
static void losses_tell(const struct sp_capture_stats *s)
{
	sp_machine_tell_count(
	    s->n_lost_frames + s->counter[SP_N_LOST_STACKS], "sample has", "samples have",
	    "lost a stack, for want of room: intervals are wider by as many as are of these processes");
	sp_machine_tell_count(s->counter[SP_N_LOST_PENDING], "stack was", "stacks were",
			      "cut, for want of room: times of functions above are missing");
	sp_machine_tell_count(s->counter[SP_N_LOST_COUNTS] + s->counter[SP_N_LOST_NESTED], "sample was", "samples were",
			      "lost, for want of room: times are too short");
}

void sp_machine_times_tell(const struct sp_machine_rows *rows, const struct sp_capture_stats *samples,
			   uint64_t n_left_out)
{
	bool is_estimated = false;

	builds_tell(rows);
	sp_machine_tell_count(n_left_out, "sample was", "samples were", "of probes' own time, and left out");
	losses_tell(samples);
	for (uint32_t i = 0; i < sp_machine_n_rows(rows); i++)
		is_estimated |= rows->rows[i].estimated > 0;
	if (is_estimated)
		fputs("soprof: calls are estimates, by random windows: intervals of times are those of the samples "
		      "alone; --max-overhead 0 counts all\n",
		      stderr);
}

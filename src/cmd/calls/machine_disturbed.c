/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine_disturbed.c: which samples are there only because functions are probed.
 *
 * A trap has three parts. While the kernel handles it, its stack says so. An instruction that the kernel cannot emulate
 * runs from a page of the kernel's. And on the way into the trap and out of it the CPU lets no interrupt through, so
 * that a tick of that time, some 0.1 us of each, is seen as soon as the program runs again: at the instruction behind
 * the probed one, or where that jumps to. Its own time, of one instruction at a function's beginning, cannot be told
 * apart, and is left out, too.
 */
#include "base/encode.h"
#include "base/intern.h"
#include "base/search.h"
#include "cmd/calls/machine_times.h"
#include "profile/filter.h"
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct place {
	uint64_t file, offset; /* file: of its build id */
	uint8_t length;
};
struct disturbed {
	struct place *places; /* by file and offset */
	size_t n;
	uint64_t *files; /* by the profile's number of it: as in places; 0 = none */
};

static uint64_t file_of(const char *build_id)
{
	return *build_id ? sp_hash_bytes(build_id, strlen(build_id), 1) : 0;
}

static int place_compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return SP_RISING(x->file, y->file) ?: SP_RISING(x->offset, y->offset);
}

static int disturbed_init(struct disturbed *d, struct sp_profile *p, const struct sp_machine_targets *t)
{
	uint32_t n_files = sp_profile_n_files(p);
	char text[2 * SP_BUILD_ID_MAX + 1];

	d->places = calloc(2 * t->n_points + 1, sizeof(*d->places));
	d->files = calloc((size_t)n_files + 1, sizeof(*d->files));
	if (!d->places || !d->files)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_points; i++) {
		const struct sp_machine_point *from = &t->points[i];
		uint64_t file = file_of(t->functions[from->function].build_id);

		d->places[d->n++] = (struct place){.file = file, .offset = from->offset, .length = from->length};
		if (from->jump)
			d->places[d->n++] = (struct place){.file = file, .offset = from->offset + (uint64_t)from->jump};
	}
	qsort(d->places, d->n, sizeof(*d->places), place_compare);
	for (uint32_t i = 0; i < n_files; i++) {
		const struct sp_file *f = sp_profile_file(p, i);

		sp_hex(f->build_id, f->build_id_len, text);
		d->files[i] = file_of(text);
	}
	return 0;
}

static void disturbed_done(struct disturbed *d)
{
	free(d->places);
	free(d->files);
}

/* At a probe, or right behind it. */
static bool is_at_probe(const struct disturbed *d, uint64_t file, uint64_t offset)
{
	const struct place *at = d->places;
	size_t n = SP_N_WHILE(d->n, i, at[i].file < file || (at[i].file == file && at[i].offset <= offset));

	return n && at[n - 1].file == file && offset - at[n - 1].offset <= at[n - 1].length;
}

/* The page from which the kernel has single instructions run is the last one of the address space, where that is free.
 */
static bool is_stepped_at(uint64_t address)
{
	static const uint64_t ends[] = {1UL << 47, 1UL << 56}; /* with page tables of four levels and of five */

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (address < ends[i] - 4096 && address >= ends[i] - 8192)
			return true;
	return false;
}

static bool is_handled(const struct sp_profile *p, const struct sp_stack *kernel)
{
	static const char *const handlers[] = {"asm_exc_int3", "asm_exc_debug", "__x64_sys_uprobe"};

	for (uint32_t i = 0; i < kernel->n_frames; i++) {
		uint32_t func = sp_profile_frame(p, kernel->frames[i])->func;
		const char *name = sp_profile_string(p, sp_profile_func(p, func)->name);

		for (size_t k = 0; k < sizeof(handlers) / sizeof(*handlers); k++)
			if (!strcmp(name, handlers[k]))
				return true;
	}
	return false;
}

static bool is_undisturbed(const struct sp_profile *p, const struct sp_row *row, void *arg)
{
	const struct disturbed *d = arg;
	struct sp_stack kernel = sp_profile_stack(p, row->kernel), user = sp_profile_stack(p, row->user);
	const struct sp_frame *leaf = user.n_frames ? sp_profile_frame(p, user.frames[0]) : NULL;

	if (is_handled(p, &kernel))
		return false;
	if (!leaf || kernel.n_frames) /* called, or interrupted, from there: time that would be spent anyway */
		return true;
	if (sp_profile_file((struct sp_profile *)p, leaf->file)->kind == SP_FILE_ANON)
		return !is_stepped_at(sp_profile_file((struct sp_profile *)p, leaf->file)->bias + leaf->offset);
	return !d->files[leaf->file] || !is_at_probe(d, d->files[leaf->file], leaf->offset);
}

int sp_machine_disturbed_leave_out(struct sp_profile **profile, const struct sp_machine_targets *t,
				   uint64_t *ret_n_left_out)
{
	struct disturbed d = {0};
	struct sp_filter_result result;
	struct sp_profile *kept;
	int r = disturbed_init(&d, *profile, t);

	if (r >= 0)
		r = sp_profile_filter(*profile, is_undisturbed, &d, &kept, &result);
	disturbed_done(&d);
	if (r < 0)
		return r;
	*ret_n_left_out = (uint64_t)result.left_out[0];
	sp_profile_free(*profile);
	*profile = kept;
	return 0;
}

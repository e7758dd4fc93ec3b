/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/profile/profile_memory.h"
#include "base/encode.h"
#include "base/mem.h"
#include "capture/capture.h"
#include "profile/merge.h"
#include "profile/values.h"
#include "recipe/memory.h"
#include "recipe/recipe.h"
#include "view/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sp_memory_library_make(struct sp_recipe_set *set, uint64_t thin_bytes, struct sp_memory_library *ret_library)
{
	struct sp_memory_library *m = ret_library;
	int r;

	*m = (struct sp_memory_library){.place = SP_AUDIT_LIBRARY_NONE};
	if (!sp_recipes_have_live(set->recipes))
		return 0;
	r = sp_audit_library_make(true, &m->place);
	if (r >= 0)
		r = sp_memory_path(&m->place, &m->path);
	if (r >= 0)
		r = sp_memory_environment(&m->place, thin_bytes ? thin_bytes : SP_MEMORY_THIN, m->environment);
	return r < 0 ? r : sp_recipe_set_memory(set, m->path);
}

void sp_memory_library_done(struct sp_memory_library *m)
{
	free(m->unseen);
	m->unseen = NULL;
	if (!m->path)
		return;
	for (size_t i = 0; i < SP_MEMORY_VARIABLES; i++)
		free(m->environment[i]);
	sp_audit_library_done(&m->place);
	free(m->path);
	m->path = NULL;
}

/* The library's file in the profile; 0: nothing was sampled there. */
static uint32_t file_of(const struct sp_profile *p, const char *path)
{
	SP_FREE char *real = realpath(path, NULL);
	uint32_t n = sp_profile_n_files(p);

	for (uint32_t i = 1; real && i < n; i++)
		if (!strcmp(sp_profile_string(p, sp_profile_file(p, i)->path), real))
			return i;
	return 0;
}

int sp_memory_callers(const struct sp_memory_library *m, struct sp_profile **profile)
{
	struct sp_profile *callers = NULL;
	int r;

	if (!m->path)
		return 0;
	r = sp_profile_new(&callers);
	if (r >= 0)
		r = sp_profile_merge_callers(callers, *profile, file_of(*profile, m->path));
	sp_profile_free(r < 0 ? callers : *profile);
	if (r >= 0)
		*profile = callers;
	return r;
}

void sp_memory_unseen_tell(const struct sp_memory_library *m)
{
	if (!m->unseen)
		return;
	fputs("soprof: ", stderr);
	sp_encode(stderr, SP_ENCODE_TERMINAL, m->unseen);
	fputs(": what C++'s operator new has by itself is not seen in a process that runs\n", stderr);
}

void sp_memory_unsampled_tell(const struct sp_memory_library *m, const struct sp_capture_stats *seen)
{
	uint64_t n_static = seen->counter[SP_N_PROGRAMS_STATIC], n_secure = seen->counter[SP_N_PROGRAMS_SECURE];
	char first[48] = "", second[64] = "";

	if (!m->path || n_static + n_secure == 0)
		return;
	if (n_static)
		snprintf(first, sizeof(first), "%" PRIu64 " linked statically", n_static);
	if (n_secure)
		snprintf(second, sizeof(second), "%" PRIu64 " set-user-id or with capabilities", n_secure);
	fprintf(stderr, "soprof: memory of %" PRIu64 " of %" PRIu64 " programs that ran was not sampled: %s%s%s\n",
		n_static + n_secure, seen->counter[SP_N_PROGRAMS], first, n_static && n_secure ? ", " : "", second);
}

void sp_memory_freed_tell(const struct sp_capture_stats *seen)
{
	uint64_t n = seen->counter[SP_N_FREED_UNSEEN];

	if (n)
		fprintf(stderr,
			"soprof: %" PRIu64
			" frees were of blocks that were not seen to be allocated: from before, or malloc's own\n",
			n);
}

/*
 * A block of s bytes is drawn with the probability s / thin, and stands for thin bytes then, so it adds at most s *
 * thin to the variance of a sum: that of B bytes is B * thin at most. Two standard errors are 95 %.
 */
void sp_memory_error_tell(const struct sp_profile *p, uint64_t thin_bytes)
{
	int value = sp_profile_find_value(p, "live_bytes", "bytes");
	int64_t live = 0;
	double percent;
	char bytes[32], thin[32];

	for (uint32_t i = 0; value >= 0 && i < sp_profile_n_rows(p); i++)
		live += sp_profile_row(p, i)->values[value];
	if (live <= 0 || thin_bytes <= 1)
		return;
	percent = 196 * sqrt((double)thin_bytes / (double)live);
	sp_unit_write("bytes", (uint64_t)live, bytes, sizeof(bytes));
	sp_unit_write("bytes", thin_bytes, thin, sizeof(thin));
	fprintf(stderr,
		"soprof: one byte in %s was sampled: what lives, %s, may be off by %.*f %%, a tenth of it by %.*f %% "
		"(95 %% intervals; --thin makes them smaller)\n",
		thin, bytes, percent < 10, percent, percent * sqrt(10) < 10, percent * sqrt(10));
}

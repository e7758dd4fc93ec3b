/* SPDX-License-Identifier: GPL-2.0-or-later */
/* probe_tell.c: what the user has to know of probes: whether they wait, and what they do not see. */
#include "base/encode.h"
#include "cmd/profile/profile_parts.h"
#include "recipe/probe.h"
#include "recipe/recipe.h"

#include <inttypes.h>
#include <stdio.h>

static void library_print(const char *library)
{
	fputs("soprof: ", stderr);
	sp_encode(stderr, SP_ENCODE_TERMINAL, library);
}

/* A command has not begun yet: that nobody maps its libraries is no news. */
void sp_probe_tell_begin(const struct sp_recipe_probe *probe, bool has_command, bool is_verbose)
{
	struct sp_recipe_probe_stats s;

	sp_recipe_probe_stats(probe, &s);
	if (!s.n_mapped && !has_command) {
		library_print(s.library);
		fputs(" is mapped by no process yet: waiting for the first\n", stderr);
	}
	if (s.n_refused) {
		library_print(s.library);
		fprintf(stderr, ": the kernel takes no probe at %zu of %zu places\n", s.n_refused, s.n_places);
	}
	if (s.n_unread || (s.n_hidden && is_verbose)) {
		library_print(s.library);
		fprintf(stderr,
			": not looked at: %zu files that could not be opened, %" PRIu64
			" processes that could not be read\n",
			s.n_unread, s.n_hidden);
	}
}

void sp_probes_tell_begin(const struct sp_recipe_set *set, bool has_command, bool is_verbose)
{
	const struct sp_recipe_point *point;

	for (size_t i = 0; i < set->n; i++)
		for (point = set->recipes[i]->points; point->at == SP_AT_PROBE; point++)
			sp_probe_tell_begin(point->probe, has_command, is_verbose);
}

void sp_probe_tell_end(const struct sp_recipe_probe *probe)
{
	struct sp_recipe_probe_stats s;

	sp_recipe_probe_stats(probe, &s);
	if (s.n_lost) {
		library_print(s.library);
		fprintf(stderr, ": %" PRIu64 " mappings of files were not seen; some may not be probed\n", s.n_lost);
	}
	if (s.n_gone) {
		library_print(s.library);
		fprintf(stderr, ": %zu %s gone before %s could be probed\n", s.n_gone,
			s.n_gone == 1 ? "file was" : "files were", s.n_gone == 1 ? "it" : "they");
	}
	if (s.n_failed) {
		fputs("soprof: ", stderr);
		sp_encode(stderr, SP_ENCODE_TERMINAL, s.failure ? s.failure : s.library);
		fputs(": not probed", stderr);
		if (s.n_failed > 1)
			fprintf(stderr, ", and %zu more files", s.n_failed - 1);
		fputc('\n', stderr);
	}
	if (!s.n_later)
		return;
	library_print(s.library);
	fprintf(stderr, ": %zu more %s appeared, and %s probed from the first mapping on\n", s.n_later,
		s.n_later == 1 ? "file" : "files", s.n_later == 1 ? "was" : "were");
}

void sp_probes_tell_end(const struct sp_recipe_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->recipes[i]->points[0].at == SP_AT_PROBE)
			sp_probe_tell_end(set->recipes[i]->points[0].probe);
}

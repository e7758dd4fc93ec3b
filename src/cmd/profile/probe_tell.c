/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probe_tell.c: what the user has to know of probes: whether they wait, and what they do not see. Probes in one
 * library, as the two ends of a pair are, have its files in common, of which is told once.
 */
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

/* Whether it is told of together with one before it. */
static bool is_told(struct sp_recipe_probe *const *probes, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (sp_recipe_probe_is_beside(probes[k], probes[i]))
			return true;
	return false;
}

/* A command has not begun yet: that nobody maps its libraries is no news. */
static void begin_tell(const struct sp_recipe_probe_stats *s, bool has_command, bool is_verbose)
{
	if (!s->n_mapped && !has_command) {
		library_print(s->library);
		fputs(" is mapped by no process yet: waiting for the first\n", stderr);
	}
	if (s->n_refused) {
		library_print(s->library);
		fprintf(stderr, ": the kernel takes no probe at %zu of %zu places\n", s->n_refused, s->n_places);
	}
	if (s->n_unread || (s->n_hidden && is_verbose)) {
		library_print(s->library);
		fprintf(stderr,
			": not looked at: %zu files that could not be opened, %" PRIu64
			" processes that could not be read\n",
			s->n_unread, s->n_hidden);
	}
}

static void end_tell(const struct sp_recipe_probe_stats *s)
{
	if (s->n_lost) {
		library_print(s->library);
		fprintf(stderr, ": %" PRIu64 " mappings of files were not seen; some may not be probed\n", s->n_lost);
	}
	if (*s->left_out) {
		library_print(s->library);
		fprintf(stderr, ": %s\n", s->left_out);
	}
	if (s->n_gone) {
		library_print(s->library);
		fprintf(stderr, ": %zu %s gone before %s could be probed\n", s->n_gone,
			s->n_gone == 1 ? "file was" : "files were", s->n_gone == 1 ? "it" : "they");
	}
	if (s->n_failed) {
		fputs("soprof: ", stderr);
		sp_encode(stderr, SP_ENCODE_TERMINAL, s->failure ? s->failure : s->library);
		fputs(": not probed", stderr);
		if (s->n_failed > 1)
			fprintf(stderr, ", and %zu more files", s->n_failed - 1);
		fputc('\n', stderr);
	}
	if (!s->n_later)
		return;
	library_print(s->library);
	fprintf(stderr, ": %zu more %s appeared, and %s probed from the first mapping on\n", s->n_later,
		s->n_later == 1 ? "file" : "files", s->n_later == 1 ? "was" : "were");
}

void sp_probes_tell_begin(struct sp_recipe_probe *const *probes, size_t n, bool has_command, bool is_verbose)
{
	for (size_t i = 0; i < n; i++) {
		struct sp_recipe_probe_stats s;

		if (is_told(probes, i))
			continue;
		sp_recipe_probe_stats(probes + i, n - i, &s);
		begin_tell(&s, has_command, is_verbose);
	}
}

void sp_probes_tell_end(struct sp_recipe_probe *const *probes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct sp_recipe_probe_stats s;

		if (is_told(probes, i))
			continue;
		sp_recipe_probe_stats(probes + i, n - i, &s);
		end_tell(&s);
	}
}

size_t sp_recipe_set_probes(const struct sp_recipe_set *set, struct sp_recipe_probe *ret_probes[SP_RECIPE_SET_PROBES])
{
	const struct sp_recipe_point *point;
	size_t n = 0;

	for (size_t i = 0; i < set->n; i++)
		for (point = set->recipes[i]->points; point->at == SP_AT_PROBE; point++)
			ret_probes[n++] = point->probe;
	return n;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/guard_tell.h"

#include "base/mem.h"
#include "base/time.h"
#include "capture/capture.h"
#include "capture/guard.h"

#include <stdio.h>
#include <stdlib.h>

/* How much of an event is taken. */
static void part_put(uint32_t one_in, uint32_t windows, FILE *words)
{
	if (one_in * windows == 1)
		fputs("every one", words);
	else
		fprintf(words, "one of %u", one_in);
	if (windows > 1)
		fprintf(words, " for 1/%u of the time", windows);
}

/* The first state, the farthest from it if that is neither the first nor the last, and the last. */
static void states_put(const struct sp_guard_event *e, FILE *words)
{
	const struct sp_guard_step *first = &e->first;
	bool was_farther =
	    e->most > SP_MAX(first->one_in, e->one_in) || e->most_windows > SP_MAX(first->windows, e->windows);

	part_put(first->one_in, first->windows, words);
	fputs(" was taken", words);
	if (e->n_steps == 1)
		return;
	fputs(" at first", words);
	if (was_farther) {
		fputs(", at times ", words);
		part_put(e->most, e->most_windows, words);
	}
	fputs(", at the end ", words);
	if (e->is_detached)
		fputs("none", words);
	else
		part_put(e->one_in, e->windows, words);
}

void sp_guard_event_put(const struct sp_guard_event *e, const char *name, uint64_t began_ns, uint64_t now_ns,
			FILE *words)
{
	uint64_t away = e->away_ns + (e->is_detached ? now_ns - e->detached_ns : 0);

	fprintf(words, "%s cost %u %% of a CPU, more than %u %% (--max-overhead): ", name, e->first.percent,
		e->first.limit);
	if (e->is_final) {
		fprintf(words, "it was detached after %.1f s, and is told as it was then",
			(double)(e->detached_ns - SP_MIN(began_ns, e->detached_ns)) / SP_NS_PER_S);
		return;
	}
	states_put(e, words);
	fputs("; each counts so many times", words);
	if (e->missed_ns)
		fprintf(words, "; for %.1f s soprof was too late for that, and the next time counts for those, too",
			(double)e->missed_ns / SP_NS_PER_S);
	if (e->is_detached && e->n_detached == 1)
		fprintf(words, "; it was detached after %.1f s, and what came then is not there",
			(double)(e->detached_ns - SP_MIN(began_ns, e->detached_ns)) / SP_NS_PER_S);
	else if (e->n_detached == 1)
		fprintf(words, "; it was detached for %.1f s, and what came then is not there",
			(double)away / SP_NS_PER_S);
	else if (e->n_detached)
		fprintf(words, "; it was detached %u times, for %.1f s, and what came then is not there", e->n_detached,
			(double)away / SP_NS_PER_S);
}

char *sp_guard_words(const struct sp_capture *c, const struct sp_recipe *const *recipes)
{
	const struct sp_guard *g = sp_capture_guard(c);
	char *text = NULL;
	size_t size = 0;
	FILE *words = g ? open_memstream(&text, &size) : NULL;
	const char *gap = "";

	if (!words)
		return NULL;
	for (unsigned i = 0; recipes[i]; i++) {
		if (!g->events[i].n_steps)
			continue;
		fputs(gap, words);
		sp_guard_event_put(&g->events[i], recipes[i]->name, sp_capture_began_ns(c), sp_time_ns(CLOCK_MONOTONIC),
				   words);
		gap = "\n";
	}
	fclose(words);
	if (!size)
		free(sp_take_ptr(text));
	return text;
}

void sp_guard_now(const struct sp_capture *c, const struct sp_recipe *const *recipes, char *ret_text, size_t size)
{
	const struct sp_guard *g = sp_capture_guard(c);
	FILE *words = g ? fmemopen(ret_text, size, "w") : NULL;
	const char *gap = "";

	*ret_text = '\0';
	if (!words)
		return;
	for (unsigned i = 0; recipes[i]; i++) {
		const struct sp_guard_event *e = &g->events[i];

		if (!e->is_detached && e->one_in * e->windows <= 1)
			continue;
		fprintf(words, "%s%s: ", gap, recipes[i]->name);
		if (e->is_detached)
			fputs("detached", words);
		else
			part_put(e->one_in, e->windows, words);
		gap = ", ";
	}
	if (*gap)
		fputs(" (--max-overhead)", words);
	fclose(words);
	ret_text[size - 1] = '\0';
}

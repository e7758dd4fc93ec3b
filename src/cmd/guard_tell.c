/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/guard_tell.h"

#include "base/mem.h"
#include "base/time.h"
#include "capture/capture.h"
#include "capture/guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void restored_tell(const char *name, const struct sp_guard_step *step)
{
	if (step->windows > 1)
		fprintf(stderr, "soprof: %s: attached for 1/%u of the time now; each counts %u times\n", name,
			step->windows, step->windows * step->one_in);
	else if (step->one_in > 1)
		fprintf(stderr, "soprof: %s: one of %u is taken now, and counts %u times\n", name, step->one_in,
			step->one_in);
	else
		fprintf(stderr, "soprof: %s: every one is taken again\n", name);
}

void sp_guard_tell(void *arg, const struct sp_recipe *recipe, const struct sp_guard_step *step)
{
	const struct sp_guard_told *told = arg;

	if (told->is_quiet)
		return;
	if (isatty(STDERR_FILENO)) /* over "sampling: 3 s" */
		fputs("\r\033[K", stderr);
	if (step->act == SP_GUARD_RESTORES)
		restored_tell(recipe->name, step);
	else if (step->act == SP_GUARD_THINS)
		fprintf(stderr,
			"soprof: %s costs %u %% of a CPU, more than %u %% (--max-overhead): one of %u is taken from "
			"now on, and counts %u times\n",
			recipe->name, step->percent, step->limit, step->one_in, step->one_in);
	else if (step->act == SP_GUARD_WINDOWS)
		fprintf(stderr,
			"soprof: %s costs %u %% of a CPU, more than %u %% (--max-overhead), though one of %u is taken: "
			"attached for 1/%u of the time from now on; each counts %u times\n",
			recipe->name, step->percent, step->limit, step->one_in, step->windows,
			step->windows * step->one_in);
	else if (step->act == SP_GUARD_DETACHES)
		fprintf(stderr,
			"soprof: %s is detached: it costs %u %% of a CPU, more than %u %% (--max-overhead), though one "
			"of %u was taken; nothing of it is seen until it fits again\n",
			recipe->name, step->percent, step->limit, step->one_in * step->windows);
	else
		fprintf(stderr, "soprof: %s is attached again: one of %u is taken, and counts %u times\n", recipe->name,
			step->one_in * step->windows, step->one_in * step->windows);
}

static bool did_something(const struct sp_guard_event *e)
{
	return e->is_guarded && (e->most > 1 || e->n_detached);
}

static void event_say(const struct sp_guard_event *e, const struct sp_recipe *recipe, uint64_t began_ns, FILE *words)
{
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC), away = e->away_ns;

	fprintf(words, "%s was over --max-overhead: at times one of %u was taken, and counts %u times", recipe->name,
		e->most, e->most);
	if (e->most_windows > 1)
		fprintf(words, "; it was attached for as little as 1/%u of the time, and counts so many times more",
			e->most_windows);
	if (e->missed_ns)
		fprintf(words, "; for %.1f s soprof was too late for that, and the next time counts for those, too",
			(double)e->missed_ns / SP_NS_PER_S);
	if (e->is_detached && e->n_detached == 1)
		fprintf(words, "; it was detached after %.1f s, and what came then is not there",
			(double)(e->detached_ns - SP_MIN(began_ns, e->detached_ns)) / SP_NS_PER_S);
	else if (e->n_detached)
		fprintf(words, "; it was detached %u times, for %.1f s, and what came then is not there", e->n_detached,
			(double)(away + (e->is_detached ? now - e->detached_ns : 0)) / SP_NS_PER_S);
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
		if (!did_something(&g->events[i]))
			continue;
		fputs(gap, words);
		event_say(&g->events[i], recipes[i], sp_capture_began_ns(c), words);
		gap = "; ";
	}
	fclose(words);
	if (!size)
		free(sp_take_ptr(text));
	return text;
}

void sp_guard_now(const struct sp_capture *c, const struct sp_recipe *const *recipes, char *ret_text, size_t size)
{
	const struct sp_guard *g = sp_capture_guard(c);

	*ret_text = '\0';
	for (unsigned i = 0; g && recipes[i]; i++) {
		if (g->events[i].is_detached)
			snprintf(ret_text, size, "%s detached (--max-overhead)", recipes[i]->name);
		else if (g->events[i].is_guarded && g->events[i].windows > 1)
			snprintf(ret_text, size, "attached for 1/%u of the time, one of %u taken (--max-overhead)",
				 g->events[i].windows, g->events[i].one_in);
		else if (g->events[i].is_guarded && g->events[i].one_in > 1)
			snprintf(ret_text, size, "one of %u taken (--max-overhead)", g->events[i].one_in);
	}
}

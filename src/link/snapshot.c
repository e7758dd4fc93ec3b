/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "link/snapshot.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int sp_calls_begin(struct sp_calls_builder *b)
{
	*b = (struct sp_calls_builder){0};
	int r = sp_intern_new(&b->strings);

	if (r == 0)
		r = sp_intern_new(&b->libraries);
	if (r == 0)
		r = sp_intern_new(&b->callees);
	if (r == 0)
		r = sp_intern_new(&b->whos);
	if (r == 0)
		r = sp_intern_new(&b->arcs);
	if (r == 0)
		r = sp_intern_new(&b->times);
	if (r < 0)
		sp_calls_end(b, NULL);
	return r;
}

void sp_calls_end(struct sp_calls_builder *b, struct sp_calls_snapshot *ret_snapshot)
{
	b->made.strings = b->strings;
	if (ret_snapshot)
		*ret_snapshot = b->made;
	else
		sp_calls_done(&b->made);
	sp_intern_free(b->libraries);
	sp_intern_free(b->callees);
	sp_intern_free(b->whos);
	sp_intern_free(b->arcs);
	sp_intern_free(b->times);
	*b = (struct sp_calls_builder){0};
}

void sp_calls_done(struct sp_calls_snapshot *s)
{
	free(s->libraries);
	free(s->callees);
	free(s->whos);
	free(s->arcs);
	free(s->times);
	free(s->targets);
	sp_intern_free(s->strings);
	*s = (struct sp_calls_snapshot){0};
}

int sp_calls_add_string(struct sp_calls_builder *b, const char *bytes, size_t len, const char **ret_string)
{
	int64_t n = sp_intern_add(b->strings, bytes, len);

	if (n < 0)
		return (int)n;
	*ret_string = sp_intern_get(b->strings, (uint32_t)n, NULL);
	return 0;
}

int64_t sp_calls_add_library(struct sp_calls_builder *b, const struct sp_calls_library *library)
{
	struct {
		uint64_t size_bytes, mtime_ns;
		uint32_t path, build_id_len;
		uint8_t build_id[SP_CALLS_BUILD_ID];
	} words = {.build_id_len = library->build_id_len};
	struct sp_calls_library copy = *library;
	bool is_new;
	int r = sp_calls_add_string(b, library->path, strlen(library->path), &copy.path);

	if (r == 0)
		r = sp_calls_add_string(b, library->soname, strlen(library->soname), &copy.soname);
	if (r < 0)
		return r;
	memcpy(words.build_id, library->build_id, library->build_id_len);
	if (library->build_id_len == 0) {
		words.path = (uint32_t)sp_intern_find(b->strings, copy.path, strlen(copy.path)) + 1;
		words.size_bytes = library->size_bytes;
		words.mtime_ns = library->mtime_ns;
	}
	int64_t at = sp_intern_add_to(b->libraries, &words, sizeof(words), &b->made.libraries, &b->library_room,
				      sizeof(copy), &is_new);
	if (at < 0)
		return at;
	struct sp_calls_library *to = &b->made.libraries[at];
	if (is_new) {
		*to = copy;
		b->made.n_libraries++;
		return at;
	}
	to->is_target = to->is_target || copy.is_target;
	to->is_program = to->is_program || copy.is_program;
	to->n_by_address = SP_MAX(to->n_by_address, copy.n_by_address);
	to->n_mixed = SP_MAX(to->n_mixed, copy.n_mixed);
	to->n_words = SP_MAX(to->n_words, copy.n_words);
	return at;
}

int64_t sp_calls_add_callee(struct sp_calls_builder *b, const struct sp_calls_callee *callee)
{
	struct {
		uint64_t offset;
		uint32_t library, name;
	} words = {.offset = callee->offset, .library = callee->library};
	struct sp_calls_callee copy = *callee;
	bool is_new;
	int r = sp_calls_add_string(b, callee->name, strlen(callee->name), &copy.name);

	if (r < 0)
		return r;
	words.name = (uint32_t)sp_intern_find(b->strings, copy.name, strlen(copy.name));
	int64_t at = sp_intern_add_to(b->callees, &words, sizeof(words), &b->made.callees, &b->callee_room,
				      sizeof(copy), &is_new);
	if (at < 0)
		return at;
	struct sp_calls_callee *to = &b->made.callees[at];
	if (is_new) {
		*to = copy;
		b->made.n_callees++;
	}
	to->address_taken = to->address_taken || copy.address_taken;
	to->is_ifunc = to->is_ifunc || copy.is_ifunc;
	to->untimed = to->untimed || copy.untimed;
	return at;
}

int64_t sp_calls_add_who(struct sp_calls_builder *b, const struct sp_calls_who *who)
{
	struct {
		uint64_t file_ns;
		uint32_t number, uid;
	} words = {who->file_ns, who->number, who->uid};
	struct sp_calls_who copy = *who;
	bool is_new;
	int r = sp_calls_add_string(b, who->name, strlen(who->name), &copy.name);

	if (r < 0)
		return r;
	int64_t at =
	    sp_intern_add_to(b->whos, &words, sizeof(words), &b->made.whos, &b->who_room, sizeof(copy), &is_new);
	if (at >= 0 && is_new) {
		b->made.whos[at] = copy;
		b->made.n_whos++;
	}
	return at;
}

static void add_to(const struct sp_calls_builder *b, uint64_t *sum, uint64_t n)
{
	n = SP_MIN(n, (uint64_t)INT64_MAX);
	if (b->takes_away)
		*sum -= SP_MIN(n, *sum);
	else
		*sum = n > INT64_MAX - *sum ? INT64_MAX : *sum + n;
}

int64_t sp_calls_add_arc(struct sp_calls_builder *b, const struct sp_calls_arc *arc)
{
	struct {
		uint64_t site_offset;
		uint32_t callee, caller, site_library, who;
	} words = {arc->site_offset, arc->callee, arc->caller, arc->site_library, arc->who};
	bool is_new;
	int64_t at =
	    sp_intern_add_to(b->arcs, &words, sizeof(words), &b->made.arcs, &b->arc_room, sizeof(*arc), &is_new);

	if (at < 0)
		return at;
	struct sp_calls_arc *to = &b->made.arcs[at];
	if (is_new) {
		*to = *arc;
		to->n_calls = 0;
		b->made.n_arcs++;
	}
	add_to(b, &to->n_calls, arc->n_calls);
	return at;
}

int64_t sp_calls_add_time(struct sp_calls_builder *b, const struct sp_calls_time *time)
{
	uint64_t words[] = {time->low_ns, time->high_ns, time->callee};
	bool is_new;
	int64_t at =
	    sp_intern_add_to(b->times, words, sizeof(words), &b->made.times, &b->time_room, sizeof(*time), &is_new);

	if (at < 0)
		return at;
	struct sp_calls_time *to = &b->made.times[at];
	if (is_new) {
		*to = *time;
		to->n = 0;
		b->made.n_times++;
	}
	add_to(b, &to->n, time->n);
	return at;
}

/* --- what a file has gained --- */
struct numbers { /* of what a snapshot has, in the builder */
	uint32_t *libraries, *callees, *whos;
};

static uint32_t translated(const uint32_t *numbers, uint32_t number)
{
	return number == SP_CALLS_NONE ? SP_CALLS_NONE : numbers[number];
}

static int add_all(struct sp_calls_builder *b, const struct sp_calls_snapshot *s, const struct numbers *to)
{
	int64_t at = 0;

	for (size_t i = 0; i < s->n_libraries && at >= 0; i++) {
		at = sp_calls_add_library(b, &s->libraries[i]);
		to->libraries[i] = (uint32_t)at;
	}
	for (size_t i = 0; i < s->n_callees && at >= 0; i++) {
		struct sp_calls_callee callee = s->callees[i];
		callee.library = to->libraries[callee.library];
		at = sp_calls_add_callee(b, &callee);
		to->callees[i] = (uint32_t)at;
	}
	for (size_t i = 0; i < s->n_whos && at >= 0; i++) {
		struct sp_calls_who who = s->whos[i];
		who.program = translated(to->libraries, who.program);
		at = sp_calls_add_who(b, &who);
		to->whos[i] = (uint32_t)at;
	}
	for (size_t i = 0; i < s->n_arcs && at >= 0; i++) {
		struct sp_calls_arc arc = s->arcs[i];
		arc.who = translated(to->whos, arc.who);
		arc.callee = to->callees[arc.callee];
		arc.caller = translated(to->libraries, arc.caller);
		arc.site_library = translated(to->libraries, arc.site_library);
		at = sp_calls_add_arc(b, &arc);
	}
	for (size_t i = 0; i < s->n_times && at >= 0; i++) {
		struct sp_calls_time time = s->times[i];
		time.callee = to->callees[time.callee];
		at = sp_calls_add_time(b, &time);
	}
	return at < 0 ? (int)at : 0;
}

static int add_snapshot(struct sp_calls_builder *b, const struct sp_calls_snapshot *s)
{
	SP_FREE uint32_t *libraries = calloc(s->n_libraries + 1, sizeof(*libraries));
	SP_FREE uint32_t *callees = calloc(s->n_callees + 1, sizeof(*callees));
	SP_FREE uint32_t *whos = calloc(s->n_whos + 1, sizeof(*whos));

	if (!libraries || !callees || !whos)
		return -ENOMEM;
	return add_all(b, s, &(struct numbers){libraries, callees, whos});
}

static void drop_uncalled(struct sp_calls_snapshot *s)
{
	size_t n = 0, n_times = 0;

	for (size_t i = 0; i < s->n_arcs; i++)
		if (s->arcs[i].n_calls)
			s->arcs[n++] = s->arcs[i];
	for (size_t i = 0; i < s->n_times; i++)
		if (s->times[i].n)
			s->times[n_times++] = s->times[i];
	s->n_arcs = n;
	s->n_times = n_times;
}

int sp_calls_subtract(struct sp_calls_snapshot *into, const struct sp_calls_snapshot *older)
{
	struct sp_calls_builder b;
	int r = sp_calls_begin(&b);

	if (r < 0)
		return r;
	r = add_snapshot(&b, into);
	b.takes_away = true;
	if (r == 0)
		r = add_snapshot(&b, older);
	if (r < 0) {
		sp_calls_end(&b, NULL);
		return r;
	}
	drop_uncalled(&b.made);
	b.made.targets = sp_take_ptr(into->targets);
	b.made.created_ns = into->created_ns;
	b.made.depth = into->depth;
	b.made.n_torn = into->n_torn - SP_MIN(into->n_torn, older->n_torn);
	for (size_t i = 0; i < SP_CALLS_COUNTERS; i++)
		b.made.counters[i] = into->counters[i] - SP_MIN(into->counters[i], older->counters[i]);
	sp_calls_done(into);
	sp_calls_end(&b, into);
	return 0;
}

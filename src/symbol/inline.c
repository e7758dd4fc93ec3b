/* SPDX-License-Identifier: GPL-2.0-or-later */
/* inline.c: source lines into the frames of a profile, and inlined frames into its stacks. */
#include "base/error.h"
#include "base/mem.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "symbol/frame_place.h"
#include "symbol/source_lines.h"

#include <errno.h>
#include <stdlib.h>

struct expansion {
	struct sp_profile *profile;
	struct sp_inlined *by_frame;
	size_t n_by_frame;
	uint32_t *frames;
	size_t n_frames, capacity;
};

/* Frames are distinct by flags, too: two may lie at one offset. */
static size_t collect(const struct sp_profile *p, size_t n_frames, struct sp_frame_place *places)
{
	size_t n = 0;
	for (uint32_t i = 1; i < n_frames; i++) {
		const struct sp_frame *f = sp_profile_frame(p, i);
		if (sp_profile_file(p, f->file)->kind == SP_FILE_ELF && f->func)
			places[n++] = (struct sp_frame_place){f->file, i, f->offset};
	}
	sp_frame_places_sort(places, n);
	return n;
}

/* The function of the frame itself: the symbol table gives its name, DWARF its source file. */
static int set_source(struct expansion *x, uint32_t number, const struct sp_source_frame *s)
{
	struct sp_func func = *sp_profile_func(x->profile, sp_profile_frame(x->profile, number)->func);
	int64_t source = sp_profile_add_string(x->profile, s->source ? s->source : "");
	if (source < 0)
		return (int)source;
	func.source = (uint32_t)source;
	func.source_line = s->begin_line;
	int64_t n = sp_profile_add_func(x->profile, &func);
	if (n < 0)
		return (int)n;
	struct sp_frame *frame = sp_profile_frame(x->profile, number);
	frame->func = (uint32_t)n;
	frame->line = s->line;
	return 0;
}

static int64_t add_inlined(struct expansion *x, const struct sp_frame_place *at, const struct sp_source_frame *s)
{
	int64_t name = sp_profile_add_string(x->profile, s->name ? s->name : "[inlined]");
	int64_t source = sp_profile_add_string(x->profile, s->source ? s->source : "");
	if (name < 0 || source < 0)
		return name < 0 ? name : source;
	struct sp_func func = {.name = (uint32_t)name,
			       .linkage_name = (uint32_t)name,
			       .file = at->file,
			       .source = (uint32_t)source,
			       .source_line = s->begin_line};
	int64_t n = sp_profile_add_func(x->profile, &func);
	if (n < 0)
		return n;
	struct sp_frame frame = {.offset = at->offset,
				 .file = at->file,
				 .func = (uint32_t)n,
				 .flags = sp_profile_frame(x->profile, at->frame)->flags | SP_FRAMEF_INLINED,
				 .line = s->line};
	return sp_profile_add_frame_variant(x->profile, &frame, false);
}

static int expand(struct expansion *x, const struct sp_frame_place *at, const struct sp_source_lines *s)
{
	struct sp_inlined *to = &x->by_frame[at->frame];
	if (!s->n)
		return 0;
	int r = sp_grow(&x->frames, &x->capacity, x->n_frames + s->n, sizeof(*x->frames));
	if (r == 0)
		r = set_source(x, at->frame, &s->frames[s->n - 1]);
	*to = (struct sp_inlined){.first = (uint32_t)x->n_frames};
	for (size_t i = 0; i + 1 < s->n && r == 0; i++) {
		int64_t frame = add_inlined(x, at, &s->frames[i]);
		r = frame < 0 ? (int)frame : 0;
		x->frames[x->n_frames++] = (uint32_t)frame;
		to->n++;
	}
	return r;
}

/* A file that cannot be read gives no lines; its note says why, unless it has an earlier note. */
static int note(struct sp_profile *p, uint32_t file, int r)
{
	int64_t text = r == -ENOENT || sp_profile_file(p, file)->note ? 0 : sp_profile_add_string(p, sp_error_text(r));
	sp_error_clear();
	if (text > 0)
		sp_profile_file(p, file)->note = (uint32_t)text;
	return text < 0 ? (int)text : 0;
}

static int expand_file(struct expansion *x, const struct sp_source_resolver *resolver,
		       const struct sp_frame_place *places, size_t n)
{
	uint64_t *offsets SP_FREE = calloc(n, sizeof(*offsets));
	struct sp_source_lines *sources SP_FREE = calloc(n, sizeof(*sources));
	size_t n_offsets = 0;
	if (!offsets || !sources)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!i || places[i].offset != places[i - 1].offset)
			offsets[n_offsets++] = places[i].offset;
	int r = resolver->resolve(resolver->arg, places->file, offsets, n_offsets, sources);
	if (r < 0)
		return note(x->profile, places->file, r);
	for (size_t i = 0, k = 0; i < n && r == 0; i++) {
		k += offsets[k] != places[i].offset;
		r = expand(x, &places[i], &sources[k]);
	}
	sp_source_lines_done(sources, n_offsets);
	return r;
}

static int expand_all(struct expansion *x, const struct sp_source_resolver *resolver)
{
	struct sp_frame_place *places SP_FREE = calloc(x->n_by_frame, sizeof(*places));
	size_t n = places ? collect(x->profile, x->n_by_frame, places) : 0;
	int r = places ? 0 : -ENOMEM;
	for (size_t i = 0, end; i < n && r == 0; i = end) {
		for (end = i + 1; end < n && places[end].file == places[i].file;)
			end++;
		r = expand_file(x, resolver, places + i, end - i);
	}
	return r;
}

int sp_symbol_inline(struct sp_profile *p, const struct sp_source_resolver *resolver, struct sp_profile **ret_profile)
{
	struct expansion x = {.profile = p, .n_by_frame = sp_profile_n_frames(p)};
	struct sp_profile *expanded = NULL;
	x.by_frame = calloc(x.n_by_frame, sizeof(*x.by_frame));
	int r = x.by_frame ? expand_all(&x, resolver) : -ENOMEM;
	if (r == 0)
		r = sp_profile_new(&expanded);
	if (r == 0)
		r = sp_profile_merge_inlined(expanded, p, x.by_frame, x.n_by_frame, x.frames);
	free(x.by_frame);
	free(x.frames);
	if (r == 0)
		*ret_profile = expanded;
	else
		sp_profile_free(expanded);
	return r < 0 ? sp_fail(r, "find source lines") : 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image.c: waiting samples whose stacks go through HotSpot's code.
 *
 * Stepping through it needs what HotSpot's code cache says, but with a sample only its stack comes. So a parser reads
 * from the process what is needed for the places on the stack (unwind/hotspot_image.h): soon, since code is thrown
 * away, and for all waiting samples of the process at once. If the process has gone already, the frames are guessed.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "capture/pending.h"
#include "capture/perf/perf_space.h"
#include "unwind/hotspot_image.h"
#include "unwind/hotspots.h"
#include "worker/jobs_names.h"
#include "worker/worker.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ASKED = 8, N_SLOTS = 1 << 14, MAX_PLACES = N_SLOTS / 2 };

struct sp_code_image {
	struct sp_capture *c;
	unsigned n_refs; /* held by samples, and by the parser's request until it is answered */
	uint32_t id;     /* of the memory, and its birth */
	uint64_t birth;
	bool is_there;
	struct sp_image image;
};

struct places { /* no duplicates; leaves come first */
	uint64_t at[MAX_PLACES], slot[N_SLOTS];
	size_t n;
};

static void place_add(struct places *p, uint64_t at)
{
	size_t i = at * 0x9e3779b97f4a7c15ULL >> 40 & (N_SLOTS - 1);

	while (p->slot[i] && p->slot[i] != at)
		i = (i + 1) & (N_SLOTS - 1);
	if (p->slot[i] || p->n == MAX_PLACES)
		return;
	p->slot[i] = at;
	p->at[p->n++] = at;
}

/* Whether the address may be one of code, because memory without a file is executable there. */
static bool is_made(const struct sp_space *space, uint64_t addr)
{
	size_t i = SP_N_UP_TO(space->maps, space->n, end, addr);

	return i < space->n && addr >= space->maps[i].start &&
	       space->maps[i].word >> SP_FRAME_KIND_SHIFT == SP_FRAME_ANON;
}

static void words_add(struct places *p, const struct sp_space *space, const sp_u8 *bytes, size_t n)
{
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		uint64_t word;

		memcpy(&word, bytes + i, sizeof(word));
		if (word >= SP_IMAGE_LINE && is_made(space, word - 1))
			place_add(p, word);
	}
}

static void places_of(const struct sp_waiting *w, struct places *p)
{
	size_t i;

	words_add(p, w->space, (const sp_u8 *)w->record->regs.r, sizeof(w->record->regs.r));
	words_add(p, w->space, w->stack, w->record->stack_bytes);
	for (i = 0; w->rest && i < w->rest->n; i++)
		words_add(p, w->space, w->rest->blocks[i]->data, w->rest->blocks[i]->bytes);
}

void sp_image_put(struct sp_code_image *image)
{
	if (!image || --image->n_refs)
		return;
	image->c->waiting_bytes -= image->image.n * sizeof(*image->image.lines);
	free(image->image.lines);
	free(image);
}

static void answered(void *arg, int r, struct sp_image *made)
{
	struct sp_code_image *image = arg;
	struct sp_capture *c = image->c;

	if (!c->is_over && c->seen[image->id].birth == image->birth)
		sp_files_have_read(c, image->id, sp_workers_called_ns(c->workers));
	image->is_there = true;
	if (r >= 0) {
		image->image = *made;
		c->waiting_bytes += made->n * sizeof(*made->lines);
	}
	c->n_images_asked--;
	c->n_table_changes++;
	sp_image_put(image);
	sp_error_clear();
}

static bool is_same_process(const struct sp_waiting *a, const struct sp_waiting *b)
{
	return !memcmp(&a->record->key.process, &b->record->key.process, sizeof(a->record->key.process));
}

/* Collects the places of all waiting samples of the process, and gives all of these the image. */
static size_t places_take(const struct sp_waiting *w, struct sp_code_image *image, struct places *p)
{
	struct sp_waiting *other;
	size_t n_leaves;

	for (other = w->c->waiting; other; other = other->next) {
		if (other->image || !is_same_process(w, other))
			continue;
		other->image = image;
		image->n_refs++;
		if (is_made(other->space, other->record->regs.ip))
			place_add(p, other->record->regs.ip);
	}
	n_leaves = p->n;
	for (other = w->c->waiting; other; other = other->next)
		if (other->image == image)
			places_of(other, p);
	return n_leaves;
}

static int ask(struct sp_waiting *w, sp_u32 id, int memory)
{
	const struct sp_hotspot *h = sp_hotspots_find(sp_tables_hotspots(w->c->tables), id);
	SP_FREE struct places *p = calloc(1, sizeof(*p));
	struct sp_code_image *image = p && h ? calloc(1, sizeof(*image)) : NULL;
	size_t n_leaves;

	if (!image)
		return 0;
	*image = (struct sp_code_image){.c = w->c, .n_refs = 1, .id = id, .birth = w->c->seen[id].birth};
	n_leaves = places_take(w, image, p);
	if (sp_workers_jit_image(w->c->workers, memory, h, p->at, p->n, n_leaves, answered, image) < 0) {
		sp_error_clear();
		image->is_there = true;
		sp_image_put(image);
		return 0;
	}
	w->c->n_images_asked++;
	return -EAGAIN;
}

int sp_image_fetch(void *waiting, sp_u32 id)
{
	struct sp_waiting *w = waiting;
	int memory;

	if (w->image)
		return w->image->is_there ? 0 : -EAGAIN;
	if (w->c->is_over || id >= w->c->n_seen)
		return 0;
	if (!sp_files_may_read(w->c, id))
		return 0;
	memory = sp_memory_want(w->c, id);
	if (memory < 0)
		return memory == -EAGAIN ? -EAGAIN : 0;
	return w->c->n_images_asked < MAX_ASKED ? ask(w, id, memory) : -EAGAIN;
}

int sp_image_word(void *waiting, sp_u64 addr, void *ret, size_t n)
{
	const struct sp_waiting *w = waiting;

	return w->image ? sp_image_read(&w->image->image, addr, ret, n) : -1;
}

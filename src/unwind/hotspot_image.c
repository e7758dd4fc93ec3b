/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/hotspot_image.h"
#include "base/mem.h"
#include "base/search.h"
#include "unwind/step_types.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct maker { /* of an image: every line that is read becomes part of it */
	const struct sp_jit_memory *memory;
	struct sp_image image;
	size_t capacity;
	int error;
	struct sp_hotspot_blob_info blob_info;
};
#define SP_WALK struct maker

static struct sp_image_line *line_add(struct maker *w, size_t i, uint64_t at)
{
	struct sp_image *image = &w->image;
	struct sp_image_line line = {.at = at};

	if (w->error || image->n == SP_IMAGE_MAX_LINES ||
	    w->memory->read(w->memory->arg, at, line.bytes, sizeof(line.bytes)) != sizeof(line.bytes))
		return NULL;
	w->error = sp_grow(&image->lines, &w->capacity, image->n + 1, sizeof(line));
	if (w->error < 0)
		return NULL;
	memmove(image->lines + i + 1, image->lines + i, (image->n++ - i) * sizeof(line));
	image->lines[i] = line;
	return &image->lines[i];
}

/* The line at an address, which is added if it can be read. */
static struct sp_image_line *line_of(struct maker *w, uint64_t at)
{
	size_t i = SP_N_BELOW(w->image.lines, w->image.n, at, at);

	return i < w->image.n && w->image.lines[i].at == at ? &w->image.lines[i] : line_add(w, i, at);
}

static int sp_env_read(struct maker *w, sp_u64 addr, void *ret, sp_u32 n)
{
	uint64_t at;

	if (addr < 4096 || addr >= SP_USER_END)
		return -1;
	for (at = addr & ~(uint64_t)(SP_IMAGE_LINE - 1); at < addr + n; at += SP_IMAGE_LINE)
		if (!line_of(w, at))
			return -1;
	return sp_image_read(&w->image, addr, ret, n);
}

#include "unwind/hotspot_blob.h"

int sp_hotspot_image(const struct sp_jit_memory *m, const struct sp_hotspot *hotspot, const uint64_t *places, size_t n,
		     size_t n_leaves, struct sp_image *ret_image)
{
	struct maker w = {.memory = m};
	struct sp_hotspot h = *hotspot;
	sp_u8 code[SP_CODE_BYTES];
	size_t i;

	if (!h.is_open && sp_hotspot_open(&w, &h))
		n = 0;
	for (i = 0; i < n; i++) {
		sp_env_read(&w, places[i] - SP_CODE_BEFORE, code, i < n_leaves ? SP_CODE_BYTES : SP_CODE_BEFORE);
		sp_hotspot_blob(&w, &h, places[i] - 1);
	}
	if (w.error < 0) {
		free(w.image.lines);
		return w.error;
	}
	*ret_image = w.image;
	return 0;
}

int sp_image_from(void *bytes, size_t size, struct sp_image *ret_image)
{
	struct sp_image_line *lines = bytes;
	size_t n = size / sizeof(*lines), i;

	if (size % sizeof(*lines) || n > SP_IMAGE_MAX_LINES)
		return -EBADMSG;
	for (i = 0; i < n; i++)
		if (lines[i].at % SP_IMAGE_LINE || (i && lines[i].at <= lines[i - 1].at))
			return -EBADMSG;
	*ret_image = (struct sp_image){.lines = lines, .n = n};
	return 0;
}

int sp_image_read(const struct sp_image *image, uint64_t addr, void *ret, size_t n)
{
	uint8_t *to = ret;

	while (n) {
		uint64_t in = addr % SP_IMAGE_LINE, some = SP_MIN(n, SP_IMAGE_LINE - in);
		size_t i = SP_N_BELOW(image->lines, image->n, at, addr - in);

		if (i == image->n || image->lines[i].at != addr - in)
			return -1;
		memcpy(to, image->lines[i].bytes + in, some);
		to += some;
		addr += some;
		n -= some;
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * regions.c: which runtime's code lies in memory without a file.
 *
 * A runtime is known by its file (unwind/runtime.h), which the process has mapped, too. So the first sample that meets
 * such memory waits, with its mappings, until the tables of their files are loaded, as it would for a table of its own.
 * Where no runtime is found, the code is read from the process (jit_frames.c), or frames are guessed; the runtime is
 * looked for again when the table of a runtime's file comes later.
 */
#include "base/mem.h"
#include "capture/priv.h"
#include "unwind/build.h"
#include "unwind/finish.h"
#include "unwind/runtime.h"

static bool is_region(const struct sp_capture *c, uint32_t id)
{
	return id < c->n_seen && c->seen[id].state != SP_SEEN_FREE && c->seen[id].state != SP_SEEN_GIVEN &&
	       c->seen[id].key.dev == SP_DEV_ANON;
}

static bool is_of_nobody(enum sp_table_state state)
{
	return state == SP_TABLE_JIT || state == SP_TABLE_FP;
}

void sp_regions_note(struct sp_capture *c, uint32_t id, const struct sp_blob *blob)
{
	struct sp_known_file *k = sp_known_of(c, id);
	uint32_t i;

	if (blob->runtime.kind == SP_RUNTIME_NONE || k->runtime.kind)
		return;
	k->runtime = blob->runtime;
	for (i = 1; i < c->n_seen; i++)
		if (is_region(c, i) && is_of_nobody(sp_tables_state(c->tables, i)))
			sp_tables_forget(c->tables, i);
}

/* The mapping of a runtime's file, or NULL. *ret_unsure: there is a file of which it is not known yet what it is. */
static const struct sp_map *runtime_of(const struct sp_capture *c, const struct sp_finish_memory *memory,
				       const struct sp_runtime **ret_runtime, bool *ret_unsure)
{
	size_t i;

	*ret_unsure = false;
	for (i = 0; i < memory->n_maps; i++) {
		uint32_t id = (memory->maps[i].word >> SP_FRAME_ID_SHIFT) & SP_FRAME_ID_MASK;

		if (memory->maps[i].word >> SP_FRAME_KIND_SHIFT != SP_FRAME_FILE || id >= c->n_seen)
			continue;
		*ret_runtime = &sp_known_of(c, id)->runtime;
		if ((*ret_runtime)->kind)
			return &memory->maps[i];
		*ret_unsure |= c->seen[id].state == SP_SEEN_LOADING;
	}
	return NULL;
}

/* Gives the kernel half the addresses at which HotSpot's variables lie in this process. */
static int set_hotspot(struct sp_capture *c, uint32_t id, const struct sp_map *map, const struct sp_runtime *runtime)
{
	struct sp_hotspot h = {.flags = runtime->flags};
	uint64_t bias = -(map->shift_by + runtime->text_vaddr); /* from the file's addresses to those in this process */
	size_t i;

	for (i = 0; i < SP_COUNT(h.at); i++)
		h.at[i] = runtime->at[i] + bias;
	return sp_tables_set_hotspot(c->tables, id, &h);
}

bool sp_regions_want(struct sp_capture *c, uint32_t id, const struct sp_finish_memory *memory)
{
	const struct sp_runtime *runtime = NULL;
	const struct sp_map *map;
	bool unsure;

	if (!is_region(c, id))
		return false;
	map = runtime_of(c, memory, &runtime, &unsure);
	if (map && runtime->kind == SP_RUNTIME_V8)
		sp_tables_set_code(c->tables, id, SP_TABLE_V8);
	else if (map && set_hotspot(c, id, map, runtime) < 0)
		sp_tables_set_code(c->tables, id, SP_TABLE_FP);
	else if (!map && !unsure)
		sp_tables_set_code(c->tables, id, SP_TABLE_JIT);
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * regions.c: whose code it is that lies in memory without a file.
 *
 * A runtime is known by its file (unwind/runtime.h), which the process has mapped, too. So the first sample that meets
 * such memory waits, with its mappings, until the tables of their files have come, as it would for a table of its own.
 * Where no runtime is found there are guesses; they are looked at again when a runtime's file comes later.
 */
#include "capture/priv.h"
#include "unwind/build.h"
#include "unwind/finish.h"
#include "unwind/runtime.h"

static bool is_region(const struct sp_capture *c, uint32_t id)
{
	return id < c->n_seen && c->seen[id].state != SP_SEEN_FREE && c->seen[id].state != SP_SEEN_GIVEN &&
	       c->seen[id].key.dev == SP_DEV_ANON;
}

void sp_regions_note(struct sp_capture *c, uint32_t id, const struct sp_blob *blob)
{
	struct sp_known_file *k = &c->known[c->seen[id].number];
	uint32_t i;

	if (blob->runtime == SP_RUNTIME_NONE || k->runtime)
		return;
	k->runtime = (uint8_t)blob->runtime;
	for (i = 1; i < c->n_seen; i++)
		if (is_region(c, i) && sp_tables_state(c->tables, i) == SP_TABLE_FP)
			sp_tables_forget(c->tables, i);
}

/* The runtime that one of these files is; *ret_unsure: of one of them it is not known yet. */
static enum sp_runtime_kind runtime_of(const struct sp_capture *c, const struct sp_finish_memory *memory,
				       bool *ret_unsure)
{
	enum sp_runtime_kind kind = SP_RUNTIME_NONE;
	size_t i;

	*ret_unsure = false;
	for (i = 0; i < memory->n_maps && !kind; i++) {
		uint32_t id = (memory->maps[i].word >> SP_FRAME_ID_SHIFT) & SP_FRAME_ID_MASK;

		if (memory->maps[i].word >> SP_FRAME_KIND_SHIFT != SP_FRAME_FILE || id >= c->n_seen)
			continue;
		kind = c->known[c->seen[id].number].runtime;
		*ret_unsure |= c->seen[id].state == SP_SEEN_LOADING;
	}
	return kind;
}

bool sp_regions_want(struct sp_capture *c, uint32_t id, const struct sp_finish_memory *memory)
{
	bool unsure;

	if (!is_region(c, id))
		return false;
	if (runtime_of(c, memory, &unsure) == SP_RUNTIME_V8)
		sp_tables_set_v8(c->tables, id);
	else if (!unsure)
		sp_tables_set_fp(c->tables, id);
	return true;
}

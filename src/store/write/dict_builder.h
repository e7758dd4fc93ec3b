/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dict_builder.h: builds the dictionary of a generation while windows are written: gives what a profile's rows name its
 * numbers.
 *
 * Of items already written it keeps hashes (id_map.h), and of the call tree parent and frame of each node. New items
 * are in `pending` until a window was committed with them, also if a commit fails. It remembers the numbers of the last
 * profile: while the same profile comes again, with its rows cleared, the frames of a stack are looked up only once.
 * Frames or files that got a name since are noticed, and stacks with them are numbered anew.
 * Addresses in the kernel and in memory without a file are not kept, as they mean nothing later; a frame with a
 * function is that function. Labels, time slices and lines of calls are not kept either.
 * Owns its memory. Error: -ENOMEM, after which it can still be used. Not thread-safe.
 */
#ifndef SP_STORE_WRITE_DICT_BUILDER_H
#define SP_STORE_WRITE_DICT_BUILDER_H

#include "store/format/chunk.h"
#include "store/format/id_map.h"
#include "store/format/rows.h"

struct sp_dict_builder;
int sp_dict_builder_new(struct sp_dict_builder **ret_builder);
void sp_dict_builder_free(struct sp_dict_builder *builder);
/* Replaces ret_rows by the profile's rows, by key and node, sorted. */
int sp_dict_builder_add_rows(struct sp_dict_builder *builder, const struct sp_profile *p,
			     struct sp_window_rows *ret_rows);
/* Call it after add_rows(), for the same rows: adds self and total of each library to accounts: int64_t[2] for each
 * library and value. */
int sp_dict_builder_sum_libraries(struct sp_dict_builder *builder, const struct sp_profile *p,
				  struct sp_items *accounts);
struct sp_chunk *sp_dict_builder_pending(struct sp_dict_builder *builder);
/* The pending items were written: empties the chunk. */
void sp_dict_builder_commit(struct sp_dict_builder *builder);
struct sp_dict_view sp_dict_builder_view(const struct sp_dict_builder *builder);
/* No space for more nodes: begin a new generation. */
bool sp_dict_builder_is_full(const struct sp_dict_builder *builder);
size_t sp_dict_builder_memory(const struct sp_dict_builder *builder);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dict_builder.h: what the rows of profiles name, as numbers of a generation's dictionary.
 *
 * Of what has been written only hashes are kept (seen.h), and of the call tree parent and frame of each node. What is
 * new waits in `pending` until a window was committed with it, also when a commit fails. Numbers of the profile that
 * was added last are remembered: a stack costs its frames only once, as long as the same profile comes again with rows
 * cleared. Frames and files that were named since are seen, and what they occur in is numbered anew.
 * Addresses are not kept: those of the kernel and of memory without a file mean nothing later; a frame of a file that
 * has a function is that function. Labels of keys, time slices and lines of calls are not kept.
 * Owns its memory. Errors: -ENOMEM, after which it goes on as it was. Not thread-safe.
 */
#ifndef SP_STORE_WRITE_DICT_BUILDER_H
#define SP_STORE_WRITE_DICT_BUILDER_H

#include "store/format/chunk.h"
#include "store/format/id_map.h"
#include "store/format/rows.h"

struct sp_dict_builder;
int sp_dict_builder_new(struct sp_dict_builder **ret_numbering);
void sp_dict_builder_free(struct sp_dict_builder *n);
/* The profile's rows, by key and node, sorted. */
int sp_dict_builder_rows(struct sp_dict_builder *n, const struct sp_profile *p, struct sp_window_rows *ret_rows);
/* After that, of the same rows: adds what each library has itself, and what passes through it, to int64_t accounts: 2
 * of each value by library. */
int sp_dict_builder_sum(struct sp_dict_builder *n, const struct sp_profile *p, struct sp_items *accounts);
struct sp_chunk *sp_dict_builder_pending(struct sp_dict_builder *n);
/* What is pending was written. */
void sp_dict_builder_written(struct sp_dict_builder *n);
struct sp_dict_view sp_dict_builder_view(const struct sp_dict_builder *n);
/* How many there are, pending ones included. */
const uint32_t *sp_dict_builder_counts(const struct sp_dict_builder *n);
/* No more nodes have room: it is time for another generation. */
bool sp_dict_builder_is_full(const struct sp_dict_builder *n);
size_t sp_dict_builder_memory(const struct sp_dict_builder *n);

#endif

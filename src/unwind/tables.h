/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tables.h: the unwind tables in the kernel's memory: load, look up and evict, within a budget.
 *
 * Tables are in segments of 1 MiB, made on demand: BPF arrays of one element, mapped here, which the kernel half
 * reaches through an array of maps. A table is one run of words; no group of rows crosses a segment's end. A load
 * writes the words first and struct sp_table's state last, so a reader that sees LOADED sees everything. Files with
 * equal tables (copies of a library) share one.
 * Eviction marks the files of the least recently used tables as ABSENT. Their words are reused only after all CPUs
 * have left the BPF programs (an RCU grace period, for which an update of an array of maps waits). The kernel half
 * asks for an evicted file's table again when it needs it.
 *
 * Segments and mappings belong to this object; what was given to sp_tables_new() to the caller. Not thread-safe.
 * Negative errno with sp_error_text(); -E2BIG: the table alone exceeds the budget.
 */
#ifndef SP_UNWIND_TABLES_H
#define SP_UNWIND_TABLES_H

#include "bpf/wire.h"
#include <stddef.h>
#include <stdint.h>

struct sp_tables;
struct sp_blob;
struct sp_segment;
struct sp_segments;
struct sp_hotspots;

/*
 * segments: those that have begun (segments.h); tables_fd: the mappable array of struct sp_table. NULL and -1: a set of
 * tables that only the user half uses (tests, unwinding without BPF).
 */
int sp_tables_new(struct sp_segments *segments, int tables_fd, uint64_t budget_bytes, struct sp_tables **ret_tables);
/*
 * Gets further segments from `make` instead of sp_segment_make(), which needs privileges. A segment is a mappable BPF
 * array of one element of this size; or a negative errno with sp_error_text().
 */
void sp_tables_from(struct sp_tables *t, int (*make)(void *arg, uint32_t bytes), void *arg);
void sp_tables_free(struct sp_tables *t);

/* Loads a valid blob (sp_blob_validate) for a file id, evicting others if need be. The blob stays the caller's. */
int sp_tables_load(struct sp_tables *t, uint32_t file, const struct sp_blob *blob);
/*
 * Marks a file, or memory without a file, as having no table. state: SP_TABLE_FP: walked by frame pointers;
 * SP_TABLE_V8: made by V8; SP_TABLE_JIT: JIT code of no known runtime (jit.h).
 */
void sp_tables_set_code(struct sp_tables *t, uint32_t file, enum sp_table_state state);
/* The records of Java processes (hotspots.h). */
struct sp_hotspots *sp_tables_hotspots(struct sp_tables *t);
int sp_tables_set_hotspot(struct sp_tables *t, uint32_t file, const struct sp_hotspot *h);
/* The number belongs to no file any more: ABSENT, never used. Only while no BPF program runs that may have met it. */
void sp_tables_forget(struct sp_tables *t, uint32_t file);
/* Returns when no BPF program that was running at the call still runs (0 to some 30 ms). */
int sp_tables_grace(struct sp_tables *t);

/* Begins a drain: tables that the user half uses from now on count as used in it. */
void sp_tables_begin_drain(struct sp_tables *t, sp_u32 drain);

enum sp_table_state sp_tables_state(const struct sp_tables *t, uint32_t file);
const struct sp_table *sp_tables_get(const struct sp_tables *t, uint32_t file);
const struct sp_table *sp_tables_use(struct sp_tables *t, uint32_t file);             /* the same, for a walk */
const struct sp_segment *sp_tables_segment(const struct sp_tables *t, uint32_t word); /* NULL = none */

struct sp_tables_stats {
	uint64_t bytes; /* in segments */
	uint64_t used_bytes;
	uint32_t n_loaded;  /* files that have one */
	uint64_t n_shared;  /* files that got the table of another one with the same content */
	uint64_t n_evicted; /* tables */
};
struct sp_tables_stats sp_tables_stats(const struct sp_tables *t);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shared.h: access to the shared file of counts (link/format.h) for the audit library.
 *
 * Parts of the file are mapped and never unmapped, so pointers into them stay valid. Any thread and signal handler may
 * look records up in an index or add them, without lock or system call; room is made in advance, under ld.so's lock.
 * Functions fail only if the file is full or damaged: whatever it says is read once, and checked before use, because
 * others may write to it meanwhile. So must do who gets a pointer into it.
 */
#ifndef SP_AUDIT_SHARED_H
#define SP_AUDIT_SHARED_H

#include "audit/sys.h"
#include "link/blocks.h"

#pragma GCC visibility push(hidden)

enum { SP_MAPPINGS = 16 };
struct sp_file_mapping { /* a part of the file that is mapped */
	uint64_t low, high;
	uint8_t *at;
};
struct sp_shared {
	struct sp_calls_header *header; /* NULL: this program is not counted */
	struct sp_calls_block *blocks;
	struct sp_file_mapping mappings[SP_MAPPINGS];
	uint32_t n_mappings;
	uint64_t size_bytes;
	uint32_t n_slots;
	enum sp_calls_depth depth;
	enum sp_calls_apart apart;
	char targets[SP_CALLS_TARGETS], functions[SP_CALLS_GLOBS]; /* as they were when it was opened */
	bool all;                                                  /* all libraries are counted */
	uint32_t n_expected; /* functions that this program may call: its references */
	bool full;
};
extern struct sp_shared sp_shared;
/* False: it cannot be used. */
bool sp_shared_open(const char *path, uint32_t user);
/*
 * Makes room for what a program usually adds. Only this makes system calls, at times at which ld.so makes them, too:
 * later the program may be in a sandbox. What then finds no room is folded.
 */
void sp_shared_prepare(void);
void *sp_shared_at(uint64_t offset, uint64_t bytes); /* NULL: not in the file, or not mapped */
bool sp_shared_reserve(uint64_t n_records);          /* in the index; false: no room */
uint32_t sp_shared_take(unsigned kind);              /* id of a new record, zeroed; 0: no room */
uint32_t sp_shared_new_level(unsigned level);        /* number of a block of the index, or 0; for sp_shared_reserve() */
bool sp_shared_is_short(void);                       /* the last rows that there are: none for sites any more */
void *sp_shared_record(uint32_t id, unsigned kind);  /* NULL: there is none */
uint32_t sp_shared_object(const struct sp_calls_object *wanted);
uint32_t sp_shared_function(uint32_t object, uint64_t offset, const char *name, uint32_t flags);
uint32_t sp_shared_row(const struct sp_calls_row *wanted);
uint32_t sp_shared_process(const struct sp_calls_process *wanted); /* a new one each time */
uint64_t sp_shared_counters(uint32_t row);                   /* of slot 1; slot 0 is a page before. 0: no such row */
uint64_t sp_shared_bytes(uint64_t len, uint8_t **ret_bytes); /* offset of so many, zeroed; 0: no room */
void sp_shared_note(enum sp_calls_counter counter);

#pragma GCC visibility pop

#endif

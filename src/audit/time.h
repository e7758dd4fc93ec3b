/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * time.h: times calls (time.c, returns.S), if the file of calls asks for it; otherwise nothing here does anything.
 *
 * audit.h's rules apply: memory is static, except for what is mapped at the program's start; no locks and no system
 * calls after that; without room a call is not timed. This is also where it is decided which programs and functions
 * are not timed.
 */
#ifndef SP_AUDIT_TIME_H
#define SP_AUDIT_TIME_H

#include "audit/audit.h"

#pragma GCC visibility push(hidden)

struct sp_timing { /* of a record, by its number */
	uint64_t target;
	uint64_t *buckets; /* counters of its function by bucket, 0: not known yet; NULL: no call of it has returned */
	uint64_t ticks;    /* counters of the sum; 0: not known yet */
	uint64_t unused;
};
_Static_assert(sizeof(struct sp_timing) == SP_TIMING_BYTES, "as returns.S has it");
extern struct sp_timing *sp_timings; /* NULL: nothing is timed */
/* In la_version: takes memory, if calls shall be timed. */
void sp_time_open(void);
/* Of each object that comes: where it brings what stubs of ours could harm, no call is timed from now on. */
void sp_time_look(const struct sp_object *o);
void sp_time_begin(void);
void sp_time_close(const struct sp_object *o); /* that goes away */
/* Where the record of a new trampoline leads. Adds to *flags. */
uint64_t sp_time_lead(uint32_t number, uint64_t target, const char *name, uint32_t *flags);
uint64_t sp_time_target(uint32_t number); /* what the record leads to in the end */
/* Whether references to it must go by sp_time_watch(), of whatever library it is. */
bool sp_time_watches(const char *name);
bool sp_time_watches_in(const struct sp_object *o);
/* By what to call it. Not by_call: somebody takes its address. */
uint64_t sp_time_watch(uint64_t target, const char *name, bool by_call);

#pragma GCC visibility pop

#endif

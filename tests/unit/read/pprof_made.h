/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_made.h: a small profile.proto by hand: two libraries, six locations, a sample; what the tests put together.
 *
 * Strings are numbers of the table that put_strings() writes, S_*. PB_MESSAGE numbers fields from 1 up.
 */
#ifndef TESTS_READ_PPROF_MADE_H
#define TESTS_READ_PPROF_MADE_H

#include "base/mem.h"
#include "reading.h"

/* Fields of the profile, in messages whose fields PB_MESSAGE numbers from 1. */
enum {
	TYPE = 1,
	SAMPLE,
	MAPPING,
	LOCATION,
	FUNCTION,
	STRING,
	TIME = 9,
	DURATION,
	PERIOD_TYPE,
	PERIOD,
	COMMENT,
	DEFAULT_TYPE
};

enum {
	S_SAMPLES = 1,
	S_COUNT,
	S_CPU,
	S_NS,
	S_LIB,
	S_BUILD_ID,
	S_MAIN,
	S_LEAF,
	S_INLINED,
	S_LINKAGE,
	S_KERNEL,
	S_READ,
	S_EXT4,
	S_COMM,
	S_PID,
	S_THREAD,
	S_CGROUP,
	S_SH,
	S_WORKER,
	S_GROUP,
	S_STACK,
	S_CUT,
	S_77,
	S_RANGE,
	S_SLICE,
	S_UID
};

void put_strings(struct pb *b);
void put_types(struct pb *b);
/* A location with lines, the innermost first. */
void put_location(struct pb *b, uint64_t id, uint64_t mapping, uint64_t address, size_t n, const uint64_t *functions);
#define LOCATION(b, id, mapping, address, ...)                                                                         \
	put_location(b, id, mapping, address, SP_COUNT(((uint64_t[]){__VA_ARGS__})), (uint64_t[]){__VA_ARGS__})
void put_tables(struct pb *b);
void put_packed(struct pb *b, uint32_t field, size_t n, const uint64_t *numbers);
#define PACKED(b, field, ...) put_packed(b, field, SP_COUNT(((uint64_t[]){__VA_ARGS__})), (uint64_t[]){__VA_ARGS__})
extern struct pb sample; /* what the next put_sample() is made of */
void put_sample(struct pb *b);
void put_label(uint64_t key, uint64_t string, uint64_t number); /* to the sample */
/* A sample of the locations 1 and 2, values 5 and -7. */
void put_leaf_sample(struct pb *b, bool packed);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pprof_made.h"

static const char *const strings[] = {
    "",
    "samples",
    "count",
    "cpu",
    "nanoseconds",
    "/usr/lib/libfoo.so.1",
    "00ff7fAB",
    "main",
    "leaf(int)",
    "inlined",
    "_Z4leafi",
    "[kernel.kallsyms]",
    "vfs_read",
    "[ext4]",
    "comm",
    "pid",
    "thread_name",
    "cgroup",
    "sh",
    "worker \\x1b",
    "/system.slice/x",
    "stack",
    "cut",
    "77",
    "libfoo.so.1+0x40",
    "slice",
    "uid",
};

void put_strings(struct pb *b)
{
	for (size_t i = 0; i < SP_COUNT(strings); i++)
		pb_string(b, strings[i]);
}

void put_types(struct pb *b)
{
	PB_MESSAGE(b, TYPE, S_SAMPLES, S_COUNT);
	PB_MESSAGE(b, TYPE, S_CPU, S_NS);
}

void put_location(struct pb *b, uint64_t id, uint64_t mapping, uint64_t address, size_t n, const uint64_t *functions)
{
	static struct pb inside;

	inside.n = 0;
	pb_number(&inside, 1, id);
	pb_number(&inside, 2, mapping);
	pb_number(&inside, 3, address);
	for (size_t i = 0; i < n; i++)
		PB_MESSAGE(&inside, 4, functions[i], 42);
	pb_bytes(b, LOCATION, inside.data, inside.n);
}
void put_tables(struct pb *b)
{
	PB_MESSAGE(b, MAPPING, 1, 0x10000, 0x20000, 0x3000, S_LIB, S_BUILD_ID, 1, 1, 1, 1);
	PB_MESSAGE(b, MAPPING, 2, 0, 0, 0, S_KERNEL);
	LOCATION(b, 1, 1, 0x10040, 1);           /* leaf */
	LOCATION(b, 2, 1, 0x10100, 2, 3);        /* inlined into main */
	put_location(b, 3, 1, 0x10200, 0, NULL); /* nameless */
	LOCATION(b, 4, 2, 0, 4);
	LOCATION(b, 5, 2, 0, 5);
	LOCATION(b, 6, 1, 0x10048, 6);
	PB_MESSAGE(b, FUNCTION, 1, S_LEAF, S_LINKAGE, S_LIB, 7);
	PB_MESSAGE(b, FUNCTION, 2, S_INLINED, S_INLINED);
	PB_MESSAGE(b, FUNCTION, 3, S_MAIN);
	PB_MESSAGE(b, FUNCTION, 4, S_READ, S_READ, S_KERNEL);
	PB_MESSAGE(b, FUNCTION, 5, S_READ, S_READ, S_EXT4);
	PB_MESSAGE(b, FUNCTION, 6, S_RANGE);
}

void put_packed(struct pb *b, uint32_t field, size_t n, const uint64_t *numbers)
{
	static struct pb inside;

	inside.n = 0;
	for (size_t i = 0; i < n; i++)
		pb_varint(&inside, numbers[i]);
	pb_bytes(b, field, inside.data, inside.n);
}
struct pb sample;

void put_sample(struct pb *b)
{
	pb_bytes(b, SAMPLE, sample.data, sample.n);
	sample.n = 0;
}

void put_leaf_sample(struct pb *b, bool packed)
{
	if (packed) {
		PACKED(&sample, 1, 1, 2);
		PACKED(&sample, 2, 5, (uint64_t)-7);
	} else {
		pb_number(&sample, 2, 5);
		pb_number(&sample, 1, 1);
		pb_number(&sample, 2, (uint64_t)-7);
		pb_number(&sample, 1, 2);
	}
	put_sample(b);
}

void put_label(uint64_t key, uint64_t string, uint64_t number)
{
	PB_MESSAGE(&sample, 3, key, string, number);
}

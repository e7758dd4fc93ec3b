/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library that tells of its fields as HotSpot does (runtime/vmStructs.hpp), for runtime.c.
 *   -DJDK=8, 11, 17, 25    whose names and types; 8 has one heap and no list of them, and is not for us
 */
#include <stddef.h>
#include <stdint.h>

typedef struct {
	const char *class, *field, *type;
	int32_t is_static;
	uint64_t offset;
	void *address;
} structs;
typedef struct {
	const char *name, *super;
	int32_t is_oop, is_integer, is_unsigned;
	uint64_t size;
} types;

static void *heaps, *interpreter, *other;

#define FIELD(class, field, type, offset)                                                                              \
	{                                                                                                              \
#class, #field, type, 0, offset, NULL                                                                  \
	}
#define STATIC(class, field, type, address)                                                                            \
	{                                                                                                              \
#class, #field, type, 1, 0, address                                                                    \
	}

static structs made_structs[] = {
    STATIC(Universe, _heap, "void*", &other),
#if JDK >= 11
    STATIC(CodeCache, _heaps, "GrowableArray<CodeHeap*>*", &heaps),
#else
    STATIC(CodeCache, _heap, "CodeHeap*", &heaps),
#endif
    STATIC(AbstractInterpreter, _code, "StubQueue*", &interpreter),
#if JDK >= 17
    FIELD(GrowableArrayBase, _len, "int", 0),
#else
    FIELD(GenericGrowableArray, _len, "int", 0),
#endif
    {"GrowableArray<int>", "_data", "int*", 0, 8, NULL},
    FIELD(CodeHeap, _memory, "VirtualSpace", 8),
    FIELD(CodeHeap, _segmap, "VirtualSpace", 72),
    FIELD(CodeHeap, _log2_segment_size, "int", 136),
    FIELD(VirtualSpace, _low, "char*", 16),
    FIELD(VirtualSpace, _high, "char*", 24),
    FIELD(VirtualSpace, _high_boundary, "char*", 8),
    FIELD(StubQueue, _stub_buffer, "address", 8),
    FIELD(StubQueue, _buffer_limit, "int", 16),
#if JDK >= 25
    FIELD(CodeBlob, _code_offset, "int", 40),
    FIELD(CodeBlob, _frame_complete_offset, "int16_t", 50),
#else
    FIELD(CodeBlob, _code_begin, "address", 40),
    FIELD(CodeBlob, _frame_complete_offset, "int", 20),
#endif
    FIELD(CodeBlob, _frame_size, "int", 28),
    FIELD(CodeBlob, _size, "int", 12),
    {NULL, NULL, NULL, 0, 0, NULL},
};
static types made_types[] = {
    {"CodeHeap", NULL, 0, 0, 0, 200},
    {"HeapBlock", NULL, 0, 0, 0, 16},
    {NULL, NULL, 0, 0, 0, 0},
};
structs *gHotSpotVMStructs = made_structs;
types *gHotSpotVMTypes = made_types;

void code(void);
void code(void)
{
}

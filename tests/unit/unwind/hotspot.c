/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hotspot.c: steps through HotSpot's code, over memory that is made up here: as HotSpot lays it out, and as it never
 * would. Every read of the walk is checked, so that with the sanitizers nothing is read that is not there.
 */
#include "base/mem.h"
#include "made_walk.h"
#include "test.h"
#include "unwind/hotspot_image.h"
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

static sp_u32 sp_env_ahead(struct walk *w)
{
	return 0;
}

static sp_u32 sp_env_ahead(struct walk *w);
#include "unwind/x86_64/hotspot.h"

/* Where things are: HotSpot's variables, one heap of code with its map, a stack. */
enum {
	OFFSETS = 0x100,
	LIST = 0x200,
	ITEMS = 0x240,
	HEAP = 0x280,
	QUEUE = 0x380,
	MAP = 0x400,
	CODE = 0x4000,
	CODE_END = 0x8000,
	BLOB = CODE + 0x100, /* segment 2, with its block's head before it */
	BLOB_CODE = BLOB + 0x80,
	CALL = BLOB + 0x200, /* a return address in it */
	INTERPRETER = CODE + 0x2000,
	STACK = 0x9000,
	LOG2 = 7,
	FRAME = 8,
};

static void put_int(struct walk *w, sp_u64 at, sp_u32 value)
{
	memcpy(w->memory + at, &value, 4);
}

static struct sp_hotspot made_up(struct walk *w)
{
	static const sp_u32 offsets[SP_HOTSPOT_N_FIELDS] = {
	    [SP_HOTSPOT_LEN] = 0,       [SP_HOTSPOT_DATA] = 8,      [SP_HOTSPOT_MEMORY] = 8,
	    [SP_HOTSPOT_SEGMAP] = 0x48, [SP_HOTSPOT_LOG2] = 0x88,   [SP_HOTSPOT_LOW] = 0x10,
	    [SP_HOTSPOT_HIGH] = 8,      [SP_HOTSPOT_STUBS] = 8,     [SP_HOTSPOT_STUBS_SIZE] = 16,
	    [SP_HOTSPOT_CODE] = 40,     [SP_HOTSPOT_COMPLETE] = 20, [SP_HOTSPOT_FRAME] = 28,
	    [SP_HOTSPOT_SIZE] = 12,     [SP_HOTSPOT_BLOCK] = 16};
	struct sp_hotspot h = {0};

	memset(w, 0, sizeof(*w));
	for (int i = SP_HOTSPOT_LEN; i < SP_HOTSPOT_N_FIELDS; i++) {
		h.at[i] = BASE + OFFSETS + 8 * (sp_u64)i;
		put(w, OFFSETS + 8 * (sp_u64)i, offsets[i]);
	}
	h.at[SP_HOTSPOT_HEAPS] = BASE + OFFSETS;
	h.at[SP_HOTSPOT_INTERPRETER] = BASE + OFFSETS + 8;
	put(w, OFFSETS, BASE + LIST);
	put(w, OFFSETS + 8, BASE + QUEUE);
	put_int(w, LIST, 1);
	put(w, LIST + 8, BASE + ITEMS);
	put(w, ITEMS, BASE + HEAP);
	put(w, HEAP + 8 + 0x10, BASE + CODE);
	put(w, HEAP + 8 + 8, BASE + CODE_END);
	put(w, HEAP + 0x48 + 0x10, BASE + MAP);
	put_int(w, HEAP + 0x88, LOG2);
	put(w, QUEUE + 8, BASE + INTERPRETER);
	put_int(w, QUEUE + 16, 0x1000);
	memset(w->memory + MAP, 0xff, 0x80);
	for (int i = 2; i < 32; i++) /* the blob's segments: how far back its beginning is */
		w->memory[MAP + i] = (sp_u8)SP_MIN(i - 2, 5);
	put_int(w, BLOB + 16 + 12, 30 << LOG2);
	put_int(w, BLOB + 16 + 20, 16);
	put_int(w, BLOB + 16 + 28, FRAME);
	put(w, BLOB + 16 + 40, BASE + BLOB_CODE);
	w->memory[CALL - 5] = 0xe8;
	w->memory[CALL - 4] = 0x10; /* a call of the next instruction is none that anybody returns from */
	return h;
}

/* A compiled method that was called by itself, in the middle of its code. */
static struct sp_regs compiled(struct walk *w)
{
	put(w, STACK + 8 * (FRAME - 2), 0x1234);
	put(w, STACK + 8 * (FRAME - 1), BASE + CALL);
	return (struct sp_regs){.ip = BASE + CALL, .sp = BASE + STACK, .fp = 77};
}

static void compiled_frames(void **state)
{
	struct walk *w = malloc(sizeof(*w));
	struct sp_hotspot h = made_up(w);
	struct sp_regs regs = compiled(w);
	sp_u32 how = 0;

	assert_int_equal(sp_step_hotspot(w, &h, regs.ip - 1, &regs, &how), SP_STEP_NEXT);
	assert_int_equal(regs.ip, BASE + CALL);
	assert_int_equal(regs.sp, BASE + STACK + 8 * FRAME);
	assert_int_equal(regs.fp, 0x1234);
	assert_int_equal(how, SP_HOW_RUNTIME);
	free(w);
}

/* A leaf of the server compiler's that has pushed a register, where no return address is; deeper frames have not. */
static void pushed(void **state)
{
	struct walk *w = malloc(sizeof(*w));
	struct sp_hotspot h = made_up(w);
	struct sp_regs regs = compiled(w);
	sp_u32 how = SP_HOW_EXACT;

	regs.sp -= 8;
	put(w, STACK - 8, 17);
	assert_int_equal(sp_step_hotspot(w, &h, regs.ip, &regs, &how), SP_STEP_NEXT);
	assert_int_equal(regs.ip, BASE + CALL);
	assert_int_equal(regs.sp, BASE + STACK + 8 * FRAME);
	assert_int_equal(regs.fp, 0x1234);
	assert_int_equal(how, SP_HOW_RUNTIME);
	regs = compiled(w);
	regs.sp -= 8;
	how = 0;
	assert_int_not_equal(sp_step_hotspot(w, &h, regs.ip - 1, &regs, &how), SP_STEP_NEXT);
	free(w);
}

static size_t process_read(void *arg, uint64_t addr, void *bytes, size_t n)
{
	return memory_read(arg, addr, bytes, (sp_u32)n) ? 0 : n;
}

/* A step from an image is as one from memory, though the memory is no more; of what is not in the image nothing is
 * told. */
static void through_image(void **state)
{
	struct walk *w = malloc(sizeof(*w));
	const struct sp_jit_memory memory = {process_read, w};
	const uint64_t places[] = {BASE + CALL + 1, BASE + CALL, BASE + INTERPRETER};
	struct sp_hotspot h = made_up(w), fresh = h;
	struct sp_regs regs = compiled(w), start = regs;
	struct sp_image image;
	sp_u32 how = 0;

	assert_int_equal(sp_hotspot_image(&memory, &h, places, SP_COUNT(places), 1, &image), 0);
	assert_in_range(image.n, 8, 40);
	memset(w->memory, 0xcc, STACK);
	w->image = &image;
	assert_int_equal(sp_step_hotspot(w, &h, regs.ip - 1, &regs, &how), SP_STEP_NEXT);
	assert_int_equal(regs.sp, BASE + STACK + 8 * FRAME);
	assert_int_equal(how, SP_HOW_RUNTIME);
	assert_int_equal(sp_env_around(w, BASE + CALL + 1), 0);
	assert_int_equal(sp_env_is_return(w, BASE + CALL + 128), 0);
	regs = start;
	image.n = 0;
	assert_false(sp_step_hotspot(w, &fresh, regs.ip - 1, &regs, &how) == SP_STEP_NEXT && how & SP_HOW_RUNTIME);
	free(image.lines);
	free(w);
}

/* Of what a parser hands back only an image is taken. */
static void false_images(void **state)
{
	struct sp_image_line lines[2] = {{.at = SP_IMAGE_LINE}, {.at = (uint64_t)2 * SP_IMAGE_LINE}};
	struct sp_image image;
	uint8_t bytes[2 * SP_IMAGE_LINE];

	assert_int_equal(sp_image_from(lines, sizeof(lines), &image), 0);
	assert_int_equal(sp_image_read(&image, SP_IMAGE_LINE, bytes, sizeof(bytes)), 0);
	assert_int_equal(sp_image_read(&image, SP_IMAGE_LINE - 1, bytes, 1), -1);
	assert_int_equal(sp_image_read(&image, SP_IMAGE_LINE + 1, bytes, sizeof(bytes)), -1);
	assert_int_equal(sp_image_read(&image, UINT64_MAX, bytes, 2), -1);
	assert_int_equal(sp_image_from(lines, sizeof(lines) - 1, &image), -EBADMSG);
	assert_int_equal(sp_image_from(lines, sizeof(lines[0]) * (SP_IMAGE_MAX_LINES + 1), &image), -EBADMSG);
	lines[1].at = SP_IMAGE_LINE;
	assert_int_equal(sp_image_from(lines, sizeof(lines), &image), -EBADMSG);
	lines[1].at = SP_IMAGE_LINE + 8;
	assert_int_equal(sp_image_from(lines, sizeof(lines), &image), -EBADMSG);
}

/* At each instruction of a prologue and an epilogue, in the two ways that there are. */
static void leaves(void **state)
{
	static const struct {
		char code[16];
		sp_u32 at, up;
	} cases[] = {
	    {"\x89\x84\x24\x00\xc0\xfe\xff\x55\x48\x83\xec\x30", 0, SP_HOTSPOT_FRAMELESS},
	    {"\x55\x48\x83\xec\x30", 7, SP_HOTSPOT_FRAMELESS},
	    {"\x48\x83\xec\x30\x41\x81\x7f\x20\x01", 8, 8},
	    {"\x48\x81\xec\x38\x01\x01\x01\x48\x89\x6c\x24\x30", 0, SP_HOTSPOT_FRAMELESS},
	    {"\x48\x89\x6c\x24\x30\x90", 7, 56 | SP_HOTSPOT_UNSAVED},
	    {"\x41\x81\x7f\x20\x01\x01\x01\x01\x0f\x85", 12, 56},
	    {"\x48\x83\xc4\x30\x5d", 100, 56},
	    {"\x5d\x49\x3b\x67\x28", 100, 8},
	    {"\x49\x3b\x67\x28\x0f\x87\x10\x01\x01\x01\xc3", 100, SP_HOTSPOT_FRAMELESS},
	    {"\x0f\x87\x10\x01\x01\x01\xc3", 100, SP_HOTSPOT_FRAMELESS},
	    {"\xc3", 100, SP_HOTSPOT_FRAMELESS},
	};
	sp_u8 code[SP_CODE_BYTES];

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		memset(code, 0x90, sizeof(code));
		for (size_t k = 0; k < 15 && (cases[i].code[k] || cases[i].code[k + 1]); k++)
			code[k] = (sp_u8)cases[i].code[k];
		assert_int_equal(sp_hotspot_leaf(code, cases[i].at < 16 ? 16 - cases[i].at : 0, 56), cases[i].up);
	}
}

static void interpreted_frames(void **state)
{
	struct walk *w = malloc(sizeof(*w));
	struct sp_hotspot h = made_up(w);
	struct sp_regs regs = {.ip = BASE + INTERPRETER + 64, .sp = BASE + STACK, .fp = BASE + STACK + 0x80};
	sp_u32 how = 0;

	put(w, STACK + 0x78, BASE + STACK + 0xa0); /* its caller's stack pointer */
	put(w, STACK + 0x80, BASE + STACK + 0x200);
	put(w, STACK + 0x88, BASE + INTERPRETER + 32); /* which no call stands in front of */
	assert_int_equal(sp_step_hotspot(w, &h, regs.ip - 1, &regs, &how), SP_STEP_NEXT);
	assert_int_equal(regs.ip, BASE + INTERPRETER + 32);
	assert_int_equal(regs.sp, BASE + STACK + 0xa0);
	assert_int_equal(regs.fp, BASE + STACK + 0x200);
	assert_int_equal(how, SP_HOW_RUNTIME);
	free(w);
}

/* What HotSpot would never say ends in a guess or a stop, after few reads, and is never called the runtime's word. */
static void refused(struct walk *w, struct sp_hotspot *h)
{
	struct sp_regs regs = {.ip = BASE + CALL, .sp = BASE + STACK};
	sp_u32 how = 0;

	w->n_reads = 0;
	assert_int_equal(sp_step_hotspot(w, h, regs.ip - 1, &regs, &how) == SP_STEP_NEXT && how & SP_HOW_RUNTIME, 0);
	assert_true(w->n_reads < 100);
}

static void hostile_values(void **state)
{
	static const struct {
		sp_u64 at, value;
	} cases[] = {
	    {OFFSETS, 0},
	    {OFFSETS, UINT64_MAX - 7},
	    {OFFSETS, BASE + MEMORY},
	    {OFFSETS + 8L * SP_HOTSPOT_LOW, 4096},
	    {OFFSETS + 8L * SP_HOTSPOT_FRAME, UINT64_MAX},
	    {LIST, 0},
	    {LIST, 5},
	    {LIST, UINT32_MAX},
	    {LIST + 8, 1},
	    {ITEMS, BASE + MEMORY - 8},
	    {HEAP + 8 + 8, 0},
	    {HEAP + 8 + 8, UINT64_MAX},
	    {HEAP + 0x88, 64},
	    {HEAP + 0x48 + 0x10, UINT64_MAX},
	    {BLOB + 16 + 8, (sp_u64)1 << 32}, /* a blob of one byte */
	    {BLOB + 16 + 28, 1},
	    {BLOB + 16 + 28, UINT32_MAX},
	    {BLOB + 16 + 28, 1 << 20},
	};
	struct walk *w = malloc(sizeof(*w));

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_hotspot h = made_up(w);
		compiled(w);
		put(w, cases[i].at, cases[i].value);
		refused(w, &h);
	}
	free(w);
}

static void hostile_map(void **state)
{
	struct walk *w = malloc(sizeof(*w));

	for (int step = 1; step < 256;
	     step++) { /* 1: back and back, beyond what is looked at; others: before the map */
		struct sp_hotspot h = made_up(w);
		compiled(w);
		memset(w->memory + MAP, step, 0x80);
		refused(w, &h);
	}
	free(w);
}

static void any_bytes(void **state)
{
	struct walk *w = malloc(sizeof(*w));
	unsigned seed = 1;

	for (int i = 0; i < 20000; i++) {
		struct sp_hotspot h = made_up(w);
		struct sp_regs regs = compiled(w);
		sp_u32 how = rand_r(&seed) & 1 ? SP_HOW_EXACT : 0;

		for (int k = 0; k < 1 + i % 4; k++)
			w->memory[(unsigned)rand_r(&seed) % (i % 2 ? CODE_END : 0x480)] = (sp_u8)rand_r(&seed);
		regs.fp = BASE + (unsigned)rand_r(&seed) % MEMORY;
		for (int r = 0; r < 16; r++)
			regs.r[r] = BASE + (unsigned)rand_r(&seed) % MEMORY;
		w->n_reads = 0;
		sp_step_hotspot(w, &h, regs.ip - 1, &regs, &how);
		assert_true(w->n_reads < 200);
	}
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(compiled_frames), cmocka_unit_test(leaves),       cmocka_unit_test(interpreted_frames),
	    cmocka_unit_test(hostile_values),  cmocka_unit_test(hostile_map),  cmocka_unit_test(any_bytes),
	    cmocka_unit_test(through_image),   cmocka_unit_test(false_images), cmocka_unit_test(pushed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers that hand-written functions leave alone: what the rows of kept_code.s say of them, and which stacks are
 * complete, guessed or cut for it, walked over registers and a stack that are made up.
 */
#include "base/mem.h"
#include "elf/elf.h"
#include "test.h"
#include "unwind/build.h"
#include "unwind/finish.h"
#include "unwind/tables.h"
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

typedef const uint8_t code[];
extern code kept_root, kept_by_rax, kept_by_index, kept_leaf, kept_nests, kept_writes, kept_writes_below,
    kept_writes_elsewhere, kept_elsewhere, kept_jumps, kept_returns_anywhere, kept_system, kept_shares, kept_shares_too,
    kept_popped;
extern code kept_rax_leaf, kept_rax_writes, kept_rax_nests, kept_r11_leaf, kept_r11_writes_below;

enum { RAX = 0, R9 = 9, R11 = 11, CALL_BYTES = 5, WORDS = 64, FILE_NUMBER = 1 };
enum { STACK = 0x7f0000000000 };

static struct sp_blob *blob;
static struct sp_elf *elf;
static uint64_t base; /* where the program is loaded */

static uint64_t offset_of(const uint8_t *place)
{
	uint64_t offset;

	assert_int_equal(sp_elf_offset_of(elf, (uint64_t)place - base, &offset), 0);
	return offset;
}

static const struct sp_rule *rule_at(const uint8_t *place)
{
	return sp_blob_find(blob, offset_of(place));
}

static void callees_keep_what_they_do_not_write(void **state)
{
	enum { ALL = 1 << RAX | 1 << R11 };

	assert_int_equal(rule_at(kept_leaf)->kept, ALL);
	assert_int_equal(rule_at(kept_nests)->kept, ALL);
	assert_int_equal(rule_at(kept_writes)->kept, 1 << R11);
	assert_int_equal(rule_at(kept_writes_below)->kept, 1 << R11);
	assert_int_equal(rule_at(kept_writes_elsewhere)->kept, 1 << RAX);
	assert_int_equal(rule_at(kept_elsewhere)->kept, 1 << RAX);
	assert_int_equal(rule_at(kept_jumps)->kept, 0);
	assert_int_equal(rule_at(kept_returns_anywhere)->kept, 0);
	assert_int_equal(rule_at(kept_system)->kept, 0);
	assert_int_equal(rule_at(kept_shares)->kept, 1 << RAX);
	assert_int_equal(rule_at(kept_shares_too)->kept, 1 << RAX);
	assert_int_equal(rule_at(kept_by_rax)->kept, 0); /* nobody needs anything of it */
	/* Sure are those to leaf, nests, writes, writes_below and shares_too that do not write what is needed. */
	assert_int_equal(blob->n_register_calls, 14);
	assert_int_equal(blob->n_unsure_calls, 8);
}

static void an_index_is_a_rule(void **state)
{
	const struct sp_rule *rule = rule_at(kept_by_index);

	assert_int_equal(rule->cfa, SP_CFA_INDEX_DEREF);
	assert_int_equal(rule->reg, 7 | R9 << 4);
	assert_int_equal((rule->ra & SP_RULE_SCALE) >> SP_RULE_SCALE_SHIFT, 3);
	assert_int_equal(rule->off, 8);
	assert_int_equal(rule->add, 8);
}

/* --- stacks --- */
struct made {
	struct sp_message_pending *r;
	struct sp_tables *tables;
	struct sp_map map;
	uint64_t stack[WORDS];
};

static void map_code(struct sp_map *map)
{
	const uint8_t *start = kept_root;

	*map = (struct sp_map){.start = (uint64_t)start & ~0xfffULL, .word = 1ULL << SP_FRAME_ID_SHIFT};
	map->end = map->start + 0x2000;
	map->shift_by = offset_of(start) - (uint64_t)start;
}

static struct made make(const uint8_t *ip)
{
	struct made m = {.r = calloc(1, sizeof(*m.r))};

	assert_non_null(m.r);
	assert_int_equal(sp_tables_new(NULL, -1, 8 << 20, &m.tables), 0);
	assert_int_equal(sp_tables_load(m.tables, FILE_NUMBER, blob), 0);
	map_code(&m.map);
	m.r->regs.ip = (uint64_t)ip;
	m.r->regs.sp = STACK;
	m.r->how = SP_HOW_EXACT | SP_HOW_FIRST | SP_HOW_REGS;
	return m;
}

static sp_u32 walk(struct made *m, enum sp_unwind_mode mode)
{
	struct sp_finish_memory memory = {.maps = &m->map,
					  .n_maps = 1,
					  .has_all_maps = true,
					  .stack = (const sp_u8 *)m->stack,
					  .stack_bytes = sizeof(m->stack),
					  .stack_at = STACK};
	sp_u32 stop = SP_N_STOPS;

	assert_int_equal(sp_finish(m->tables, m->r, &memory, mode, &stop), 0);
	return stop;
}

static void unmake(struct made *m)
{
	sp_tables_free(m->tables);
	free(m->r);
}

/* A callee at its first instruction, its caller's frame at word 40, which reg names, or not. */
static sp_u32 walk_from(const uint8_t *callee, const uint8_t *behind, unsigned reg, uint64_t value,
			enum sp_unwind_mode mode, sp_u32 *ret_guessed)
{
	struct made m = make(callee);

	m.stack[0] = (uint64_t)behind;
	m.stack[40] = (uint64_t)kept_root + CALL_BYTES;
	m.r->regs.r[reg] = value;
	sp_u32 stop = walk(&m, mode);
	assert_int_equal(m.r->n_frames, stop == SP_STOP_THREAD ? 3 : 2);
	*ret_guessed = m.r->guessed;
	if (stop == SP_STOP_THREAD)
		assert_true(!(m.r->frames[2] & SP_FRAME_GUESSED) == !m.r->guessed);
	unmake(&m);
	return stop;
}

#define FRAME (STACK + 8 * 40)

static void a_kept_register_is_believed(void **state)
{
	sp_u32 guessed;

	assert_int_equal(walk_from(kept_leaf, kept_rax_leaf, RAX, FRAME, SP_UNWIND_AUTO, &guessed), SP_STOP_THREAD);
	assert_int_equal(guessed, 0);
	assert_int_equal(walk_from(kept_leaf, kept_r11_leaf, R11, FRAME, SP_UNWIND_DWARF, &guessed), SP_STOP_THREAD);
	assert_int_equal(guessed, 0);
	/* believed, and so wrong is wrong: not a second guess */
	assert_int_equal(walk_from(kept_leaf, kept_rax_leaf, RAX, 24, SP_UNWIND_AUTO, &guessed), SP_STOP_CFA);
}

static void another_is_guessed_if_it_leads_somewhere(void **state)
{
	sp_u32 guessed;

	assert_int_equal(walk_from(kept_writes, kept_rax_writes, RAX, FRAME, SP_UNWIND_AUTO, &guessed), SP_STOP_THREAD);
	assert_int_equal(guessed, SP_STACK_HAS_GUESS);
	/* a small number, an odd place, no return address there, far away, and where nothing may be guessed */
	const uint64_t wrong[] = {24, FRAME + 4, FRAME + 8, FRAME + (16ULL << 20), 0};
	for (size_t i = 0; i < SP_COUNT(wrong); i++) {
		assert_int_equal(walk_from(kept_writes, kept_rax_writes, RAX, wrong[i], SP_UNWIND_AUTO, &guessed),
				 SP_STOP_REGISTER);
		assert_int_equal(guessed, 0);
	}
	assert_int_equal(walk_from(kept_writes, kept_rax_writes, RAX, FRAME, SP_UNWIND_DWARF, &guessed),
			 SP_STOP_REGISTER);
}

/* Two calls deep: what the first keeps counts for nothing if the second does not. */
static void all_on_the_way_have_to_keep_it(void **state)
{
	for (int keeps = 0; keeps < 2; keeps++) {
		struct made m = make(keeps ? kept_writes : kept_leaf);

		m.stack[0] = (uint64_t)(keeps ? kept_writes_below + 6 : kept_nests + 9);
		m.stack[1] = (uint64_t)(keeps ? kept_r11_writes_below : kept_rax_nests);
		m.stack[40] = (uint64_t)kept_root + CALL_BYTES;
		m.r->regs.r[keeps ? R11 : RAX] = FRAME;
		assert_int_equal(walk(&m, SP_UNWIND_DWARF), SP_STOP_THREAD);
		assert_int_equal(m.r->n_frames, 4);
		assert_int_equal(m.r->guessed, 0);
		unmake(&m);
	}
}

static void an_index_leads_to_the_caller(void **state)
{
	struct made m = make(kept_by_index);

	m.r->regs.r[R9] = 20;
	m.stack[21] = FRAME;
	m.stack[40] = (uint64_t)kept_root + CALL_BYTES;
	assert_int_equal(walk(&m, SP_UNWIND_DWARF), SP_STOP_THREAD);
	assert_int_equal(m.r->n_frames, 2);
	unmake(&m);
}

/* A frame of no bytes is the interrupted function's, if it is any. */
static void a_popped_return_address_is_found(void **state)
{
	struct made m = make(kept_popped);

	m.r->regs.sp = STACK + 8;
	m.stack[0] = (uint64_t)kept_root + CALL_BYTES;
	assert_int_equal(walk(&m, SP_UNWIND_DWARF), SP_STOP_THREAD);
	assert_int_equal(m.r->n_frames, 2);
	unmake(&m);
	m = make(kept_leaf);
	m.stack[0] = (uint64_t)kept_popped + 1;
	assert_int_equal(walk(&m, SP_UNWIND_DWARF), SP_STOP_CFA);
	unmake(&m);
}

static int setup(void **state)
{
	const Elf64_Phdr *headers = (const void *)getauxval(AT_PHDR);
	SP_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	for (size_t i = 0; i < getauxval(AT_PHNUM); i++)
		if (headers[i].p_type == PT_PHDR)
			base = (uint64_t)headers - headers[i].p_vaddr;
	return sp_elf_open_fd(fd, &elf) || sp_blob_build(elf, &blob);
}

static int teardown(void **state)
{
	free(blob);
	sp_elf_close(elf);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(callees_keep_what_they_do_not_write),
	    cmocka_unit_test(an_index_is_a_rule),
	    cmocka_unit_test(a_kept_register_is_believed),
	    cmocka_unit_test(another_is_guessed_if_it_leads_somewhere),
	    cmocka_unit_test(all_on_the_way_have_to_keep_it),
	    cmocka_unit_test(an_index_leads_to_the_caller),
	    cmocka_unit_test(a_popped_return_address_is_found),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}

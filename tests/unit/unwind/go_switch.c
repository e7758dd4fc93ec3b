/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How systemstack of Go up to 1.20 goes back is read off code like its own (go_code.s); the stacks walked by what is
 * read are made up. Programs of Go are walked in cmd/golang.
 */
#include "unwind/x86_64/go_switch.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "test.h"
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>
// clang-format off
#include "made_walk.h"
#include "unwind/step.h"
// clang-format on

typedef const uint8_t code[];
extern code go_switch, go_switch_from, go_switch_to, go_switch_end, go_offsets, go_offsets_end, go_anywhere,
    go_anywhere_from, go_anywhere_to, go_anywhere_end, go_no_register, go_no_register_end, go_too_far, go_too_far_end,
    go_crooked, go_crooked_end, go_another_way, go_another_way_end, go_two_words, go_two_words_end;

static struct sp_elf *elf;
static int fd;        /* of elf */
static uint64_t base; /* where the program is loaded */

static bool find(const uint8_t *start, const uint8_t *end, struct sp_go_switch *ret_switch)
{
	return sp_go_switch_find(elf, (uint64_t)start - base, (uint64_t)end - base, ret_switch);
}

static int32_t chain_of(unsigned first, unsigned second, unsigned third)
{
	return (int32_t)(first / 8 | second / 8 << SP_CHAIN_BITS | third / 8 << 2 * SP_CHAIN_BITS);
}

static void the_way_back_is_read(void **state)
{
	struct sp_go_switch s;

	assert_true(find(go_switch, go_switch_end, &s));
	assert_int_equal(s.from, (uint64_t)go_switch_from - base);
	assert_int_equal(s.to, (uint64_t)go_switch_to - base);
	assert_int_equal(s.chain, chain_of(0x30, 0xc0, 0x38));
	assert_true(find(go_offsets, go_offsets_end, &s));
	assert_int_equal(s.chain, chain_of(0x1ff8, 8, 0));
	assert_true(find(go_anywhere, go_anywhere_end, &s));
	assert_int_equal(s.from, (uint64_t)go_anywhere_from - base);
	assert_int_equal(s.to, (uint64_t)go_anywhere_to - base);
}

static void another_way_is_refused(void **state)
{
	struct sp_go_switch s;

	assert_false(find(go_no_register, go_no_register_end, &s));
	assert_false(find(go_too_far, go_too_far_end, &s));
	assert_false(find(go_crooked, go_crooked_end, &s));
	assert_false(find(go_another_way, go_another_way_end, &s));
	assert_false(find(go_two_words, go_two_words_end, &s));
	assert_false(find(go_switch, go_switch_from, &s)); /* cut off */
	assert_false(find(go_switch, go_switch, &s));
	assert_false(sp_go_switch_find(elf, UINT64_MAX - 100, UINT64_MAX, &s));
}

/* --- stacks --- */
enum { GOROUTINE = BASE + 0x1000, THREAD = BASE + 0x2000, OTHER = BASE + 0x3000, STACK = BASE + 0x4000 };
enum { CALLED = BASE + 0x105, FRAME = BASE + 0x6000 };

/* A call at CALLED - 5; the goroutine on the thread's stack leads to the one whose caller called. */
static struct walk *made(void)
{
	struct walk *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->memory[CALLED - 5 - BASE] = 0xe8;
	w->memory[CALLED - 4 - BASE] = 1;
	put(w, GOROUTINE + 0x30 - BASE, THREAD);
	put(w, THREAD + 0xc0 - BASE, OTHER);
	put(w, OTHER + 0x38 - BASE, STACK);
	put(w, STACK - BASE, CALLED);
	return w;
}

static struct sp_rule chain_rule(void)
{
	return (struct sp_rule){.cfa = SP_CFA_CHAIN,
				.reg = SP_GO_REG,
				.off = chain_of(0x30, 0xc0, 0x38),
				.ra = SP_RA_SWITCH,
				.add = 1,
				.ra_off = -8,
				.fp = SP_FP_CFA,
				.fp_off = -16};
}

static struct sp_regs regs_on_the_other_stack(void)
{
	struct sp_regs regs = {.ip = BASE, .sp = BASE + 0x8000, .fp = FRAME};

	regs.r[SP_GO_REG] = GOROUTINE;
	return regs;
}

static void a_chain_leads_to_the_caller(void **state)
{
	struct walk *w = made();
	struct sp_regs regs = regs_on_the_other_stack();
	struct sp_rule rule = chain_rule();
	sp_u32 how = SP_HOW_REGS;

	assert_int_equal(sp_step_chain(w, &regs, &how, &rule), 0);
	assert_int_equal(regs.ip, CALLED);
	assert_int_equal(regs.sp, STACK + 8);
	assert_int_equal(regs.fp, FRAME);
	assert_int_equal(how, 0); /* no guess; and the goroutine's register is not the caller's */
	free(w);
}

/* Where the chain breaks, the frame pointer leads to the caller's caller, which is marked. */
static void broken(struct walk *w, sp_u32 how)
{
	struct sp_regs regs = regs_on_the_other_stack();
	struct sp_rule rule = chain_rule();

	put(w, FRAME - BASE, 0);
	put(w, FRAME + 8 - BASE, CALLED + 7);
	assert_int_equal(sp_step_chain(w, &regs, &how, &rule), -1);
	assert_int_equal(regs.sp, BASE + 0x8000);
	assert_int_equal(sp_step_rule(w, &regs, &how, &rule, 1), SP_STEP_NEXT);
	assert_int_equal(regs.ip, CALLED + 7);
	assert_int_equal(regs.sp, FRAME + 16);
	assert_true(how & SP_HOW_GUESSED);
	free(w);
}

static void a_broken_chain_is_a_guess(void **state)
{
	const uint64_t places[] = {GOROUTINE + 0x30, THREAD + 0xc0, OTHER + 0x38, STACK};

	broken(made(), 0); /* the register was lost on the way */
	for (size_t i = 0; i < SP_COUNT(places); i++) {
		const uint64_t wrong[] = {0, 1, STACK + 4, UINT64_MAX, 1ULL << 40};

		for (size_t k = 0; k < SP_COUNT(wrong); k++) {
			struct walk *w = made();

			put(w, places[i] - BASE, wrong[k]);
			broken(w, SP_HOW_REGS);
		}
	}
}

static int setup(void **state)
{
	const Elf64_Phdr *headers = (const void *)getauxval(AT_PHDR);

	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; i < getauxval(AT_PHNUM); i++)
		if (headers[i].p_type == PT_PHDR)
			base = (uint64_t)headers - headers[i].p_vaddr;
	return sp_elf_open_fd(fd, &elf);
}

static int teardown(void **state)
{
	sp_elf_close(elf);
	close(fd);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_way_back_is_read),
	    cmocka_unit_test(another_way_is_refused),
	    cmocka_unit_test(a_chain_leads_to_the_caller),
	    cmocka_unit_test(a_broken_chain_is_a_guess),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}

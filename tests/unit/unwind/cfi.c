/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call frame programs that no linker lets through to tests/tables/odd.S: broken ones, and numbers beyond a row. */
#include "base/mem.h"
#include "test.h"
#include "unwind/priv.h"
#include <errno.h>
#include <string.h>

enum { MAX_ROWS = 8 };

struct rows {
	struct sp_rule rule[MAX_ROWS];
	uint64_t at[MAX_ROWS];
	bool lost[MAX_ROWS];
	size_t n;
};

static int take(void *arg, uint64_t at, const struct sp_rule *rule, bool lost)
{
	struct rows *r = arg;
	assert_true(r->n < MAX_ROWS);
	r->at[r->n] = at;
	r->lost[r->n] = lost;
	r->rule[r->n++] = *rule;
	return 0;
}

/* Runs a program behind the usual CIE (def_cfa rsp, 8; offset rip, cfa - 8) on a function of 100 bytes. */
static int run_with(const void *program, size_t size, bool with_base, struct rows *rows)
{
	static const uint8_t initial[] = {0x0c, 7, 8, 0x90, 1};
	struct sp_cie cie = {.code_align = 1, .data_align = -8, .encoding = 0x00};
	struct sp_fde fde = {.vaddr = 0x1000, .size = 100};
	*rows = (struct rows){.n = 0};
	assert_int_equal(sp_cfi_start(&cie, sp_cursor_on(initial, sizeof(initial)), 0), 0);
	return sp_cfi_run(&cie, &fde, sp_cursor_on(program, size), 0, with_base, take, rows);
}

static int run(const void *program, size_t size, struct rows *rows)
{
	return run_with(program, size, false, rows);
}

#define RUN(rows, ...) run((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), rows)

static void rows_of_a_prologue(void **state)
{
	struct rows r;
	assert_int_equal(RUN(&r, 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x7f, 0x0c, 7, 8), 0);
	assert_int_equal(r.n, 4);
	const uint64_t at[] = {0, 1, 4, 67};
	assert_memory_equal(r.at, at, sizeof(at));
	const struct sp_rule rule[] = {
	    {.cfa = SP_CFA_REG, .reg = 7, .off = 8, .ra_off = -8},
	    {.cfa = SP_CFA_REG, .reg = 7, .off = 16, .fp = SP_FP_CFA, .fp_off = -16, .ra_off = -8},
	    {.cfa = SP_CFA_REG, .reg = 6, .off = 16, .fp = SP_FP_CFA, .fp_off = -16, .ra_off = -8},
	    {.cfa = SP_CFA_REG, .reg = 7, .off = 8, .fp = SP_FP_CFA, .fp_off = -16, .ra_off = -8},
	};
	assert_memory_equal(r.rule, rule, sizeof(rule));
}

/* push %rbx; mov %rsp, %rbx; a call in between; then rbx somewhere that a row cannot hold */
static void rows_of_the_base_register(void **state)
{
	static const uint8_t program[] = {0x41, 0x0e, 16, 0x83, 2, 0x43, 0x0d, 3, 0x44, 0xc3, 0x41, 0x09, 3, 12};
	const uint8_t flags[] = {0, SP_RULE_BASE_CFA, SP_RULE_BASE_CFA, 0, 0};
	const uint16_t kept[] = {1 << SP_REG_BASE, 0, 0, 1 << SP_REG_BASE, 0};
	struct rows r;
	assert_int_equal(run_with(program, sizeof(program), true, &r), 0);
	assert_int_equal(r.n, SP_COUNT(flags));
	for (size_t i = 0; i < r.n; i++) {
		assert_int_equal(r.rule[i].ra, flags[i]);
		assert_int_equal(r.rule[i].kept, kept[i]);
		assert_int_equal(r.rule[i].add, flags[i] == SP_RULE_BASE_CFA ? -16 : 0);
	}
	assert_int_equal(r.rule[2].reg, SP_REG_BASE);
	assert_int_equal(run(program, sizeof(program), &r), 0);
	for (size_t i = 0; i < r.n; i++)
		assert_int_equal(r.rule[i].ra | r.rule[i].add | r.rule[i].kept, 0);
}

static void rows_behind_the_end_are_dropped(void **state)
{
	struct rows r;
	assert_int_equal(RUN(&r, 0x02, 100, 0x0e, 16, 0x02, 100, 0x0e, 24), 0);
	assert_int_equal(r.n, 1);
	assert_int_equal(RUN(&r, 0x04, 0xff, 0xff, 0xff, 0xff, 0x0e, 16), 0);
	assert_int_equal(r.n, 1);
}

static void broken_programs_are_refused(void **state)
{
	static uint8_t deep[200];
	struct rows r;
	assert_int_equal(RUN(&r, 0x3f), -EBADMSG);    /* no such instruction */
	assert_int_equal(RUN(&r, 0x0b), -EBADMSG);    /* nothing remembered */
	assert_int_equal(RUN(&r, 0x0c, 7), -EBADMSG); /* ends in the middle */
	assert_int_equal(RUN(&r, 0x03, 1), -EBADMSG);
	assert_int_equal(RUN(&r, 0x0f, 5, 0x77), -EBADMSG); /* the block too */
	assert_int_equal(RUN(&r, 0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1), -EBADMSG);
	assert_int_equal(RUN(&r, 0x44, 0x01, 2, 0x10, 0, 0, 0, 0, 0, 0), -EBADMSG); /* set_loc backwards */
	memset(deep, 0x0a, sizeof(deep));
	assert_int_equal(run(deep, sizeof(deep), &r), -EBADMSG);
	assert_int_equal(run(deep, 60, &r), 0);
	const uint8_t far[] = {0x1d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x41, 0x41};
	assert_int_equal(run(far, sizeof(far), &r), -EBADMSG);
}

static void numbers_beyond_a_row(void **state)
{
	struct rows r;
	assert_int_equal(RUN(&r, 0x0e, 0xff, 0xff, 0xff, 0xff, 0x07), 0); /* rsp + 2^31 - 1 */
	assert_int_equal(r.rule[0].cfa, SP_CFA_REG);
	assert_int_equal(r.rule[0].off, INT32_MAX);
	assert_int_equal(RUN(&r, 0x0e, 0x80, 0x80, 0x80, 0x80, 0x08), 0); /* rsp + 2^31 */
	assert_int_equal(r.rule[0].cfa, SP_CFA_BAD);
	assert_int_equal(r.rule[0].reg, SP_BAD_CFA);
	assert_int_equal(RUN(&r, 0x86, 0x80, 0x20), 0); /* rbp at cfa - 32768 */
	assert_int_equal(r.rule[0].fp, SP_FP_CFA);
	assert_int_equal(r.rule[0].fp_off, INT16_MIN);
	assert_int_equal(RUN(&r, 0x86, 0x81, 0x20), 0);
	assert_int_equal(r.rule[0].fp, SP_FP_LOST);
	assert_true(r.lost[0]);
	assert_int_equal(RUN(&r, 0x07, 6), 0); /* undefined: lost, but nobody knows where it is */
	assert_int_equal(r.rule[0].fp, SP_FP_LOST);
	assert_false(r.lost[0]);
	assert_int_equal(RUN(&r, 0x90, 0x81, 0x20), 0); /* the return address at cfa - 32776 */
	assert_int_equal(r.rule[0].cfa, SP_CFA_BAD);
	assert_int_equal(r.rule[0].reg, SP_BAD_RA);
	assert_int_equal(RUN(&r, 0x0c, 200, 1, 8), 0); /* a register that is none */
	assert_int_equal(r.rule[0].cfa, SP_CFA_BAD);
	assert_int_equal(r.rule[0].reg, SP_BAD_CFA);
	assert_int_equal(RUN(&r, 0x87, 3), 0); /* the caller's stack pointer at cfa - 24 */
	assert_int_equal(r.rule[0].cfa, SP_CFA_BAD);
	assert_int_equal(r.rule[0].reg, SP_BAD_SP);
}

static void deep_expressions_end(void **state)
{
	static uint8_t block[300];
	memset(block, 0x30, sizeof(block)); /* lit0 */
	assert_int_equal(sp_cfi_eval(sp_cursor_on(block, sizeof(block)), false).kind, SP_CFI_OTHER);
	assert_int_equal(sp_cfi_eval(sp_cursor_on(block, 16), false).kind, SP_CFI_CONST);
	assert_int_equal(sp_cfi_eval(sp_cursor_on(block, 0), false).kind, SP_CFI_OTHER);
	assert_int_equal(sp_cfi_eval(sp_cursor_on(block, 0), true).kind, SP_CFI_CFA);
	const uint8_t loop[] = {0x30, 0x2f, 0xfc, 0xff}; /* lit0; skip -4 */
	assert_int_equal(sp_cfi_eval(sp_cursor_on(loop, sizeof(loop)), false).kind, SP_CFI_OTHER);
	const uint8_t overflow[] = {0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x23, 1};
	assert_int_equal(sp_cfi_eval(sp_cursor_on(overflow, sizeof(overflow)), false).kind, SP_CFI_OTHER);
	const uint8_t underflow[] = {0x22};
	assert_int_equal(sp_cfi_eval(sp_cursor_on(underflow, sizeof(underflow)), true).kind, SP_CFI_OTHER);
}

/* Pointers of all formats, plain and relative to their own place. */
static void pointers(void **state)
{
	const uint8_t bytes[] = {0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x7f};
	const struct {
		uint8_t encoding;
		uint64_t value;
	} known[] = {
	    {0x00, 0x7ffffffffffffff0}, {0x02, 0xfff0},          {0x03, 0xfffffff0},
	    {0x04, 0x7ffffffffffffff0}, {0x0a, UINT64_MAX - 15}, {0x0b, UINT64_MAX - 15},
	    {0x0c, 0x7ffffffffffffff0}, {0x1b, 0x1000 - 16},     {0x13, 0x100000ff0},
	};
	const uint8_t refused[] = {0x20, 0x30, 0x3b, 0x40, 0x50, 0x9b, 0xff, 0x05, 0x0f, 0x70};
	uint64_t value;
	for (size_t i = 0; i < SP_COUNT(known); i++) {
		struct sp_cursor c = sp_cursor_on(bytes, sizeof(bytes));
		assert_true(sp_eh_pointer(&c, known[i].encoding, 0x1000, &value));
		assert_int_equal(value, known[i].value);
	}
	for (size_t i = 0; i < SP_COUNT(refused); i++) {
		struct sp_cursor c = sp_cursor_on(bytes, sizeof(bytes));
		assert_false(sp_eh_pointer(&c, refused[i], 0x1000, &value));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_of_a_prologue),
	    cmocka_unit_test(rows_of_the_base_register),
	    cmocka_unit_test(rows_behind_the_end_are_dropped),
	    cmocka_unit_test(broken_programs_are_refused),
	    cmocka_unit_test(numbers_beyond_a_row),
	    cmocka_unit_test(deep_expressions_end),
	    cmocka_unit_test(pointers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

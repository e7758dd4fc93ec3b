/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What rows say of V8's builtins: of v8_code.s, and of the node that is installed, by its symbols. */
#include "base/mem.h"
#include "elf/elf.h"
#include "test.h"
#include "unwind/priv.h"
#include "unwind/x86_64/derive.h"
#include "unwind/x86_64/v8_code.h"
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

void v8_before(void);
void v8_behind(void);
void v8_frame(void);
void v8_checks(void);
void v8_far(void);
void v8_operand(void);
void v8_moves(void);
void v8_tail(void);
void v8_pushes(void);
void v8_loops(void);
void v8_bytecode(void);

static uint64_t load_bias; /* of this program */

static uint64_t offset_of(struct sp_elf *e, void (*f)(void))
{
	uint64_t offset;

	assert_int_equal(sp_elf_offset_of(e, (uint64_t)(uintptr_t)f - load_bias, &offset), 0);
	return offset;
}

static struct sp_rule rule_at(const struct sp_derived *d, uint64_t offset)
{
	struct sp_rule rule = {0};

	for (size_t i = 0; i < d->n_rows && d->rows[i].offset <= offset; i++)
		rule = d->rules[d->rows[i].rule];
	return rule;
}

static void rows_ascend(const struct sp_derived *d)
{
	for (size_t i = 1; i < d->n_rows; i++)
		assert_true(d->rows[i - 1].offset < d->rows[i].offset);
}

static void row_is(const struct sp_derived *d, uint64_t offset, sp_s32 off)
{
	struct sp_rule rule = rule_at(d, offset);

	assert_int_equal(rule.cfa, SP_CFA_V8);
	assert_int_equal(rule.off, off);
}

/* How far above the stack pointer the return address ends by the row, or else by the code; 0: not told. */
static sp_s32 told_at(struct sp_elf *e, const struct sp_rule *row, uint64_t offset)
{
	uint8_t bytes[SP_CODE_BYTES], *code = bytes + SP_CODE_BEFORE;

	assert_int_equal(row->cfa, SP_CFA_V8);
	assert_int_equal(sp_elf_read_into(e, offset - SP_CODE_BEFORE, bytes, sizeof(bytes)), 0);
	if (row->off)
		return row->off;
	if (sp_frameless(code) == 8)
		return 16;
	return sp_v8_ahead(code) < SP_V8_NEAR ? 8 : 0;
}

static struct sp_elf *open_elf(const char *path)
{
	struct sp_elf *e = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC); /* held until the end */

	return fd < 0 || sp_elf_open_fd(fd, &e) < 0 ? NULL : e;
}

static void rows_of_builtins(void **state)
{
	struct sp_elf *e = open_elf("/proc/self/exe");
	struct sp_derived d;

	assert_non_null(e);
	load_bias = getauxval(AT_ENTRY) - sp_elf_entry(e);
	const uint64_t before = offset_of(e, v8_before), behind = offset_of(e, v8_behind);
	const struct sp_code_span covered[] = {{0, before + 1}, {behind, UINT64_MAX}};
	assert_int_equal(sp_derive(e, covered, SP_COUNT(covered), UINT64_MAX, &d), 0);
	assert_int_equal(sp_v8_rows(e, covered, SP_COUNT(covered), &(struct sp_code_span){0, UINT64_MAX}, &d), 0);
	rows_ascend(&d);
	row_is(&d, offset_of(e, v8_frame), 8);
	row_is(&d, offset_of(e, v8_frame) + 1, 16);
	row_is(&d, offset_of(e, v8_frame) + 4, 0); /* its frame stands */
	row_is(&d, offset_of(e, v8_frame) + 5, 0);
	row_is(&d, offset_of(e, v8_checks), 8);
	row_is(&d, offset_of(e, v8_checks) + 4, 8);
	row_is(&d, offset_of(e, v8_checks) + 7, 16);
	row_is(&d, offset_of(e, v8_checks) + 10, 0);
	row_is(&d, offset_of(e, v8_tail), 8);
	row_is(&d, offset_of(e, v8_pushes), 8);
	row_is(&d, offset_of(e, v8_pushes) + 5, 8); /* the jump, and where the branch leads behind it */
	row_is(&d, offset_of(e, v8_pushes) + 10, 8);
	row_is(&d, offset_of(e, v8_pushes) + 11, SP_V8_UNSURE);
	row_is(&d, offset_of(e, v8_bytecode), 0);
	row_is(&d, offset_of(e, v8_bytecode) + 5, 0);
	sp_derived_done(&d);
	sp_elf_close(e);
}

/* Where nothing is derived, as in chromium, rows say what the code does not tell, and no more. */
static void code_tells_the_rest(void **state)
{
	static const struct {
		void (*f)(void);
		unsigned push; /* bytes before push %rbp */
		sp_s32 row;
	} cases[] = {{v8_frame, 0, 0}, {v8_checks, 6, 0}, {v8_far, 20, 8}, {v8_operand, 5, 8}};
	struct sp_elf *e = open_elf("/proc/self/exe");
	struct sp_derived d = {0};

	const uint64_t before = offset_of(e, v8_before), behind = offset_of(e, v8_behind);
	const struct sp_code_span covered[] = {{0, before + 1}, {behind, UINT64_MAX}};
	assert_int_equal(sp_v8_rows(e, covered, SP_COUNT(covered), &(struct sp_code_span){before, behind}, &d), 0);
	rows_ascend(&d);
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		uint64_t at = offset_of(e, cases[i].f), push = at + cases[i].push;
		struct sp_rule first = rule_at(&d, at), pushed = rule_at(&d, push + 1);

		assert_int_equal(first.off, cases[i].row);
		assert_int_equal(rule_at(&d, push).off, cases[i].row);
		assert_int_equal(told_at(e, &first, at), 8);
		assert_int_equal(told_at(e, &first, push), 8);
		assert_int_equal(told_at(e, &pushed, push + 1), 16);
		row_is(&d, push + 4, 0); /* its frame stands */
	}
	for (unsigned at = 0; at <= 13; at++)
		row_is(&d, offset_of(e, v8_loops) + at, 8);
	row_is(&d, offset_of(e, v8_loops) + 14, SP_V8_UNSURE);
	row_is(&d, offset_of(e, v8_loops) + 19, SP_V8_UNSURE);
	sp_derived_done(&d);
	sp_elf_close(e);
}

/* --- the node that is here --- */

struct seen {
	uint64_t frames, others;
};

/* Of a builtin that begins with its frame: push %rbp; mov %rsp,%rbp. */
static void check_builtin(struct sp_elf *e, const struct sp_blob *b, uint64_t vaddr, struct seen *s)
{
	static const uint8_t frame[] = {0x55, 0x48, 0x89, 0xe5};
	uint8_t code[sizeof(frame)];
	uint64_t at;

	if (sp_elf_offset_of(e, vaddr, &at) || sp_elf_read_into(e, at, code, sizeof(code)))
		return;
	assert_int_equal(sp_blob_find(b, at)->cfa, SP_CFA_V8);
	if (memcmp(code, frame, sizeof(frame)) != 0) {
		s->others++;
		return;
	}
	s->frames++;
	assert_int_equal(told_at(e, sp_blob_find(b, at), at), 8);
	assert_int_equal(told_at(e, sp_blob_find(b, at + 1), at + 1), 16);
	assert_int_equal(sp_blob_find(b, at + 4)->off, 0);
}

static void check_symbols(struct sp_elf *e, const struct sp_blob *b, struct seen *s)
{
	struct sp_elf_section table, strings;
	SP_FREE void *symbols = NULL;
	SP_FREE void *names = NULL;

	if (sp_elf_section(e, ".symtab", &table) || sp_elf_section(e, ".strtab", &strings) ||
	    sp_elf_read(e, table.offset, table.size, &symbols) || sp_elf_read(e, strings.offset, strings.size, &names))
		return;
	for (size_t i = 0; i < table.size / sizeof(Elf64_Sym); i++) {
		const Elf64_Sym *y = (const Elf64_Sym *)symbols + i;

		if (y->st_name < strings.size && !strncmp((const char *)names + y->st_name, "Builtins_", 9) &&
		    ELF64_ST_TYPE(y->st_info) == STT_FUNC)
			check_builtin(e, b, y->st_value, s);
	}
}

static void builtins_of_node(void **state)
{
	struct sp_elf *e = open_elf("/usr/bin/node");
	struct sp_blob *b = NULL;
	struct seen s = {0};

	if (!e) {
		print_message("skip: node is not here\n");
		return;
	}
	assert_int_equal(sp_blob_build(e, &b), 0);
	if (b->runtime.kind == SP_RUNTIME_V8) {
		check_symbols(e, b, &s);
		print_message("%llu builtins of node begin with a frame, %llu do not\n", (unsigned long long)s.frames,
			      (unsigned long long)s.others);
	}
	free(b);
	sp_elf_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_of_builtins),
	    cmocka_unit_test(code_tells_the_rest),
	    cmocka_unit_test(builtins_of_node),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

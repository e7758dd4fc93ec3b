/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code without symbols and unwind information: functions behind padding are told apart, by one question and by a table
 * of the whole file alike. readelf says where they are, as long as the file has symbols.
 */
#include "base/mem.h"
#include "base/search.h"
#include "elf/elf.h"
#include "oracle.h"
#include "symbol/names.h"
#include "table.h"
#include "test.h"
#include "tool.h"

enum { N_FUNCTIONS = 3000, FEW = 100, ALIGN = 16, MAX_OFFSETS = 4 * N_FUNCTIONS };

static char scratch[] = "/tmp/soprof-padding-XXXXXX";
static char whole[64], stripped[64];

/* Divisions by 5, whose number has the bytes of padding, and ends where a function may begin. */
static const char *const divisions[] = {".fill 6, 1, 0x90\nmovabs $0xcccccccccccccccd, %rax\n",
					".fill 10, 1, 0x90\nimul $-0x33333333, %eax, %eax\n"};

/* Each function runs for ever, so that no rows are derived of it, and is as long as the one before or a byte longer. */
static void write_source(const char *path, unsigned n, const char *padding)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(".text\n", f);
	for (unsigned i = 0; i < n; i++)
		fprintf(f,
			".balign %d, %s\n.type f%u, @function\nf%u: %s.fill %u, 1, 0x90\njmp f%u\n.size f%u, . - f%u\n",
			ALIGN, padding, i, i, i % 4 < SP_COUNT(divisions) ? divisions[i % 4] : "", i % 61, i, i, i);
	assert_int_equal(fclose(f), 0);
}

static void build(unsigned n, const char *padding)
{
	char source[64];

	snprintf(source, sizeof(source), "%s/a.s", scratch);
	write_source(source, n, padding);
	FILE *made = TOOL_RUN(NULL, "gcc", "-shared", "-nostdlib", "-o", whole, source);
	assert_non_null(made);
	fclose(made);
	made = TOOL_RUN(NULL, "strip", "-s", "-o", stripped, whole);
	assert_non_null(made);
	fclose(made);
}

struct files {
	struct oracle *told; /* by the symbols */
	struct sp_elf *elf;  /* without them */
	int fd, table;
	struct sp_name_table_head head;
	uint64_t offset[MAX_OFFSETS];
	size_t n;
};

static struct files *files_open(void)
{
	struct files *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->told = oracle_new(whole, false);
	assert_non_null(f->told);
	f->fd = open(stripped, O_RDONLY | O_CLOEXEC);
	assert_int_equal(sp_elf_open_fd(f->fd, &f->elf), 0);
	f->table = table_make(f->elf, NULL, &f->head);
	assert_true(f->table >= 0);
	for (size_t i = 0; i < f->told->n_symbols[0]; i++) {
		const struct oracle_symbol *y = &f->told->symbols[0][i];
		const uint64_t at[] = {y->vaddr, y->vaddr + y->size / 2, y->vaddr + y->size - 1, y->vaddr + y->size};
		for (size_t k = 0; k < SP_COUNT(at) && f->n < MAX_OFFSETS; k++)
			f->offset[f->n++] = oracle_offset(f->told, at[k]);
	}
	qsort(f->offset, f->n, sizeof(*f->offset), sp_compare_u64);
	while (f->n && f->offset[f->n - 1] == UINT64_MAX) /* behind the last function */
		f->n--;
	return f;
}

static void files_close(struct files *f)
{
	sp_elf_close(f->elf);
	oracle_free(f->told);
	close(f->fd);
	close(f->table);
	free(f);
}

/* Where the function begins that this address is in, or the first of several between which there are not two bytes. */
static uint64_t expected_start(const struct oracle *o, uint64_t vaddr)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (size_t i = 0; i < o->n_symbols[0]; i++) { /* readelf's order here is that of the addresses */
		const struct oracle_symbol *y = &o->symbols[0][i];
		if (y->vaddr > vaddr)
			break;
		if (start == UINT64_MAX || y->vaddr - end >= 2)
			start = y->vaddr;
		end = y->vaddr + y->size;
	}
	return start;
}

SP_ORDER_BY(symbol_compare, struct oracle_symbol, vaddr);

static void functions_behind_padding_are_told_apart(void **state)
{
	size_t n_right = 0;

	build(N_FUNCTIONS, "0xcc");
	struct files *f = files_open();
	SP_FREE struct sp_name *names = calloc(f->n, sizeof(*names));
	qsort(f->told->symbols[0], f->told->n_symbols[0], sizeof(*f->told->symbols[0]), symbol_compare);
	assert_int_equal(sp_names_find(f->elf, sp_function_walk, f->offset, f->n, names), 0);
	for (size_t i = 0; i < f->n; i++) {
		uint64_t vaddr = names[i].vaddr + (f->offset[i] - names[i].start);
		assert_true(names[i].is_gap && !names[i].name);
		assert_int_equal(names[i].vaddr, expected_start(f->told, vaddr));
		n_right++;
	}
	assert_true(n_right > 3 * N_FUNCTIONS);
	files_close(f);
}

static void a_table_says_the_same(void **state)
{
	build(N_FUNCTIONS, "0xcc");
	struct files *f = files_open();
	struct sp_name_table t = table_of(f->table, &f->head);
	assert_int_equal(table_differs(f->elf, NULL, &t, f->offset, f->n), 0);
	for (size_t i = 0; i < f->n; i += 97) /* each alone, as among all others */
		assert_int_equal(table_differs(f->elf, NULL, &t, &f->offset[i], 1), 0);
	files_close(f);
}

/* A small gap is one, and so is code whose padding says nothing. */
static void one_gap(unsigned n, const char *padding)
{
	build(n, padding);
	struct files *f = files_open();
	SP_FREE struct sp_name *names = calloc(f->n, sizeof(*names));
	struct sp_name_table t = table_of(f->table, &f->head);
	assert_int_equal(sp_names_find(f->elf, sp_function_walk, f->offset, f->n, names), 0);
	for (size_t i = 0; i < f->n; i++)
		assert_int_equal(names[i].start, names[0].start);
	assert_int_equal(table_differs(f->elf, NULL, &t, f->offset, f->n), 0);
	files_close(f);
}

static void others_are_one_gap(void **state)
{
	one_gap(FEW, "0xcc");
	one_gap(N_FUNCTIONS, "0x90");
}

static int make_scratch(void **state)
{
	if (!mkdtemp(scratch))
		return -1;
	snprintf(whole, sizeof(whole), "%s/whole", scratch);
	snprintf(stripped, sizeof(stripped), "%s/stripped", scratch);
	return 0;
}

static int remove_scratch(void **state)
{
	FILE *f = TOOL_RUN(NULL, "rm", "-rf", scratch);
	if (f)
		fclose(f);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(functions_behind_padding_are_told_apart),
	    cmocka_unit_test(a_table_says_the_same),
	    cmocka_unit_test(others_are_one_gap),
	};
	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}

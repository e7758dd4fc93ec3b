/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of thousands of offsets in real files equal what the same rule makes of readelf's and c++filt's output. */
#include "symbol/names.h"
#include "base/mem.h"
#include "base/search.h"
#include "elf/elf.h"
#include "oracle.h"
#include "test.h"
#include "tool.h"
#include "unwind/build.h"
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

enum { MAX_OFFSETS = 6000, RANDOM_OFFSETS = 1000, SYMBOLS = 1200 };

struct offsets {
	uint64_t at[MAX_OFFSETS];
	size_t n;
};

static void add_offset(struct offsets *s, uint64_t offset)
{
	if (offset != UINT64_MAX && s->n < MAX_OFFSETS)
		s->at[s->n++] = offset;
}

/* Begin, middle, last byte and the byte behind of functions all over the file, and anywhere in its code. */
static void choose_offsets(const struct oracle *o, struct offsets *s)
{
	uint64_t x = 88172645463325252u;
	s->n = 0;
	for (int table = 0; table < 2; table++)
		for (size_t i = 0, step = o->n_symbols[table] / (SYMBOLS / 2) + 1; i < o->n_symbols[table]; i += step) {
			const struct oracle_symbol *y = &o->symbols[table][i];
			add_offset(s, oracle_offset(o, y->vaddr));
			add_offset(s, oracle_offset(o, y->vaddr + y->size / 2));
			add_offset(s, oracle_offset(o, y->vaddr + y->size - 1));
			add_offset(s, oracle_offset(o, y->vaddr + y->size));
		}
	for (size_t i = 0; i < RANDOM_OFFSETS && o->n_segments; i++) {
		const struct oracle_range *r = &o->segments[i % o->n_segments];
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		add_offset(s, r->offset + x % r->size);
	}
	qsort(s->at, s->n, sizeof(*s->at), sp_compare_u64);
}

/* What c++filt prints for the names; one line each, an empty one where there is none. */
static FILE *demangled(const struct oracle_answer *answers, size_t n)
{
	FILE *names SP_FCLOSE = tmpfile();
	assert_non_null(names);
	for (size_t i = 0; i < n; i++)
		fprintf(names, "%s\n", answers[i].name ? answers[i].name : "");
	fflush(names);
	return TOOL_RUN(names, "c++filt", "-i");
}

/* A name that is too long for us must be the beginning of the whole one. */
static bool same_name(const char *name, const char *whole)
{
	if (strlen(whole) < SP_NAME_MAX)
		return strcmp(name, whole) == 0;
	return strlen(name) == SP_NAME_MAX - 1 && strncmp(name, whole, SP_NAME_MAX - 4) == 0;
}

static void check_one(const char *path, uint64_t offset, const struct sp_name *m, const struct oracle_answer *a,
		      const char *shown)
{
	const char *linkage = m->linkage_name ? m->linkage_name : m->name;
	bool same = m->start == a->start && m->size == a->size && m->vaddr == a->vaddr && !m->name == !a->name &&
		    m->is_gap == a->is_gap;
	if (same && a->name)
		same = same_name(linkage, a->name) && same_name(m->name, shown);
	if (!same)
		fail_msg("%s+0x%" PRIx64 ": got %s (%s) 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64
			 ", not %s (%s) 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64,
			 path, offset, m->name, linkage, m->start, m->size, m->vaddr, shown, a->name, a->start, a->size,
			 a->vaddr);
}

static void check_all(const char *path, const struct oracle *o, unsigned tables, struct sp_elf *e,
		      const struct offsets *s)
{
	struct sp_name *names SP_FREE = calloc(s->n, sizeof(*names));
	struct oracle_answer *answers SP_FREE = calloc(s->n, sizeof(*answers));
	assert_int_equal(sp_names_find(e, tables & 4 ? sp_fde_walk : NULL, s->at, s->n, names), 0);
	size_t n_named = 0, n_gaps = 0;
	for (size_t i = 0; i < s->n; i++) {
		answers[i] = oracle_find(o, tables, s->at[i]);
		n_named += answers[i].name != NULL;
		n_gaps += answers[i].is_gap;
		assert_true(answers[i].size);
	}
	FILE *shown SP_FCLOSE = demangled(answers, s->n);
	char *line SP_FREE = NULL;
	size_t size = 0;
	assert_non_null(shown);
	for (size_t i = 0; i < s->n; i++) {
		assert_true(getline(&line, &size, shown) > 0);
		line[strcspn(line, "\n")] = 0;
		check_one(path, s->at[i], &names[i], &answers[i], line);
	}
	print_message("%s: %zu offsets, %zu by name, %zu by gap\n", path, s->n, n_named, n_gaps);
	sp_names_done(names, s->n);
}

static void check_file(const char *path, unsigned tables)
{
	int fd SP_CLOSE = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		print_message("no %s here\n", path);
		return;
	}
	struct oracle *o = oracle_new(path, tables & 4);
	struct offsets *s SP_FREE = malloc(sizeof(*s));
	struct sp_elf *e = NULL;
	assert_non_null(o);
	assert_non_null(s);
	assert_int_equal(sp_elf_open_fd(fd, &e), 0);
	choose_offsets(o, s);
	assert_true(s->n > 100);
	check_all(path, o, tables, e, s);
	sp_elf_close(e);
	oracle_free(o);
}

static void test_stripped_libraries(void **state)
{
	check_file("/lib/x86_64-linux-gnu/libc.so.6", 3);
	check_file("/lib/x86_64-linux-gnu/libm.so.6", 3);
	check_file("/lib64/ld-linux-x86-64.so.2", 3);
	check_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 3);
	check_file("/usr/bin/python3.11", 3);
}

static void test_ranges(void **state)
{
	check_file("/lib/x86_64-linux-gnu/libc.so.6", 7);
	check_file("/usr/lib/x86_64-linux-gnu/libcrypto.so.3", 7);
	check_file("/usr/lib/x86_64-linux-gnu/libsqlite3.so.0", 7);
}

/* --- programs made here --- */

static const char source_c[] =
    "#include <stdio.h>\n"
    "__attribute__((noinline)) static int hidden(int x) { return x * 3 + printf(\"%d\\n\", x); }\n"
    "int shown(int x) { return hidden(x) + 1; }\n"
    "int alias_of_shown(int) __attribute__((alias(\"shown\")));\n"
    "int _shown(int) __attribute__((weak, alias(\"shown\")));\n"
    "static int chosen(int x) { return x; }\n"
    "static int (*choose(void))(int) { return chosen; }\n"
    "int picked(int) __attribute__((ifunc(\"choose\")));\n"
    "asm(\".text\\n.globl bare\\nbare: nop\\nnop\\n.Linner: nop\\ninner: nop\\nnop\\n.size bare, 0\\n\"\n"
    "    \".globl sized\\n.type sized,@function\\nsized: nop\\nlabel_in_sized: nop\\nnop\\n.size "
    "sized,.-sized\\nret\\n\");\n"
    "int main(int n, char **v) { (void)v; return shown(n) + picked(n); }\n";
static const char source_cc[] = "#include <map>\n#include <string>\n#include <iostream>\n"
				"namespace a { template <class T> struct box { T t; __attribute__((noinline)) T get() "
				"const { return t; } }; }\n"
				"int main() { std::map<std::string, a::box<int>> m; m[\"x\"].t = 1;\n"
				"for (auto &p : m) std::cout << p.first << p.second.get(); }\n";
static const char source_rs[] =
    "use std::collections::HashMap;\nstruct S<T> { t: T }\nimpl<T: Clone> S<T> { #[inline(never)] fn get(&self) -> T "
    "{ self.t.clone() } }\nfn main() { let mut m = HashMap::new(); m.insert(1, S { t: String::from(\"x\") });\n"
    "println!(\"{}\", m[&1].get()); }\n";

/* A directory for what the compilers write, removed at the end. */
static char scratch[] = "/tmp/soprof-names-XXXXXX";

static int make_scratch(void **state)
{
	return mkdtemp(scratch) ? 0 : -1;
}

static int remove_scratch(void **state)
{
	FILE *f = TOOL_RUN(NULL, "rm", "-rf", scratch);
	if (f)
		fclose(f);
	return 0;
}

static void in_scratch(char *ret_path, const char *name)
{
	snprintf(ret_path, 256, "%s/%s", scratch, name);
}

static void write_source(const char *name, const char *text, char *ret_path)
{
	in_scratch(ret_path, name);
	FILE *f = fopen(ret_path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* Compiles with one more option; skips the test where there is no such compiler. */
static void build(const char *compiler, const char *option, const char *source, char *ret_program)
{
	in_scratch(ret_program, "program");
	unlink(ret_program);
	FILE *f = TOOL_RUN(NULL, compiler, option, "-O", "-o", ret_program, source);
	if (!f) {
		printf("skip: there is no %s that takes %s\n", compiler, option);
		skip();
	}
	fclose(f);
}

static void test_c_programs(void **state)
{
	static const char *const options[] = {
	    "-pie", "-no-pie", "-static", "-static-pie", "-Wl,-z,separate-code", "-Wl,-z,noseparate-code"};
	char source[256], program[256];
	write_source("c.c", source_c, source);
	for (size_t i = 0; i < SP_COUNT(options); i++) {
		build("gcc", options[i], source, program);
		check_file(program, 7);
	}
}

static void test_cxx_program(void **state)
{
	char source[256], program[256];
	write_source("c.cc", source_cc, source);
	build("g++", "-pie", source, program);
	check_file(program, 7);
}

static void test_rust_program(void **state)
{
	char source[256], program[256];
	write_source("r.rs", source_rs, source);
	build("rustc", "-Cdebuginfo=0", source, program);
	check_file(program, 3);
	build("rustc", "-Csymbol-mangling-version=v0", source, program);
	check_file(program, 3);
}

/* --- single cases --- */

/* The name at an exported or local symbol of a file, plus `more` bytes. */
static void expect(const char *path, const char *symbol, uint64_t more, const char *expected)
{
	int fd SP_CLOSE = open(path, O_RDONLY | O_CLOEXEC);
	struct oracle *o = oracle_new(path, false);
	struct sp_elf *e = NULL;
	struct sp_name m;
	uint64_t offset = UINT64_MAX;
	assert_non_null(o);
	assert_int_equal(sp_elf_open_fd(fd, &e), 0);
	for (int table = 0; table < 2; table++)
		for (size_t i = 0; i < o->n_symbols[table]; i++)
			if (!strcmp(o->symbols[table][i].name, symbol))
				offset = oracle_offset(o, o->symbols[table][i].vaddr) + more;
	assert_int_not_equal(offset, UINT64_MAX);
	assert_int_equal(sp_names_find(e, NULL, &offset, 1, &m), 0);
	assert_string_equal(m.name ? m.name : "", expected);
	sp_names_done(&m, 1);
	sp_elf_close(e);
	oracle_free(o);
}

static void test_aliases(void **state)
{
	const char *libc = "/lib/x86_64-linux-gnu/libc.so.6";
	expect(libc, "__libc_malloc", 5, "malloc");
	expect(libc, "__write", 5, "write");
	expect(libc, "__libc_free", 0, "free");
	expect(libc, "memcpy", 0, "memcpy");
	char source[256], program[256];
	write_source("c.c", source_c, source);
	build("gcc", "-pie", source, program);
	expect(program, "_shown", 1, "shown");
	expect(program, "hidden", 1, "hidden");
	expect(program, "picked", 0, "picked");
	expect(program, "bare", 0, "bare");
	expect(program, "bare", 2, "bare");
	expect(program, "inner", 1, "inner");
	expect(program, "sized", 1, "sized");
	expect(program, "sized", 3, "label_in_sized");
	expect(program, "_start", 3, "_start");
}

static const struct oracle_symbol *symbol_of(const struct oracle *o, const char *name)
{
	for (size_t i = 0; i < o->n_symbols[0]; i++)
		if (strcmp(o->symbols[0][i].name, name) == 0)
			return &o->symbols[0][i];
	fail_msg("there is no %s", name);
	return NULL;
}

/* crtstuff's functions, which no FDE covers, by the table that the program had before it was stripped. */
static void check_crtstuff(const struct oracle *whole, const char *program)
{
	int fd SP_CLOSE = open(program, O_RDONLY | O_CLOEXEC);
	struct sp_elf *e = NULL;
	struct sp_name init, aux;
	assert_int_equal(sp_elf_open_fd(fd, &e), 0);
	uint64_t at_init = oracle_offset(whole, symbol_of(whole, "_init")->vaddr) + 4;
	uint64_t at_aux = oracle_offset(whole, symbol_of(whole, "__do_global_dtors_aux")->vaddr) + 4;
	assert_int_equal(sp_names_find(e, sp_fde_walk, &at_init, 1, &init), 0);
	assert_int_equal(sp_names_find(e, sp_fde_walk, &at_aux, 1, &aux), 0);
	assert_true(init.is_gap && aux.is_gap);
	assert_int_equal(init.vaddr, symbol_of(whole, "_init")->vaddr); /* begins its section */
	assert_true(aux.vaddr <= symbol_of(whole, "deregister_tm_clones")->vaddr);
	assert_true(aux.vaddr + 16 > symbol_of(whole, "deregister_tm_clones")->vaddr); /* but for padding */
	assert_true(aux.vaddr + aux.size > symbol_of(whole, "frame_dummy")->vaddr);
	sp_elf_close(e);
}

static void test_stripped_programs(void **state)
{
	static const char *const options[] = {"-pie", "-no-pie", "-static", "-static-pie"};
	char source[256], program[256];
	write_source("c.c", source_c, source);
	for (size_t i = 0; i < SP_COUNT(options); i++) {
		build("gcc", options[i], source, program);
		struct oracle *whole = oracle_new(program, false);
		assert_non_null(whole);
		FILE *stripped SP_FCLOSE = TOOL_RUN(NULL, "strip", program);
		assert_non_null(stripped);
		check_file(program, 7);
		check_crtstuff(whole, program);
		oracle_free(whole);
	}
}

/* Without section headers the dynamic symbols are found all the same, by either hash table. */
static void test_section_less(void **state)
{
	static const char *const paths[] = {"/lib/x86_64-linux-gnu/libc.so.6",
					    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"};
	for (size_t i = 0; i < SP_COUNT(paths); i++) {
		int fd SP_CLOSE = open(paths[i], O_RDONLY | O_CLOEXEC);
		struct stat st;
		assert_int_equal(fstat(fd, &st), 0);
		Elf64_Ehdr *bytes SP_FREE = malloc((size_t)st.st_size);
		assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
		bytes->e_shoff = 0;
		bytes->e_shnum = bytes->e_shstrndx = 0;
		struct oracle *o = oracle_new(paths[i], false);
		struct offsets *s SP_FREE = malloc(sizeof(*s));
		struct sp_elf *e = NULL;
		assert_non_null(o);
		o->sections_hidden = true;
		assert_int_equal(sp_elf_open_bytes(bytes, (size_t)st.st_size, &e), 0);
		choose_offsets(o, s);
		check_all(paths[i], o, 2, e, s);
		sp_elf_close(e);
		oracle_free(o);
	}
}

static void test_nothing_there(void **state)
{
	int fd SP_CLOSE = open("/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY | O_CLOEXEC);
	struct sp_elf *e = NULL;
	struct sp_name m[2];
	const uint64_t outside[2] = {0, 1ull << 60};
	assert_int_equal(sp_elf_open_fd(fd, &e), 0);
	assert_int_equal(sp_names_find(e, NULL, outside, 0, NULL), 0);
	assert_int_equal(sp_names_find(e, NULL, outside, 2, m), 0);
	assert_null(m[0].name);
	assert_true(m[0].is_gap && m[0].size > 1000); /* mapped, though not for its code */
	assert_int_equal(m[0].start, 0);
	assert_null(m[1].name);
	assert_false(m[1].is_gap);
	assert_int_equal(m[1].size, 0);
	assert_int_equal(m[1].start, outside[1]);
	assert_int_equal(m[1].vaddr, 0);
	sp_elf_close(e);
}

/* --- other judges --- */

static size_t n_starting_at(const struct oracle *o, uint64_t vaddr)
{
	size_t n = 0;
	for (size_t i = 0; i < o->n_symbols[0]; i++)
		n += o->symbols[0][i].vaddr == vaddr;
	return n;
}

/* Where a function has one name only, addr2line must say the same. */
static void compare_addr2line(const struct oracle *o, const char *program, const struct sp_name *names, size_t n)
{
	FILE *addresses SP_FCLOSE = tmpfile();
	assert_non_null(addresses);
	for (size_t i = 0; i < n; i++)
		fprintf(addresses, "0x%" PRIx64 "\n", names[i].vaddr);
	fflush(addresses);
	FILE *told SP_FCLOSE = TOOL_RUN(addresses, "addr2line", "-f", "-e", program);
	char *name SP_FREE = NULL, *line SP_FREE = NULL;
	size_t name_size = 0, line_size = 0, n_compared = 0;
	assert_non_null(told);
	for (size_t i = 0; i < n; i++) {
		assert_true(getline(&name, &name_size, told) > 0 && getline(&line, &line_size, told) > 0);
		name[strcspn(name, "\n")] = 0;
		if (!names[i].name || n_starting_at(o, names[i].vaddr) != 1)
			continue;
		assert_string_equal(names[i].name, name);
		n_compared++;
	}
	print_message("%s: %zu names as addr2line has them\n", program, n_compared);
	assert_true(n_compared > 1000);
}

static void test_addr2line(void **state)
{
	char source[256], program[256];
	write_source("c.c", source_c, source);
	build("gcc", "-static", source, program);
	int fd SP_CLOSE = open(program, O_RDONLY | O_CLOEXEC);
	struct oracle *o = oracle_new(program, false);
	struct offsets *s SP_FREE = malloc(sizeof(*s));
	struct sp_name *names SP_FREE = calloc(MAX_OFFSETS, sizeof(*names));
	struct sp_elf *e = NULL;
	assert_int_equal(sp_elf_open_fd(fd, &e), 0);
	assert_true(o && s && names);
	choose_offsets(o, s);
	assert_int_equal(sp_names_find(e, NULL, s->at, s->n, names), 0);
	compare_addr2line(o, program, names, s->n);
	sp_names_done(names, s->n);
	sp_elf_close(e);
	oracle_free(o);
}

/* A copy of this process's vDSO: a file without .symtab, at address 0. */
static void test_vdso(void **state)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	char path[256];
	if (!h) {
		printf("skip: there is no vDSO\n");
		skip();
	}
	in_scratch(path, "vdso");
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(h, 1, h->e_shoff + h->e_shnum * sizeof(Elf64_Shdr), f),
			 h->e_shoff + h->e_shnum * sizeof(Elf64_Shdr));
	assert_int_equal(fclose(f), 0);
	expect(path, "__vdso_clock_gettime", 0, "clock_gettime");
	expect(path, "__vdso_getcpu", 1, "getcpu");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_stripped_libraries),
	    cmocka_unit_test(test_ranges),
	    cmocka_unit_test(test_stripped_programs),
	    cmocka_unit_test(test_c_programs),
	    cmocka_unit_test(test_cxx_program),
	    cmocka_unit_test(test_rust_program),
	    cmocka_unit_test(test_aliases),
	    cmocka_unit_test(test_section_less),
	    cmocka_unit_test(test_nothing_there),
	    cmocka_unit_test(test_addr2line),
	    cmocka_unit_test(test_vdso),
	};
	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ELF objects in the memory of a process (our own): their symbols, and lists and objects that lie. */
#include "base/error.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "symbol/jit_names.h"
#include "test.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct entry {
	struct entry *next, *previous;
	const void *object;
	uint64_t size;
};
/* As debuggers look for it. */
struct descriptor {
	uint32_t version, action;
	struct entry *relevant, *first;
};
extern struct descriptor __jit_debug_descriptor;
struct descriptor __jit_debug_descriptor = {.version = 1};

struct object {
	Elf64_Ehdr header;
	Elf64_Shdr sections[4];
	Elf64_Sym symbols[4];
	char strings[64];
};

static void symbol(struct object *o, size_t i, size_t name, const char *text, uint64_t value, uint64_t size)
{
	memcpy(o->strings + name, text, strlen(text) + 1);
	o->symbols[i] = (Elf64_Sym){.st_name = (uint32_t)name,
				    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				    .st_shndx = 1,
				    .st_value = value,
				    .st_size = size};
}

/* Code at this address: f with a size, g without one, and a label in f that is none of a function. */
static struct object object_at(uint64_t at)
{
	struct object o = {
	    .header = {.e_type = ET_REL,
		       .e_machine = EM_X86_64,
		       .e_shoff = offsetof(struct object, sections),
		       .e_shentsize = sizeof(Elf64_Shdr),
		       .e_shnum = 4},
	    .sections = {
		[1] = {.sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = at, .sh_size = 0x200},
		[2] = {.sh_type = SHT_SYMTAB,
		       .sh_offset = offsetof(struct object, symbols),
		       .sh_size = sizeof(o.symbols),
		       .sh_entsize = sizeof(Elf64_Sym),
		       .sh_link = 3},
		[3] = {.sh_type = SHT_STRTAB,
		       .sh_offset = offsetof(struct object, strings),
		       .sh_size = sizeof(o.strings)}}};
	memcpy(o.header.e_ident, ELFMAG, SELFMAG);
	o.header.e_ident[EI_CLASS] = ELFCLASS64;
	o.header.e_ident[EI_DATA] = ELFDATA2LSB;
	symbol(&o, 1, 1, "_ZN1a1fEv", 0, 0x100);
	symbol(&o, 2, 20, "g", 0x100, 0);
	return o;
}

static struct sp_jit_counts ask(uint64_t address, const char *name, uint64_t start, uint64_t size)
{
	SP_CLOSE int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	struct sp_jit_counts c;
	struct sp_name found;
	assert_true(memory >= 0);
	assert_int_equal(sp_jit_objects_find(memory, (uintptr_t)&__jit_debug_descriptor, &address, 1, &found, &c), 0);
	assert_int_equal(found.size, size);
	assert_int_equal(found.start, name ? start : address);
	if (name)
		assert_string_equal(found.name, name);
	else
		assert_null(found.name);
	sp_names_done(&found, 1);
	return c;
}

static void test_symbols(void **state)
{
	struct object first = object_at(0x10000), second = object_at(0x20000), linked = object_at(0x30000);
	linked.header.e_type = ET_DYN;
	linked.symbols[1].st_value = 0x30000;
	linked.symbols[2].st_value = 0x30100;
	struct entry entries[] = {{&entries[1], NULL, &first, sizeof(first)},
				  {&entries[2], &entries[0], &second, sizeof(second)},
				  {NULL, &entries[1], &linked, sizeof(linked)}};
	__jit_debug_descriptor.first = entries;
	ask(0x10000, "a::f()", 0x10000, 0x100);
	ask(0x100ff, "a::f()", 0x10000, 0x100);
	ask(0x20100, "g", 0x20100, 0x100);
	ask(0x301ff, "g", 0x30100, 0x100);
	ask(0x200, NULL, 0, 0);
	struct sp_jit_counts c = ask(0x30200, NULL, 0, 0);
	assert_int_equal(c.n, 3);
	assert_int_equal(c.n_bad, 0);
	assert_false(c.is_cut);
	__jit_debug_descriptor.first = NULL;
	ask(0x10000, NULL, 0, 0);
}

/* Whatever is false in an object, the one behind it has its names. */
static void check_bad(struct object *bad, uint64_t size, bool is_counted)
{
	struct object good = object_at(0x20000);
	struct entry entries[] = {{&entries[1], NULL, bad, size}, {NULL, &entries[0], &good, sizeof(good)}};
	__jit_debug_descriptor.first = entries;
	const uint64_t addresses[] = {0x10010, 0x20010};
	SP_CLOSE int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	struct sp_jit_counts c;
	struct sp_name found[2];
	assert_int_equal(sp_jit_objects_find(memory, (uintptr_t)&__jit_debug_descriptor, addresses, 2, found, &c), 0);
	assert_string_equal(found[1].name, "a::f()");
	assert_null(found[0].name);
	assert_int_equal(c.n_bad, is_counted);
	sp_names_done(found, 2);
}

static void test_bad(void **state)
{
	const struct object good = object_at(0x10000);
	struct object o = good;
	check_bad(&o, 10, true);
	check_bad(&o, UINT64_MAX, true);
	check_bad(&o, 65 << 20, true);
	check_bad((struct object *)16, sizeof(o), true);
	check_bad((struct object *)(UINTPTR_MAX - 4), sizeof(o), true);
	o.header.e_ident[0] = 0;
	check_bad(&o, sizeof(o), true);
	o = good;
	o.header.e_shnum = 65535;
	check_bad(&o, sizeof(o), true);
	o = good;
	o.header.e_shoff = UINT64_MAX - 8;
	check_bad(&o, sizeof(o), true);
	o = good;
	o.sections[2].sh_offset = UINT64_MAX;
	check_bad(&o, sizeof(o), true);
	o = good;
	o.sections[2].sh_size = UINT64_MAX;
	check_bad(&o, sizeof(o), true);
	o = good;
	o.sections[2].sh_link = 4;
	check_bad(&o, sizeof(o), true);
	o = good;
	o.sections[3].sh_size = sizeof(o);
	check_bad(&o, sizeof(o), true);
	o = good;
	o.sections[1].sh_size = UINT64_MAX; /* wraps around */
	check_bad(&o, sizeof(o), false);
	o = good;
	o.symbols[1].st_name = 64; /* outside of the strings */
	check_bad(&o, sizeof(o), false);
	o = good;
	o.symbols[1].st_value = 0x1000; /* outside of its section */
	check_bad(&o, sizeof(o), false);
	o = good;
	o.symbols[1].st_shndx = 4;
	check_bad(&o, sizeof(o), false);
	o = good;
	memset(o.strings, 'x', sizeof(o.strings)); /* a name without an end; g's, too */
	o.symbols[1].st_value = 0x180;
	check_bad(&o, sizeof(o), false);
}

static void test_loops(void **state)
{
	struct object o = object_at(0x10000);
	struct entry entries[] = {{&entries[1], NULL, &o, sizeof(o)}, {&entries[0], NULL, &o, sizeof(o)}};
	__jit_debug_descriptor.first = entries;
	struct sp_jit_counts c = ask(0x20000, NULL, 0, 0);
	assert_in_range(c.n, 2, 6); /* not as many as are allowed */
	assert_true(c.is_cut);
	ask(0x10000, "a::f()", 0x10000, 0x100);
	entries[0].next = (struct entry *)8; /* leads out of the memory */
	c = ask(0x20000, NULL, 0, 0);
	assert_int_equal(c.n, 1);
	/* as many bytes as are read, and no more */
	enum { LARGE = 20 << 20, N = 16 };
	struct entry many[N];
	SP_FREE char *large = calloc(1, LARGE);
	o.sections[3].sh_offset = sizeof(o);
	o.sections[3].sh_size = LARGE - sizeof(o);
	o.symbols[1].st_shndx = 0;
	memcpy(large, &o, sizeof(o));
	for (size_t i = 0; i < N; i++)
		many[i] = (struct entry){i + 1 < N ? &many[i + 1] : NULL, NULL, large, LARGE};
	__jit_debug_descriptor.first = many;
	c = ask(0x10000, NULL, 0, 0);
	assert_true(c.is_cut);
	assert_true(c.n > 8);
}

/* Lists that end in a circle of each small size, after none or some entries. */
static void test_circles(void **state)
{
	struct object o = object_at(0x10000);
	struct entry entries[40];
	for (size_t tail = 0; tail < 20; tail++)
		for (size_t circle = 1; circle <= 20; circle++) {
			size_t n = tail + circle;
			for (size_t i = 0; i < n; i++)
				entries[i] = (struct entry){&entries[i + 1 < n ? i + 1 : tail], NULL, &o, sizeof(o)};
			__jit_debug_descriptor.first = entries;
			struct sp_jit_counts c = ask(0x20000, NULL, 0, 0);
			assert_true(c.is_cut);
			assert_in_range(c.n, n, 3 * n);
		}
}

/* Symbols that hold all addresses, each with a larger address than the one before: what takes too long is cut. */
static void test_cost(void **state)
{
	enum { N = 1 << 12, SYMBOLS = 1 << 12, ROOM = N + SYMBOLS };
	SP_FREE Elf64_Sym *symbols = calloc(SYMBOLS, sizeof(*symbols));
	SP_FREE char *bytes = calloc(1, sizeof(struct object) + SYMBOLS * sizeof(*symbols));
	SP_FREE uint64_t *at = calloc(N, sizeof(*at));
	SP_FREE struct sp_name *names = calloc(N, sizeof(*names));
	struct object *o = (void *)bytes;
	struct entry entry = {.object = o, .size = sizeof(*o) + SYMBOLS * sizeof(*symbols)};
	SP_CLOSE int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	struct sp_jit_counts c;
	assert_true(memory >= 0);
	*o = object_at(0x10000);
	o->sections[1].sh_size = ROOM;
	for (size_t i = 0; i < SYMBOLS; i++) {
		symbols[i] = o->symbols[1];
		symbols[i].st_value = i;
		symbols[i].st_size = 0; /* up to the end */
	}
	o->sections[2].sh_offset = sizeof(*o);
	o->sections[2].sh_size = SYMBOLS * sizeof(*symbols);
	memcpy(bytes + sizeof(*o), symbols, SYMBOLS * sizeof(*symbols));
	for (uint64_t i = 0; i < N; i++)
		at[i] = 0x10000 + SYMBOLS + i;
	__jit_debug_descriptor.first = &entry;
	assert_int_equal(sp_jit_objects_find(memory, (uintptr_t)&__jit_debug_descriptor, at, N, names, &c), 0);
	assert_true(c.is_cut);
	sp_names_done(names, N);
	o->sections[2].sh_size /= 64;
	assert_int_equal(sp_jit_objects_find(memory, (uintptr_t)&__jit_debug_descriptor, at, N, names, &c), 0);
	assert_false(c.is_cut);
	assert_string_equal(names[N - 1].name, "a::f()");
	sp_names_done(names, N);
	__jit_debug_descriptor.first = NULL;
}

static void test_unreadable(void **state)
{
	SP_CLOSE int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	const uint64_t address = 0x1000;
	struct sp_jit_counts c;
	struct sp_name found;
	assert_true(sp_jit_objects_find(memory, 64, &address, 1, &found, &c) < 0);
	sp_error_clear();
}

/* Where this program has the descriptor, by its own file. */
static void test_descriptor(void **state)
{
	SP_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct sp_elf *e;
	uint64_t start = 0, offset = 0, distance;
	char line[512], permissions[8];
	assert_int_equal(sp_elf_open_fd(fd, &e), 0);
	FILE *maps = fopen("/proc/self/maps", "re");
	while (fgets(line, sizeof(line), maps) &&
	       !(sscanf(line, "%lx-%*x %7s %lx", &start, permissions, &offset) == 3 && permissions[2] == 'x'))
		;
	fclose(maps);
	assert_int_equal(sp_jit_descriptor_find(e, offset, &distance), 0);
	assert_int_equal(start + distance, (uintptr_t)&__jit_debug_descriptor);
	assert_int_equal(sp_jit_descriptor_find(e, UINT64_MAX, &distance), -ENOENT);
	sp_elf_close(e);
	SP_CLOSE int other = open("/bin/ls", O_RDONLY | O_CLOEXEC);
	assert_int_equal(sp_elf_open_fd(other, &e), 0);
	assert_int_equal(sp_jit_descriptor_find(e, 0x4000, &distance), -ENOENT);
	sp_elf_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_symbols),    cmocka_unit_test(test_bad),  cmocka_unit_test(test_loops),
	    cmocka_unit_test(test_circles),    cmocka_unit_test(test_cost), cmocka_unit_test(test_unreadable),
	    cmocka_unit_test(test_descriptor),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

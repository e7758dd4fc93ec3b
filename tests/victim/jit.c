/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit.c: `jit SECONDS A|B [FILE]`: code made at run time at a fixed address, with frame pointers as JIT compilers keep
 * them. A and B put other functions at the same address, and name themselves jit-A and jit-B. FILE is mapped as a
 * runtime maps its jit dump; `objects` in place of it: the code is told to debuggers, as jit_inner and jit_outer,
 * behind an object that is none.
 */
#include "victim.h"
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

enum { JIT_AT = 0x20000000, JIT_BYTES = 65536 };

/* push rbp; mov rsp,rbp; sub $SPACE,rsp; mov $TARGET,rax; call *rax; leave; ret */
VICTIM static void emit_call(uint8_t *at, uint32_t space, uint64_t target)
{
	static const uint8_t begin[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x81, 0xec};
	static const uint8_t call[] = {0xff, 0xd0, 0xc9, 0xc3};
	uint8_t *p = at;

	memcpy(p, begin, sizeof(begin));
	p += sizeof(begin);
	memcpy(p, &space, 4);
	p += 4;
	*p++ = 0x48;
	*p++ = 0xb8;
	memcpy(p, &target, 8);
	p += 8;
	memcpy(p, call, sizeof(call));
}

/* push rbp; mov rsp,rbp; mov $N,ecx; 1: dec ecx; jnz 1b; leave; ret */
VICTIM static void emit_loop(uint8_t *at, uint32_t n)
{
	static const uint8_t begin[] = {0x55, 0x48, 0x89, 0xe5, 0xb9};
	static const uint8_t end[] = {0xff, 0xc9, 0x75, 0xfc, 0xc9, 0xc3};

	memcpy(at, begin, sizeof(begin));
	memcpy(at + sizeof(begin), &n, 4);
	memcpy(at + sizeof(begin) + 4, end, sizeof(end));
}

VICTIM static void run_jit(void (*code)(void))
{
	code();
	KEEP_FRAME();
}

VICTIM static void work_a(void)
{
	burn(100000);
	KEEP_FRAME();
}

VICTIM static void work_b(void)
{
	burn(100000);
	KEEP_FRAME();
}

/* GDB's manual, "JIT Compilation Interface". */
struct jit_code_entry {
	struct jit_code_entry *next, *previous;
	const void *object;
	uint64_t size;
};
struct jit_descriptor {
	uint32_t version, action;
	struct jit_code_entry *relevant, *first;
};
extern struct jit_descriptor __jit_debug_descriptor;
struct jit_descriptor __jit_debug_descriptor = {.version = 1};

/* Two functions in one section of code, as if not linked yet. */
static struct object {
	Elf64_Ehdr header;
	Elf64_Shdr sections[4];
	Elf64_Sym symbols[3];
	char strings[24];
} object = {
    .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	       .e_type = ET_REL,
	       .e_machine = EM_X86_64,
	       .e_version = EV_CURRENT,
	       .e_shoff = offsetof(struct object, sections),
	       .e_ehsize = sizeof(Elf64_Ehdr),
	       .e_shentsize = sizeof(Elf64_Shdr),
	       .e_shnum = 4},
    .sections =
	{[1] = {.sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = JIT_AT, .sh_size = 512},
	 [2] = {.sh_type = SHT_SYMTAB,
		.sh_offset = offsetof(struct object, symbols),
		.sh_size = sizeof(object.symbols),
		.sh_entsize = sizeof(Elf64_Sym),
		.sh_link = 3},
	 [3] = {.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct object, strings),
		.sh_size = sizeof(object.strings)}},
    .symbols = {[1] = {.st_name = 1, .st_info = STT_FUNC, .st_shndx = 1, .st_value = 0, .st_size = 256},
		[2] = {.st_name = 11, .st_info = STT_FUNC, .st_shndx = 1, .st_value = 256}},
    .strings = "\0jit_inner\0jit_outer",
};

VICTIM static void tell_debuggers(void)
{
	static struct jit_code_entry good = {.object = &object, .size = sizeof(object)};
	static struct jit_code_entry bad = {.next = &good, .object = (void *)16, .size = 1 << 20};

	good.previous = &bad;
	__jit_debug_descriptor.first = &bad;
}

VICTIM static int map_dump(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED;
}

int main(int argc, char **argv)
{
	bool b;
	uint8_t *code;

	victim_start(argc, argv);
	b = victim_argument && victim_argument[0] == 'B';
	prctl(PR_SET_NAME, b ? "jit-B" : "jit-A", 0, 0, 0);
	code = mmap((void *)(uintptr_t)JIT_AT, JIT_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (code == MAP_FAILED)
		return 2;
	/* inner: calls back into the program (A), or loops in made code (B); outer calls inner; both 256 bytes apart */
	if (b)
		emit_loop(code, 100000);
	else
		emit_call(code, 32, (uintptr_t)work_a);
	emit_call(code + 256, b ? 512 : 64, (uintptr_t)code);
	if (argc > 3 && !strcmp(argv[3], "objects"))
		tell_debuggers();
	else if (argc > 3 && map_dump(argv[3]))
		return 2;
	while (going_on()) {
		run_jit((void (*)(void))(uintptr_t)(code + 256));
		if (b)
			work_b();
	}
	return 0;
}

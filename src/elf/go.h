/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * go.h: .gopclntab, the table of functions in every Go program, stripped or not.
 *
 * Go's runtime unwinds by it, so it is always there and right: it has each function's start and name, and the
 * distance from the stack pointer to the return address at each instruction. Formats of Go 1.16, 1.18 and 1.20
 * (source: Go's debug/gosym/pclntab.go and runtime/symtab.go). The whole table is read, at most SP_GO_MAX_BYTES.
 * Positions in it are checked when they are used; functions whose starts do not rise, or that are outside of the
 * file's code, are skipped. Addresses are virtual. Names live as long as the table. Errors: -ENOENT: no such table;
 * -EBADMSG: broken; -EOPNOTSUPP: another format; -EFBIG over a limit.
 */
#ifndef SP_ELF_GO_H
#define SP_ELF_GO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_GO_POPPED UINT64_MAX
enum { SP_GO_MAX_BYTES = 256 << 20, SP_GO_MAX_FUNCS = 1 << 21 };

struct sp_elf;
struct sp_go;

/* How a function uses the stack. */
enum sp_go_kind {
	SP_GO_PLAIN,
	SP_GO_ROOT,     /* the first function of a stack */
	SP_GO_SWITCH,   /* switches to another stack; its frame pointer leads to the caller's frame */
	SP_GO_SIGNAL,   /* a signal handler returns to it */
	SP_GO_INJECTED, /* a signal handler puts its frame above the interrupted one, without a call */
};
struct sp_go_func {
	uint64_t start, end; /* end: start of the next one */
	const char *name;
	uint32_t pcsp;
	enum sp_go_kind kind;
	bool is_planted; /* its start is on the stack as a return address, without a call */
};

int sp_go_open(struct sp_elf *e, struct sp_go **ret_go);
void sp_go_close(struct sp_go *g);
size_t sp_go_n_funcs(const struct sp_go *g);
/* false: the entry is invalid. */
bool sp_go_func(const struct sp_go *g, size_t i, struct sp_go_func *ret_func);
/* The end of its code, without padding. */
uint64_t sp_go_code_end(const struct sp_go *g, const struct sp_go_func *f);
/* The function at the address; padding belongs to none. */
bool sp_go_find(const struct sp_go *g, uint64_t vaddr, struct sp_go_func *ret_func);
/*
 * Calls cb for each range of the function with the distance in bytes from the stack pointer to the return address, or
 * SP_GO_POPPED: the function has popped it (syscall.rawVforkSyscall: the child, which shares the stack, overwrites it).
 * Stops when cb returns non-zero, and returns that. -EBADMSG: the function's table is broken.
 */
int sp_go_walk_stack(const struct sp_go *g, const struct sp_go_func *f,
		     int (*cb)(void *arg, uint64_t start, uint64_t end, uint64_t bytes), void *arg);

#endif

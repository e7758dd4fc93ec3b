/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * go.h: the table of functions that every Go program carries, stripped or not: .gopclntab.
 *
 * Go's runtime walks stacks by it, so that it is always there and always right: for each function its start, its name,
 * and how far the stack pointer is below the return address at each of its instructions. Formats: of Go 1.16, 1.18 and
 * 1.20 (source: Go's debug/gosym/pclntab.go and runtime/symtab.go). The whole table is read, at most SP_GO_MAX_BYTES.
 * Every position in it is checked when it is used; functions whose starts do not rise, or that lie outside the file's
 * code, are passed over. Addresses are virtual. Names live as long as the table. Errors: -ENOENT when the file has no
 * such table, -EBADMSG when it makes no sense, -EOPNOTSUPP when it is of another format, -EFBIG over a cap.
 */
#ifndef SP_ELF_GO_H
#define SP_ELF_GO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_GO_MAX_BYTES = 256 << 20, SP_GO_MAX_FUNCS = 1 << 21 };

struct sp_elf;
struct sp_go;

/* What becomes of the stack in a function. */
enum sp_go_kind {
	SP_GO_PLAIN,
	SP_GO_ROOT,     /* the first of its stack: nothing called it */
	SP_GO_SWITCH,   /* goes on on another stack; its frame pointer leads to the caller's */
	SP_GO_SIGNAL,   /* what a signal handler returns to */
	SP_GO_INJECTED, /* a signal handler puts it above what it interrupted: no call returns there */
};
struct sp_go_func {
	uint64_t start, end; /* end: where the next one begins */
	const char *name;
	uint32_t pcsp;
	enum sp_go_kind kind;
	bool is_planted; /* its start is put where a return address belongs */
};

int sp_go_open(struct sp_elf *e, struct sp_go **ret_go);
void sp_go_close(struct sp_go *g);
size_t sp_go_n_funcs(const struct sp_go *g);
/* false: this entry makes no sense. */
bool sp_go_func(const struct sp_go *g, size_t i, struct sp_go_func *ret_func);
/* Where its code ends, and padding begins. */
uint64_t sp_go_code_end(const struct sp_go *g, const struct sp_go_func *f);
/* The function that holds the address; padding is no part of it. */
bool sp_go_find(const struct sp_go *g, uint64_t vaddr, struct sp_go_func *ret_func);
/*
 * Calls back for each range of the function with how many bytes the stack pointer is below the return address. Stops
 * when cb returns non-zero, and returns that. -EBADMSG when the table of this function is broken.
 */
int sp_go_walk_stack(const struct sp_go *g, const struct sp_go_func *f,
		     int (*cb)(void *arg, uint64_t start, uint64_t end, uint64_t bytes), void *arg);

#endif

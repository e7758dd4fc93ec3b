/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kept.h: which registers are preserved by hand-written functions whose callers count their CFA from them.
 *
 * libcrypto's AES-GCM counts its CFA from rax while it calls functions of its own that do not write rax. No calling
 * convention says so, but their code does. For rows that count from such registers, the called functions are found,
 * and what each writes is collected over all branches and calls. A function that calls or jumps to an unknown address,
 * or exceeds a limit, preserves nothing. If such a row's function calls an unknown address, no function of the file
 * preserves that register.
 * A pure function from bytes, which may be hostile, to spans; linear in the code up to SP_KEPT_MAX_STEPS. Zydis
 * decodes the instructions.
 */
#ifndef SP_UNWIND_KEPT_H
#define SP_UNWIND_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SP_KEPT_MAX_STEPS = 1 << 20,     /* instructions decoded for a file */
	SP_KEPT_MAX_NEEDS = 1 << 16,     /* of a file; where there are more, nothing is kept */
	SP_KEPT_MAX_FUNCTION = 64 << 10, /* for one function and what it calls */
};

/* File offsets all. Bits of registers have their DWARF numbers. */
struct sp_kept_need { /* code whose rows count their CFA from these registers */
	uint64_t function, start, end;
	uint16_t regs;
};
struct sp_kept_needs { /* ascending, those of one function one after the other */
	struct sp_kept_need *at;
	size_t n, capacity;
	bool open; /* the last one has no end yet */
};
struct sp_kept_span { /* in this code, these registers are unchanged since the function was called */
	uint64_t start, end;
	uint16_t regs;
};
struct sp_kept {
	struct sp_kept_span *spans; /* ascending, disjoint */
	size_t n;
	uint32_t n_calls;  /* from rows that need a register */
	uint32_t n_unsure; /* of these, to functions that may not preserve it */
};

struct sp_elf;
struct sp_rule;
/* Notes that a row of a function begins; sp_kept_end(): that its last row ends. 0 or -ENOMEM. */
int sp_kept_note(struct sp_kept_needs *n, uint64_t function, uint64_t offset, const struct sp_rule *rule);
void sp_kept_end(struct sp_kept_needs *n, uint64_t offset);
/* 0 or -ENOMEM. */
int sp_kept_find(struct sp_elf *e, const struct sp_kept_needs *needs, struct sp_kept *ret_kept);
void sp_kept_done(struct sp_kept *k);
/*
 * Puts the preserved registers into the rows (priv.h); a row with several spans becomes several rows. rule_with: the
 * number of the same rule with these registers kept, or a negative errno.
 */
int sp_kept_apply(const struct sp_kept *k, uint64_t **rows, size_t *n_rows, size_t *capacity,
		  int (*rule_with)(void *arg, uint16_t rule, uint16_t regs), void *arg);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * derive_priv.h: the parts of the deriver: the code, the effect of one instruction, the exploration from one start.
 *
 * Code without an FDE is a list of islands. Positions count the bytes of all islands, so what is known of each byte (a
 * flag, a rule number) is in plain arrays. Registers have their numbers in instructions (rsp 4, rbp 5), not DWARF's.
 * struct sp_deriver owns everything. 0 or a negative errno. Which registers and which part of the stack survive a
 * call: System V x86-64 psABI 3.2.
 */
#ifndef SP_UNWIND_DERIVE_PRIV_H
#define SP_UNWIND_DERIVE_PRIV_H

#include "base/intern.h"
#include "unwind/x86_64/derive.h"
#include "unwind/x86_64/insn.h"

/* --- one instruction: insn.h --- */
/* A bit for each preserved register whose content it uses; saving and clearing them is no use. */
uint16_t sp_insn_reads_kept(const struct sp_insn *i);

/* --- code --- */
enum {
	SP_POS_DONE = 1,    /* an instruction with its final rule */
	SP_POS_DONE_IN = 2, /* the other bytes of such an instruction */
	SP_POS_TRY = 4,     /* as DONE, in the current exploration */
	SP_POS_TRY_IN = 8,
	SP_POS_HEAD = 16,   /* a block of the current exploration begins here */
	SP_POS_START = 32,  /* certainly the start of a function */
	SP_POS_MAYBE = 64,  /* its address is taken */
	SP_POS_NAMED = 128, /* the start of a function with rows */
};
#define SP_POS_NONE UINT32_MAX
struct sp_island {
	uint64_t vaddr, offset;
	uint32_t size, base; /* base: the position of its first byte */
	const uint8_t *bytes;
};
struct sp_text { /* an executable segment */
	uint64_t vaddr, offset, size;
};
struct sp_code_buffer { /* a part of the file in memory */
	uint8_t *bytes;
	uint64_t start, end;
};
struct sp_starts { /* positions */
	uint32_t *at;
	size_t n, capacity, next;
};
struct sp_open_jump { /* a computed jump, with the state in which it jumps */
	uint32_t at;  /* the position behind it */
	struct sp_state state;
};

struct sp_deriver {
	struct sp_elf *elf;
	ZydisDecoder decoder;
	struct sp_decoded *decoded; /* the last instructions, by the low bits of their positions */
	uint32_t n_decoded;         /* a power of two */
	struct sp_text *texts;
	size_t n_texts, texts_capacity;
	struct sp_island *islands; /* by vaddr */
	size_t n_islands, islands_capacity, last_island;
	uint32_t n_bytes; /* of all islands */
	uint8_t *code;
	size_t code_capacity;
	struct sp_code_buffer buffer;
	bool counting;       /* only counts what would be loaded */
	uint64_t left_out;   /* bytes of islands that are too many to load */
	uint64_t text_bytes; /* of executable segments */
	uint8_t *flags;
	uint16_t *rule_at;
	struct sp_intern *rules;
	struct sp_starts sure, maybe; /* starts that are still to be explored */
	struct sp_open_jump *jumps;
	size_t n_jumps, jumps_capacity, next_jump;
	struct sp_explorer *explorer;
	uint64_t entry; /* file offset, or UINT64_MAX */
	uint64_t n_steps;
	uint32_t n_refused;
	bool by_fp;      /* sp_derive_by_fp() */
	bool stubs_only; /* there is too much code: its PLT is looked at, and no more */
	bool cut;
};

/* The islands between `covered`; of too much, the PLT's. 0, -ENOMEM; 1: there is no such code. */
int sp_code_load(struct sp_deriver *d, const struct sp_code_span *covered, size_t n);
/* The bytes at file offsets [from, to) of a text, until the next call. */
int sp_code_read(struct sp_deriver *d, const struct sp_text *t, uint64_t from, uint64_t to, const uint8_t **ret_bytes);
struct sp_elf_section;
bool sp_code_is_plt(const struct sp_elf_section *s);
uint32_t sp_code_pos(struct sp_deriver *d, uint64_t vaddr); /* or SP_POS_NONE */
const struct sp_island *sp_code_island(struct sp_deriver *d, uint32_t pos);
/* NULL: no instruction. It holds until the next one is decoded, also by sp_code_padding(). */
const struct sp_insn *sp_code_decode(struct sp_deriver *d, const struct sp_island *i, uint32_t pos);
uint32_t sp_code_padding(struct sp_deriver *d, const struct sp_island *i, uint32_t pos); /* its length, from pos on */

int sp_starts_add(struct sp_deriver *d, struct sp_starts *to, uint64_t vaddr);
int sp_starts_find(struct sp_deriver *d, const struct sp_code_span *covered, size_t n); /* all that the file tells */

/*
 * Why a position is taken for a start. SURE: it is called, so no proof is needed. The others must reach a proper end:
 * GUESS: its address is taken; WEAK: it is behind padding; INNER: it is no start, but reached by a computed jump.
 */
enum sp_trust { SP_TRUST_SURE, SP_TRUST_GUESS, SP_TRUST_WEAK, SP_TRUST_INNER };
/* Explores from pos, in this state (NULL: a function's start). 1: it has rows now; 0: refused; or -ENOMEM. */
int sp_explore(struct sp_deriver *d, uint32_t pos, const struct sp_state *state, enum sp_trust trust);
void sp_explorer_free(struct sp_explorer *x);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * point.h: which instruction of which functions of a file is to be probed.
 *
 * A breakpoint in the wrong place kills or corrupts: in data, inside an instruction, at an instruction that the kernel
 * cannot run elsewhere. So a function gets a point only if all that can be told says that code is there; each reason
 * for a refusal has a counter. Of the instructions that run exactly once a call, before the first branch, the point is
 * the one that costs the kernel least. Calls that land in one place are one point with several names.
 * A pure function from a file, which may be hostile, to points, so that a worker without privileges can run it. It
 * reads what sp_elf_read() allows for; memory is a small multiple of the file's code and symbols. An IFUNC is resolved
 * to all functions that its resolver can choose: which of them a process calls depends on its processor and
 * environment. 0 or a negative errno, with a message: -ENOENT: nothing there that can be probed, and what is named like
 * it, or why not; -EINVAL: no function begins at an address. The set owns all its strings. No state but the structs.
 */
#ifndef SP_PROBE_POINT_H
#define SP_PROBE_POINT_H

#include "base/arena.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_elf;

enum {
	SP_POINT_REACH = 128,    /* a point is less than so far behind its function's beginning */
	SP_POINT_MAX_LENGTH = 15 /* of its instruction */
};

/* How the kernel runs the instruction under the breakpoint; of a hit's time that is the most: some 0.7, 0.5 or 9 us. */
enum sp_probe_cost { SP_PROBE_EMULATED, SP_PROBE_NOP5, SP_PROBE_STEPPED, SP_PROBE_N_COSTS };

enum { SP_PROBE_REGISTERS = 1 << 6 };
struct sp_probe_what {
	const char *const *globs;  /* of names, as fnmatch() knows them */
	size_t n_globs;            /* with n_addresses 0: 0 means all functions */
	const uint64_t *addresses; /* virtual addresses, as in "libz.so.1+0x4970" */
	size_t n_addresses;
	bool inner;        /* functions that are not exported, too: of .symtab, .eh_frame, Go's table */
	bool or_inner;     /* these, if none that is exported can be probed */
	bool returns;      /* the return address is on top of the stack at the point */
	bool return_probe; /* ... and the kernel is to replace it: only where that breaks nothing */
	bool no_throw;     /* no exception passes through what is asked for, whatever else the file has */
	bool ends;         /* where calls end, in place of where they begin: points without names, each a `ret` */
	bool any_glob;     /* globs that match nothing are no error, unless none does */
	bool nop5_is_fast; /* this kernel replaces a nop of 5 bytes by a call (Linux 6.18) */
	uint8_t arguments; /* bit i: argument i must still be in its register; SP_PROBE_REGISTERS: so must all be */
};

struct sp_probe_point {
	uint64_t offset;          /* where the breakpoint goes, in the file */
	uint64_t function;        /* where the function begins, in the file */
	uint64_t address;         /* there, by the file's symbol tables */
	const char *name;         /* that of names[0]; NULL: it has none and is called by its address */
	const char *const *names; /* of all symbols at this address, and of IFUNCs that lead here; the set's */
	uint32_t n_names;
	uint8_t cost;   /* enum sp_probe_cost */
	uint8_t pushed; /* the return address is so many bytes above the stack pointer */
	uint8_t length; /* of the instruction there */
	int32_t jump;   /* so far from it lies where it may jump to; 0 = nowhere */
	bool loops;     /* its code jumps back to the point, so turns of a loop count like calls */
};

/* Why a function has no point. */
enum sp_probe_refusal {
	SP_PROBE_NO_CODE,     /* outside of every executable segment or section */
	SP_PROBE_PLT,         /* a stub that leads elsewhere */
	SP_PROBE_UNDECODABLE, /* its bytes are no instructions up to its end, or it runs on into other code's middle */
	SP_PROBE_UNCOVERED, /* without unwind information, unlike its neighbours, and no symbol that its code bears out
			     */
	SP_PROBE_INSIDE,    /* begins inside an instruction of another function */
	SP_PROBE_PREFIX,    /* every possible instruction has a lock or segment prefix, which the kernel refuses */
	SP_PROBE_OPCODE,    /* ... or is one that the kernel cannot run elsewhere */
	SP_PROBE_IFUNC,     /* a resolver that does not tell what it chooses from */
	/* For return probes. */
	SP_PROBE_ASTRAY,  /* it keeps or asks for its return address, or unwinds from there */
	SP_PROBE_UNWOUND, /* exceptions may pass through it */
	SP_PROBE_N_REFUSALS
};

struct sp_probe_left_out {
	uint64_t function; /* where it begins, in the file */
	uint8_t why;       /* enum sp_probe_refusal */
};

struct sp_probe_set {
	struct sp_probe_point *points; /* by offset, each once */
	size_t n;
	size_t n_functions;                  /* that were asked for, by address */
	size_t n_aliases;                    /* names beyond the first of a point */
	size_t n_ifuncs;                     /* resolvers, in place of which what they choose from is probed */
	size_t n_ifuncs_unsure;              /* of these: what they choose may also lie elsewhere (in the vDSO) */
	size_t refused[SP_PROBE_N_REFUSALS]; /* functions */
	size_t n_cost[SP_PROBE_N_COSTS];     /* points by enum sp_probe_cost */
	size_t n_moved;                      /* points behind their function's first instruction */
	size_t n_loops;                      /* points with .loops */
	bool is_go;                          /* stacks of Go move, so that a call's end cannot be probed */
	struct sp_probe_left_out *left_out;  /* by function; those that have a place in the file */
	size_t n_left_out;
	const char **names;
	struct sp_arena strings;
};

int sp_probe_points(struct sp_elf *elf, const struct sp_probe_what *what, struct sp_probe_set *ret_set);
void sp_probe_set_done(struct sp_probe_set *set);
const char *sp_probe_refusal_text(enum sp_probe_refusal why);

#endif

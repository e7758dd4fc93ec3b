/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: the functions of a file, and what is found out about those that are wanted.
 *
 * A function is a file offset in an executable segment. functions.c lists them, names.c says which are wanted,
 * x86_64/code.c reads their code, point.c makes points of it. Where functions overlap each byte is decoded once, in the
 * region from one start to the next, so that time and memory follow the file's size whatever its symbols say.
 * struct sp_functions owns everything. 0 or a negative errno.
 */
#ifndef SP_PROBE_PRIV_H
#define SP_PROBE_PRIV_H

#include "probe/point.h"

enum {
	SP_FN_EXPORTED = 1,
	SP_FN_SYMBOL = 2,
	SP_FN_RANGE = 4,    /* an FDE or a derived function begins here */
	SP_FN_FDE = 8,      /* ... an FDE, or a function of Go's table */
	SP_FN_COVERED = 16, /* lies in an FDE or a derived function */
	SP_FN_IFUNC = 32,   /* a resolver */
	SP_FN_WANTED = 64,
	SP_FN_PLT = 128,
	/* Found out by decoding its region, which ends at `end` or at the next function. */
	SP_FN_BAD = 256,     /* no instructions, or no end */
	SP_FN_INSIDE = 512,  /* begins inside an instruction of the one before */
	SP_FN_OPEN = 1024,   /* has a jump that may lead anywhere */
	SP_FN_ODD = 2048,    /* has instructions that programs hardly ever have, but data often */
	SP_FN_CALLS = 4096,  /* goes elsewhere */
	SP_FN_ASTRAY = 8192, /* its name is one of those that a return probe would break */
};
struct sp_function { /* file offsets */
	uint64_t start, end;
	uint32_t flags, wanted; /* wanted: its place in that list */
};

enum { SP_MAX_CANDIDATES = 3 };
struct sp_candidate {
	uint8_t behind, length, cost, pushed;
	int32_t jump;
	bool saves; /* it saves a register for its caller, so nothing jumps back to it */
};
struct sp_probe_wanted {
	size_t function;
	uint64_t limit; /* code jumps here, or another function begins: a point must lie before */
	struct sp_candidate candidates[SP_MAX_CANDIDATES]; /* ascending by place, each cheaper than the one before */
	uint8_t n_candidates;
	uint8_t refusal; /* enum sp_probe_refusal, if there are no candidates: why its first instruction is none */
	bool is_bad, is_open, is_odd, calls; /* as the flags, for all regions of the function */
	bool loops;                          /* it jumps to its own beginning */
};

struct sp_link { /* a resolver may choose this function */
	uint64_t resolver, target;
};
struct sp_functions {
	struct sp_elf *elf;
	struct sp_function *at; /* by start, each start once */
	size_t n, capacity;
	uint64_t *labels; /* other places in code that symbols name; ascending */
	size_t n_labels, labels_capacity;
	uint64_t *no_code; /* virtual addresses of wanted symbols where no code is */
	size_t n_no_code, no_code_capacity;
	struct sp_probe_wanted *wanted; /* by function */
	size_t n_wanted, wanted_capacity;
	struct sp_link *links; /* by resolver */
	size_t n_links, links_capacity;
	size_t n_ifuncs, n_unsure, n_unresolved;
	bool derived; /* the list has derived functions, too */
	bool is_go;
	bool unwinds; /* the file is of a language with exceptions */
};

/* functions.c. */
int sp_functions_find(struct sp_functions *f);
int sp_functions_derive(struct sp_functions *f); /* adds them, if they are not there yet */
struct sp_function *sp_functions_at(const struct sp_functions *f, uint64_t start); /* NULL = none begins here */
void sp_functions_want(struct sp_functions *f, uint64_t start);                    /* nothing if none begins here */
int sp_functions_list_wanted(struct sp_functions *f); /* makes the list of those that are marked */
void sp_functions_done(struct sp_functions *f);
/* The file offset of code at a virtual address; false: there is none. */
bool sp_code_offset(const struct sp_elf *e, uint64_t vaddr, uint64_t *ret_offset);

/* names.c. */
/* -ENOENT: no name is meant, which is found out before anything else is. */
int sp_names_try(struct sp_functions *f, const struct sp_probe_what *what);
int sp_names_want(struct sp_functions *f, const struct sp_probe_what *what);
int sp_names_attach(struct sp_functions *f, const struct sp_probe_what *what, struct sp_probe_set *set);

/* x86_64/code.c: fills in what is wanted, and flags of regions. */
int sp_code_examine(struct sp_functions *f, const struct sp_probe_what *what);
/*
 * x86_64/resolver.c: in place of each wanted IFUNC, whatever its resolver can choose is wanted: functions whose
 * addresses its code takes. Fills in the links and counts.
 */
int sp_resolvers_follow(struct sp_functions *f);

/* x86_64/ends.c: in place of the wanted functions' beginnings, the instructions by which their calls end. */
int sp_ends_find(struct sp_functions *f, struct sp_probe_set *ret_set);

/* returns.c: what a return probe would break. */
int sp_returns_examine(struct sp_functions *f);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * audit.h: the audit library, which ld.so loads into programs (LD_AUDIT) and which counts their calls.
 *
 * References to functions of the counted libraries lead to trampolines (trampolines.S), each with a record here. This
 * process has tables of objects (libraries and programs), of records, and of call sites; counts are in the shared file
 * (link/format.h). All memory is static. The program must not notice a failure: if there is no room, a reference is
 * left as it is. ld.so calls most functions under its lock. sp_count_call() and la_symbind64() are called by any thread
 * and in signal handlers, so they take no lock, and claim memory by compare-and-swap. Of the project's code only
 * link/format.h, link/blocks.h and link/buckets.h may be included.
 */
#ifndef SP_AUDIT_AUDIT_H
#define SP_AUDIT_AUDIT_H

#include <elf.h>
#include <link.h>

#include "audit/shared.h"
#include "audit/sys.h"
#include "audit/x86_64/layout.h"
#include "link/blocks.h"

#pragma GCC visibility push(hidden)

/* --- objects --- */
enum { SP_OBJECTS = 1024, SP_CODE_RANGES = 6 };
struct sp_range {
	uint64_t low, high;
};
struct sp_object {
	struct sp_range whole; /* high is 0 while the place is free */
	uint64_t bias;
	const Elf64_Phdr *phdrs;
	Elf64_Dyn *dynamic;
	const char *path, *soname, *strings;
	const Elf64_Sym *symbols;
	const Elf64_Rela *relocations, *slots; /* slots: of its PLT */
	const uint8_t *build_id;
	struct sp_range code[SP_CODE_RANGES], relro;
	uint32_t n_phdrs, n_relocations, n_slots, build_id_len, n_code;
	uint32_t shared_id;            /* 0: not in the file yet */
	uint64_t size_bytes, mtime_ns; /* only without a build id */
	uint32_t init;                 /* its constructor stub + 1; 0: none */
	uint8_t is_target, is_program, is_linker,
	    unpatched;       /* unpatched: ld.so has not relocated it yet, as far as we know */
	bool has_static_tls; /* or may take it */
	uint64_t tls_bytes, tls_align;
	const uint32_t *names;                            /* DT_GNU_HASH */
	uint64_t got;                                     /* what its code may know as _GLOBAL_OFFSET_TABLE_; 0: none */
	uint64_t init_function, init_array, n_init_array; /* as they were */
};
extern uint64_t sp_linker;                            /* where ld.so is; 0: the kernel has started it as the program */
extern const char *sp_program_path, *sp_program_file; /* as it was executed: of a script, that; its own file */
extern struct sp_object sp_objects[SP_OBJECTS];
extern uint32_t sp_n_objects; /* places that were ever used */
/* NULL: no room, or not an object that can be understood. */
struct sp_object *sp_object_open(const struct link_map *map);
void sp_object_close(struct sp_object *o);
struct sp_object *sp_object_at(uint64_t address);
/* Whose code this is, of the counted libraries; NULL. */
struct sp_object *sp_target_at(uint64_t address);
const Elf64_Sym *sp_object_defines(const struct sp_object *o, const char *name); /* NULL: it does not */
bool sp_object_has_code(const struct sp_object *o, uint64_t address);
const char *sp_last_part(const char *path);
bool sp_list_has(const char *list, const char *name);                   /* names with one comma between */
uint64_t sp_object_offset(const struct sp_object *o, uint64_t address); /* in its file */
uint32_t sp_object_id(struct sp_object *o);                             /* in the shared file; 0: no room */

/* --- records: one for each trampoline --- */
struct sp_site {
	uint64_t key,
	    base; /* return address, counters; in the table of all sites the record's tag is in the key, too */
};
struct sp_counted_ref {
	uint64_t target; /* where it leads */
	union {
		uint64_t base; /* by object: counters of its row; 0: not known yet */
		uint64_t tag;  /* by site: its number << 48 */
	};
	struct sp_site sites[SP_REF_N_SITES]; /* that came first */
};
_Static_assert(sizeof(struct sp_counted_ref) == SP_REF_BYTES, "as trampolines.S has it");
struct sp_counted_ref_info { /* of a record, by its number: what calls do not need once they are known */
	const char *name;
	uint32_t function;      /* id in the shared file; 0: not known yet */
	uint16_t owner, callee; /* into sp_objects */
	uint16_t state, flags;  /* flags: SP_CALLS_FUNCTION_* */
};
extern struct sp_counted_ref sp_counted_refs[SP_TRAMPOLINES];
/* The address of a trampoline to target, or 0 if there is none left. */
uint64_t sp_trampoline_new(struct sp_object *owner, struct sp_object *callee, uint64_t target, const char *name,
			   uint32_t flags);
const struct sp_object *sp_trampoline_owner(uint64_t trampoline);
void sp_trampoline_free(uint64_t trampoline); /* not reported to anybody */
uint32_t sp_trampolines_used(void);           /* ever */
/* What no longer can be called, because o goes away. */
void sp_trampolines_close(const struct sp_object *o);

/* --- call sites that were seen: read by trampolines.S --- */
extern struct sp_site sp_sites[SP_SITES + SP_SITE_TRIES + 1];
/* Counters (of slot 1) of a part of the record's function; 0: no room. */
uint64_t sp_part_counters(uint32_t number, uint64_t part);
/* Counts a call that the trampoline could not count alone. */
void sp_count_call(struct sp_counted_ref *r, uint64_t return_address);
/* Removes the parent's counters from a child of fork, where processes are told apart. */
void sp_counters_forget(void);

/* --- glob.c: which functions are counted --- */
/* As fnmatch(3) without flags has it, in the C locale and without classes of characters. */
bool sp_audit_glob_matches(const char *glob, size_t len, const char *name);
/* Whether one of the list's globs, with commas between, is the name or matches it; an empty list means all. */
bool sp_globs_match(const char *list, const char *name);

/* --- references that no binding shows --- */
/* After ld.so has relocated o: leads its GLOB_DAT words, or the stubs that call by them, to trampolines, where that is
 * safe. before_code: none of its code can be running yet. */
void sp_patch(struct sp_object *o, bool before_code);
/* The address of callee's function escapes: calls by it are not seen. */
void sp_note_taken(struct sp_object *callee, uint64_t value, const char *name, uint32_t flags);
/* How each word of [low, high) is used by o's code: SP_USED_* by (address - low) / 8; and where its stubs lie. */
enum { SP_USED_CALL = 1, SP_USED_ADDRESS = 2, SP_USED_STUB = 4 };
void sp_scan_code(const struct sp_object *o, struct sp_range words, uint8_t *ret_uses, struct sp_range *ret_stubs);

/* --- again.c: programs that need more static TLS --- */
/* What the kernel put on the stack, and whether we have executed the program. */
bool sp_again_begin(uint64_t *stack);
extern char sp_again_name[16]; /* what the process was called before; "": it is the first time */
/* Of the libraries that a program begins with: does not return if it is executed again. */
void sp_again_opened(const struct sp_object *o);

/* --- x86_64/stub.c: the jumps of .plt.got --- */
struct sp_stubs { /* of an object */
	struct sp_range range;
	uint64_t next, open_page;
};
/* Whether this jump is one of a stub, as linkers make them; looks at 5 bytes before it and 8 from it on. */
bool sp_stub_is(const uint8_t *jump);
/* Has the stub of the word go by a word of its own to a trampoline. False: nothing was changed. */
bool sp_stub_lead(struct sp_object *o, struct sp_stubs *s, uint64_t word, uint64_t trampoline);
void sp_stubs_done(struct sp_stubs *s); /* its code can run again */
void sp_stubs_close(const struct sp_object *o);
/* Has sp_patch called between relocation and the constructors of an object that is being opened. */
void sp_init_hook(struct sp_object *o);
void sp_init_unhook(struct sp_object *o);
uint64_t sp_init(uint32_t number, uint64_t argc, uint64_t argv, uint64_t environment);

#pragma GCC visibility pop

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * format.h: the file in which programs count their calls, shared by the audit library, which runs inside them without
 * a libc, and the user half (file.h), which makes and reads it. Described in man/soprof-calls.5. Little-endian,
 * x86-64.
 *
 * Header, directory of blocks, blocks. The file has its full size from the beginning and is sparse; a block's bytes
 * are allocated before its state becomes READY, so that a full disk never causes SIGBUS in a program. Records are
 * written once: their state becomes READY last and never changes again. Nothing is removed. A writer takes a record
 * by adding to a cursor, and publishes it by compare-and-swap in the index; a record taken by a process that was
 * killed stays unused. Counters only grow. A reader trusts nothing: it uses the directory and READY records, never
 * index and cursors, and checks every number. A record's id is (number of its block) * 512 + its index in it; 0 is
 * invalid, because block 0 belongs to the index.
 */
#ifndef SP_LINK_FORMAT_H
#define SP_LINK_FORMAT_H

#include <stdint.h>

#define SP_CALLS_MAGIC "soprofC" /* with its NUL, 8 bytes */
#define SP_CALLS_ALL "*"         /* in place of a list: every library, the dynamic linker too, and not the program */
enum {
	SP_CALLS_VERSION = 1,
	SP_CALLS_PAGE = 4096,
	SP_CALLS_MAX_BLOCKS = 4096,
	SP_CALLS_IDS = 512,    /* ids in a block */
	SP_CALLS_OBJECTS = 32, /* records in a block, of each kind */
	SP_CALLS_FUNCTIONS = 512,
	SP_CALLS_ROWS = 512,
	SP_CALLS_BYTES = 65536, /* of a block of names and verdicts */
	SP_CALLS_LEVELS = 10,   /* of the index: 4,096 words, and each twice as many as the one before */
	SP_CALLS_LEVEL_0 = 4096,
	SP_CALLS_TRIES = 8, /* words of a level in which a key may stand */
	SP_CALLS_MAX_SLOTS = 4097,
	SP_CALLS_TARGETS = 2048, /* bytes of the list of libraries */
	SP_CALLS_GLOBS = 1024,   /* bytes of the list of functions */
	SP_CALLS_BUILD_ID = 32,
	SP_CALLS_MAX_NAME = 4095,
	SP_CALLS_LEAST = SP_CALLS_PAGE + SP_CALLS_MAX_BLOCKS * 16, /* bytes of header and directory */
};
enum sp_calls_state { SP_CALLS_FREE, SP_CALLS_TAKEN, SP_CALLS_READY };
enum sp_calls_depth { SP_CALLS_BY_OBJECT = 1, SP_CALLS_BY_SITE };
enum sp_calls_kind {
	SP_CALLS_INDEX = 1,
	SP_CALLS_OBJECT,
	SP_CALLS_FUNCTION,
	SP_CALLS_ROW,
	SP_CALLS_NAME,
	SP_CALLS_PROCESS,
	SP_CALLS_KINDS
};
enum sp_calls_apart { SP_CALLS_TOGETHER, SP_CALLS_BY_PROCESS, SP_CALLS_BY_THREAD };

/* Counters of programs. */
enum sp_calls_counter {
	SP_CALLS_N_PROCESSES,    /* programs that began to count */
	SP_CALLS_N_FOLDED_SITES, /* call sites counted in their function's row without caller, for want of rows */
	SP_CALLS_N_NO_ROOM,      /* references not counted because a table in the program was full */
	SP_CALLS_N_NO_BLOCK,     /* blocks that could not be allocated: disk or file full */
	SP_CALLS_N_LOST_CALLS,   /* calls of functions without a record, because the file is full */
	SP_CALLS_N_UNCOUNTED,    /* programs not counted for want of static TLS */
	SP_CALLS_N_AGAIN,        /* programs executed again with more static TLS */
	SP_CALLS_N_UNTIMED,      /* programs counted, but not timed, from some moment on */
	SP_CALLS_COUNTERS = 16,
};

struct sp_calls_header {
	char magic[8];
	uint32_t version, header_bytes; /* sizeof(this) */
	uint64_t size_bytes;            /* of the file */
	uint64_t created_ns;            /* wall clock */
	uint32_t n_slots;               /* counters of a row: [0] by locked instructions, [1 + CPU] by that CPU alone */
	uint32_t depth;                 /* enum sp_calls_depth, of programs that start from now on */
	uint64_t counters[SP_CALLS_COUNTERS];
	/* For writers only. */
	uint64_t used_bytes;
	uint64_t n_blocks;
	uint64_t cursors[8];            /* by kind: number of the block * 2^32 + part of it that is taken */
	uint64_t index[16];             /* offsets of its levels, 0 = not allocated */
	char targets[SP_CALLS_TARGETS]; /* sonames (or last components of paths), comma-separated, NUL-terminated */
	char functions[SP_CALLS_GLOBS]; /* globs of functions, as in targets; "" = all */
	uint64_t apart;                 /* enum sp_calls_apart, of programs that start from now on */
	uint64_t run;                   /* of several runs of soprof that share the file, the latest */
	uint64_t ticks_hz, is_timed;    /* buckets.h; is_timed: of programs that start from now on */
	uint8_t reserved[SP_CALLS_PAGE - 72 - 8 * (SP_CALLS_COUNTERS + 2 + 8 + 16) - SP_CALLS_TARGETS - SP_CALLS_GLOBS];
};
_Static_assert(sizeof(struct sp_calls_header) == SP_CALLS_PAGE, "one page");

/* SP_CALLS_MAX_BLOCKS of these follow the header. Blocks begin at multiples of SP_CALLS_PAGE. */
struct sp_calls_block {
	uint8_t state, kind; /* enum sp_calls_state, sp_calls_kind */
	uint8_t level;       /* of the index */
	uint8_t reserved[5];
	uint64_t offset;
};

/* A library or program. Distinct by build id; without one by path, size and mtime. */
enum { SP_CALLS_OBJECT_TARGET = 1, SP_CALLS_OBJECT_PROGRAM = 2, SP_CALLS_OBJECT_PATH_CUT = 4 };
struct sp_calls_object {
	uint32_t state, flags;
	uint32_t build_id_len;
	uint32_t n_verdicts; /* GLOB_DAT relocations whose use in the code was examined */
	uint8_t build_id[SP_CALLS_BUILD_ID];
	uint64_t size_bytes, mtime_ns; /* only without a build id */
	uint64_t verdicts;             /* offset of a byte for each, 0 = not known yet; for writers */
	uint32_t n_by_address;         /* references to counted functions not counted: address taken */
	uint32_t n_mixed;              /* the same: one word both read and called through */
	uint32_t n_words;              /* words of data with a counted function's address */
	uint32_t stubs;                /* offset / 8 of the range of its .plt.got; 0 = none known; for writers */
	char soname[64], path[360];    /* NUL-terminated; path as in ld.so, cut on the left if longer */
};
_Static_assert(sizeof(struct sp_calls_object) == 512, "a power of two");

/* A function of a counted library. Distinct by object, offset and name: memcpy and memmove may have one address. */
enum { SP_CALLS_FUNCTION_ADDRESS_TAKEN = 1, SP_CALLS_FUNCTION_IFUNC = 2, SP_CALLS_FUNCTION_NAME_CUT = 4 };
enum { SP_CALLS_FUNCTION_UNTIMED = 8 }; /* never timed: setjmp, dlsym and the like */
struct sp_calls_function {
	uint32_t state, flags;
	uint32_t object, name_len;
	uint64_t offset; /* in the library's file; of an IFUNC: of the code chosen */
	uint64_t name;   /* offset in this file of the symbol's name; no NUL */
};

/* A program in a process, or a thread of it, or a forked child. Not distinct: each adds its own. */
struct sp_calls_process {
	uint32_t state, pid; /* pid 0: not known */
	uint32_t program;    /* object */
	uint32_t tid;        /* 0 = not by thread */
	char name[16];       /* comm when it began; NUL-terminated */
};

/*
 * Calls of a function by a caller. caller: the object with the reference (0: called by address, or no row for the
 * site). site_object, site_offset: the return address (object 0: no file there; both 0: by object, or no row for the
 * site). If site_object is not the caller, or its code before site_offset calls something else, it was a tail call.
 */
struct sp_calls_row {
	uint32_t state, function;
	uint32_t caller, site_object;
	uint64_t site_offset;
	uint32_t process; /* 0 = not by process */
	uint32_t part;    /* what it counts: buckets.h; 0: calls */
};
/* A block of rows: SP_CALLS_ROWS of them, then n_slots pages of counters: counter of row r in slot s is word [s][r]. */

#endif

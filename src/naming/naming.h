/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * naming.h: finds names for sampled frames: answers the questions of symbol/symbol.h for commands that sample.
 *
 * sp_naming_start() begins and never waits. The caller's loop polls the workers' descriptor, dispatches, and calls
 * sp_naming_step() each time until it says that all is named; sp_naming_run() does all of this and waits. The state is
 * in struct sp_naming_work.
 * A worker writes a file's functions once into a name table (symbol/name_table.h), which is used from then on: on disk
 * for files that may have entries (base/entries.h), for others in memory files of this run. Files too large for a
 * table are parsed for each question, and so are files of which little is asked, if n_asks_first is set. The worker
 * gets the file as it was mapped and, if that is stripped, its debug file, which is found by build id and debug link,
 * in debug_dirs and under /usr/lib/debug, at our paths and those of a process that had the file mapped. It is used
 * only if the build ids are equal (and the CRC, for a debug link). If a debug file cannot be used, the file's own
 * names are, and its note tells so.
 * Memory without a file is named by what its process tells: a jit dump or perf map, both opened when it was first
 * seen, or, while it runs, its objects for debuggers. Workers open and read everything. The caller owns the struct,
 * set to zero except for what he wants, and the workers, capture and profile in it. 0 or a negative errno. One thread.
 */
#ifndef SP_NAMING_NAMING_H
#define SP_NAMING_NAMING_H

#include "naming/name_share.h"
#include "symbol/source_lines.h"
#include "symbol/symbol.h"
#include <stdio.h>

struct sp_capture;
struct sp_entries;
struct sp_name_scratch;
struct sp_name_table;
struct sp_named_file;
struct sp_named_path;
struct sp_naming_work;
struct sp_profile;
struct sp_workers;

struct sp_naming_stats {
	uint64_t n_found;           /* tables that were there */
	uint64_t n_made, n_private; /* that were made; of which kept for this run only */
	uint64_t n_asked;           /* questions that a parser answered */
	uint64_t made_bytes;
	uint64_t n_kernel;    /* how often the kernel's symbols were read into a table */
	uint64_t n_unfetched; /* debug files that servers did not give in time, or that were not asked for since */
};

struct sp_naming {
	struct sp_workers *workers;
	struct sp_capture *capture; /* whose files they are; NULL: only debug files are looked for, or see by_path */
	bool by_path; /* without a capture: the files are those at their paths, where the build id is the same */
	struct sp_profile *profile;
	const char *debug_dirs; /* with colons between; NULL = none but the usual */
	uint32_t *pids;         /* by file: of a process that has had it mapped; made when first asked for */
	size_t n_pids;
	FILE *kallsyms; /* opened by a process that may see addresses; the caller's */
	/*
	 * A worker makes a table of the kernel's symbols once, and again, at most every SP_NAMING_KERNEL_S seconds,
	 * when an address is in none of them: modules and BPF programs come and go. False: they are read for each
	 * question, which suits a caller that asks once.
	 */
	bool keeps_kernel;
	const char *cache; /* directory of tables; NULL = the default one, "" = none */
	struct sp_entries *entries;
	struct sp_named_path *paths; /* by number in the profile: the files themselves, with by_path */
	size_t n_paths;
	struct sp_named_file *files; /* by number in the profile */
	size_t n_files;
	struct sp_name_scratch *scratch;
	struct sp_name_table *kernel; /* made when first asked for */
	uint64_t kernel_ns;           /* when */
	unsigned kernel_again_s;      /* 0; the first one failed: it is asked for again so long after kernel_ns */
	char kernel_failure[128];     /* why there is none; "" = there is, or it was not asked for */
	uint64_t renewed_ns;          /* when the profile took another's place; 0 = never */
	struct sp_naming_without {
		uint64_t ino;
		uint32_t dev;
	} * without; /* files that have no list of JIT code */
	size_t n_without, without_capacity;
	struct sp_naming_stats stats;
	/*
	 * NULL, or asked before a file is parsed for its names, with the user in whose process it was met, the number
	 * of its samples, and how many bytes are to be read; false: not now, its frames are put off. Not asked for the
	 * kernel. And told what it cost.
	 */
	bool (*may_parse)(void *arg, uint32_t uid, uint64_t n_samples, uint64_t bytes);
	void (*parsed)(void *arg, uint32_t uid, uint64_t cpu_ns);
	void *may_parse_arg;
	/*
	 * At most so many questions about a file, one for each MiB of it, go to a parser before a table of all its
	 * functions is made: one question about a large file costs a small part of a table. 0: the table is made at
	 * once, which suits a caller that asks once.
	 */
	unsigned n_asks_first;
	/*
	 * So long the files of a session that lasts are waited for that are still being identified: what they are
	 * called, and their build ids, are not known before. 0: not at all.
	 */
	unsigned identify_ms;
	uint64_t identify_until_ns; /* CLOCK_MONOTONIC; 0: that is over */
	bool shortens_names;        /* to SP_NAME_SHORT bytes */
	struct sp_name_share share; /* of each user's long names */
	bool with_lines;            /* DWARF is wanted, too */
	bool no_fetch;              /* debuginfod is not asked */
	bool is_over;               /* nothing more is waited for: what has no name yet gets none */
	char *urls;                 /* of debuginfod servers; "" = none; found when first asked for */
	uint64_t fetch_ns;          /* the time that they took in this run, of $DEBUGINFOD_MAXTIME */
	uint64_t fetch_again_ns;    /* CLOCK_BOOTTIME: they are not asked before, since the time of a run was over */
	const char *fetch_failure;  /* why; NULL: they answered since, or were never asked */
	/* Told when debuginfod begins to be asked for a library, and with NULL when that is over. May be NULL. */
	void (*fetching)(const char *library);
	struct sp_namer namer;
	struct sp_naming_work *work; /* the current question */
};
enum { SP_NAMING_KERNEL_S = 600 };

/* So many samples had frames without names in this file. */
void sp_naming_met(struct sp_naming *n, uint32_t file, uint64_t n_samples);
void sp_naming_start(struct sp_naming *n);
/* 1: it waits for a worker; 0: the frames are named that the profile had when the first question was asked. */
int sp_naming_step(struct sp_naming *n);
void sp_naming_done(struct sp_naming *n);
/*
 * Another profile takes the place of naming's, in the same session, with other numbers for the same files: what is
 * known of those is kept, and a debug file that was not there is looked for again if that was a while ago. Or it is the
 * same one, renewed (profile/window.h). Not while something is being named.
 */
int sp_naming_renew(struct sp_naming *n, struct sp_profile *fresh);

/* debuginfod's servers are found anew, and may be asked at once: after a reload. */
void sp_naming_fetch_reset(struct sp_naming *n);

/* These wait, and are not for loops: start and step to the end; the answer to one question; */
int sp_naming_run(struct sp_naming *n);
int sp_naming_resolve(struct sp_naming *n, const struct sp_name_question *q);
/* the resolver of symbol/source_lines.h; */
int sp_naming_source_lines(void *naming, uint32_t file, const uint64_t *offsets, size_t n,
			   struct sp_source_lines *sources);
/* which places of a file keep a frame pointer by their code, ascending: they come first then; */
int sp_naming_verify(struct sp_naming *n, uint32_t file, uint64_t *places, size_t *n_places);
/* the descriptor of the debug file of the file in fd, or -1: it needs none, or there is none that can be used. */
int sp_debug_file_find(struct sp_naming *n, uint32_t file, int fd);

/*
 * The servers, with spaces between, and, where that is not NULL, the variable or the files that name them, likewise.
 * Both the caller's; NULL: out of memory; "": none.
 */
char *sp_debuginfod_urls(char **ret_where);

#endif

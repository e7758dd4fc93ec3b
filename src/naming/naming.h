/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * naming.h: where names come from, for who samples: the resolver of symbol/symbol.h.
 *
 * A file's functions are written down once, by a worker that parses it (symbol/name_table.h), and looked up from then
 * on, in this run and in later ones: the tables of files that may have entries (base/entries.h) are kept on disk, those
 * of others in memory files of this run. Only a file that is too large for a table is parsed at each question, and one
 * of which little is asked, for who may not spend much (n_asks_first).
 * A worker gets the file as it was mapped and, if its own symbol table is
 * stripped, its separate debug file. That is looked for by build id and by debug link, in debug_dirs and under
 * /usr/lib/debug, by our paths and by those of a process that had the file mapped, and it is the file's only if the
 * build ids are equal (and the CRC, for a debug link). A debug file that is there but cannot be used costs its names,
 * is told in the file's note, and what the file itself says is used. Memory without a file is named by what its process
 * tells of it: a jit dump, a perf map (both held since it was first seen, if they were there), or, while it runs, the
 * objects that it keeps in its memory for debuggers. Everything is opened and read by workers. The struct
 * belongs to the caller, who sets it to zero but for what he wants; workers, capture and profile are his, too.
 * One thread.
 */
#ifndef SP_NAMING_NAMING_H
#define SP_NAMING_NAMING_H

#include "symbol/names.h"
#include "symbol/source_lines.h"
#include <stdio.h>

struct sp_capture;
struct sp_entries;
struct sp_name_scratch;
struct sp_name_table;
struct sp_named_file;
struct sp_named_path;
struct sp_profile;
struct sp_workers;

struct sp_naming_stats {
	uint64_t n_found;           /* tables that were there */
	uint64_t n_made, n_private; /* that were made; of which kept for this run only */
	uint64_t n_asked;           /* questions that a parser answered */
	uint64_t made_bytes;
	uint64_t n_kernel; /* how often the kernel's symbols were read */
};

struct sp_naming {
	struct sp_workers *workers;
	struct sp_capture *capture; /* whose files they are; NULL: only debug files are looked for, or see by_path */
	bool by_path; /* without a capture: the files are those at their paths, where the build id is the same */
	struct sp_profile *profile;
	const char *debug_dirs; /* with colons between; NULL = none but the usual */
	uint32_t *pids;         /* by file: of a process that has had it mapped; made when first asked for */
	size_t n_pids;
	FILE *kallsyms;    /* for sp_naming_kernel(); opened by who may see addresses; the caller's */
	const char *cache; /* directory of tables; NULL = the default one, "" = none */
	struct sp_entries *entries;
	struct sp_named_path *paths; /* by number in the profile: the files themselves, with by_path */
	size_t n_paths;
	struct sp_named_file *files; /* by number in the profile */
	size_t n_files;
	struct sp_name_scratch *scratch;
	struct sp_name_table *kernel; /* made when first asked for */
	uint64_t kernel_ns;           /* when */
	uint64_t renewed_ns;          /* when the profile took another's place; 0 = never */
	struct sp_naming_without {
		uint64_t ino;
		uint32_t dev;
	} * without; /* files that have no list of made code */
	size_t n_without, without_capacity;
	struct sp_naming_stats stats;
	/*
	 * NULL, or asked before a file is parsed for its names, with the samples that were told of it: false: not now,
	 * and sp_naming_resolve() says -EAGAIN. The kernel's are not asked for.
	 */
	bool (*may_parse)(void *arg, uint64_t n_samples);
	void *may_parse_arg;
	/*
	 * At most so many questions about a file, one for each MiB of it, are asked of a parser before a table of all
	 * its functions is made: a question about a large one costs a small part of that. 0: it is made at once, which
	 * is right for who asks but once.
	 */
	unsigned n_asks_first;
	bool with_lines;   /* DWARF is wanted, too */
	bool no_fetch;     /* debuginfod is not asked, or not any more */
	char *urls;        /* of debuginfod servers; "" = none; found when first asked for */
	uint64_t fetch_ns; /* the time that it has taken */
	/*
	 * In place of waiting for the workers: waits for their descriptor among others, dispatches, and returns at
	 * times. What it does must not ask for names. May be NULL.
	 */
	void (*meanwhile)(void *arg);
	void *meanwhile_arg;
	/* Told when debuginfod begins to be asked for a library, and with NULL when that is over. May be NULL. */
	void (*fetching)(const char *library);
};

/* So many samples had frames without names in this file. */
void sp_naming_met(struct sp_naming *n, uint32_t file, uint64_t n_samples);
int sp_naming_resolve(void *naming, uint32_t file, const uint64_t *offsets, size_t n, struct sp_name *names);
/*
 * The resolver's for the kernel: by a table of the symbols in kallsyms, which a worker makes once, and again, at most
 * every SP_NAMING_KERNEL_S seconds, when an address lies in none of them: modules and BPF programs come and go.
 */
enum { SP_NAMING_KERNEL_S = 600 };
int sp_naming_kernel(void *naming, const uint64_t *addresses, size_t n, struct sp_name *names);
/* The resolver of symbol/source_lines.h. */
int sp_naming_source_lines(void *naming, uint32_t file, const uint64_t *offsets, size_t n,
			   struct sp_source_lines *sources);
void sp_naming_done(struct sp_naming *n);
/*
 * Another profile takes the place of naming's, in the same session, with other numbers for the same files: what is
 * known of those is kept, and a debug file that was not there is looked for again if that was a while ago.
 */
int sp_naming_renew(struct sp_naming *n, struct sp_profile *fresh);

/* debug_file.c: the descriptor of the file's debug file, or -1: it needs none, or there is none that can be used. */
int sp_debug_file_find(struct sp_naming *n, uint32_t file, int fd);
/* fetch.c: the same from debuginfod servers, if there are any and the time for all of them is not over. */
int sp_debug_file_fetch(struct sp_naming *n, uint32_t file, const uint8_t *build_id, uint32_t build_id_len);
/*
 * The servers, with spaces between, and, where that is not NULL, the variable or the files that name them, likewise.
 * Both the caller's; NULL: out of memory; "": none.
 */
char *sp_debuginfod_urls(char **ret_where);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * naming.h: where names come from, for who samples: the resolver of symbol/symbol.h.
 *
 * Names of a file's functions are asked from a worker, with the file as it was mapped and, if its own symbol table is
 * stripped, its separate debug file. That is looked for by build id and by debug link, in debug_dirs and under
 * /usr/lib/debug, by our paths and by those of a process that had the file mapped, and it is the file's only if the
 * build ids are equal (and the CRC, for a debug link). A debug file that is there but cannot be used costs its names,
 * is told in the file's note, and what the file itself says is used. Memory without a file is named by the perf map
 * that its process has written, or held when it was first seen. Everything is opened and read by workers. The struct
 * belongs to the caller, who sets it to zero but for what he wants; workers, capture and profile are his, too.
 * One thread.
 */
#ifndef SP_NAMING_NAMING_H
#define SP_NAMING_NAMING_H

#include "symbol/names.h"
#include "symbol/sources.h"

struct sp_capture;
struct sp_open_result;
struct sp_profile;
struct sp_workers;

struct sp_naming {
	struct sp_workers *workers;
	struct sp_capture *capture; /* whose files they are; NULL: only debug files are looked for */
	struct sp_profile *profile;
	const char *debug_dirs; /* with colons between; NULL = none but the usual */
	uint32_t *pids;         /* by file: of a process that has had it mapped; made when first asked for */
	size_t n_pids;
	int *debug_fds; /* by file: 0 = not looked for yet, -1 = none */
	size_t n_debug_fds;
	bool with_lines;   /* DWARF is wanted, too */
	bool no_fetch;     /* debuginfod is not asked, or not any more */
	char *urls;        /* of debuginfod servers; "" = none; found when first asked for */
	uint64_t fetch_ns; /* the time that it has taken */
	/* Told when debuginfod begins to be asked for a library, and with NULL when that is over. May be NULL. */
	void (*fetching)(const char *library);
};

int sp_naming_resolve(void *naming, uint32_t file, const uint64_t *offsets, size_t n, struct sp_name *names);
/* The resolver of symbol/sources.h. */
int sp_naming_sources(void *naming, uint32_t file, const uint64_t *offsets, size_t n, struct sp_sources *sources);
void sp_naming_done(struct sp_naming *n);

/* debug_file.c: the descriptor of the file's debug file, or -1: it needs none, or there is none that can be used. */
int sp_debug_file_find(struct sp_naming *n, uint32_t file, int fd);
/* fetch.c: the same from debuginfod servers, if there are any and the time for all of them is not over. */
int sp_debug_file_fetch(struct sp_naming *n, uint32_t file, const uint8_t *build_id, uint32_t build_id_len);
/*
 * The servers, with spaces between, and, where that is not NULL, the variable or the files that name them, likewise.
 * Both the caller's; NULL: memory is short; "": none.
 */
char *sp_debuginfod_urls(char **ret_where);
/* A process that has had the file mapped, or 0. */
uint32_t sp_naming_pid(struct sp_naming *n, uint32_t file);
/* Why something that might have given names has not, into the file's note. Keeps a note that is there. */
void sp_naming_note(struct sp_naming *n, uint32_t file, const char *what, int r);
/* Where the answer of one request for names goes, by way of sp_naming_came(). */
struct sp_naming_wait {
	struct sp_naming *naming;
	uint32_t file;
	struct sp_name *names;
	size_t n;
	int r;
	bool done;
};
void sp_naming_came(void *wait, int r, struct sp_name *names, size_t n, const char *warning);
/* perf_map.c: names of memory without a file. -ENOENT: its process has written no map. */
int sp_naming_map(struct sp_naming *n, uint32_t file, const uint64_t *offsets, size_t n_offsets, struct sp_name *names);
/* Waits until *done. */
int sp_naming_wait(struct sp_naming *n, const bool *done);
/*
 * A file that was asked for: sp_naming_opened() is the callback, and sp_naming_fd() waits for it, where asking said
 * `asked`. The descriptor, the caller's, or a negative errno.
 */
struct sp_naming_open {
	int r, fd;
	uint32_t uid; /* whose it is */
	bool done;
};
void sp_naming_opened(void *open, struct sp_open_result *result);
int sp_naming_fd(struct sp_naming *n, int asked, struct sp_naming_open *open);

#endif

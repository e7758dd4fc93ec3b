/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobs_names.h: requests to workers about names: of a file's functions, of JIT code, and for debug files.
 *
 * Queueing, callbacks and ownership are as in worker.h: descriptors given stay the caller's, those received belong to
 * the callback. Answers are checked before the callback gets them: what is said about an offset must contain it.
 * Negative errno with sp_error_text() in the callback. Not thread-safe.
 */
#ifndef SP_WORKER_JOBS_NAMES_H
#define SP_WORKER_JOBS_NAMES_H

#include "elf/debug.h"
#include "symbol/count.h"
#include "symbol/jit_names.h"
#include "symbol/name_table.h"
#include "symbol/source_lines.h"
#include "worker/worker.h"

/* What it has of debug information; with_crc: and its CRC-32, for which all of it is read. */
int sp_workers_debug(struct sp_workers *w, int fd, bool with_crc,
		     void (*done)(void *arg, int r, const struct sp_elf_debug *debug, uint32_t crc), void *arg);
/* What there is to name its code by; counts NULL on failure. */
int sp_workers_count(struct sp_workers *w, int fd,
		     void (*done)(void *arg, int r, const struct sp_symbol_counts *counts), void *arg);
/*
 * warning: what there is, but could not be used, or NULL. names belong to the callback, which ends them with
 * sp_names_done() and free(). debug_fd: the file's separate debug file, or -1. An answer of SP_WORKER_NO_DEBUG means
 * that the debug file cannot be read: ask again without.
 */
enum { SP_WORKER_NO_DEBUG = -EILSEQ };
int sp_workers_names(struct sp_workers *w, int fd, int debug_fd, const uint64_t *offsets, size_t n,
		     void (*done)(void *arg, int r, struct sp_name *names, size_t n, const char *warning), void *arg);
/* The same for variables (symbol/data.h): addresses of the file's symbol tables in place of offsets. */
int sp_workers_data_names(struct sp_workers *w, int fd, int debug_fd, const uint64_t *vaddrs, size_t n,
			  void (*done)(void *arg, int r, struct sp_name *names, size_t n, const char *warning),
			  void *arg);
/*
 * All functions of a file, as a table of names in table_fd, a new file open to be read and written. Of `head` the part
 * is read that its writer needs; head NULL in the callback on failure, and then the new file is good for nothing.
 */
int sp_workers_spans(struct sp_workers *w, int fd, int debug_fd, int table_fd, const struct sp_name_table_head *head,
		     void (*done)(void *arg, int r, const struct sp_name_table_head *head), void *arg);
/* The same of /proc/kallsyms, opened by a process that may see addresses: names as sp_kallsyms_walk() gives them. */
int sp_workers_kernel(struct sp_workers *w, int fd, int table_fd,
		      void (*done)(void *arg, int r, const struct sp_name_table_head *head), void *arg);
/* Source lines, of the debug file's DWARF or else the file's own. -ENOENT: there is none. The callback's, as names are.
 */
void sp_workers_want_lines(void); /* before the broker and workers are made, which load libdw for it */
int sp_workers_source_lines(struct sp_workers *w, int fd, int debug_fd, const uint64_t *offsets, size_t n,
			    void (*done)(void *arg, int r, struct sp_source_lines *sources, size_t n), void *arg);
/* Which of these places, ascending, keep a frame pointer by their code (unwind/verify.h): some of them, ascending. */
int sp_workers_verify(struct sp_workers *w, int fd, const uint64_t *places, size_t n,
		      void (*done)(void *arg, int r, const uint64_t *places, size_t n), void *arg);
/* Names of JIT code, from one of what tells of it (symbol/jit_names.h): addresses in place of offsets. */
int sp_workers_jit_names(struct sp_workers *w, enum sp_jit_source source, int fd, uint64_t asked,
			 const uint64_t *addresses, size_t n,
			 void (*done)(void *arg, int r, struct sp_name *names, size_t n, const char *warning),
			 void *arg);
/* Where a file has GDB's descriptor of such objects: as far above where its byte `offset` is mapped. */
int sp_workers_jit_descriptor(struct sp_workers *w, int fd, uint64_t offset,
			      void (*done)(void *arg, int r, uint64_t distance), void *arg);
/*
 * The caller of a frame of code that was made at run time (unwind/x86_64/jit.h). question: its instruction pointer, its
 * stack pointer, the return address that the frame pointer leads to (or 0), and up to SP_JIT_WORDS words of the stack.
 * frame: struct sp_jit_frame, cfa in the low half; cfa 0: that return address stands behind a call.
 */
int sp_workers_jit_frame(struct sp_workers *w, int memory, const uint64_t *question, size_t n,
			 void (*done)(void *arg, int r, uint64_t frame), void *arg);
/*
 * What it takes to step through HotSpot's code (unwind/hotspot_image.h): of a process's code cache, by places in it.
 * The image is the callback's, NULL on failure.
 */
struct sp_hotspot;
struct sp_image;
int sp_workers_jit_image(struct sp_workers *w, int memory, const struct sp_hotspot *h, const uint64_t *places, size_t n,
			 size_t n_leaves, void (*done)(void *arg, int r, struct sp_image *image), void *arg);

/*
 * A debug file from the debuginfod servers in `urls`, by build id, by a process that may use the network and nothing
 * else; the descriptor is not known to be what was asked for. -ENOENT: no server has it.
 */
struct sp_fetch_request {
	const char *urls;
	const uint8_t *build_id;
	uint32_t build_id_len;
	unsigned deadline_ms;
};
int sp_workers_fetch(struct sp_workers *w, const struct sp_fetch_request *q,
		     void (*done)(void *arg, struct sp_open_result *result), void *arg);

#endif

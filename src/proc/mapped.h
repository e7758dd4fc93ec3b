/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mapped.h: which files are mapped executable by which processes now, as /proc/PID/maps tells.
 *
 * Only /proc is read, never the files. Each process is read as a stream, by a thread of its own kind: the kernel lets
 * readers of a process's mappings wait while that process changes them, and one whose file system does not answer then
 * makes them wait for ever; past a deadline the process is left out and counted, and a new thread goes on with the
 * next. What is no file but the kernel's own memory (memfd, shared memory, /dev/zero) is counted and left out. Every
 * cap has a counter: SP_MAPPED_MAX_BYTES of a process's lines, files of all, uses of all. A process that ends meanwhile
 * is no error; one that we may not look into is counted. Strings live as long as the answer, which is the caller's.
 * Errors: negative errno with sp_error_text(). Thread-safe for different answers.
 */
#ifndef SP_PROC_MAPPED_H
#define SP_PROC_MAPPED_H

#include <stddef.h>
#include <stdint.h>

enum { SP_MAPPED_MAX_BYTES = 16 << 20, SP_MAPPED_MAX_FILES = 1 << 17, SP_MAPPED_MAX_USES = 1 << 22 };

/* One file as one mount namespace sees it. */
struct sp_mapped_file {
	const char *path; /* as /proc shows it, " (deleted)" included */
	uint64_t ino;
	uint64_t mount_ns; /* 0 = not known */
	uint32_t dev;      /* major << 20 | minor, as maps shows it, which need not be what stat says */
	uint32_t n_uses;
};

struct sp_mapped_process {
	uint32_t pid, uid;
	uint64_t start_ticks; /* since boot, in clock ticks: /proc/PID/stat */
	const char *comm;
	const char *cgroup; /* of version 2, else of systemd's, else of any; "" = none */
};

/* A process has a file mapped; its first executable mapping. */
struct sp_mapped_use {
	uint32_t process, file; /* indices */
	uint64_t start, end;
};

struct sp_mapped {
	struct sp_mapped_process *processes;
	struct sp_mapped_file *files;
	struct sp_mapped_use *uses; /* by process, and within one by address */
	size_t n_processes, n_files, n_uses;
	uint64_t n_refused;  /* processes that we may not look into */
	uint64_t n_ended;    /* while we looked */
	uint64_t n_stuck;    /* that did not let us look in time */
	uint64_t n_memory;   /* mappings of the kernel's own memory */
	uint64_t n_left_out; /* mappings beyond a cap */
};

struct sp_mapped_options {
	const uint32_t *pids; /* NULL = all that /proc shows */
	size_t n_pids;
	uint32_t without;     /* this process and its children are left out; 0 = none */
	const char *proc;     /* NULL = /proc */
	unsigned deadline_ms; /* of one process; 0 = 1,000 */
};

/* o may be NULL. A pid that does not exist counts as ended. */
int sp_mapped_read(const struct sp_mapped_options *o, struct sp_mapped **ret_mapped);
void sp_mapped_free(struct sp_mapped *m);

#endif

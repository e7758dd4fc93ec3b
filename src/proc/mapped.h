/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mapped.h: which processes have mapped which files as executable, from /proc/PID/maps.
 *
 * Only /proc is read, never the files. A helper thread reads each process, because maps can block: readers wait while
 * the process changes its mappings, which may take forever if a file system does not answer. After a deadline the
 * process is skipped and counted, and a new thread goes on with the next. Mappings of kernel memory (memfd, shared
 * memory, /dev/zero) are skipped and counted. Each limit has a counter: SP_MAPPED_MAX_BYTES of lines per process,
 * files, uses. A process that ends meanwhile is not an error; one that may not be read is counted. Strings live as long
 * as the result, which is the caller's.
 * Errors: negative errno with sp_error_text(). Thread-safe for different results.
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
	uint32_t dev;      /* major << 20 | minor, as in maps, which can differ from stat(2) */
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
	uint64_t n_refused;  /* processes that may not be read */
	uint64_t n_ended;    /* processes that ended meanwhile */
	uint64_t n_stuck;    /* processes past the deadline */
	uint64_t n_memory;   /* mappings of kernel memory */
	uint64_t n_left_out; /* mappings beyond a limit */
};

struct sp_mapped_options {
	const uint32_t *pids; /* NULL = all that /proc shows */
	size_t n_pids;
	uint32_t without;     /* leaves out this process and its children; 0 = none */
	const char *proc;     /* NULL = /proc */
	unsigned deadline_ms; /* of one process; 0 = 1,000 */
};

/* o may be NULL. A pid that does not exist counts as ended. */
int sp_mapped_read(const struct sp_mapped_options *o, struct sp_mapped **ret_mapped);
void sp_mapped_free(struct sp_mapped *m);

#endif

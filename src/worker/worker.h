/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * worker.h: processes that open and parse foreign files, and that may crash or hang.
 *
 * A parser has no privileges: no capabilities, uid and gid nobody if started by root, and a seccomp filter that allows
 * read, pread, fstat, memory, the clock, its socket and exit. It has limits (RLIMIT_AS, NOFILE, no core, no files
 * written), and gets descriptors over a socket pair. Every answer is validated here (sp_blob_validate) before use. A
 * crash or a missed deadline costs the file that was being parsed, whose note tells so; the process is replaced. An
 * opener keeps four capabilities (SYS_PTRACE, DAC_READ_SEARCH, CHECKPOINT_RESTORE, PERFMON), and hands out nothing but
 * what is read here (served.c). A file on a hostile FUSE mount can block it for ever, even against SIGKILL: after the
 * deadline it is abandoned (at most SP_WORKER_ABANDONED are) and replaced. The caller opens and parses nothing foreign.
 *
 * Requests are queued, and answered in any order through their callbacks, from sp_workers_dispatch() in the caller's
 * thread. A callback may queue more, but not dispatch or free. Descriptors given stay the caller's (they are
 * duplicated); descriptors, blobs and names received belong to the callback. Not thread-safe. Linux only.
 */
#ifndef SP_WORKER_WORKER_H
#define SP_WORKER_WORKER_H

#include "base/entries.h"
#include "bpf/wire.h"
#include "elf/package.h"
#include "symbol/names.h"
#include "unwind/build.h"
#include <errno.h>
#include <stdint.h>
#include <sys/types.h>

enum { SP_WORKER_ABANDONED = 4, SP_WORKER_WORDS = 64, SP_WORKER_LATE = 320 };

/*
 * The first thing in main(). With a broker a worker is a copy of the broker (clone, no exec), but for the fetcher.
 * Without one it is forked and then executed again as `soprof --worker ROLE`, with its socket on descriptor 3, where
 * this call does not return. In a program that does not call it, no worker is executed again.
 */
void sp_worker_main(int argc, char **argv);
struct sp_workers;
struct sp_broker;
struct sp_workers_options {
	struct sp_broker *broker; /* starts the processes; the caller's, outlives the workers. NULL: this process */
	unsigned n_parsers;       /* 0 = one for every two CPUs, and one: 3 to 5; started on first use */
	bool shortens_names;      /* parsers cut names of functions, as sp_name_shorten() does */
	unsigned deadline_ms, open_deadline_ms, max_cpu_ms; /* a file (0 = 10 s); an open (0 = 2 s); a file's CPU */
};

#define SP_OPEN_ANY_GENERATION 0xffffffffu /* in a key: the generation is not known */

/* How to find a file that the kernel half has announced. */
struct sp_open_request {
	pid_t pid; /* a process that has it mapped: /proc/PID/map_files/START-END */
	uint64_t start, end;
	/*
	 * What is opened has this inode number, size and time of change (the device may look different to stat), else
	 * -ESTALE; and open_by_handle_at finds it when the process has gone (needs CAP_DAC_READ_SEARCH; ext4, xfs,
	 * btrfs and others that make handles of inode number and generation). All zero = not known: whatever is mapped
	 * there. Without size and time of change the inode number (and the generation, where files tell it) has to do.
	 * Refused with -EACCES is what may never answer, since even close(2) could then hang whoever holds it:
	 * fuse, nfs, cifs, 9p, ceph and the like, and overlays over them. The key's dev names the file system below an
	 * overlay. Without a key it may be given alone, as /proc/PID/maps shows it; where that is the overlay itself,
	 * layers are looked for among the mounts, and believed only if the process is of our own user namespace (with a
	 * key, as root, the file below is opened by its inode).
	 */
	struct sp_file_key key;
	/*
	 * What the mapping calls it, "" = not known. A handle may lead to another hard link: then the path is "". Where
	 * start and end are 0: the first executable mapping of a file with this name. Then without a key.
	 */
	char name[SP_NAME_LEN];
	/*
	 * Not what is mapped, but what its path leads to now, from the top of the process's mounts: -EALREADY the same
	 * file, -ENOENT nothing (ctime_ns: when the directory changed last, 0 = not known).
	 */
	int now;
	/*
	 * What the mapping's path was, or NULL: looked for where map_files cannot be followed, in what the process
	 * (once it has gone: in what we) can see. A program that was deleted is found by /proc/PID/exe. Needs a key.
	 */
	const char *path;
};
/*
 * A file by its path: from the top of the mount namespace of pid (0: ours); or, in_root, from where the process itself
 * begins its paths, and then a link in the place of the file is not followed.
 */
struct sp_open_path {
	const char *path;
	pid_t pid;
	int in_root;
};
struct sp_open_result {
	int r;      /* 0 or negative errno; -ENOEXEC: it is no ELF file, which is all that is told of it: no fd */
	int fd;     /* readable, close-on-exec; the callback's; -1 on failure */
	char *path; /* where the link pointed, " (deleted)" taken off; free it; NULL on failure (not -ENOEXEC) */
	int deleted;
	uint32_t uid, mode, nlink;
	struct sp_file_state state; /* without a sample */
	uint64_t size;
	int is_ours; /* the top of the process's mounts is ours: what our package manager says of the path counts */
};
struct sp_identify_result {
	int r;
	uint8_t build_id[32];
	uint32_t build_id_len;             /* 0 = none */
	uint64_t sample;                   /* sp_elf_sample(), if it has no build id */
	char *soname;                      /* NULL = none; the callback's */
	struct sp_elf_package package;     /* as the file says; no name = it does not */
	uint64_t image_vaddr, image_bytes; /* its first byte, by its symbol tables; all of it in memory */
};

int sp_workers_new(const struct sp_workers_options *o, struct sp_workers **ret_workers);
void sp_workers_free(struct sp_workers *w); /* ends the processes; unanswered callbacks get -ECANCELED */

int sp_workers_open(struct sp_workers *w, const struct sp_open_request *q,
		    void (*done)(void *arg, struct sp_open_result *result), void *arg);
int sp_workers_open_path(struct sp_workers *w, const struct sp_open_path *q,
			 void (*done)(void *arg, struct sp_open_result *result), void *arg);
int sp_workers_identify(struct sp_workers *w, int fd, void (*done)(void *arg, struct sp_identify_result *id),
			void *arg);
/* blob NULL on failure, with r and sp_error_text(r) (e.g. "parser failed", "parser took over 10 s"). */
int sp_workers_build(struct sp_workers *w, int fd, void (*done)(void *arg, int r, struct sp_blob *blob), void *arg);
/*
 * What was asked of the parsers with this arg goes before all that is less urgent and that none of them has been given
 * yet. Builds have the urgency 0, names 1; what takes little, and what a process that may end is read for, comes
 * first, and has a parser of its own where there are several.
 */
void sp_workers_hurry(struct sp_workers *w, const void *arg, uint32_t urgency);
/* -ECANCELED to what was asked with this arg and is with no process yet. In a callback: the CPU time of its job. */
void sp_workers_cancel(struct sp_workers *w, const void *arg);
uint64_t sp_workers_called_ns(const struct sp_workers *w);
/* An epoll's descriptor, and the time until the nearest deadline (-1 = none waits). */
int sp_workers_fd(const struct sp_workers *w);
int sp_workers_timeout_ms(const struct sp_workers *w);
/* Sends what is queued, takes in what has come, enforces deadlines, calls back. Never blocks. */
int sp_workers_dispatch(struct sp_workers *w);
/* Dispatches until nothing is outstanding or timeout_ms have passed (-ETIMEDOUT). */
int sp_workers_wait(struct sp_workers *w, int timeout_ms);
unsigned sp_workers_outstanding(const struct sp_workers *w);

struct sp_workers_stats {
	uint64_t n_crashed, n_late, n_abandoned, n_unstarted; /* unstarted: they could not be started */
	char crashed[SP_WORKER_WORDS], late[SP_WORKER_LATE];  /* how the last of them ended; late: at which file */
	int unstarted;               /* why the last of n_unstarted could not: a negative errno */
	uint64_t cpu_ns, parsers_ns; /* of workers, those that ended included, and of the broker; of parsers */
	uint64_t peak_bytes; /* the most that the processes that were there at one time have had, each by its VmHWM */
	uint64_t own_bytes;  /* of those that are there, what they do not share with this process */
};
void sp_workers_stats(const struct sp_workers *w, struct sp_workers_stats *ret_stats);
/* cpu_ns alone, which costs little. */
uint64_t sp_workers_cpu_ns(const struct sp_workers *w);

#endif

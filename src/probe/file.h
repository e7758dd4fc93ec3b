/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file.h: the files that are meant where a user names a library or program whose functions are to be probed.
 *
 * A probe sits on a file, not on a name. A name stands for every file with that identity which a process has mapped
 * now: copies in containers and chroots, deleted ones, those from before an upgrade; and for the one that a program
 * started here would load. One file is one inode: what several overlays show of it is there once.
 * Files are opened and identified by workers (worker/worker.h), which refuse what may never answer. Names: a soname or
 * file name, a path, a build id (8 hex digits or more), a package, or PID:NAME, for one process alone, of which PID:*
 * is all. The result is the caller's, with its descriptors and strings. Needs the right to read other processes'
 * mappings. -ENOENT: there is no such file; the message has the nearest name. -EINVAL: the name is none, or a build
 * id's beginning stands for several. No state; not thread-safe.
 */
#ifndef SP_PROBE_FILE_H
#define SP_PROBE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sp_workers;

enum sp_probe_named { SP_PROBE_BY_NAME, SP_PROBE_BY_PATH, SP_PROBE_BY_BUILD_ID, SP_PROBE_BY_PACKAGE, SP_PROBE_ALL };

struct sp_probe_name {
	enum sp_probe_named by;
	const char *text; /* points into what was parsed */
	uint32_t pid;     /* 0: of any process */
	uint8_t build_id[32];
	uint32_t build_id_len; /* in hex digits */
};

struct sp_probe_file {
	int fd; /* for reading; the path to attach by is /proc/self/fd/N, wherever the file is or was */
	dev_t dev;
	ino_t ino;
	uint64_t size, ctime_ns;
	uint8_t build_id[32];
	uint32_t build_id_len; /* 0 = none */
	char *soname;          /* "" = none */
	char *path;            /* as a process that maps it shows it, else as it is here */
	char *package;         /* as the file says, or the package manager where it was asked; "" = not known */
	bool is_deleted;
	bool is_overlay; /* seen through an overlay, which may show another device */
	uint32_t *pids;  /* that map it; none: it waits for its first mapping */
	size_t n_pids, pids_capacity;
	uint64_t cpu_ns; /* that workers took to open and identify it */
	uint64_t user;   /* of one that came later: who mapped it first (probe/later.h) */
};

enum { SP_PROBE_MAX_FILES = 1024 }; /* of one name */
struct sp_probe_files {
	struct sp_probe_name name;
	char *real_path; /* what name.text points to, where a path was given; else NULL */
	struct sp_probe_file *files;
	size_t n, capacity;
	size_t n_unread;  /* files that could be meant, but could not be opened or identified */
	char *unread;     /* which, and why; of several the first; NULL: none */
	uint64_t n_stuck; /* processes that could not be read: struct sp_mapped's n_refused and n_stuck */
};

/* *ret_name points into text. */
int sp_probe_name_parse(const char *text, struct sp_probe_name *ret_name);
/* Whether a file that appears at this path (" (deleted)" included) could be meant: it has to be looked at. */
bool sp_probe_name_may_be(const struct sp_probe_name *name, const char *path);
/* Whether a file is meant, by what was found out about it. */
bool sp_probe_name_is(const struct sp_probe_name *name, const struct sp_probe_file *file);

/*
 * What a user asks to be probed: LIBRARY, LIBRARY:FUNCTION, LIBRARY+0xADDRESS, usdt:LIBRARY:NAME and
 * usdt:LIBRARY:PROVIDER:NAME, where LIBRARY is such a name. A path may have colons.
 */
struct sp_probe_asked {
	char *library;                   /* holds the texts of the others */
	const char *function, *provider; /* globs; NULL = none is named. function: of a USDT probe its name */
	uint64_t address;
	bool is_usdt, has_address;
};
int sp_probe_asked_parse(const char *text, struct sp_probe_asked *ret_asked);
void sp_probe_asked_done(struct sp_probe_asked *asked);
/* Gives back r, but for -ENOENT -EINVAL with the same message: what is not there is a mistake in its name. */
int sp_probe_mistake(int r);

/* named must outlive the result. w: NULL = workers are made, and ended, by this call. */
int sp_probe_files(const char *named, struct sp_workers *w, struct sp_probe_files *ret_files);
/* Adds a file that appeared later; it is taken over, or closed if it is there already. 1: it is new. -E2BIG: too many.
 */
int sp_probe_files_add(struct sp_probe_files *files, struct sp_probe_file *file);
/* Whether a file that is known by device and inode alone is there; an overlay shows it under a device of its own. */
bool sp_probe_files_have(const struct sp_probe_files *files, const struct sp_probe_file *file);
/*
 * Opens and identifies what a process has mapped there, later, from sp_workers_dispatch(). The file is the looker's,
 * who may keep it (and then leaves an empty one, with fd -1); r: 0, or why there is none.
 */
int sp_probe_file_look(struct sp_workers *w, uint32_t pid, uint64_t start, uint64_t end,
		       void (*looked)(void *arg, int r, struct sp_probe_file *file), void *arg);
/* A copy, with a descriptor of its own. */
int sp_probe_file_copy(const struct sp_probe_file *file, struct sp_probe_file *ret_copy);
void sp_probe_file_done(struct sp_probe_file *file);
void sp_probe_files_done(struct sp_probe_files *files);

#endif

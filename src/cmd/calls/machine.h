/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine.h: `soprof calls` without a command: counts calls in every process, by probes.
 *
 * machine.c runs it: what is named becomes probes (machine_targets.c), which count in the kernel; what was counted
 * becomes rows of function and who called (machine_rows.c), whose callers are named by workers (machine_callers.c), and
 * tables of these (machine_show.c, machine_export.c, machine_tell.c). Functions have numbers, which files of one build
 * share. 0 or a negative errno with sp_error_text(). One thread.
 */
#ifndef SP_CMD_CALLS_MACHINE_H
#define SP_CMD_CALLS_MACHINE_H

#include "cmd/options.h"
#include "probe/attach.h"
#include "probe/count.h"
#include "probe/file.h"
#include "probe/later.h"
#include <stdio.h>

struct sp_broker;
struct sp_cmd;
struct sp_intern;
struct sp_show_args;
struct sp_view;
struct sp_workers;

enum sp_machine_by {
	SP_MACHINE_BY_PROCESS, /* functions and processes */
	SP_MACHINE_BY_FUNCTION,
	SP_MACHINE_BY_LIBRARY,
	SP_MACHINE_BY_CALLER,
	SP_MACHINE_BY_COMM,
	SP_MACHINE_BY_USER,
	SP_MACHINE_BY_CGROUP,
	SP_MACHINE_N_BY
};
const char *sp_machine_by_name(enum sp_machine_by by);

struct sp_machine_args {
	const struct sp_words *named;     /* LIB, LIB:GLOB, LIB+0xOFFSET */
	const struct sp_words *functions; /* globs for all that are named without their own */
	const struct sp_u32_list *pids;
	const char *comm, *cgroup, *output;
	enum sp_machine_by by;
	bool latency, csv, json, fits; /* fits: on a terminal as many rows as it shows, in place of limit */
	uint64_t seconds, interval_s;  /* 0 = none */
	uint64_t limit, max_rows;      /* max_rows: for which there is room in the kernel; 0 = by what is there */
	uint64_t max_overhead;         /* in % of a CPU; 0 = no limit */
	uint64_t frequency_hz;         /* of samples for times, which `show` shows; 0 = none */
	const struct sp_show_args *show;
	const struct sp_view *view;
};
/* The exit code. */
int sp_machine_run(const struct sp_cmd *cmd, const struct sp_machine_args *args);

/* --- machine_targets.c --- */
struct sp_machine_function {
	char *name;    /* or LIBRARY+0xADDRESS; ours, as the rest */
	char *library; /* its soname, else its file's name */
	char *path;
	char build_id[65]; /* hex, "" = none */
	uint64_t start;    /* in its file */
	bool is_stepped;   /* a probe there costs the kernel a single step */
	bool loops;        /* its turns count, too */
};
/* A place in a file, for probes that are told by it. */
struct sp_machine_point {
	uint64_t ino, offset;
	uint32_t target, file; /* its number among the target's files, where an overlay's may become the one below */
	uint32_t function;
	uint8_t pushed; /* the return address is so many bytes above the stack pointer */
	uint8_t length; /* of the instruction there */
	int32_t jump;   /* as of struct sp_probe_point */
	bool is_stepped;
};
struct sp_machine_target { /* one library, as it is named */
	const char *name;
	struct sp_words globs;
	uint64_t *addresses;
	size_t n_addresses;
	struct sp_probe_files files;
};
struct sp_machine_targets {
	struct sp_probe_asked *asked; /* hold the targets' words */
	size_t n_asked;
	struct sp_machine_target *at;
	size_t n, capacity;
	struct sp_intern *keys; /* of functions */
	struct sp_machine_function *functions;
	size_t functions_capacity;
	struct sp_machine_point *points;
	size_t n_points, points_capacity;
	struct sp_probe_link *links;
	size_t n_links, links_capacity;
	uint64_t n_refused_functions, n_refused_by_kernel, n_files;
	uint32_t max_functions;   /* for which there is room while it counts */
	bool is_waiting;          /* for a first mapping of some library */
	bool is_over;             /* no file is probed any more */
	bool has_warned;          /* which files could not be attached: once, not in each window */
	struct sp_broker *broker; /* opens what this process may not; NULL: it may */
	size_t names_bytes;       /* of the functions' strings */
};
/* Who maps files without end that cannot be probed has no more lines written than these; all are counted. */
enum { SP_MACHINE_TOLD = 8 };
int sp_machine_targets_parse(const struct sp_machine_args *a, struct sp_machine_targets *ret_targets);
/* Finds the files, and in them the functions; workers read all that is foreign. */
int sp_machine_targets_find(struct sp_machine_targets *t, const struct sp_machine_args *a, struct sp_workers *w);
/* pid: of the only process that is wanted, or 0. */
int sp_machine_targets_attach(struct sp_machine_targets *t, const struct sp_counting *counting, pid_t pid);
struct sp_machine_watch;
/* A file that came later, taken over if it is new: its functions are asked for, and probed when a worker has answered.
 */
int sp_machine_targets_add(struct sp_machine_watch *w, size_t target, struct sp_probe_file *file);
/* Detaches, and attaches again what is known by then. */
void sp_machine_targets_pause(struct sp_machine_targets *t);
int sp_machine_targets_resume(struct sp_machine_targets *t, const struct sp_counting *counting, pid_t pid);
void sp_machine_targets_detach(struct sp_machine_targets *t);
void sp_machine_targets_done(struct sp_machine_targets *t);
uint32_t sp_machine_n_functions(const struct sp_machine_targets *t);
/* The number of the function at a place in a file, or UINT32_MAX. */
uint32_t sp_machine_function_at(const struct sp_machine_targets *t, const struct sp_probed_place *place);

/* --- machine_watch.c --- */
struct sp_machine_watch {
	struct sp_probe_later *later;
	/* Set by who runs it, args at once, the others before the first turn: */
	struct sp_machine_targets *targets;
	const struct sp_machine_args *args;
	const struct sp_counting *counting;
	struct sp_workers *workers;
	pid_t pid;
	uint64_t n_added, n_failed, n_gone;
	uint64_t again_ns; /* CLOCK_MONOTONIC: new mappings wait until then */
};
/* From here on no mapping is missed, so it comes before the files are looked for; the names, when these are known. */
int sp_machine_watch_new(struct sp_machine_watch *w);
int sp_machine_watch_names(struct sp_machine_watch *w);
void sp_machine_watch_failed(struct sp_machine_watch *w, int r); /* tells of a file; r >= 0: nothing */
int sp_machine_watch_turn(struct sp_machine_watch *w);
void sp_machine_watch_done(struct sp_machine_watch *w);

#endif

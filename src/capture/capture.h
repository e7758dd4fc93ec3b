/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * capture.h: one sampling session, from a recipe to a profile (without names yet).
 *
 *   sp_capture_new()     opens and loads the recipe's programs, makes the tables      (nothing runs yet)
 *   sp_capture_start()   attaches, and has the files that are mapped now loaded
 *   sp_capture_run()     waits and drains: until the time is over, stop_fd is readable or the command has ended
 *   sp_capture_finish()  detaches, drains the rest, finishes the samples that wait for tables
 *
 * The profile and the workers are the caller's and outlive the session; the session adds to the profile. The files that
 * were seen stay open (sp_capture_file_fd) until sp_capture_free(), so that they can be asked for names though they are
 * deleted or their processes gone. Foreign files are opened and parsed by the workers only. One thread.
 * Errors: negative errno with sp_error_text(); -EPERM, -EACCES, -EOPNOTSUPP: the kernel or the privileges do not allow
 * it.
 */
#ifndef SP_CAPTURE_CAPTURE_H
#define SP_CAPTURE_CAPTURE_H

#include "bpf/wire.h"
#include "capture/recipe_ops.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_capture;
struct sp_profile;
struct sp_workers;
struct sp_broker;

/* Who takes the samples: the recipe's BPF programs, or perf_event_open, which ordinary users may ask for their own. */
enum sp_backend_kind { SP_BACKEND_BPF, SP_BACKEND_PERF };

struct sp_capture_options {
	/* What is sampled, into one profile; the first is what it shows where nobody chooses. NULL behind the last. */
	const struct sp_recipe *recipes[SP_MAX_RECIPES + 1];
	enum sp_backend_kind backend;
	bool user_mode_only;          /* PERF: what runs in the kernel is not sampled (not allowed) */
	enum sp_target_filter filter; /* what targets are */
	const uint32_t *targets;
	size_t n_targets;
	bool follow;          /* also what the targets start; more targets may be added (sp_capture_target_add) */
	const unsigned *cpus; /* that are sampled from the beginning, and when they come back */
	size_t n_cpus;
	bool all_cpus;     /* and those that come later */
	bool user, kernel; /* which stacks */
	bool idle;
	enum sp_unwind_mode unwind;
	uint64_t max_memory_bytes; /* of unwind tables; 0 = 24 MiB */
	uint32_t stack_entries,
	    hash_entries;      /* stacks remembered as sent, rows in a table of counts; 0 = 16384, 40960 */
	uint32_t ring_bytes;   /* for stacks and samples that wait, a power of two; 0 = what the kernel half says */
	const char *event;     /* NULL = cpu-clock */
	uint64_t frequency_hz; /* either this */
	uint64_t period;       /* or that: ns for clocks, events else */
	uint64_t min_ns;       /* of episodes, 0 = what their recipe says */
	uint64_t cgroup;       /* id of the only cgroup (v2) wanted, 0 = all */
	uint32_t cgroup_level;
	bool slices;        /* keys tell in which slice of the time a sample was taken: see session.c */
	bool no_seek;       /* files are announced when they are sampled, not all that are mapped at the start */
	bool time_own;      /* the programs measure themselves, in place of the kernel's statistics of all programs */
	uint64_t window_ns; /* between two drains of the counts, if the rate allows; 0 = 1 s */
	/* NULL, or told when a CPU that is wanted comes or goes. */
	void (*cpu_changed)(void *arg, unsigned cpu, bool is_online);
	void *cpu_changed_arg;
	/*
	 * NULL, or called before a file's table is built; n_windows: in how many windows the file was seen. false:
	 * build later; until then frames of the file are unwound by frame pointers. Only sessions that last.
	 */
	bool (*may_build)(void *arg, unsigned n_windows);
	void *may_build_arg;
	/* Makes what this process may not, once it has dropped its privileges; NULL: itself. */
	struct sp_broker *broker;
	const char *cache; /* directory of built tables; NULL = the default one, "" = none */
};

struct sp_capture_stats {
	uint64_t counter[SP_N_COUNTERS];
	uint64_t n_finished;                   /* pending samples finished in the user half */
	uint64_t n_unfinished;                 /* of which the table never came, or too many waited */
	uint64_t n_lost_ring;                  /* PERF: records that found no room */
	uint64_t n_new_cpus, n_unsampled_cpus; /* that came while we sampled; of which could not be */
	uint64_t n_throttled;                  /* PERF: times that the kernel held sampling back */
	uint64_t n_odd;                        /* PERF: records that made no sense; tasks and files beyond the caps */
	uint64_t ring_bytes;                   /* PERF: of all ring buffers */
	uint64_t n_lost_frames;                /* samples whose stack's frames never arrived */
	uint64_t n_files, n_tables;
	uint64_t n_put_off, n_later; /* tables that may_build refused at first; of which are not there yet */
	uint64_t n_evicted;
	uint64_t table_bytes;
	uint64_t mapped_bytes;       /* of BPF maps that are in our own memory too (in VmRSS and in bpf_bytes) */
	uint64_t bpf_bytes;          /* locked memory of all BPF maps */
	uint64_t bpf_ns, n_bpf_runs; /* run time of the BPF programs; 0 when the kernel keeps no statistics */
	uint64_t load_ns;            /* from sp_capture_new() to the first attached event */
};

int sp_capture_new(const struct sp_capture_options *o, struct sp_profile *p, struct sp_workers *w,
		   struct sp_capture **ret_capture);
int sp_capture_target_add(struct sp_capture *c, uint32_t number, enum sp_target state);
int sp_capture_start(struct sp_capture *c);
/* stop_fd, child_fd: -1 = none. duration_ns 0 = for ever. 1: one of them became readable; 0: the time is over. */
int sp_capture_run(struct sp_capture *c, uint64_t duration_ns, int stop_fd, int child_fd);
int sp_capture_finish(struct sp_capture *c);
/* The profile may be freed from here on: what the workers still answer is thrown away. */
void sp_capture_let_go(struct sp_capture *c);
void sp_capture_free(struct sp_capture *c);

/* Of this process, in its own root and under its own number; see symbol/perf_map.h. */
#define SP_PERF_MAP_PATH "/tmp/perf-%u.map"
/* What the process has mapped, wherever it lies; see symbol/jit_dump.h. */
#define SP_JIT_DUMP_NAME "jit-%u.dump"
/*
 * The open descriptor of a file of the profile, or -1. The session's. Of memory without a file: of the perf map that
 * its process had when it was first seen.
 */
int sp_capture_file_fd(const struct sp_capture *c, uint32_t profile_file);
/* The same of its jit dump. */
int sp_capture_jit_dump_fd(const struct sp_capture *c, uint32_t profile_file);
uint64_t sp_capture_began_ns(const struct sp_capture *c); /* CLOCK_MONOTONIC */
/* What its entries in caches are known by (base/entries.h): good until the next call; false: it is not open. */
struct sp_cache_key;
bool sp_capture_file_key(const struct sp_capture *c, uint32_t profile_file, struct sp_cache_key *ret_key);
/* Its unwind rows that could not be expressed. */
uint64_t sp_capture_file_bad_rows(const struct sp_capture *c, uint32_t profile_file);
/* The image of the vDSO (our own: it is the same in every process), or NULL. */
const void *sp_capture_vdso(size_t *ret_size);
void sp_capture_stats(struct sp_capture *c, struct sp_capture_stats *ret_stats);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * capture.h: one sampling session, from its recipes to one profile (without names yet).
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
struct sp_guard;
struct sp_capture_users;

/* What takes the samples: BPF programs, or perf_event_open, which ordinary users may use for their own processes. */
enum sp_backend_kind { SP_BACKEND_BPF, SP_BACKEND_PERF };

struct sp_capture_options {
	/* What is sampled, into one profile, which shows the first one's values by default. NULL after the last. */
	const struct sp_recipe *recipes[SP_MAX_RECIPES + 1];
	enum sp_backend_kind backend;
	bool user_mode_only;          /* PERF: the kernel's own work is not sampled, since that is not allowed */
	enum sp_target_filter filter; /* what the numbers in `targets` are */
	const uint32_t *targets;
	size_t n_targets;
	bool follow; /* also processes that targets start; targets may be added later (sp_capture_target_add) */
	const unsigned *cpus; /* those to sample from the beginning, and again when they come back */
	size_t n_cpus;
	bool all_cpus;           /* and those that come later, too */
	bool user, kernel, idle; /* which stacks; the idle tasks', too */
	enum sp_unwind_mode unwind;
	uint64_t max_memory_bytes;            /* of unwind tables; 0 = 24 MiB */
	uint64_t max_deleted_bytes;           /* memory of deleted files that are held for their names; 0 = 64 MiB */
	uint32_t stack_entries, hash_entries; /* stacks remembered; rows of a table of counts; 0 = 16384, 40960 */
	uint32_t live_entries;                /* allocations that are remembered until they are freed; 0 = 65536 */
	uint64_t older_ns;                    /* of allocations: younger ones are not live yet; 0: all are */
	uint32_t ring_bytes;                  /* of the ring `samples`, a power of two; 0 = the kernel half's default */
	const char *event;                    /* NULL = cpu-clock */
	uint64_t frequency_hz;                /* this, or */
	uint64_t period;                      /* this: ns for clocks, else a number of events */
	uint64_t min_ns;                      /* of episodes, 0 = what their recipe says */
	uint64_t max_ns;                      /* of episodes, 0 = none is too long */
	uint64_t cgroup;                      /* id of the only cgroup (v2) wanted, 0 = all */
	uint32_t cgroup_level;
	bool slices;  /* keys have the slice in which a sample was taken (session.c) */
	bool objects; /* BPF, no lasting session: rows have what their event was about as a label (objects.h) */
	enum sp_wakers_how { SP_NO_WAKERS, SP_WAKERS_ABOVE, SP_WAKERS_ALONE } wakers; /* as objects: wakers.h */
	bool forgets;  /* files (sp_capture_close()), so that their numbers are given again */
	bool no_seek;  /* files are announced when they are sampled; those mapped at the start are not looked for */
	bool time_own; /* the programs measure their own time, in place of the kernel's statistics of all programs */
	/* BPF: of one CPU, for what is sampled at no rate of its own (guard.h); 0 = it may cost what it does. */
	unsigned max_overhead_percent;
	uint64_t user_nodes; /* lasting: most of one user's new stacks at once (stack_share.h); 0 = no limit */
	uint64_t drain_ns;   /* between two drains of the counts, if the rate allows; 0 = 1 s */
	/* BPF: each event has a number (SP_SLOT_NUMBERED) and is told with its stacks, not in rows. NULL: none has. */
	int (*numbered)(void *arg, uint32_t number, uint32_t user_stack, uint32_t kernel_stack);
	/* Likewise: loads the fronts that give the numbers, in a thread, while sp_capture_new() loads; or NULL. */
	void (*beside)(void *arg, const struct sp_recipe_object *object);
	void *numbered_arg;
	/* NULL, or called when a CPU to sample comes or goes. */
	void (*cpu_changed)(void *arg, unsigned cpu, bool is_online);
	void *cpu_changed_arg;
	/* BPF, sessions that last: what users may have of the workers (users.h); NULL = all that they want. */
	const struct sp_capture_users *users;
	/* Does what this process may not do once it has dropped its privileges; NULL: it does that itself. */
	struct sp_broker *broker;
	const char *cache; /* directory of built tables; NULL = the default one, "" = none */
};

struct sp_capture_stats {
	uint64_t counter[SP_N_COUNTERS];
	uint64_t n_finished;       /* pending samples finished in the user half */
	uint64_t n_unfinished;     /* pending samples that were cut: their table never came, or too many waited */
	uint64_t n_lost_ring;      /* PERF: records lost because a ring was full */
	uint64_t n_unsampled_cpus; /* CPUs that came meanwhile and could not be sampled */
	uint64_t n_throttled;      /* PERF: times that the kernel held sampling back */
	uint64_t n_odd;            /* PERF: records that made no sense; tasks and files beyond the limits */
	uint64_t ring_bytes;       /* PERF: of all ring buffers */
	uint64_t n_over_budget;    /* events that the kernel half left out, since an interval was full (guard.h) */
	uint64_t n_lost_frames;    /* samples whose stack's frames never arrived */
	uint64_t n_folded, n_folded_users, folded_uid; /* stacks above their users' share; the user with the most */
	uint64_t deleted_bytes, n_let_go, let_go_uid;  /* deleted files: held; too large; whose last */
	uint64_t n_files, n_tables, n_evicted;
	uint64_t n_put_off, n_later; /* tables that may_build refused at first; those of them that are not built yet */
	uint64_t table_bytes;
	uint64_t mapped_bytes; /* of BPF maps that are mapped into our memory (part of VmRSS and of bpf_bytes) */
	uint64_t bpf_bytes;    /* locked memory of all BPF maps */
	uint64_t n_missed; /* hits that had none of our programs, since one was running on that CPU; from Linux 6.7 */
	uint64_t bpf_ns, n_bpf_runs; /* run time of the BPF programs; 0 when the kernel keeps no statistics */
	uint64_t load_ns;            /* from sp_capture_new() to the first attached event */
};

int sp_capture_new(const struct sp_capture_options *o, struct sp_profile *p, struct sp_workers *w,
		   struct sp_capture **ret_capture);
int sp_capture_target_add(struct sp_capture *c, uint32_t number, enum sp_target state);
/* Only the kernel half: the map of targets, by number as the first pid namespace has it. The session's. */
int sp_capture_targets_fd(const struct sp_capture *c);
int sp_capture_start(struct sp_capture *c);
/* stop_fd, child_fd: -1 = none. duration_ns 0 = no limit. 1: one of them is readable; 0: the time is over. */
int sp_capture_run(struct sp_capture *c, uint64_t duration_ns, int stop_fd, int child_fd);
int sp_capture_finish(struct sp_capture *c);
/* The profile may be freed afterwards: answers of the workers that are still to come are thrown away. */
void sp_capture_let_go(struct sp_capture *c);
void sp_capture_free(struct sp_capture *c);

/* The path in the process's own root, with its number in its own pid namespace; see symbol/jit_names.h. */
#define SP_PERF_MAP_PATH "/tmp/perf-%u.map"
/* The name of a file that the process has mapped, in whatever directory; see symbol/jit_names.h. */
#define SP_JIT_DUMP_NAME "jit-%u.dump"
/*
 * The open descriptor of a file of the profile, or -1. It belongs to the session. For memory without a file: that of
 * the perf map that its process had when the memory was first seen.
 */
int sp_capture_file_fd(const struct sp_capture *c, uint32_t profile_file);
/* The same for the jit dump of its process. */
int sp_capture_jit_dump_fd(const struct sp_capture *c, uint32_t profile_file);
/* The user whose process made the file known, as the first user namespace has him. */
uint32_t sp_capture_file_user(const struct sp_capture *c, uint32_t profile_file);
/* What the kernel calls an address of its own, "NAME+0xOFFSET/0xSIZE [MODULE]"; until the next call. */
int sp_capture_kernel_name(struct sp_capture *c, uint64_t address, const char **ret_text);
uint64_t sp_capture_began_ns(const struct sp_capture *c); /* CLOCK_MONOTONIC */
/* The key of the file's entries in caches (base/entries.h), valid until the next call. False: the file is not open. */
struct sp_cache_key;
bool sp_capture_file_key(const struct sp_capture *c, uint32_t profile_file, struct sp_cache_key *ret_key);
/* How many of the file's unwind rows could not be expressed. */
uint64_t sp_capture_file_bad_rows(const struct sp_capture *c, uint32_t profile_file);
/* The image of the vDSO (our own: it is the same in every process), or NULL. */
const void *sp_capture_vdso(size_t *ret_size);
/* What the guard has done so far; NULL: there is none. */
const struct sp_guard *sp_capture_guard(const struct sp_capture *c);
void sp_capture_stats(struct sp_capture *c, struct sp_capture_stats *ret_stats);

#endif

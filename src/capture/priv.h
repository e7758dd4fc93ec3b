/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: the parts of a session, private to src/capture.
 *
 * session.c owns struct sp_capture and the loop; backend.h says where samples come from; files.h is about a file from
 * its first sight to its table; drain.h turns messages and counts into the profile; pending.c keeps the samples that
 * wait for a table.
 */
#ifndef SP_CAPTURE_PRIV_H
#define SP_CAPTURE_PRIV_H

#include "base/intern.h"
#include "capture/capture.h"
#include "capture/drain.h"
#include "capture/files/files.h"
#include "capture/files/memory_reader.h"
#include "capture/numbers.h"
#include "capture/recipe_ops.h"
#include "capture/stack_above.h"
#include "capture/stack_share.h"
#include "capture/users.h"
#include "unwind/segments.h"
#include "unwind/tables.h"
#include <sys/types.h>

struct sp_blob;
struct sp_cache;
struct ring_buffer;
struct sp_perf;
struct sp_backend;
struct sp_space;
struct sp_waiting;
struct sp_objects;
struct sp_wakers;

enum {
	SP_PENDING_MS = 100,
	SP_MAX_OPEN_TRIES = 3,
	SP_MAX_WAITING_BYTES = 64 << 20,
	/* Of deleted files that are kept open, which nobody else may use any more: in memory, and on disks. */
	SP_MAX_DELETED_MEMORY = 64 << 20,
	SP_MAX_DELETED_DISK = 1 << 30,
	SP_N_SPACES = 16,
	SP_TURN_MS = 1000
};

struct sp_capture {
	struct sp_capture_options o;
	const struct sp_backend *backend;
	struct sp_perf *perf; /* sp_backend_perf's state */
	struct sp_profile *profile;
	struct sp_workers *workers;
	struct sp_recipe_object recipe;
	unsigned value_of[SP_MAX_RECIPES][2]; /* the profile's numbers of each recipe's values */
	struct sp_recipe_shared shared;
	struct sp_objects *objects;      /* NULL: keys have none */
	struct sp_wakers *wakers;        /* likewise */
	struct sp_machinery *machinery;  /* only in a session with tracepoints */
	struct sp_guarded *guarded;      /* NULL: nothing is guarded */
	struct sp_memory_reader reader;  /* of threads that wait; has none but while it is wanted */
	struct sp_fsroot_key own_fsroot; /* where our own paths begin */
	struct sp_segments segments;     /* of tables */
	struct sp_tables *tables;
	struct ring_buffer *events, *samples;
	int stats_fd, uevents, episodes_fd; /* -1 = none */
	struct {
		uint32_t *cpus; /* that are online, when it was looked last; NULL: not known */
		size_t n;
		uint64_t again_ns;     /* CLOCK_MONOTONIC */
		uint64_t suspended_ns; /* that the machine had been, by then */
	} online;
	int files_fd, new_files_fd, processes_fd, targets_fd, counters_fd, counts_fd[2];
	int stacks_fd, free_files_fd, rule_cache_fd;
	struct sp_cache *cache;
	struct sp_seen_file *seen;
	size_t n_seen;
	struct sp_known_file *known;
	size_t n_known;
	struct sp_file_job *building, *looking; /* files.c: for tables; look.c, if users have limits */
	struct sp_over_users over;              /* users.c */
	uint32_t *process;                      /* id of a process record -> number in the profile */
	size_t n_process;
	uint32_t n_announced;            /* process records sent since the kernel's table of them was emptied */
	struct sp_numbers file_keys;     /* by struct sp_file_key */
	struct sp_numbers process_keys;  /* by struct sp_process_key */
	struct sp_numbers words, stacks; /* by frame word; by id of a stack */
	struct sp_numbers cgroups;       /* by cgroup id: the number of its path, a string */
	bool in_pid_ns;                  /* our /proc shows other numbers than the kernel half uses */
	struct sp_numbers pid_pairs;     /* pidns.c: from those of /proc to those of the kernel half */
	uint32_t kernel_file;
	struct sp_waiting *waiting;
	struct sp_message_pending *walking; /* full-sized record for walking; NULL before the first */
	bool pending_unread;                /* not all waiting samples were tried */
	size_t waiting_bytes;
	struct sp_stacks_above rests;
	struct sp_stack_share share;
	struct sp_space *spaces[SP_N_SPACES]; /* of the last samples, by process */
	uint64_t n_table_changes;         /* how many tables came or were refused: then a waiting sample may go on */
	size_t n_crowded;                 /* files whose tables would evict all others too often (later.c) */
	struct sp_code_known *code_known; /* after_call.c: answers */
	struct sp_jit_kept *jit;          /* jit_frames.c: answers */
	int failure;                      /* the first error inside a callback */
	uint64_t began_ns;
	unsigned int n_jit_asked, n_images_asked, slice_shift; /* answers to come; a slice has 1 << slice_shift units */
	uint64_t swap_interval_ns, swap_at_ns; /* how long counts stay in the kernel; when the next drain is due */
	uint64_t n_births, n_forgotten, n_renewals, paused_ns, n_given_up, n_without_room;
	bool attached;
	bool is_over;   /* the profile is the caller's again */
	bool is_closed; /* nothing may be added to the profile: another is to replace it */
	struct sp_capture_stats stats;
};

/* Whether all targets are known and run already: then tables can be loaded before the first sample. */
static inline bool sp_capture_knows_targets(const struct sp_capture_options *o)
{
	return o->filter == SP_TARGETS_TGID && !o->follow;
}

uint64_t sp_capture_budget(const struct sp_capture *c); /* bytes of unwind tables */

/* session.c */
int sp_capture_take_in(struct sp_capture *c); /* messages, answers of workers, samples that can be finished */
/* Switches to the other table of counts and drains the one that was in use. */
int sp_capture_swap_and_drain(struct sp_capture *c);
uint64_t sp_capture_swap_interval(const struct sp_capture_options *o); /* how long counts stay in the kernel */
int sp_capture_profile_begin(struct sp_capture *c);
int sp_capture_numbers_init(struct sp_capture *c);

/* machinery.c: how many frames at the leaf's end of a kernel stack lead to our program, and not to the event. */
int sp_machinery_open(struct sp_capture *c);
int sp_machinery_skip(struct sp_capture *c, const sp_u64 *words, uint32_t n, uint32_t *ret_n);
int sp_machinery_is_interrupt(struct sp_capture *c, uint64_t address, bool *ret_is); /* where one enters the kernel */
void sp_machinery_done(struct sp_capture *c);

/* cpus.c */
void sp_cpus_begin(struct sp_capture *c); /* to be called before any CPU's event is opened */
void sp_cpus_update(struct sp_capture *c);
void sp_cpus_done(struct sp_capture *c);

static inline struct sp_known_file *sp_known_of(const struct sp_capture *c, uint32_t id)
{
	return &c->known[c->seen[id].number];
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.h: windows of profiles on disk, and questions about any time range of them.
 *
 * A window is what one source (a recipe) sampled in some seconds. sp_store_add() keeps it: when that returns 0 the
 * window survives kill -9; power loss costs at most the last ones. Rolling up to coarser resolutions, retention and the
 * limit of the disk are done in sp_store_add(), too, when a minute, an hour or a day is over. Profiles come in and go
 * out as struct sp_profile; functions are kept, not addresses. Profiles and strings given stay the caller's.
 * Back ends: struct sp_store_ops, chosen by the scheme of the place: none = a directory. One writer a store; readers
 * at the same time as it, in any number of processes. Not thread-safe. Errors: negative errno with sp_error_text();
 * after one nothing is half-written, and the same call may be tried again: -ENOSPC, -EIO ..., -EBUSY: another writer
 * (the text names it), -EPROTONOSUPPORT: a newer version.
 */
#ifndef SP_STORE_STORE_H
#define SP_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_profile;
struct sp_store;

enum sp_resolution { SP_RES_10S, SP_RES_1M, SP_RES_1H, SP_N_RESOLUTIONS };

struct sp_store_options {
	bool read_only;
	uint64_t retain_s[SP_N_RESOLUTIONS]; /* 0 = 2, 14, 400 days */
	uint64_t max_disk_bytes;             /* journals included; 0 = 2 GiB */
	uint64_t max_memory_bytes;           /* of the writer's dictionary; 0 = 64 MiB */
	/* What the writer did by itself that a log should tell: a line; NULL = nobody wants to know. */
	void (*note)(void *arg, const char *text);
	void *note_arg;
};

/* place: a directory (made if need be, not if read_only), or a single file of one (read_only). */
int sp_store_open(const char *place, const struct sp_store_options *o, struct sp_store **ret_store);
void sp_store_close(struct sp_store *s);

/* What a window was, beside its rows. */
struct sp_store_window {
	uint64_t wall_ns, boot_ns; /* of its beginning: CLOCK_REALTIME, CLOCK_BOOTTIME */
	uint64_t duration_ns;      /* of the time that was sampled: less than the resolution where there is a gap */
	uint64_t rate_millihertz;  /* samples a second and CPU, in thousandths */
	uint32_t n_cpus;
	uint64_t n_lost;    /* samples that were taken and are not in the rows */
	const char *source; /* the recipe's name; the types of its values are the profile's */
};
int sp_store_add(struct sp_store *s, const struct sp_store_window *w, const struct sp_profile *p);

/* What happened: a gap, an upgrade, a change of the rate. Of the same kind, time and subject only one is kept. */
struct sp_store_event {
	uint64_t from_ns, to_ns; /* wall clock; equal: a moment */
	const char *kind;        /* "gap", "upgrade", "rate", "clock", "drop" ... */
	const char *subject;     /* what it is about: a reason, a library's name */
	const char *text;        /* one line for people */
	const char *data;        /* name=value words for programs, "" = none */
};
int sp_store_event_add(struct sp_store *s, const struct sp_store_event *e);
int sp_store_events(struct sp_store *s, uint64_t from_ns, uint64_t to_ns,
		    int (*each)(void *arg, const struct sp_store_event *e), void *arg);

/* What rows must tell of whom they are; less is faster. */
enum sp_store_who {
	SP_WHO_WHOLE,
	SP_WHO_THREAD,  /* the thread's name, or the process's if it has none; the key has no process */
	SP_WHO_NOTHING, /* where everybody's are asked for */
};
/*
 * A range has the windows that begin in it, to_ns not included: each is of exactly one of two ranges that meet. A
 * minute or hour stands for the windows that it was made of, where it lies in the range with all of them; where these
 * are gone it counts where it begins. The ends of ranges of SP_STORE_LONG_NS and more are moved to the next full hour
 * (UTC) first. All questions about one range are answered of the same windows, or what they were rolled up into.
 */
#define SP_STORE_LONG_NS (UINT64_C(20) * 3600 * 1000000000)
struct sp_store_query {
	uint64_t from_ns, to_ns;                           /* wall clock */
	const char *source;                                /* NULL = "cpu" */
	const char *library, *function, *process, *cgroup; /* globs as profile/filter.h has them; NULL = all */
	bool all_users;
	uint32_t uid;      /* the only user wanted, if not all_users */
	int resolution;    /* enum sp_resolution, or -1: the finest that answers a range of this length fast */
	uint32_t n_slices; /* the keys tell so many slices of the time, 0 = none */
	bool exact;        /* no stack is shortened, however many there are */
	enum sp_store_who who;
	bool rough;     /* trees kept for long ranges will do: rare nodes are "[shortened]" in their parents */
	bool by_minute; /* no hours, where there are minutes */
	bool ends_stay; /* they are not moved, however long the range is: for two ranges that are compared */
};
/* Shorter ranges are never rough, nor what is narrowed to a library, process ... or has slices. */
#define SP_STORE_ROUGH_NS (UINT64_C(6) * 3600 * 1000000000)
/* Whether the ends of the range are moved; and where one of them is then. */
static inline bool sp_store_ends_move(const struct sp_store_query *q)
{
	return q->resolution < 0 && !q->ends_stay && q->to_ns - q->from_ns >= SP_STORE_LONG_NS;
}
static inline uint64_t sp_store_end(const struct sp_store_query *q, uint64_t ns)
{
	const uint64_t hour = UINT64_C(3600) * 1000000000;

	return !sp_store_ends_move(q) || ns > UINT64_MAX - hour ? ns : (ns + hour - 1) / hour * hour;
}
struct sp_store_answer {
	uint64_t from_ns, to_ns;       /* of the windows that were found; 0, 0: none */
	uint64_t covered_ns;           /* of it sampled */
	uint64_t n_windows, n_damaged; /* that were read; that could not be */
	uint64_t n_lost;               /* samples */
	uint64_t n_shortened; /* samples whose rare stacks lost frames between their ancestors and their leaf */
	int resolution;       /* the coarsest that was used */
	uint64_t slice_ns;
};
/* Rows of the range, added to an empty profile with names. */
int sp_store_query(struct sp_store *s, const struct sp_store_query *q, struct sp_profile *into,
		   struct sp_store_answer *ret_answer);

/* The writer lives: said from time to time, it tells the next one since when that was over, if it is killed. */
void sp_store_alive(struct sp_store *s);

struct sp_store_stats {
	uint64_t first_ns;    /* when the first window began, of whatever resolution */
	uint64_t n_windows;   /* of the finest resolution */
	uint64_t last_ns;     /* when the last one of the finest that there is began */
	uint64_t last_end_ns; /* and ended */
	uint64_t bytes;       /* on disk, journals included */
	uint64_t n_files, n_damaged_files, n_damaged_windows;
	uint64_t add_cpu_ns, add_worst_ns, n_added; /* since it was opened */
	uint64_t memory_bytes;                      /* of the writer's dictionary */
	uint64_t n_moved;                           /* times that it was removed or replaced, and made anew */
	uint64_t n_outgrown;                        /* dictionaries that had no room any more, since it was opened */
	bool was_killed;                            /* the writer before this one did not close the store ... */
	uint64_t alive_ns;                          /* ... and said last that it lived then */
};
int sp_store_stats(struct sp_store *s, struct sp_store_stats *ret_stats);

#endif

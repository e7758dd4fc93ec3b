/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.h: stores windows of profiles on disk, and answers queries about any range of time.
 *
 * A window is what one source (a recipe) sampled in some seconds. When sp_store_add() returns 0, the window survives
 * kill -9; power loss costs at most the last ones. sp_store_add() also rolls windows up to coarser resolutions,
 * deletes old files and enforces the disk limit, a step at a time. Profiles are given and returned as struct
 * sp_profile; functions are kept, not addresses. Profiles and strings passed in stay the caller's.
 * Back ends (struct sp_store_ops) are chosen by the scheme of the place; none = a directory. One writer at a time; any
 * number of readers, in any process. Not thread-safe. Errors: negative errno with sp_error_text(). After an error
 * nothing is half-written and the call may be repeated: -ENOSPC, -EIO ..., -EBUSY: another writer (the text has its
 * pid), -EPROTONOSUPPORT: a newer version.
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
	/* Called with a line for the log about what the writer did by itself; NULL = none. */
	void (*note)(void *arg, const char *text);
	void *note_arg;
};

/* place: a directory (created unless read_only), or a single day file (read_only). */
int sp_store_open(const char *place, const struct sp_store_options *o, struct sp_store **ret_store);
void sp_store_close(struct sp_store *s);
/* Begins no roll-up and finishes no day after by_ns (CLOCK_MONOTONIC): the next writer does what is left. */
void sp_store_close_by(struct sp_store *s, uint64_t by_ns);
/* Whether a store gives such a name to a file in its directory. */
bool sp_store_is_own_name(const char *name);

/* A window, without its rows. */
struct sp_store_window {
	uint64_t wall_ns, boot_ns; /* its beginning: CLOCK_REALTIME, CLOCK_BOOTTIME */
	uint64_t duration_ns;      /* time sampled: less than the resolution if there is a gap */
	uint64_t rate_millihertz;  /* samples per second and CPU, times 1000 */
	uint32_t n_cpus;
	uint64_t n_lost;    /* samples taken that are not in the rows */
	const char *source; /* name of the recipe; value types are the profile's */
};
int sp_store_add(struct sp_store *s, const struct sp_store_window *w, const struct sp_profile *p);

/* A gap, an upgrade, a change of the rate. Of several with the same kind, beginning and subject the first is kept. */
struct sp_store_event {
	uint64_t from_ns, to_ns; /* wall clock; equal: a moment */
	const char *kind;        /* "gap", "upgrade", "rate", "clock", "drop" ... */
	const char *subject;     /* a reason, a library's name */
	const char *text;        /* one line for people */
	const char *data;        /* name=value words for programs, "" = none */
};
int sp_store_event_add(struct sp_store *s, const struct sp_store_event *e);
int sp_store_events(struct sp_store *s, uint64_t from_ns, uint64_t to_ns,
		    int (*each)(void *arg, const struct sp_store_event *e), void *arg);

/* How much of "who" is needed; less is faster. */
enum sp_store_who {
	SP_WHO_WHOLE,
	SP_WHO_THREAD,  /* the name of the thread, else of the process; the key has no process */
	SP_WHO_NOTHING, /* nothing; for queries without a filter by who */
};
/*
 * A range includes the windows that begin in it, to_ns excluded, so adjacent ranges share no window. A minute or hour
 * replaces the windows it was made of if all of them are in the range; if these are deleted, it belongs to the range in
 * which it begins. The ends of ranges of SP_STORE_LONG_NS and more are moved to the next full hour (UTC) first. All
 * queries about a range use the same windows, or roll-ups of them.
 */
#define SP_STORE_LONG_NS (UINT64_C(20) * 3600 * 1000000000)
struct sp_store_query {
	uint64_t from_ns, to_ns;                           /* wall clock */
	const char *source;                                /* NULL = "cpu" */
	const char *library, *function, *process, *cgroup; /* globs as in profile/filter.h; NULL = all */
	bool all_users;
	uint32_t uid;      /* the only user wanted, unless all_users */
	int resolution;    /* enum sp_resolution; -1: chosen by the length of the range */
	uint32_t n_slices; /* number of slices of time in the keys, 0 = none */
	bool exact;        /* never shorten stacks */
	enum sp_store_who who;
	bool rough;     /* pruned trees will do: rare nodes are "[shortened]" in their parents */
	bool by_minute; /* no hours where there are minutes */
	bool ends_stay; /* do not move the ends of a long range: to compare two ranges */
};
/* `rough` is ignored for shorter ranges, and with filters or slices. */
#define SP_STORE_ROUGH_NS (UINT64_C(6) * 3600 * 1000000000)
/* Whether the ends of the range are moved; and where to. */
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
	uint64_t from_ns, to_ns;       /* of the windows found; 0, 0: none */
	uint64_t covered_ns;           /* time sampled */
	uint64_t n_windows, n_damaged; /* windows: read; skipped because of damage */
	uint64_t n_incomplete;         /* windows whose dictionary has lost parts: stacks and names may be unknown */
	uint64_t n_salvaged;           /* damaged files that were read only as far as they could be salvaged */
	uint64_t n_lost;               /* samples */
	uint64_t n_shortened;          /* samples whose stacks were shortened */
	int resolution;                /* the coarsest used */
	uint64_t slice_ns;
};
/* Adds the rows of the range to an empty profile with names. */
int sp_store_query(struct sp_store *s, const struct sp_store_query *q, struct sp_profile *into,
		   struct sp_store_answer *ret_answer);

/* Records that the writer is alive; call it regularly. If the writer is killed, the next one learns when. */
void sp_store_alive(struct sp_store *s);

struct sp_store_removed {
	uint64_t n_files, bytes;
};
struct sp_store_stats {
	uint64_t first_ns;    /* beginning of the first window of any resolution */
	uint64_t n_windows;   /* of 10 s */
	uint64_t last_ns;     /* beginning of the last window of the finest resolution that has any */
	uint64_t last_end_ns; /* end of that window */
	uint64_t bytes;       /* on disk, journals included */
	uint64_t n_files, n_damaged_files;
	uint64_t n_damaged_windows, n_damaged_chunks; /* which roll-ups could not read, since opening */
	uint64_t add_cpu_ns, add_worst_ns, n_added;   /* since opening */
	uint64_t memory_bytes;                        /* of the writer's dictionary */
	uint64_t n_moved;                             /* times that files had to be made anew after being moved */
	uint64_t n_outgrown;                          /* dictionaries that outgrew their memory, since opening */
	/* By resolution: what was removed since opening because the disk's limit was reached; each is an event. */
	struct sp_store_removed removed[SP_N_RESOLUTIONS];
	bool was_killed;   /* the writer before did not close the store ... */
	uint64_t alive_ns; /* ... and was last alive then */
};
int sp_store_stats(struct sp_store *s, struct sp_store_stats *ret_stats);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scan.h: the windows of a store as arrays, in the order of time: what questions are answered from.
 *
 * A window's rows name things by numbers of its generation's dictionary (struct sp_dict). Node 0 is the root; a node's
 * parent has a lower number. The path of a row, from the root: a mark (class and reason of the user stack), the user
 * frames from the outermost to the leaf, the kernel's from the outermost to the leaf. The kernel's begin with the first
 * frame that has SP_FRAMEF_KERNEL, or, after the mark MIXED always, with a mark KERNEL, which then tells their class.
 * A node that was lost with its chunk has parent 0 and frame 0 (as has the root): its row's stack is not known.
 * Everything handed out belongs to the scan and lives until sp_scan_close(), rows only until the next window. Arrays of
 * a dictionary may move with the next window, as it grows; numbers stay. Errors: negative errno with sp_error_text().
 * A scan opens files of its own: it may be used in a forked child, where its store is only read.
 */
#ifndef SP_STORE_SCAN_H
#define SP_STORE_SCAN_H

#include "profile/profile.h"
#include "store/store.h"

enum sp_mark { SP_MARK_NONE, SP_MARK_USER, SP_MARK_MIXED, SP_MARK_KERNEL };

struct sp_dict_frame {
	uint64_t offset;     /* in the file, if there is no function */
	uint32_t func, file; /* the frame's file; func.file may be a module's */
	uint16_t flags;      /* SP_FRAMEF_* */
	uint16_t mark;       /* enum sp_mark: not a frame, but what the stack's two numbers are: */
	uint16_t stack_class, reason;
};

/* Who windows of 1m and 1h are keyed by; and what all rows of a key have in common. */
struct sp_dict_group {
	uint32_t exe; /* file */
	uint32_t uid;
	uint32_t comm, cgroup_path, container; /* strings; the leader's name */
	uint32_t root;                         /* string; "" where there is a container, which says as much */
};
struct sp_dict_key {
	uint32_t group;
	uint32_t pid, ns_pid, exec_id;
	uint32_t thread; /* string: the thread's name */
	uint32_t unused;
	uint64_t start_ns, cgroup;
};

/* Number 0 of each is none. In files and functions numbers of strings are the dictionary's; tag and process are 0. */
struct sp_dict {
	uint64_t generation; /* with day_s: distinct in a store */
	uint64_t day_s;      /* when its UTC day began */
	uint32_t n_strings, n_files, n_funcs, n_frames, n_nodes, n_groups, n_keys;
	const uint32_t *string_at; /* of bytes */
	const char *bytes;
	const struct sp_file *files;
	const struct sp_func *funcs; /* of the kernel and of memory without a file: start and vaddr are 0 */
	const struct sp_dict_frame *frames;
	const uint32_t *parent, *frame; /* by node */
	const struct sp_dict_group *groups;
	const struct sp_dict_key *keys;
	uint64_t n_lost_chunks;
	bool is_tree; /* a pruned tree's own */
};
/* Of a frame's flags, in pruned trees: it stands for all that was cut behind the one before it. */
#define SP_DICT_SHORTENED 0x8000
#define SP_SHORTENED "[shortened]"
static inline const char *sp_dict_string(const struct sp_dict *d, uint32_t string)
{
	return string < d->n_strings ? d->bytes + d->string_at[string] : "";
}

struct sp_scan_value {
	const char *name, *unit;
};
struct sp_scan_window {
	struct sp_store_window w; /* of a roll-up: the first one's beginning, the sum of durations and losses */
	uint64_t end_ns;          /* of the last one, wall clock */
	int resolution;
	uint64_t t_ms, generation, day_s; /* where it stands; a day: at its beginning, of no generation */
	uint32_t source;                  /* of this day's sources */
	struct sp_dict *dict;
	uint32_t n_values;
	struct sp_scan_value types[SP_MAX_VALUES];
	uint32_t n_rows;     /* sorted by who, node; each pair once */
	const uint32_t *who; /* 10s: key; 1m, 1h: group */
	const uint32_t *node;
	const int64_t *values[SP_MAX_VALUES];
};

struct sp_scan;
struct sp_scan_options {
	uint64_t from_ns, to_ns; /* windows that begin in it, to_ns not included; all of them: 0, UINT64_MAX */
	const char *source;      /* NULL = all */
	int resolution;
	bool no_rows; /* nor dictionary: only what is in sp_scan_window beside them */
	/* Of hours, rows of their pruned trees where they have some, each with a dictionary of its own (is_tree); of
	 * SP_N_RESOLUTIONS, those of days, as far as they have all that their hours do. */
	bool trees;
	bool no_keys;     /* in dictionaries */
	bool lazy;        /* a dictionary's frames by node are no such, but for sp_dict_narrow() (dict.h) ... */
	uint64_t last_ns; /* ... and the last window that is wanted begins then: dictionaries are read for it at once */
	/* Its dictionaries are used, and go on growing, as if they were this scan's: it is closed later, and alike in
	 * lazy. Both have no_keys: coarser files do without them. NULL: none. */
	struct sp_scan *beside;
	/* Whether this one is to be read, of which all is known but dictionary and rows. NULL: all are. */
	bool (*is_wanted)(const void *arg, const struct sp_scan_window *w);
	const void *arg;
};
int sp_scan_open(struct sp_store *s, const struct sp_scan_options *o, struct sp_scan **ret_scan);
/* 1: a window; 0: there are no more. What is damaged is counted and passed over. */
int sp_scan_next(struct sp_scan *scan, struct sp_scan_window *ret_window);
uint64_t sp_scan_n_damaged(const struct sp_scan *scan);
void sp_scan_close(struct sp_scan *scan);

/* Exact totals (sums.h), kept beside windows of 1m (libraries), 1h and days (functions, too). */
struct sp_sums;
struct sp_scan_totals {
	struct sp_scan_window window; /* without rows; a day: of all its windows */
	const struct sp_dict *dict;   /* has strings, files and functions only */
	const struct sp_sums *sums;
};
/* resolution: SP_RES_1M, SP_RES_1H, SP_N_RESOLUTIONS: days. Calls each() until it does not return 0, and returns that.
 */
int sp_scan_totals(struct sp_store *s, const struct sp_scan_options *o,
		   int (*each)(void *arg, const struct sp_scan_totals *t), void *arg);

#endif

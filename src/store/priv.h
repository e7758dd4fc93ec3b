/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: what the files of this layer share: the store, the writer, and the functions of back ends.
 *
 * A back end begins its own struct with struct sp_store. The only one is a directory of day files: files/directory.c
 * and file.c; written by write/write.c, rollup/roll.c, files/retention.c; read by files/scan.c. Pending work (minutes
 * to be rolled up, days to be finished) is found in the files themselves, so nothing is recorded for a crash. Threads,
 * ownership and errors: as in store.h.
 */
#ifndef SP_STORE_PRIV_H
#define SP_STORE_PRIV_H

#include "store/files/file.h"
#include "store/format/dict_pick.h"
#include "store/format/window.h"
#include "store/intervals.h"
#include "store/rollup/minute.h"
#include "store/write/dict_builder.h"

struct sp_store_ops {
	const char *scheme; /* "" = a directory */
	int (*open)(const char *place, const struct sp_store_options *o, struct sp_store **ret_store);
	void (*close)(struct sp_store *s);
	int (*add)(struct sp_store *s, const struct sp_store_window *w, const struct sp_profile *p);
	int (*event_add)(struct sp_store *s, const struct sp_store_event *e);
	int (*events)(struct sp_store *s, uint64_t from_ns, uint64_t to_ns,
		      int (*each)(void *arg, const struct sp_store_event *e), void *arg);
	int (*stats)(struct sp_store *s, struct sp_store_stats *ret_stats);
	int (*span)(struct sp_store *s, struct sp_store_span *ret_span);
};
extern const struct sp_store_ops sp_store_ops_files;

struct sp_writer;
struct sp_store {
	const struct sp_store_ops *ops;
	struct sp_store_options options;
	struct sp_directory directory;
	struct sp_writer *writer;  /* NULL: the store is read-only */
	struct sp_writer *closing; /* the day before, until it is finished; NULL: none */
	uint64_t close_by_ns;      /* CLOCK_MONOTONIC; 0: it takes as long as it takes */
	uint64_t n_damaged_windows, n_damaged_chunks, n_damaged_files;
	uint64_t intact_files[64]; /* files with gaps that passed quick_check: day_s + resolution */
	size_t n_intact_files;
	uint64_t add_cpu_ns, add_worst_ns, n_added;
	uint64_t n_moved;                    /* times that files had to be made anew after being moved */
	uint64_t n_outgrown, outgrown_day_s; /* dictionaries that got full; day of the last log line about that */
	struct sp_store_removed removed[SP_N_RESOLUTIONS];
	uint64_t removed_hour, n_untold; /* hour of the last log line about that; files removed since */
};

/* --- write/write.c: the three files of a day, and their dictionary --- */
enum { SP_MAX_SOURCES = 64, SP_TYPES_MAX = 1024 };
struct sp_store_source {
	char *name, *types; /* types: lines of name and unit, "samples count\n" */
	uint64_t last_t_ms; /* last window of this generation; 0: none */
	uint64_t rolled_to_ms[SP_N_RESOLUTIONS];
	struct sp_minute minutes[2]; /* the current and the last one, at index number % 2 */
	bool hour_is_new;            /* the last hour is not in the day's totals yet */
};
struct sp_writer {
	struct sp_lock lock;
	uint64_t day_s;
	struct sp_day_file files[SP_N_RESOLUTIONS]; /* db NULL: not open */
	struct sp_dict_builder *dict_builder;
	uint64_t generation, last_chunk; /* 0: none yet */
	struct sp_packer *packer;
	struct sp_window_rows rows;
	struct sp_store_source sources[SP_MAX_SOURCES]; /* source n of the files is sources[n - 1] */
	size_t n_sources;
	struct sp_rolling *rolling; /* the hour that is being rolled up; NULL = none */
	uint64_t minute_retained;   /* minute in which retention last ran */
	bool check_age;
	size_t next_checked; /* for check_next_file() */
	char boot_id[64];
};
int sp_writer_open(struct sp_store *s);
void sp_writer_close(struct sp_store *s);
int sp_writer_add(struct sp_store *s, const struct sp_store_window *w, const struct sp_profile *p);
int sp_writer_insert_chunk(struct sp_writer *w, struct sp_day_file *f, uint64_t generation, uint64_t seq,
			   const struct sp_chunk *c);
int sp_writer_insert_window(struct sp_writer *w, struct sp_day_file *f, uint64_t source, uint64_t generation,
			    const struct sp_head *h, const struct sp_window_rows *rows, uint64_t *ret_t_ms);
/* The time that insert_window() would use. */
int sp_writer_find_place(struct sp_day_file *f, uint64_t source, uint64_t generation, const struct sp_head *h,
			 uint64_t *ret_t_ms);
/* The key of a chunk: generation, then number. */
static inline uint64_t sp_chunk_id(uint64_t generation, uint64_t seq)
{
	return generation << 32 | seq;
}

/* Runs a statement that returns no rows, and finalizes it. */
int sp_writer_run_and_finalize(struct sp_day_file *f, sqlite3_stmt *s);

/* If SQLite refuses a file of another day, it is replaced by what can be salvaged. */
int sp_writer_repair(struct sp_store *s, const struct sp_day *day);
void sp_writer_close_files(struct sp_writer *w);
/* Finishes the days that an earlier writer left: those with a journal, and the last one. */
int sp_writer_catch_up_days(struct sp_store *s);
/* Rolls up what there is and closes the files; the next window opens them again. */
void sp_writer_drop_day(struct sp_store *s);
/* -ETIME: the store is being closed, and what is not begun is left to the next writer. */
int sp_writer_check_time(const struct sp_store *s);
/* As sp_writer_drop_day(), and removes the journals, by which the next writer finds days: not if time is over. */
void sp_writer_finish_day(struct sp_store *s);
/* Moves the day with its generation; afterwards `from` has none. */
void sp_writer_move_day(struct sp_writer *to, struct sp_writer *from);

/* --- rollup/day_close.c: finishing the day before in steps --- */
void sp_writer_close_day(struct sp_store *s);
void sp_writer_close_day_step(struct sp_store *s);
/* Does all steps that are left. */
void sp_writer_finish_closing(struct sp_store *s);
/* The open file of this day; NULL: not open. */
struct sp_day_file *sp_writer_file(struct sp_store *s, const struct sp_day *day);
bool sp_writer_has_day(const struct sp_store *s, uint64_t day_s);

/* --- files/retention.c: limits of age and disk --- */
int sp_writer_retain(struct sp_store *s, uint64_t now_ns, bool by_age);

/* --- rollup/roll.c --- */
/* For the first window of a source in a generation. */
void sp_writer_begin_series(struct sp_store_source *source, uint64_t t_ms);
void sp_writer_forget_rolling(struct sp_writer *w);
/* Whether an hour of this source, or its day's sums, are being rolled up. */
bool sp_writer_is_rolling(const struct sp_writer *w, uint64_t source);
/* The minutes that have ended by t_ms, or else a part of an hour or of the day's sums. UINT64_MAX: does all. */
int sp_writer_roll(struct sp_store *s, uint64_t source, uint64_t t_ms);
bool sp_writer_minute_is_over(const struct sp_store_source *source, uint64_t t_ms);
/* Rolls up all that is left of finished generations. */
int sp_writer_catch_up(struct sp_store *s);

/* --- rollup/day.c --- */
int sp_writer_sum_day(struct sp_store *s, uint64_t source);

/* --- files/scan.c --- */
/* As sp_scan_totals(), for one source of an open file: of windows after a time, or of the day. */
int sp_scan_file_totals(struct sp_store *s, struct sp_day_file *f, uint64_t source, uint64_t after_ms, bool days,
			int (*each)(void *arg, const struct sp_scan_totals *t), void *arg);
/* Pruned trees of one source of an open file: of the day (with its last hour), or of hours after a time. -ENODATA: one
 * is missing. */
int sp_scan_file_trees(struct sp_store *s, struct sp_day_file *f, uint64_t source, uint64_t after_ms, bool days,
		       int (*each)(void *arg, const struct sp_scan_window *w, uint64_t up_to_ms), void *arg);
int sp_dict_read_chunk(uint64_t id, sqlite3_stmt *s, int column, struct sp_chunk *c);
int sp_dict_load(struct sp_store *s, struct sp_day_file *f, struct sp_dict_arrays *d, uint64_t *from_chunk,
		 uint64_t to);
/* Takes of the chunks that its nodes were read of what is needed. -ESTALE: they are not as they were. */
int sp_dict_pick_load(struct sp_store *s, struct sp_dict_pick *p);

#endif

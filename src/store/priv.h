/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * priv.h: what the files of this layer share: the store itself, and its back ends.
 *
 * A back end begins its own struct with struct sp_store. The one here is a directory of day files: files/directory.c,
 * files/file.c; written by write/write.c, rollup/roll.c, files/retention.c; read by files/scan.c. What waits for its
 * turn (minutes to be rolled up, files to be finished) is found in the files themselves, so that nothing need be
 * remembered over a crash. Threads, ownership and errors: as in store.h.
 */
#ifndef SP_STORE_PRIV_H
#define SP_STORE_PRIV_H

#include "store/files/file.h"
#include "store/format/dict.h"
#include "store/format/window.h"
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
};
extern const struct sp_store_ops sp_store_ops_files;

/* A store that is one file, in memory: what an agent answers with. The bytes are of sqlite3_malloc, and taken. */
int sp_store_open_bytes(void *bytes, size_t len, struct sp_store **ret_store);

struct sp_writer;
struct sp_store {
	const struct sp_store_ops *ops;
	struct sp_store_options options;
	struct sp_directory directory;
	struct sp_day_file *memory; /* in place of a directory */
	struct sp_writer *writer;   /* NULL: only read */
	struct sp_writer *closing;  /* the day before, as long as it is not finished */
	uint64_t n_damaged_windows, n_damaged_files;
	uint64_t intact_files[64]; /* files that have gaps, but are as SQLite wants them: day_s + resolution */
	size_t n_intact_files;
	uint64_t add_cpu_ns, add_worst_ns, n_added;
	uint64_t n_moved;                    /* how often it was not where it had been */
	uint64_t n_outgrown, outgrown_day_s; /* dictionaries; and the day when that was last told */
};

/* --- write/write.c: one day's three files, and the dictionary that its windows are written with --- */
enum { SP_MAX_SOURCES = 64, SP_TYPES_MAX = 1024 };
struct sp_store_source {
	char *name, *types; /* types: "samples count\n...", name and unit */
	uint64_t last_t_ms; /* of this generation */
	uint64_t rolled_to_ms[SP_N_RESOLUTIONS];
	struct sp_minute minutes[2]; /* that under way, and the one before: by whether their numbers are odd */
	bool hour_is_new;            /* the day's totals do not have it yet */
};
struct sp_writer {
	struct sp_lock lock;
	uint64_t day_s;
	struct sp_day_file files[SP_N_RESOLUTIONS]; /* db NULL: not open */
	struct sp_dict_builder *dict_builder;
	uint64_t generation, last_chunk; /* 0: there is none yet */
	struct sp_packer *packer;
	struct sp_window_rows rows;
	struct sp_store_source sources[SP_MAX_SOURCES]; /* source n of the three files is sources[n - 1] */
	size_t n_sources;
	struct sp_rolling *rolling; /* an hour, under way; NULL = none */
	uint64_t minute_retained;   /* when it was looked what is too much */
	bool check_age;
	size_t next_checked; /* files that were looked at */
	char boot_id[64];
};
int sp_writer_open(struct sp_store *s);
void sp_writer_close(struct sp_store *s);
int sp_writer_add(struct sp_store *s, const struct sp_store_window *w, const struct sp_profile *p);
/* The day's files, made if need be; those of another day are finished. */
int sp_writer_open_day(struct sp_store *s, uint64_t wall_ns);
int sp_writer_insert_chunk(struct sp_writer *w, struct sp_day_file *f, uint64_t generation, uint64_t seq,
			   const struct sp_chunk *c);
int sp_writer_insert_window(struct sp_writer *w, struct sp_day_file *f, uint64_t source, uint64_t generation,
			    const struct sp_head *h, const struct sp_window_rows *rows, uint64_t *ret_t_ms);
/* Where it would stand. */
int sp_writer_find_place(struct sp_day_file *f, uint64_t source, uint64_t generation, const struct sp_head *h,
			 uint64_t *ret_t_ms);
/* Chunks stand in their table by generation, then by number. */
static inline uint64_t sp_chunk_id(uint64_t generation, uint64_t seq)
{
	return generation << 32 | seq;
}

/* Runs a statement that gives no rows, and frees it. */
int sp_writer_run_and_finalize(struct sp_day_file *f, sqlite3_stmt *s);

/* A file of another day that SQLite refuses is replaced by what can be had of it: so it is salvaged only once. */
int sp_writer_repair(struct sp_store *s, const struct sp_day *day);
void sp_writer_close_files(struct sp_writer *w);
/* The days that a writer may have left before everything was rolled up: that with a journal, and the last one. */
int sp_writer_catch_up_days(struct sp_store *s);
/* Rolls up what the day has and closes its files; the next window opens them again. */
void sp_writer_drop_day(struct sp_store *s);
/* The same for good. */
void sp_writer_finish_day(struct sp_store *s);
/* All that is a day's, with its generation; the other has none then. */
void sp_writer_move_day(struct sp_writer *to, struct sp_writer *from);

/* --- rollup/day_close.c: a day that is over is finished in steps --- */
void sp_writer_close_day(struct sp_store *s);
void sp_writer_close_day_step(struct sp_store *s);
/* All steps that are left. */
void sp_writer_finish_closing(struct sp_store *s);
/* The file, if it is one of the writer's, or of the day that is being left. */
struct sp_day_file *sp_writer_file(struct sp_store *s, const struct sp_day *day);
bool sp_writer_has_day(const struct sp_store *s, uint64_t day_s);

/* --- files/retention.c: what is older, or more, than is wanted --- */
int sp_writer_retain(struct sp_store *s, uint64_t now_ns, bool by_age);

/* --- rollup/roll.c --- */
/* The source's first window of the generation is of this time. */
void sp_writer_begin_series(struct sp_store_source *source, uint64_t t_ms);
void sp_writer_forget_rolling(struct sp_writer *w);
/* Is an hour of this source under way, or its day's sums? */
bool sp_writer_is_rolling(const struct sp_writer *w, uint64_t source);
/* What is over at t_ms: minutes, else a part of an hour, or of the day's sums; UINT64_MAX: all that the source has. */
int sp_writer_roll(struct sp_store *s, uint64_t source, uint64_t t_ms);
bool sp_writer_minute_is_over(const struct sp_store_source *source, uint64_t t_ms);
/* All that the open files have of generations that are over. */
int sp_writer_catch_up(struct sp_store *s);

/* --- rollup/day.c: the totals of the day's hours, in one row --- */
int sp_writer_sum_day(struct sp_store *s, uint64_t source);

/* --- files/scan.c --- */
/* As sp_scan_totals(), of one source of an open file: those of windows after a time, or the day's. */
int sp_scan_file_totals(struct sp_store *s, struct sp_day_file *f, uint64_t source, uint64_t after_ms, bool days,
			int (*each)(void *arg, const struct sp_scan_totals *t), void *arg);
/* The pruned trees of an open file, of one source: of the day (and up to when it is), or of hours after a time.
 * -ENODATA: one of these has none. */
int sp_scan_file_trees(struct sp_store *s, struct sp_day_file *f, uint64_t source, uint64_t after_ms, bool days,
		       int (*each)(void *arg, const struct sp_scan_window *w, uint64_t up_to_ms), void *arg);
int sp_dict_read_chunk(uint64_t id, sqlite3_stmt *s, int column, struct sp_chunk *c);
int sp_dict_load(struct sp_store *s, struct sp_day_file *f, struct sp_dict_arrays *d, uint64_t *from_chunk,
		 uint64_t to);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scan_priv.h: the insides of a scan, which scan.c (files, windows, rows) and scan_beside.c (what stands beside them:
 * totals, trees, charts) share.
 *
 * A scan goes from file to file, and in each from row to row of one statement; a file that SQLite does not read is
 * salvaged, and then gone on with. Threads, ownership and errors: as in scan.h.
 */
#ifndef SP_STORE_FILES_SCAN_PRIV_H
#define SP_STORE_FILES_SCAN_PRIV_H

#include "store/files/scan.h"
#include "store/priv.h"

/* A dictionary that windows of the scan were read with. */
struct loaded {
	struct sp_dict_arrays *dict;
	uint64_t next; /* the chunk that it does not have yet */
};
struct scan_source {
	char *name, *types; /* with a NUL behind each word */
	int64_t id;
	uint32_t n_values;
	struct sp_scan_value values[SP_MAX_VALUES];
	struct scan_source *next;
};

struct sp_scan {
	struct sp_store *store;
	struct sp_scan_options o;
	char *source;
	struct sp_day *days;
	size_t n_days, at; /* at: the one to be opened next */
	struct sp_day_file file;
	bool is_memory;       /* file is the store's */
	bool totals, of_days; /* what is asked for: totals instead of rows; those of days */
	bool charts;          /* instead of rows */
	bool trees;           /* pruned trees are asked for, and the file has a table of them */
	sqlite3_stmt *windows;
	struct loaded *loaded;
	size_t n_loaded, loaded_capacity;
	struct sp_scan *names;       /* whose dictionaries are used: its own, or another scan's */
	struct scan_source *sources; /* of all files; those of the open one have ids, others -1 */
	struct sp_window_rows rows;
	uint64_t n_damaged;
	uint64_t next_row;              /* of the file: those before were told, or could not be */
	uint64_t next_ns;               /* when the file's next window is to be expected */
	bool checked;                   /* its structure was looked at */
	uint64_t only_source, after_ms; /* 0: all */
	struct sp_window_id id;         /* of the window that was read last */
	uint64_t last_chunk, up_to_ms;  /* up_to: of the day's tree */
	bool only_trees;                /* rows are no substitute, and a day's tree may be behind its hours */
};

/* The dictionary of a generation, up to a chunk. */
int sp_scan_dict(struct sp_scan *scan, uint64_t generation, uint64_t last_chunk, struct sp_dict **ret_dict);
/* The statement that the open file's rows come from. */
int sp_scan_begin(struct sp_scan *scan);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scan_priv.h: the internals of a scan, shared by scan.c (files, windows, rows) and scan_beside.c (totals, trees and
 * charts).
 *
 * A scan goes from file to file, and in each through the rows of one statement. A file that SQLite cannot read is
 * salvaged, and the scan continues in the result. Threads, ownership and errors: as in scan.h.
 */
#ifndef SP_STORE_FILES_SCAN_PRIV_H
#define SP_STORE_FILES_SCAN_PRIV_H

#include "store/files/scan.h"
#include "store/priv.h"

/* A dictionary of the scan. */
struct loaded_dict {
	struct sp_dict_arrays *dict;
	uint64_t next; /* number of the next chunk to load */
};
struct scan_source {
	char *name, *types; /* split at the spaces and newlines by NULs */
	int64_t id;
	uint32_t n_values;
	struct sp_scan_value values[SP_MAX_VALUES];
	struct scan_source *next;
};

struct sp_scan {
	struct sp_store *store;
	struct sp_scan_options options;
	char *source;
	struct sp_day *days;
	size_t n_days, next_day; /* next_day: index of the file to open next */
	struct sp_day_file file;
	bool borrows_file;    /* the file is another's: it is not closed */
	bool totals, of_days; /* what is read: totals instead of rows; those of days */
	bool charts;          /* instead of rows */
	bool trees;           /* pruned trees are wanted, and the file has the tables */
	sqlite3_stmt *windows;
	struct loaded_dict *loaded;
	size_t n_loaded, loaded_capacity;
	struct sp_scan *dict_scan;   /* the scan that owns the dictionaries: this one, or another */
	struct scan_source *sources; /* of all files; id -1: not in the open file */
	struct sp_window_rows rows;
	uint64_t n_damaged; /* windows skipped */
	uint64_t *salvaged; /* files: day and resolution */
	size_t n_salvaged, salvaged_capacity;
	uint64_t next_row;              /* key of the next row of the file: earlier ones are done */
	uint64_t next_ns;               /* when the next window of the file is expected to begin */
	bool was_checked;               /* quick_check was run on the file */
	uint64_t only_source, after_ms; /* 0: all */
	struct sp_window_id id;         /* of the last window */
	uint64_t last_chunk, up_to_ms;  /* up_to: of the last tree: its last hour */
	bool only_trees;                /* no rows in place of a tree; a day's tree may lack hours */
};

/* The dictionary of a generation, up to a chunk. */
int sp_scan_dict(struct sp_scan *scan, uint64_t generation, uint64_t last_chunk, struct sp_dict **ret_dict);
/* Prepares the statement for the rows of the open file. */
int sp_scan_begin(struct sp_scan *scan);

#endif

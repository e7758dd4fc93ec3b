/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dict_load.c: loads a dictionary from the chunks of a day file; a damaged chunk from another file of the same day. */
#include "store/priv.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "store/files/salvage.h"

#include <errno.h>

enum { KEPT_BYTES = 256 << 10 };
#define CHUNKS "SELECT id, record FROM chunk WHERE id BETWEEN ?1 AND ?2 ORDER BY id"

static int open_chunk(uint64_t id, sqlite3_stmt *s, int column, struct sp_chunk *c, struct sp_unpacker *u)
{
	int r = sp_unpack_begin_columns(u, SP_RECORD_CHUNK, (uint64_t[]){id, 0}, sqlite3_column_blob(s, column),
					(size_t)sqlite3_column_bytes(s, column), sp_chunk_columns(c));

	return r < 0 ? r : sp_chunk_unpack(c, u);
}

int sp_dict_read_chunk(uint64_t id, sqlite3_stmt *s, int column, struct sp_chunk *c)
{
	struct sp_unpacker u;
	int r = open_chunk(id, s, column, c, &u);

	sp_unpack_done(&u);
	return r;
}

/* Reads chunks of a dictionary. The record of the last one stays open until it is applied. */
struct chunk_reader {
	struct sp_chunk c;
	struct sp_unpacker u;
	bool skip_keys;
};

static struct chunk_reader chunk_reader_for(const struct sp_dict_arrays *d)
{
	return (struct chunk_reader){.c = {.skip_nodes = d->skip_nodes, .nodes_in_record = d->lazy && !d->skip_nodes},
				     .skip_keys = d->skip_keys};
}

static int read_chunk(struct chunk_reader *reader, sqlite3_stmt *s)
{
	static const uint32_t first[SP_N_DICT_KINDS];

	sp_unpack_done(&reader->u);
	sp_chunk_clear(&reader->c, first);
	int r = open_chunk((uint64_t)sqlite3_column_int64(s, 0), s, 1, &reader->c, &reader->u);
	if (reader->skip_keys)
		reader->c.items[SP_KEYS].n = 0;
	return r;
}

/* What a large chunk took, as the first of a day, is not kept for those that follow. */
static void chunk_reader_shrink(struct chunk_reader *reader)
{
	struct sp_chunk empty = {.skip_nodes = reader->c.skip_nodes,
				 .only_keys = reader->c.only_keys,
				 .nodes_in_record = reader->c.nodes_in_record};

	if (sp_chunk_memory(&reader->c) <= KEPT_BYTES)
		return;
	sp_unpack_done(&reader->u);
	sp_chunk_done(&reader->c);
	reader->c = empty;
}

static void chunk_reader_done(struct chunk_reader *reader)
{
	sp_unpack_done(&reader->u);
	sp_chunk_done(&reader->c);
}

/*
 * Loads chunks from `from` on from another file of the day, whose chunks may join several, until there is no gap before
 * seq.
 */
static void load_from_sibling(struct sp_day_file *sibling, struct sp_dict_arrays *d, uint64_t from, uint64_t seq)
{
	struct chunk_reader reader = chunk_reader_for(d);
	SP_STATEMENT *s = NULL;

	if (sp_file_prepare(sibling, CHUNKS, &s) < 0)
		return;
	SP_BIND(s, sp_chunk_id(d->dict.generation, from), sp_chunk_id(d->dict.generation, UINT32_MAX));
	while (d->last_seq < seq && sqlite3_step(s) == SQLITE_ROW) {
		if (read_chunk(&reader, s) < 0 || sp_dict_has_gap_before(d, &reader.c) ||
		    sp_dict_apply(d, &reader.c) < 0)
			break;
		d->last_seq = (uint64_t)sqlite3_column_int64(s, 0) & UINT32_MAX;
		chunk_reader_shrink(&reader);
	}
	chunk_reader_done(&reader);
}

/* Salvages chunks that SQLite does not find. Tried once, and never on a file that is being written. */
static void salvage_chunks(struct sp_store *store, struct sp_day_file *f, struct sp_dict_arrays *d, uint64_t from,
			   uint64_t seq)
{
	struct sp_day_file salvaged;

	if (d->dict.n_lost_chunks > 0 || store->writer || sp_file_is_intact(f) ||
	    sp_salvage_open(&store->directory, &f->day, &salvaged) < 0)
		return;
	load_from_sibling(&salvaged, d, from, seq);
	sp_file_close(&salvaged);
}

/* Replaces lost chunks up to seq by those of another file of the day. */
static void replace_chunks(struct sp_store *store, struct sp_day_file *f, struct sp_dict_arrays *d, uint64_t seq)
{
	uint64_t from = d->last_seq + 1;

	for (int r = 0; r < SP_N_RESOLUTIONS && store->directory.path && d->last_seq < seq; r++) {
		struct sp_day day = sp_day_of(f->day.day_s * SP_NS_PER_S, r);
		struct sp_day_file sibling = {0};
		if (store->directory.only || r == f->day.resolution)
			continue;
		if (sp_file_open(&store->directory, &day, false, &sibling) == 0)
			load_from_sibling(&sibling, d, from, seq);
		sp_file_close(&sibling);
	}
	if (d->last_seq < seq)
		salvage_chunks(store, f, d, from, seq);
	sp_error_clear();
	if (d->last_seq < seq) {
		d->dict.n_lost_chunks++;
		d->last_seq = seq;
	}
}

static int apply_chunk_row(struct sp_store *store, struct sp_day_file *f, struct sp_dict_arrays *d,
			   struct chunk_reader *reader, sqlite3_stmt *s)
{
	uint64_t seq = (uint64_t)sqlite3_column_int64(s, 0) & UINT32_MAX;

	if (seq <= d->last_seq) /* loaded from another file */
		return 0;
	int r = read_chunk(reader, s);
	if (r == 0 && sp_dict_has_gap_before(d, &reader->c))
		replace_chunks(store, f, d, seq - 1);
	r = r < 0 || seq <= d->last_seq ? r : sp_dict_apply(d, &reader->c);
	if (r == -EBADMSG) {
		replace_chunks(store, f, d, seq);
		r = 0;
	}
	d->last_seq = SP_MAX(d->last_seq, seq);
	chunk_reader_shrink(reader);
	return r;
}

/* --- the chunks of coarser files: the same content, in fewer chunks --- */
static int open_sibling(struct sp_store *store, const struct sp_day_file *f, int resolution,
			struct sp_day_file *sibling)
{
	struct sp_day day = sp_day_of(f->day.day_s * SP_NS_PER_S, resolution);

	return sp_file_open(&store->directory, &day, false, sibling);
}

/* Loads the chunks between the two, up to the first that is invalid. Returns the number of the last one; 0: none. */
static uint64_t load_chunks(struct sp_day_file *f, struct sp_dict_arrays *d, struct chunk_reader *reader, uint64_t from,
			    uint64_t to, int (*apply)(struct sp_dict_arrays *d, const struct sp_chunk *c))
{
	SP_STATEMENT *s = NULL;
	uint64_t last = 0;

	if (from > to || sp_file_prepare(f, CHUNKS, &s) < 0)
		return 0;
	SP_BIND(s, sp_chunk_id(d->dict.generation, from), sp_chunk_id(d->dict.generation, to));
	while (sqlite3_step(s) == SQLITE_ROW) {
		if (read_chunk(reader, s) < 0 || apply(d, &reader->c) < 0)
			break;
		last = (uint64_t)sqlite3_column_int64(s, 0) & UINT32_MAX;
		chunk_reader_shrink(reader);
	}
	return last;
}

static int apply_next(struct sp_dict_arrays *d, const struct sp_chunk *c)
{
	return sp_dict_has_gap_before(d, c) ? -EBADMSG : sp_dict_apply(d, c);
}

/* Up to the end of the chunk; 0: it is invalid. */
static size_t count_nodes(sqlite3_stmt *s)
{
	uint32_t first[SP_N_DICT_KINDS], counts[SP_N_DICT_KINDS];
	struct sp_unpacker u;
	int r = sp_unpack_begin_columns(&u, SP_RECORD_CHUNK, (uint64_t[]){(uint64_t)sqlite3_column_int64(s, 0), 0},
					sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1),
					SP_CHUNK_COUNT_COLUMNS);

	r = r < 0 ? r : sp_chunk_unpack_counts(&u, first, counts);
	sp_unpack_done(&u);
	return r < 0 ? 0 : (size_t)first[SP_NODES] + counts[SP_NODES];
}

/* The last chunk up to `to` in the file. Reserves room for its nodes, if the dictionary is lazy. */
static uint64_t find_last_chunk(struct sp_day_file *f, struct sp_dict_arrays *d, uint64_t to)
{
	SP_STATEMENT *s = NULL;
	uint64_t last = 0;

	if (sp_file_prepare(f, CHUNKS " DESC LIMIT 1", &s) < 0)
		return 0;
	SP_BIND(s, sp_chunk_id(d->dict.generation, 0), sp_chunk_id(d->dict.generation, to));
	if (sqlite3_step(s) == SQLITE_ROW) {
		last = (uint64_t)sqlite3_column_int64(s, 0) & UINT32_MAX;
		if (d->lazy)
			(void)sp_dict_reserve_nodes(d, count_nodes(s));
	}
	return last;
}

/*
 * Loads chunks from the file of hours, keys from that of minutes, since hours have none, and then what is missing from
 * minutes. The file itself gives the rest.
 */
static void load_from_coarser(struct sp_store *store, struct sp_day_file *f, struct sp_dict_arrays *d, uint64_t to)
{
	struct sp_day_file minutes = {0}, hours = {0};
	struct chunk_reader keys = {.c = {.only_keys = true}}, reader = chunk_reader_for(d);
	uint64_t in_hours = to;

	if (store->writer || !store->directory.path || store->directory.only || f->day.resolution == SP_RES_1H)
		return;
	(void)find_last_chunk(f, d, to);
	int r = open_sibling(store, f, SP_RES_1H, &hours);
	in_hours = r < 0 ? 0 : find_last_chunk(&hours, d, to);
	if (f->day.resolution == SP_RES_10S && open_sibling(store, f, SP_RES_1M, &minutes) < 0)
		in_hours = 0;
	else if (f->day.resolution == SP_RES_10S && !d->skip_keys)
		in_hours = load_chunks(&minutes, d, &keys, 0, in_hours, sp_dict_apply_keys_only);
	if (in_hours > 0)
		d->last_seq = load_chunks(&hours, d, &reader, 0, in_hours, apply_next);
	sp_dict_check_keys(d); /* chunks that follow overwrite them */
	if (f->day.resolution == SP_RES_10S && minutes.db)
		d->last_seq = SP_MAX(d->last_seq, load_chunks(&minutes, d, &reader, d->last_seq + 1, to, apply_next));
	sp_file_close(&minutes);
	sp_file_close(&hours);
	chunk_reader_done(&keys);
	chunk_reader_done(&reader);
	sp_error_clear();
}

int sp_dict_load(struct sp_store *store, struct sp_day_file *f, struct sp_dict_arrays *d, uint64_t *from_chunk,
		 uint64_t to)
{
	struct chunk_reader reader = chunk_reader_for(d);
	SP_STATEMENT *s = NULL;

	if (*from_chunk == 0 && d->last_seq == 0) {
		load_from_coarser(store, f, d, to);
		*from_chunk = d->last_seq > 0 ? d->last_seq + 1 : 0;
	}
	int r = *from_chunk > to ? 0 : sp_file_prepare(f, CHUNKS, &s);
	int code = SQLITE_DONE;

	if (r < 0 || !s)
		return r;
	SP_BIND(s, sp_chunk_id(d->dict.generation, *from_chunk), sp_chunk_id(d->dict.generation, to));
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW)
		r = apply_chunk_row(store, f, d, &reader, s);
	chunk_reader_done(&reader);
	if (r < 0)
		return r;
	if (code != SQLITE_DONE && code != SQLITE_CORRUPT && code != SQLITE_NOTADB)
		return sp_file_error(f, code, "read");
	if (d->last_seq < to && to != UINT32_MAX) /* the last chunks are missing */
		replace_chunks(store, f, d, to);
	*from_chunk = to + 1;
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dict_load.c: loads a dictionary of a day, whole or nodes first; a damaged chunk from another file of the day. */
#include "store/priv.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "store/files/salvage.h"

#include <errno.h>
#include <string.h>

/* MAX_KEYS: more than a day has; only a crafted chunk says so. */
enum { KEPT_BYTES = 256 << 10, MAX_KEYS = 1 << 24 };
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

/* Reads chunks of a dictionary. The record of the last one stays open until it is applied, if that needs it. */
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
	if (!reader->c.record)
		sp_unpack_done(&reader->u);
	if (reader->skip_keys)
		reader->c.items[SP_KEYS].n = 0;
	return r;
}

/* What a large chunk took, as the first of a day, is not kept for those that follow. */
static void chunk_reader_shrink(struct chunk_reader *reader)
{
	struct sp_chunk empty = {.skip_nodes = reader->c.skip_nodes,
				 .only_keys = reader->c.only_keys,
				 .only_nodes = reader->c.only_nodes,
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

/* By kind, how many items there are up to the end of the chunk; 0: it is invalid. */
static void count_items(sqlite3_stmt *s, size_t ret_n[SP_N_DICT_KINDS])
{
	uint32_t first[SP_N_DICT_KINDS], counts[SP_N_DICT_KINDS];
	struct sp_unpacker u;
	int r = sp_unpack_begin_columns(&u, SP_RECORD_CHUNK, (uint64_t[]){(uint64_t)sqlite3_column_int64(s, 0), 0},
					sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1),
					SP_CHUNK_COUNT_COLUMNS);

	r = r < 0 ? r : sp_chunk_unpack_counts(&u, first, counts);
	sp_unpack_done(&u);
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		ret_n[i] = r < 0 ? 0 : (size_t)first[i] + counts[i];
}

/* The last chunk up to `to` in the file; 0: none. Reserves room for its nodes, unless they are found one by one. */
static uint64_t find_last_chunk(struct sp_day_file *f, struct sp_dict_arrays *d, uint64_t to,
				size_t ret_n[SP_N_DICT_KINDS])
{
	SP_STATEMENT *s = NULL;
	uint64_t last = 0;

	memset(ret_n, 0, SP_N_DICT_KINDS * sizeof(*ret_n));
	if (sp_file_prepare(f, CHUNKS " DESC LIMIT 1", &s) < 0)
		return 0;
	SP_BIND(s, sp_chunk_id(d->dict.generation, 0), sp_chunk_id(d->dict.generation, to));
	if (sqlite3_step(s) == SQLITE_ROW) {
		last = (uint64_t)sqlite3_column_int64(s, 0) & UINT32_MAX;
		if (d->lazy || d->nodes_first)
			count_items(s, ret_n);
		(void)sp_dict_reserve_nodes(d, ret_n[SP_NODES]);
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
	size_t n[SP_N_DICT_KINDS];
	uint64_t in_hours = to;

	if (store->writer || !store->directory.path || store->directory.only || f->day.resolution == SP_RES_1H)
		return;
	(void)find_last_chunk(f, d, to, n);
	int r = open_sibling(store, f, SP_RES_1H, &hours);
	in_hours = r < 0 ? 0 : find_last_chunk(&hours, d, to, n);
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

/* --- nodes first, and then what is needed of the rest --- */
_Static_assert((int)SP_DICT_FILES == SP_N_RESOLUTIONS, "a dictionary has numbers for each file of a day");

static void load_nodes_from(struct sp_day_file *f, struct sp_dict_arrays *d, uint64_t to)
{
	struct chunk_reader reader = {.c = {.only_nodes = true}};
	uint64_t last = load_chunks(f, d, &reader, d->last_seq + 1, to, apply_next);

	d->read_to[f->day.resolution] = last;
	d->last_seq = SP_MAX(d->last_seq, last);
	chunk_reader_done(&reader);
}

/* Whether all are there: nothing is mended here. Chunks of hours have no keys, of which only the number counts yet. */
static bool load_nodes(struct sp_store *store, struct sp_day_file *f, struct sp_dict_arrays *d, uint64_t to)
{
	struct sp_day_file minutes = {0}, hours = {0};
	size_t n[SP_N_DICT_KINDS];

	if (store->writer || store->directory.only || f->day.resolution != SP_RES_10S ||
	    find_last_chunk(f, d, to, n) != to || n[SP_KEYS] > MAX_KEYS)
		return false;
	d->items[SP_KEYS].n = n[SP_KEYS];
	if (store->directory.path && open_sibling(store, f, SP_RES_1M, &minutes) == 0) {
		if (open_sibling(store, f, SP_RES_1H, &hours) == 0)
			load_nodes_from(&hours, d, to);
		sp_file_close(&hours);
		load_nodes_from(&minutes, d, to);
	}
	sp_file_close(&minutes);
	load_nodes_from(f, d, to);
	sp_dict_forget_successors(d);
	sp_error_clear();
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		if (d->items[i].n != n[i])
			return false;
	return d->last_seq == to;
}

static int take_chunks(struct sp_day_file *f, struct sp_dict_pick *p, uint64_t from, uint64_t to, bool only_keys)
{
	static const uint32_t first[SP_N_DICT_KINDS];
	const struct sp_chunk anew = {.skip_nodes = true, .only_keys = only_keys, .keys = &p->needed[SP_KEYS]};
	struct sp_chunk c = anew;
	SP_STATEMENT *s = NULL;
	int r = sp_file_prepare(f, CHUNKS " DESC", &s), code = SQLITE_ROW;

	if (r < 0)
		return r;
	SP_BIND(s, sp_chunk_id(p->d->dict.generation, from), sp_chunk_id(p->d->dict.generation, to));
	while (r == 0 && (!only_keys || sp_dict_pick_lacks_keys(p)) && (code = sqlite3_step(s)) == SQLITE_ROW) {
		sp_chunk_clear(&c, first);
		r = sp_dict_read_chunk((uint64_t)sqlite3_column_int64(s, 0), s, 1, &c);
		r = r < 0 ? r : sp_dict_pick_take(p, &c);
		if (sp_chunk_memory(&c) > KEPT_BYTES) {
			sp_chunk_done(&c);
			c = anew;
		}
	}
	sp_chunk_done(&c);
	return r < 0 || code == SQLITE_ROW || code == SQLITE_DONE ? r : sp_file_error(f, code, "read");
}

static int take_from(struct sp_store *store, struct sp_dict_pick *p, int resolution, uint64_t from, uint64_t to,
		     bool only_keys)
{
	struct sp_day day = sp_day_of(p->d->dict.day_s * SP_NS_PER_S, resolution);
	struct sp_day_file f = {0};
	int r = from > to || (only_keys && !sp_dict_pick_lacks_keys(p))
		    ? 0
		    : sp_file_open(&store->directory, &day, false, &f);

	if (r == 0 && f.db)
		r = take_chunks(&f, p, from, to, only_keys);
	sp_file_close(&f);
	return r;
}

int sp_dict_pick_load(struct sp_store *store, struct sp_dict_pick *p)
{
	const uint64_t *to = p->d->read_to;
	uint64_t coarser = SP_MAX(to[SP_RES_1M], to[SP_RES_1H]);
	int r = take_from(store, p, SP_RES_10S, coarser + 1, to[SP_RES_10S], false);

	if (r == 0)
		r = take_from(store, p, SP_RES_1M, to[SP_RES_1H] + 1, to[SP_RES_1M], false);
	if (r == 0)
		r = take_from(store, p, SP_RES_1M, 1, to[SP_RES_1H], true);
	if (r == 0)
		r = take_from(store, p, SP_RES_1H, 1, to[SP_RES_1H], false);
	if (r == 0)
		r = sp_dict_pick_end(p);
	sp_unpack_forget(); /* the last records for a while */
	if (r == 0 || r == -ENOMEM)
		return r;
	sp_error_clear();
	return -ESTALE;
}

/* --- all --- */
/* 1: it is loaded; 0: it is to be loaded otherwise. */
static int load_first(struct sp_store *store, struct sp_day_file *f, struct sp_dict_arrays *d, uint64_t *from_chunk,
		      uint64_t to)
{
	int r = 0;

	if (d->nodes_first && load_nodes(store, f, d, to)) {
		*from_chunk = to + 1;
		return 1;
	}
	if (d->nodes_first)
		r = sp_dict_make_lazy(d);
	if (r < 0)
		return r;
	load_from_coarser(store, f, d, to);
	*from_chunk = d->last_seq > 0 ? d->last_seq + 1 : 0;
	return 0;
}

int sp_dict_load(struct sp_store *store, struct sp_day_file *f, struct sp_dict_arrays *d, uint64_t *from_chunk,
		 uint64_t to)
{
	SP_STATEMENT *s = NULL;
	int r = *from_chunk == 0 && d->last_seq == 0 ? load_first(store, f, d, from_chunk, to) : 0;

	if (r != 0 || *from_chunk > to)
		return SP_MIN(r, 0);
	if (d->nodes_first) /* its end was known: it has grown */
		return -ESTALE;
	struct chunk_reader reader = chunk_reader_for(d);
	int code = SQLITE_DONE;

	r = sp_file_prepare(f, CHUNKS, &s);
	if (r < 0)
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

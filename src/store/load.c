/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load.c: a dictionary out of the chunks of a day file; what is damaged comes from elsewhere, if it is there. */
#include <errno.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "store/priv.h"
#include "store/salvage.h"

int sp_dict_read_chunk(uint64_t id, sqlite3_stmt *s, int column, struct sp_chunk *c)
{
	struct sp_unpacker u;
	int r = sp_unpack_begin_columns(&u, SP_RECORD_CHUNK, (uint64_t[]){id, 0}, sqlite3_column_blob(s, column),
					(size_t)sqlite3_column_bytes(s, column), sp_chunk_columns(c));

	if (r < 0)
		return r;
	r = sp_chunk_unpack(c, &u);
	sp_unpack_done(&u);
	return r;
}

/* Chunks of a sister file from there on, until there is no hole before seq: it packs several into one. */
static void load_from_sister(struct sp_day_file *sister, struct sp_dict_room *d, uint64_t from, uint64_t seq)
{
	static const uint32_t first[SP_N_THINGS];
	struct sp_chunk c = {.without_nodes = d->without_nodes};
	SP_STATEMENT *s = NULL;

	if (sp_file_prepare(sister, "SELECT id, record FROM chunk WHERE id BETWEEN ?1 AND ?2 ORDER BY id", &s) < 0)
		return;
	SP_BIND(s, sp_chunk_id(d->d.generation, from), sp_chunk_id(d->d.generation, UINT32_MAX));
	while (d->last_seq < seq && sqlite3_step(s) == SQLITE_ROW) {
		uint64_t id = (uint64_t)sqlite3_column_int64(s, 0);
		sp_chunk_clear(&c, first);
		if (sp_dict_read_chunk(id, s, 1, &c) < 0 || sp_dict_misses(d, &c) || sp_dict_apply(d, &c) < 0)
			break;
		d->last_seq = id & UINT32_MAX;
	}
	sp_chunk_done(&c);
}

/* They may be where SQLite does not find them. Looked for once, and not where the file is being written. */
static void salvage_chunks(struct sp_store *store, struct sp_day_file *f, struct sp_dict_room *d, uint64_t from,
			   uint64_t seq)
{
	struct sp_day_file salvaged;

	if (d->d.n_lost_chunks > 0 || store->writer != NULL || store->memory != NULL || sp_file_is_sound(f) ||
	    sp_salvage_open(&store->directory, &f->day, &salvaged) < 0)
		return;
	load_from_sister(&salvaged, d, from, seq);
	sp_file_close(&salvaged);
}

/* What was lost of the file, up to seq, may be in another one of the same day. */
static void replace_chunks(struct sp_store *store, struct sp_day_file *f, struct sp_dict_room *d, uint64_t seq)
{
	uint64_t from = d->last_seq + 1;

	for (int r = 0; r < SP_N_RESOLUTIONS && store->directory.path != NULL && d->last_seq < seq; r++) {
		struct sp_day day = sp_day_of(f->day.day_s * SP_NS_PER_S, r);
		struct sp_day_file sister = {0};
		if (store->directory.only != NULL || r == f->day.resolution)
			continue;
		if (sp_file_open(&store->directory, &day, false, &sister) == 0)
			load_from_sister(&sister, d, from, seq);
		sp_file_close(&sister);
	}
	if (d->last_seq < seq)
		salvage_chunks(store, f, d, from, seq);
	sp_error_clear();
	if (d->last_seq < seq) {
		d->d.n_lost_chunks++;
		d->last_seq = seq;
	}
}

static int step_chunk(struct sp_store *store, struct sp_day_file *f, struct sp_dict_room *d, struct sp_chunk *c,
		      sqlite3_stmt *s)
{
	static const uint32_t first[SP_N_THINGS];
	uint64_t id = (uint64_t)sqlite3_column_int64(s, 0), seq = id & UINT32_MAX;

	if (seq <= d->last_seq) /* a sister's had it */
		return 0;
	sp_chunk_clear(c, first);
	int r = sp_dict_read_chunk(id, s, 1, c);
	if (r == 0 && sp_dict_misses(d, c))
		replace_chunks(store, f, d, seq - 1);
	r = r < 0 || seq <= d->last_seq ? r : sp_dict_apply(d, c);
	if (r == -EBADMSG) {
		replace_chunks(store, f, d, seq);
		r = 0;
	}
	d->last_seq = SP_MAX(d->last_seq, seq);
	return r;
}

/* --- the coarser files' chunks, which are fewer and the same --------------------------------------------------------
 */
static int open_sister(struct sp_store *store, const struct sp_day_file *f, int resolution, struct sp_day_file *sister)
{
	struct sp_day day = sp_day_of(f->day.day_s * SP_NS_PER_S, resolution);

	return sp_file_open(&store->directory, &day, false, sister);
}

/* Each chunk up to `to`, until one is not as it should be; returns the last one's number. */
static uint64_t load_each(struct sp_day_file *f, struct sp_dict_room *d, struct sp_chunk *c, uint64_t to,
			  int (*apply)(struct sp_dict_room *d, const struct sp_chunk *c))
{
	static const uint32_t first[SP_N_THINGS];
	SP_STATEMENT *s = NULL;
	uint64_t last = 0;

	if (sp_file_prepare(f, "SELECT id, record FROM chunk WHERE id BETWEEN ?1 AND ?2 ORDER BY id", &s) < 0)
		return 0;
	SP_BIND(s, sp_chunk_id(d->d.generation, 0), sp_chunk_id(d->d.generation, to));
	while (sqlite3_step(s) == SQLITE_ROW) {
		uint64_t id = (uint64_t)sqlite3_column_int64(s, 0);
		sp_chunk_clear(c, first);
		if (sp_dict_read_chunk(id, s, 1, c) < 0 || apply(d, c) < 0)
			break;
		last = id & UINT32_MAX;
	}
	return last;
}

static int apply_next(struct sp_dict_room *d, const struct sp_chunk *c)
{
	return sp_dict_misses(d, c) ? -EBADMSG : sp_dict_apply(d, c);
}

/* Hours' chunks have no keys; of minutes', only these are read. What is not there is read from the file itself. */
static void load_from_coarser(struct sp_store *store, struct sp_day_file *f, struct sp_dict_room *d, uint64_t to)
{
	struct sp_day_file minutes = {0}, hours = {0};
	struct sp_chunk keys = {.without_nodes = true}, c = {.without_nodes = d->without_nodes};

	if (store->writer != NULL || store->memory != NULL || store->directory.path == NULL ||
	    store->directory.only != NULL || f->day.resolution == SP_RES_1H)
		return;
	if (f->day.resolution == SP_RES_10S)
		to = open_sister(store, f, SP_RES_1M, &minutes) < 0
			 ? 0
			 : load_each(&minutes, d, &keys, to, sp_dict_apply_keys);
	if (to > 0 && open_sister(store, f, SP_RES_1H, &hours) == 0)
		d->last_seq = load_each(&hours, d, &c, to, apply_next);
	sp_dict_check_keys(d); /* those that come later are read again */
	sp_file_close(&minutes);
	sp_file_close(&hours);
	sp_chunk_done(&keys);
	sp_chunk_done(&c);
	sp_error_clear();
}

int sp_dict_load(struct sp_store *store, struct sp_day_file *f, struct sp_dict_room *d, uint64_t *from_chunk,
		 uint64_t to)
{
	struct sp_chunk c = {.without_nodes = d->without_nodes};
	SP_STATEMENT *s = NULL;
	if (*from_chunk == 0 && d->last_seq == 0) {
		load_from_coarser(store, f, d, to);
		*from_chunk = d->last_seq > 0 ? d->last_seq + 1 : 0;
	}
	int r = *from_chunk > to
		    ? 0
		    : sp_file_prepare(f, "SELECT id, record FROM chunk WHERE id BETWEEN ?1 AND ?2 ORDER BY id", &s);
	int code = SQLITE_DONE;

	if (r < 0 || s == NULL)
		return r;
	SP_BIND(s, sp_chunk_id(d->d.generation, *from_chunk), sp_chunk_id(d->d.generation, to));
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW)
		r = step_chunk(store, f, d, &c, s);
	sp_chunk_done(&c);
	if (r < 0)
		return r;
	if (code != SQLITE_DONE && code != SQLITE_CORRUPT && code != SQLITE_NOTADB)
		return sp_file_error(f, code, "read");
	if (d->last_seq < to && to != UINT32_MAX) /* the last of them are not there */
		replace_chunks(store, f, d, to);
	*from_chunk = to + 1;
	return 0;
}

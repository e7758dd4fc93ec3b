/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/files/scan_priv.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "store/files/salvage.h"
#include "store/format/pruned_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* MOVED_MS: a window whose millisecond is taken is stored a little later. */
enum { NS_PER_MS = 1000000, MOVED_MS = 1000, MAX_SOURCES = 256, MAX_GENERATIONS = 1 << 20, GAP_CHECK_BYTES = 32 << 20 };

static const uint64_t period_s[SP_N_RESOLUTIONS] = {10, 60, 3600};

/* --- dictionaries --- */
/* The last chunk that the range needs: read all at once, chunks may come from coarser files, which have fewer. */
static uint64_t find_last_chunk(struct sp_scan *scan, uint64_t generation, uint64_t last_chunk)
{
	SP_STATEMENT *s = NULL;
	struct sp_head h;

	if (sp_file_prepare(&scan->file,
			    "SELECT t, head FROM window WHERE t BETWEEN ?1 AND ?2 AND generation = ?3 "
			    "ORDER BY t DESC LIMIT 1",
			    &s) < 0)
		return last_chunk;
	SP_BIND(s, scan->options.from_ns / NS_PER_MS, scan->options.last_ns / NS_PER_MS, generation);
	if (sqlite3_step(s) != SQLITE_ROW)
		return last_chunk;
	struct sp_window_id id = {(uint64_t)sqlite3_column_int64(s, 0), generation};
	int r = sp_head_unpack(id, sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1), &h);
	return r < 0 ? last_chunk : SP_MAX(last_chunk, h.last_chunk);
}

int sp_scan_dict(struct sp_scan *scan, uint64_t generation, uint64_t last_chunk, struct sp_dict **ret_dict)
{
	struct sp_scan *owner = scan->dict_scan;
	struct loaded_dict *l = NULL;

	for (size_t i = owner->n_loaded; i > 0 && !l; i--)
		if (owner->loaded[i - 1].dict->dict.generation == generation &&
		    owner->loaded[i - 1].dict->dict.day_s == scan->file.day.day_s)
			l = &owner->loaded[i - 1];
	if (!l) {
		int r = owner->n_loaded == MAX_GENERATIONS ? -E2BIG
							   : sp_grow(&owner->loaded, &owner->loaded_capacity,
								     owner->n_loaded + 1, sizeof(*owner->loaded));
		r = r < 0 ? r : sp_dict_new(scan->file.day.day_s, generation, &owner->loaded[owner->n_loaded].dict);
		if (r < 0)
			return r;
		l = &owner->loaded[owner->n_loaded++];
		l->dict->skip_nodes = scan->totals;
		l->dict->lazy = scan->options.lazy && !scan->options.nodes_first;
		l->dict->nodes_first = scan->options.nodes_first;
		l->dict->skip_keys = scan->options.skip_keys;
		l->next = 0;
		if (scan->options.lazy)
			last_chunk = find_last_chunk(scan, generation, last_chunk);
	}
	int r = sp_dict_load(scan->store, &scan->file, l->dict, &l->next, last_chunk);
	if (r == 0)
		*ret_dict = &l->dict->dict;
	return r;
}

/* --- sources --- */
/* Splits "samples count\ncpu nanoseconds\n". A name may contain spaces, a unit not. */
static void split_types(struct scan_source *s)
{
	for (char *at = s->types; *at != '\0' && s->n_values < SP_MAX_VALUES;) {
		char *end = strchrnul(at, '\n'), *next = *end == '\0' ? end : end + 1;
		*end = '\0';
		char *space = strrchr(at, ' ');
		if (space)
			*space = '\0';
		s->values[s->n_values++] = (struct sp_scan_value){at, space ? space + 1 : ""};
		at = next;
	}
}

static int add_source(struct sp_scan *scan, sqlite3_stmt *s)
{
	const char *name = (const char *)sqlite3_column_text(s, 1), *types = (const char *)sqlite3_column_text(s, 2);
	struct scan_source *source = calloc(1, sizeof(*source));

	if (!source)
		return -ENOMEM;
	source->id = sqlite3_column_int64(s, 0);
	source->name = strdup(name ? name : "");
	source->types = strdup(types ? types : "");
	source->next = scan->sources;
	scan->sources = source;
	if (!source->name || !source->types)
		return -ENOMEM;
	split_types(source);
	return 0;
}

/* Sources have no CRC: compares the table with its index, which has the same columns. */
static int check_sources(struct sp_day_file *f)
{
	static const char sql[] =
	    "WITH a AS (SELECT id, name, types FROM source NOT INDEXED),"
	    " b AS (SELECT id, name, types FROM source INDEXED BY sqlite_autoindex_source_1)"
	    "SELECT EXISTS(SELECT * FROM a EXCEPT SELECT * FROM b) OR EXISTS(SELECT * FROM b EXCEPT SELECT * FROM a)";
	SP_STATEMENT *s = NULL;
	int r = sp_file_prepare(f, sql, &s), code = r < 0 ? SQLITE_ERROR : sqlite3_step(s);

	if (r < 0 || code != SQLITE_ROW)
		return r < 0 ? r : sp_file_error(f, code, "read");
	return sqlite3_column_int(s, 0) != 0 ? -EBADMSG : 0;
}

static int read_sources(struct sp_scan *scan)
{
	SP_STATEMENT *s = NULL, *chunks = NULL;
	int r = check_sources(&scan->file), code = SQLITE_DONE;

	/* checked now, since a flipped bit in the name of a column would later cost all windows */
	r = r < 0 ? r : sp_file_prepare(&scan->file, "SELECT id, record FROM chunk LIMIT 0", &chunks);
	r = r < 0 ? r : sp_file_prepare(&scan->file, "SELECT id, name, types FROM source NOT INDEXED LIMIT ?1", &s);

	for (struct scan_source *old = scan->sources; old; old = old->next)
		old->id = -1;
	if (r < 0)
		return r;
	SP_BIND(s, MAX_SOURCES);
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW)
		r = add_source(scan, s);
	return r == 0 && code != SQLITE_DONE ? sp_file_error(&scan->file, code, "read") : r;
}

static const struct scan_source *find_source(const struct sp_scan *scan, int64_t id)
{
	const struct scan_source *s = scan->sources;

	while (s && s->id != id)
		s = s->next;
	return s;
}

/* --- files --- */
static void close_file(struct sp_scan *scan)
{
	(void)sqlite3_finalize(scan->windows);
	scan->windows = NULL;
	if (!scan->borrows_file)
		sp_file_close(&scan->file);
	scan->file = (struct sp_day_file){0};
}

static const char *select_sql(const struct sp_scan *scan)
{
	if (scan->of_days && scan->options.trees)
		return "SELECT 0, source, 0, head, NULL, day_tree.record FROM day JOIN day_tree USING(source) "
		       "WHERE source BETWEEN ?1 AND ?2 ORDER BY source";
	if (scan->charts)
		return "SELECT t, source, generation, head, chart.record FROM window JOIN chart USING(t) "
		       "WHERE t BETWEEN ?1 AND ?2 ORDER BY t";
	if (scan->trees) /* do not read the window's record if there is a tree */
		return "SELECT t, source, generation, head, CASE WHEN tree.t IS NULL THEN window.record END, "
		       "tree.record FROM window LEFT JOIN tree USING(t) WHERE t BETWEEN ?1 AND ?2 ORDER BY t";
	if (scan->of_days)
		return "SELECT 0, source, 0, head, record FROM day WHERE source BETWEEN ?1 AND ?2 ORDER BY source";
	if (scan->totals)
		return "SELECT t, source, generation, head, totals.record FROM window JOIN totals USING(t) "
		       "WHERE t BETWEEN ?1 AND ?2 ORDER BY t";
	if (scan->options.no_rows)
		return "SELECT t, source, generation, head FROM window WHERE t BETWEEN ?1 AND ?2 ORDER BY t";
	return "SELECT t, source, generation, head, record FROM window WHERE t BETWEEN ?1 AND ?2 ORDER BY t";
}

/* 1: the file has the tables added later. */
static int has_trees(struct sp_day_file *f)
{
	SP_STATEMENT *s = NULL;
	int r = sp_file_prepare(f, "SELECT count(*) FROM sqlite_schema WHERE name IN ('tree', 'day_tree', 'chart')",
				&s),
	    code = r < 0 ? SQLITE_ERROR : sqlite3_step(s);

	if (r < 0 || code != SQLITE_ROW)
		return r < 0 ? r : sp_file_error(f, code, "read");
	return sqlite3_column_int(s, 0) == 3;
}

int sp_scan_begin(struct sp_scan *scan)
{
	uint64_t from = scan->options.from_ns / NS_PER_MS, to = scan->options.to_ns / NS_PER_MS + MOVED_MS;
	int r = read_sources(scan),
	    trees = r == 0 && (scan->options.trees || scan->charts) ? has_trees(&scan->file) : 0;

	r = trees < 0 ? trees : r;
	scan->trees = trees > 0;
	if (r == 0 && ((scan->options.trees && scan->of_days) || scan->charts) && !scan->trees)
		return -ENODATA;
	r = r < 0 ? r : sp_file_prepare(&scan->file, select_sql(scan), &scan->windows);
	if (r == 0)
		SP_BIND(scan->windows, SP_MAX(scan->of_days ? 0 : from, scan->next_row),
			scan->of_days ? INT64_MAX : to);
	return r;
}

static int open_file(struct sp_scan *scan,
		     int how(const struct sp_directory *d, const struct sp_day *day, struct sp_day_file *f))
{
	int r;

	close_file(scan);
	r = how(&scan->store->directory, &scan->days[scan->next_day - 1], &scan->file);
	if (r == 0 && scan->file.day.resolution != scan->options.resolution)
		r = -ENODATA;
	return r < 0 ? r : sp_scan_begin(scan);
}

static int open_to_read(const struct sp_directory *d, const struct sp_day *day, struct sp_day_file *f)
{
	return sp_file_open(d, day, false, f);
}

/* day_s is a multiple of 86400, which leaves room for the resolution. */
static uint64_t file_key(uint64_t day_s, int resolution)
{
	return day_s + (uint64_t)resolution;
}

/* Replaces the open file, or one that cannot be opened, by what can be salvaged. */
static int salvage_file(struct sp_scan *scan)
{
	const struct sp_day *day = &scan->days[scan->next_day - 1];
	int r = sp_grow(&scan->salvaged, &scan->salvaged_capacity, scan->n_salvaged + 1, sizeof(*scan->salvaged));

	if (r < 0)
		return r;
	scan->salvaged[scan->n_salvaged++] = file_key(day->day_s, day->resolution);
	scan->was_checked = true;
	r = scan->borrows_file ? -EBADMSG : open_file(scan, sp_salvage_open);
	if (r < 0)
		close_file(scan);
	sp_error_clear();
	return r == -ENOMEM ? r : 0;
}

static uint64_t missed_from_ns(const struct sp_scan *scan)
{
	return SP_MAX(scan->options.from_ns, scan->options.missed_from_ns);
}

/* 1: a file is open; 0: there are no more. */
static int next_file(struct sp_scan *scan)
{
	while (!scan->windows && scan->next_day < scan->n_days) {
		scan->next_day++;
		scan->next_row = 0;
		scan->was_checked = false;
		scan->next_ns = SP_MAX(missed_from_ns(scan), scan->days[scan->next_day - 1].day_s * SP_NS_PER_S);
		int r = open_file(scan, open_to_read);
		if (r == 0)
			return 1;
		if (r == -EBADMSG)
			r = salvage_file(scan);
		else
			close_file(scan);
		if (r < 0 && r != -ENOENT && r != -ENODATA) /* it was just removed, or is just being created */
			return r;
		sp_error_clear();
	}
	return scan->windows != NULL;
}

static bool overlaps_day(const struct sp_scan_options *o, const struct sp_day *day)
{
	uint64_t begin = day->day_s * SP_NS_PER_S, end = begin + SP_DAY_S * SP_NS_PER_S;

	return day->resolution < 0 || (day->resolution == o->resolution && begin < o->to_ns && end > o->from_ns);
}

int sp_scan_open(struct sp_store *s, const struct sp_scan_options *o, struct sp_scan **ret_scan)
{
	struct sp_scan *scan = calloc(1, sizeof(*scan));
	uint64_t n_damaged;
	int r = !scan ? -ENOMEM : 0;

	if (r < 0)
		return r;
	scan->store = s;
	scan->options = *o;
	scan->dict_scan = o->share_dicts ? o->share_dicts->dict_scan : scan;
	scan->of_days = o->resolution == SP_N_RESOLUTIONS;
	scan->options.resolution = SP_MIN(o->resolution, SP_RES_1H);
	r = sp_directory_list(&s->directory, &scan->days, &scan->n_days, &n_damaged);
	if (r == 0 && o->source && !(scan->source = strdup(o->source)))
		r = -ENOMEM;
	size_t n = 0;
	for (size_t i = 0; i < scan->n_days; i++)
		if (overlaps_day(&scan->options, &scan->days[i]))
			scan->days[n++] = scan->days[i];
	scan->n_days = n;
	if (r < 0) {
		sp_scan_close(scan);
		return r;
	}
	*ret_scan = scan;
	return 0;
}

void sp_scan_close(struct sp_scan *scan)
{
	if (!scan)
		return;
	close_file(scan);
	for (size_t i = 0; i < scan->n_loaded; i++)
		sp_dict_free(scan->loaded[i].dict);
	for (struct scan_source *next, *s = scan->sources; s; s = next) {
		next = s->next;
		free(s->name);
		free(s->types);
		free(s);
	}
	sp_window_rows_done(&scan->rows);
	free(scan->loaded);
	free(scan->salvaged);
	free(scan->days);
	free(scan->source);
	free(scan);
}

uint64_t sp_scan_n_damaged(const struct sp_scan *scan)
{
	return scan->n_damaged;
}

const uint64_t *sp_scan_salvaged(const struct sp_scan *scan, size_t *ret_n)
{
	*ret_n = scan->n_salvaged;
	return scan->salvaged;
}

/* --- windows --- */
/* Replaces numbers that the dictionary does not have by 0. */
static void check_rows(struct sp_window_rows *rows, uint32_t n_who, uint32_t n_nodes)
{
	for (uint32_t i = 0; i < rows->n; i++) {
		rows->who[i] = rows->who[i] < n_who ? rows->who[i] : 0;
		rows->node[i] = rows->node[i] < n_nodes ? rows->node[i] : 0;
	}
}

static void set_rows(const struct sp_scan *scan, struct sp_scan_window *w)
{
	w->n_rows = scan->rows.n;
	w->who = scan->rows.who;
	w->node = scan->rows.node;
	for (uint32_t v = 0; v < w->n_values; v++)
		w->values[v] = scan->rows.values[v];
}

/* Reads the pruned tree. Its dictionary is kept with the others, under a number that no generation has. */
static int read_tree(struct sp_scan *scan, struct sp_window_id id, struct sp_scan_window *w)
{
	uint64_t number = UINT64_C(1) << (scan->of_days ? 62 : 63) | (scan->of_days ? id.generation : id.t_ms);
	struct sp_dict_arrays *d = NULL;
	struct sp_unpacker u;
	int r = sp_grow(&scan->loaded, &scan->loaded_capacity, scan->n_loaded + 1, sizeof(*scan->loaded));

	r = r < 0 ? r
		  : sp_unpack_begin(&u, SP_RECORD_TREE, (uint64_t[]){id.t_ms, id.generation},
				    sqlite3_column_blob(scan->windows, 5),
				    (size_t)sqlite3_column_bytes(scan->windows, 5));
	if (r < 0)
		return r;
	r = sp_tree_unpack(&u, scan->file.day.day_s, number, &d, &scan->rows, &scan->up_to_ms);
	sp_unpack_done(&u);
	if (r == 0 && scan->rows.n_values != w->n_values) {
		sp_dict_free(d);
		r = -EBADMSG;
	}
	if (r < 0)
		return r;
	scan->loaded[scan->n_loaded++].dict = d;
	w->dict = &d->dict;
	check_rows(&scan->rows, d->dict.n_groups, d->dict.n_nodes);
	set_rows(scan, w);
	return 0;
}

/* For a window whose tree is damaged. */
static int read_window_rows(struct sp_scan *scan, struct sp_window_id id)
{
	SP_STATEMENT *s = NULL;
	int r = sp_file_prepare(&scan->file, "SELECT record FROM window WHERE t = ?1", &s);

	if (r < 0)
		return r;
	SP_BIND(s, id.t_ms);
	int code = sqlite3_step(s);
	if (code != SQLITE_ROW)
		return sp_file_error(&scan->file, code, "read");
	return sp_window_rows_unpack(&scan->rows, id, sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0));
}

static int read_rows(struct sp_scan *scan, struct sp_window_id id, uint64_t last_chunk, struct sp_scan_window *w)
{
	bool has_tree = scan->trees && sqlite3_column_type(scan->windows, 5) != SQLITE_NULL;
	int r = has_tree ? read_tree(scan, id, w) : -EBADMSG;

	if (r != -EBADMSG || scan->only_trees)
		return r == -EBADMSG ? -ENODATA : r;
	r = sp_scan_dict(scan, id.generation, last_chunk, &w->dict);
	if (r < 0)
		return r;
	scan->rows.n = 0;
	if (has_tree)
		r = read_window_rows(scan, id);
	else
		r = sp_window_rows_unpack(&scan->rows, id, sqlite3_column_blob(scan->windows, 4),
					  (size_t)sqlite3_column_bytes(scan->windows, 4));
	if (r < 0 || scan->rows.n_values != w->n_values)
		return r < 0 ? r : -EBADMSG;
	check_rows(&scan->rows, w->resolution == SP_RES_10S ? w->dict->n_keys : w->dict->n_groups, w->dict->n_nodes);
	set_rows(scan, w);
	return 0;
}

/* 1: a day's tree; 0: it lacks hours. */
static int read_day_tree(struct sp_scan *scan, struct sp_window_id id, uint64_t up_to_ms, struct sp_scan_window *w)
{
	struct sp_scan_window read = *w;
	SP_STATEMENT *s = NULL;
	int r = sp_file_prepare(&scan->file, "SELECT max(t) FROM window WHERE source = ?1", &s);

	if (r < 0)
		return r;
	SP_BIND(s, id.generation);
	int code = sqlite3_step(s);
	if (code != SQLITE_ROW)
		return sp_file_error(&scan->file, code, "read");
	if ((uint64_t)sqlite3_column_int64(s, 0) != up_to_ms && !scan->only_trees)
		return 0;
	r = read_tree(scan, id, &read);
	if (r < 0 || (scan->up_to_ms != up_to_ms && !scan->only_trees))
		return r == -EBADMSG ? 0 : r;
	if (!scan->options.no_rows)
		*w = read;
	return 1;
}

/* 1: a wanted window; 0: not wanted. */
static int read_window(struct sp_scan *scan, struct sp_scan_window *w)
{
	sqlite3_stmt *s = scan->windows;
	struct sp_window_id id = {(uint64_t)sqlite3_column_int64(s, 0), (uint64_t)sqlite3_column_int64(s, 2)};
	const struct scan_source *source = find_source(scan, sqlite3_column_int64(s, 1));
	struct sp_head h;

	if (scan->of_days && source)
		id = sp_day_id(scan->file.day.day_s, (uint64_t)source->id);
	if (!source || id.generation > UINT32_MAX || id.t_ms > INT64_MAX / NS_PER_MS)
		return -EBADMSG;
	int r = sp_head_unpack(id, sqlite3_column_blob(s, 3), (size_t)sqlite3_column_bytes(s, 3), &h);
	if (r < 0)
		return r;
	if ((scan->only_source > 0 && scan->only_source != (uint64_t)source->id) ||
	    (!scan->of_days && id.t_ms <= scan->after_ms))
		return 0;
	if (h.wall_ns < scan->options.from_ns || h.wall_ns >= scan->options.to_ns ||
	    (scan->source && strcmp(scan->source, source->name) != 0))
		return 0;
	*w = (struct sp_scan_window){.w = {.wall_ns = h.wall_ns,
					   .boot_ns = h.boot_ns,
					   .duration_ns = h.duration_ns,
					   .rate_millihertz = h.rate_millihertz,
					   .n_cpus = h.n_cpus,
					   .n_lost = h.n_lost,
					   .source = source->name},
				     .end_ns = h.wall_ns + h.length_ns,
				     .resolution = scan->of_days ? SP_N_RESOLUTIONS : scan->options.resolution,
				     .t_ms = id.t_ms,
				     .generation = scan->of_days ? 0 : id.generation,
				     .day_s = scan->file.day.day_s,
				     .source = (uint32_t)source->id,
				     .n_values = source->n_values};
	memcpy(w->types, source->values, sizeof(w->types));
	w->n_rows = (uint32_t)SP_MIN(h.n_rows, UINT32_MAX);
	scan->id = id;
	scan->last_chunk = h.last_chunk;
	if (scan->options.is_wanted && !scan->options.is_wanted(scan->options.arg, w))
		return 0;
	if (scan->of_days && scan->options.trees)
		return read_day_tree(scan, id, h.last_chunk, w);
	r = scan->options.no_rows ? 0 : read_rows(scan, id, h.last_chunk, w);
	return r < 0 ? r : 1;
}

/* Finds out whether only this row is damaged, or the structure of the file. */
static int handle_damage(struct sp_scan *scan, bool structure)
{
	sp_error_clear();
	if (!scan->was_checked && !scan->borrows_file && (structure || !sp_file_is_intact(&scan->file)))
		return salvage_file(scan);
	scan->was_checked = true;
	scan->n_damaged++;
	if (structure)
		close_file(scan);
	return 0;
}

/* If windows are missing, either nobody wrote them or SQLite does not find them. 1: the file was salvaged, read on. */
static int check_gap(struct sp_scan *scan, uint64_t until_ns)
{
	struct sp_store *s = scan->store;
	uint64_t length_ns = period_s[scan->options.resolution] * SP_NS_PER_S,
		 key = file_key(scan->file.day.day_s, scan->options.resolution);

	if (scan->options.missed_to_ns)
		until_ns = SP_MIN(until_ns, scan->options.missed_to_ns);
	if (scan->was_checked || scan->borrows_file || scan->of_days || until_ns < scan->next_ns + 2 * length_ns ||
	    scan->days[scan->next_day - 1].bytes > GAP_CHECK_BYTES)
		return 0;
	scan->was_checked = true;
	for (size_t i = 0; i < s->n_intact_files; i++)
		if (s->intact_files[i] == key)
			return 0;
	if (!sp_file_is_intact(&scan->file)) {
		int r = salvage_file(scan);
		return r < 0 ? r : 1;
	}
	if (s->n_intact_files < SP_COUNT(s->intact_files))
		s->intact_files[s->n_intact_files++] = key;
	return 0;
}

/* After the last row of the file. */
static int finish_file(struct sp_scan *scan)
{
	uint64_t day_end_ns = (scan->file.day.day_s + SP_DAY_S) * SP_NS_PER_S;
	int r = check_gap(scan, SP_MIN(SP_MIN(scan->options.to_ns, day_end_ns), sp_time_ns(CLOCK_REALTIME)));

	if (r == 0)
		close_file(scan);
	return r;
}

/* Handles a row, or an error in place of it. 1: a wanted window. */
static int read_row(struct sp_scan *scan, int code, struct sp_scan_window *ret_window)
{
	uint64_t row = code == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(scan->windows, scan->of_days) : 0;
	bool structure = code != SQLITE_ROW || row < scan->next_row;
	int r = structure ? -EBADMSG : check_gap(scan, scan->of_days ? 0 : row * NS_PER_MS);

	if (r != 0 && !structure)
		return r < 0 ? r : 0; /* continue from the same row */
	if (code != SQLITE_ROW)
		r = sp_file_error(&scan->file, code, "read");
	else if (!structure)
		r = read_window(scan, ret_window);
	if (r == -EBADMSG)
		return handle_damage(scan, structure);
	scan->next_row = row + 1;
	scan->next_ns =
	    SP_MAX(row * NS_PER_MS + period_s[scan->options.resolution] * SP_NS_PER_S, missed_from_ns(scan));
	return r;
}

int sp_scan_next(struct sp_scan *scan, struct sp_scan_window *ret_window)
{
	for (;;) {
		int r = next_file(scan);
		if (r <= 0)
			return r;
		int code = sqlite3_step(scan->windows);
		if (code == SQLITE_DONE) {
			r = finish_file(scan);
			if (r < 0)
				return r;
			continue;
		}
		r = read_row(scan, code, ret_window);
		if (r != 0)
			return r;
	}
}

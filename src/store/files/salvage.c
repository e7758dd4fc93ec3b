/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/files/salvage.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "store/format/pack.h"
#include "store/priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PAGE_MIN = 512,
	PAGE_MAX = 65536,
	COLUMNS_MAX = 6,
	FOLLOW_MAX = 8, /* how often all overflow pages together may be followed */
	BOOT_ID_CHARS = 36,
	TABLE_LEAF = 13,
	INDEX_LEAF = 10,
	FILE_HEADER = 100,
	NS_PER_MS = 1000000,
	RECORD_MAX = 1 << 26,
};
#define FILE_MAX (UINT64_C(1) << 30)

/* A row, of a table (with a rowid) or of an index. */
struct cell {
	uint64_t row, n_bytes;
	size_t n_local, n_columns;
	const uint8_t *bytes; /* the payload in the page; all of it, after read_payload() */
	size_t at[COLUMNS_MAX], len[COLUMNS_MAX], type[COLUMNS_MAX];
	char types[COLUMNS_MAX + 1]; /* by column, 0: NULL, i: integer, t: text, b: BLOB */
};
struct salvage {
	int fd;
	struct sp_day_file *f;
	uint64_t size, n_pages, n_follows_left, n_rows;
	size_t page_bytes;
	uint8_t page[PAGE_MAX];
	uint8_t *payload;
	size_t payload_capacity;
	bool knows_day, day_only; /* day_only: only the day is searched */
	bool has_windows;         /* all windows are inserted */
	int error;                /* of writing */
};
struct row_kind {
	const char *types, *sql; /* parameters: 1 = rowid, 2 ... = columns */
	size_t record;           /* the column with a record; 0: none */
	bool of_index;
	bool (*check)(struct salvage *s, const struct cell *c);
};

/* --- what a cell holds --- */
static uint64_t read_number(const struct cell *c, size_t column)
{
	size_t n = c->len[column];
	uint64_t v = n > 0 && c->bytes[c->at[column]] >= 0x80 ? UINT64_MAX : 0;

	for (size_t i = 0; i < n; i++)
		v = v << 8 | c->bytes[c->at[column] + i];
	return n == 0 ? c->type[column] - 8 : v;
}

static bool has_record(const struct cell *c, size_t column, enum sp_store_record type, uint64_t x, uint64_t y)
{
	return sp_record_is_valid(type, (uint64_t[]){x, y}, c->bytes + c->at[column], c->len[column]);
}

static bool has_text(const struct cell *c, size_t column, size_t min, size_t max)
{
	const uint8_t *b = c->bytes + c->at[column];

	for (size_t i = 0; i < c->len[column]; i++)
		if (b[i] == 0x7f || (b[i] < ' ' && b[i] != '\n' && b[i] != '\t'))
			return false;
	return c->len[column] >= min && c->len[column] <= max;
}

static bool check_chunk(struct salvage *s, const struct cell *c)
{
	(void)s;
	return has_record(c, 1, SP_RECORD_CHUNK, c->row, 0);
}

static bool check_window(struct salvage *s, const struct cell *c)
{
	struct sp_window_id id = {c->row, read_number(c, 2)};
	struct sp_head h;

	(void)s;
	return read_number(c, 1) - 1 < SP_MAX_SOURCES && id.generation <= UINT32_MAX &&
	       id.t_ms <= INT64_MAX / NS_PER_MS && sp_head_unpack(id, c->bytes + c->at[3], c->len[3], &h) == 0 &&
	       has_record(c, 4, SP_RECORD_WINDOW, id.t_ms, id.generation);
}

/* Records beside a window are bound to its generation, so the window must be known. */
static bool is_bound_to_window(struct salvage *s, const struct cell *c, enum sp_store_record type)
{
	SP_STATEMENT *q = NULL;

	if (!s->has_windows || c->len[1] < 4 || c->bytes[c->at[1] + 2] != type ||
	    sp_file_prepare(s->f, "SELECT generation FROM window WHERE t = ?1", &q) < 0)
		return false;
	SP_BIND(q, c->row);
	return sqlite3_step(q) == SQLITE_ROW && has_record(c, 1, type, c->row, (uint64_t)sqlite3_column_int64(q, 0));
}

static bool check_totals(struct salvage *s, const struct cell *c)
{
	return is_bound_to_window(s, c, SP_RECORD_TOTALS);
}

static bool check_tree(struct salvage *s, const struct cell *c)
{
	return is_bound_to_window(s, c, SP_RECORD_TREE);
}

static bool check_chart(struct salvage *s, const struct cell *c)
{
	return is_bound_to_window(s, c, SP_RECORD_CHART);
}

static bool check_day_tree(struct salvage *s, const struct cell *c)
{
	struct sp_window_id id = sp_day_id(s->f->day.day_s, c->row);

	return s->knows_day && c->row - 1 < SP_MAX_SOURCES && has_record(c, 1, SP_RECORD_TREE, id.t_ms, id.generation);
}

static bool check_day(struct salvage *s, const struct cell *c)
{
	struct sp_window_id id = sp_day_id(s->f->day.day_s, c->row);
	struct sp_head h;

	return s->knows_day && c->row - 1 < SP_MAX_SOURCES &&
	       sp_head_unpack(id, c->bytes + c->at[1], c->len[1], &h) == 0 &&
	       has_record(c, 2, SP_RECORD_DAY, id.t_ms, id.generation);
}

static bool is_source(const struct cell *c, uint64_t id, size_t name, size_t types)
{
	const uint8_t *end = c->bytes + c->at[types] + c->len[types];

	return id - 1 < SP_MAX_SOURCES && has_text(c, name, 1, SP_TYPES_MAX) && has_text(c, types, 4, SP_TYPES_MAX) &&
	       end[-1] == '\n' && memchr(c->bytes + c->at[types], ' ', c->len[types]);
}

static bool check_source(struct salvage *s, const struct cell *c)
{
	(void)s;
	return is_source(c, c->row, 1, 2);
}

static bool check_source_index(struct salvage *s, const struct cell *c)
{
	(void)s;
	return is_source(c, read_number(c, 2), 0, 1);
}

static bool check_generation(struct salvage *s, const struct cell *c)
{
	(void)s;
	return c->row - 1 < UINT32_MAX / 2 && has_text(c, 1, BOOT_ID_CHARS, BOOT_ID_CHARS) &&
	       strspn((const char *)c->bytes + c->at[1], "0123456789abcdef-") >= BOOT_ID_CHARS;
}

static bool check_event(struct salvage *s, const struct cell *c)
{
	uint64_t from = read_number(c, 0), to = read_number(c, 3);

	(void)s;
	return from <= to && from > 0 && to <= INT64_MAX && has_text(c, 1, 1, 64) && has_text(c, 2, 0, 4096) &&
	       has_text(c, 4, 0, 65536) && has_text(c, 5, 0, 1 << 20);
}

static bool check_about(struct salvage *s, const struct cell *c)
{
	uint64_t resolution = read_number(c, 0), day_s = read_number(c, 1);

	if (s->day_only && !s->knows_day && c->row == 1 && resolution < SP_N_RESOLUTIONS && day_s > 0 &&
	    day_s % SP_DAY_S == 0 && day_s <= INT32_MAX * UINT64_C(4)) {
		s->f->day.resolution = (int)resolution;
		s->f->day.day_s = day_s;
		s->knows_day = true;
	}
	return false;
}

static const struct row_kind kinds[] = {
    {"0b", "INSERT OR IGNORE INTO chunk VALUES(?1, ?3)", 1, false, check_chunk},
    {"0iibb", "INSERT OR IGNORE INTO window VALUES(?1, ?3, ?4, ?5, ?6)", 4, false, check_window},
    {"0b", "INSERT OR IGNORE INTO totals VALUES(?1, ?3)", 1, false, check_totals},
    {"0b", "INSERT OR IGNORE INTO tree VALUES(?1, ?3)", 1, false, check_tree},
    {"0b", "INSERT OR IGNORE INTO chart VALUES(?1, ?3)", 1, false, check_chart},
    {"0b", "INSERT OR IGNORE INTO day_tree VALUES(?1, ?3)", 1, false, check_day_tree},
    {"0bb", "INSERT OR IGNORE INTO day VALUES(?1, ?3, ?4)", 2, false, check_day},
    {"0tt", "INSERT OR IGNORE INTO source VALUES(?1, ?3, ?4)", 0, false, check_source},
    {"tti", "INSERT OR IGNORE INTO source VALUES(?4, ?2, ?3)", 0, true, check_source_index},
    {"0t", "INSERT OR IGNORE INTO generation VALUES(?1, ?3)", 0, false, check_generation},
    {"ittitt", "INSERT OR IGNORE INTO event VALUES(?2, ?5, ?3, ?4, ?6, ?7)", 0, true, check_event},
    {"ii", NULL, 0, false, check_about},
};

/* --- cells --- */
/* An SQLite varint: big-endian, 7 bits a byte, 8 in the ninth. Returns its length; 0: it is cut off. */
static inline size_t read_varint(const uint8_t *b, size_t n, uint64_t *ret_v)
{
	uint64_t v = 0;

	if (n > 0 && *b < 0x80) {
		*ret_v = *b;
		return 1;
	}
	for (size_t i = 0; i < n && i < 9; i++) {
		v = i == 8 ? v << 8 | b[i] : v << 7 | (b[i] & 0x7f);
		if (i == 8 || b[i] < 0x80) {
			*ret_v = v;
			return i + 1;
		}
	}
	return 0;
}

static bool add_column(struct cell *c, uint64_t type, uint64_t *end)
{
	static const uint8_t lengths[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};
	size_t k = c->n_columns;

	if (k == COLUMNS_MAX || type == 7 || type == 10 || type == 11)
		return false;
	uint64_t len = type >= 12 ? (type - 12) / 2 : lengths[type];
	if (len > c->n_bytes - *end)
		return false;
	c->type[k] = (size_t)type;
	c->at[k] = (size_t)*end;
	c->len[k] = (size_t)len;
	c->types[k] = type == 0 ? '0' : type < 12 ? 'i' : type % 2 == 1 ? 't' : 'b';
	c->types[++c->n_columns] = '\0';
	*end += len;
	return true;
}

/* Bytes of the payload that are in the cell: section 1.6 of SQLite's "Database File Format". */
static size_t local_bytes(size_t usable, uint64_t n, bool of_index)
{
	size_t most = of_index ? (usable - 12) * 64 / 255 - 23 : usable - 35, min = (usable - 12) * 32 / 255 - 23;

	if (n <= most)
		return (size_t)n;
	size_t k = min + (size_t)((n - min) % (usable - 4));
	return k <= most ? k : min;
}

static size_t varint_bytes(const uint8_t *b, size_t n)
{
	size_t i = 0;

	while (i < n && i < 8 && b[i] >= 0x80)
		i++;
	return i + 1;
}

/*
 * Most of what is tried is no cell, which is told by its lengths: here by how that of its head begins, behind those
 * of the payload and of the rowid. It is 9 * COLUMNS_MAX at most; 0x80 begins a number that is longer than needed.
 */
static inline bool may_be_cell(const uint8_t *b, size_t n, bool of_index)
{
	size_t at = varint_bytes(b, n);

	if (!of_index && at < n)
		at += varint_bytes(b + at, n - at);
	return at < n && (b[at] == 0x80 || (b[at] >= 3 && b[at] <= 9 * COLUMNS_MAX));
}

static bool read_cell(const struct salvage *s, const uint8_t *b, size_t n, bool of_index, struct cell *c)
{
	uint64_t head = 0, type, end;
	size_t at = read_varint(b, n, &c->n_bytes), step;

	if (at == 0 || c->n_bytes < 3 || c->n_bytes > SP_MIN(s->size, (uint64_t)RECORD_MAX))
		return false;
	step = of_index ? 1 : read_varint(b + at, n - at, &c->row);
	at += of_index ? 0 : step;
	c->bytes = b + at;
	n -= at;
	at = step == 0 ? 0 : read_varint(c->bytes, n, &head);
	if (at == 0 || head < 3 || head > 9 * COLUMNS_MAX || head > c->n_bytes)
		return false;
	c->n_local = local_bytes(s->page_bytes, c->n_bytes, of_index);
	if (c->n_local + (c->n_local < c->n_bytes ? 4 : 0) > n || head > c->n_local || at > c->n_local)
		return false;
	c->n_columns = 0;
	for (end = head; at < head; at += step) {
		step = read_varint(c->bytes + at, (size_t)head - at, &type);
		if (step == 0 || !add_column(c, type, &end))
			return false;
	}
	return end == c->n_bytes;
}

static uint64_t big_endian(const uint8_t *b, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v = v << 8 | b[i];
	return v;
}

/* Reads the payload from its overflow pages. Their number is bounded by its length, so cycles end. */
static bool read_payload(struct salvage *s, struct cell *c)
{
	uint8_t next[4];
	size_t n = c->n_local;

	if (n == c->n_bytes)
		return true;
	if (sp_grow(&s->payload, &s->payload_capacity, (size_t)c->n_bytes, 1) < 0)
		return false;
	memcpy(s->payload, c->bytes, n);
	memcpy(next, c->bytes + n, sizeof(next));
	while (n < c->n_bytes) {
		uint64_t page = big_endian(next, 4);
		size_t part = SP_MIN(s->page_bytes - 4, (size_t)c->n_bytes - n);
		off_t at = (off_t)((page - 1) * s->page_bytes);
		if (page < 2 || page > s->n_pages || s->n_follows_left == 0)
			return false;
		s->n_follows_left--;
		if (pread(s->fd, next, 4, at) != 4 || pread(s->fd, s->payload + n, part, at + 4) != (ssize_t)part)
			return false;
		n += part;
	}
	c->bytes = s->payload;
	return true;
}

static bool may_match(const struct row_kind *k, const struct cell *c, bool of_index)
{
	size_t at = k->record > 0 ? c->at[k->record] : 0;

	return k->of_index == of_index && strcmp(k->types, c->types) == 0 &&
	       (k->record == 0 || at + 2 > c->n_local || (c->bytes[at] == 'S' && c->bytes[at + 1] == 'P'));
}

static int insert_row(struct salvage *s, const struct row_kind *k, const struct cell *c)
{
	SP_STATEMENT *q = NULL;
	int r = sp_file_prepare(s->f, k->sql, &q);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(q, 1, (int64_t)c->row);
	for (size_t i = 0; i < c->n_columns; i++) /* extra columns are not wanted; SQLite refuses to bind them */
		if (c->types[i] == 'i')
			(void)sqlite3_bind_int64(q, (int)i + 2, (int64_t)read_number(c, i));
		else if (c->types[i] == 't')
			(void)sqlite3_bind_text(q, (int)i + 2, (const char *)c->bytes + c->at[i], (int)c->len[i],
						SQLITE_STATIC);
		else if (c->types[i] == 'b')
			(void)sqlite3_bind_blob64(q, (int)i + 2, c->bytes + c->at[i], c->len[i], SQLITE_STATIC);
	int code = sqlite3_step(q);
	if (code != SQLITE_DONE)
		return sp_file_error(s->f, code, "write");
	s->n_rows += (uint64_t)sqlite3_changes(s->f->db);
	return 0;
}

static void try_cell(struct salvage *s, size_t at, bool of_index)
{
	struct cell c;
	bool whole = false;

	if (at >= s->page_bytes || !read_cell(s, s->page + at, s->page_bytes - at, of_index, &c))
		return;
	for (size_t i = 0; i < SP_COUNT(kinds) && s->error == 0; i++) {
		if (!may_match(&kinds[i], &c, of_index) || (kinds[i].sql != NULL) == s->day_only)
			continue;
		if (!whole && !read_payload(s, &c))
			return;
		whole = true;
		if (kinds[i].check(s, &c))
			s->error = insert_row(s, &kinds[i], &c);
	}
}

/* --- pages --- */
/* The cells that the page header lists. */
static void try_listed_cells(struct salvage *s, uint64_t page)
{
	size_t head = page == 1 ? FILE_HEADER : 0, n = (size_t)big_endian(s->page + head + 3, 2);

	if (s->page[head] != TABLE_LEAF && s->page[head] != INDEX_LEAF)
		return;
	for (size_t i = 0; i < n && head + 10 + 2 * i <= s->page_bytes; i++)
		try_cell(s, (size_t)big_endian(s->page + head + 8 + 2 * i, 2), s->page[head] == INDEX_LEAF);
}

static void sweep_pages(struct salvage *s, bool listed)
{
	for (uint64_t page = 1; page <= s->n_pages && s->error == 0; page++) {
		ssize_t n = pread(s->fd, s->page, s->page_bytes, (off_t)((page - 1) * s->page_bytes));
		if (n <= 0)
			return;
		memset(s->page + n, 0, s->page_bytes - (size_t)n);
		if (listed)
			try_listed_cells(s, page);
		for (size_t at = 0; at < (size_t)n && !listed && s->error == 0; at++) {
			if (s->page[at] < 3) /* the length of a payload; so are the zeros behind the end of the file */
				continue;
			for (int of_index = 0; of_index < 2; of_index++)
				if (may_be_cell(s->page + at, s->page_bytes - at, of_index))
					try_cell(s, at, of_index);
		}
	}
}

/* Tries the page size of the header, and all sizes that stores have used. A wrong size fails by CRC. */
static void sweep_page_sizes(struct salvage *s, bool listed)
{
	uint8_t stored[2] = {0};
	size_t sizes[3] = {0, 1024, 4096};

	if (pread(s->fd, stored, 2, 16) == 2)
		sizes[0] = big_endian(stored, 2) == 1 ? PAGE_MAX : (size_t)big_endian(stored, 2);
	if (sizes[0] < PAGE_MIN || (sizes[0] & (sizes[0] - 1)) != 0)
		sizes[0] = 0;
	for (size_t i = 0; i < SP_COUNT(sizes) && s->error == 0; i++) {
		if (sizes[i] == 0 || (i > 0 && sizes[i] == sizes[0]))
			continue;
		s->page_bytes = sizes[i];
		s->n_pages = (s->size + sizes[i] - 1) / sizes[i];
		s->n_follows_left = FOLLOW_MAX * s->n_pages;
		sweep_pages(s, listed);
	}
}

/* --- the whole --- */
/* The files of a day have the same sources, by the same ids. */
static void copy_sources(const struct sp_directory *d, struct sp_day_file *f)
{
	for (int r = 0; r < SP_N_RESOLUTIONS && d && !d->only; r++) {
		struct sp_day day = sp_day_of(f->day.day_s * SP_NS_PER_S, r);
		struct sp_day_file sibling = {0};
		SP_STATEMENT *from = NULL, *to = NULL;
		if (r == f->day.resolution || sp_file_open(d, &day, false, &sibling) < 0)
			continue;
		if (sp_file_prepare(&sibling, "SELECT id, name, types FROM source LIMIT 64", &from) == 0 &&
		    sp_file_prepare(f, "INSERT OR IGNORE INTO source VALUES(?1, ?2, ?3)", &to) == 0)
			while (sqlite3_step(from) == SQLITE_ROW) {
				for (int i = 0; i < 3; i++)
					(void)sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
				(void)sqlite3_step(to);
				(void)sqlite3_reset(to);
			}
		sp_file_close(&sibling);
	}
	sp_error_clear();
}

static int salvage_rows(struct salvage *s, const struct sp_directory *d)
{
	static const char generations[] = "INSERT OR IGNORE INTO generation SELECT DISTINCT generation, '' FROM window;"
					  "INSERT OR IGNORE INTO generation SELECT DISTINCT id >> 32, '' FROM chunk";

	copy_sources(d, s->f);
	sweep_page_sizes(s, true);
	sweep_page_sizes(s, false);
	s->has_windows = true;
	if (s->f->day.resolution != SP_RES_10S)
		sweep_page_sizes(s, false);
	if (s->error < 0)
		return s->error;
	return s->n_rows == 0 ? -EBADMSG : sp_file_exec(s->f, generations);
}

static int salvage_new(int fd, struct sp_day_file *f, struct salvage **ret_salvage)
{
	struct salvage *s = calloc(1, sizeof(*s));
	struct stat st;

	if (!s)
		return -ENOMEM;
	s->fd = fd;
	s->f = f;
	s->knows_day = f->day.day_s > 0;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > FILE_MAX) {
		free(s);
		return -EBADMSG;
	}
	s->size = (uint64_t)st.st_size;
	*ret_salvage = s;
	return 0;
}

static void salvage_free(struct salvage *s)
{
	free(s->payload);
	free(s);
}

int sp_salvage(const struct sp_directory *d, int fd, struct sp_day_file *f)
{
	struct salvage *s;
	int r = salvage_new(fd, f, &s);

	if (r < 0)
		return r;
	r = sp_file_exec(f, "BEGIN IMMEDIATE");
	r = r < 0 ? r : salvage_rows(s, d);
	r = sp_file_end(f, r);
	salvage_free(s);
	return r;
}

/* Finds day and resolution of a file of any name, from its row in `about`. */
static int find_day(int fd, struct sp_day *day)
{
	struct sp_day_file f = {.day = *day};
	struct salvage *s;
	int r = salvage_new(fd, &f, &s);

	if (r < 0)
		return r;
	s->day_only = true;
	sweep_page_sizes(s, true);
	sweep_page_sizes(s, false);
	r = s->knows_day ? 0 : -EBADMSG;
	*day = f.day;
	salvage_free(s);
	return r;
}

int sp_salvage_open(const struct sp_directory *d, const struct sp_day *day, struct sp_day_file *ret_file)
{
	const char *name = d->only ? d->only : day->name;
	SP_CLOSE int fd = openat(d->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct sp_day found = *day;
	struct sp_day_file f;
	int r = fd < 0 ? -errno : 0;

	if (r == 0 && day->resolution < 0)
		r = find_day(fd, &found);
	r = r < 0 ? r : sp_file_open_memory(&found, &f);
	if (r < 0)
		return r;
	r = sp_salvage(d, fd, &f);
	if (r < 0) {
		sp_file_close(&f);
		return r;
	}
	*ret_file = f;
	return 0;
}

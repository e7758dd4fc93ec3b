/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/priv.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/time.h"
#include "store/files/moved.h"
#include "store/files/salvage.h"
#include "store/write/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { NS_PER_MS = 1000000, BOOT_ID_MAX = 256, HOUR_JUST_OVER_MS = 15 * 60000 };

/* --- records --- */
int sp_writer_run_and_finalize(struct sp_day_file *f, sqlite3_stmt *s)
{
	int code = sqlite3_step(s);

	(void)sqlite3_finalize(s);
	return code == SQLITE_DONE ? 0 : sp_file_error(f, code, "write");
}

int sp_writer_insert_chunk(struct sp_writer *w, struct sp_day_file *f, uint64_t generation, uint64_t seq,
			   const struct sp_chunk *c)
{
	uint64_t id = sp_chunk_id(generation, seq);
	const void *record;
	sqlite3_stmt *s;
	size_t len;

	sp_packer_begin(w->packer);
	sp_chunk_pack(c, w->packer,
		      f->day.resolution == SP_RES_1H); /* minutes keep keys: their chunks replace lost ones of 10s */
	int r = sp_packer_end(w->packer, SP_RECORD_CHUNK, (uint64_t[]){id, 0}, &record, &len);
	r = r < 0 ? r : sp_file_statement(f, SP_PUT_CHUNK, &s);
	if (r < 0)
		return r;
	SP_BIND(s, id);
	(void)sqlite3_bind_blob64(s, 2, record, len, SQLITE_STATIC);
	return sp_file_run_statement(f, s);
}

/* Finds the window's place: its millisecond, or the next one not taken by another source or generation. */
static int find_place(struct sp_day_file *f, uint64_t source, struct sp_window_id *id)
{
	for (;; id->t_ms++) {
		SP_CACHED_STATEMENT *s = NULL;
		int r = sp_file_statement(f, SP_FIND_PLACE, &s);
		if (r < 0)
			return r;
		SP_BIND(s, id->t_ms, source, id->generation);
		int code = sqlite3_step(s);
		if (code == SQLITE_DONE || (code == SQLITE_ROW && sqlite3_column_int(s, 0) != 0))
			return 0; /* free, or the same window from a failed attempt */
		if (code != SQLITE_ROW)
			return sp_file_error(f, code, "write");
	}
}

int sp_writer_find_place(struct sp_day_file *f, uint64_t source, uint64_t generation, const struct sp_head *h,
			 uint64_t *ret_t_ms)
{
	struct sp_window_id id = {h->wall_ns / NS_PER_MS, generation};
	int r = find_place(f, source, &id);

	if (r == 0)
		*ret_t_ms = id.t_ms;
	return r;
}

int sp_writer_insert_window(struct sp_writer *w, struct sp_day_file *f, uint64_t source, uint64_t generation,
			    const struct sp_head *h, const struct sp_window_rows *rows, uint64_t *ret_t_ms)
{
	struct sp_window_id id = {h->wall_ns / NS_PER_MS, generation};
	uint8_t head[SP_HEAD_MAX];
	const void *record;
	sqlite3_stmt *s;
	size_t len;
	int r = find_place(f, source, &id);

	r = r < 0 ? r : sp_window_rows_pack(rows, id, w->packer, &record, &len);
	r = r < 0 ? r : sp_file_statement(f, SP_PUT_WINDOW, &s);
	if (r < 0)
		return r;
	SP_BIND(s, id.t_ms, source, generation);
	(void)sqlite3_bind_blob64(s, 4, head, sp_head_pack(h, id, head), SQLITE_STATIC);
	(void)sqlite3_bind_blob64(s, 5, record, len, SQLITE_STATIC);
	*ret_t_ms = id.t_ms;
	return sp_file_run_statement(f, s);
}

/* --- sources --- */
static int format_types(const struct sp_profile *p, char *ret_types, size_t size)
{
	size_t n = 0;

	ret_types[0] = '\0';
	for (uint32_t i = 0; i < sp_profile_n_value_types(p); i++) {
		const struct sp_value_type *t = sp_profile_value_type(p, i);
		n += (size_t)snprintf(ret_types + n, size - n, "%s %s\n", sp_profile_string(p, t->name),
				      sp_profile_string(p, t->unit));
		if (n >= size)
			return sp_fail_said(-E2BIG, "the names of the profile's values are too long");
	}
	return n == 0 ? sp_fail_said(-EINVAL, "the profile has no values") : 0;
}

static int insert_source(struct sp_day_file *f, size_t id, const struct sp_store_source *source)
{
	sqlite3_stmt *s;
	int r = sp_file_prepare(f, "INSERT OR REPLACE INTO source VALUES(?1, ?2, ?3)", &s);

	if (r < 0)
		return r;
	SP_BIND(s, id);
	(void)sqlite3_bind_text(s, 2, source->name, -1, SQLITE_STATIC);
	(void)sqlite3_bind_text(s, 3, source->types, -1, SQLITE_STATIC);
	return sp_writer_run_and_finalize(f, s);
}

/* The id of the source in the day's three files, from 1. */
static int find_or_add_source(struct sp_writer *w, const char *name, const char *types, uint64_t *ret_number)
{
	for (size_t i = 0; i < w->n_sources; i++)
		if (strcmp(w->sources[i].name, name) == 0 && strcmp(w->sources[i].types, types) == 0) {
			*ret_number = i + 1;
			return 0;
		}
	if (w->n_sources == SP_MAX_SOURCES)
		return sp_fail_said(-E2BIG, "the day has %d different sources already", SP_MAX_SOURCES);
	struct sp_store_source source = {.name = strdup(name), .types = strdup(types)};
	int r = !source.name || !source.types ? -ENOMEM : 0;
	for (int i = 0; i < SP_N_RESOLUTIONS && r == 0; i++)
		r = insert_source(&w->files[i], w->n_sources + 1, &source);
	if (r < 0) {
		free(source.name);
		free(source.types);
		return r;
	}
	w->sources[w->n_sources++] = source;
	*ret_number = w->n_sources;
	return 0;
}

static void forget_sources(struct sp_writer *w)
{
	for (; w->n_sources > 0; w->n_sources--) {
		struct sp_store_source *source = &w->sources[w->n_sources - 1];
		free(source->name);
		free(source->types);
		sp_minute_done(&source->minutes[0]);
		sp_minute_done(&source->minutes[1]);
	}
}

static int read_sources(struct sp_writer *w, struct sp_day_file *f)
{
	SP_STATEMENT *s = NULL;
	int r = sp_file_prepare(f, "SELECT id, name, types FROM source ORDER BY id", &s), code;

	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(s, 1),
			   *types = (const char *)sqlite3_column_text(s, 2);
		uint64_t number;
		if (!name || !types || sqlite3_column_int64(s, 0) > (int64_t)w->n_sources + 1)
			return -EBADMSG;
		r = find_or_add_source(w, name, types, &number);
	}
	return r == 0 && code != SQLITE_DONE ? sp_file_error(f, code, "read") : r;
}

/* --- the day --- */
static void end_generation(struct sp_writer *w)
{
	sp_writer_forget_rolling(w);
	sp_dict_builder_free(w->dict_builder);
	w->dict_builder = NULL;
	w->generation = w->last_chunk = 0;
	for (size_t i = 0; i < w->n_sources; i++) {
		struct sp_store_source *source = &w->sources[i];
		memset(source->rolled_to_ms, 0, sizeof(source->rolled_to_ms));
		source->last_t_ms = 0;
		sp_minute_reset(&source->minutes[0]);
		sp_minute_reset(&source->minutes[1]);
	}
}

void sp_writer_close_files(struct sp_writer *w)
{
	for (int i = 0; i < SP_N_RESOLUTIONS; i++)
		sp_file_close(&w->files[i]);
	end_generation(w);
	forget_sources(w);
	w->day_s = 0;
}

/* Whatever cannot be rolled up now is found when the store is next opened. */
static void finish_generation(struct sp_store *s)
{
	if (sp_writer_catch_up(s) < 0)
		sp_error_clear();
	end_generation(s->writer);
}

void sp_writer_drop_day(struct sp_store *s)
{
	finish_generation(s);
	sp_writer_close_files(s->writer);
}

int sp_writer_check_time(const struct sp_store *s)
{
	return s->close_by_ns && sp_time_ns(CLOCK_MONOTONIC) >= s->close_by_ns ? -ETIME : 0;
}

void sp_writer_finish_day(struct sp_store *s)
{
	finish_generation(s);
	bool late = sp_writer_check_time(s) < 0;
	for (int i = 0; i < SP_N_RESOLUTIONS; i++)
		(void)(late ? sp_file_keep_journal(&s->writer->files[i]) : sp_file_finish(&s->writer->files[i]));
	sp_error_clear();
	sp_writer_close_files(s->writer);
}

void sp_writer_move_day(struct sp_writer *to, struct sp_writer *from)
{
	to->packer = from->packer; /* shared by both */
	to->day_s = from->day_s;
	memcpy(to->files, from->files, sizeof(to->files));
	to->dict_builder = from->dict_builder;
	to->generation = from->generation;
	to->last_chunk = from->last_chunk;
	memcpy(to->sources, from->sources, sizeof(to->sources));
	to->n_sources = from->n_sources;
	memset(from->files, 0, sizeof(from->files));
	memset(from->sources, 0, sizeof(from->sources));
	from->dict_builder = NULL;
	from->day_s = from->generation = from->last_chunk = from->n_sources = 0;
}

/* Renames a file that SQLite refuses, and begins a new one with what can be salvaged. */
static int replace_file(struct sp_store *s, const struct sp_day *day, struct sp_day_file *f)
{
	SP_CLOSE int old = openat(s->directory.fd, day->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	sp_error_clear();
	int r = sp_directory_set_aside(&s->directory, day->name);
	s->n_damaged_files++;
	r = r < 0 ? r : sp_file_open(&s->directory, day, true, f);
	if (r == 0 && old >= 0 && sp_salvage(&s->directory, old, f) < 0)
		sp_error_clear(); /* the new file begins empty */
	if (r == 0)
		sp_log_replaced(s, f, day->name);
	return r;
}

int sp_writer_repair(struct sp_store *s, const struct sp_day *day)
{
	struct sp_day_file f = {0};
	int r = sp_file_open(&s->directory, day, false, &f);

	sp_file_close(&f);
	if (r != -EBADMSG)
		return 0; /* not damaged */
	r = replace_file(s, day, &f);
	if (r == 0)
		r = sp_file_finish(&f);
	sp_file_close(&f);
	return r;
}

static int open_file(struct sp_store *s, const struct sp_day *day)
{
	struct sp_day_file *f = &s->writer->files[day->resolution];
	int r = sp_file_open(&s->directory, day, true, f);

	return r == -EBADMSG ? replace_file(s, day, f) : r;
}

static int open_day(struct sp_store *s, uint64_t wall_ns)
{
	struct sp_writer *w = s->writer;
	int r = 0;

	for (int i = 0; i < SP_N_RESOLUTIONS && r == 0; i++) {
		struct sp_day day = sp_day_of(wall_ns, i);
		r = open_file(s, &day);
		w->day_s = day.day_s;
	}
	for (int i = 0; i < SP_N_RESOLUTIONS && r == 0; i++)
		r = read_sources(w, &w->files[i]);
	if (r < 0)
		sp_writer_close_files(w);
	return r;
}

/* After -EBADMSG: replaces those of our files that are damaged. Returns whether any is. */
static bool replace_damaged_files(struct sp_store *s)
{
	struct sp_writer *w = s->writer;
	bool any = false;

	for (int i = 0; i < SP_N_RESOLUTIONS; i++) {
		if (!w->files[i].db || sp_file_is_intact(&w->files[i]))
			continue;
		struct sp_day day = w->files[i].day;
		sp_file_close(&w->files[i]);
		any |= replace_file(s, &day, &w->files[i]) == 0;
	}
	sp_writer_close_files(w);
	return any;
}

/* Opens the day's files, or makes them; finishes those of another day. */
static int writer_open_day(struct sp_store *s, uint64_t wall_ns)
{
	struct sp_writer *w = s->writer;
	uint64_t day_s = sp_day_of(wall_ns, 0).day_s;

	if (w->files[0].db && w->day_s == day_s)
		return 0;
	if (w->files[0].db)
		sp_writer_close_day(s);
	if (s->closing && s->closing->day_s == day_s) /* the clock was set back */
		sp_writer_finish_closing(s);
	int r = open_day(s, wall_ns);
	r = r < 0 ? r : sp_writer_catch_up(s);
	if (r == -EBADMSG && replace_damaged_files(s))
		r = open_day(s, wall_ns);
	if (!w->files[0].db)
		return r;
	sp_error_clear(); /* what could not be rolled up is done later */
	return 0;
}

static int64_t last_generation(struct sp_day_file *f)
{
	SP_STATEMENT *s = NULL;
	int r = sp_file_prepare(f, "SELECT max(id) FROM generation", &s);

	if (r < 0)
		return r;
	int code = sqlite3_step(s);
	return code == SQLITE_ROW ? sqlite3_column_int64(s, 0) : sp_file_error(f, code, "read");
}

/* A number that is in none of the three files. */
static int new_generation(struct sp_writer *w)
{
	int64_t last = 0;
	int r = 0;

	for (int i = 0; i < SP_N_RESOLUTIONS; i++) {
		int64_t n = last_generation(&w->files[i]);
		if (n < 0)
			return (int)n;
		last = SP_MAX(last, n);
	}
	if (last >= UINT32_MAX / 2)
		return -E2BIG;
	for (int i = 0; i < SP_N_RESOLUTIONS && r == 0; i++) {
		sqlite3_stmt *s;
		r = sp_file_prepare(&w->files[i], "INSERT INTO generation VALUES(?1, ?2)", &s);
		if (r < 0)
			return r;
		SP_BIND(s, (uint64_t)last + 1);
		(void)sqlite3_bind_text(s, 2, w->boot_id, -1, SQLITE_STATIC);
		r = sp_writer_run_and_finalize(&w->files[i], s);
	}
	r = r < 0 ? r : sp_dict_builder_new(&w->dict_builder);
	if (r == 0)
		w->generation = (uint64_t)last + 1;
	return r;
}

/*
 * Whether the dictionary is too large. Ending a generation costs least just after an hour was rolled up, so one near
 * its limit ends then.
 */
static bool is_too_large(const struct sp_store *s, const struct sp_store_source *source, uint64_t t_ms)
{
	const struct sp_writer *w = s->writer;
	size_t bytes = sp_dict_builder_memory(w->dict_builder), most = s->options.max_memory_bytes;
	uint64_t hour = source->rolled_to_ms[SP_RES_1H];
	bool at_hour = !w->rolling && !source->hour_is_new && t_ms >= hour && t_ms - hour < HOUR_JUST_OVER_MS;

	return sp_dict_builder_is_full(w->dict_builder) || bytes > (at_hour ? most / 8 * 7 : most);
}

/* Begins a new generation if the clock was set back, or if the dictionary is full. */
static int ensure_generation(struct sp_store *s, uint64_t source, uint64_t t_ms)
{
	struct sp_writer *w = s->writer;
	bool continues = w->dict_builder && t_ms >= w->sources[source - 1].last_t_ms;
	bool outgrown = continues && is_too_large(s, &w->sources[source - 1], t_ms);

	if (continues && !outgrown)
		return 0;
	if (outgrown)
		sp_log_outgrown(s);
	finish_generation(s);
	return new_generation(w);
}

/* --- a window --- */
static int commit_window(struct sp_writer *w, uint64_t source, struct sp_head *h, uint64_t *ret_t_ms)
{
	struct sp_day_file *f = &w->files[SP_RES_10S];
	struct sp_chunk *pending = sp_dict_builder_pending(w->dict_builder);
	bool has_chunk = !sp_chunk_is_empty(pending);
	int r = sp_file_begin(f);

	if (r < 0)
		return r;
	h->last_chunk = w->last_chunk + has_chunk;
	if (has_chunk)
		r = sp_writer_insert_chunk(w, f, w->generation, h->last_chunk, pending);
	r = r < 0 ? r : sp_writer_insert_window(w, f, source, w->generation, h, &w->rows, ret_t_ms);
	r = sp_file_end(f, r);
	if (r < 0)
		return r;
	w->last_chunk = h->last_chunk;
	sp_dict_builder_commit(w->dict_builder);
	return 0;
}

/*
 * Does one task with each window, so that none takes long: a step of closing the day before; a roll-up; retention.
 * Retention by age runs once an hour, so that a clock that jumps ahead and back does not empty the store.
 */
static int do_background_step(struct sp_store *s, uint64_t source, uint64_t t_ms)
{
	struct sp_writer *w = s->writer;
	struct sp_store_source *state = &w->sources[source - 1];
	uint64_t minute = t_ms / 60000;
	int r;

	if (s->closing && !sp_writer_minute_is_over(state, t_ms)) {
		sp_writer_close_day_step(s);
		return 0;
	}
	if (w->minute_retained != minute && t_ms % 60000 >= 30000) {
		r = sp_writer_retain(s, t_ms * NS_PER_MS, w->check_age);
		w->minute_retained = minute;
		w->check_age = false;
		return r;
	}
	return sp_writer_roll(s, source, t_ms);
}

static int add_window(struct sp_store *s, const struct sp_store_window *window, const struct sp_profile *p,
		      uint64_t *ret_source)
{
	struct sp_writer *w = s->writer;
	char types[SP_TYPES_MAX];
	uint64_t source, t_ms = window->wall_ns / NS_PER_MS;
	struct sp_head h = {.wall_ns = window->wall_ns,
			    .boot_ns = window->boot_ns,
			    .duration_ns = window->duration_ns,
			    .length_ns = window->duration_ns,
			    .rate_millihertz = window->rate_millihertz,
			    .n_lost = window->n_lost,
			    .n_cpus = window->n_cpus};
	int r = format_types(p, types, sizeof(types));

	r = r < 0 ? r : writer_open_day(s, window->wall_ns);
	r = r < 0 ? r : find_or_add_source(w, window->source, types, &source);
	r = r < 0 ? r : ensure_generation(s, source, t_ms);
	r = r < 0 ? r : sp_dict_builder_add_rows(w->dict_builder, p, &w->rows);
	if (r < 0)
		return r;
	h.n_rows = w->rows.n;
	uint64_t stored_ms;
	r = commit_window(w, source, &h, &stored_ms);
	if (r < 0)
		return r;
	struct sp_store_source *state = &w->sources[source - 1];
	if (state->last_t_ms == 0)
		sp_writer_begin_series(state, t_ms);
	state->last_t_ms = t_ms;
	struct sp_minute *minute = &state->minutes[t_ms / 60000 % 2];
	const uint32_t *group_of = sp_dict_builder_view(w->dict_builder).group_of;
	if (sp_minute_add(minute, t_ms, w->dict_builder, p) < 0 ||
	    sp_minute_add_rows(minute, stored_ms, &h, &w->rows, group_of) < 0)
		sp_error_clear(); /* then the roll-up reads the file */
	*ret_source = source;
	return 0;
}

int sp_writer_add(struct sp_store *s, const struct sp_store_window *window, const struct sp_profile *p)
{
	uint64_t source;
	int r = sp_writer_check_place(s);

	r = r < 0 ? r : add_window(s, window, p, &source);
	if (r == -EBADMSG && replace_damaged_files(s)) {
		sp_error_clear();
		r = add_window(s, window, p, &source);
	}
	if (r < 0)
		return r;
	/* the window is committed: errors from here on are not returned, and the work is tried again */
	r = do_background_step(s, source, window->wall_ns / NS_PER_MS);
	if (r == -EBADMSG)
		(void)replace_damaged_files(s);
	if (r < 0)
		sp_error_clear();
	return 0;
}

/* --- life --- */
int sp_writer_catch_up_days(struct sp_store *s)
{
	SP_FREE struct sp_day *days = NULL;
	uint64_t n_damaged, today = sp_day_of(sp_time_ns(CLOCK_REALTIME), 0).day_s;
	size_t n;
	int r = sp_directory_list(&s->directory, &days, &n, &n_damaged);

	for (size_t i = 0; i < n && r == 0; i++)
		r = sp_directory_check_version(&s->directory, days[i].name);
	for (size_t i = 0; i < n && r == 0; i++) {
		bool unfinished = days[i].has_journal || days[i].day_s == days[n - 1].day_s;
		if (!unfinished || s->writer->day_s == days[i].day_s)
			continue;
		r = writer_open_day(s, days[i].day_s * SP_NS_PER_S);
	}
	if (r == 0 && s->writer->files[0].db && s->writer->day_s != today)
		sp_writer_finish_day(s);
	return r;
}

int sp_writer_open(struct sp_store *s)
{
	struct sp_writer *w = calloc(1, sizeof(*w));
	SP_FREE char *boot_id = NULL;

	if (!w)
		return -ENOMEM;
	int r = sp_packer_new(&w->packer);
	r = r < 0 ? r : sp_directory_lock(&s->directory, &w->lock);
	if (r < 0) {
		sp_packer_free(w->packer);
		free(w);
		return r;
	}
	if (sp_text_read("/proc/sys/kernel/random/boot_id", BOOT_ID_MAX, &boot_id, NULL) == 0)
		(void)snprintf(w->boot_id, sizeof(w->boot_id), "%.*s", (int)strcspn(boot_id, "\n"), boot_id);
	sp_error_clear();
	s->writer = w;
	r = sp_writer_catch_up_days(s);
	if (r == -EPROTONOSUPPORT) {
		sp_writer_close(s);
		return r;
	}
	if (r < 0) /* the disk may be full: sp_store_add() fails as long as it is */
		sp_writer_close_files(w);
	sp_error_clear();
	return 0;
}

void sp_writer_close(struct sp_store *s)
{
	struct sp_writer *w = s->writer;

	if (!w)
		return;
	if (!sp_writer_is_in_place(s))
		sp_writer_abandon_files(s);
	sp_writer_finish_closing(s);
	if (w->files[0].db)
		sp_writer_drop_day(s);
	sp_window_rows_done(&w->rows);
	sp_packer_free(w->packer);
	sp_directory_unlock(&w->lock);
	free(w);
	s->writer = NULL;
}

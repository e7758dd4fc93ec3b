/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/priv.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "store/files/moved.h"
#include "store/files/salvage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NS_PER_MS = 1000000 };

static const uint64_t retain_s[SP_N_RESOLUTIONS] = {UINT64_C(2) * SP_DAY_S, UINT64_C(14) * SP_DAY_S,
						    UINT64_C(400) * SP_DAY_S};

static void set_defaults(struct sp_store_options *o)
{
	for (int i = 0; i < SP_N_RESOLUTIONS; i++)
		if (o->retain_s[i] == 0)
			o->retain_s[i] = retain_s[i];
	if (o->max_disk_bytes == 0)
		o->max_disk_bytes = UINT64_C(2) << 30;
	if (o->max_memory_bytes == 0)
		o->max_memory_bytes = UINT64_C(64) << 20;
}

static void files_close(struct sp_store *s)
{
	sp_writer_close(s);
	sp_directory_close(&s->directory);
	free(s);
}

static int check_versions(struct sp_store *s)
{
	SP_FREE struct sp_day *days = NULL;
	size_t n = 0;
	int r = sp_directory_list(&s->directory, &days, &n, &s->n_damaged_files);

	for (size_t i = 0; i < n && r == 0; i++)
		r = sp_directory_check_version(&s->directory, s->directory.only ? s->directory.only : days[i].name);
	return r;
}

static int files_open(const char *place, const struct sp_store_options *o, struct sp_store **ret_store)
{
	struct sp_store *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->ops = &sp_store_ops_files;
	s->options = *o;
	s->directory.fd = -1;
	set_defaults(&s->options);
	int r = sp_directory_open(place, !o->read_only, o->read_only, &s->directory);
	if (r == 0 && o->read_only)
		r = sp_directory_keep_files(&s->directory);
	r = r < 0 ? r : check_versions(s);
	if (r == 0 && !o->read_only)
		r = sp_writer_open(s);
	if (r < 0) {
		files_close(s);
		return r;
	}
	*ret_store = s;
	return 0;
}

static int files_add(struct sp_store *s, const struct sp_store_window *w, const struct sp_profile *p)
{
	uint64_t begin = sp_time_ns(CLOCK_PROCESS_CPUTIME_ID);

	if (!s->writer)
		return sp_fail_said(-EROFS, "the store is open for reading only");
	if (w->wall_ns / SP_NS_PER_S > INT32_MAX * UINT64_C(4))
		return sp_fail_said(-EINVAL, "the window is of no time");
	int r = sp_writer_add(s, w, p);
	uint64_t took = sp_time_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
	s->n_added += r == 0;
	s->add_cpu_ns += took;
	s->add_worst_ns = SP_MAX(s->add_worst_ns, took);
	return r < 0 ? sp_fail(r, "store") : 0;
}

/* --- events --- */
static int insert_event(struct sp_day_file *f, const struct sp_store_event *e)
{
	SP_STATEMENT *s = NULL;
	const char *const words[] = {e->kind, e->subject, e->text, e->data};
	int r = sp_file_prepare(f, "INSERT OR IGNORE INTO event VALUES(?1, ?2, ?3, ?4, ?5, ?6)", &s);

	if (r < 0)
		return r;
	SP_BIND(s, e->from_ns, e->to_ns);
	for (int i = 0; i < 4; i++)
		(void)sqlite3_bind_text(s, 3 + i, words[i] ? words[i] : "", -1, SQLITE_STATIC);
	int code = sqlite3_step(s);
	return code == SQLITE_DONE ? 0 : sp_file_error(f, code, "write");
}

/* Events are stored with hours, in the file of the day when they ended. */
static int files_event_add(struct sp_store *s, const struct sp_store_event *e)
{
	struct sp_day day = sp_day_of(e->to_ns, SP_RES_1H);
	struct sp_day_file other = {0};

	if (!s->writer)
		return sp_fail_said(-EROFS, "the store is open for reading only");
	int r = sp_writer_check_place(s);
	if (r < 0)
		return sp_fail(r, "store");
	struct sp_day_file *f = sp_writer_file(s, &day);
	if (f)
		return insert_event(f, e);
	r = sp_file_open(&s->directory, &day, true, &other);
	r = r < 0 ? r : insert_event(&other, e);
	if (r == 0)
		(void)sp_file_finish(&other);
	sp_file_close(&other);
	return r < 0 ? sp_fail(r, "store") : 0;
}

static int each_event_of_file(struct sp_day_file *f, uint64_t from_ns, uint64_t to_ns,
			      int (*each)(void *arg, const struct sp_store_event *e), void *arg)
{
	SP_STATEMENT *s = NULL;
	int r = sp_file_prepare(f,
				"SELECT from_ns, to_ns, kind, subject, text, data FROM event "
				"WHERE from_ns <= ?2 AND to_ns >= ?1 ORDER BY from_ns, kind, subject",
				&s);
	int code = SQLITE_DONE;

	if (r < 0)
		return r;
	SP_BIND(s, from_ns, SP_MIN(to_ns, (uint64_t)INT64_MAX));
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
		const char *words[4];
		for (int i = 0; i < 4; i++) {
			words[i] = (const char *)sqlite3_column_text(s, 2 + i);
			words[i] = words[i] ? words[i] : "";
		}
		struct sp_store_event e = {(uint64_t)sqlite3_column_int64(s, 0),
					   (uint64_t)sqlite3_column_int64(s, 1),
					   words[0],
					   words[1],
					   words[2],
					   words[3]};
		r = each(arg, &e);
	}
	return r == 0 && code != SQLITE_DONE ? sp_file_error(f, code, "read") : r;
}

static int files_events(struct sp_store *s, uint64_t from_ns, uint64_t to_ns,
			int (*each)(void *arg, const struct sp_store_event *e), void *arg)
{
	SP_FREE struct sp_day *days = NULL;
	uint64_t n_damaged;
	size_t n = 0;
	int r = sp_directory_list(&s->directory, &days, &n, &n_damaged);

	for (size_t i = 0; i < n && r == 0; i++) {
		struct sp_day_file f = {0};
		bool may_have = days[i].resolution < 0 ||
				(days[i].resolution == SP_RES_1H && days[i].day_s + SP_DAY_S > from_ns / SP_NS_PER_S);
		r = may_have ? sp_file_open(&s->directory, &days[i], false, &f) : 0;
		if (r == -EBADMSG)
			r = sp_salvage_open(&s->directory, &days[i], &f);
		if (r == 0 && may_have)
			r = each_event_of_file(&f, from_ns, to_ns, each, arg);
		sp_file_close(&f);
		if (r == -EBADMSG || r == -ENOENT || r == -ENODATA) { /* the other files still count */
			sp_error_clear();
			r = 0;
		}
	}
	return r;
}

/* --- stats --- */
/* If the head is damaged, returns last_ns. */
static uint64_t last_window_end(struct sp_day_file *f, uint64_t last_ns)
{
	SP_STATEMENT *s = NULL;
	struct sp_head head;
	int r = sp_file_prepare(f, "SELECT t, generation, head FROM window ORDER BY t DESC LIMIT 1", &s);

	if (r == 0 && sqlite3_step(s) == SQLITE_ROW) {
		struct sp_window_id id = {(uint64_t)sqlite3_column_int64(s, 0), (uint64_t)sqlite3_column_int64(s, 1)};
		const void *bytes = sqlite3_column_blob(s, 2);

		if (sp_head_unpack(id, bytes, (size_t)sqlite3_column_bytes(s, 2), &head) == 0)
			return last_ns + SP_MAX(head.length_ns, head.duration_ns);
	}
	sp_error_clear();
	return last_ns;
}

/* The time range of a file's windows; n = 0: it has none. */
struct span {
	uint64_t n, first_ns, last_ns, end_ns;
};

static int read_span(struct sp_day_file *f, bool counted, struct span *ret_span)
{
	SP_STATEMENT *s = NULL;
	const char *sql = counted ? "SELECT count(*), min(t), max(t) FROM window"
				  : "SELECT EXISTS(SELECT * FROM window), (SELECT min(t) FROM window), "
				    "(SELECT max(t) FROM window)";
	int r = sp_file_prepare(f, sql, &s);

	if (r < 0)
		return r;
	int code = sqlite3_step(s);
	if (code != SQLITE_ROW)
		return sp_file_error(f, code, "read");
	*ret_span = (struct span){.n = (uint64_t)sqlite3_column_int64(s, 0),
				  .first_ns = (uint64_t)sqlite3_column_int64(s, 1) * NS_PER_MS,
				  .last_ns = (uint64_t)sqlite3_column_int64(s, 2) * NS_PER_MS};
	if (ret_span->n > 0)
		ret_span->end_ns = last_window_end(f, ret_span->last_ns);
	return 0;
}

static void add_first(struct sp_store_stats *stats, const struct span *span)
{
	if (span->n > 0)
		stats->first_ns = stats->first_ns == 0 ? span->first_ns : SP_MIN(stats->first_ns, span->first_ns);
}

static void add_last(struct sp_store_stats *stats, const struct span *span)
{
	stats->last_ns = SP_MAX(stats->last_ns, span->last_ns);
	stats->last_end_ns = SP_MAX(stats->last_end_ns, span->end_ns);
}

/* An error is returned without text. */
static int read_file_span(struct sp_store *s, const struct sp_day *day, bool counted, struct span *ret_span)
{
	struct sp_day_file f = {0};
	int r = sp_file_open(&s->directory, day, false, &f);

	if (r == 0)
		r = read_span(&f, counted, ret_span);
	sp_file_close(&f);
	if (r < 0)
		sp_error_clear();
	return r;
}

static void add_file_stats(struct sp_store *s, const struct sp_day *day, bool counted, struct sp_store_stats *stats)
{
	struct span span = {0};

	stats->bytes += day->bytes;
	stats->n_files++;
	if (day->resolution > SP_RES_10S)
		return;
	stats->n_damaged_files += read_file_span(s, day, counted, &span) == -EBADMSG;
	stats->n_windows += span.n;
	add_first(stats, &span);
	add_last(stats, &span);
}

/* Windows of 10 s are deleted first, so older data is in coarser files only. */
static void add_coarser_spans(struct sp_store *s, const struct sp_day *days, size_t n, struct sp_store_stats *stats)
{
	for (size_t i = 0; i < n && (stats->first_ns == 0 || days[i].day_s * SP_NS_PER_S <= stats->first_ns); i++) {
		struct span span = {0};
		if (days[i].resolution > SP_RES_10S && read_file_span(s, &days[i], false, &span) == 0)
			add_first(stats, &span);
	}
	for (size_t i = n; i-- > 0 && stats->last_ns == 0;) {
		struct span span = {0};
		if (days[i].resolution > SP_RES_10S && read_file_span(s, &days[i], false, &span) == 0)
			add_last(stats, &span);
	}
}

static int files_stats(struct sp_store *s, struct sp_store_stats *ret_stats)
{
	struct sp_store_stats stats = {.n_damaged_windows = s->n_damaged_windows,
				       .n_damaged_chunks = s->n_damaged_chunks,
				       .add_cpu_ns = s->add_cpu_ns,
				       .add_worst_ns = s->add_worst_ns,
				       .n_added = s->n_added,
				       .n_moved = s->n_moved,
				       .n_outgrown = s->n_outgrown};
	SP_FREE struct sp_day *days = NULL;
	size_t n = 0;
	int r = sp_directory_list(&s->directory, &days, &n, &stats.n_damaged_files);

	for (size_t i = 0; i < n && r == 0; i++)
		add_file_stats(s, &days[i], true, &stats);
	add_coarser_spans(s, days, n, &stats);
	if (s->writer) {
		stats.was_killed = s->writer->lock.was_open;
		stats.alive_ns = s->writer->lock.alive_ns;
	}
	if (s->writer && s->writer->dict_builder)
		stats.memory_bytes = sp_dict_builder_memory(s->writer->dict_builder);
	if (s->closing && s->closing->dict_builder)
		stats.memory_bytes += sp_dict_builder_memory(s->closing->dict_builder);
	memcpy(stats.removed, s->removed, sizeof(stats.removed));
	if (r == 0)
		*ret_stats = stats;
	return r;
}

static int files_span(struct sp_store *s, struct sp_store_span *ret_span)
{
	SP_FREE struct sp_day *days = NULL;
	struct sp_store_stats stats = {0};
	uint64_t n_damaged;
	size_t n = 0;
	int r = sp_directory_list(&s->directory, &days, &n, &n_damaged);

	for (size_t i = 0; i < n && r == 0; i++)
		add_file_stats(s, &days[i], false, &stats);
	add_coarser_spans(s, days, n, &stats);
	if (r == 0)
		*ret_span = (struct sp_store_span){stats.first_ns, stats.last_ns, stats.last_end_ns};
	return r;
}

const struct sp_store_ops sp_store_ops_files = {
    .scheme = "",
    .open = files_open,
    .close = files_close,
    .add = files_add,
    .event_add = files_event_add,
    .events = files_events,
    .stats = files_stats,
    .span = files_span,
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/priv.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "store/write/log.h"

#include <errno.h>
#include <stdlib.h>

static int remove_day(struct sp_store *s, struct sp_day *day)
{
	int r = sp_directory_unlink(&s->directory, day->name);

	if (r == 0)
		day->bytes = 0;
	return r;
}

/* Days in the future are kept: the clock is or was wrong. */
static int remove_old(struct sp_store *s, struct sp_day *days, size_t n, uint64_t now_s)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		uint64_t end_s = days[i].day_s + SP_DAY_S;
		if (!sp_writer_has_day(s, days[i].day_s) && end_s < now_s &&
		    now_s - end_s > s->options.retain_s[days[i].resolution])
			r = remove_day(s, &days[i]);
	}
	return r;
}

/* --- the limit of the disk --- */
static uint64_t sum_bytes(const struct sp_day *days, size_t n, int resolution)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += resolution < 0 || days[i].resolution == resolution ? days[i].bytes : 0;
	return bytes;
}

/*
 * Each resolution has a share of the limit: half for hours, which are to last for years, a quarter for each finer one.
 * What it does not need others may use. So no flood of fine windows costs coarse history.
 */
static uint64_t share_of(const struct sp_store *s, int resolution)
{
	return s->options.max_disk_bytes / (resolution == SP_RES_1H ? 2 : 4);
}

/* The finest resolution that has more than its share: there is one while all have more than the limit. */
static int find_greedy(const struct sp_store *s, const struct sp_day *days, size_t n)
{
	int resolution = SP_RES_10S;

	while (resolution < SP_N_RESOLUTIONS - 1 && sum_bytes(days, n, resolution) <= share_of(s, resolution))
		resolution++;
	return resolution;
}

/*
 * The oldest day, but for those with less than a quarter of the largest one's bytes: a day that somebody flooded,
 * today, too, costs no other day.
 */
static struct sp_day *choose_day(struct sp_day *days, size_t n, int resolution)
{
	uint64_t most = 0;
	size_t i;

	for (i = 0; i < n; i++)
		if (days[i].resolution == resolution)
			most = SP_MAX(most, days[i].bytes);
	for (i = 0; days[i].resolution != resolution || days[i].bytes == 0 || days[i].bytes < most / 4;)
		i++;
	return &days[i];
}

/* Finer files of the same day go, too: else they would be rolled up again. */
static int remove_today(struct sp_store *s, struct sp_day *days, size_t n, const struct sp_day *chosen)
{
	int r = 0;

	if (sp_writer_has_day(s, chosen->day_s))
		sp_writer_drop_day(s);
	for (size_t i = 0; i < n && r == 0; i++)
		if (days[i].day_s == chosen->day_s && days[i].resolution <= chosen->resolution && days[i].bytes > 0)
			r = remove_day(s, &days[i]);
	return r;
}

static int remove_until_small(struct sp_store *s, struct sp_day *days, size_t n)
{
	uint64_t today_s = s->writer->day_s;
	int r = 0;

	while (r == 0 && sum_bytes(days, n, -1) > s->options.max_disk_bytes) {
		struct sp_day *day = choose_day(days, n, find_greedy(s, days, n));
		if (s->closing && day->day_s == s->closing->day_s)
			return 0; /* the day before is finished within minutes */
		r = day->day_s == today_s ? remove_today(s, days, n, day) : remove_day(s, day);
	}
	return r;
}

/* Tells of what is gone only when nothing more goes: events are written to today's file of hours. */
static int keep_limit(struct sp_store *s, struct sp_day *days, size_t n, uint64_t now_ns)
{
	SP_FREE uint64_t *before = calloc(n + 1, sizeof(*before));

	if (!before)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		before[i] = days[i].bytes;
	int r = remove_until_small(s, days, n);
	for (size_t i = 0; i < n; i++) {
		if (days[i].bytes > 0 || before[i] == 0)
			continue;
		int logged = sp_log_removed(s, &days[i], before[i], now_ns);
		r = r < 0 ? r : logged;
	}
	return r;
}

/* Checks one file in each call, to bound the time. */
static int check_next_file(struct sp_store *s, const struct sp_day *days, size_t n)
{
	const struct sp_day *day = n == 0 ? NULL : &days[s->writer->next_checked++ % n];

	if (!day || day->bytes == 0 || sp_writer_has_day(s, day->day_s))
		return 0;
	int r = sp_writer_repair(s, day);
	sp_error_clear();
	return r;
}

int sp_writer_retain(struct sp_store *s, uint64_t now_ns, bool by_age)
{
	SP_FREE struct sp_day *days = NULL;
	uint64_t n_damaged;
	size_t n = 0;
	int r = sp_directory_list(&s->directory, &days, &n, &n_damaged);

	if (r == 0 && by_age)
		r = remove_old(s, days, n, now_ns / SP_NS_PER_S);
	r = r < 0 ? r : keep_limit(s, days, n, now_ns);
	return r < 0 ? r : check_next_file(s, days, n);
}

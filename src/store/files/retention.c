/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/priv.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"

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

static uint64_t sum_bytes(const struct sp_day *days, size_t n)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += days[i].bytes;
	return bytes;
}

/* Removes the finest resolution first, the oldest day first. Of today only the finest file is removed, as the last
 * resort. */
static int remove_until_small(struct sp_store *s, struct sp_day *days, size_t n)
{
	int r = 0;

	for (int resolution = 0; resolution < SP_N_RESOLUTIONS; resolution++)
		for (size_t i = 0; i < n && r == 0 && sum_bytes(days, n) > s->options.max_disk_bytes; i++)
			if (days[i].resolution == resolution && !sp_writer_has_day(s, days[i].day_s))
				r = remove_day(s, &days[i]);
	for (size_t i = 0; i < n && r == 0 && sum_bytes(days, n) > s->options.max_disk_bytes; i++)
		if (days[i].resolution == SP_RES_10S && days[i].day_s == s->writer->day_s) {
			sp_writer_drop_day(s);
			r = remove_day(s, &days[i]);
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
	r = r < 0 ? r : remove_until_small(s, days, n);
	return r < 0 ? r : check_next_file(s, days, n);
}

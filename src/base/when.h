/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * when.h: parses times and time ranges as people write them.
 *
 *   -15m  -2h  -1d12h  -1w          so long ago; a day is 24 hours (w d h m s)
 *   now  today  yesterday  monday   the last Monday, today if it is one; also mon, tue ...
 *   2026-11-21  yesterday 14:00  14:00:30  2026-11-21 14:00     in the local time zone (TZ)
 *   2026-11-21T14:00:00+01:00  ...Z (RFC 3339)  @1763733600     independent of it
 * A date is the whole day, which may have 23 or 25 hours; everything else is a moment. Of a time that occurs twice
 * (the clock is set back) the first is taken; one that is skipped is refused. Years are 1970 to 2199. Ranges are half
 * open. Times in the future are allowed; the caller gives `now`. 0, or -EINVAL with the text and the reason in the
 * error chain. Thread-safe as localtime_r(3).
 */
#ifndef SP_BASE_WHEN_H
#define SP_BASE_WHEN_H

#include <stddef.h>
#include <stdint.h>

struct sp_when {
	uint64_t from_ns, to_ns; /* CLOCK_REALTIME; equal: a moment */
};

int sp_when_parse(const char *text, uint64_t now_ns, struct sp_when *ret_when);

/* From the beginning of `from` to the end of `to`; to NULL: until now. -EINVAL for an empty range. */
int sp_when_between(const char *from, const char *to, uint64_t now_ns, struct sp_when *ret_range);

/* "FROM..TO", "FROM.." (until now), or one time: a date is the whole day, a moment means from then until now. */
int sp_when_range(const char *text, uint64_t now_ns, struct sp_when *ret_range);

enum { SP_WHEN_TEXT = 40 };
/* "2026-11-21 14:00:30", local; without the seconds when they are 0. */
const char *sp_when_text(uint64_t ns, char ret_text[SP_WHEN_TEXT]);

#endif

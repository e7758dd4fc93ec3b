/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * when.h: times and ranges of time, as people write them.
 *
 *   -15m  -2h  -1d12h  -1w          so long ago: a day is 24 hours (w d h m s)
 *   now  today  yesterday  monday   the last Monday, today if it is one; mon, tue ... too
 *   2026-11-21  yesterday 14:00  14:00:30  2026-11-21 14:00     of the local time zone (TZ)
 *   2026-11-21T14:00:00+01:00  ...Z (RFC 3339)  @1763733600     of none
 * What names a day is the whole of it, from its first moment to that of the next day, be there 23 or 25 hours between;
 * all else is a moment. A time that the clocks pass twice is the first of the two; one that they skip is refused. Years
 * are 1970 to 2199. Ranges are half open. The future is allowed: the caller knows `now`, and says so.
 * 0, or -EINVAL with the text and what is wrong with it in the error chain. Thread-safe as localtime_r(3).
 */
#ifndef SP_BASE_WHEN_H
#define SP_BASE_WHEN_H

#include <stddef.h>
#include <stdint.h>

struct sp_when {
	uint64_t from_ns, to_ns; /* CLOCK_REALTIME; equal: a moment */
};

int sp_when_parse(const char *text, uint64_t now_ns, struct sp_when *ret_when);

/* From the beginning of one to the end of the other; to NULL: until now. -EINVAL if nothing is between them. */
int sp_when_between(const char *from, const char *to, uint64_t now_ns, struct sp_when *ret_range);

/* "FROM..TO", "FROM.." (until now), or one time: a day is the whole of it, since a moment it is until now. */
int sp_when_range(const char *text, uint64_t now_ns, struct sp_when *ret_range);

enum { SP_WHEN_TEXT = 40 };
/* "2026-11-21 14:00:30", local; without the seconds when they are 0. */
const char *sp_when_text(uint64_t ns, char ret_text[SP_WHEN_TEXT]);

#endif

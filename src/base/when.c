/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/when.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { DAY_S = 86400, HOUR_S = 3600, FIRST_YEAR = 1970, LAST_YEAR = 2199 };

/* What was written: `whole` for messages, `at` what is still to be read. */
struct text {
	const char *whole, *at;
	time_t now;
};

static int is_no_time(const struct text *t)
{
	return sp_fail_said(-EINVAL,
			    "'%s' is no time; times are -15m, -1d12h, now, today, yesterday 14:00, monday, 14:00, "
			    "2026-11-21, 2026-11-21 14:00:30, 2026-11-21T14:00:00Z, @1763733600",
			    t->whole);
}

/* --- pieces --- */
static bool when_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Exactly so many digits. */
static bool take_number(struct text *t, int n_digits, int *ret_number)
{
	int v = 0;

	for (int i = 0; i < n_digits; i++) {
		if (!when_is_digit(t->at[i]))
			return false;
		v = 10 * v + (t->at[i] - '0');
	}
	t->at += n_digits;
	*ret_number = v;
	return true;
}

static bool when_parse_char(struct text *t, char c)
{
	bool is = *t->at == c;

	t->at += is;
	return is;
}

static bool take_spaces(struct text *t)
{
	size_t n = strspn(t->at, " ");

	t->at += n;
	return n > 0;
}

/* A decimal number of seconds, with at most 9 digits of a fraction. */
static bool take_seconds(struct text *t, uint64_t *ret_ns)
{
	uint64_t v = 0, unit = SP_NS_PER_S;

	if (!when_is_digit(*t->at))
		return false;
	for (; when_is_digit(*t->at); t->at++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(*t->at - '0'), &v))
			return false;
	if (__builtin_mul_overflow(v, SP_NS_PER_S, &v))
		return false;
	if (when_parse_char(t, '.')) {
		if (!when_is_digit(*t->at))
			return false;
		for (; when_is_digit(*t->at) && unit > 1; t->at++)
			v += (uint64_t)(*t->at - '0') * (unit /= 10);
	}
	*ret_ns = v;
	return !when_is_digit(*t->at);
}

/* --- the calendar --- */
/* A date as a number that orders like it. */
static int date_of(const struct tm *tm)
{
	return (tm->tm_year * 12 + tm->tm_mon) * 31 + tm->tm_mday;
}

/* The first second whose local date is this one or a later one: midnight may have been skipped, or have come twice. */
static time_t day_begin(struct tm day)
{
	day.tm_hour = 12;
	day.tm_min = day.tm_sec = 0;
	time_t noon = timegm(&day), low = noon - 2 * DAY_S, high = noon + 2 * DAY_S;
	while (high - low > 1) {
		time_t middle = low + (high - low) / 2;
		struct tm there;
		localtime_r(&middle, &there);
		if (date_of(&there) < date_of(&day))
			low = middle;
		else
			high = middle;
	}
	return high;
}

static struct tm days_later(struct tm day, int n_days)
{
	day.tm_hour = 12;
	day.tm_min = day.tm_sec = 0;
	day.tm_mday += n_days;
	(void)timegm(&day); /* a date is only a date here: normalised, and its day of the week found */
	return day;
}

/* The time whose local clock shows this, if there is one under this rule. */
static bool shows(const struct tm *clock, int is_dst, time_t *ret_time)
{
	struct tm tm = *clock, there;

	tm.tm_isdst = is_dst;
	time_t t = mktime(&tm);
	localtime_r(&t, &there);
	*ret_time = t;
	return date_of(&there) == date_of(clock) && there.tm_hour == clock->tm_hour && there.tm_min == clock->tm_min &&
	       there.tm_sec == clock->tm_sec;
}

static int local_time(const struct text *t, const struct tm *clock, time_t *ret_time)
{
	time_t winter, summer;
	bool has_winter = shows(clock, 0, &winter), has_summer = shows(clock, 1, &summer);

	if (!has_winter && !has_summer)
		return sp_fail_said(-EINVAL, "'%s' never was: the clocks were put forward", t->whole);
	*ret_time = !has_winter ? summer : !has_summer ? winter : SP_MIN(summer, winter);
	return 0;
}

/* --- days --- */
static size_t word_length(const char *s)
{
	size_t n = 0;

	while ((s[n] >= 'a' && s[n] <= 'z') || (s[n] >= 'A' && s[n] <= 'Z'))
		n++;
	return n;
}

/* The word, or its first n_short letters. */
static bool when_take_word(struct text *t, const char *word, size_t n_short)
{
	size_t n = word_length(t->at);

	if (n == 0 || (n != strlen(word) && n != n_short) || strncasecmp(t->at, word, n) != 0)
		return false;
	t->at += n;
	return true;
}

static bool take_day_word(struct text *t, struct tm *ret_day)
{
	static const char *const names[] = {"sunday",   "monday", "tuesday", "wednesday",
					    "thursday", "friday", "saturday"};
	struct tm today;

	localtime_r(&t->now, &today);
	*ret_day = today;
	if (when_take_word(t, "today", 0))
		return true;
	*ret_day = days_later(today, -1);
	if (when_take_word(t, "yesterday", 0))
		return true;
	for (int i = 0; i < (int)SP_COUNT(names); i++) {
		*ret_day = days_later(today, -((today.tm_wday - i + 7) % 7));
		if (when_take_word(t, names[i], 3))
			return true;
	}
	return false;
}

/* 1: a date; 0: none stands here. */
static int take_date(struct text *t, struct tm *ret_day)
{
	struct text at = *t;
	int year, month, day;

	if (!take_number(&at, 4, &year) || !when_parse_char(&at, '-') || !take_number(&at, 2, &month) ||
	    !when_parse_char(&at, '-') || !take_number(&at, 2, &day))
		return 0;
	struct tm tm = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_hour = 12}, same = tm;
	(void)timegm(&same);
	if (same.tm_mon != tm.tm_mon || same.tm_mday != tm.tm_mday)
		return sp_fail_said(-EINVAL, "'%s': the calendar has no such day", t->whole);
	if (year < FIRST_YEAR || year > LAST_YEAR)
		return sp_fail_said(-EINVAL, "'%s': years are %d to %d", t->whole, FIRST_YEAR, LAST_YEAR);
	t->at = at.at;
	*ret_day = same;
	return 1;
}

/* --- moments --- */
/* 14:00[:30[.5]] */
static bool take_clock(struct text *t, struct tm *clock, uint64_t *ret_fraction_ns)
{
	*ret_fraction_ns = 0;
	clock->tm_sec = 0;
	if (!take_number(t, 2, &clock->tm_hour) || !when_parse_char(t, ':') || !take_number(t, 2, &clock->tm_min))
		return false;
	if (when_parse_char(t, ':')) {
		uint64_t ns;
		if (!when_is_digit(t->at[0]) || !when_is_digit(t->at[1]) || when_is_digit(t->at[2]) ||
		    !take_seconds(t, &ns))
			return false;
		clock->tm_sec = (int)(ns / SP_NS_PER_S);
		*ret_fraction_ns = ns % SP_NS_PER_S;
	}
	return clock->tm_hour < 24 && clock->tm_min < 60 && clock->tm_sec < 60;
}

/* Z, +01:00, +0100: seconds east of UTC. */
static bool take_zone(struct text *t, int *ret_offset_s)
{
	int hours, minutes;
	bool west = *t->at == '-';

	*ret_offset_s = 0;
	if (when_parse_char(t, 'Z') || when_parse_char(t, 'z'))
		return true;
	if (!when_parse_char(t, '+') && !when_parse_char(t, '-'))
		return false;
	if (!take_number(t, 2, &hours) || (when_parse_char(t, ':'), !take_number(t, 2, &minutes)) || hours > 23 ||
	    minutes > 59)
		return false;
	*ret_offset_s = (west ? -1 : 1) * (hours * HOUR_S + minutes * 60);
	return true;
}

static int moment(const struct text *t, time_t seconds, uint64_t fraction_ns, struct sp_when *ret_when)
{
	if (seconds < 0)
		return sp_fail_said(-EINVAL, "'%s' is before %d", t->whole, FIRST_YEAR);
	ret_when->from_ns = ret_when->to_ns = (uint64_t)seconds * SP_NS_PER_S + fraction_ns;
	return 0;
}

/* The clock of a day: local, or with the zone that follows it. */
static int parse_clock(struct text *t, struct tm day, struct sp_when *ret_when)
{
	uint64_t fraction_ns;
	time_t seconds = 0;
	int offset_s, r = 0;

	if (!take_clock(t, &day, &fraction_ns))
		return is_no_time(t);
	if (take_zone(t, &offset_s))
		seconds = timegm(&day) - offset_s;
	else
		r = local_time(t, &day, &seconds);
	if (r == 0 && *t->at != '\0')
		r = is_no_time(t);
	return r < 0 ? r : moment(t, seconds, fraction_ns, ret_when);
}

static int parse_day(struct text *t, struct tm day, struct sp_when *ret_when)
{
	bool has_clock = take_spaces(t);

	has_clock |= *t->at == 'T' || *t->at == 't';
	if (*t->at != '\0') {
		t->at += *t->at == 'T' || *t->at == 't';
		return has_clock ? parse_clock(t, day, ret_when) : is_no_time(t);
	}
	time_t from = day_begin(day), to = day_begin(days_later(day, 1));
	if (from == to)
		return sp_fail_said(-EINVAL, "'%s' never was: this time zone skipped the day", t->whole);
	ret_when->from_ns = (uint64_t)SP_MAX(from, 0) * SP_NS_PER_S;
	ret_when->to_ns = (uint64_t)to * SP_NS_PER_S;
	return 0;
}

/* -1d12h: how long ago. */
static int parse_ago(struct text *t, uint64_t now_ns, struct sp_when *ret_when)
{
	static const char letters[] = "smhdw";
	static const uint64_t units_s[] = {1, 60, HOUR_S, DAY_S, 7 * DAY_S};
	uint64_t all = 0;

	do {
		uint64_t n;
		const char *unit = take_seconds(t, &n) && *t->at != '\0' ? strchr(letters, *t->at) : NULL;
		if (!unit)
			return is_no_time(t);
		t->at++;
		if (__builtin_mul_overflow(n, units_s[unit - letters], &n) || __builtin_add_overflow(all, n, &all) ||
		    all > now_ns)
			return sp_fail_said(-EINVAL, "'%s' is before %d", t->whole, FIRST_YEAR);
	} while (*t->at != '\0');
	ret_when->from_ns = ret_when->to_ns = now_ns - all;
	return 0;
}

static int parse_unix(struct text *t, struct sp_when *ret_when)
{
	uint64_t ns;

	if (!take_seconds(t, &ns) || *t->at != '\0')
		return is_no_time(t);
	ret_when->from_ns = ret_when->to_ns = ns;
	return 0;
}

int sp_when_parse(const char *text, uint64_t now_ns, struct sp_when *ret_when)
{
	struct text t = {.whole = text, .at = text, .now = (time_t)(now_ns / SP_NS_PER_S)};
	struct tm day;
	int r;

	tzset(); /* localtime_r() need not */
	if (when_parse_char(&t, '-'))
		return parse_ago(&t, now_ns, ret_when);
	if (when_parse_char(&t, '@'))
		return parse_unix(&t, ret_when);
	if (when_take_word(&t, "now", 0)) {
		if (*t.at != '\0')
			return is_no_time(&t);
		*ret_when = (struct sp_when){now_ns, now_ns};
		return 0;
	}
	r = take_date(&t, &day);
	if (r == 0 && !take_day_word(&t, &day)) {
		localtime_r(&t.now, &day);
		return parse_clock(&t, day, ret_when);
	}
	return r < 0 ? r : parse_day(&t, day, ret_when);
}

/* --- ranges --- */
int sp_when_between(const char *from, const char *to, uint64_t now_ns, struct sp_when *ret_range)
{
	struct sp_when begin, end = {now_ns, now_ns};
	int r = sp_when_parse(from, now_ns, &begin);

	if (r == 0 && to)
		r = sp_when_parse(to, now_ns, &end);
	if (r < 0)
		return r;
	if (begin.from_ns >= end.to_ns && !to && begin.from_ns > now_ns)
		return sp_fail_said(-EINVAL, "'%s' is in the future", from);
	if (begin.from_ns >= end.to_ns && begin.from_ns > end.from_ns)
		return sp_fail_said(-EINVAL, "'%s' is after '%s'", from, !to ? "now" : to);
	if (begin.from_ns >= end.to_ns)
		return sp_fail_said(-EINVAL, "nothing is between '%s' and '%s'", from, !to ? "now" : to);
	*ret_range = (struct sp_when){begin.from_ns, end.to_ns};
	return 0;
}

int sp_when_range(const char *text, uint64_t now_ns, struct sp_when *ret_range)
{
	const char *dots = strstr(text, "..");
	struct sp_when when;
	int r;

	if (dots) {
		SP_FREE char *from = strndup(text, (size_t)(dots - text));
		return !from ? -ENOMEM : sp_when_between(from, dots[2] != '\0' ? dots + 2 : NULL, now_ns, ret_range);
	}
	r = sp_when_parse(text, now_ns, &when);
	if (r == 0 && when.from_ns == when.to_ns)
		return sp_when_between(text, NULL, now_ns, ret_range);
	if (r == 0)
		*ret_range = when;
	return r;
}

const char *sp_when_text(uint64_t ns, char ret_text[SP_WHEN_TEXT])
{
	time_t t = (time_t)(ns / SP_NS_PER_S);
	struct tm tm;

	tzset();
	localtime_r(&t, &tm);
	strftime(ret_text, SP_WHEN_TEXT, tm.tm_sec != 0 ? "%F %T" : "%F %H:%M", &tm);
	return ret_text;
}

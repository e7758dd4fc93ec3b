/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times as people write them, against date(1) in the time zones that are hardest. */
#include "base/when.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "test.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define S SP_NS_PER_S

/* Saturday, 2026-11-21 20:15:30.5 UTC */
#define NOW (UINT64_C(1795292130) * S + S / 2)

static void zone_set(const char *zone)
{
	assert_int_equal(setenv("TZ", zone, 1), 0);
	tzset();
}

/* What date(1) makes of the text in the time zone that is set. */
static int64_t date_says(const char *text)
{
	int pipes[2], status;
	char answer[64] = "";

	assert_int_equal(pipe(pipes), 0);
	pid_t child = fork();
	if (child == 0) {
		dup2(pipes[1], STDOUT_FILENO);
		execlp("date", "date", "-d", text, "+%s", (char *)NULL);
		_exit(127);
	}
	close(pipes[1]);
	ssize_t n = read(pipes[0], answer, sizeof(answer) - 1);
	close(pipes[0]);
	waitpid(child, &status, 0);
	return n <= 0 || status != 0 ? -1 : strtoll(answer, NULL, 10);
}

/* When a day begins that date(1) knows by this word. It refuses a midnight that the clocks are put forward over, and of
 * one that they pass twice it may mean the second. */
static int64_t date_says_day(const char *day)
{
	SP_FREE char *midnight = NULL, *later = NULL;
	struct tm then, before;

	assert_true(asprintf(&midnight, "%s 00:00", day) > 0 && asprintf(&later, "%s 01:00", day) > 0);
	time_t said = date_says(midnight);
	if (said < 0)
		said = date_says(later);
	time_t hour_before = said - 3600;
	localtime_r(&said, &then);
	localtime_r(&hour_before, &before);
	return before.tm_mday == then.tm_mday ? hour_before : said;
}

static const char *const zones[] = {
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Sao_Paulo",   /* the clocks were put forward at midnight */
    "Asia/Kathmandu",      /* 5:45 */
    "Australia/Lord_Howe", /* half an hour of summer time */
    "Europe/Dublin",       /* where winter is the exception */
    "Pacific/Apia",        /* a day was skipped */
    "America/Havana",
    "Atlantic/Azores",
};

/* Moments that are there once: the same as date's. */
static void moments(void **state)
{
	static const char *const texts[] = {
	    "2026-11-21 14:00",          "2026-11-21 14:00:30", "2026-03-28 23:59",     "2026-03-29 03:00",
	    "2026-10-25 04:00",          "1999-12-31 23:59:59", "2018-11-04 01:00",     "2026-07-01 00:00",
	    "2026-03-08 03:00",          "2024-02-29 12:00",    "2026-11-21T14:00:00Z", "2026-11-21T14:00:00+01:00",
	    "2026-11-21T14:00:00-05:30", "@1763733600",         "2100-06-15 12:30"};

	for (size_t z = 0; z < SP_COUNT(zones); z++) {
		zone_set(zones[z]);
		for (size_t i = 0; i < SP_COUNT(texts); i++) {
			struct sp_when when = {0};
			int64_t said = date_says(texts[i]);
			int r = sp_when_parse(texts[i], NOW, &when);
			if (r < 0 || when.from_ns != (uint64_t)said * S || when.to_ns != when.from_ns)
				fail_msg("%s, %s: %d, %" PRIu64 ", date says %" PRId64, zones[z], texts[i], r,
					 when.from_ns / S, said);
		}
	}
}

/* Days begin when the first of their seconds does, and end when the next one's does. */
static void days(void **state)
{
	static const struct {
		const char *zone, *day, *from, *to; /* as date(1) can be asked for it */
		unsigned n_hours;
	} days[] = {
	    {"Europe/Berlin", "2026-03-29", "2026-03-29 00:00", "2026-03-30 00:00", 23},
	    {"Europe/Berlin", "2026-10-25", "2026-10-25 00:00", "2026-10-26 00:00", 25},
	    {"Europe/Berlin", "2026-11-21", "2026-11-21 00:00", "2026-11-22 00:00", 24},
	    {"America/Sao_Paulo", "2018-11-04", "2018-11-04 01:00", "2018-11-05 00:00", 23},
	    {"America/Sao_Paulo", "2018-02-17", "2018-02-17 00:00", "2018-02-18 00:00", 25},
	    {"America/Havana", "2026-03-08", "2026-03-08 01:00", "2026-03-09 00:00", 23},
	    {"America/Havana", "2026-11-01", "2026-11-01 00:00 CDT", "2026-11-02 00:00", 25},
	    {"Pacific/Apia", "2011-12-29", "2011-12-29 00:00", "2011-12-31 00:00", 24},
	    {"UTC", "2016-12-31", "2016-12-31 00:00", "2017-01-01 00:00", 24},
	};

	for (size_t i = 0; i < SP_COUNT(days); i++) {
		struct sp_when when;
		zone_set(days[i].zone);
		assert_int_equal(sp_when_range(days[i].day, NOW, &when), 0);
		if (when.from_ns != (uint64_t)date_says(days[i].from) * S ||
		    when.to_ns != (uint64_t)date_says(days[i].to) * S ||
		    when.to_ns - when.from_ns != days[i].n_hours * 3600 * S)
			fail_msg("%s, %s: %" PRIu64 " to %" PRIu64, days[i].zone, days[i].day, when.from_ns / S,
				 when.to_ns / S);
	}
}

/* Words, now: date(1) has no other clock than the machine's. */
static void words(void **state)
{
	static const struct {
		const char *ours, *dates;
		bool is_day;
	} words[] = {
	    {"today", "today", true},          {"Today 14:00", "today 14:00", false},
	    {"yesterday", "yesterday", true},  {"yesterday 14:00:30", "yesterday 14:00:30", false},
	    {"14:00", "14:00", false},         {"-90m", "90 minutes ago", false},
	    {"-1d12h", "36 hours ago", false}, {"-2w", "336 hours ago", false},
	};
	static const char *const weekdays[] = {"monday", "tuesday",  "wednesday", "thursday",
					       "friday", "saturday", "Sun"};

	for (size_t z = 0; z < SP_COUNT(zones); z++) {
		struct sp_when when;
		zone_set(zones[z]);
		for (size_t i = 0; i < SP_COUNT(words); i++) {
			for (int tries = 0;; tries++) { /* a second may have ended between the two */
				uint64_t now = sp_time_ns(CLOCK_REALTIME);
				int64_t said =
				    words[i].is_day ? date_says_day(words[i].dates) : date_says(words[i].dates);
				assert_int_equal(sp_when_parse(words[i].ours, now, &when), 0);
				if (when.from_ns / S == (uint64_t)said)
					break;
				if (tries == 20)
					fail_msg("%s, %s: %" PRIu64 ", date says %" PRId64, zones[z], words[i].ours,
						 when.from_ns / S, said);
			}
		}
		for (size_t i = 0; i < SP_COUNT(weekdays); i++) { /* date's is the next one: today's, or a week later */
			SP_FREE char *question = NULL;
			assert_true(asprintf(&question, "last %s", weekdays[i]) > 0);
			for (int tries = 0;; tries++) { /* a day may have ended */
				uint64_t now = sp_time_ns(CLOCK_REALTIME);
				int64_t said = date_says_day(question), today = date_says_day("today");
				assert_int_equal(sp_when_parse(weekdays[i], now, &when), 0);
				assert_true(when.from_ns <= now && when.to_ns > when.from_ns);
				if (when.from_ns / S == (uint64_t)said || when.from_ns / S == (uint64_t)today)
					break;
				if (tries == 3)
					fail_msg("%s, %s: %" PRIu64 ", date says %" PRId64, zones[z], weekdays[i],
						 when.from_ns / S, said);
			}
		}
	}
}

/* The clocks pass some times twice: the first is meant. Some they skip. */
static void clocks_put_back(void **state)
{
	struct sp_when when, summer;

	zone_set("Europe/Berlin");
	assert_int_equal(sp_when_parse("2026-10-25 02:30", NOW, &when), 0);
	assert_int_equal(sp_when_parse("2026-10-25T02:30:00+02:00", NOW, &summer), 0);
	assert_true(when.from_ns == summer.from_ns);
	assert_int_equal(sp_when_parse("2026-03-29 02:30", NOW, &when), -EINVAL);
	assert_non_null(strstr(sp_error_text(-EINVAL), "put forward"));
	assert_int_equal(date_says("2026-03-29 02:30"), -1);
	zone_set("Pacific/Apia");
	assert_int_equal(sp_when_parse("2011-12-30", NOW, &when), -EINVAL);
	assert_non_null(strstr(sp_error_text(-EINVAL), "skipped the day"));
}

static void fractions(void **state)
{
	struct sp_when when;

	zone_set("UTC");
	assert_int_equal(sp_when_parse("now", NOW, &when), 0);
	assert_true(when.from_ns == NOW && when.to_ns == NOW);
	assert_int_equal(sp_when_parse("2026-11-21T20:15:30.25Z", NOW, &when), 0);
	assert_true(when.from_ns == NOW - S / 4);
	assert_int_equal(sp_when_parse("@1795292130.000000001", NOW, &when), 0);
	assert_true(when.from_ns == NOW - S / 2 + 1);
	assert_int_equal(sp_when_parse("-0.5s", NOW, &when), 0);
	assert_true(when.from_ns == NOW - S / 2);
	assert_int_equal(sp_when_parse("saturday", NOW, &when), 0);
	assert_true(when.from_ns == UINT64_C(1795219200) * S);
	assert_int_equal(sp_when_parse("fri 23:00", NOW, &when), 0);
	assert_true(when.from_ns == UINT64_C(1795215600) * S);
}

static void no_times(void **state)
{
	static const char *const texts[] = {"",
					    " ",
					    "-",
					    "-5",
					    "-m",
					    "-5x",
					    "-5m ",
					    "- 5m",
					    "5m",
					    "@",
					    "@x",
					    "@-1",
					    "@1x",
					    "@99999999999999999999",
					    "soon",
					    "mo",
					    "mond",
					    "nowhere",
					    "now 14:00",
					    "today14:00",
					    "today x",
					    "24:00",
					    "14:60",
					    "14:00:60",
					    "14",
					    "1:00",
					    "14:00:5",
					    "14:00:305",
					    "2026-11",
					    "2026-13-01",
					    "2026-02-29",
					    "2026-11-31",
					    "2026-11-2",
					    "1969-12-31",
					    "2200-01-01",
					    "2026-11-21 14",
					    "2026-11-21T",
					    "2026-11-21x14:00",
					    "2026-11-21T14:00:00+1",
					    "2026-11-21T14:00:00Zx",
					    "@1.",
					    "-99999999999999999999s",
					    "-999999w",
					    "1970-01-01T00:00:00+01:00",
					    "14:00:00.1234567890",
					    "0000-00-00"};

	zone_set("UTC");
	for (size_t i = 0; i < SP_COUNT(texts); i++) {
		struct sp_when when = {1, 2};
		sp_error_clear();
		if (sp_when_parse(texts[i], NOW, &when) != -EINVAL || when.from_ns != 1 || when.to_ns != 2)
			fail_msg("'%s' is taken for a time", texts[i]);
		assert_non_null(strstr(sp_error_text(-EINVAL), texts[i]));
	}
}

static void range_is(const char *text, uint64_t from_ns, uint64_t to_ns)
{
	struct sp_when when = {0};
	int r = sp_when_range(text, NOW, &when);

	if (r < 0 || when.from_ns != from_ns || when.to_ns != to_ns)
		fail_msg("%s: %d, %" PRIu64 " to %" PRIu64, text, r, when.from_ns, when.to_ns);
}

static void ranges(void **state)
{
	static const struct {
		const char *text, *words;
	} bad[] = {{"now", "nothing is between 'now' and 'now'"},
		   {"now..-1h", "'now' is after '-1h'"},
		   {"-1h..-1h", "nothing is between"},
		   {"..now", "'' is no time"},
		   {"22:00", "'22:00' is in the future"},
		   {"-1h..soon", "'soon' is no time"},
		   {"today..yesterday", "'today' is after 'yesterday'"}};
	const uint64_t hour = 3600 * S, midnight = UINT64_C(1795219200) * S, day = 24 * hour;
	struct sp_when when;

	zone_set("UTC");
	range_is("-2h..-1h", NOW - 2 * hour, NOW - hour);
	range_is("-1h..now", NOW - hour, NOW);
	range_is("-1h..", NOW - hour, NOW);
	range_is("-1h", NOW - hour, NOW);
	range_is("yesterday", midnight - day, midnight);
	range_is("today", midnight, midnight + day);
	range_is("yesterday..today", midnight - day, midnight + day);
	range_is("2026-11-21 10:00..2026-11-21 11:00", midnight + 10 * hour, midnight + 11 * hour);
	range_is("now..23:00", NOW, midnight + 23 * hour);
	assert_int_equal(sp_when_between("yesterday", NULL, NOW, &when), 0);
	assert_true(when.from_ns == midnight - day && when.to_ns == NOW);
	for (size_t i = 0; i < SP_COUNT(bad); i++) {
		sp_error_clear();
		assert_int_equal(sp_when_range(bad[i].text, NOW, &when), -EINVAL);
		if (strstr(sp_error_text(-EINVAL), bad[i].words) == NULL)
			fail_msg("%s: %s", bad[i].text, sp_error_text(-EINVAL));
	}
}

static void texts(void **state)
{
	char text[SP_WHEN_TEXT];

	zone_set("Europe/Berlin");
	assert_string_equal(sp_when_text(NOW, text), "2026-11-21 21:15:30");
	assert_string_equal(sp_when_text(UINT64_C(1795219200) * S, text), "2026-11-21 01:00");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(moments),         cmocka_unit_test(days),      cmocka_unit_test(words),
	    cmocka_unit_test(clocks_put_back), cmocka_unit_test(fractions), cmocka_unit_test(no_times),
	    cmocka_unit_test(ranges),          cmocka_unit_test(texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

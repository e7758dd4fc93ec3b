/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The perf view: a golden file, and what perf's readers make of it: as many samples, the same time, none out of order.
 */
#include "fixture.h"

#include "base/mem.h"
#include "test.h"

#include <inttypes.h>
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern const struct sp_view sp_view_perf;

static void golden(const char *name, const struct sp_view_options *o)
{
	struct sp_profile *p = fixture_profile();
	char *text SP_FREE = fixture_render(&sp_view_perf, p, o, NULL);
	char *without_tabs SP_FREE = strdup(text);

	for (char *at = without_tabs; (at = strchr(at, '\t'));)
		*at = ' ';
	fixture_harmless(without_tabs);
	fixture_compare(name, text);
	sp_profile_free(p);
}

static void equal_to_the_golden_files(void **state)
{
	golden("perf.txt", &(struct sp_view_options){0});
	golden("perf-U.txt", &(struct sp_view_options){.user_only = true});
}

struct reader {
	regex_t event, frame; /* speedscope's and stackcollapse-perf.pl's, with a time and a period */
	uint64_t n_events, n_frames, periods;
	double time;
};

static void read_line(struct reader *r, const char *line)
{
	regmatch_t at[8];

	if (*line == '#')
		return;
	if (!regexec(&r->event, line, 6, at, 0)) {
		double time = strtod(line + at[3].rm_so, NULL);

		assert_true(time >= r->time);
		r->time = time;
		r->periods += strtoull(line + at[4].rm_so, NULL, 10);
		r->n_events++;
		return;
	}
	assert_int_equal(regexec(&r->frame, line, 4, at, 0), 0);
	r->n_frames++;
}

static struct reader read_text(char *text)
{
	struct reader r = {0};
	char *rest = text, *line;

	assert_int_equal(regcomp(&r.event,
				 "^([^ ].*)[ ]+([0-9]+/[0-9]+)[ ]+([0-9]+\\.[0-9]{9}):[ ]+([0-9]+) ([^ ]+): $",
				 REG_EXTENDED),
			 0);
	assert_int_equal(regcomp(&r.frame, "^\t[ ]*([0-9a-f]+) (.+)\\+0x[0-9a-f]+ \\(([^ ]*)\\)$", REG_EXTENDED), 0);
	while (*rest && (line = strsep(&rest, "\n")))
		if (*line)
			read_line(&r, line);
	regfree(&r.event);
	regfree(&r.frame);
	return r;
}

static void every_sample_and_all_of_the_time(void **state)
{
	struct sp_profile *p = fixture_profile();

	for (uint32_t value = 0; value < 2; value++) {
		struct sp_view_options o = {.value = value};
		char *text SP_FREE = fixture_render(&sp_view_perf, p, &o, NULL);
		struct reader r = read_text(text);

		assert_int_equal(r.n_events, FIXTURE_SAMPLES);
		assert_int_equal(r.periods, (uint64_t)FIXTURE_SAMPLES * FIXTURE_PERIOD_NS);
		assert_true(r.n_frames > FIXTURE_SAMPLES);
		assert_true(r.time > 1.64 && r.time < 1.65); /* 163 samples of 10.1 ms */
	}
	sp_profile_free(p);
}

/* An exported profile must not tell where the kernel lies. */
static void no_kernel_address(void **state)
{
	struct sp_profile *p = fixture_profile();
	struct sp_view_options o = {0};
	char *text SP_FREE = fixture_render(&sp_view_perf, p, &o, NULL);

	assert_non_null(strstr(text, " vfs_read+0x9a ([kernel.kallsyms])\n"));
	assert_non_null(strstr(text, " ext4_file_read_iter+0x2b ([ext4])\n"));
	assert_null(strstr(text, "ffffffff"));
	sp_profile_free(p);
}

static void add_row(struct sp_profile *p, const char *comm, const int64_t *values)
{
	struct sp_key key = {.comm = (uint32_t)sp_profile_add_string(p, comm)};

	assert_int_equal(sp_profile_add(p, (uint32_t)sp_profile_add_key(p, &key), 0, 0, values), 0);
}

static void count_events(char *text, size_t *ret_n, size_t *ret_n_small, uint64_t *ret_periods)
{
	FILE *in SP_FCLOSE = fmemopen(text, strlen(text), "r");
	char *line SP_FREE = NULL;
	size_t size = 0;

	*ret_n = *ret_n_small = *ret_periods = 0;
	while (getline(&line, &size, in) > 0 && *line != '#') {
		if (*line == '\n')
			continue;
		*ret_periods += strtoull(strstr(line, ": ") + 2, NULL, 10);
		*ret_n_small += !strncmp(line, "small ", 6);
		++*ret_n;
	}
}

/* Three times as much, a million times over: as many events as there may be, in proportion, and all of the bytes. */
static void too_many_samples(void **state)
{
	struct sp_view_options o = {.value = 1};
	struct sp_profile *p;
	char *text SP_FREE = NULL;
	size_t n, n_small;
	uint64_t periods;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_true(sp_profile_add_value_type(p, "samples", "count") >= 0);
	assert_true(sp_profile_add_value_type(p, "alloc space", "bytes") >= 0);
	add_row(p, "large", (int64_t[]){3000000000, 12345678901});
	add_row(p, "small", (int64_t[]){1000000000, 7});
	add_row(p, "tiny", (int64_t[]){1, 3});
	add_row(p, "less", (int64_t[]){1, -1});
	text = fixture_render(&sp_view_perf, p, &o, NULL);
	assert_non_null(strstr(text, " alloc\\x20space: \n"));
	assert_non_null(strstr(
	    text, "\n# soprof: times are made up\n# soprof: a sample here stands for several; there were 4000000001\n"
		  "# soprof: stacks left out for a value below zero: 1\n"));
	count_events(text, &n, &n_small, &periods);
	assert_in_range(n, (1 << 20) - 3, (1 << 20) + 3);
	assert_in_range(n_small, (1 << 18) - 1, 1 << 18);
	assert_int_equal(periods, 12345678911);
	sp_profile_free(p);
}

/* Folded stacks know nothing but counts: the period is 1. */
static void counts_alone(void **state)
{
	struct sp_view_options o = {0};
	struct sp_profile *p;
	char *text SP_FREE = NULL;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_true(sp_profile_add_value_type(p, "samples", "count") >= 0);
	add_row(p, "#a 1 b", (int64_t[]){2});
	text = fixture_render(&sp_view_perf, p, &o, NULL);
	assert_string_equal(text, "\\x23a\\x201 b        0/0           0.000001000:          1 samples: \n\n"
				  "\\x23a\\x201 b        0/0           0.000002000:          1 samples: \n\n"
				  "# soprof: times are made up\n");
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equal_to_the_golden_files),
	    cmocka_unit_test(every_sample_and_all_of_the_time),
	    cmocka_unit_test(no_kernel_address),
	    cmocka_unit_test(too_many_samples),
	    cmocka_unit_test(counts_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

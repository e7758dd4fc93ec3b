/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles made by others, and our own round trip.
 *
 * tests/data/read holds a CPU and a heap profile of Go's runtime/pprof and one of gperftools (which go tool pprof
 * -proto converted). Beside each, NAME.top is what go tool pprof says of it, for each value: go tool pprof
 * -symbolize=none -sample_index=I -unit=U -nodecount=1000000 -nodefraction=0 -top NAME.pb.gz as `flat cum name` without
 * units and "(inline)", sorted. Where go is installed it is asked again, about our output.
 */
#include "base/mem.h"
#include "profile/totals.h"
#include "reading.h"
#include "test.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* tests/unit/view/fixture.c */
extern struct sp_profile *fixture_profile(void);
extern int fixture_run(char *const argv[], const char *stdin_path, char **ret_out);

static const char *const names[] = {"go-cpu", "go-heap", "gperftools"};

static struct sp_profile *read_bytes(const void *bytes, size_t n, const char *format)
{
	struct sp_read_options o = {0};
	struct sp_read_result result;
	struct sp_profile *p = NULL;
	int r = reading_bytes(bytes, n, &o, &p, &result);

	if (r < 0)
		fail_msg("%s", reading_words(r));
	assert_string_equal(result.format, format);
	assert_int_equal(result.n_lost, 0);
	return p;
}

static struct sp_profile *read_real(const char *name)
{
	char path[64];
	size_t n;
	uint8_t *bytes SP_FREE = NULL;

	snprintf(path, sizeof(path), "read/%s.pb.gz", name);
	bytes = reading_data(path, &n);
	return read_bytes(bytes, n, "pprof");
}

/* Written by the view and read again. */
static struct sp_profile *again(const struct sp_profile *p)
{
	size_t n;
	char *bytes SP_FREE = reading_view(p, "pprof", &(struct sp_view_options){0}, &n);

	return read_bytes(bytes, n, "pprof");
}

/* As go tool pprof -top has it. */
static void put_top(const struct sp_profile *p, uint32_t value, FILE *out)
{
	struct sp_totals t;

	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_FUNCTION, value, &t), 0);
	for (size_t i = 0; i < t.n_rows; i++) {
		const struct sp_total *row = &t.rows[i];
		const char *file = sp_profile_string(p, sp_profile_file(p, row->file)->name);
		const char *name = sp_profile_string(p, sp_profile_func(p, row->id)->name);

		if (row->self || row->total)
			fprintf(out, row->id ? "%" PRId64 " %" PRId64 " %s\n" : "%" PRId64 " %" PRId64 " [%s]\n",
				row->self, row->total, row->id ? name : file);
	}
	sp_totals_done(&t);
}

static char *tops(const struct sp_profile *p)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	for (uint32_t i = 0; i < sp_profile_n_value_types(p); i++) {
		char *top = NULL, *sorted;
		FILE *one = open_memstream(&top, &len);

		assert_non_null(one);
		put_top(p, i, one);
		assert_int_equal(fclose(one), 0);
		sorted = reading_sorted(top);
		fprintf(out, "value %" PRIu32 "\n%s", i, sorted);
		free(sorted);
		free(top);
	}
	assert_int_equal(fclose(out), 0);
	return text;
}

static void test_tops(void **state)
{
	for (size_t i = 0; i < SP_COUNT(names); i++) {
		char path[64], *top SP_FREE = NULL, *top_again SP_FREE = NULL, *expected SP_FREE = NULL;
		struct sp_profile *p = read_real(names[i]), *q = again(p);
		size_t n;

		snprintf(path, sizeof(path), "read/%s.top", names[i]);
		expected = (char *)reading_data(path, &n);
		top = tops(p);
		assert_string_equal(top, expected);
		top_again = tops(q);
		assert_string_equal(top_again, expected);
		sp_profile_free(p);
		sp_profile_free(q);
	}
}

static void test_gperftools(void **state)
{
	size_t n;
	uint8_t *bytes SP_FREE = reading_data("read/gperftools.prof", &n);
	char *expected SP_FREE = (char *)reading_data("read/gperftools.prof.top", &(size_t){0});
	struct sp_profile *p = read_bytes(bytes, n, "gperftools");
	char *top SP_FREE = tops(p);

	assert_string_equal(top, expected);
	assert_int_equal(sp_profile_info(p)->period, 4000000);
	sp_profile_free(p);
}

static void test_bad_gperftools(void **state)
{
	static const char *const words[] = {"in: byte 56: ends after 25 of 56 bytes",
					    "in: byte 40: a record of 1 samples, "
					    "281474976710662 deep; expected 1 to 65536"};
	size_t n;
	uint8_t *bytes SP_FREE = reading_data("read/gperftools.prof", &n);
	struct sp_read_options o = {0};
	struct sp_read_result result;
	struct sp_profile *p;

	for (size_t i = 0; i < SP_COUNT(words); i++) {
		bytes[54] = i;
		bytes[48] = 6 + !i;
		o.keep_going = false;
		assert_int_equal(reading_bytes(bytes, i ? n : 81, &o, &p, &result), -EBADMSG);
		assert_string_equal(reading_words(-EBADMSG), words[i]);
		o.keep_going = true;
		assert_int_equal(reading_bytes(bytes, i ? n : 81, &o, &p, &result), 0);
		assert_int_equal(result.n_samples, 0);
		assert_true(result.n_lost >= 1 && *result.first_loss);
		sp_profile_free(p);
	}
}

/* Our own: whatever our views show of a profile they show of the one that has been written and read. */
static void expect_same_views(const struct sp_profile *p, const struct sp_profile *q)
{
	static const struct sp_view_options text = {.delimiter = true, .annotate = true};
	struct sp_view_options table = {0};
	char *a SP_FREE = reading_view(p, "folded", &text, NULL), *b SP_FREE = reading_view(q, "folded", &text, NULL);

	assert_string_equal(a, b);
	for (int by = SP_TOTAL_BY_LIBRARY; by <= SP_TOTAL_BY_USER; by++) {
		char *x SP_FREE = NULL, *y SP_FREE = NULL;

		table.by = (enum sp_total_by)by;
		x = reading_view(p, "csv", &table, NULL);
		y = reading_view(q, "csv", &table, NULL);
		assert_string_equal(x, y);
	}
}

/* As if they had been looked for. */
static struct sp_profile *with_packages(struct sp_profile *p)
{
	for (uint32_t i = 0; i < sp_profile_n_files(p); i++)
		sp_profile_file(p, i)->owner_known = true;
	return p;
}

static void test_own_round_trip(void **state)
{
	struct sp_profile *p = with_packages(fixture_profile()), *q = again(p), *r = again(q);
	size_t n_q, n_r;
	char *bytes_q SP_FREE = reading_view(q, "pprof", &(struct sp_view_options){0}, &n_q);
	char *bytes_r SP_FREE = reading_view(r, "pprof", &(struct sp_view_options){0}, &n_r);

	for (uint32_t i = 0; i < sp_profile_n_processes(p); i++)
		sp_profile_process(p, i)->exe = 0; /* pprof has no place for it */
	expect_same_views(p, q);
	assert_int_equal(n_q, n_r); /* nothing is lost on any further way */
	assert_memory_equal(bytes_q, bytes_r, n_q);
	assert_memory_equal(sp_profile_info(p), sp_profile_info(q), offsetof(struct sp_profile_info, period_type));
	sp_profile_free(p);
	sp_profile_free(q);
	sp_profile_free(r);
}

/* --- go tool pprof --- */
static char *ask_go(const char *path, uint32_t value)
{
	char index[32],
	    *out = NULL,
	    *argv[] = {"go", "tool", "pprof", "-symbolize=none", index, "-raw", (char *)(uintptr_t)path, NULL};
	int r;

	snprintf(index, sizeof(index), "-sample_index=%" PRIu32, value);
	r = fixture_run(argv, NULL, &out);
	if (r < 0) {
		free(out);
		return NULL;
	}
	if (r)
		fail_msg("go tool pprof: %s", out);
	return out;
}

/* The mappings of -raw, each as `name build-id` without addresses, sorted. */
static char *mappings_of(const char *raw)
{
	const char *at = strstr(raw, "\nMappings\n");
	char *text = NULL, *sorted;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(at);
	assert_non_null(out);
	for (at += strlen("\nMappings\n"); *at; at += strcspn(at, "\n"), at += *at == '\n') {
		const char *name = strchr(strchr(at, ' ') + 1, ' ') + 1;

		fprintf(out, "%.*s\n", (int)strcspn(name, "\n["), name);
	}
	assert_int_equal(fclose(out), 0);
	sorted = reading_sorted(text);
	free(text);
	return sorted;
}

/* Period, its type, time and duration. */
static void expect_same_head(char *a, char *b)
{
	char *end_a = strstr(a, "Samples:\n"), *end_b = strstr(b, "Samples:\n");

	assert_true(end_a && end_b);
	*end_a = *end_b = 0;
	assert_string_equal(a, b);
}

static char *write_file(const struct sp_profile *p, char *path)
{
	size_t n;
	char *bytes SP_FREE = reading_view(p, "pprof", &(struct sp_view_options){0}, &n);
	int fd SP_CLOSE = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	return path;
}

static void test_mappings_by_go(void **state)
{
	for (size_t i = 0; i < SP_COUNT(names); i++) {
		char path[256], ours[] = "/tmp/soprof-test-XXXXXX";
		struct sp_profile *p = read_real(names[i]);
		char *raw SP_FREE = NULL, *raw_again SP_FREE = NULL, *a SP_FREE = NULL, *b SP_FREE = NULL;

		snprintf(path, sizeof(path), SP_TEST_DATA "/read/%s.pb.gz", names[i]);
		raw = ask_go(path, 0);
		write_file(p, ours);
		raw_again = raw ? ask_go(ours, 0) : NULL;
		unlink(ours);
		sp_profile_free(p);
		if (!raw || !raw_again) {
			printf("skip: go is not installed\n");
			skip();
		}
		a = mappings_of(raw);
		b = mappings_of(raw_again);
		assert_non_null(strstr(a, b)); /* all that have frames; Go lists the others, too */
		expect_same_head(raw, raw_again);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tops),           cmocka_unit_test(test_gperftools),
	    cmocka_unit_test(test_bad_gperftools), cmocka_unit_test(test_own_round_trip),
	    cmocka_unit_test(test_mappings_by_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

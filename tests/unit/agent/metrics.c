/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metrics.c: metrics of windows are equal to the totals of the layer profile, have limits, and are never reset. With
 * file names as arguments it writes its last page there, for promtool.
 */
#include "agent/export/metrics.h"
#include "agent/config.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "profile/profile.h"
#include "profile/totals.h"
#include "test.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S UINT64_C(1000000000)
enum { MS = 1000000, MAX_STACK = 16 };

static const char *write_to;

/* --- made-up windows --- */
struct made {
	struct sp_profile *p;
	struct sp_metrics *m;
	struct sp_agent_config c;
	struct sp_agent_listener l;
	uint64_t at;
};

static struct made *made_new(struct sp_agent_config c)
{
	struct made *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->c = c;
	m->c.metrics_series = c.metrics_series ? c.metrics_series : 2000;
	m->at = 1700000000;
	assert_int_equal(sp_profile_new(&m->p), 0);
	assert_int_equal(sp_profile_add_value_type(m->p, "samples", "count"), 0);
	assert_int_equal(sp_profile_add_value_type(m->p, "cpu", "nanoseconds"), 0);
	assert_int_equal(sp_metrics_new(&m->c, &m->m), 0);
	m->l = sp_metrics_listener(m->m);
	return m;
}

static void made_free(struct made *m)
{
	sp_metrics_free(m->m);
	sp_profile_free(m->p);
	free(m);
}

static uint32_t string(struct made *m, const char *text)
{
	return (uint32_t)sp_profile_add_string(m->p, text);
}

/* id 0: no build id */
static uint32_t file(struct made *m, const char *name, uint32_t id)
{
	static uint64_t tag;
	struct sp_file f = {.kind = SP_FILE_ELF, .name = string(m, name), .tag = ++tag};

	f.build_id_len = id ? 4 : 0;
	memcpy(f.build_id, &id, f.build_id_len);
	return (uint32_t)sp_profile_add_file(m->p, &f);
}

static uint32_t frame(struct made *m, uint32_t of, const char *function)
{
	struct sp_func func = {.name = string(m, function), .linkage_name = string(m, function), .file = of};
	uint32_t number = (uint32_t)sp_profile_add_func(m->p, &func);
	uint32_t f = (uint32_t)sp_profile_add_frame(m->p, &(struct sp_frame){.offset = number, .file = of});

	sp_profile_frame(m->p, f)->func = number;
	return f;
}

static uint32_t stack(struct made *m, size_t n, const uint32_t *frames)
{
	struct sp_stack s = {.stack_class = SP_CLASS_COMPLETE, .n_frames = (uint32_t)n, .frames = frames};

	return (uint32_t)sp_profile_add_stack(m->p, &s);
}

static uint32_t key_of(struct made *m, uint32_t pid, uint32_t uid, uint32_t exe, const char *cgroup)
{
	struct sp_process p = {.pid = pid, .uid = uid, .exe = exe, .cgroup_path = string(m, cgroup), .start_ns = pid};
	struct sp_key k = {.process = (uint32_t)sp_profile_add_process(m->p, &p)};

	return (uint32_t)sp_profile_add_key(m->p, &k);
}

static uint32_t key(struct made *m, uint32_t pid, uint32_t exe, const char *cgroup)
{
	return key_of(m, pid, 0, exe, cgroup);
}

static void add(struct made *m, uint32_t who, uint32_t user, uint32_t kernel, uint64_t ms)
{
	const int64_t values[2] = {(int64_t)ms / 10, (int64_t)ms * MS};

	assert_int_equal(sp_profile_add(m->p, who, user, kernel, values), 0);
}

/* The rows so far are a window. */
static void window(struct made *m)
{
	struct sp_store_window w = {.wall_ns = m->at * S, .duration_ns = 10 * S, .source = "cpu"};

	m->l.window(m->l.arg, m->p, &w);
	m->at += 10;
}

static char *page(struct made *m, enum sp_expo_form form)
{
	struct sp_expo x = {.form = form, .page = "http://localhost:9877/", .at_ms = 1700000000000};
	char *text;

	assert_int_equal(sp_metrics_write(m->m, &x), 0);
	text = sp_take_ptr(x.text);
	sp_expo_done(&x);
	return text;
}

static void has(struct made *m, const char *line)
{
	char *text = page(m, SP_EXPO_TEXT), wanted[1024];

	snprintf(wanted, sizeof(wanted), "\n%s\n", line);
	if (!strstr(text, wanted))
		fail_msg("%s in:\n%s", line, text);
	free(text);
}

static void has_not(struct made *m, const char *words)
{
	char *text = page(m, SP_EXPO_TEXT);

	if (strstr(text, words))
		fail_msg("no %s in:\n%s", words, text);
	free(text);
}

/* The sum of a family's lines, in ns; and their number. */
static uint64_t sum(struct made *m, const char *family, size_t *ret_n)
{
	char *text = page(m, SP_EXPO_TEXT), *at, *rest = text;
	double all = 0;
	size_t n = 0;

	while ((at = strsep(&rest, "\n"))) {
		if (strncmp(at, family, strlen(family)) != 0 || at[strlen(family)] != '{')
			continue;
		all += strtod(strrchr(at, ' '), NULL);
		n++;
	}
	free(text);
	if (ret_n)
		*ret_n = n;
	return (uint64_t)(all * 1e9 + 0.5);
}

#define SELF "soprof_library_self_cpu_seconds_total"
#define INCLUSIVE "soprof_library_inclusive_cpu_seconds_total"

/* --- tests --- */
static void test_self_and_inclusive(void **state)
{
	struct made *m = made_new((struct sp_agent_config){0});
	uint32_t a = file(m, "prog", 1), z = file(m, "libz.so.1", 2), copy = file(m, "libz.so.1.2", 2);
	uint32_t k = file(m, "[kernel]", 3), who = key(m, 1, a, "/");
	uint32_t main_ = frame(m, a, "main"), inflate = frame(m, z, "inflate"), again = frame(m, copy, "inflate_fast");
	uint32_t read_ = frame(m, k, "vfs_read");
	uint32_t user = stack(m, 3, (uint32_t[]){again, inflate, main_}), kernel = stack(m, 1, &read_);
	uint32_t callback = stack(m, 3, (uint32_t[]){main_, inflate, main_});

	add(m, who, user, 0, 40);
	add(m, who, user, kernel, 20);
	add(m, who, callback, 0, 10);
	add(m, who, 0, 0, 5);
	window(m);
	/* copies of one build are one library, by its first name; each counts once per stack */
	has(m, SELF "{build_id=\"02000000\",library=\"libz.so.1.2\"} 0.04");
	has(m, INCLUSIVE "{build_id=\"02000000\",library=\"libz.so.1.2\"} 0.07");
	has(m, SELF "{build_id=\"03000000\",library=\"[kernel]\"} 0.02");
	has(m, SELF "{build_id=\"01000000\",library=\"prog\"} 0.01");
	has(m, INCLUSIVE "{build_id=\"01000000\",library=\"prog\"} 0.07");
	has(m, SELF "{build_id=\"\",library=\"[unknown]\"} 0.005");
	has(m, SELF "{build_id=\"other\",library=\"other\"} 0");
	assert_int_equal(sum(m, SELF, NULL), 75 * MS);
	has(m, "soprof_samples_total{source=\"cpu\",stack=\"complete\"} 7");
	has(m, "soprof_samples_total{source=\"cpu\",stack=\"absent\"} 0"); /* the 5 ms are half a sample */
	has(m, "soprof_last_window_end_timestamp_seconds{source=\"cpu\"} 1700000010");
	window(m);
	assert_int_equal(sum(m, SELF, NULL), 150 * MS);
	has_not(m, "soprof_function");
	made_free(m);
}

/* Packages are found late: until then there is no line, and then it does not change. */
static void test_info(void **state)
{
	struct made *m = made_new((struct sp_agent_config){0});
	uint32_t z = file(m, "libz.so.1", 2), own = file(m, "mine", 3), who = key(m, 1, z, "/");
	uint32_t inflate = frame(m, z, "inflate"), other = frame(m, own, "main");

	add(m, who, stack(m, 1, &inflate), 0, 40);
	add(m, who, stack(m, 1, &other), 0, 40);
	window(m);
	has_not(m, "soprof_library_info{");
	sp_profile_file(m->p, z)->package = string(m, "zlib1g");
	sp_profile_file(m->p, z)->package_version = string(m, "1:1.2.13");
	sp_profile_file(m->p, own)->owner_known = true;
	window(m);
	has(m, "soprof_library_info{build_id=\"02000000\",library=\"libz.so.1\",package=\"zlib1g\",version=\"1:1.2."
	       "13\"} 1");
	has(m, "soprof_library_info{build_id=\"03000000\",library=\"mine\",package=\"\",version=\"\"} 1");
	sp_profile_file(m->p, own)->package = string(m, "new");
	window(m);
	has_not(m, "\"new\"");
	made_free(m);
}

static void test_functions(void **state)
{
	struct made *m =
	    made_new((struct sp_agent_config){.metrics_functions = {"SHA*", "inflate"}, .n_metrics_functions = 2});
	uint32_t a = file(m, "prog", 1), z = file(m, "libz.so.1", 2), who = key(m, 1, a, "/");
	uint32_t main_ = frame(m, a, "main"), inflate = frame(m, z, "inflate"), sha = frame(m, a, "SHA256_Update");
	uint32_t recursion = stack(m, 4, (uint32_t[]){sha, inflate, inflate, main_});

	add(m, who, recursion, 0, 40);
	add(m, who, stack(m, 2, (uint32_t[]){inflate, main_}), 0, 20);
	add(m, who, stack(m, 1, &main_), 0, 10);
	window(m);
	has(m, "soprof_function_self_cpu_seconds_total{build_id=\"01000000\",function=\"SHA256_Update\",library="
	       "\"prog\"} 0.04");
	has(m, "soprof_function_inclusive_cpu_seconds_total{build_id=\"02000000\",function=\"inflate\",library=\"libz."
	       "so.1\"} 0.06");
	has_not(m, "function=\"main\"");
	/* a reload chooses others; existing series remain */
	m->c.metrics_functions[0] = "mai?";
	m->c.n_metrics_functions = 1;
	sp_metrics_configure(m->m, &m->c);
	window(m);
	has(m, "soprof_function_self_cpu_seconds_total{build_id=\"01000000\",function=\"main\",library=\"prog\"} 0.01");
	has(m, "soprof_function_self_cpu_seconds_total{build_id=\"01000000\",function=\"SHA256_Update\",library="
	       "\"prog\"} 0.04");
	made_free(m);
}

static void by(enum sp_metrics_by by, const char *first, const char *second, const char *third)
{
	struct made *m = made_new((struct sp_agent_config){.metrics_by = by});
	uint32_t a = file(m, "prog", 1), b = file(m, "other", 4), z = file(m, "libz.so.1", 2);
	uint32_t inflate = frame(m, z, "inflate");
	uint32_t s = stack(m, 1, &inflate);
	struct sp_stack none = {.stack_class = SP_CLASS_ABSENT, .reason = 1};

	add(m, key(m, 1, a, "/one"), s, 0, 10);
	add(m, key(m, 2, b, "/two"), s, 0, 20);
	add(m, key(m, 3, a, "/two"), s, 0, 30);
	add(m, key(m, 4, 0, ""), (uint32_t)sp_profile_add_stack(m->p, &none), 0, 40);
	window(m);
	has(m, first);
	has(m, second);
	has(m, third);
	assert_int_equal(sum(m, SELF, NULL), 100 * MS);
	made_free(m);
}

static void test_by(void **state)
{
	by(SP_METRICS_BY_PROCESS, SELF "{build_id=\"02000000\",library=\"libz.so.1\",process=\"prog\"} 0.04",
	   SELF "{build_id=\"02000000\",library=\"libz.so.1\",process=\"other\"} 0.02",
	   SELF "{build_id=\"\",library=\"[unknown]\",process=\"[kernel]\"} 0.04");
	by(SP_METRICS_BY_CGROUP, SELF "{build_id=\"02000000\",cgroup=\"/two\",library=\"libz.so.1\"} 0.05",
	   SELF "{build_id=\"02000000\",cgroup=\"/one\",library=\"libz.so.1\"} 0.01",
	   SELF "{build_id=\"\",cgroup=\"[unknown]\",library=\"[unknown]\"} 0.04");
}

/* More libraries than series: the first and largest have one, the rest is in `other`, which only grows. */
static void test_bounds(void **state)
{
	struct made *m = made_new((struct sp_agent_config){.metrics_series = 100});
	uint32_t who = key(m, 1, 0, "/");
	uint64_t all = 0, last = 0, refused;
	char name[128];
	size_t n;

	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "lib%u", i);
		uint32_t f = frame(m, file(m, name, i % 2 ? 1000 + i : 0), name);

		add(m, who, stack(m, 1, &f), 0, 10 + i);
		all += 10 + i;
	}
	for (unsigned round = 1; round < 4; round++) {
		window(m);
		assert_int_equal(sum(m, SELF, &n), round * all * MS);
		assert_int_equal(n, 32 + 1); /* of 100 lines: 4 of `other`, three for each library */
		assert_int_equal(sum(m, INCLUSIVE, NULL), round * all * MS);
		refused = sum(m, "soprof_metrics_refused_cpu_seconds_total", NULL);
		assert_true(refused > last);
		last = refused;
		snprintf(name, sizeof(name), SELF "{build_id=\"\",library=\"lib998\"} %.9g", round * 1.008);
		has(m, name); /* of the largest */
	}
	has(m, "soprof_metrics_refused_series_total{kind=\"library\"} 968");
	has(m, "soprof_metrics_series 100");
	/* a far larger one comes too late */
	uint32_t late = frame(m, file(m, "late", 7), "late");
	add(m, who, stack(m, 1, &late), 0, 100000);
	window(m);
	has_not(m, "library=\"late\"");
	has(m, "soprof_metrics_refused_series_total{kind=\"library\"} 969");
	/* a larger limit: its earlier time stays in `other` */
	m->c.metrics_series = 200;
	sp_metrics_configure(m->m, &m->c);
	window(m);
	has(m, SELF "{build_id=\"07000000\",library=\"late\"} 100");
	m->c.metrics_series = 10;
	sp_metrics_configure(m->m, &m->c);
	has(m, "soprof_metrics_series_limit 200");
	made_free(m);
}

static void crowd(struct made *m, uint32_t who, uint32_t first, uint32_t n, uint64_t ms)
{
	char name[32];

	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "junk%u", first + i);
		uint32_t f = frame(m, file(m, name, first + i), name);

		add(m, who, stack(m, 1, &f), 0, ms);
	}
}

static void renew(struct made *m)
{
	sp_profile_free(m->p);
	assert_int_equal(sp_profile_new(&m->p), 0);
	assert_int_equal(sp_profile_add_value_type(m->p, "samples", "count"), 0);
	assert_int_equal(sp_profile_add_value_type(m->p, "cpu", "nanoseconds"), 0);
}

/* Series that nobody uses for an hour go when others need the room; they keep it until then. */
static void test_idle_series(void **state)
{
	struct made *m = made_new((struct sp_agent_config){.metrics_series = 100});

	crowd(m, key(m, 1, 0, "/"), 1000, 50, 10);
	window(m);
	renew(m);
	m->at += 1800;
	crowd(m, key(m, 1, 0, "/"), 2000, 2, 10);
	window(m);
	has_not(m, "library=\"junk2000\"");
	m->at += 1800;
	window(m); /* refused once more, and then there is room */
	window(m);
	has(m, SELF "{build_id=\"d0070000\",library=\"junk2000\"} 0.01");
	has_not(m, "library=\"junk1000\"");
	made_free(m);
}

/* One user's many libraries take no room from others for long, nor the machine's own from anybody. */
static void test_shared_series(void **state)
{
	struct made *m = made_new((struct sp_agent_config){.metrics_series = 100});
	uint32_t f;

	crowd(m, key_of(m, 1, 0, 0, "/"), 500, 5, 10);
	crowd(m, key_of(m, 2, 12345, 0, "/"), 1000, 50, 20);
	window(m);
	renew(m);
	f = frame(m, file(m, "libhonest", 7), "f");
	add(m, key_of(m, 3, 1000, 0, "/"), stack(m, 1, &f), 0, 10);
	crowd(m, key_of(m, 2, 12345, 0, "/"), 1000, 50, 20);
	window(m);
	window(m);
	has(m, SELF "{build_id=\"07000000\",library=\"libhonest\"} 0.02");
	made_free(m);

	m = made_new((struct sp_agent_config){.metrics_series = 100});
	crowd(m, key_of(m, 1, 0, 0, "/"), 500, 50, 10);
	window(m);
	crowd(m, key_of(m, 2, 12345, 0, "/"), 1000, 50, 5);
	window(m);
	window(m);
	has_not(m, "library=\"junk1000\"");
	made_free(m);
}

/* Names of any bytes: each has a label value, and no two the same. */
static void test_hostile_names(void **state)
{
	struct made *m = made_new((struct sp_agent_config){.metrics_functions = {"*"}, .n_metrics_functions = 1});
	uint32_t who = key(m, 1, 0, "/");
	char name[600], *text, *at, *rest, *lines[8000];
	size_t n = 0;

	for (unsigned i = 1; i < 256; i++) {
		snprintf(name, sizeof(name), "%c\"\\%c\n}", (int)i, (int)i);
		uint32_t f = frame(m, file(m, name, i % 3 ? i : 0), name);

		add(m, who, stack(m, 1, &f), 0, 10);
	}
	for (unsigned i = 0; i < 20; i++) { /* equal but for what is cut off */
		memset(name, 'a', sizeof(name) - 1);
		snprintf(name + 580, 16, "%u", i / 2);
		uint32_t f = frame(m, file(m, name, 0), name);

		add(m, who, stack(m, 1, &f), 0, 10);
	}
	window(m);
	assert_int_equal(sum(m, SELF, NULL), 2750 * (uint64_t)MS);
	text = rest = page(m, SP_EXPO_TEXT);
	while ((at = strsep(&rest, "\n")) && n < SP_COUNT(lines)) {
		if (*at && *at != '#') {
			*strrchr(at, ' ') = 0;
			for (size_t i = 0; i < n; i++)
				assert_string_not_equal(lines[i], at);
			lines[n++] = at;
		}
	}
	assert_true(n > 1000);
	free(text);
	if (write_to) {
		FILE *out = fopen(write_to, "w");

		text = page(m, SP_EXPO_TEXT);
		fputs(text, out);
		fclose(out);
		free(text);
	}
	made_free(m);
}

/* Random stacks: after several windows each library's times are those of sp_totals_by(). */
static void test_as_totals_say(void **state)
{
	struct made *m = made_new((struct sp_agent_config){0});
	uint32_t files[40], frames[200], who = key(m, 1, 0, "/"), stacks[300], own[MAX_STACK];
	struct sp_totals t;
	char name[64], line[256];
	unsigned i, k;

	srandom(7);
	for (i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "lib%u", i);
		files[i] = file(m, name, i % 5 ? i : 0);
	}
	for (i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		frames[i] = frame(m, files[random() % 40], name);
	}
	for (i = 0; i < 300; i++) {
		unsigned n = 1 + (unsigned)random() % MAX_STACK;

		for (k = 0; k < n; k++)
			own[k] = frames[random() % 200];
		stacks[i] = stack(m, n, own);
	}
	for (i = 0; i < 2000; i++)
		add(m, who, random() % 10 ? stacks[random() % 300] : 0, random() % 3 ? 0 : stacks[random() % 300],
		    1 + (uint64_t)random() % 100);
	window(m);
	assert_int_equal(sp_totals_by(m->p, SP_TOTAL_BY_LIBRARY, 1, &t), 0);
	assert_int_equal(sum(m, SELF, NULL), (uint64_t)t.value);
	assert_int_equal(t.n_rows, 41);
	for (i = 0; i < t.n_rows; i++) {
		const struct sp_total *row = &t.rows[i];
		const struct sp_file *f = sp_profile_file(m->p, row->none ? 0 : row->id);

		snprintf(line, sizeof(line), "{build_id=\"\",library=\"%s\"} ",
			 row->none ? "[unknown]" : sp_profile_string(m->p, f->name));
		if (f->build_id_len)
			snprintf(line, sizeof(line), "{build_id=\"%02x000000\",library=\"%s\"} ", f->build_id[0],
				 sp_profile_string(m->p, f->name));
		snprintf(name, sizeof(name), "%.9g", (double)row->self / 1e9);
		char *all;
		assert_true(asprintf(&all, "%s%s%s", SELF, line, name) > 0);
		has(m, all);
		free(all);
		assert_true(asprintf(&all, "%s%s%.9g", INCLUSIVE, line, (double)row->total / 1e9) > 0);
		has(m, all);
		free(all);
	}
	sp_totals_done(&t);
	made_free(m);
}

static void test_events(void **state)
{
	struct made *m = made_new((struct sp_agent_config){0});

	m->l.event(m->l.arg, &(struct sp_store_event){.kind = "upgrade"});
	m->l.event(m->l.arg, &(struct sp_store_event){.kind = "upgrade"});
	m->l.event(m->l.arg, &(struct sp_store_event){.kind = "of another version"});
	has(m, "soprof_events_total{kind=\"upgrade\"} 2");
	has(m, "soprof_events_total{kind=\"gap\"} 0");
	has(m, "soprof_events_total{kind=\"other\"} 1");
	made_free(m);
}

/* 2,000 series with usual labels and exemplars. (How long a page of them takes: ./test bench metrics.) */
static void test_many_series(void **state)
{
	struct made *m = made_new((struct sp_agent_config){0});
	uint32_t who = key(m, 1, 0, "/");
	char name[64];
	size_t n = 0;

	for (uint32_t i = 0; i < 700; i++) {
		snprintf(name, sizeof(name), "libsomething%u.so.%u", i, i % 7);
		uint32_t number = file(m, name, 1 + i), f = frame(m, number, name);

		sp_profile_file(m->p, number)->build_id_len = 20;
		sp_profile_file(m->p, number)->owner_known = true;
		sp_profile_file(m->p, number)->package = string(m, "libsomething");
		add(m, who, stack(m, 1, &f), 0, 10);
	}
	window(m);
	assert_int_equal(sum(m, SELF, &n), 7000 * (uint64_t)MS);
	assert_int_equal(n, 2000 / 3); /* of three kinds; those that there is no room for are one of these */
	free(page(m, SP_EXPO_OPENMETRICS));
	made_free(m);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_self_and_inclusive),
	    cmocka_unit_test(test_info),
	    cmocka_unit_test(test_functions),
	    cmocka_unit_test(test_by),
	    cmocka_unit_test(test_bounds),
	    cmocka_unit_test(test_idle_series),
	    cmocka_unit_test(test_shared_series),
	    cmocka_unit_test(test_hostile_names),
	    cmocka_unit_test(test_as_totals_say),
	    cmocka_unit_test(test_events),
	    cmocka_unit_test(test_many_series),
	};

	write_to = argc > 1 ? argv[1] : NULL;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader of perf script text: tests/data/perf/NAME.txt becomes what NAME.golden says; SP_UPDATE_GOLDEN=1 writes
 * these. The texts are what perf 4.x to 6.x print, as tools/perf/builtin-script.c of these versions has it.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "profile/profile.h"
#include "read/read.h"
#include "test.h"
#include "view/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern const struct sp_reader sp_reader_perf;
extern const struct sp_view sp_view_perf;

/* --- reading --- */
static int read_bytes(const char *text, size_t len, const struct sp_read_options *o, struct sp_profile **ret_profile,
		      struct sp_read_result *ret_result)
{
	int fd SP_CLOSE = memfd_create("text", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return sp_read_fd(fd, "text", o, ret_profile, ret_result);
}

static struct sp_profile *read_text(const char *text, struct sp_read_result *ret_result)
{
	struct sp_read_options o = {.format = NULL};
	struct sp_profile *p = NULL;
	int r = read_bytes(text, strlen(text), &o, &p, ret_result);

	if (r < 0)
		fail_msg("%s", sp_error_text(r));
	assert_string_equal(ret_result->format, "perf");
	return p;
}

/* --- all of a profile as text --- */
static const char *word(const struct sp_profile *p, uint32_t string)
{
	return sp_profile_string(p, string);
}

static void put_frame(const struct sp_profile *p, uint32_t number, char half, FILE *out)
{
	const struct sp_frame *f = sp_profile_frame(p, number);
	const struct sp_func *func = sp_profile_func(p, f->func);

	assert_int_equal(half == 'k' && !(f->flags & SP_FRAMEF_KERNEL), 0);
	fprintf(out, "    %c %" PRIx64 " %s%s", half, f->offset, word(p, func->name), func->is_range ? " (range)" : "");
	fprintf(out, " from %" PRIx64 "%s in %" PRIu32 "/%" PRIu32 "\n", func->start, func->linkage_name ? " C" : "",
		f->file, func->file);
}

static void put_stack(const struct sp_profile *p, uint32_t number, char half, FILE *out)
{
	struct sp_stack s = sp_profile_stack(p, number);

	for (uint32_t i = 0; i < s.n_frames; i++)
		put_frame(p, s.frames[i], half, out);
}

static void put_row(const struct sp_profile *p, const struct sp_row *row, FILE *out)
{
	const struct sp_key *key = sp_profile_key(p, row->key);

	fprintf(out, "<%s> %" PRIu32 " <%s> slice %" PRIu32 ":", word(p, key->comm),
		sp_profile_process(p, key->process)->pid, word(p, key->recipe), key->slice);
	for (uint32_t i = 0; i < sp_profile_n_value_types(p); i++)
		fprintf(out, " %" PRId64, row->values[i]);
	fputs("\n", out);
	put_stack(p, row->kernel, 'k', out);
	put_stack(p, row->user, 'u', out);
}

static void put_file(const struct sp_profile *p, uint32_t number, FILE *out)
{
	static const char *const kinds[] = {"", "elf", "kernel", "vdso", "anon", "other"};
	const struct sp_file *f = sp_profile_file(p, number);

	fprintf(out, "file %" PRIu32 " %s <%s> <%s>%s", number, kinds[f->kind], word(p, f->name), word(p, f->path),
		f->deleted ? " deleted" : "");
	fprintf(out, f->process ? " of %" PRIu32 "\n" : "\n", sp_profile_process(p, f->process)->pid);
}

static char *dump(const struct sp_profile *p, const struct sp_read_result *result)
{
	const struct sp_profile_info *info = sp_profile_info(p);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	fprintf(out, "samples %" PRIu64 " lost %" PRIu64 "\nduration %" PRIu64 " time %" PRIu64, result->n_samples,
		result->n_lost, info->duration_ns, info->time_ns);
	fprintf(out, " period %" PRIu64 " %s\n", info->period, word(p, info->period_type.name));
	for (uint32_t i = 0; i < sp_profile_n_value_types(p); i++)
		fprintf(out, "value <%s> <%s>\n", word(p, sp_profile_value_type(p, i)->name),
			word(p, sp_profile_value_type(p, i)->unit));
	for (uint32_t i = 1; i < sp_profile_n_files(p); i++)
		put_file(p, i, out);
	for (uint32_t i = 1; i < sp_profile_n_processes(p); i++)
		fprintf(out, "process %" PRIu32 " <%s>\n", sp_profile_process(p, i)->pid,
			word(p, sp_profile_process(p, i)->comm));
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++)
		put_row(p, sp_profile_row(p, i), out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void compare(const char *path, const char *text)
{
	char *golden SP_FREE = NULL;

	if (getenv("SP_UPDATE_GOLDEN")) {
		FILE *f SP_FCLOSE = fopen(path, "we");

		assert_non_null(f);
		fputs(text, f);
		return;
	}
	assert_int_equal(sp_text_read(path, 1 << 20, &golden, NULL), 0);
	if (strcmp(golden, text) != 0)
		fail_msg("%s differs from:\n%s", path, text);
}

static void shape(const char *name)
{
	char in[256], out[256];
	char *text SP_FREE = NULL, *got SP_FREE = NULL;
	struct sp_read_result result;
	struct sp_profile *p;

	snprintf(in, sizeof(in), "%s/perf/%s.txt", SP_TEST_DATA, name);
	snprintf(out, sizeof(out), "%s/perf/%s.golden", SP_TEST_DATA, name);
	assert_int_equal(sp_text_read(in, 1 << 20, &text, NULL), 0);
	p = read_text(text, &result);
	got = dump(p, &result);
	compare(out, got);
	sp_profile_free(p);
}

static void shapes_of_perf_4_to_6(void **state)
{
	static const char *const names[] = {"perf-4",     "one-line",    "tracepoint",  "threads",      "libraries",
					    "srcline",    "fields-ip",   "fields-comm", "fields-event", "fields-tid",
					    "fields-dso", "fields-time", "fields-many", "clock",        "foreign",
					    "column",     "column-time", "header-lines"};

	for (size_t i = 0; i < SP_COUNT(names); i++)
		shape(names[i]);
}

/* --- samples without a frame: `-F` without ip --- */
static const struct {
	const char *text, *comm; /* comm, pid, recipe: of the first row */
	uint32_t pid;
	const char *recipe;
	int64_t n, last; /* sums of the first and the last value */
} bare[] = {
    {"              sh 25134 \n            perf  1999 \n              sh 25134 \n", "sh", 25134, "", 3, 3},
    {"     Web Content   25134 \n    tmux: server      77 \n", "Web Content", 25134, "", 2, 2},
    {"            perf 4194303 \n", "perf", 4194303, "", 1, 1},
    {"              sh 25134    5000000 \n              sh 25134    5000001 \n", "sh", 25134, "", 2, 10000001},
    {"              sh    5000000 \n              sh 12345678901 \n", "sh", 0, "", 2, 12350678901},
    {"25134 \n  77 \n", NULL, 0, NULL, 0, 0}, /* no columns: the second is 4 bytes wide */
    {"25134 \n   77 \n", "", 25134, "", 2, 2},
    {"   5000000 \n         1 \n", "", 0, "", 2, 5000001},
    {"              sh \n            perf \n", "sh", 0, "", 2, 2},
    {" cpu-clock: \n", "", 0, "cpu-clock", 1, 1},
    {"              sh  cpu-clock: \n            1234  cpu-clock: \n", "sh", 0, "cpu-clock", 2, 2},
    {"              sh          7  cycles:u: \n", "sh", 0, "cycles:u", 1, 7},
    {"         7 cycles: \n", "", 0, "cycles", 1, 7},
    {"              sh 19051.443386: \n", "sh", 0, "", 1, 1},
    {" 1951.443386123: \n 1952.443386123: \n", "", 0, "", 2, 2},
    {"              sh   25134/25135   [003] 19051.443386:          7 cycles: \n", "sh", 25134, "cycles", 1, 7},
    {"              sh      -1/-1      [003] \n", "sh", 0, "", 1, 1},
    {"              sh 25134\n              sh 25134\n", "sh", 25134, "", 2, 2}, /* an editor cut the spaces off */
    {"# captured on    : Fri\n#\n              sh 25134 \n", "sh", 25134, "", 1, 1},
    {"sh 25134 \nsh 25134 \n", NULL, 0, NULL, 0, 0}, /* not perf's columns: folded */
    {"main 3\nf 4\n", NULL, 0, NULL, 0, 0},
};

static void samples_without_frames_are_told_by_their_columns(void **state)
{
	for (size_t i = 0; i < SP_COUNT(bare); i++) {
		struct sp_read_result result;
		struct sp_profile *p;
		int64_t n = 0, last = 0;
		const struct sp_key *key;
		uint32_t n_types;

		if (!bare[i].comm) {
			assert_int_equal(sp_reader_perf.recognise((const uint8_t *)bare[i].text, strlen(bare[i].text)),
					 0);
			continue;
		}
		p = read_text(bare[i].text, &result);
		key = sp_profile_key(p, sp_profile_row(p, 0)->key);
		n_types = sp_profile_n_value_types(p);
		for (uint32_t j = 0; j < sp_profile_n_rows(p); j++) {
			n += sp_profile_row(p, j)->values[0];
			last += sp_profile_row(p, j)->values[n_types - 1];
			assert_int_equal(sp_profile_row(p, j)->user | sp_profile_row(p, j)->kernel, 0);
		}
		assert_string_equal(word(p, key->comm), bare[i].comm);
		assert_int_equal(sp_profile_process(p, key->process)->pid, bare[i].pid);
		assert_string_equal(word(p, key->recipe), bare[i].recipe);
		assert_int_equal(n, bare[i].n);
		assert_int_equal(last, bare[i].last);
		sp_profile_free(p);
	}
}

/* --- what is wrong --- */
#define GOOD "ls 1/1 [000] 1.5: 7 cycles: \n\t1000 f+0x0 (/bin/ls)\n\n"

static const struct {
	const char *text, *words; /* words: of the message */
	uint64_t n_samples, n_lost;
} wrong[] = {
    {GOOD "ls 1/1 [000] 1.6: 7 cycles: \n\t1000 f (/bin/ls)\n\tgarbage\n\t2000 g (/bin/ls)\n\n" GOOD,
     "text: line 6: expected a frame: ADDRESS SYMBOL (LIBRARY)", 2, 1},
    {GOOD "what is this\n\n" GOOD, "text: line 5: the line before is no sample: expected COMM PID/TID", 2, 1},
    {GOOD "\tgarbage\n\n" GOOD, "text: line 4: expected a sample, COMM PID/TID [CPU] TIME", 2, 1},
    {GOOD "\t12345678901234567 f (/bin/ls)\n" GOOD, "text: line 4: expected a sample", 2, 1},
    {GOOD "ls 1 what\nls 1/1 [000] 2.5: 7 cycles: \n\t1000 f+0x0 (/bin/ls)\n", "text: line 5: the line before", 2, 1},
    {GOOD "a 1/1 2.5: 1 e1: \n\na 1/1 2.5: 1 e2: \n\na 1/1 2.5: 1 e3: \n\na 1/1 2.5: 1 e4: \n\n"
	  "a 1/1 2.5: 1 e5: \n\na 1/1 2.5: 1 e6: \n\na 1/1 2.5: 1 e7: \n\na 1/1 2.5: 1 e8: \n\n"
	  "a 1/1 2.5: 1 e9: \n\na 1/1 2.5: 1 e10: \n\na 1/1 2.5: 1 e11: \n\na 1/1 2.5: 1 e12: \n\n"
	  "a 1/1 2.5: 1 e13: \n\na 1/1 2.5: 1 e14: \n\n"
	  "a 1/1 2.5: 1 e15: \n\ta (b)\n\n",
     "text: line 32: one event more than 15", 15, 1},
};

static void malformed_pieces_are_told_and_passed_over(void **state)
{
	for (size_t i = 0; i < SP_COUNT(wrong); i++) {
		struct sp_read_options o = {.keep_going = false};
		struct sp_read_result result;
		struct sp_profile *p = NULL;
		size_t len = strlen(wrong[i].text);
		int r = read_bytes(wrong[i].text, len, &o, &p, &result);

		assert_int_equal(r, -EBADMSG);
		if (strncmp(sp_error_text(r), wrong[i].words, strlen(wrong[i].words)) != 0)
			fail_msg("%s, not %s", sp_error_text(r), wrong[i].words);
		sp_error_clear();
		o.keep_going = true;
		assert_int_equal(read_bytes(wrong[i].text, len, &o, &p, &result), 0);
		assert_int_equal(result.n_samples, wrong[i].n_samples);
		assert_int_equal(result.n_lost, wrong[i].n_lost);
		assert_int_equal(strncmp(result.first_loss, wrong[i].words, SP_MIN(strlen(wrong[i].words), 60u)), 0);
		sp_profile_free(p);
	}
}

static void a_line_too_long_and_a_stack_too_deep(void **state)
{
	enum { FRAMES = 70000, LINE = (1 << 20) + 9 };
	struct sp_read_options o = {.keep_going = true};
	struct sp_read_result result;
	struct sp_profile *p = NULL;
	char *text SP_FREE = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fputs(GOOD "ls 1/1 [000] 1.5: 7 cycles: \n", out);
	for (int i = 0; i < FRAMES; i++)
		fputs("\t1000 f+0x0 (/bin/ls)\n", out);
	fputs("\n" GOOD "ls 1/1 [000] 1.5: 7 cycles: \n\t2000 ", out);
	for (int i = 0; i < LINE; i++)
		fputc('x', out);
	fputs("\n\t1000 f+0x0 (/bin/ls)\n\n" GOOD, out);
	fclose(out);
	assert_int_equal(read_bytes(text, size, &o, &p, &result), 0);
	assert_int_equal(result.n_samples, 3);
	assert_int_equal(result.n_lost, 2);
	assert_int_equal(sp_profile_n_rows(p), 1);
	sp_profile_free(p);
}

static void other_formats_are_not_taken_for_it(void **state)
{
	static const char *const others[] = {
	    "",
	    "\n\n\n",
	    "comm;main;f 12\ncomm;main;g 7\n",
	    "a b: c;d 12\n",
	    "# comment\n",
	    "{\"a\": 1, \"b\": 2}\n",
	    "    func+0x12 [lib]\n    main+0x7 [prog]\n    -                prog (12)\n        7\n",
	    "a file\twith tabs\n\tand more\n",
	    "Error: no such thing\n",
	};

	for (size_t i = 0; i < SP_COUNT(others); i++)
		assert_int_equal(sp_reader_perf.recognise((const uint8_t *)others[i], strlen(others[i])), 0);
}

static void times_make_slices_of_equal_length(void **state)
{
	enum { SAMPLES = 1000, LONGEST = 32 };
	struct sp_read_result result;
	int64_t of_slice[LONGEST + 1] = {0}, sum = 0;
	struct sp_profile *p;
	char *text SP_FREE = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	uint32_t n;

	for (int i = 0; i < SAMPLES; i++)
		fprintf(out, "a 1/1 [000] %d.%d00000: 1 cycles: \n\t1000 f (/bin/ls)\n\n", 70 + i / 10, i % 10);
	fclose(out);
	p = read_text(text, &result);
	n = sp_profile_n_rows(p);
	assert_in_range(n, LONGEST / 2, LONGEST);
	for (uint32_t i = 0; i < n; i++) {
		const struct sp_row *row = sp_profile_row(p, i);

		assert_in_range(sp_profile_key(p, row->key)->slice, 1, LONGEST);
		of_slice[sp_profile_key(p, row->key)->slice] += row->values[0];
		sum += row->values[1];
	}
	assert_int_equal(sum, SAMPLES);
	for (uint32_t i = 2; i < n; i++) /* all but the last are full */
		assert_in_range(of_slice[i], of_slice[1] - 1, of_slice[1] + 1);
	sp_profile_free(p);
}

/* --- there and back --- */
enum { N_NAMES = 100000 / SP_FEWER, NAME_MAX_BYTES = 24 };

static uint64_t draw(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Any bytes but NUL, those that separate often. */
static void random_name(uint64_t *seed, char *name, size_t longest)
{
	static const char special[] = " \t\n\r:;,()[]<>{}/\\+#%&'\"0123456789abcdefx.-_*~\x1b\x7f\xc3\xa4\xff";
	size_t n = 1 + draw(seed) % (longest - 1);

	for (size_t i = 0; i < n; i++)
		name[i] = draw(seed) % 4 ? special[draw(seed) % (sizeof(special) - 1)] : (char)(1 + draw(seed) % 255);
	name[n] = 0;
}

static void add_random_row(struct sp_profile *p, uint64_t *seed, uint32_t number)
{
	char name[NAME_MAX_BYTES + 1], comm[17];
	struct sp_file file = {.kind = SP_FILE_ELF, .tag = number % 7};
	struct sp_func func = {.start = 4096 + 16 * (uint64_t)number};
	struct sp_frame frame;
	struct sp_key key;
	uint32_t frame_number;
	int64_t values[] = {1 + number % 3, 10 * (1 + number % 3)};

	random_name(seed, name, NAME_MAX_BYTES);
	random_name(seed, comm, SP_COUNT(comm) - 1);
	snprintf(name + strlen(name) / 2, 12, "%" PRIx32, number);
	file.name = (uint32_t)sp_profile_add_string(p, number % 7 % 2 ? "libfoo.so.1" : "with space (x)");
	func.file = (uint32_t)sp_profile_add_file(p, &file);
	func.name = (uint32_t)sp_profile_add_string(p, name);
	func.vaddr = func.start;
	frame = (struct sp_frame){.offset = func.start + number % 5, .file = func.file};
	frame.func = (uint32_t)sp_profile_add_func(p, &func);
	frame_number = (uint32_t)sp_profile_add_frame(p, &frame);
	key = (struct sp_key){.comm = (uint32_t)sp_profile_add_string(p, comm),
			      .process = (uint32_t)sp_profile_add_process(p, &(struct sp_process){.pid = number + 1})};
	struct sp_stack stack = {.n_frames = 1, .frames = &frame_number};
	assert_int_equal(sp_profile_add(p, (uint32_t)sp_profile_add_key(p, &key),
					(uint32_t)sp_profile_add_stack(p, &stack), 0, values),
			 0);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *row_text(const struct sp_profile *p, const struct sp_row *row)
{
	const struct sp_key *key = sp_profile_key(p, row->key);
	struct sp_stack s = sp_profile_stack(p, row->user);
	const struct sp_frame *f = sp_profile_frame(p, s.frames[0]);
	char *text = NULL;

	assert_int_equal(s.n_frames, 1);
	assert_true(asprintf(&text, "%s|%s|%" PRIu32 "|%" PRIu64 "|%s|%" PRId64, word(p, key->comm),
			     word(p, sp_profile_func(p, f->func)->name), sp_profile_process(p, key->process)->pid,
			     f->offset, word(p, sp_profile_file(p, f->file)->name),
			     row->values[1] / row->values[0]) > 0);
	return text;
}

/* One string for each sample (rows may be cut by slices of the time): thread, function, process, place, period; sorted.
 */
static char **samples_of(const struct sp_profile *p, size_t *ret_n)
{
	size_t n = 0;
	char **samples;

	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++)
		n += (size_t)sp_profile_row(p, i)->values[0];
	*ret_n = n;
	samples = calloc(n, sizeof(*samples));
	n = 0;
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++)
		for (int64_t j = sp_profile_row(p, i)->values[0]; j > 0; j--)
			samples[n++] = row_text(p, sp_profile_row(p, i));
	qsort(samples, n, sizeof(*samples), by_text);
	return samples;
}

static void compare_samples(const struct sp_profile *a, const struct sp_profile *b)
{
	size_t n, m;
	char **x = samples_of(a, &n), **y = samples_of(b, &m);

	assert_int_equal(n, m);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(x[i], y[i]);
		free(x[i]);
		free(y[i]);
	}
	free(x);
	free(y);
}

static void random_names_come_back(void **state)
{
	const struct sp_view_options o = {.value = 0};
	struct sp_read_result result;
	uint64_t seed = 88172645463325252;
	struct sp_profile *p = NULL, *again;
	char *text SP_FREE = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(sp_profile_new(&p), 0);
	assert_int_equal(sp_profile_add_value_type(p, "samples", "count"), 0);
	assert_int_equal(sp_profile_add_value_type(p, "cpu", "nanoseconds"), 0);
	for (uint32_t i = 0; i < N_NAMES; i++)
		add_random_row(p, &seed, i);
	assert_int_equal(sp_view_perf.write(p, &o, out), 0);
	fclose(out);
	again = read_text(text, &result);
	compare_samples(p, again);
	sp_profile_free(p);
	sp_profile_free(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(shapes_of_perf_4_to_6),
	    cmocka_unit_test(samples_without_frames_are_told_by_their_columns),
	    cmocka_unit_test(malformed_pieces_are_told_and_passed_over),
	    cmocka_unit_test(a_line_too_long_and_a_stack_too_deep),
	    cmocka_unit_test(other_formats_are_not_taken_for_it),
	    cmocka_unit_test(times_make_slices_of_equal_length),
	    cmocka_unit_test(random_names_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

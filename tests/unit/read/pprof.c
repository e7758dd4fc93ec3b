/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile.proto by hand: every field, in every order that protocol buffers allow. */
#include "pprof_made.h"
#include "profile/values.h"
#include "test.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct sp_profile *read_good(const struct pb *b, struct sp_read_result *ret_result)
{
	struct sp_read_options o = {0};
	struct sp_profile *p = NULL;
	int r = reading_bytes(b->data, b->n, &o, &p, ret_result);

	if (r < 0)
		fail_msg("%s", reading_words(r));
	assert_string_equal(ret_result->format, "pprof");
	assert_int_equal(ret_result->n_lost, 0);
	return p;
}

/* A frame as `file!function+OFFSET`, without what there is none of. */
static void put_frame(const struct sp_profile *p, uint32_t frame, FILE *out)
{
	const struct sp_frame *f = sp_profile_frame(p, frame);
	const struct sp_func *func = sp_profile_func(p, f->func);

	fprintf(out, " %s%s!%s+%" PRIx64, f->flags & SP_FRAMEF_KERNEL ? "k:" : "",
		sp_profile_string(p, sp_profile_file(p, f->func ? func->file : f->file)->name),
		sp_profile_string(p, func->name), f->offset);
	if (func->is_range)
		fprintf(out, "(=%" PRIx64 ")", func->vaddr);
}

/* All rows, one a line: who, the kernel's frames, the user's, values. */
static char *describe(const struct sp_profile *p)
{
	char *words = NULL;
	size_t len;
	FILE *out = open_memstream(&words, &len);

	assert_non_null(out);
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		const struct sp_key *key = sp_profile_key(p, row->key);
		const struct sp_process *process = sp_profile_process(p, key->process);
		struct sp_stack halves[] = {sp_profile_stack(p, row->kernel), sp_profile_stack(p, row->user)};

		fprintf(out, "%" PRIu32 "/%s/%s/%s/%" PRIu32 "/%" PRIu32 ":", process->pid,
			sp_profile_string(p, process->comm), sp_profile_string(p, key->comm),
			sp_profile_string(p, process->cgroup_path), process->uid, key->slice);
		for (size_t k = 0; k < 2; k++) {
			for (uint32_t j = 0; j < halves[k].n_frames; j++)
				put_frame(p, halves[k].frames[j], out);
			if (halves[k].stack_class)
				fprintf(out, " class %u", halves[k].stack_class);
		}
		for (uint32_t k = 0; k < sp_profile_n_value_types(p); k++)
			fprintf(out, " %" PRId64, row->values[k]);
		fputc('\n', out);
	}
	assert_int_equal(fclose(out), 0);
	return words;
}

static void expect_rows(const struct pb *b, const char *expected)
{
	struct sp_read_result result;
	struct sp_profile *p = read_good(b, &result);
	char *rows SP_FREE = describe(p);

	assert_string_equal(rows, expected);
	sp_profile_free(p);
}

#define LEAF_ROW "0////0/0: libfoo.so.1!leaf(int)+3040 libfoo.so.1!inlined+3100 libfoo.so.1!main+3100 5 -7\n"

static void test_orders(void **state)
{
	static struct pb b;

	for (unsigned int order = 0; order < 8; order++) {
		b.n = 0;
		if (order & 1)
			put_strings(&b);
		put_types(&b);
		if (order & 2)
			put_tables(&b);
		put_leaf_sample(&b, order & 4);
		if (!(order & 2))
			put_tables(&b);
		if (!(order & 1))
			put_strings(&b);
		expect_rows(&b, LEAF_ROW);
	}
	b.n = 0; /* types last */
	put_tables(&b);
	put_leaf_sample(&b, true);
	put_strings(&b);
	put_types(&b);
	expect_rows(&b, LEAF_ROW);
}

/* Fields that nobody knows, of every wire type, everywhere. */
static void test_unknown_fields(void **state)
{
	static struct pb b;

	b.n = 0;
	put_types(&b);
	for (uint32_t field = 16; field < 4000; field += 1000) {
		pb_number(&b, field, UINT64_MAX);
		pb_bytes(&b, field, "abcdefgh", 8);
		pb_varint(&b, field << 3 | 1);
		pb_varint(&b, 0x7f), pb_varint(&b, 1), pb_varint(&b, 2), pb_varint(&b, 3);
		pb_varint(&b, 0x7f), pb_varint(&b, 1), pb_varint(&b, 2), pb_varint(&b, 3);
		pb_varint(&b, field << 3 | 5);
		pb_varint(&b, 0), pb_varint(&b, 1), pb_varint(&b, 2), pb_varint(&b, 3);
	}
	pb_bytes(&b, 15, "https://example.org", 19); /* doc_url as a string, as some write it */
	pb_number(&sample, 9, 1);
	pb_bytes(&sample, 10, "x", 1);
	put_leaf_sample(&b, true);
	put_tables(&b);
	put_strings(&b);
	expect_rows(&b, LEAF_ROW);
}

static void test_frames(void **state)
{
	static struct pb b;

	b.n = 0;
	put_types(&b);
	PACKED(&sample, 1, 5, 4, 6, 3, 2);
	PACKED(&sample, 2, 1, 1);
	put_sample(&b);
	PACKED(&sample, 1, 2, 4); /* a kernel frame below a user's: no place of its own */
	PACKED(&sample, 2, 2, 2);
	put_sample(&b);
	PACKED(&sample, 2, 3, 3); /* nowhere */
	put_sample(&b);
	put_tables(&b);
	put_strings(&b);
	expect_rows(&b, "0////0/0: k:[ext4]!vfs_read+0 k:[kernel]!vfs_read+0 libfoo.so.1!libfoo.so.1+0x40+3048(=40) "
			"libfoo.so.1!+3200 libfoo.so.1!inlined+3100 libfoo.so.1!main+3100 1 1\n"
			"0////0/0: libfoo.so.1!inlined+3100 libfoo.so.1!main+3100 k:[kernel]!vfs_read+0 2 2\n"
			"0////0/0: 3 3\n");
}

static void test_labels(void **state)
{
	static struct pb b;

	b.n = 0;
	put_types(&b);
	for (unsigned int i = 0; i < 4; i++) {
		put_label(S_COMM, i == 3 ? S_MAIN : S_SH, 0);
		put_label(S_PID, i == 1 ? S_77 : 0, i == 1 ? 0 : 77); /* as a number, and as a string */
		put_label(S_CGROUP, S_GROUP, 0);
		put_label(S_LIB, S_LIB, 0); /* means nothing */
		put_label(S_UID, 0, 1000);
		if (i == 2) {
			put_label(S_THREAD, S_WORKER, 0);
			put_label(S_STACK, S_CUT, 0);
			put_label(S_SLICE, 0, 9);
		}
		PACKED(&sample, 1, 1);
		PACKED(&sample, 2, 1, 10);
		put_sample(&b);
	}
	put_tables(&b);
	put_strings(&b);
	expect_rows(&b, "77/sh/sh//system.slice/x/1000/0: libfoo.so.1!leaf(int)+3040 1 10\n"
			"77/sh/sh//system.slice/x/1000/0: libfoo.so.1!leaf(int)+3040 1 10\n" /* written otherwise */
			"77/sh/worker \x1b//system.slice/x/1000/9: libfoo.so.1!leaf(int)+3040 class 1 1 10\n"
			"77/main/main//system.slice/x/1000/0: libfoo.so.1!leaf(int)+3040 1 10\n");
}

static void test_info(void **state)
{
	static struct pb b;
	struct sp_read_result result;
	struct sp_profile *p;
	const struct sp_profile_info *info;

	b.n = 0;
	put_types(&b);
	put_leaf_sample(&b, true);
	put_tables(&b);
	pb_number(&b, TIME, 1700000000123456789);
	pb_number(&b, DURATION, 2000000000);
	PB_MESSAGE(&b, PERIOD_TYPE, S_CPU, S_NS);
	pb_number(&b, PERIOD, 10101010);
	pb_number(&b, DEFAULT_TYPE, S_SAMPLES);
	put_strings(&b);
	p = read_good(&b, &result);
	info = sp_profile_info(p);
	assert_int_equal(info->time_ns, 1700000000123456789);
	assert_int_equal(info->duration_ns, 2000000000);
	assert_int_equal(info->period, 10101010);
	assert_string_equal(sp_profile_string(p, info->period_type.name), "cpu");
	assert_string_equal(sp_profile_string(p, info->period_type.unit), "nanoseconds");
	assert_int_equal(sp_profile_default_value(p), 0);
	assert_int_equal(result.n_samples, 1);
	sp_profile_free(p);
	pb_number(&b, DEFAULT_TYPE, 0); /* not said: the last */
	p = read_good(&b, &result);
	assert_int_equal(sp_profile_default_value(p), 1);
	sp_profile_free(p);
}

/* What a mapping is called says what it is. */
static void test_files(void **state)
{
	static const struct {
		const char *filename, *name, *path;
		uint8_t kind;
		bool deleted;
	} cases[] = {
	    {"/usr/lib/libc.so.6", "libc.so.6", "/usr/lib/libc.so.6", SP_FILE_ELF, false},
	    {"libc.so.6 (deleted)", "libc.so.6 (deleted)", "", SP_FILE_ELF, true},
	    {"/usr/lib/libc.so.6 (deleted)", "libc.so.6 (deleted)", "/usr/lib/libc.so.6", SP_FILE_ELF, true},
	    {"[kernel.kallsyms]_text", "[kernel]", "", SP_FILE_KERNEL, false},
	    {"[nf_tables]", "[nf_tables]", "", SP_FILE_KERNEL, false},
	    {"/lib/modules/6.1.0/kernel/net/nf-tables.ko.xz", "[nf_tables]",
	     "/lib/modules/6.1.0/kernel/net/nf-tables.ko.xz", SP_FILE_KERNEL, false},
	    {"[vdso]", "[vdso]", "", SP_FILE_VDSO, false},
	    {"linux-vdso.so.1", "[vdso]", "", SP_FILE_VDSO, false},
	    {"[anon:300]", "[anon]", "", SP_FILE_ANON, false},
	    {"//anon", "[anon]", "", SP_FILE_ANON, false},
	    {"/tmp/perf-300.map", "[anon]", "", SP_FILE_ANON, false},
	    {"[heap]", "[heap]", "", SP_FILE_OTHER, false},
	    {"node", "node", "", SP_FILE_OTHER, false},
	};
	static struct pb b;

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_read_result result;
		struct sp_profile *p;
		const struct sp_file *f;

		b.n = 0;
		PB_MESSAGE(&b, TYPE, 0, 0);
		PB_MESSAGE(&b, MAPPING, 7, 0, 0, 0, 1);
		pb_string(&b, "");
		pb_string(&b, cases[i].filename);
		p = read_good(&b, &result);
		assert_int_equal(sp_profile_n_files(p), 2);
		f = sp_profile_file(p, 1);
		assert_string_equal(sp_profile_string(p, f->name), cases[i].name);
		assert_string_equal(sp_profile_string(p, f->path), cases[i].path);
		assert_int_equal(f->kind, cases[i].kind);
		assert_int_equal(f->deleted, cases[i].deleted);
		assert_int_equal(sp_profile_process(p, f->process)->pid, strstr(cases[i].filename, "300") ? 300 : 0);
		sp_profile_free(p);
	}
}

static void test_build_id(void **state)
{
	static struct pb b;
	struct sp_read_result result;
	struct sp_profile *p;
	const struct sp_file *f;

	b.n = 0;
	put_types(&b);
	put_tables(&b);
	put_strings(&b);
	p = read_good(&b, &result);
	f = sp_profile_file(p, 1);
	assert_int_equal(f->build_id_len, 4);
	assert_memory_equal(f->build_id, "\0\xff\x7f\xab", 4);
	sp_profile_free(p);
}

/* Many functions at one place, and places that many functions are said to be at. */
static void test_one_address(void **state)
{
	enum { N = 500 };
	static struct pb b;
	struct sp_read_result result;
	struct sp_profile *p;

	b.n = 0;
	put_types(&b);
	for (uint64_t i = 1; i <= N; i++) {
		LOCATION(&b, i, 0, i % 2 ? 0x1000 : 0, i);
		PB_MESSAGE(&b, FUNCTION, i, i);
		PACKED(&sample, 1, i);
		PACKED(&sample, 2, 1, 1);
		put_sample(&b);
	}
	pb_string(&b, "");
	for (unsigned int i = 1; i <= N; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%u", i);
		pb_string(&b, name);
	}
	p = read_good(&b, &result);
	assert_int_equal(sp_profile_n_rows(p), N);
	for (uint32_t i = 0; i < N; i++) {
		struct sp_stack s = sp_profile_stack(p, sp_profile_row(p, i)->user);
		char name[16];

		snprintf(name, sizeof(name), "f%u", i + 1);
		assert_int_equal(s.n_frames, 1);
		assert_string_equal(
		    sp_profile_string(p, sp_profile_func(p, sp_profile_frame(p, s.frames[0])->func)->name), name);
	}
	sp_profile_free(p);
}

/* --- comments that tell of packages --- */
static const char *const comments[] = {
    "#soprof: package libfoo1 1:2.0-3 00ff7fAB /usr/lib/libfoo.so.1",
    "#soprof: package other 1 00ff /usr/lib/libfoo.so.1", /* of another build */
    "somebody's own words",
    "#soprof: package - - 00ff7fAB /usr/lib/libfoo.so.1",
    "#soprof: package",
    "#soprof: package ",
    "#soprof: package a",
    "#soprof: package a b",
    "#soprof: package kernel 6 - [kernel.kallsyms]",
    "#soprof: package - 9 00ff7fAB /usr/lib/libfoo.so.1",
};

/* "NAME VERSION known?" of the library, with these comments. */
static char *package_told(bool packed, size_t n, const uint64_t *which)
{
	static struct pb b;
	struct sp_read_result result;
	uint64_t strings[8];
	char *words;

	b.n = 0;
	put_types(&b);
	put_tables(&b);
	put_leaf_sample(&b, true);
	for (size_t i = 0; i < n; i++)
		strings[i] = which[i] < SP_COUNT(comments) ? S_UID + 1 + which[i] : which[i];
	if (packed)
		put_packed(&b, COMMENT, n, strings);
	else
		for (size_t i = 0; i < n; i++)
			pb_number(&b, COMMENT, strings[i]);
	put_strings(&b);
	for (size_t i = 0; i < SP_COUNT(comments); i++)
		pb_string(&b, comments[i]);
	struct sp_profile *p = read_good(&b, &result);
	for (uint32_t i = 1; i < sp_profile_n_files(p); i++) {
		const struct sp_file *f = sp_profile_file(p, i);

		if (f->kind != SP_FILE_ELF) {
			assert_int_equal(f->package, 0);
			continue;
		}
		assert_true(asprintf(&words, "%s %s %d", sp_profile_string(p, f->package),
				     sp_profile_string(p, f->package_version), f->owner_known) > 0);
	}
	sp_profile_free(p);
	return words;
}
#define TOLD(expected, ...)                                                                                            \
	do {                                                                                                           \
		const uint64_t which[] = {__VA_ARGS__};                                                                \
		for (int packed = 0; packed < 2; packed++) {                                                           \
			char *words SP_FREE = package_told(packed, SP_COUNT(which), which);                            \
			assert_string_equal(words, expected);                                                          \
		}                                                                                                      \
	} while (0)

static void test_packages(void **state)
{
	TOLD("libfoo1 1:2.0-3 1", 0);
	TOLD("libfoo1 1:2.0-3 1", 2, 1, 0, 8);
	TOLD("  0", 1);
	TOLD("  0", 2, 4, 5, 6, 7, 8);
	TOLD("  1", 3);
	TOLD("  1", 9); /* a version of nothing */
	TOLD("  0", 1000, UINT32_MAX, UINT64_MAX);
}

/* What the view writes of packages is what is read. */
static void test_packages_written(void **state)
{
	static const char *const packages[][2] = {
	    {"libc6", "2.36-9+deb12u10"}, {"", ""}, {"only-a-name", ""}, {"a b", "1"}};
	static const char *const told[][2] = {{"libc6", "2.36-9+deb12u10"}, {"", ""}, {"only-a-name", ""}, {"", ""}};
	static const char *const names[] = {"libx.so.1", "libx.so", "a b", ""};
	static const char *const names_told[] = {"libx.so.1", "libx.so", "libx.so", "libx.so"};
	struct sp_read_options o = {0};
	struct sp_read_result result;

	for (size_t i = 0; i < SP_COUNT(packages); i++) {
		struct sp_profile *p = reading_text("main [/opt/a b\xff/libx.so];f [/opt/a b\xff/libx.so] 3\n"), *q;
		uint32_t n = sp_profile_n_files(p) - 1;
		struct sp_file *f = sp_profile_file(p, n);
		size_t len;

		f->kind = SP_FILE_ELF;
		f->owner_known = true;
		f->name = (uint32_t)sp_profile_add_string(p, names[i]);
		f->package = (uint32_t)sp_profile_add_string(p, packages[i][0]);
		f->package_version = (uint32_t)sp_profile_add_string(p, packages[i][1]);
		char *bytes SP_FREE = reading_view(p, "pprof", &(struct sp_view_options){0}, &len);
		assert_int_equal(reading_bytes(bytes, len, &o, &q, &result), 0);
		f = sp_profile_file(q, sp_profile_n_files(q) - 1);
		assert_true(f->owner_known);
		assert_string_equal(sp_profile_string(q, f->package), told[i][0]);
		assert_string_equal(sp_profile_string(q, f->package_version), told[i][1]);
		assert_string_equal(sp_profile_string(q, f->name), names_told[i]);
		sp_profile_free(p);
		sp_profile_free(q);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_orders),   cmocka_unit_test(test_unknown_fields),
	    cmocka_unit_test(test_frames),   cmocka_unit_test(test_labels),
	    cmocka_unit_test(test_info),     cmocka_unit_test(test_files),
	    cmocka_unit_test(test_build_id), cmocka_unit_test(test_one_address),
	    cmocka_unit_test(test_packages), cmocka_unit_test(test_packages_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

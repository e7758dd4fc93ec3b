/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/merge.h"
#include "base/error.h"
#include "base/mem.h"
#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sp_profile *profile(const char *first_value, const char *second_value)
{
	struct sp_profile *p;

	assert_int_equal(sp_profile_new(&p), 0);
	if (first_value != NULL)
		assert_int_equal(sp_profile_add_value_type(p, first_value, "count"), 0);
	if (second_value != NULL)
		assert_int_equal(sp_profile_add_value_type(p, second_value, "count"), 0);
	return p;
}

static uint32_t string(struct sp_profile *p, const char *s)
{
	return (uint32_t)sp_profile_add_string(p, s);
}

static uint32_t file(struct sp_profile *p, uint64_t tag, const char *path, const char *build_id)
{
	struct sp_file f = {.kind = SP_FILE_ELF, .tag = tag, .path = string(p, path), .name = string(p, path)};

	f.build_id_len = (uint8_t)strlen(build_id);
	memcpy(f.build_id, build_id, f.build_id_len);
	return (uint32_t)sp_profile_add_file(p, &f);
}

/* One row with a stack of one frame in that file. */
static void add(struct sp_profile *p, uint32_t in, uint64_t offset, int64_t first, int64_t second)
{
	uint32_t frame = (uint32_t)sp_profile_add_frame(p, &(struct sp_frame){.file = in, .offset = offset});
	uint32_t stack = (uint32_t)sp_profile_add_stack(p, &(struct sp_stack){.n_frames = 1, .frames = &frame});
	int64_t values[] = {first, second};

	assert_int_equal(sp_profile_add(p, 0, stack, 0, values), 0);
}

static const struct sp_file *file_of_row(const struct sp_profile *p, uint32_t row)
{
	struct sp_stack stack = sp_profile_stack(p, sp_profile_row(p, row)->user);

	return sp_profile_file(p, sp_profile_frame(p, stack.frames[0])->file);
}

static void values_go_by_name(void **state)
{
	struct sp_profile *into = profile("cpu", "samples"), *from = profile("samples", "cpu"),
			  *other = profile("bytes", NULL);

	add(from, file(from, 1, "/x", ""), 5, 1, 10);
	add(other, file(other, 1, "/x", ""), 5, 1, 0);
	assert_int_equal(sp_profile_merge(into, from), 0);
	assert_int_equal(sp_profile_merge(into, from), 0);
	assert_int_equal(sp_profile_n_rows(into), 1);
	assert_int_equal(sp_profile_row(into, 0)->values[0], 20);
	assert_int_equal(sp_profile_row(into, 0)->values[1], 2);
	assert_int_equal(sp_profile_merge(into, other), -EINVAL);
	assert_string_equal(sp_error_text(-EINVAL), "cannot merge profiles: only one of them counts bytes in count");
	sp_profile_free(into);
	sp_profile_free(from);
	sp_profile_free(other);
}

static void an_empty_profile_takes_types_and_info_over(void **state)
{
	struct sp_profile *into = profile(NULL, NULL), *from = profile("samples", NULL);

	*sp_profile_info(from) = (struct sp_profile_info){
	    .duration_ns = 5, .time_ns = 6, .period = 7, .period_type = {string(from, "pt"), string(from, "pu")}};
	assert_int_equal(sp_profile_merge(into, from), 0);
	assert_int_equal(sp_profile_n_value_types(into), 1);
	assert_string_equal(sp_profile_string(into, sp_profile_value_type(into, 0)->name), "samples");
	assert_int_equal(sp_profile_info(into)->duration_ns, 5);
	assert_string_equal(sp_profile_string(into, sp_profile_info(into)->period_type.name), "pt");
	assert_string_equal(sp_profile_string(into, sp_profile_info(into)->period_type.unit), "pu");
	sp_profile_free(into);
	sp_profile_free(from);
}

static void one_tag_for_two_files_is_two_files(void **state)
{
	struct sp_profile *into = profile("samples", NULL), *from = profile("samples", NULL);

	add(into, file(into, 1, "/libx", "AAAA"), 5, 1, 0);
	add(from, file(from, 1, "/libx", "BBBB"), 5, 2, 0);
	assert_int_equal(sp_profile_merge(into, from), 0);
	assert_int_equal(sp_profile_merge(into, from), 0); /* and the second time it is the second file again */
	assert_int_equal(sp_profile_n_files(into), 3);
	assert_int_equal(sp_profile_n_rows(into), 2);
	assert_memory_equal(file_of_row(into, 0)->build_id, "AAAA", 4);
	assert_memory_equal(file_of_row(into, 1)->build_id, "BBBB", 4);
	assert_int_equal(sp_profile_row(into, 1)->values[0], 4);
	sp_profile_free(into);
	sp_profile_free(from);
}

static void one_build_id_is_one_file(void **state)
{
	struct sp_profile *into = profile("samples", NULL), *from = profile("samples", NULL);

	add(into, file(into, 1, "/libx", "AAAA"), 5, 1, 0);
	uint32_t same = file(from, 9, "/libx", "AAAA"), copy = file(from, 10, "/copy", "AAAA");
	uint32_t none1 = file(from, 11, "/noid", ""), none2 = file(from, 12, "/noid", "");
	sp_profile_file(from, same)->package = string(from, "x1");
	sp_profile_file(from, same)->package_version = string(from, "1.2-3");
	sp_profile_file(from, same)->owner_known = true;
	add(from, same, 5, 2, 0);
	add(from, copy, 5, 4, 0);
	add(from, none1, 5, 8, 0);
	add(from, none2, 5, 16, 0);
	assert_int_equal(sp_profile_merge(into, from), 0);
	assert_int_equal(sp_profile_n_rows(into), 3);
	assert_int_equal(sp_profile_row(into, 0)->values[0], 7);
	assert_string_equal(sp_profile_string(into, file_of_row(into, 0)->package), "x1");
	assert_string_equal(sp_profile_string(into, file_of_row(into, 0)->package_version), "1.2-3");
	assert_true(file_of_row(into, 0)->owner_known);
	assert_string_equal(sp_profile_string(into, file_of_row(into, 0)->path), "/libx");
	sp_profile_free(into);
	sp_profile_free(from);
}

static void names_added_late_are_filled_in(void **state)
{
	struct sp_profile *into = profile("samples", NULL), *from = profile("samples", NULL);
	uint32_t in = file(from, 1, "/libx", "AAAA");
	struct sp_func func = {.name = string(from, "work"), .file = in, .size = 16};

	add(into, file(into, 1, "/libx", "AAAA"), 5, 1, 0);
	add(from, in, 5, 2, 0);
	sp_profile_frame(from, 1)->func = (uint32_t)sp_profile_add_func(from, &func);
	assert_int_equal(sp_profile_merge(into, from), 0);
	assert_int_equal(sp_profile_n_rows(into), 1);
	const struct sp_func *got = sp_profile_func(into, sp_profile_frame(into, 1)->func);
	assert_string_equal(sp_profile_string(into, got->name), "work");
	assert_ptr_equal(sp_profile_file(into, got->file), file_of_row(into, 0));
	sp_profile_free(into);
	sp_profile_free(from);
}

/* A file that has two names has that of the profile that was there first, and so have its ranges. */
static void one_file_has_one_name(void **state)
{
	const char *const names[][2] = {{"/bin/one+0x10", "[/bin/one]"}, {"/bin/two+0x10", "[/bin/two]"}};
	struct sp_profile *into = NULL;

	for (uint32_t k = 0; k < 2; k++) {
		struct sp_profile *p = profile("samples", NULL);
		uint32_t in = file(p, 1, k == 0 ? "/bin/one" : "/bin/two", "AAAA");
		for (uint32_t i = 0; i < 2; i++) {
			struct sp_func func = {
			    .name = string(p, names[k][i]), .file = in, .is_range = true, .start = 16};
			struct sp_frame f = {.file = in, .offset = 16 + i};
			f.func = (uint32_t)sp_profile_add_func(p, &func);
			uint32_t frame = (uint32_t)sp_profile_add_frame(p, &f);
			struct sp_stack stack = {.n_frames = 1, .frames = &frame};
			int64_t value = 1;
			assert_int_equal(sp_profile_add(p, 0, (uint32_t)sp_profile_add_stack(p, &stack), 0, &value), 0);
		}
		if (k == 0) {
			into = p;
			continue;
		}
		assert_int_equal(sp_profile_merge(into, p), 0);
		sp_profile_free(p);
	}
	assert_int_equal(sp_profile_n_funcs(into), 3);
	for (uint32_t i = 0; i < 2; i++)
		assert_string_equal(sp_profile_string(into, sp_profile_func(into, i + 1)->name), names[0][i]);
	sp_profile_free(into);
}

/* Functions read from a text have no place: each profile tells them apart by numbers of its own. */
static void names_without_a_place_are_kept(void **state)
{
	enum { N_NAMES = 300, N_PROFILES = 4 };
	struct sp_profile *into = profile("samples", NULL);
	int64_t sums[N_NAMES] = {0};
	char name[16];

	for (uint32_t k = 0; k < N_PROFILES; k++) {
		struct sp_profile *from = profile("samples", NULL);
		uint32_t in = file(from, 1, "/libx", "AAAA");
		for (uint32_t i = 0; i < N_NAMES; i++) {
			uint32_t which = (i * (7 + k * 4) + k) % N_NAMES;
			(void)snprintf(name, sizeof(name), which % 3 == 0 ? "x+0x%x" : "f%u", which);
			struct sp_func func = {.name = string(from, name), .file = in, .is_range = which % 3 == 0};
			/* every other has a place, where the other profiles have another function */
			struct sp_frame f = {
			    .file = in, .offset = i % 2 == 0 ? 0 : i, .flags = i % 2 == 0 ? (i + 16) << 8 | 4 : 0};
			f.func = (uint32_t)sp_profile_add_func(from, &func);
			uint32_t frame = (uint32_t)sp_profile_add_frame(from, &f);
			struct sp_stack stack = {.n_frames = 1, .frames = &frame};
			int64_t value = i + 1;
			if (i % 2 == 1 && which % 3 == 0)
				continue; /* of a place, a range is a name that may give way */
			sums[which] += value;
			assert_int_equal(
			    sp_profile_add(from, 0, (uint32_t)sp_profile_add_stack(from, &stack), 0, &value), 0);
		}
		assert_int_equal(sp_profile_merge(into, from), 0);
		sp_profile_free(from);
	}
	for (uint32_t i = 0; i < sp_profile_n_rows(into); i++) {
		const struct sp_row *row = sp_profile_row(into, i);
		const struct sp_frame *f = sp_profile_frame(into, sp_profile_stack(into, row->user).frames[0]);
		const char *got = sp_profile_string(into, sp_profile_func(into, f->func)->name);
		uint32_t which = (uint32_t)(got[0] == 'x' ? strtoul(got + 4, NULL, 16) : strtoul(got + 1, NULL, 10));
		sums[which] -= row->values[0];
	}
	for (uint32_t i = 0; i < N_NAMES; i++)
		assert_int_equal(sums[i], 0);
	sp_profile_free(into);
}

static void memory_of_two_processes_stays_apart(void **state)
{
	struct sp_profile *into = profile("samples", NULL);

	for (uint32_t pid = 1; pid <= 2; pid++) {
		struct sp_profile *from = profile("samples", NULL);
		struct sp_process process = {.pid = pid, .start_ns = 1};
		struct sp_file anon = {.kind = SP_FILE_ANON, .tag = 1, .name = string(from, "[anon]")};
		anon.process = (uint32_t)sp_profile_add_process(from, &process);
		uint32_t in = (uint32_t)sp_profile_add_file(from, &anon);
		/* nonsense from outside: the executable is memory of the process itself */
		sp_profile_process(from, anon.process)->exe = in;
		add(from, in, 5, 1, 0);
		assert_int_equal(sp_profile_merge(into, from), 0);
		sp_profile_free(from);
	}
	assert_int_equal(sp_profile_n_rows(into), 2);
	assert_int_equal(sp_profile_process(into, file_of_row(into, 0)->process)->pid, 1);
	assert_int_equal(sp_profile_process(into, file_of_row(into, 1)->process)->pid, 2);
	sp_profile_free(into);
}

static uint32_t add_labelled(struct sp_profile *p, uint32_t frame, const char *name, const char *word)
{
	struct sp_label labels[] = {{.name = string(p, "bytes"), .number = 8, .unit = string(p, "kilobytes")},
				    {.name = string(p, name), .word = string(p, word)}};
	struct sp_key key = {.labels = (uint32_t)sp_profile_add_labels(p, labels, 2), .flags = SP_KEYF_LABELS_ARE_ALL};
	struct sp_stack stack = {.n_frames = 1, .frames = &frame};
	uint32_t user = (uint32_t)sp_profile_add_stack(p, &stack);

	assert_int_equal(sp_profile_add(p, (uint32_t)sp_profile_add_key(p, &key), user, 0, (int64_t[]){1, 2}), 0);
	return user;
}

static void labels_and_lines_go_along(void **state)
{
	struct sp_profile *from = profile("samples", "cpu"), *into = profile("samples", "cpu");
	struct sp_func func = {.name = string(from, "f"), .source = string(from, "f.c"), .source_line = 3};
	struct sp_frame frame = {.offset = 9, .line = 5, .flags = SP_FRAMEF_INLINED};
	size_t n;

	string(into, "other numbers");
	frame.func = (uint32_t)sp_profile_add_func(from, &func);
	add_labelled(from, (uint32_t)sp_profile_add_frame_variant(from, &frame, false), "a", "x");
	add_labelled(from, (uint32_t)sp_profile_add_frame_variant(from, &frame, false), "a", "y");
	assert_int_equal(sp_profile_merge(into, from), 0);
	assert_int_equal(sp_profile_merge(into, from), 0);
	assert_int_equal(sp_profile_n_rows(into), 2); /* apart by their labels, and each of them once */
	const struct sp_key *key = sp_profile_key(into, sp_profile_row(into, 1)->key);
	assert_int_equal(key->flags, SP_KEYF_LABELS_ARE_ALL);
	const struct sp_label *labels = sp_profile_labels(into, key->labels, &n);
	assert_int_equal(n, 2);
	size_t word = *sp_profile_string(into, labels[0].word) == 'y' ? 0 : 1;
	assert_string_equal(sp_profile_string(into, labels[word].name), "a");
	assert_string_equal(sp_profile_string(into, labels[word].word), "y");
	assert_string_equal(sp_profile_string(into, labels[1 - word].unit), "kilobytes");
	assert_int_equal(labels[1 - word].number, 8);
	assert_int_equal(sp_profile_n_frames(into), 2);
	const struct sp_frame *there = sp_profile_frame(into, 1);
	assert_int_equal(there->line, 5);
	assert_true((there->flags & SP_FRAMEF_INLINED) != 0);
	assert_string_equal(sp_profile_string(into, sp_profile_func(into, there->func)->source), "f.c");
	assert_int_equal(sp_profile_func(into, there->func)->source_line, 3);
	sp_profile_free(from);
	sp_profile_free(into);
}

static void the_copy_with_sources_tells_the_line(void **state)
{
	struct sp_profile *from = profile("samples", "cpu"), *into = profile("samples", "cpu");
	struct sp_func func = {.name = string(from, "f"), .file = file(from, 1, "/lib", "ID")};
	struct sp_frame frame = {.offset = 9, .file = func.file};
	uint32_t n;

	frame.func = (uint32_t)sp_profile_add_func(from, &func);
	n = (uint32_t)sp_profile_add_frame(from, &frame);
	add_labelled(from, n, "a", "x");
	assert_int_equal(sp_profile_merge(into, from), 0);
	func.source = string(from, "f.c");
	sp_profile_frame(from, n)->func = (uint32_t)sp_profile_add_func(from, &func);
	sp_profile_frame(from, n)->line = 7;
	assert_int_equal(sp_profile_merge(into, from), 0);
	assert_int_equal(sp_profile_n_frames(into), 2);
	const struct sp_frame *there = sp_profile_frame(into, 1);
	assert_int_equal(there->line, 7);
	assert_string_equal(sp_profile_string(into, sp_profile_func(into, there->func)->source), "f.c");
	sp_profile_free(from);
	sp_profile_free(into);
}

/* --- random profiles: what a row says in words is the same before and after --- */
enum { N_ROWS = 3000, N_FILES = 20, N_PROCESSES = 30, TEXT_BYTES = 8192 };

/* Everything is drawn from small ranges and named after its identity, so that two of these profiles overlap. */
static uint32_t random_frame(struct sp_profile *p, uint64_t tag_shift)
{
	uint64_t which = (uint64_t)random() % N_FILES, offset = (uint64_t)random() % 50;
	char name[32], id[8];

	(void)snprintf(name, sizeof(name), "/lib%u", (unsigned int)which);
	(void)snprintf(id, sizeof(id), "ID%02u", (unsigned int)which);
	uint32_t in = file(p, (which + tag_shift) % N_FILES, name, id);
	(void)snprintf(name, sizeof(name), "f%u_%u", (unsigned int)which, (unsigned int)offset);
	struct sp_func func = {.name = string(p, name), .linkage_name = string(p, name), .file = in, .start = offset};
	struct sp_frame frame = {.file = in, .offset = offset, .func = (uint32_t)sp_profile_add_func(p, &func)};
	frame.flags = (uint32_t)random() % 2;
	return (uint32_t)sp_profile_add_frame(p, &frame);
}

static uint32_t random_key(struct sp_profile *p)
{
	uint32_t pid = (uint32_t)random() % N_PROCESSES;
	char name[32];

	(void)snprintf(name, sizeof(name), "/bin/p%u", pid % 3);
	struct sp_process process = {.pid = pid, .start_ns = pid + 1, .exe = file(p, 1000 + pid % 3, name, "EXE")};
	process.comm = string(p, name);
	(void)snprintf(name, sizeof(name), "thread %u", (unsigned int)random() % 3);
	struct sp_key key = {.process = (uint32_t)sp_profile_add_process(p, &process), .comm = string(p, name)};
	key.recipe = string(p, "cpu");
	key.slice = (uint32_t)random() % 3;
	return (uint32_t)sp_profile_add_key(p, &key);
}

static void fill(struct sp_profile *p, uint64_t tag_shift)
{
	for (int i = 0; i < N_ROWS; i++) {
		uint32_t frames[6], n = (uint32_t)random() % SP_COUNT(frames);
		int64_t values[] = {random() % 5, random() % 1000};
		for (uint32_t k = 0; k < n; k++)
			frames[k] = random_frame(p, tag_shift);
		struct sp_stack user = {.n_frames = n, .frames = frames, .stack_class = (uint16_t)(random() % 4)};
		struct sp_stack in_kernel = {.n_frames = n / 3, .frames = frames};
		uint32_t key = random_key(p), u = (uint32_t)sp_profile_add_stack(p, &user);
		assert_int_equal(sp_profile_add(p, key, u, (uint32_t)sp_profile_add_stack(p, &in_kernel), values), 0);
	}
}

static void print_stack(FILE *out, const struct sp_profile *p, uint32_t number)
{
	struct sp_stack stack = sp_profile_stack(p, number);

	(void)fprintf(out, "|%u,%u", stack.stack_class, stack.reason);
	for (uint32_t i = 0; i < stack.n_frames; i++) {
		const struct sp_frame *f = sp_profile_frame(p, stack.frames[i]);
		const struct sp_func *func = sp_profile_func(p, f->func);
		const struct sp_file *in = sp_profile_file(p, f->file), *func_in = sp_profile_file(p, func->file);
		(void)fprintf(out, ";%s %s %.*s %s+%ju %ju/%u", sp_profile_string(p, func->name),
			      sp_profile_string(p, func_in->path), in->build_id_len, (const char *)in->build_id,
			      sp_profile_string(p, in->path), (uintmax_t)func->start, (uintmax_t)f->offset, f->flags);
	}
}

/* A row in words, without its values. */
static void print_row(char *text, const struct sp_profile *p, const struct sp_row *row)
{
	const struct sp_key *key = sp_profile_key(p, row->key);
	const struct sp_process *process = sp_profile_process(p, key->process);
	FILE *out = fmemopen(text, TEXT_BYTES, "w");

	assert_non_null(out);
	(void)fprintf(out, "%u:%u/%ju %s %s %s %s", key->slice, process->pid, (uintmax_t)process->start_ns,
		      sp_profile_string(p, process->comm), sp_profile_string(p, sp_profile_file(p, process->exe)->path),
		      sp_profile_string(p, key->comm), sp_profile_string(p, key->recipe));
	print_stack(out, p, row->user);
	print_stack(out, p, row->kernel);
	assert_int_equal(fclose(out), 0);
}

struct line {
	char *text;
	int64_t values[2];
};

static int compare_lines(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

static size_t lines_of(struct line *lines, const struct sp_profile *p)
{
	static char text[TEXT_BYTES];
	size_t n = sp_profile_n_rows(p);

	for (uint32_t i = 0; i < n; i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		print_row(text, p, row);
		lines[i] = (struct line){.text = strdup(text), .values = {row->values[0], row->values[1]}};
	}
	return n;
}

/* Sorts and adds up lines with one text: what merging must do, done on words. */
static size_t add_up(struct line *lines, size_t n)
{
	size_t kept = 0;

	qsort(lines, n, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && strcmp(lines[kept - 1].text, lines[i].text) == 0) {
			lines[kept - 1].values[0] += lines[i].values[0];
			lines[kept - 1].values[1] += lines[i].values[1];
			free(lines[i].text);
		} else {
			lines[kept++] = lines[i];
		}
	}
	return kept;
}

static void random_profiles_say_the_same(void **state)
{
	static struct line want[2 * N_ROWS], got[2 * N_ROWS];
	struct sp_profile *a = profile("samples", "cpu"), *b = profile("samples", "cpu");

	srandom(4);
	fill(a, 0);
	fill(b, 3); /* the same files under other tags, which mean other files in a */
	size_t n_want = lines_of(want, a);
	n_want = add_up(want, n_want + lines_of(want + n_want, b));
	assert_int_equal(sp_profile_merge(a, b), 0);
	size_t n_got = lines_of(got, a);
	assert_int_equal(n_got, n_want);
	assert_int_equal(add_up(got, n_got), n_got); /* no row twice */
	for (size_t i = 0; i < n_want; i++) {
		assert_string_equal(got[i].text, want[i].text);
		assert_memory_equal(got[i].values, want[i].values, sizeof(want[i].values));
		free(got[i].text);
		free(want[i].text);
	}
	sp_profile_free(a);
	sp_profile_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(values_go_by_name),
	    cmocka_unit_test(an_empty_profile_takes_types_and_info_over),
	    cmocka_unit_test(one_tag_for_two_files_is_two_files),
	    cmocka_unit_test(one_build_id_is_one_file),
	    cmocka_unit_test(names_added_late_are_filled_in),
	    cmocka_unit_test(one_file_has_one_name),
	    cmocka_unit_test(names_without_a_place_are_kept),
	    cmocka_unit_test(labels_and_lines_go_along),
	    cmocka_unit_test(the_copy_with_sources_tells_the_line),
	    cmocka_unit_test(memory_of_two_processes_stays_apart),
	    cmocka_unit_test(random_profiles_say_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

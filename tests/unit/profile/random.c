/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "random.h"
#include "base/intern.h"
#include "base/mem.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_FILES = 11, N_FUNCS = 60, N_FRAMES = 120, N_KEYS = 12 };

struct maker {
	struct sp_profile *p;
	uint32_t files[N_FILES], funcs[N_FUNCS], frames[N_FRAMES], keys[N_KEYS];
};

static uint32_t below(uint32_t n)
{
	return (uint32_t)random() % n;
}

static uint32_t ok(int64_t number)
{
	assert_true(number >= 0);
	return (uint32_t)number;
}

static uint32_t string(struct maker *m, const char *format, uint32_t number)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "%s%u", format, number);
	return ok(sp_profile_add_string(m->p, text));
}

/* 0, 1: none. 2, 3, 4: kernel and modules. 5, 6, 7: copies of one library. 8: no build id. 9: its name again. 10: JIT
 */
static void make_files(struct maker *m)
{
	for (uint32_t i = 2; i < N_FILES; i++) {
		struct sp_file f = {.kind = i < 5    ? SP_FILE_KERNEL
					    : i < 10 ? SP_FILE_ELF
						     : SP_FILE_ANON,
				    .tag = i,
				    .name = string(m, "lib", i == 9 ? 8 : i),
				    .path = string(m, "/lib/", i)};
		f.build_id_len = i >= 5 && i < 8 ? 2 : 0;
		f.build_id[0] = (uint8_t)(i < 7 ? 5 : 7);
		m->files[i] = ok(sp_profile_add_file(m->p, &f));
	}
}

static void make_funcs(struct maker *m)
{
	for (uint32_t i = 1; i < N_FUNCS; i++) {
		struct sp_func f = {.file = m->files[below(N_FILES)], .start = below(5)};
		f.name = i % 17 == 0 ? 0 : string(m, "f", below(8));
		m->funcs[i] = ok(sp_profile_add_func(m->p, &f));
	}
}

/* A frame's function lies in its file, but for the kernel's; 0 where that leaves none, or the file is not known. */
static void make_frames(struct maker *m)
{
	for (uint32_t i = 0; i < N_FRAMES; i++) {
		uint32_t func = below(4) == 0 ? 0 : m->funcs[below(N_FUNCS)], file = sp_profile_func(m->p, func)->file;
		struct sp_frame f = {.func = func, .offset = i, .flags = below(2)};
		f.file = func == 0 ? m->files[below(N_FILES)] : below(5) == 0 ? 0 : file;
		if (sp_profile_file(m->p, f.file)->kind == SP_FILE_KERNEL)
			f.file = m->files[2];
		m->frames[i] = ok(sp_profile_add_frame(m->p, &f));
	}
}

static void make_keys(struct maker *m)
{
	for (uint32_t i = 1; i < N_KEYS; i++) {
		struct sp_process process = {.pid = 1 + i % 3, .comm = string(m, "p", i % 3)};
		struct sp_key key = {.process = ok(sp_profile_add_process(m->p, &process)), .slice = i / 3};
		key.comm = string(m, "c", i % 2);
		m->keys[i] = ok(sp_profile_add_key(m->p, &key));
	}
}

static uint32_t make_stack(struct maker *m, bool kernel)
{
	uint32_t frames[RANDOM_DEPTH], n = below(kernel ? 4 : RANDOM_DEPTH), alphabet = 1 + below(N_FRAMES);

	for (uint32_t i = 0; i < n; i++) {
		frames[i] = i > 0 && below(3) == 0 ? frames[i - 1] : m->frames[below(alphabet)];
	}
	struct sp_stack s = {.n_frames = n, .frames = frames, .stack_class = (uint16_t)below(4)};
	return below(6) == 0 ? 0 : ok(sp_profile_add_stack(m->p, &s));
}

struct sp_profile *random_profile(unsigned int seed)
{
	struct maker m = {0};

	srandom(seed);
	assert_int_equal(sp_profile_new(&m.p), 0);
	assert_int_equal(sp_profile_add_value_type(m.p, "samples", "count"), 0);
	assert_int_equal(sp_profile_add_value_type(m.p, "cpu", "nanoseconds"), 0);
	make_files(&m);
	make_funcs(&m);
	make_frames(&m);
	make_keys(&m);
	for (uint32_t i = 0; i < RANDOM_ROWS; i++) {
		int64_t values[] = {below(4), below(1000)};
		uint32_t user = make_stack(&m, false), kernel = below(2) ? make_stack(&m, true) : 0;
		assert_int_equal(sp_profile_add(m.p, m.keys[below(N_KEYS)], user, kernel, values), 0);
	}
	return m.p;
}

/* --- words --- */
void random_file_words(const struct sp_profile *p, uint32_t file, char ret_words[RANDOM_WORDS])
{
	const struct sp_file *f = sp_profile_file(p, file);

	if (file == 0)
		ret_words[0] = '\0';
	else if (f->kind == SP_FILE_KERNEL)
		(void)snprintf(ret_words, RANDOM_WORDS, "K");
	else if (f->build_id_len > 0)
		(void)snprintf(ret_words, RANDOM_WORDS, "id%u", f->build_id[0]);
	else
		(void)snprintf(ret_words, RANDOM_WORDS, "%s", sp_profile_string(p, f->path));
}

void random_library_words(const struct sp_profile *p, uint32_t frame, char ret_words[RANDOM_WORDS])
{
	const struct sp_frame *f = sp_profile_frame(p, frame);

	random_file_words(p, f->file != 0 ? f->file : sp_profile_func(p, f->func)->file, ret_words);
}

void random_func_words(const struct sp_profile *p, uint32_t func, char ret_words[2 * RANDOM_WORDS])
{
	const struct sp_func *f = sp_profile_func(p, func);
	bool in_kernel = sp_profile_file(p, f->file)->kind == SP_FILE_KERNEL;
	const char *name = sp_profile_string(p, f->name);
	char file[RANDOM_WORDS];

	random_file_words(p, f->file, file);
	(void)snprintf(ret_words, 2 * RANDOM_WORDS, "%s%s%s%s", name, *name ? "@" : "", *name ? file : "",
		       *name && in_kernel ? sp_profile_string(p, sp_profile_file(p, f->file)->path) : "");
}

uint32_t random_frames(const struct sp_profile *p, const struct sp_row *row, uint32_t ret_frames[2 * RANDOM_DEPTH])
{
	struct sp_stack kernel = sp_profile_stack(p, row->kernel), user = sp_profile_stack(p, row->user);
	uint32_t n = 0;

	for (uint32_t i = 0; i < kernel.n_frames; i++)
		ret_frames[n++] = kernel.frames[i];
	for (uint32_t i = 0; i < user.n_frames; i++)
		ret_frames[n++] = user.frames[i];
	return n;
}

/* --- truths --- */
struct truth truth_new(void)
{
	struct truth t = {0};

	assert_int_equal(sp_intern_new(&t.words), 0);
	return t;
}

struct sum *truth_at(struct truth *t, const char *words)
{
	uint32_t n = ok(sp_intern_add(t->words, words, strlen(words)));

	assert_int_equal(sp_grow(&t->sums, &t->capacity, (size_t)n + 1, sizeof(*t->sums)), 0);
	return &t->sums[n];
}

struct sum truth_see(struct truth *t, const char *words)
{
	int64_t n = sp_intern_find(t->words, words, strlen(words));

	if (n < 0)
		fail_msg("%s is not there", words);
	if (t->sums[n].seen)
		fail_msg("%s is there twice", words);
	t->sums[n].seen = true;
	return t->sums[n];
}

void truth_all_seen(const struct truth *t)
{
	for (uint32_t i = 0; i < sp_intern_count(t->words); i++)
		if (!t->sums[i].seen)
			fail_msg("%s is missing", (const char *)sp_intern_get(t->words, i, NULL));
}

void truth_free(struct truth *t)
{
	sp_intern_free(t->words);
	free(t->sums);
}

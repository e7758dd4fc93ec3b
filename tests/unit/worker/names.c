/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names from a parser process: they equal those of direct calls, and false ones are not believed. The parser is
 * compiled into this test with hooks, so that a file whose text is `name` and a digit makes it tell a lie.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "elf/elf.h"
#include "tool.h"
#include "worker/jobs_names.h"
#include <fcntl.h>
#include <sys/mman.h>

static int hooked_open(int fd, struct sp_elf **ret_elf);
static int hooked_names(struct sp_elf *e, struct sp_names_more *more, sp_range_walk *walk, const uint64_t *offsets,
			size_t n, struct sp_name *names);
#define sp_elf_open_fd hooked_open
#define sp_names_find_with hooked_names
#include <worker/parser.c> /* not the library's: this one has the hooks */
#undef sp_elf_open_fd
#undef sp_names_find_with

static char word[8]; /* the text of the file in work, when it is not an ELF file */

static int hooked_open(int fd, struct sp_elf **ret_elf)
{
	ssize_t n = pread(fd, word, sizeof(word) - 1, 0);
	word[n < 0 ? 0 : n] = 0;
	if (strncmp(word, "name", 4) == 0)
		return 0; /* with *ret_elf NULL: the hook of the next step asks nothing of it */
	return sp_elf_open_fd(fd, ret_elf);
}

/* Answers to one question: the first is true, the others are not. */
static const struct sp_name lies[] = {
    {.name = (char *)"f", .linkage_name = (char *)"g", .start = 0x1000, .size = 0x20},
    {.start = 0x1000, .size = 0x10},                                      /* ends before it */
    {.start = 0x1011, .size = 0x10},                                      /* begins behind it */
    {.start = 0x1000, .size = UINT64_MAX},                                /* wraps around */
    {.start = 0x1000},                                                    /* nothing, but elsewhere */
    {.start = 0x1010, .is_gap = true},                                    /* a gap of nothing */
    {.name = (char *)"f", .start = 0x1010},                               /* a name of nothing */
    {.name = (char *)"f", .start = 0x1000, .size = 0x20, .is_gap = true}, /* a gap with a name */
    {.linkage_name = (char *)"f", .start = 0x1000, .size = 0x20},         /* half a name */
};

static int hooked_names(struct sp_elf *e, struct sp_names_more *more, sp_range_walk *walk, const uint64_t *offsets,
			size_t n, struct sp_name *names)
{
	if (strncmp(word, "name", 4) != 0)
		return sp_names_find_with(e, more, walk, offsets, n, names);
	const struct sp_name *m = &lies[word[4] - '0'];
	*names = *m;
	names->name = m->name ? strdup(m->name) : NULL;
	names->linkage_name = m->linkage_name ? strdup(m->linkage_name) : NULL;
	return 0;
}

struct answer {
	int n, r;
	struct sp_name *names;
	size_t n_names;
};

static void named(void *arg, int r, struct sp_name *names, size_t n, const char *warning)
{
	struct answer *a = arg;
	assert_null(warning);
	*a = (struct answer){a->n + 1, r, names, n};
}

static void answer_done(struct answer *a)
{
	if (a->names)
		sp_names_done(a->names, a->n_names);
	free(a->names);
}

static struct sp_workers *workers(void)
{
	struct sp_workers *w;
	struct sp_workers_options o = {.n_parsers = 1};
	assert_int_equal(sp_workers_new(&o, &w), 0);
	return w;
}

static const char *const libraries[] = {"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libz.so.1",
					"/lib/x86_64-linux-gnu/libelf.so.1", "/lib64/ld-linux-x86-64.so.2",
					"/proc/self/exe"};

struct offsets {
	uint64_t at[4096];
	size_t n;
};

static int add_offset(void *arg, uint64_t start, uint64_t size)
{
	struct offsets *o = arg;
	o->at[o->n++] = start + size / 2;
	if (o->n < SP_COUNT(o->at))
		o->at[o->n++] = start + size; /* often between functions */
	return o->n == SP_COUNT(o->at);
}

static void same_text(const char *a, const char *b)
{
	assert_int_equal(!a, !b);
	if (a)
		assert_string_equal(a, b);
}

/* What the parser answers is what a direct call does: how many gaps. */
static size_t as_directly(struct sp_workers *w, int fd, const struct offsets *o, const struct sp_name *direct)
{
	struct answer a = {0};
	size_t n_gaps = 0;
	assert_int_equal(sp_workers_names(w, fd, -1, o->at, o->n, named, &a), 0);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	assert_int_equal(a.r, 0);
	assert_int_equal(a.n_names, o->n);
	for (size_t k = 0; k < o->n; k++) {
		same_text(a.names[k].name, direct[k].name);
		same_text(a.names[k].linkage_name, direct[k].linkage_name);
		assert_int_equal(a.names[k].start, direct[k].start);
		assert_int_equal(a.names[k].size, direct[k].size);
		assert_int_equal(a.names[k].vaddr, direct[k].vaddr);
		assert_int_equal(a.names[k].is_gap, direct[k].is_gap);
		n_gaps += a.names[k].is_gap;
	}
	answer_done(&a);
	return n_gaps;
}

static void only_covered(struct offsets *o, struct sp_name *direct)
{
	size_t n = 0;
	for (size_t i = 0; i < o->n; i++) {
		struct sp_name m = direct[i];
		if (m.is_gap || !m.size) {
			sp_names_done(&direct[i], 1);
			continue;
		}
		direct[i] = (struct sp_name){0};
		direct[n] = m;
		o->at[n++] = o->at[i];
	}
	o->n = n;
}

static void test_names(void **state)
{
	struct sp_workers *w = workers();
	static struct offsets o;
	static struct sp_name direct[SP_COUNT(o.at)];
	size_t n_gaps = 0;
	for (size_t i = 0; i < SP_COUNT(libraries); i++) {
		int fd = open(libraries[i], O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		struct sp_elf *e;
		o.n = 0;
		assert_int_equal(sp_elf_open_fd(fd, &e), 0);
		sp_fde_walk(e, add_offset, &o);
		assert_true(o.n > 10);
		qsort(o.at, o.n, sizeof(o.at[0]), sp_compare_u64);
		memset(direct, 0, sizeof(direct));
		assert_int_equal(sp_names_find(e, sp_function_walk, o.at, o.n, direct), 0);
		n_gaps += as_directly(w, fd, &o, direct);
		only_covered(&o, direct); /* of these FDEs tell all */
		assert_true(o.n > 10);
		assert_int_equal(as_directly(w, fd, &o, direct), 0);
		sp_names_done(direct, o.n);
		sp_elf_close(e);
		close(fd);
	}
	assert_true(n_gaps > 10);
	sp_workers_free(w);
}

static void test_false_names(void **state)
{
	struct sp_workers *w = workers();
	const uint64_t offset = 0x1010;
	for (size_t i = 0; i < SP_COUNT(lies); i++) {
		struct answer a = {0};
		char text[] = {'n', 'a', 'm', 'e', (char)('0' + i), 0};
		int fd = memfd_create("test", MFD_CLOEXEC);
		assert_int_equal(pwrite(fd, text, 5, 0), 5);
		assert_int_equal(sp_workers_names(w, fd, -1, &offset, 1, named, &a), 0);
		assert_int_equal(sp_workers_wait(w, 60000), 0);
		assert_int_equal(a.n, 1);
		assert_int_equal(a.r, i ? -EBADMSG : 0);
		assert_string_equal(i ? "" : a.names[0].linkage_name, i ? "" : "g");
		answer_done(&a);
		close(fd);
	}
	sp_workers_free(w);
}

struct counted {
	int n, r;
	struct sp_symbol_counts counts;
};

static void counted(void *arg, int r, const struct sp_symbol_counts *counts)
{
	struct counted *a = arg;
	a->n++;
	a->r = r;
	assert_true((r < 0) == !counts);
	if (counts)
		a->counts = *counts;
}

static void test_counts(void **state)
{
	struct sp_workers *w = workers();
	struct counted a = {0};
	struct sp_symbol_counts own;
	struct sp_elf *e;
	int fd = open("/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY | O_CLOEXEC);
	int none = memfd_create("test", MFD_CLOEXEC);
	assert_int_equal(sp_elf_open_fd(fd, &e), 0);
	assert_int_equal(sp_symbols_count(e, sp_function_walk, &own), 0);
	sp_elf_close(e);
	assert_int_equal(sp_workers_count(w, fd, counted, &a), 0);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	assert_int_equal(a.r, 0);
	assert_true(own.n_dynsym > 1000 && own.n_ranges > 1000);
	assert_memory_equal(&a.counts, &own, sizeof(own));
	assert_int_equal(sp_workers_count(w, none, counted, &a), 0);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	assert_int_equal(a.n, 2);
	assert_int_equal(a.r, -ENOEXEC);
	close(fd);
	close(none);
	sp_workers_free(w);
}

int main(int argc, char **argv)
{
	sp_worker_main(argc, argv);
	const struct CMUnitTest tests[] = {CLEAN_TEST(test_names), CLEAN_TEST(test_false_names),
					   CLEAN_TEST(test_counts)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

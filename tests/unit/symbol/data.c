/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variables by address: each name is one that readelf has there, and the variable that begins last. */
#include "symbol/data.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "elf/elf.h"
#include "test.h"
#include "tool.h"
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

enum { MAX = 20000 };

struct variable {
	uint64_t start, size;
	char name[512];
};
struct file {
	struct variable *all; /* as readelf tells them */
	size_t n;
	uint64_t asked[3 * MAX];
	size_t n_asked;
	struct sp_name names[3 * MAX];
};

/* Num: Value Size OBJECT Bind Vis Ndx Name[@VERSION] */
static void line_take(struct file *f, const char *line)
{
	struct variable *v = &f->all[f->n];
	char size[32], section[16];

	if (f->n == MAX || sscanf(line, " %*d: %" SCNx64 " %31s OBJECT %*s %*s %15s %511[^@ \n]", &v->start, size,
				  section, v->name) != 4)
		return;
	v->size = strtoull(size, NULL, 0); /* large ones are hexadecimal */
	if (v->size && section[0] >= '0' && section[0] <= '9')
		f->n++;
}

static struct file *file_new(const char *path, const char *table)
{
	struct file *f = calloc(1, sizeof(*f));
	char line[2048];
	FILE *text;

	assert_non_null(f);
	f->all = calloc(MAX + 1, sizeof(*f->all));
	assert_non_null(f->all);
	text = TOOL_RUN(NULL, "readelf", table, "-W", path);
	while (text && fgets(line, sizeof(line), text))
		line_take(f, line);
	if (text)
		fclose(text);
	for (size_t i = 0; i < f->n; i++) {
		f->asked[f->n_asked++] = f->all[i].start;
		f->asked[f->n_asked++] = f->all[i].start + f->all[i].size - 1;
		f->asked[f->n_asked++] = f->all[i].start + f->all[i].size;
	}
	qsort(f->asked, f->n_asked, sizeof(*f->asked), sp_compare_u64);
	return f;
}

static void file_free(struct file *f)
{
	sp_names_done(f->names, f->n_asked);
	free(f->all);
	free(f);
}

static bool covers(const struct variable *v, uint64_t vaddr)
{
	return vaddr >= v->start && vaddr - v->start < v->size;
}

/* An answer is one of those that begin last; of which one, names.h tells, and its own test. */
static void answer_check(const struct file *f, uint64_t vaddr, const struct sp_name *name)
{
	const char *linkage = name->linkage_name ? name->linkage_name : name->name;
	const struct variable *last = NULL;
	bool is_one = false;

	for (size_t i = 0; i < f->n; i++)
		if (covers(&f->all[i], vaddr) && (!last || f->all[i].start > last->start))
			last = &f->all[i];
	assert_int_equal(!last, !name->name);
	if (!last) {
		assert_int_equal(name->start, vaddr);
		assert_int_equal(name->size, 0);
		return;
	}
	assert_int_equal(name->start, last->start);
	assert_int_equal(name->vaddr, last->start);
	assert_true(vaddr - name->start < name->size);
	for (size_t i = 0; i < f->n && !is_one; i++)
		is_one =
		    covers(&f->all[i], vaddr) && f->all[i].start == last->start && !strcmp(f->all[i].name, linkage);
	if (!is_one)
		fail_msg("%#" PRIx64 ": %s", vaddr, linkage);
}

/* The descriptor stays open until the test's process ends. */
static struct sp_elf *elf_of(const char *path)
{
	struct sp_elf *e;

	assert_int_equal(sp_elf_open_fd(open(path, O_RDONLY | O_CLOEXEC), &e), 0);
	return e;
}

static void file_check(struct file *f, const char *path)
{
	struct sp_elf *e;

	e = elf_of(path);
	assert_int_equal(sp_data_names_find(e, NULL, f->asked, f->n_asked, f->names), 0);
	for (size_t i = 0; i < f->n_asked; i++)
		answer_check(f, f->asked[i], &f->names[i]);
	sp_elf_close(e);
}

static void names_are_readelfs(void **state)
{
	static const struct {
		const char *path, *table;
		size_t least;
	} files[] = {{"/proc/self/exe", "--syms", 10},
		     {SP_BUILD_ROOT "/soprof", "--syms", 300},
		     {"/lib/x86_64-linux-gnu/libc.so.6", "--dyn-syms", 30}};

	for (size_t i = 0; i < SP_COUNT(files); i++) {
		char path[4096];
		ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
		struct file *f;
		bool is_known;

		assert_true(n > 0);
		path[n] = '\0'; /* readelf is another process */
		if (i)
			snprintf(path, sizeof(path), "%s", files[i].path);
		f = file_new(path, files[i].table);
		is_known = f->n != 0;
		if (is_known) {
			assert_true(f->n >= files[i].least);
			file_check(f, path);
		}
		file_free(f);
		if (!is_known) {
			print_message("skip: no readelf, or no symbols in %s\n", path);
			skip();
		}
	}
}

/* The program, as the debug file of another: its names are found there. */
static void debug_file_has_names(void **state)
{
	static int here; /* a variable of this program, with a local symbol */
	struct sp_name name = {0}, none = {0};
	struct sp_elf *own, *libc;
	struct file *f;
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	uint64_t vaddr = 0;

	here++;
	path[SP_MAX(n, 0)] = '\0';
	f = file_new(path, "--syms");
	for (size_t i = 0; i < f->n; i++)
		if (!strncmp(f->all[i].name, "here.", 5))
			vaddr = f->all[i].start;
	file_free(f);
	if (!vaddr) {
		print_message("skip: no readelf, or no symbol\n");
		skip();
	}
	own = elf_of(path);
	libc = elf_of("/lib64/ld-linux-x86-64.so.2");
	assert_int_equal(sp_data_names_find(libc, own, &vaddr, 1, &name), 0);
	assert_non_null(name.name);
	assert_memory_equal(name.name, "here.", 5);
	sp_names_done(&name, 1);
	/* beyond all */
	vaddr = UINT64_MAX;
	assert_int_equal(sp_data_names_find(libc, own, &vaddr, 1, &none), 0);
	assert_null(none.name);
	assert_int_equal(none.start, UINT64_MAX);
	sp_elf_close(own);
	sp_elf_close(libc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_are_readelfs),
	    cmocka_unit_test(debug_file_has_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

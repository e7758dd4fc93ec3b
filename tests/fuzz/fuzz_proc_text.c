/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_proc_text.c: any bytes as text that the kernel or dpkg wrote. The first byte says which: a line of
 * /proc/PID/maps, of mountinfo, /proc/kallsyms, dpkg's status, lists and diversions (with \xff between), dpkg's log,
 * /proc/PID/cgroup.
 *
 * A line of maps or mountinfo says what scanf(3) finds in it; a kernel address lies in the function that it is named
 * by, and so it does in the spans of the same text, which ascend; what is said of a package stands in the text; a
 * cgroup's path leads nowhere but below the top.
 */
#include "../../src/proc/cgroup.c"
#include "base/error.h"
#include "directory.h"
#include "proc/dpkg_log.h"
#include "proc/maps.h"
#include "proc/mountinfo.h"
#include "proc/package.h"
#include "symbol/priv.h"
#include "symbol/span.h"

#include <sys/mman.h>
#include <sys/stat.h>

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

enum { N_ADDRESSES = 8 };

static char *text_of(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	require(text);
	return text;
}

static void read_maps(const uint8_t *data, size_t size)
{
	char *text = text_of(data, size), *copy = strdup(text);
	struct sp_maps_line l;
	unsigned long start = 0, end = 0;

	if (sp_maps_parse(text, &l)) {
		require(l.start <= l.end && l.path >= text && l.path + strlen(l.path) <= text + strlen(copy));
		require(sscanf(copy, "%lx-%lx", &start, &end) == 2 && start == l.start && end == l.end);
	}
	free(copy);
	free(text);
}

/* scanf(3) takes any white space for a space: then it reads other fields. */
static bool has_odd_space(const char *text)
{
	return *text == ' ' || strstr(text, "  ") || strpbrk(text, "\t\n\v\f\r");
}

static void compare_mount(const char *text, const struct sp_mount_line *m)
{
	unsigned long id, major_dev, minor_dev;
	char *root = NULL, *point = NULL;

	require(sscanf(text, "%lu %*u %lu:%lu %ms %ms", &id, &major_dev, &minor_dev, &root, &point) == 5);
	require(m->id == id && m->dev == (uint32_t)(major_dev << 20 | minor_dev) && strcmp(m->root, root) == 0);
	require(strchr(point, '\\') ? strlen(m->point) <= strlen(point) : strcmp(m->point, point) == 0);
	free(root);
	free(point);
}

static void read_mountinfo(const uint8_t *data, size_t size)
{
	char *text = text_of(data, size), *copy = strdup(text);
	struct sp_mount_line m = {0};

	if (sp_mountinfo_parse(text, &m)) {
		require(strlen(m.point) <= size && strlen(m.type) <= size && (!m.options || strlen(m.options) <= size));
		require(strncmp(strstr(copy, " - ") + 3, m.type, strlen(m.type)) == 0);
		require(strlen(below_mount(copy, m.point)) <= strlen(copy));
		if (!has_odd_space(copy))
			compare_mount(copy, &m);
	}
	free(copy);
	free(text);
}

/* --- cgroup --- */
static void make_directories(const char *const *names, size_t n)
{
	char path[128];

	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", fuzz_directory(), names[i]);
		require(mkdir(path, 0700) == 0 || errno == EEXIST);
	}
}

/* Where a directory that was opened is; what a link leads to may be read without following it. */
static void check_below(int fd, uint32_t level, const char *top)
{
	char link[64], at[256];
	ssize_t n;
	uint32_t n_slashes = 0;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, at, sizeof(at) - 1);
	require(n > 0);
	at[n] = '\0';
	require(strncmp(at, top, strlen(top)) == 0);
	for (const char *c = at + strlen(top); *c; c++)
		n_slashes += *c == '/';
	require(n_slashes == level);
}

static void read_cgroup(const uint8_t *data, size_t size)
{
	static const char *const made[] = {"top", "top/a", "top/a/b", "top/a/b/c"};
	char *text = text_of(data, size), path[PATH_BYTES], top_path[128];
	uint32_t level;
	int top, fd = -1;

	make_directories(made, SP_COUNT(made));
	snprintf(top_path, sizeof(top_path), "%s/top", fuzz_directory());
	top = open(top_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	require(top >= 0);
	if (cgroup_take_path(text, path, sizeof(path)) == 0) {
		require(*path == '/' && strlen(path) <= size && !strchr(path, '\n'));
		if (walk_down(top, path, &fd, &level) == 0) {
			check_below(fd, level, top_path);
			close(fd);
		}
	}
	close(top);
	free(text);
}

/* --- kallsyms --- */
static uint64_t last_at;

static int check_span(void *arg, const struct sp_span *span)
{
	(void)arg;
	require(span->at >= last_at && (span->size == 0 || span->at - span->start < span->size));
	last_at = span->at;
	return 0;
}

static void read_kallsyms(const uint8_t *data, size_t size)
{
	struct sp_kernel_symbol names[N_ADDRESSES] = {0};
	FILE *f = fmemopen((void *)data, size, "r");
	int fd = memfd_create("kallsyms", MFD_CLOEXEC), r;

	require(f && fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
	for (size_t i = 0; i < N_ADDRESSES; i++)
		names[i].address = 0xffffffff81000000 + (i << 4 * i);
	r = sp_kallsyms_find(f, names, N_ADDRESSES);
	require(r == 0 || r == -EPERM);
	for (size_t i = 0; i < N_ADDRESSES && r == 0; i++)
		if (names[i].name)
			require(names[i].address >= names[i].start &&
				names[i].address - names[i].start < names[i].size);
	sp_kallsyms_done(names, N_ADDRESSES);
	last_at = 0;
	r = sp_kallsyms_walk(fd, check_span, NULL);
	require(r == 0 || r == -EPERM || r == -ENODATA);
	close(fd);
	fclose(f);
}

/* --- dpkg --- */
static void stands_in(const uint8_t *data, size_t size, const char *word)
{
	require(!*word || memmem(data, size, word, strlen(word)));
}

static void read_packages(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"status", "info/libc6:amd64.list", "diversions"},
				 *const paths[] = {"/usr/lib/x86_64-linux-gnu/libc.so.6", "/bin/sh", "/lib/a"};
	struct sp_packages *p = NULL;
	const uint8_t *at = data, *end_of_data = data + size;

	make_directories((const char *const[]){"info"}, 1);
	for (size_t i = 0; i < SP_COUNT(names); i++) {
		const uint8_t *to = at < end_of_data ? memchr(at, 0xff, (size_t)(end_of_data - at)) : NULL;
		if (!to)
			to = end_of_data;
		fuzz_directory_write(names[i], at, (size_t)(to - at));
		at = to < end_of_data ? to + 1 : to;
	}
	if (sp_packages_find(fuzz_directory(), paths, SP_COUNT(paths), &p) < 0)
		return;
	for (size_t i = 0; i < SP_COUNT(paths); i++) {
		struct sp_package found = sp_packages_get(p, i);
		/* of a package without a stanza the name of its list is told */
		if (strcmp(found.name, "libc6:amd64") != 0)
			stands_in(data, size, found.name);
		stands_in(data, size, found.version);
		stands_in(data, size, found.arch);
	}
	sp_packages_free(p);
}

static void read_dpkg_log(const uint8_t *data, size_t size)
{
	char path[128], version[SP_DPKG_VERSION_BYTES] = "";
	/* 2026-01-02 03:04:05 */
	const uint64_t at_ns = 1767323045 * UINT64_C(1000000000);

	fuzz_directory_write("log", data, size);
	snprintf(path, sizeof(path), "%s/log", fuzz_directory());
	if (sp_dpkg_log_replaced(path, "libc6", "amd64", at_ns, version) == 0)
		stands_in(data, size, version);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	static void (*const readers[])(const uint8_t *data, size_t size) = {
	    read_maps, read_mountinfo, read_kallsyms, read_packages, read_dpkg_log, read_cgroup};

	if (size < 2)
		return 0;
	readers[data[0] % SP_COUNT(readers)](data + 1, size - 1);
	sp_error_clear();
	return 0;
}

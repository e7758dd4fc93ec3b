/* SPDX-License-Identifier: GPL-2.0-or-later */
/* object.c: see object.h. */
#include "cmd/report/object.h"

#include "base/error.h"
#include "base/machine.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "naming/naming.h"
#include "profile/profile.h"
#include "read/read.h"
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_MASK 4095ULL

/* --- what a file is --- */
static void segments_fill(const struct sp_elf *e, struct sp_read_object *o)
{
	for (size_t i = 0; i < sp_elf_n_segments(e) && o->n_segments < SP_READ_MAX_SEGMENTS; i++) {
		const struct sp_elf_segment *s = sp_elf_segment(e, i);

		if (s->executable)
			o->segments[o->n_segments++] = (struct sp_read_segment){s->vaddr, s->offset, s->mem_size};
	}
}

static int fill(int fd, const char *path, struct sp_read_object *o)
{
	SP_FREE char *real = realpath(path, NULL), *soname = NULL;
	const char *slash;
	struct sp_elf *e;
	int r = real ? sp_elf_open_fd(fd, &e) : -errno;

	if (r < 0)
		return sp_fail(r, "%s", path);
	segments_fill(e, o);
	r = sp_elf_build_id(e, o->build_id, sizeof(o->build_id));
	o->build_id_len = r > 0 ? (size_t)r : 0;
	slash = strrchr(real, '/');
	snprintf(o->path, sizeof(o->path), "%s", real);
	if (sp_elf_soname(e, &soname) < 0)
		soname = NULL;
	snprintf(o->name, sizeof(o->name), "%s", soname ? soname : slash + 1);
	sp_elf_close(e);
	sp_error_clear();
	return 0;
}

static int look_at(const char *path, struct sp_read_object *ret)
{
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	*ret = (struct sp_read_object){0};
	if (fd < 0 || fstat(fd, &st))
		return sp_fail(-errno, "open %s", path);
	if (!S_ISREG(st.st_mode))
		return sp_fail_said(-ENOEXEC, "%s is no file", path);
	return fill(fd, path, ret);
}

/* Of its code, in whole pages, as ld.so reckons when it sets up its file. */
static void range_of(const struct sp_read_object *o, uint64_t *ret_low, uint64_t *ret_high)
{
	*ret_low = UINT64_MAX;
	*ret_high = 0;
	for (size_t i = 0; i < o->n_segments; i++) {
		*ret_low = SP_MIN(*ret_low, o->segments[i].vaddr & ~PAGE_MASK);
		*ret_high = SP_MAX(*ret_high, (o->segments[i].vaddr + o->segments[i].size + PAGE_MASK) & ~PAGE_MASK);
	}
}

/* --- finding it --- */
static bool try_directory(const char *dir, size_t len, const char *library, uint64_t low, uint64_t high,
			  struct sp_read_object *ret)
{
	SP_FREE char *path = NULL;
	uint64_t own_low, own_high;

	if (!len || asprintf(&path, "%.*s/%s", (int)len, dir, library) < 0)
		return false;
	if (look_at(path, ret) < 0) {
		sp_error_clear();
		return false;
	}
	range_of(ret, &own_low, &own_high);
	return own_low == low && own_high == high;
}

static bool search(const char *library, uint64_t low, uint64_t high, struct sp_read_object *ret)
{
	static const char usual[] =
	    "/lib/" SP_MACHINE_LIBRARIES ":/usr/lib/" SP_MACHINE_LIBRARIES ":/lib64:/usr/lib64:/usr/local/lib:"
	    "/lib:/usr/lib";
	const char *own = getenv("LD_LIBRARY_PATH"), *const paths[] = {own ? own : "", usual};

	if (!*library || strchr(library, '/'))
		return false;
	for (size_t i = 0; i < SP_COUNT(paths); i++)
		for (const char *at = paths[i]; *at; at += strcspn(at, ":"), at += *at == ':')
			if (try_directory(at, strcspn(at, ":"), library, low, high, ret))
				return true;
	return false;
}

static int take_given(const char *path, const char *library, uint64_t low, uint64_t high, struct sp_read_object *ret)
{
	uint64_t own_low, own_high;
	int r = look_at(path, ret);

	if (r < 0)
		return sp_fail(r, "--object");
	range_of(ret, &own_low, &own_high);
	if (library && (own_low != low || own_high != high))
		return sp_fail_said(-EINVAL,
				    "--object %s is not the %s that was profiled: its code lies from 0x%" PRIx64
				    " to 0x%" PRIx64 ", that one's from 0x%" PRIx64 " to 0x%" PRIx64,
				    path, library, own_low, own_high, low, high);
	return 1;
}

int sp_object_find(void *object, const char *library, uint64_t low, uint64_t high, struct sp_read_object *ret)
{
	struct sp_profiled_file *o = object;
	int r = 0;

	if (o->given)
		r = take_given(o->given, library, low, high, ret);
	else if (library)
		r = search(library, low, high, ret);
	if (r == 0)
		*ret = (struct sp_read_object){0};
	o->found = r > 0;
	return r;
}

/* --- names --- */
int sp_object_names(struct sp_profile *p)
{
	struct sp_workers_options one = {.n_parsers = 1};
	struct sp_naming naming = {.profile = p, .by_path = true};
	int r = sp_workers_new(&one, &naming.workers);

	if (r >= 0)
		r = sp_naming_run(&naming);
	sp_workers_free(naming.workers);
	naming.workers = NULL;
	sp_naming_done(&naming);
	return r;
}

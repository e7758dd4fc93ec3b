/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/doctor/doctor_file.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "naming/naming.h"
#include "naming/owners.h"
#include "profile/profile.h"
#include "unwind/cache.h"
#include "worker/jobs_names.h"
#include "worker/worker.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct asking {
	struct sp_doctor_file *file;
	struct sp_workers *workers;
	struct sp_profile *profile; /* of this file alone, for who looks for debug files */
	int fd, r;
	bool done;
};

/* --- opening --- */
/* O_PATH first: to open a pipe or a device for reading may wait, or do something. */
static int file_open(const char *path, struct stat *ret_st)
{
	SP_CLOSE int place = open(path, O_PATH | O_CLOEXEC);
	char link[64];
	int fd;

	if (place < 0 || fstat(place, ret_st) < 0)
		return -errno;
	if (S_ISDIR(ret_st->st_mode))
		return -EISDIR;
	if (!S_ISREG(ret_st->st_mode))
		return sp_fail_said(-EINVAL, "not a regular file");
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static int file_take(struct asking *a, const char *path)
{
	const uint64_t now_ns = sp_time_ns(CLOCK_REALTIME);
	struct stat st;

	a->fd = file_open(path, &st);
	if (a->fd < 0)
		return a->fd;
	a->file->size = (uint64_t)st.st_size;
	a->file->state = (struct sp_file_state){.dev = st.st_dev,
						.ino = st.st_ino,
						.mtime_ns = sp_timespec_ns(st.st_mtim),
						.ctime_ns = sp_timespec_ns(st.st_ctim),
						.opened_ns = now_ns};
	a->file->uid = st.st_uid;
	a->file->mode = st.st_mode;
	a->file->path = realpath(path, NULL);
	return a->file->path ? 0 : -errno;
}

/* --- asking the workers --- */
static int wait_for(struct asking *a, int r)
{
	while (r >= 0 && !a->done)
		r = sp_workers_wait(a->workers, 60000);
	a->done = false;
	return r < 0 ? r : a->r;
}

static int came(struct asking *a, int r)
{
	a->done = true;
	a->r = r;
	return r;
}

static void identified(void *arg, struct sp_identify_result *id)
{
	struct asking *a = arg;

	if (came(a, id->r) < 0)
		return;
	memcpy(a->file->build_id, id->build_id, sizeof(id->build_id));
	a->file->build_id_len = id->build_id_len;
	a->file->state.sample = id->sample;
	a->file->soname = id->soname;
	a->file->note = id->package;
}

static void built(void *arg, int r, struct sp_blob *blob)
{
	struct asking *a = arg;

	if (came(a, r) < 0)
		return;
	a->file->blob = blob;
	a->file->survey = sp_blob_survey(blob);
}

static void counted(void *arg, int r, const struct sp_symbol_counts *counts)
{
	struct asking *a = arg;

	if (came(a, r) >= 0)
		a->file->counts = *counts;
}

static void debug_counted(void *arg, int r, const struct sp_symbol_counts *counts)
{
	struct asking *a = arg;

	if (came(a, r) >= 0)
		a->file->n_debug = counts->n_symtab;
}

static void looked_at(void *arg, int r, const struct sp_elf_debug *debug, uint32_t crc)
{
	struct asking *a = arg;

	(void)crc;
	if (came(a, r) >= 0)
		a->file->debug = *debug;
}

static int check_whole(const struct asking *a)
{
	return a->file->counts.is_cut ? sp_fail_said(-ENODATA, "truncated: the file ends before its parts do") : 0;
}

static int doctor_file_ask(struct asking *a)
{
	struct sp_workers *w = a->workers;
	int r = wait_for(a, sp_workers_identify(w, a->fd, identified, a));

	if (r >= 0)
		r = wait_for(a, sp_workers_count(w, a->fd, counted, a));
	if (r >= 0)
		r = check_whole(a);
	if (r >= 0)
		r = wait_for(a, sp_workers_build(w, a->fd, built, a));
	if (r >= 0)
		r = wait_for(a, sp_workers_debug(w, a->fd, false, looked_at, a));
	return r;
}

/* --- its debug file --- */
/* As of a file that was sampled. */
static int64_t file_add(const struct asking *a)
{
	struct sp_file file = {.kind = SP_FILE_ELF, .build_id_len = (uint8_t)a->file->build_id_len, .tag = 1};
	int64_t path = sp_profile_add_string(a->profile, a->file->path);

	if (path < 0)
		return path;
	memcpy(file.build_id, a->file->build_id, sizeof(file.build_id));
	file.path = file.name = (uint32_t)path;
	return sp_profile_add_file(a->profile, &file);
}

static char *path_of(int fd)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[SP_MAX(n, 0)] = 0;
	return strdup(path);
}

static int debug_take(struct asking *a, struct sp_naming *naming, uint32_t number)
{
	SP_CLOSE int fd = sp_debug_file_find(naming, number, a->fd);
	const struct sp_file *file = sp_profile_file(a->profile, number);

	if (file->note)
		a->file->debug_note = strdup(sp_profile_string(a->profile, file->note));
	if (fd < 0)
		return 0;
	a->file->debug_path = path_of(fd);
	if (!a->file->debug_path)
		return -ENOMEM;
	return wait_for(a, sp_workers_count(a->workers, fd, debug_counted, a));
}

static int debug_find(struct asking *a, const char *debug_dirs)
{
	struct sp_naming naming = {.workers = a->workers, .debug_dirs = debug_dirs, .no_fetch = true};
	int64_t number;
	int r = sp_profile_new(&a->profile);

	if (r < 0)
		return r;
	naming.profile = a->profile;
	number = file_add(a);
	if (number < 0)
		return (int)number;
	r = debug_take(a, &naming, (uint32_t)number);
	sp_naming_done(&naming);
	return r;
}

/* --- what this machine knows of it
 * ------------------------------------------------------------------------------------
 */
static int package_find(struct sp_doctor_file *f)
{
	const char *path = f->path;
	struct sp_owners owners = {0};
	int r = sp_owners_find(&path, 1, &owners);

	if (r >= 0) {
		struct sp_package p = sp_owners_get(&owners, 0);
		if (*p.name) {
			f->package = strdup(p.name);
			f->package_version = strdup(p.version);
		}
	}
	sp_owners_done(&owners);
	return r;
}

static void cache_look(struct sp_doctor_file *f)
{
	struct sp_cache_key key = {.build_id = f->build_id,
				   .build_id_len = f->build_id_len,
				   .state = f->state,
				   .file_size = f->size,
				   .uid = f->uid,
				   .mode = f->mode};

	SP_FREE char *names = NULL;
	SP_CLOSE int fd = -1;
	uint64_t size;

	f->cache = f->names_cache = -ENOENT;
	if (sp_cache_default_dir(&f->cache_dir) >= 0)
		f->cache = sp_cache_look(f->cache_dir, &key);
	if (sp_entries_default_dir("names", &names) >= 0)
		f->names_cache = sp_entries_peek(names, &key, &fd, &size);
	sp_error_clear();
}

static int read_all(struct asking *a, const char *path, const char *debug_dirs)
{
	struct sp_workers_options one = {.n_parsers = 1};
	int r = file_take(a, path);

	if (r >= 0)
		r = sp_workers_new(&one, &a->workers);
	if (r >= 0)
		r = doctor_file_ask(a);
	if (r >= 0)
		r = debug_find(a, debug_dirs);
	if (r >= 0)
		r = package_find(a->file);
	if (r >= 0)
		cache_look(a->file);
	return r;
}

/* Programs map code from files of their own kinds, too: a Lisp's core, say. */
static bool has_magic(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, sizeof(magic), 0) != sizeof(magic) || !memcmp(magic, ELFMAG, sizeof(magic));
}

int sp_doctor_file_read(const char *path, const char *debug_dirs, struct sp_doctor_file *ret_file)
{
	struct asking a = {.file = ret_file, .fd = -1};
	int r;

	*ret_file = (struct sp_doctor_file){.given = path};
	r = read_all(&a, path, debug_dirs);
	if (r == -ENOEXEC && !has_magic(a.fd)) {
		sp_error_clear();
		r = sp_fail_said(r, "not an ELF file: stacks through code in it, if there is any, are guessed or cut");
	}
	sp_workers_free(a.workers);
	sp_profile_free(a.profile);
	if (a.fd >= 0)
		close(a.fd);
	return r < 0 ? sp_fail(r, "%s", path) : 0;
}

void sp_doctor_file_done(struct sp_doctor_file *f)
{
	free(f->path);
	free(f->soname);
	free(f->package);
	free(f->package_version);
	free(f->blob);
	free(f->debug_path);
	free(f->debug_note);
	free(f->cache_dir);
}

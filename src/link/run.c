/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "link/run.h"

#include "base/error.h"
#include "base/mem.h"
#include "link/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static const char run_tag[] = ".run-";

/* --- files of runs that were killed --- */
/* LIB.run-PID.profile, or LIB.run-PID.UID.profile. */
static bool is_of_a_run(const char *name)
{
	const char *tag = strstr(name, run_tag), *end = strrchr(name, '.');

	if (!tag || strcmp(end, ".profile") != 0)
		return false;
	tag += sizeof(run_tag) - 1;
	return tag + strspn(tag, ".0123456789") == end + 1;
}

/* A run that lives has a lock on its file. */
static void remove_if_left(int directory, const char *name)
{
	SP_CLOSE int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		unlinkat(directory, name, 0);
}

static void leftovers_remove(int directory)
{
	int fd = dup(directory);
	DIR *all = fd < 0 ? NULL : fdopendir(fd);

	for (const struct dirent *e; all && (e = readdir(all));)
		if (is_of_a_run(e->d_name))
			remove_if_left(directory, e->d_name);
	if (all)
		closedir(all);
	else if (fd >= 0)
		close(fd);
}

/* --- a file of this run --- */
static int lock(struct sp_calls_run *r)
{
	r->fd = open(r->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (r->fd < 0)
		return sp_fail(-errno, "open %s", r->path);
	return flock(r->fd, LOCK_EX | LOCK_NB) < 0 ? sp_fail(-errno, "lock %s", r->path) : 0;
}

/* The directory is locked until the file is, so that no other run takes it for one that was left. */
static int own_make_in(const char *directory, const struct sp_calls_what *what, struct sp_calls_run *r)
{
	char tag[32];

	snprintf(tag, sizeof(tag), "%s%ld", run_tag, (long)getpid());
	int e = sp_calls_path(directory, tag, what, &r->path);
	if (e < 0)
		return e;
	SP_FREE char *in = strndup(r->path, (size_t)(strrchr(r->path, '/') - r->path));
	if (!in)
		return -ENOMEM;
	SP_CLOSE int directory_fd = open(in, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory_fd < 0 || flock(directory_fd, LOCK_EX) < 0)
		return sp_fail(-errno, "lock %s", in);
	leftovers_remove(directory_fd);
	e = sp_calls_prepare(r->path, what, &r->is_new);
	r->is_own = e == 0;
	return e < 0 ? e : lock(r);
}

static int own_make(const char *spare, const struct sp_calls_what *what, struct sp_calls_run *r)
{
	int e = own_make_in(NULL, what, r);

	if (e == 0)
		return sp_calls_path(NULL, ".last", what, &r->last);
	if (!spare || e == -EINVAL || e == -ENOMEM)
		return e;
	sp_calls_run_done(r);
	snprintf(r->lacking, sizeof(r->lacking), "the counts will not be kept: %s", sp_error_text(e));
	sp_error_clear();
	return own_make_in(spare, what, r);
}

/* --- a file that is shared --- */
static uint64_t stamp_make(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)getpid() << 40 ^ ((uint64_t)now.tv_sec << 30) ^ (uint64_t)now.tv_nsec;
}

/* Every run that counts in the file has a lock on it, and leaves its stamp when it begins. */
static int shared_join(struct sp_calls_run *r)
{
	int e = lock(r);

	if (e == -EWOULDBLOCK) {
		sp_error_clear();
		r->has_others = true;
		e = 0;
	}
	if (e < 0)
		return e;
	r->stamp = stamp_make();
	if (flock(r->fd, LOCK_SH) < 0)
		return sp_fail(-errno, "lock %s", r->path);
	if (pwrite(r->fd, &r->stamp, sizeof(r->stamp), offsetof(struct sp_calls_header, run)) !=
	    (ssize_t)sizeof(r->stamp))
		return sp_fail(-errno, "write %s", r->path);
	return 0;
}

static int shared_make(const char *directory, const struct sp_calls_what *what, struct sp_calls_run *r)
{
	int e = sp_calls_path(directory, "", what, &r->path);

	if (e == 0)
		e = sp_calls_prepare(r->path, what, &r->is_new);
	return e == 0 ? shared_join(r) : e;
}

int sp_calls_run_make(const char *spare, const struct sp_calls_what *what, struct sp_calls_run *ret_run)
{
	*ret_run = SP_CALLS_RUN_NONE;
	int r = own_make(spare, what, ret_run);

	if (r < 0)
		sp_calls_run_done(ret_run);
	return r;
}

int sp_calls_run_share(const char *directory, const struct sp_calls_what *what, struct sp_calls_run *ret_run)
{
	*ret_run = SP_CALLS_RUN_NONE;
	int r = shared_make(directory, what, ret_run);

	if (r < 0)
		sp_calls_run_done(ret_run);
	return r;
}

/* --- afterwards --- */
bool sp_calls_run_has_others(const struct sp_calls_run *run)
{
	uint64_t stamp = 0;

	if (run->is_own || run->fd < 0)
		return false;
	return run->has_others ||
	       pread(run->fd, &stamp, sizeof(stamp), offsetof(struct sp_calls_header, run)) != (ssize_t)sizeof(stamp) ||
	       stamp != run->stamp;
}

int sp_calls_run_keep(struct sp_calls_run *run)
{
	if (!run->last)
		return 0;
	if (rename(run->path, run->last) < 0)
		return sp_fail(-errno, "keep the counts as %s", run->last);
	free(run->path);
	run->path = sp_take_ptr(run->last);
	run->is_own = false;
	return 0;
}

void sp_calls_run_done(struct sp_calls_run *run)
{
	if (run->is_own && run->path)
		unlink(run->path);
	free(run->path);
	free(run->last);
	if (run->fd >= 0)
		close(run->fd);
	*run = SP_CALLS_RUN_NONE;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/output.h"

#include "base/error.h"
#include "base/mem.h"
#include "view/view.h"
#include "worker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct output {
	const char *path; /* as the user wrote it; NULL: stream_name */
	const char *stream_name;
	int (*write)(void *arg, FILE *out);
	void *arg;
};

static int put(const struct output *o, FILE *out)
{
	int r = o->write(o->arg, out);

	if (r < 0)
		return r;
	if (fflush(out) || ferror(out))
		return sp_fail(errno ? -errno : -EIO, "write %s", o->path ? o->path : o->stream_name);
	return 0;
}

static bool is_plain(const char *path)
{
	struct stat st;

	return stat(path, &st) ? errno == ENOENT : S_ISREG(st.st_mode);
}

static mode_t mode_for(const char *path)
{
	mode_t mask = umask(0);
	struct stat st;

	umask(mask);
	return stat(path, &st) ? 0666 & ~mask : st.st_mode & 0777;
}

static int put_and_close(const struct output *o, FILE *out)
{
	int r = put(o, out);

	if (fclose(out) && r >= 0)
		r = sp_fail(-errno, "write %s", o->path);
	return r;
}

static int replace(const struct output *o, const char *path)
{
	SP_FREE char *new = NULL;
	FILE *out;
	int fd, r;

	if (asprintf(&new, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	fd = mkostemp(new, O_CLOEXEC);
	if (fd < 0)
		return sp_fail(-errno, "write %s", o->path);
	fchmod(fd, mode_for(path));
	out = fdopen(fd, "w");
	if (!out) {
		close(fd);
		unlink(new);
		return -ENOMEM;
	}
	r = put_and_close(o, out);
	if (r >= 0 && rename(new, path))
		r = sp_fail(-errno, "put %s in place", o->path);
	if (r < 0)
		unlink(new);
	return r;
}

static int to_file(const struct output *o)
{
	SP_FREE char *path = realpath(o->path, NULL);
	FILE *out;

	if (is_plain(o->path))
		return replace(o, path ? path : o->path);
	out = fopen(o->path, "we");
	return out ? put_and_close(o, out) : sp_fail(-errno, "write %s", o->path);
}

static int to_stdout(const struct output *o)
{
	int r = put(o, stdout);

	if (r != -EPIPE)
		return r;
	sp_error_clear();
	__fpurge(stdout);
	clearerr(stdout);
	return 0;
}

bool sp_output_is_stdout(const char **path)
{
	if (!*path || strcmp(*path, "-") != 0)
		return false;
	*path = NULL;
	return true;
}

int sp_output(const char *path, int (*write)(void *arg, FILE *out), void *arg)
{
	bool is_stdout = sp_output_is_stdout(&path) || !path;
	struct output o = {.path = path, .stream_name = "to standard output", .write = write, .arg = arg};

	return is_stdout ? to_stdout(&o) : to_file(&o);
}

/* By a stream with a buffer: a table is many small pieces. */
int sp_output_stderr(int (*write)(void *arg, FILE *out), void *arg)
{
	struct output o = {.stream_name = "to standard error", .write = write, .arg = arg};
	int r, fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (!out) {
		if (fd >= 0)
			close(fd);
		return sp_fail(-errno, "write to standard error");
	}
	r = put(&o, out);
	fclose(out);
	return r;
}

int sp_output_open(const char *path, bool has_command, FILE **ret_out)
{
	bool is_stdout = sp_output_is_stdout(&path) || !has_command;

	*ret_out = path ? fopen(path, "we") : is_stdout ? stdout : stderr;
	return *ret_out ? 0 : sp_fail(-errno, "write %s", path);
}

int sp_output_close(const char *path, FILE *out)
{
	bool is_stdout = sp_output_is_stdout(&path), failed = out && (fflush(out) || ferror(out)) && errno != EPIPE;
	int error = errno;

	if (out && path && fclose(out) && !failed)
		return sp_fail(-errno, "write %s", path);
	return failed ? sp_fail(error ? -error : -EIO, "write %s",
				path        ? path
				: is_stdout ? "to standard output"
					    : "the output")
		      : 0;
}

int sp_output_check(const char *path)
{
	bool is_stdout = sp_output_is_stdout(&path) || !path;
	SP_FREE char *place = path ? realpath(path, NULL) : NULL;
	SP_FREE char *new = NULL;
	struct stat st;
	int fd;

	if (is_stdout)
		return 0;
	if (!is_plain(path)) /* not opened: a pipe's reader would see its end */
		return !stat(path, &st) && S_ISDIR(st.st_mode) ? sp_fail(-EISDIR, "write %s", path)
		       : access(path, W_OK)                    ? sp_fail(-errno, "write %s", path)
							       : 0;
	if (asprintf(&new, "%s.XXXXXX", place ? place : path) < 0)
		return -ENOMEM;
	fd = mkostemp(new, O_CLOEXEC);
	if (fd < 0)
		return sp_fail(-errno, "write %s", path);
	close(fd);
	unlink(new);
	return 0;
}

int sp_output_prepare(const char *path, struct sp_broker *broker, FILE **ret_file)
{
	SP_FREE char *place = path ? realpath(path, NULL) : NULL;
	int fd;

	*ret_file = NULL;
	if (!path || !broker || !is_plain(path))
		return 0;
	fd = sp_broker_output(broker, place ? place : path, mode_for(path));
	if (fd < 0) {
		sp_error_clear();
		return sp_fail(fd, "write %s", path);
	}
	*ret_file = fdopen(fd, "w");
	if (*ret_file)
		return 0;
	close(fd);
	return -ENOMEM;
}

int sp_output_prepared(const char *path, struct sp_broker *broker, FILE *file, int (*write)(void *arg, FILE *out),
		       void *arg)
{
	struct output o = {.path = path, .write = write, .arg = arg};
	int r = put_and_close(&o, file);

	if (r < 0)
		return r;
	r = sp_broker_put_in_place(broker);
	return r < 0 ? sp_fail(r, "put %s in place", path) : 0;
}

const char *sp_view_choice(size_t i)
{
	return sp_views[i] ? sp_views[i]->name : NULL;
}

const char *sp_grouping_choice(size_t i)
{
	return i < SP_N_TOTAL_BY ? sp_view_groupings[i] : NULL;
}

static bool is_choice(const char *(*choice)(size_t), const struct sp_view *view)
{
	const char *name;

	for (size_t i = 0; (name = choice(i)); i++)
		if (!strcmp(name, view->name))
			return true;
	return false;
}

int sp_output_view(const char *path, const char *(*choice)(size_t), const struct sp_view **ret_view)
{
	const struct sp_view *view = sp_view_by_path(path);
	char all[256] = "";
	size_t n = 0;

	if (view && is_choice(choice, view)) {
		*ret_view = view;
		return 0;
	}
	for (size_t i = 0; sp_views[i]; i++)
		if (n < sizeof(all) && is_choice(choice, sp_views[i]))
			n += (size_t)snprintf(all + n, sizeof(all) - n, " %s", sp_views[i]->suffix);
	if (view)
		return sp_fail_said(-EINVAL, "-o %s: not in the view %s; give --format, or one of%s", path, view->name,
				    all);
	return sp_fail_said(-EINVAL, "-o %s: no view has this suffix; give --format, or one of%s", path, all);
}

const char *sp_sample_view_choice(size_t i)
{
	for (size_t at = 0; sp_views[at]; at++)
		if (!sp_views[at]->calls && !i--)
			return sp_views[at]->name;
	return NULL;
}

int sp_output_fits(const struct sp_view *view, const char *path)
{
	if (view->write_beside && (!path || !is_plain(path)))
		return sp_fail_said(-EINVAL, "the view %s is two files, FILE and FILE%s; give -o FILE", view->name,
				    view->beside);
	if (!view->binary || path || !isatty(STDOUT_FILENO))
		return 0;
	return sp_fail_said(-EINVAL, "the view %s is not for a terminal; give -o FILE%s", view->name, view->suffix);
}

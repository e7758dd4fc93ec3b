/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fetches debug files from debuginfod servers, with elfutils' client library.
 *
 * The library is loaded at run time, because it contains an HTTP client that no other process of ours should have.
 * Root fetches as nobody, into a directory that is removed as soon as the file is open; other users into the cache
 * that all debuginfod clients share.
 */
#include "base/error.h"
#include "base/library.h"
#include "base/mem.h"
#include "base/time.h"
#include "worker/priv.h"
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <unistd.h>

enum { NOBODY = 65534, MAX_WALK_FDS = 8 };

/* As <elfutils/debuginfod.h> declares them; the library is none that we are linked with. */
struct debuginfod_client;
struct library {
	struct debuginfod_client *(*begin)(void);
	void (*progress)(struct debuginfod_client *client, int (*cb)(struct debuginfod_client *client, long a, long b));
	int (*find)(struct debuginfod_client *client, const unsigned char *build_id, int build_id_len, char **path);
	struct debuginfod_client *client;
};

static int library_open(struct library *l)
{
	static const char *const sonames[] = {"libdebuginfod.so.1", NULL};
	static const struct sp_library_function functions[] = {
	    {"debuginfod_begin", offsetof(struct library, begin)},
	    {"debuginfod_set_progressfn", offsetof(struct library, progress)},
	    {"debuginfod_find_debuginfo", offsetof(struct library, find)},
	};
	int r = sp_library_load("debuginfod", "libdebuginfod1", sonames, functions, SP_COUNT(functions), l);

	l->client = r < 0 ? NULL : l->begin();
	return r < 0 || l->client ? r : sp_fail_said(-ELIBACC, "debuginfod: libdebuginfod.so.1 cannot be used");
}

/* Called while it waits and reads. It gives up by itself, so that it can clear up; our parent ends it a little later.
 */
static uint64_t end_ns;

static bool is_late(void)
{
	return sp_time_ns(CLOCK_MONOTONIC) >= end_ns;
}

static int go_on(struct debuginfod_client *client, long a, long b)
{
	(void)client;
	(void)a;
	(void)b;
	return is_late();
}

static int take_away(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

static int find(struct library *l, const struct sp_job_message *m)
{
	char directory[] = "/tmp/soprof-debuginfod.XXXXXX", size[16];
	bool own = geteuid() == NOBODY && mkdtemp(directory);
	if (own)
		setenv("DEBUGINFOD_CACHE_PATH", directory, 1);
	snprintf(size, sizeof(size), "%d", SP_JOB_MAX_BYTES);
	setenv("DEBUGINFOD_MAXSIZE", size, 0);
	unsetenv("DEBUGINFOD_MAXTIME"); /* is of all files together: our deadline */
	end_ns = sp_time_ns(CLOCK_MONOTONIC) + m->deadline_ms * 1000000ULL;
	l->progress(l->client, go_on);
	int fd = l->find(l->client, m->build_id, (int)m->build_id_len, NULL);
	if (own)
		nftw(directory, take_away, MAX_WALK_FDS, FTW_DEPTH | FTW_PHYS);
	if (fd >= 0)
		return fd;
	if (is_late())
		return sp_fail_said(-ETIMEDOUT, "debuginfod did not answer in time");
	if (fd == -ENOENT)
		return fd;
	return sp_fail(fd, "debuginfod");
}

int sp_fetcher_work(const struct sp_job_message *m, struct sp_answer_message *a)
{
	static struct library l;
	char urls[SP_JOB_MAX_PATH];
	snprintf(urls, sizeof(urls), "%.*s", (int)SP_MIN(m->path_len, sizeof(urls) - 1), m->path);
	setenv("DEBUGINFOD_URLS", urls, 1); /* read anew at each question */
	int r = m->build_id_len > sizeof(m->build_id) ? -EINVAL : l.client ? 0 : library_open(&l);
	int fd = r < 0 ? r : find(&l, m);
	a->r = fd < 0 ? fd : 0;
	return fd < 0 ? -1 : fd;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fetch.c: asks debuginfod servers for debug files.
 *
 * The servers are those of $DEBUGINFOD_URLS or, if that is not set, of the files *.urls in /etc/debuginfod, as for all
 * clients (debuginfod-client-config(7)). All files of a run (sp_naming_start()) share one deadline,
 * $DEBUGINFOD_MAXTIME or 30 seconds. When it has passed, no server is asked for ten minutes, so that an agent does not
 * wait in each window for one that hangs.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/time.h"
#include "naming/priv.h"
#include "profile/profile.h"
#include "worker/jobs_names.h"
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

enum { FETCH_S = 30, MAX_FETCH_S = 3600, ASK_AGAIN_S = 600, MAX_URLS = 4000 };

static const char too_late[] = "no answer in time";

static bool urls_read(const char *path, FILE *out)
{
	SP_FCLOSE FILE *f = fopen(path, "re");
	char url[MAX_URLS];
	bool any = false;

	while (f && fgets(url, sizeof(url), f)) {
		url[strcspn(url, "\r\n")] = 0;
		if (!*url || *url == '#')
			continue;
		fprintf(out, "%s%s", ftell(out) ? " " : "", url);
		any = true;
	}
	return any;
}

static void files_read(FILE *out, FILE *where)
{
	glob_t found;

	if (glob("/etc/debuginfod/*.urls", 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (urls_read(found.gl_pathv[i], out))
			fprintf(where, "%s%s", ftell(where) ? " " : "", found.gl_pathv[i]);
	globfree(&found);
}

char *sp_debuginfod_urls(char **ret_where)
{
	const char *set = getenv("DEBUGINFOD_URLS");
	SP_FREE char *where = NULL;
	char *urls = NULL;
	size_t size;
	FILE *out = open_memstream(&urls, &size), *places = open_memstream(&where, &size);

	if (out && places && set) {
		fputs(set, out);
		fputs("DEBUGINFOD_URLS", places);
	} else if (out && places) {
		files_read(out, places);
	}
	if (out)
		fclose(out);
	if (places)
		fclose(places);
	if (ret_where)
		*ret_where = sp_take_ptr(where);
	return urls;
}

static bool has_servers(struct sp_naming *n)
{
	if (!n->urls)
		n->urls = sp_debuginfod_urls(NULL);
	return n->urls && *n->urls && strlen(n->urls) < MAX_URLS;
}

static void tell(const struct sp_naming *n, uint32_t file, bool begins)
{
	if (n->fetching)
		n->fetching(begins ? sp_profile_string(n->profile, sp_profile_file(n->profile, file)->name) : NULL);
}

static uint64_t allowed_ms(void)
{
	const char *set = getenv("DEBUGINFOD_MAXTIME");
	uint64_t seconds = FETCH_S;

	if (set && sp_parse_number(set, 1, MAX_FETCH_S, &seconds))
		seconds = FETCH_S;
	return seconds * 1000;
}

static void give_up(struct sp_naming *n, const char *why)
{
	n->fetch_failure = why;
	n->fetch_again_ns = sp_time_ns(CLOCK_BOOTTIME) + (uint64_t)ASK_AGAIN_S * SP_NS_PER_S;
}

/* fetch_began_ns 0: it was asked before sp_naming_fetch_reset(). */
static int fetched(struct sp_naming *n, int r)
{
	struct sp_naming_work *w = n->work;

	tell(n, w->file, false);
	if (w->fetch_began_ns)
		n->fetch_ns += sp_time_ns(CLOCK_MONOTONIC) - w->fetch_began_ns;
	if (r >= 0 || r == -ENOENT)
		n->fetch_failure = NULL;
	else if (w->fetch_began_ns && (r == -ETIMEDOUT || r == -ELIBACC))
		give_up(n, r == -ETIMEDOUT ? too_late : "libdebuginfod.so.1 cannot be used");
	if (r >= 0)
		return r;
	if (r != -ENOENT) {
		n->stats.n_unfetched++;
		sp_naming_note(n, w->file, "debug file", r);
	}
	sp_error_clear();
	return r;
}

/* 0: nothing more is asked now. */
static uint64_t left_ms(struct sp_naming *n)
{
	uint64_t all_ms = allowed_ms(), left_ms = all_ms - SP_MIN(n->fetch_ns / 1000000, all_ms);

	if (sp_time_ns(CLOCK_BOOTTIME) < n->fetch_again_ns)
		return 0;
	if (!left_ms)
		give_up(n, too_late);
	return left_ms;
}

int sp_debug_file_fetch(struct sp_naming *n)
{
	struct sp_naming_work *w = n->work;
	struct sp_fetch_request q = {.build_id = w->search.own.build_id, .build_id_len = w->search.own.build_id_len};

	if (n->no_fetch || !has_servers(n))
		return -ENOENT;
	q.urls = n->urls;
	q.deadline_ms = (unsigned)left_ms(n);
	if (!q.deadline_ms) {
		n->stats.n_unfetched++;
		return -ENOENT;
	}
	w->fetch_began_ns = sp_time_ns(CLOCK_MONOTONIC);
	tell(n, w->file, true);
	sp_naming_then(n, fetched);
	return sp_naming_asked(n, sp_workers_fetch(n->workers, &q, sp_naming_opened, w));
}

void sp_naming_fetch_reset(struct sp_naming *n)
{
	n->fetch_ns = n->fetch_again_ns = 0;
	n->fetch_failure = NULL;
	free(sp_take_ptr(n->urls));
	if (n->work)
		n->work->fetch_began_ns = 0;
}

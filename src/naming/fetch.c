/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fetch.c: debug files from debuginfod servers.
 *
 * The servers are those of $DEBUGINFOD_URLS or, where that is not set at all, of the files *.urls in /etc/debuginfod,
 * as for all its clients (debuginfod-client-config(7)). All files of a run have $DEBUGINFOD_MAXTIME seconds together,
 * 30 where that is not set; then nothing more is asked.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/time.h"
#include "naming/priv.h"
#include "profile/profile.h"
#include "worker/jobs_names.h"
#include "worker/worker.h"
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FETCH_S = 30, MAX_FETCH_S = 3600, MAX_URLS = 4000 };

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

static int fetch(struct sp_naming *n, const struct sp_fetch_request *q)
{
	struct sp_naming_open o = {.fd = -1};

	return sp_naming_fd(n, sp_workers_fetch(n->workers, q, sp_naming_opened, &o), &o);
}

static uint64_t allowed_ms(void)
{
	const char *set = getenv("DEBUGINFOD_MAXTIME");
	uint64_t seconds = FETCH_S;

	if (set && sp_parse_number(set, 1, MAX_FETCH_S, &seconds))
		seconds = FETCH_S;
	return seconds * 1000;
}

int sp_debug_file_fetch(struct sp_naming *n, uint32_t file, const uint8_t *build_id, uint32_t build_id_len)
{
	uint64_t begin_ns = sp_time_ns(CLOCK_MONOTONIC), all_ms = allowed_ms();
	uint64_t left_ms = all_ms - SP_MIN(n->fetch_ns / 1000000, all_ms);
	int fd;

	if (n->no_fetch || !left_ms || !has_servers(n))
		return -1;
	tell(n, file, true);
	fd = fetch(n, &(struct sp_fetch_request){.urls = n->urls,
						 .build_id = build_id,
						 .build_id_len = build_id_len,
						 .deadline_ms = (unsigned)left_ms});
	tell(n, file, false);
	n->fetch_ns += sp_time_ns(CLOCK_MONOTONIC) - begin_ns;
	if (fd >= 0)
		return fd;
	n->no_fetch = fd == -ETIMEDOUT || fd == -ENOSYS;
	if (fd != -ENOENT)
		sp_naming_note(n, file, "debug file", fd);
	sp_error_clear();
	return -1;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/dpkg_log.h"

#include "base/mem.h"
#include "base/time.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_WORDS = 6, LINE_BYTES = 4096, MAX_LOG_BYTES = 64 << 20 };

struct search {
	char package[512]; /* "zlib1g:amd64" */
	time_t at;
	/* The upgrade in progress at this place of the log. */
	char old[SP_DPKG_VERSION_BYTES], new[SP_DPKG_VERSION_BYTES];
	bool is_on;
	/* The result so far. */
	char found[SP_DPKG_VERSION_BYTES];
	bool is_ambiguous;
};

static size_t split(char *line, char *ret_words[MAX_WORDS])
{
	char *rest = NULL;
	size_t n = 0;

	for (char *word = strtok_r(line, " \n", &rest); word && n < MAX_WORDS; word = strtok_r(NULL, " \n", &rest))
		ret_words[n++] = word;
	return n;
}

static bool time_of(const char *date, const char *clock, time_t *ret_time)
{
	struct tm tm = {.tm_isdst = -1};
	const char *end = strptime(date, "%Y-%m-%d", &tm);

	if (!end || *end)
		return false;
	end = strptime(clock, "%H:%M:%S", &tm);
	*ret_time = mktime(&tm);
	return end && !*end;
}

static void found(struct search *s)
{
	if (*s->found && strcmp(s->found, s->old) != 0)
		s->is_ambiguous = true;
	snprintf(s->found, sizeof(s->found), "%s", s->old);
}

/* "DATE TIME upgrade PACKAGE OLD NEW", "DATE TIME status unpacked PACKAGE VERSION". */
static void dpkg_log_take_line(struct search *s, char *line)
{
	char *w[MAX_WORDS];
	time_t at;

	if (split(line, w) != MAX_WORDS || !time_of(w[0], w[1], &at))
		return;
	if (!strcmp(w[2], "upgrade") && !strcmp(w[3], s->package)) {
		s->is_on = at <= s->at;
		snprintf(s->old, sizeof(s->old), "%s", w[4]);
		snprintf(s->new, sizeof(s->new), "%s", w[5]);
	} else if (s->is_on && !strcmp(w[2], "status") && !strcmp(w[3], "unpacked") && !strcmp(w[4], s->package) &&
		   !strcmp(w[5], s->new)) {
		if (s->at <= at)
			found(s);
		s->is_on = false;
	}
}

/* Of a line that is too long the rest is read as another line, which is never an upgrade's. */
static void read_log(struct search *s, const char *path)
{
	char line[LINE_BYTES];
	size_t n_read = 0;
	FILE *file = fopen(path, "re");

	while (file && n_read < MAX_LOG_BYTES && fgets(line, sizeof(line), file)) {
		n_read += strlen(line);
		dpkg_log_take_line(s, line);
	}
	if (file)
		fclose(file);
}

int sp_dpkg_log_replaced(const char *path, const char *name, const char *arch, uint64_t at_ns,
			 char ret_version[SP_DPKG_VERSION_BYTES])
{
	struct search s = {.at = (time_t)(at_ns / SP_NS_PER_S)};
	SP_FREE char *before = NULL;

	path = path ? path : "/var/log/dpkg.log";
	snprintf(s.package, sizeof(s.package), "%s:%s", name, arch);
	if (asprintf(&before, "%s.1", path) < 0) {
		before = NULL;
		return -ENOENT;
	}
	read_log(&s, before);
	read_log(&s, path);
	if (!*s.found || s.is_ambiguous)
		return -ENOENT;
	memcpy(ret_version, s.found, sizeof(s.found));
	return 0;
}

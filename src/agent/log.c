/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/log.h"
#include "base/encode.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 4096 };

static int log_level = SP_LOG_INFO;
static bool to_journal;

/* JOURNAL_STREAM is "DEV:INO" of the journal's socket. Children inherit it, so it is compared with stderr. */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char ours[64];
	struct stat st;

	if (!stream || fstat(STDERR_FILENO, &st))
		return false;
	snprintf(ours, sizeof(ours), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return !strcmp(stream, ours);
}

void sp_log_open(int level)
{
	log_level = level;
	to_journal = is_journal();
}

/* The numbers are syslog(3)'s. */
static void format_prefix(int level, char *text, size_t size)
{
	static const int priorities[SP_N_LOG_LEVELS] = {3, 4, 5, 6, 7};
	time_t now = time(NULL);
	struct tm tm;

	if (to_journal)
		snprintf(text, size, "<%d>", priorities[level]);
	else if (!localtime_r(&now, &tm) || !strftime(text, size, "%H:%M:%S ", &tm))
		text[0] = '\0';
}

void sp_log(int level, const char *format, ...)
{
	char line[LINE_BYTES], *encoded, *whole;
	char before[32] = "";
	va_list args;

	if (level < 0 || level > log_level || level >= SP_N_LOG_LEVELS)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	encoded = sp_encoded(SP_ENCODE_TERMINAL, line);
	format_prefix(level, before, sizeof(before));
	/* One write(2) per line, so that lines of several processes do not mix. */
	if (asprintf(&whole, "%s%s\n", before, encoded ? encoded : "(no memory for the line)") > 0) {
		if (write(STDERR_FILENO, whole, strlen(whole)) < 0) {
			/* there is no other place to report it */
		}
		free(whole);
	}
	free(encoded);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dpkg_log.c: the version that dpkg replaced, by a log of our own. */
#include "proc/dpkg_log.h"
#include "base/time.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOON = 1767268800 }; /* 2026-01-01 12:00:00 UTC */

static char path[] = "/tmp/soprof-dpkg-log-XXXXXX", before[sizeof(path) + 2];

static void write_log(const char *to, const char *text)
{
	FILE *f = fopen(to, "we");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void expect(int64_t s, const char *version)
{
	char found[SP_DPKG_VERSION_BYTES] = "";
	int r = sp_dpkg_log_replaced(path, "zlib1g", "amd64", (uint64_t)(NOON + s) * SP_NS_PER_S, found);

	assert_int_equal(r, version ? 0 : -ENOENT);
	assert_string_equal(found, version ? version : "");
}

static void between_two_lines(void **state)
{
	write_log(before, "2026-01-01 11:00:00 upgrade zlib1g:amd64 1:1.2-0 1:1.2-1\n"
			  "2026-01-01 11:00:02 status unpacked zlib1g:amd64 1:1.2-0\n"
			  "2026-01-01 11:00:03 status unpacked zlib1g:amd64 1:1.2-1\n");
	write_log(path, "2026-01-01 12:00:00 startup archives unpack\n"
			"2026-01-01 12:00:00 upgrade zlib1g:i386 9 10\n"
			"2026-01-01 12:00:10 upgrade zlib1g:amd64 1:1.2-1 1:1.2-2\n"
			"2026-01-01 12:00:10 status half-installed zlib1g:amd64 1:1.2-1\n"
			"2026-01-01 12:00:12 status unpacked zlib1g:amd64 1:1.2-2\n"
			"2026-01-01 12:00:12 status unpacked zlib1g:amd64 1:1.2-2\n"
			"2026-01-01 12:00:20 upgrade zlib1g:amd64 1:1.2-2 1:1.2-3\n"
			"nonsense\n\n2026-99-99 99:99:99 upgrade zlib1g:amd64 a b\n"
			"2026-01-01 12:00:20 status unpacked zlib1g:amd64 1:1.2-3\n"
			"2026-01-01 12:00:20 upgrade zlib1g:amd64 1:1.2-3 1:1.2-4\n"
			"2026-01-01 12:00:21 status unpacked zlib1g:amd64 1:1.2-4\n"
			"2026-01-01 12:00:30 upgrade zlib1g:amd64 1:1.2-4 1:1.2-5\n");
	expect(-3599, "1:1.2-0"); /* in the log before */
	expect(9, NULL);
	expect(10, "1:1.2-1");
	expect(12, "1:1.2-1");
	expect(13, NULL);
	expect(20, NULL); /* two in one second */
	expect(21, "1:1.2-3");
	expect(30, NULL); /* it was never unpacked */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unlink(before), 0);
	expect(10, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(between_two_lines)};
	int fd = mkstemp(path);

	if (fd < 0 || setenv("TZ", "UTC", 1) < 0)
		return 1;
	close(fd);
	snprintf(before, sizeof(before), "%s.1", path);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

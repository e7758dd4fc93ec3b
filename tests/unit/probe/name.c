/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a user asks to be probed is taken apart: libraries, paths with colons, processes, addresses, USDT; what is none.
 */
#include "base/error.h"
#include "base/mem.h"
#include "probe/file.h"
#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct row {
	const char *text, *library, *function, *provider, *address;
};
static const struct row rows[] = {
    {"libz.so.1", "libz.so.1", NULL, NULL, NULL},
    {"libz.so.1:inf*", "libz.so.1", "inf*", NULL, NULL},
    {"libstdc++.so.6:_Znwm", "libstdc++.so.6", "_Znwm", NULL, NULL},
    {"libz.so.1+0x1a2B", "libz.so.1", NULL, NULL, "1a2b"},
    {"libstdc++.so.6+0x0", "libstdc++.so.6", NULL, NULL, "0"},
    {"12:libz.so.1", "12:libz.so.1", NULL, NULL, NULL},
    {"12:libz.so.1:crc32", "12:libz.so.1", "crc32", NULL, NULL},
    {"12:libz.so.1+0xffffffffffffffff", "12:libz.so.1", NULL, NULL, "ffffffffffffffff"},
    {"12:/a:b/libz.so:crc32", "12:/a:b/libz.so", "crc32", NULL, NULL},
    {"/a:b/libz.so", "/a", "b/libz.so", NULL, NULL}, /* nothing can tell: LIBRARY:* says it */
    {"/a:b/libz.so:*", "/a:b/libz.so", "*", NULL, NULL},
    {"./12:3/libz.so:crc32", "./12:3/libz.so", "crc32", NULL, NULL},
    {"/bin/prog:net/http.Get", "/bin/prog", "net/http.Get", NULL, NULL},
    {"prog:net/http.Get", "prog", "net/http.Get", NULL, NULL},
    {"1234567890abcdef:main", "1234567890abcdef", "main", NULL, NULL},
    {"12345678:main", "12345678:main", NULL, NULL, NULL},    /* a process */
    {"99999999999:main", "99999999999", "main", NULL, NULL}, /* no process */
    {"libz.so.1:f+0x1", "libz.so.1", "f+0x1", NULL, NULL},
    {"usdt:libstdc++.so.6:throw", "libstdc++.so.6", "throw", NULL, NULL},
    {"usdt:libc.so.6:libc:setjmp", "libc.so.6", "setjmp", "libc", NULL},
    {"usdt:7:libc.so.6:setjmp", "7:libc.so.6", "setjmp", NULL, NULL},
    {"usdt:7:libc.so.6:lib*:set*", "7:libc.so.6", "set*", "lib*", NULL},
    {"usdt:/a:b/x:p:n", "/a:b/x", "n", "p", NULL},
    {"usdt", "usdt", NULL, NULL, NULL},
};

static void check_text(const char *is, const char *want)
{
	if (want)
		assert_string_equal(is, want);
	else
		assert_null(is);
}

static void places(void **state)
{
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		const struct row *row = &rows[i];
		struct sp_probe_asked asked;
		char address[24];

		print_message("%s\n", row->text);
		assert_int_equal(sp_probe_asked_parse(row->text, &asked), 0);
		assert_string_equal(asked.library, row->library);
		check_text(asked.function, row->function);
		check_text(asked.provider, row->provider);
		snprintf(address, sizeof(address), "%llx", (unsigned long long)asked.address);
		check_text(asked.has_address ? address : NULL, row->address);
		assert_int_equal(asked.is_usdt, !strncmp(row->text, "usdt:", 5));
		sp_probe_asked_done(&asked);
	}
}

static void no_places(void **state)
{
	static const char *const texts[][2] = {
	    {"", "no library"},
	    {":f", "no library"},
	    {"12:", "no library"},
	    {"12::f", "no library"},
	    {"+0x12", "no library"},
	    {"libz.so.1:", "no function after the colon"},
	    {"libz.so.1+0x", "must be hexadecimal"},
	    {"libz.so.1+0x12g", "must be hexadecimal"},
	    {"libz.so.1+0x-1", "must be hexadecimal"},
	    {"libz.so.1+0x11111111111111111", "must be hexadecimal"},
	    {"usdt:libz.so.1", "usdt:LIBRARY:NAME"},
	    {"usdt:", "usdt:LIBRARY:NAME"},
	    {"usdt:libz.so.1:", "no name after the colon"},
	    {"usdt:libz.so.1:p:", "no name after the colon"},
	    {"usdt:libz.so.1::n", "no name after the colon"},
	};
	struct sp_probe_asked asked;

	for (size_t i = 0; i < SP_COUNT(texts); i++) {
		print_message("%s\n", texts[i][0]);
		assert_int_equal(sp_probe_asked_parse(texts[i][0], &asked), -EINVAL);
		assert_non_null(strstr(sp_error_text(-EINVAL), texts[i][1]));
		sp_error_clear();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(places), cmocka_unit_test(no_places)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines and pieces out of files, pipes, gzip and zstd: whole, broken, truncated, endless. */
#include "read/input.h"
#include "base/error.h"
#include "base/mem.h"
#include "reading.h"
#include "test.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

static struct sp_input *open_bytes(const void *bytes, size_t n, const struct sp_read_options *o, int *ret_fd)
{
	struct sp_input *in;

	*ret_fd = reading_file(bytes, n);
	assert_int_equal(sp_input_new(*ret_fd, "in", o, &in), 0);
	return in;
}

/* As a message about the line returned last names it. */
static uint64_t line_number(struct sp_input *in)
{
	struct sp_read_options o = {.keep_going = true};
	struct sp_read_result result = {0};
	uint64_t number = 0;

	assert_int_equal(sp_input_bad(in, &o, &result, "odd"), 0);
	assert_int_equal(sscanf(result.first_loss, "in: line %" SCNu64 ": odd", &number), 1);
	return number;
}

static void expect_line(struct sp_input *in, const char *expected, uint64_t number)
{
	char *line;
	size_t len;
	int r = sp_input_line(in, &line, &len);

	if (r < 0)
		fail_msg("%s", sp_error_text(r));
	assert_int_equal(r, 1);
	assert_string_equal(line, expected);
	assert_int_equal(len, strlen(expected));
	assert_int_equal(line_number(in), number);
}

static void expect_end(struct sp_input *in)
{
	char *line;
	size_t len;

	for (int i = 0; i < 2; i++)
		assert_int_equal(sp_input_line(in, &line, &len), 0);
}

static void test_lines(void **state)
{
	struct sp_read_options o = {0};
	int fd;
	struct sp_input *in = open_bytes("one\n\ntwo\r\nlast", 14, &o, &fd);
	const uint8_t *head;
	size_t n;

	assert_int_equal(sp_input_head(in, &head, &n), 0);
	assert_int_equal(n, 14);
	assert_memory_equal(head, "one\n\ntwo\r\nlast", 14);
	expect_line(in, "one", 1);
	assert_int_equal(sp_input_offset(in), 4);
	expect_line(in, "", 2);
	expect_line(in, "two\r", 3);
	expect_line(in, "last", 4);
	expect_end(in);
	assert_string_equal(sp_input_name(in), "in");
	sp_input_free(in);
	close(fd);
}

static void test_pieces(void **state)
{
	struct sp_read_options o = {0};
	int fd;
	struct sp_input *in = open_bytes("abcdefghij", 10, &o, &fd);
	const uint8_t *bytes;
	size_t n;

	assert_int_equal(sp_input_bytes(in, 3, &bytes), 1);
	assert_memory_equal(bytes, "abc", 3);
	assert_int_equal(sp_input_skip(in, 2), 1);
	assert_int_equal(sp_input_peek(in, 100, &bytes, &n), 0);
	assert_int_equal(n, 5);
	assert_memory_equal(bytes, "fghij", 5);
	assert_int_equal(sp_input_bytes(in, 6, &bytes), -EBADMSG);
	assert_string_equal(sp_error_text(-EBADMSG), "in: byte 5: ends after 5 of 6 bytes");
	assert_int_equal(sp_input_bytes(in, (size_t)SP_INPUT_MAX_PIECE + 1, &bytes), -EBADMSG);
	assert_int_equal(sp_input_bytes(in, 5, &bytes), 1);
	assert_int_equal(sp_input_bytes(in, 1, &bytes), 0);
	assert_int_equal(sp_input_skip(in, 1), 0);
	sp_input_free(in);
	close(fd);
}

static void test_a_size_that_is_only_said_costs_nothing(void **state)
{
	struct sp_read_options o = {0};
	int fd;
	struct sp_input *in = open_bytes("abc", 3, &o, &fd);
	size_t before = sp_heap_used_bytes();
	const uint8_t *bytes;

	assert_int_equal(sp_input_bytes(in, SP_INPUT_MAX_PIECE, &bytes), -EBADMSG);
	assert_true(sp_heap_used_bytes() - before < 1 << 20);
	sp_input_free(in);
	close(fd);
}

/* Many lines, in members of their own, with padding behind the last. */
static uint8_t *gzip_members(size_t n_members, size_t *ret_n)
{
	uint8_t *all = calloc(1, n_members * 64 + 512);
	size_t n = 0;

	assert_non_null(all);
	for (size_t i = 0; i < n_members; i++) {
		char line[32];
		size_t len, packed = (size_t)snprintf(line, sizeof(line), "line %zu\n", i);
		uint8_t *bytes SP_FREE = reading_gzip(line, packed, &len);

		assert_true(len < 64);
		memcpy(all + n, bytes, len);
		n += len;
	}
	*ret_n = n;
	return all;
}

static void test_gzip_members(void **state)
{
	struct sp_read_options o = {0};
	size_t n;
	uint8_t *bytes SP_FREE = gzip_members(10000, &n);
	int fd;
	struct sp_input *in = open_bytes(bytes, n + 512, &o, &fd);

	for (unsigned int i = 0; i < 10000; i++) {
		char line[32];

		snprintf(line, sizeof(line), "line %u", i);
		expect_line(in, line, i + 1);
	}
	expect_end(in);
	sp_input_free(in);
	close(fd);
}

/* Reads all lines: how many there were, and how it ended. */
static int count_lines(const void *bytes, size_t n, bool keep_going, size_t *ret_n)
{
	struct sp_read_options o = {.keep_going = keep_going};
	int fd, r;
	struct sp_input *in = open_bytes(bytes, n, &o, &fd);
	char *line;
	size_t len;

	for (*ret_n = 0; (r = sp_input_line(in, &line, &len)) > 0;)
		++*ret_n;
	sp_input_free(in);
	close(fd);
	return r;
}

static void test_broken_gzip(void **state)
{
	size_t n, n_lines;
	uint8_t *bytes SP_FREE = gzip_members(100, &n);

	assert_int_equal(count_lines(bytes, n - 5, false, &n_lines), -EBADMSG);
	assert_int_equal(n_lines, 100);
	assert_non_null(strstr(sp_error_text(-EBADMSG), "of the file: truncated gzip data"));
	assert_int_equal(count_lines(bytes, n - 5, true, &n_lines), 0);
	assert_int_equal(n_lines, 100);
	bytes[n] = 'x';
	assert_int_equal(count_lines(bytes, n + 1, false, &n_lines), -EBADMSG);
	assert_non_null(strstr(sp_error_text(-EBADMSG), "neither the end nor another gzip member"));
	for (size_t i = 0; i < 40; i++) /* longer than a member: some of its checks must fail */
		bytes[n / 2 + i] ^= 0x10;
	assert_int_equal(count_lines(bytes, n, false, &n_lines), -EBADMSG);
	assert_in_range(n_lines, 30, 70);
	sp_error_clear();
}

static void test_zstd(void **state)
{
	char text[] = "one\ntwo\n";
	uint8_t bytes[512];
	size_t n = ZSTD_compress(bytes, sizeof(bytes), text, 8, 1), n_lines;

	n += ZSTD_compress(bytes + n, sizeof(bytes) - n, text, 8, 19);
	assert_int_equal(count_lines(bytes, n, false, &n_lines), 0);
	assert_int_equal(n_lines, 4);
	assert_int_equal(count_lines(bytes, n - 1, false, &n_lines), -EBADMSG);
	assert_non_null(strstr(sp_error_text(-EBADMSG), "truncated zstd data"));
	assert_int_equal(count_lines(bytes, n - 1, true, &n_lines), 0);
	assert_in_range(n_lines, 2, 4);
}

static void test_long_lines(void **state)
{
	struct sp_read_options o = {0};
	size_t max = SP_INPUT_MAX_LINE, n = 2 * max + 6, len;
	char *bytes SP_FREE = malloc(n), *line;
	int fd;
	struct sp_input *in;

	assert_non_null(bytes);
	memset(bytes, 'a', n);
	bytes[max] = bytes[2 * max + 2] = '\n'; /* max bytes, max + 1 bytes, and "aaa" */
	in = open_bytes(bytes, n, &o, &fd);
	assert_int_equal(sp_input_line(in, &line, &len), 1);
	assert_int_equal(len, max);
	assert_int_equal(sp_input_line(in, &line, &len), -E2BIG);
	assert_int_equal(line_number(in), 2);
	expect_line(in, "aaa", 3);
	expect_end(in);
	sp_input_free(in);
	close(fd);
}

/* A child that writes n MiB without a newline, and then "\nend\n". */
static int endless_line(size_t n_mib, pid_t *ret_pid)
{
	static char block[1 << 20];
	int fds[2];

	memset(block, 'a', sizeof(block));
	assert_int_equal(pipe(fds), 0);
	*ret_pid = fork();
	assert_true(*ret_pid >= 0);
	if (!*ret_pid) {
		close(fds[0]);
		for (size_t i = 0; i < n_mib; i++)
			for (size_t at = 0; at < sizeof(block);) {
				ssize_t n = write(fds[1], block + at, sizeof(block) - at);

				if (n <= 0)
					_exit(0); /* the reader has gone */
				at += (size_t)n;
			}
		_exit(write(fds[1], "\nend\n", 5) != 5);
	}
	close(fds[1]);
	return fds[0];
}

static long memory_kib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

static void test_endless_line(void **state)
{
	struct sp_read_options o = {0};
	struct sp_input *in;
	long before;
	pid_t pid;
	int fd = endless_line(200, &pid);
	char *line;
	size_t len;

	before = memory_kib();
	assert_int_equal(sp_input_new(fd, "in", &o, &in), 0);
	assert_int_equal(sp_input_line(in, &line, &len), -E2BIG);
	expect_line(in, "end", 2);
	expect_end(in);
	sp_input_free(in);
	close(fd);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(memory_kib() - before < 20 << 10);
}

/* As a profile it is refused after its first MiB, whatever it would go on to be: here, 10 GB. */
static void test_endless_line_is_refused(void **state)
{
	struct sp_read_options o = {0};
	struct sp_read_result result;
	struct sp_profile *p;
	pid_t pid;
	int fd = endless_line(10240, &pid);

	assert_int_equal(sp_read_fd(fd, "in", &o, &p, &result), -EBADMSG);
	assert_string_equal(sp_error_text(-EBADMSG), "in: line 1: longer than 1048576 bytes");
	close(fd);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int stop_at(void *arg, uint64_t bytes, uint64_t size)
{
	uint64_t *most = arg;

	assert_int_equal(size, 3 << 20);
	assert_true(bytes <= size);
	*most = bytes;
	return bytes >= 1 << 20;
}

static void test_progress(void **state)
{
	uint64_t most = 0;
	struct sp_read_options o = {.progress = stop_at, .arg = &most, .format = "folded"};
	struct sp_read_result result;
	struct sp_profile *p;
	char *bytes SP_FREE = malloc(3 << 20);

	assert_non_null(bytes);
	for (size_t i = 0; i < 3 << 20; i += 8)
		memcpy(bytes + i, "a;b;c 1\n", 8);
	assert_int_equal(reading_bytes(bytes, 3 << 20, &o, &p, &result), -EINTR);
	assert_in_range(most, 1 << 20, 2 << 20);
	sp_error_clear();
}

static void test_bad(void **state)
{
	struct sp_read_options o = {0};
	struct sp_read_result result = {0};
	int fd;
	struct sp_input *in = open_bytes("one\ntwo\n", 8, &o, &fd);

	expect_line(in, "one", 1);
	assert_int_equal(sp_input_bad(in, &o, &result, "wants %d", 5), -EBADMSG);
	assert_string_equal(sp_error_text(-EBADMSG), "in: line 1: wants 5");
	o.keep_going = true;
	assert_int_equal(sp_input_bad(in, &o, &result, "first"), 0);
	assert_int_equal(sp_input_bad_at(in, &o, &result, 7, "second"), 0);
	assert_int_equal(result.n_lost, 2);
	assert_string_equal(result.first_loss, "in: line 1: first");
	sp_input_free(in);
	close(fd);
}

static void test_nothing_known(void **state)
{
	static const char *const texts[] = {"", "\n", "hello, world\nthis is no profile\n", "{\"a\": 1}\n",
					    "\x7f"
					    "ELF\1\2"};
	struct sp_read_options o = {0};
	struct sp_read_result result;
	struct sp_profile *p;

	for (size_t i = 0; i < SP_COUNT(texts); i++) {
		assert_int_equal(reading_bytes(texts[i], strlen(texts[i]), &o, &p, &result), -EBADMSG);
		assert_non_null(strstr(sp_error_text(-EBADMSG), i ? "in: byte 0: not a profile of a known format"
								  : "in: byte 0: nothing there"));
	}
	o.format = "nonsense";
	assert_int_equal(reading_bytes("a;b 1\n", 6, &o, &p, &result), -EINVAL);
	assert_non_null(strstr(sp_error_text(-EINVAL), "no format nonsense to read; there are: pprof, folded"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lines),         cmocka_unit_test(test_pieces),
	    cmocka_unit_test(test_gzip_members),  cmocka_unit_test(test_broken_gzip),
	    cmocka_unit_test(test_zstd),          cmocka_unit_test(test_long_lines),
	    cmocka_unit_test(test_endless_line),  cmocka_unit_test(test_endless_line_is_refused),
	    cmocka_unit_test(test_progress),      cmocka_unit_test(test_bad),
	    cmocka_unit_test(test_nothing_known), cmocka_unit_test(test_a_size_that_is_only_said_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

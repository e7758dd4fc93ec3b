/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * 100,000 names of random bytes, as functions, threads and libraries, through every view that is text for other
 * programs: hostile.py reads them back with parsers that are not ours and must find each name as it was.
 * `view-hostile DIRECTORY [COUNT]` only writes the files, for people who want to look.
 */
#include "fixture.h"

#include "base/mem.h"
#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_NAMES = 100000 / SP_FEWER, MAX_TOKENS = 6, MAX_NAME = 64 };

/* What some format, terminal, shell or spreadsheet acts upon. */
static const char *const tokens[] = {
    " ",
    "  ",
    ";",
    "\n",
    "\r",
    "\t",
    "\\",
    "\\x41",
    "\\x",
    "\"",
    "'",
    ",",
    "=",
    "@",
    "+0x1f",
    "(",
    ")",
    " (x)",
    ": ",
    "#",
    " 1",
    "9 ",
    " 12/34 ",
    " 1.5: ",
    "\xff",
    "->",
    "<",
    "&amp;",
    "]]>",
    "{",
    "}",
    "[",
    "/",
    "\x1b[0m",
    "\x7f",
    "</script>",
    "a",
    "b",
    "-",
    "\xc2\x85",
    "\xc2\xa0",
    "\xc3\xa9",
    "\x01",
    "%s",
    "_[k]",
    ".",
    "\\u00",
    "null",
    "\xed\xa0\x80",
    "\xe2\x80\xa8",
    "\xe2\x80\xae",
    "\xf0\x9f\x98\x80",
    "\xc0\xaf",
    "|",
};

static uint64_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

static void random_name(uint64_t *state, char *ret_name)
{
	size_t len = 0;

	for (uint64_t n = 1 + random_next(state) % MAX_TOKENS; n > 0; n--) {
		const char *token = tokens[random_next(state) % SP_COUNT(tokens)];
		char byte[2] = {(char)(1 + random_next(state) % 255), '\0'};

		token = random_next(state) % 3 ? token : byte;
		memcpy(ret_name + len, token, strlen(token));
		len += strlen(token);
	}
	ret_name[len] = '\0';
}

static uint32_t ok(int64_t number)
{
	assert_true(number >= 0);
	return (uint32_t)number;
}

static void add_name(struct sp_profile *p, uint32_t name, uint32_t pid)
{
	struct sp_process process = {.pid = pid, .start_ns = pid, .comm = name, .exe = 0};
	struct sp_file file = {.kind = SP_FILE_ELF, .tag = pid, .name = name, .path = name};
	struct sp_func func = {.name = name, .linkage_name = name, .start = 0x100, .size = 0x100};
	struct sp_frame frame = {.offset = 0x123};
	struct sp_key key = {.comm = name};
	uint32_t number;

	func.file = frame.file = ok(sp_profile_add_file(p, &file));
	frame.func = ok(sp_profile_add_func(p, &func));
	key.process = ok(sp_profile_add_process(p, &process));
	number = ok(sp_profile_add_frame(p, &frame));
	number = ok(sp_profile_add_stack(p, &(struct sp_stack){.n_frames = 1, .frames = &number}));
	assert_int_equal(sp_profile_add(p, ok(sp_profile_add_key(p, &key)), number, 0, (int64_t[]){1, 1000}), 0);
}

static FILE *create(const char *directory, const char *name)
{
	char path[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	out = fopen(path, "we");
	if (!out)
		fail_msg("%s: %s", path, strerror(errno));
	return out;
}

/* Fills p; the names, each in hex on a line, are what the reader must find. */
static void fill(struct sp_profile *p, uint32_t n, const char *directory)
{
	FILE *list = create(directory, "names");
	uint64_t state = 20250501;
	char name[MAX_NAME];

	for (uint32_t added = 0, last = 0; added < n;) {
		random_name(&state, name);
		uint32_t string = ok(sp_profile_add_string(p, name));

		if (string <= last) /* seen before */
			continue;
		last = string;
		add_name(p, string, ++added);
		for (const char *at = name; *at; at++)
			fprintf(list, "%02x", (unsigned char)*at);
		fputc('\n', list);
	}
	assert_int_equal(fclose(list), 0);
}

static void render(const struct sp_profile *p, const char *directory, const char *name, const char *view,
		   enum sp_total_by by)
{
	struct sp_view_options o = {.by = by};
	FILE *out = create(directory, name);

	assert_int_equal(sp_view_by_name(view)->write(p, &o, out), 0);
	assert_int_equal(fclose(out), 0);
}

static void write_all(const char *directory, uint32_t n)
{
	struct sp_profile *p;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_true(sp_profile_add_value_type(p, "samples", "count") >= 0);
	assert_true(sp_profile_add_value_type(p, "cpu", "nanoseconds") >= 0);
	fill(p, n, directory);
	render(p, directory, "text", "text", 0);
	render(p, directory, "folded", "folded", 0);
	render(p, directory, "perf", "perf", 0);
	render(p, directory, "speedscope", "speedscope", 0);
	render(p, directory, "function.csv", "csv", SP_TOTAL_BY_FUNCTION);
	render(p, directory, "process.csv", "csv", SP_TOTAL_BY_PROCESS);
	render(p, directory, "function.json", "json", SP_TOTAL_BY_FUNCTION);
	render(p, directory, "process.json", "json", SP_TOTAL_BY_PROCESS);
	sp_profile_free(p);
}

static void every_name_comes_back(void **state)
{
	char directory[] = "/tmp/soprof-names-XXXXXX", golden[] = SP_TEST_DATA "/view";
	char script[] = SP_SOURCE_ROOT "/tests/unit/view/hostile.py";
	char *argv[] = {"python3", script, directory, golden, NULL}, *output SP_FREE = NULL;
	char *remove[] = {"rm", "-rf", directory, NULL}, *nothing SP_FREE = NULL;
	int r;

	assert_non_null(mkdtemp(directory));
	write_all(directory, N_NAMES);
	r = fixture_run(argv, NULL, &output);
	fixture_run(remove, NULL, &nothing);
	if (r < 0) {
		print_message("skip: python3 is not installed\n");
		skip();
	}
	if (r)
		fail_msg("%s", output);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_name_comes_back)};

	if (argc > 1) {
		write_all(argv[1], argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : N_NAMES);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

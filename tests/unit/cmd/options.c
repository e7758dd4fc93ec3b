/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/options.h"
#include "base/error.h"
#include "base/mem.h"
#include "line.h"
#include "test.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct args {
	bool dry, all;
	const char *file, *maybe;
	uint64_t hz, count, seconds, lines, bytes;
	struct sp_u32_list pids, cpus;
	int colour;
	char **command;
};

static const char *colour(size_t i)
{
	static const char *const names[] = {"red", "green", "blue"};

	return i < SP_COUNT(names) ? names[i] : NULL;
}

#define AT(member) .offset = offsetof(struct args, member)
static const struct sp_option options[] = {
    {SP_OPT_FLAG, 'd', "dry", NULL, "", AT(dry)},
    {SP_OPT_FLAG, 'a', "all", NULL, "", AT(all)},
    {SP_OPT_STRING, 'o', "output", "FILE", "", AT(file)},
    {SP_OPT_NUMBER, 'F', "frequency", "HZ", "", AT(hz), .min = 1, .max = 1000, .excludes = 1},
    {SP_OPT_NUMBER, 'c', "count", "N", "", AT(count), .min = 5, .max = UINT64_MAX, .excludes = 1},
    {SP_OPT_BYTES, 0, "memory", "SIZE", "", AT(bytes), .min = 1024, .max = 1ULL << 40},
    {SP_OPT_LIST, 'p', "pid", "PID", "", AT(pids), .min = 1, .max = 1000, .excludes = 2},
    {SP_OPT_RANGES, 'C', "cpu", "CPU", "", AT(cpus), .min = 0, .max = 100000},
    {SP_OPT_STRING, 'm', "maybe", "[GLOB]", "", AT(maybe), .without = "none"},
    {SP_OPT_CHOICE, 0, "colour", "C", "", AT(colour), .choice = colour},
    {SP_OPT_OPERAND, 0, NULL, "SECONDS", "", AT(seconds), .min = 1, .max = 60},
    {SP_OPT_OPERAND, 0, NULL, "LINES", "", AT(lines), .min = 1, .max = 60},
    {SP_OPT_COMMAND, 0, NULL, "COMMAND", "", AT(command), .excludes = 2},
    {0},
};

static int parse(const char *line, struct args *ret_args)
{
	static char *argv[LINE_WORDS];
	int argc = line_split(line, 0, argv);

	*ret_args = (struct args){.colour = -1};
	sp_error_clear();
	return sp_options_parse(options, argc, argv, ret_args);
}

static void done(struct args *a)
{
	sp_u32_list_done(&a->pids);
	sp_u32_list_done(&a->cpus);
}

static void refused(const char *line, const char *message)
{
	struct args a;

	assert_int_equal(parse(line, &a), -EINVAL);
	assert_string_equal(sp_error_text(-EINVAL), message);
	done(&a);
}

static void test_every_way_to_write_an_option(void **state)
{
	static const char *const lines[] = {
	    "-d -F 99 -o x 10",
	    "10 -dF99 -ox",
	    "-dF=99 10 -o=x",
	    "--dry --frequency 99 --output x 10",
	    "10 --dry --frequency=99 --output=x",
	    "--dr --freq=99 --o x 10",
	};

	for (size_t i = 0; i < SP_COUNT(lines); i++) {
		struct args a;
		assert_int_equal(parse(lines[i], &a), SP_PARSED);
		assert_true(a.dry);
		assert_false(a.all);
		assert_int_equal(a.hz, 99);
		assert_string_equal(a.file, "x");
		assert_int_equal(a.seconds, 10);
		assert_null(a.command);
	}
}

/* What begins with a dash and a digit is a time, say; tables without such a letter take it for a value. */
static void test_dash_and_digit(void **state)
{
	struct args a;

	assert_int_equal(parse("-o -15m 10", &a), SP_PARSED);
	assert_string_equal(a.file, "-15m");
	assert_int_equal(a.seconds, 10);
	refused("-15m", "SECONDS: '-15m' is not a whole number");
}

static void test_value_that_may_be_left_out(void **state)
{
	static const struct {
		const char *line, *value;
	} cases[] = {{"--maybe", "none"},  {"--maybe x*", "x*"}, {"-m x", "x"},   {"-mx", "x"},
		     {"-m --dry", "none"}, {"--maybe=x 5", "x"}, {"-dm", "none"}, {"-m -- ls", "none"}};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct args a;

		assert_int_equal(parse(cases[i].line, &a), SP_PARSED);
		assert_string_equal(a.maybe, cases[i].value);
	}
}

static void test_command_after_dashes(void **state)
{
	struct args a;

	assert_int_equal(parse("5 -d -- ls -F --dry --", &a), SP_PARSED);
	assert_true(a.dry);
	assert_int_equal(a.hz, 0);
	assert_int_equal(a.seconds, 5);
	assert_string_equal(a.command[0], "ls");
	assert_string_equal(a.command[1], "-F");
	assert_string_equal(a.command[3], "--");
	assert_null(a.command[4]);
	refused("-d --", "there is no command after --");
	refused("-p 1 -- ls", "-p and -- COMMAND exclude each other");
}

static void test_lists(void **state)
{
	struct args a;

	assert_int_equal(parse("-p 7,3,7,1000", &a), SP_PARSED);
	assert_int_equal(a.pids.n, 3);
	assert_int_equal(a.pids.values[0], 3);
	assert_int_equal(a.pids.values[2], 1000);
	done(&a);
	assert_int_equal(parse("-C 0-3,8,2-4 -C 9,1", &a), SP_PARSED); /* the last counts */
	assert_int_equal(a.cpus.n, 2);
	assert_int_equal(a.cpus.values[0], 1);
	done(&a);
	assert_int_equal(parse("-C 0-3,8,2-4", &a), SP_PARSED);
	assert_int_equal(a.cpus.n, 6);
	assert_int_equal(a.cpus.values[5], 8);
	done(&a);
	refused("-p 1,,2", "-p: '' in '1,,2' is not a whole number");
	refused("-p 1,x2", "-p: 'x2' in '1,x2' is not a whole number");
	refused("-p 1-3", "-p: '1-3' is not a whole number");
	refused("-p 0", "-p must be 1 to 1000, not 0");
	refused("-C 3-1", "-C: '3-1' ends before it begins");
	refused("-C 1-", "-C: '' in '1-' is not a whole number");
	refused("-C 0-99999", "-C takes at most 4096 numbers");
}

static void test_numbers(void **state)
{
	struct args a;

	assert_int_equal(parse("--memory 24M -c 18446744073709551615", &a), SP_PARSED);
	assert_int_equal(a.bytes, 24 << 20);
	assert_true(a.count == UINT64_MAX);
	assert_int_equal(parse("--memory 1024", &a), SP_PARSED);
	assert_int_equal(a.bytes, 1024);
	refused("-F 0", "-F must be 1 to 1000, not 0");
	refused("-F 1001", "-F must be 1 to 1000, not 1001");
	refused("-F 99999999999999999999999", "-F must be 1 to 1000, not 99999999999999999999999");
	refused("--freq=+9", "--freq: '+9' is not a whole number");
	refused("-F 0x10", "-F: '0x10' is not a whole number");
	refused("-F 9.5", "-F: '9.5' is not a whole number");
	refused("-c 4", "-c must be at least 5, not 4");
	refused("--memory 1023", "--memory must be 1K to 1024G, not 1023");
	refused("--memory M", "--memory: 'M' is not a size such as 512K, 24M or 1G");
	refused("--memory 1T", "--memory: '1T' is not a size such as 512K, 24M or 1G");
	refused("--memory 99999999999G", "--memory must be 1K to 1024G, not 99999999999G");
	refused("ten", "SECONDS: 'ten' is not a whole number");
	refused("61", "SECONDS must be 1 to 60, not 61");
}

static void test_choices(void **state)
{
	struct args a;

	assert_int_equal(parse("--colour blue", &a), SP_PARSED);
	assert_int_equal(a.colour, 2);
	refused("--colour gren", "--colour: 'gren' is none of red, green, blue; did you mean green?");
	refused("--colour mauve", "--colour: 'mauve' is none of red, green, blue");
}

static void test_bad_options(void **state)
{
	refused("--fequency 9", "unknown option --fequency; did you mean --frequency?");
	refused("--zzz", "unknown option --zzz");
	refused("-z", "unknown option -z");
	refused("-dz", "unknown option -z in -dz");
	refused("--=3", "unknown option --");
	refused("--co 1", "--co is ambiguous: --count --colour");
	refused("-F", "-F needs a value: HZ");
	refused("-o -d", "-o needs a value: FILE");
	refused("-F -5", "-F: '-5' is not a whole number"); /* which is no option: a time may begin so */
	refused("--output --", "--output needs a value: FILE");
	refused("--output=", "--output: the value is empty");
	refused("--dry=1", "--dry takes no value");
	refused("-F 9 --count 9", "-F and --count exclude each other");
	refused("-c9 -F9", "-c and -F exclude each other");
	refused("1 2 3", "unexpected argument '3' (a command to run comes after --)");
}

static void test_help_stops_reading(void **state)
{
	struct args a;

	assert_int_equal(parse("-d --help --zzz", &a), SP_PARSED_HELP);
	assert_int_equal(parse("-h", &a), SP_PARSED_HELP);
	assert_int_equal(parse("-dh", &a), SP_PARSED_HELP);
	assert_int_equal(parse("-- ls --help", &a), SP_PARSED);
}

static void operands_are_gathered(void **state)
{
	struct gathered {
		bool dry;
		struct sp_words files;
	} args = {0};
	static const struct sp_option table[] = {
	    {SP_OPT_FLAG, 'd', "dry", NULL, "", .offset = offsetof(struct gathered, dry)},
	    {SP_OPT_OPERANDS, 0, NULL, "FILE", "", .offset = offsetof(struct gathered, files)},
	    {0},
	};
	char a[] = "a", d[] = "-d", minus[] = "-", end[] = "--", x[] = "-x";
	char *argv[] = {a, d, minus, end, x, NULL};
	assert_int_equal(sp_options_parse(table, 5, argv, &args), 0);
	assert_true(args.dry);
	assert_int_equal(args.files.n, 3);
	assert_string_equal(args.files.words[0], "a");
	assert_string_equal(args.files.words[1], "-");
	assert_string_equal(args.files.words[2], "-x");
	sp_words_done(&args.files);
	assert_int_equal(args.files.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(operands_are_gathered),
	    cmocka_unit_test(test_every_way_to_write_an_option),
	    cmocka_unit_test(test_dash_and_digit),
	    cmocka_unit_test(test_value_that_may_be_left_out),
	    cmocka_unit_test(test_command_after_dashes),
	    cmocka_unit_test(test_lists),
	    cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_choices),
	    cmocka_unit_test(test_bad_options),
	    cmocka_unit_test(test_help_stops_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

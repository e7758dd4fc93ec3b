/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/profile/profile_args.h"
#include "base/error.h"
#include "line.h"
#include "test.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int parse(const char *line, struct sp_profile_args *ret_args)
{
	static char *argv[LINE_WORDS];
	int argc = line_split(line, 0, argv);

	sp_error_clear();
	return sp_profile_args_parse(argc, argv, ret_args);
}

static struct sp_profile_args good(const char *line)
{
	struct sp_profile_args a;
	int r = parse(line, &a);

	if (r != SP_PARSED)
		fail_msg("%s: %s", line, sp_error_text(r));
	return a;
}

static void refused(const char *line, const char *message)
{
	struct sp_profile_args a;

	assert_int_equal(parse(line, &a), -EINVAL);
	assert_string_equal(sp_error_text(-EINVAL), message);
	sp_profile_args_done(&a);
}

static void test_defaults(void **state)
{
	struct sp_profile_args a = good("");

	assert_int_equal(a.frequency_hz, 49);
	assert_int_equal(a.period, 0);
	assert_int_equal(a.duration_s, 0);
	assert_int_equal(a.stack_storage, 16384);
	assert_int_equal(a.hash_storage, 40960);
	assert_int_equal(a.max_memory_bytes, 24 << 20);
	assert_int_equal(a.by, -1);
	assert_int_equal(a.unwind, SP_UNWIND_AUTO);
	assert_string_equal(a.view->name, "text");
	assert_ptr_equal(a.recipes.recipes[0], &sp_recipe_cpu);
	assert_null(a.command);
}

/* The examples of bcc's profile, and every option of it by its long name. */
static void test_command_lines_of_bcc(void **state)
{
	static const char *const lines[] = {
	    "-F 99",
	    "-c 1000000",
	    "5",
	    "-f 5",
	    "-U",
	    "-K",
	    "-dF 99 -f 5",
	    "-F 99 -adf 60",
	    "--user-stacks-only",
	    "--kernel-stacks-only --frequency 99 --delimited --annotations --include-idle --folded",
	    "--count 1000000",
	    "--stack-storage-size 2048 --hash-storage-size 10240 -C 0 --address",
	    "--cpu 0 --folded 10",
	    "-I",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct sp_profile_args a = good(lines[i]);
		sp_profile_args_done(&a);
	}
}

static void test_targets(void **state)
{
	char line[64];
	struct sp_profile_args a;
	pid_t gone = fork();

	if (gone == 0)
		_exit(0);
	assert_int_equal(waitpid(gone, NULL, 0), gone);
	snprintf(line, sizeof(line), "-p %d,%d", getpid(), getppid() ? getppid() : getpid());
	a = good(line);
	assert_true(a.pids.n >= 1);
	sp_profile_args_done(&a);
	snprintf(line, sizeof(line), "-p %d", gone);
	assert_int_equal(parse(line, &a), -ESRCH);
	assert_non_null(strstr(sp_error_text(-ESRCH), "-p: there is no process"));
	sp_profile_args_done(&a);
	snprintf(line, sizeof(line), "--tid=%d", gone);
	assert_int_equal(parse(line, &a), -ESRCH);
	sp_profile_args_done(&a);
	snprintf(line, sizeof(line), "-L %d -- true", gettid());
	refused(line, "-L and -- COMMAND exclude each other");
	snprintf(line, sizeof(line), "-L %d -p 1", gettid());
	refused(line, "-L and -p exclude each other");
	snprintf(line, sizeof(line), "-C %ld", sysconf(_SC_NPROCESSORS_CONF));
	assert_int_equal(parse(line, &a), -EINVAL);
	assert_non_null(strstr(sp_error_text(-EINVAL), "-C: there is no CPU"));
	sp_profile_args_done(&a);
}

static void test_rate(void **state)
{
	struct sp_profile_args a = good("-c 10000");

	assert_int_equal(a.frequency_hz, 0);
	assert_int_equal(a.period, 10000);
	a = good("-e cycles -c 77");
	assert_string_equal(a.recipes.recipes[0]->name, "cycles");
	assert_string_equal(a.recipes.recipes[0]->points[0].where, "cycles");
	sp_profile_args_done(&a);
	refused("-c 9999", "-c must be at least 10000 (nanoseconds) with cpu-clock, not 9999");
	refused("-F 0", "-F must be 1 to 100000, not 0");
	refused("-F 99 -c 1000000", "-F and -c exclude each other");
	refused("-UK", "-U and -K exclude each other");
}

#define EVENTS                                                                                                         \
	"cpu, offcpu, wall, locks, faults, mem, cpu-clock, task-clock, cycles, instructions, cache-references, "       \
	"cache-misses, branches, branch-misses, page-faults, minor-faults, major-faults, context-switches, "           \
	"cpu-migrations, alignment-faults, emulation-faults, and tracepoints, SYSTEM:EVENT, and functions, "           \
	"LIBRARY:FUNCTION"

/* Recipes, perf events and tracepoints, several at once, each once; and what is counted has neither rate nor period. */
static void test_events(void **state)
{
	struct sp_profile_args a = good("-e task-clock,faults,syscalls:sys_enter_openat,cycles");

	assert_int_equal(a.recipes.n, 4);
	assert_ptr_equal(a.recipes.recipes[0], &sp_recipe_cpu);
	assert_string_equal(a.recipes.event, "task-clock");
	assert_string_equal(a.recipes.recipes[1]->name, "faults");
	assert_string_equal(a.recipes.recipes[2]->points[0].where, "sys_enter");
	assert_string_equal(a.recipes.recipes[2]->values[1].name, "syscalls:sys_enter_openat");
	assert_string_equal(a.recipes.recipes[3]->name, "cycles");
	assert_null(a.recipes.recipes[4]);
	sp_profile_args_done(&a);
	refused("-e cpu,cpu-clock", "-e: cpu, cpu-clock, task-clock: one of them, once");
	refused("-e faults,faults", "-e: faults is there twice");
	a = good("-e cpu,offcpu --min 7");
	assert_string_equal(a.recipes.recipes[1]->name, "offcpu");
	assert_int_equal(a.min_us, 7);
	sp_profile_args_done(&a);
	a = good("-e page-faults,cycles");
	assert_int_equal(a.recipes.recipes[0]->period, 1); /* each one */
	assert_int_equal(a.recipes.recipes[1]->period, 0);
	sp_profile_args_done(&a);
	a = good("-e page-faults -F 99");
	assert_int_equal(a.recipes.recipes[0]->period, 0);
	sp_profile_args_done(&a);
	refused("-e offcpu,wall", "-e: wall is cpu and offcpu as one value: it goes without them");
	refused("-e cpu --min 7", "--min is for events that last: offcpu, wall, locks");
	refused("-e cpu,", "-e: an event's name is missing between or behind the commas");
	refused("-e zyxwvuts", "-e: there is no event 'zyxwvuts'; there are " EVENTS);
	refused("-e sched:", "-e: 'sched:' is no tracepoint: SYSTEM:EVENT");
	refused("-e ../x:y",
		"-e: there is no library or program '../x': no process maps it, and ld.so would not find it");
	refused("-e syscalls:sys_enter_zyxwvutsrqponmlkjihgfedcba",
		"-e: this kernel has no tracepoint syscalls:sys_enter_zyxwvutsrqponmlkjihgfedcba");
	refused("-e cpu,faults -c 5", "-c is for one event, not 2");
	refused("-e faults -F 99", "-F is not for faults, of which every event counts");
	refused("-e syscalls:sys_exit_read -c 7", "-c is not for syscalls:sys_exit_read, of which every event counts");
	refused("-e cycle", "-e: there is no event 'cycle'; did you mean cycles?");
}

static void test_views(void **state)
{
	struct sp_profile_args a = good("-f");

	assert_string_equal(a.view->name, "folded");
	a = good("-o out.pb.gz");
	assert_string_equal(a.view->name, "pprof");
	a = good("--format folded -o out.pb.gz");
	assert_string_equal(a.view->name, "folded");
	assert_string_equal(a.output, "out.pb.gz");
	refused("-f --format text", "-f and --format exclude each other");
	refused("-f --by library", "--by is for the views table, csv and json, not folded");
	assert_int_equal(parse("-o x.docx", &a), -EINVAL);
	assert_non_null(strstr(sp_error_text(-EINVAL), "-o x.docx: no view has this suffix; give --format, or one of"));
}

static void test_the_rest(void **state)
{
	struct sp_profile_args a =
	    good("-l libz.so.1 --comm py* --cgroup /a --unwind fp --max-memory 48M -vA 3 -- x -v");

	assert_string_equal(a.library, "libz.so.1");
	assert_string_equal(a.comm, "py*");
	assert_string_equal(a.cgroup, "/a");
	assert_int_equal(a.unwind, SP_UNWIND_FP);
	assert_int_equal(a.max_memory_bytes, 48 << 20);
	assert_true(a.verbose && a.addresses);
	assert_int_equal(a.duration_s, 3);
	assert_string_equal(a.command[1], "-v");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_defaults), cmocka_unit_test(test_command_lines_of_bcc),
	    cmocka_unit_test(test_targets),  cmocka_unit_test(test_rate),
	    cmocka_unit_test(test_events),   cmocka_unit_test(test_views),
	    cmocka_unit_test(test_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

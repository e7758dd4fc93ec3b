/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is asked of an event, made into the configuration of its program: lists of expressions are cut at their commas;
 * numbers have the lowest registers, and everything a place of its own in a key or record, in the order in which it is
 * shown; mistakes are told with their place. The events are raw tracepoints, whose arguments everybody may read.
 */
#include "trace/spec.h"

#include "base/error.h"
#include "base/mem.h"
#include "recipe/types.h"
#include "test.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define EXEC "raw:sched_process_exec"

static void need_types(void)
{
	if (!access("/sys/kernel/btf/vmlinux", R_OK))
		return;
	print_message("skip: the kernel shows no types\n");
	skip();
}

static int make(const char *event, struct sp_trace_asked asked, struct sp_trace_spec *s)
{
	static struct sp_types types; /* read once */

	return sp_trace_spec_make(event, &asked, &types, s);
}

static void test_lists_are_cut(void **state)
{
	static const struct {
		const char *list;
		size_t n;
	} lists[] = {
	    {"a,b", 1},
	    {"a", 1},
	    {"", 0},
	    {"x in {1, 2},b", 11},
	    {"comm == \"a,b\",c", 13},
	    {"(a,b),c", 5},
	    {"a[1,2]", 6},
	    {"\"\\\",\",b", 5},
	    {"),b", 1},
	    {"\"open,", 6},
	};

	for (size_t i = 0; i < SP_COUNT(lists); i++)
		assert_int_equal(sp_trace_list_length(lists[i].list), lists[i].n);
}

static void test_keys_have_places(void **state)
{
	struct sp_trace_spec s;

	need_types();
	assert_int_equal(make(EXEC "[old_pid > 1]",
			      (struct sp_trace_asked){.by = "comm, bprm->filename,old_pid ,n=old_pid * 2",
						      .hist = "old_pid",
						      .sum = "old_pid,twice=2 * old_pid"},
			      &s),
			 0);
	assert_int_equal(s.n_columns, 4);
	assert_string_equal(s.columns[0].name, "comm");
	assert_string_equal(s.columns[1].name, "bprm->filename");
	assert_string_equal(s.columns[2].name, "old_pid");
	assert_string_equal(s.columns[3].name, "n");
	/* the word of point and bucket, two numbers, the thread's name, the text */
	assert_int_equal(s.columns[2].at, 8);
	assert_int_equal(s.columns[3].at, 16);
	assert_int_equal(s.columns[0].at, 24);
	assert_int_equal(s.config.comm_at, 24);
	assert_int_equal(s.columns[1].at, 40);
	assert_int_equal(s.config.text[0].at, 40);
	assert_int_equal(s.key_bytes, 40 + SP_TRACE_KEY_TEXT);
	assert_int_equal(s.config.n_numbers, 2);
	assert_int_equal(s.config.text[0].reg, 2);
	assert_int_equal(s.config.hist, 3);
	assert_int_equal(s.config.sum[0], 4);
	assert_int_equal(s.config.sum[1], 5);
	assert_string_equal(s.sums[0].name, "sum(old_pid)");
	assert_string_equal(s.sums[1].name, "twice");
	assert_int_equal(s.columns[0].as, SP_TRACE_AS_COMM);
	assert_int_equal(s.columns[1].as, SP_TRACE_AS_TEXT);
	assert_int_equal(s.columns[2].as, SP_TRACE_AS_NUMBER);
	sp_trace_spec_done(&s);
}

/* By themselves all arguments are told; numbers and addresses come before texts in a record, and not in a line. */
static void test_records_have_places(void **state)
{
	struct sp_trace_spec s;

	need_types();
	assert_int_equal(make(EXEC, (struct sp_trace_asked){.tells = true}, &s), 0);
	assert_int_equal(s.n_columns, 3);
	assert_string_equal(s.columns[0].name, "p");
	assert_string_equal(s.columns[1].name, "old_pid");
	assert_int_equal(s.columns[0].as, SP_TRACE_AS_ADDRESS);
	assert_int_equal(s.columns[1].at, sizeof(struct sp_trace_record) + 8);
	assert_null(s.left_out);
	sp_trace_spec_done(&s);
	assert_int_equal(
	    make(EXEC, (struct sp_trace_asked){.print = "file=bprm->filename,tid,ustr(old_pid)", .tells = true}, &s),
	    0);
	assert_string_equal(s.columns[0].name, "file");
	assert_int_equal(s.columns[1].at, sizeof(struct sp_trace_record));
	assert_int_equal(s.columns[0].at, sizeof(struct sp_trace_record) + 8);
	assert_int_equal(s.columns[2].at, sizeof(struct sp_trace_record) + 8 + SP_TRACE_TEXT);
	assert_int_equal(s.config.text[0].from, SP_TRACE_TEXT_KERNEL);
	assert_int_equal(s.config.text[1].from, SP_TRACE_TEXT_USER);
	assert_int_equal(s.config.record_bytes, sizeof(struct sp_trace_record) + 8 + 2 * SP_TRACE_TEXT);
	sp_trace_spec_done(&s);
}

static void test_mistakes_are_told(void **state)
{
	static const struct {
		const char *event, *by, *sum, *hist;
		size_t at;
		const char *words;
	} mistakes[] = {
	    {EXEC, "a1", NULL, NULL, 0, "has no field 'a1'; it has old_pid, p, bprm"},
	    {EXEC, "comm,", NULL, NULL, 5, "an expression is missing"},
	    {EXEC, "comm, , pid", NULL, NULL, 6, "an expression is missing"},
	    {EXEC, "pid,old_pd", NULL, NULL, 4, "did you mean old_pid"},
	    {EXEC, NULL, "pid,tid,cpu", NULL, 8, "--sum takes at most 2"},
	    {EXEC, NULL, NULL, "pid,tid", 4, "--hist takes at most 1"},
	    {EXEC, "p->comm,bprm->filename", NULL, NULL, 8, "at most 1 of the keys may be texts"},
	    {EXEC, "pid,tid,cpu,uid,gid,pid + 1,tid + 1,pid - 1,tid - 1", NULL, NULL, 44, "8 numbers"},
	    {EXEC "{pid}", NULL, NULL, NULL, 23, "--sum"},
	    {EXEC "[pid", NULL, NULL, NULL, 22, "has no ']'"},
	    {EXEC "[pid ==]", NULL, NULL, NULL, 29, ""},
	};

	need_types();
	for (size_t i = 0; i < SP_COUNT(mistakes); i++) {
		struct sp_trace_spec s;
		size_t at = 0;

		assert_int_equal(make(mistakes[i].event,
				      (struct sp_trace_asked){
					  .by = mistakes[i].by, .sum = mistakes[i].sum, .hist = mistakes[i].hist},
				      &s),
				 -EINVAL);
		assert_non_null(sp_error_where(-EINVAL, &at));
		if (!strstr(sp_error_text(-EINVAL), mistakes[i].words) || at != mistakes[i].at)
			fail_msg("mistake %zu at %zu: %s", i, at, sp_error_text(-EINVAL));
		sp_error_clear();
	}
}

/* By the call, by the tracepoint of the call's end, or by the column of the call's number beside it. */
static void test_results_are_known_by_their_call(void **state)
{
	struct sp_trace_spec s;

	assert_int_equal(sp_trace_meaning("syscalls:sys_exit_mmap", "ret", 3), SP_TRACE_AS_PLACE);
	assert_int_equal(sp_trace_meaning("syscalls:sys_exit_munmap", "ret", 3), SP_TRACE_AS_RESULT);
	need_types();
	assert_int_equal(make("syscalls", (struct sp_trace_asked){.print = "ret,call=sys,dur", .tells = true}, &s), 0);
	assert_int_equal(s.columns[0].as, SP_TRACE_AS_RESULT);
	assert_int_equal(s.columns[1].as, SP_TRACE_AS_CALL);
	assert_int_equal(s.columns[0].call_at, s.columns[1].at);
	assert_int_equal(s.columns[2].call_at, 0);
	sp_trace_spec_done(&s);
	assert_int_equal(make("syscalls", (struct sp_trace_asked){.print = "ret,dur", .tells = true}, &s), 0);
	assert_int_equal(s.columns[0].call_at, 0);
	sp_trace_spec_done(&s);
}

static void test_names_are_checked(void **state)
{
	struct sp_trace_spec s;

	assert_int_equal(make("cpu", (struct sp_trace_asked){.by = "comm"}, &s), -EINVAL);
	assert_non_null(strstr(sp_error_text(-EINVAL), "no event that can be traced"));
	sp_error_clear();
	assert_int_equal(
	    make(EXEC, (struct sp_trace_asked){.comm = "a name that is far too long for any thread of all"}, &s),
	    -EINVAL);
	sp_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lists_are_cut),       cmocka_unit_test(test_keys_have_places),
	    cmocka_unit_test(test_records_have_places), cmocka_unit_test(test_mistakes_are_told),
	    cmocka_unit_test(test_names_are_checked),   cmocka_unit_test(test_results_are_known_by_their_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

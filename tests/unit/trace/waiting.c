/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records that are not taken yet, since their stacks are not known, say, are held back up to a limit. Those beyond it
 * stay in the ring, and come in their order once there is room. Needs root.
 */
#include "trace/tracing.h"

#include "base/error.h"
#include "recipe/types.h"
#include "test.h"
#include "trace/tracing_priv.h"
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME "trace-waiting"
enum { N_EVENTS = 100000, MOST = 1 << 16, RING_BYTES = 16 << 20 };

static bool takes;
static uint64_t n_given, n_lost, last_ns;

static int take(void *arg, const struct sp_trace_record *record, uint64_t lost)
{
	if (!takes)
		return 1;
	n_lost += lost;
	if (!record)
		return 0;
	assert_true(record->ns >= last_ns);
	last_ns = record->ns;
	n_given++;
	return 0;
}

static void test_waiting(void **state)
{
	const struct sp_trace_asked asked = {.print = "id", .comm = NAME, .tells = true};
	struct sp_trace_spec spec;
	struct sp_tracing_options o = {
	    .specs = &spec, .n_specs = 1, .tells = true, .max_rows = 1, .ring_bytes = RING_BYTES};
	struct sp_types types = {0};
	struct sp_tracing *t = NULL;

	if (geteuid() || access("/sys/kernel/btf/vmlinux", R_OK)) {
		print_message("skip: needs root, and the kernel's types\n");
		skip();
	}
	prctl(PR_SET_NAME, NAME);
	if (sp_trace_spec_make("raw:sys_enter[id == 110]", &asked, &types, &spec) < 0) /* getppid */
		fail_msg("%s", sp_error_text(-1));
	if (sp_tracing_new(&o, &t) < 0 || sp_tracing_attach(t) < 0)
		fail_msg("%s", sp_error_text(-1));
	for (int i = 0; i < N_EVENTS; i++)
		syscall(SYS_getppid);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(sp_tracing_records(t, false, take, NULL), 0);
		assert_int_equal(t->n_waiting, MOST);
	}
	sp_tracing_detach(t);
	takes = true;
	assert_int_equal(sp_tracing_records(t, true, take, NULL), 0);
	assert_int_equal(n_given, N_EVENTS);
	assert_int_equal(n_lost, 0);
	sp_tracing_free(t);
	sp_trace_spec_done(&spec);
	sp_types_done(&types);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_waiting)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

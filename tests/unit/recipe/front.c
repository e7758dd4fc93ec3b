/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of ops as the kernel runs them: each is loaded as a front of its own, specialised by the verifier, and run once
 * by hand. It ends with the number that the plainest evaluator gave for it, which the event must have to be wanted;
 * with another number it must not be. Needs root.
 */
#include "recipe/front.h"

#include "evaluator.h"
#include "numbers.h"

#include "base/error.h"
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
// clang-format off
#include <cmocka.h>
// clang-format on

enum { N_LISTS = 60 / SP_FEWER, N_SCRATCHES = 4, ROOM = 32 << 10 /* for a scratch: the most that such a map takes */ };
enum { WANTED = 1 /* what the sink returns */ };

/* The session's maps, and a sink that only says that it was entered. False: not allowed. */
static bool maps_open(struct sp_front_maps *m)
{
	const struct bpf_insn entered[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = WANTED},
					   {.code = BPF_JMP | BPF_EXIT}};

	*m = (struct sp_front_maps){0};
	m->scratch = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, NULL, 4, ROOM, N_SCRATCHES, NULL);
	m->counters = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, NULL, 4, 8 * SP_N_COUNTERS, 1, NULL);
	m->sink = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "entered", "GPL", entered, 2, NULL);
	return m->scratch >= 0 && m->counters >= 0 && m->sink >= 0;
}

static void maps_close(struct sp_front_maps *m)
{
	int *all[] = {&m->scratch, &m->counters, &m->sink};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (*all[i] >= 0)
			close(*all[i]);
}

/* Whether the event was wanted. */
static bool run(const struct sp_op *ops, const sp_u64 *arguments)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = arguments, .ctx_size_in = SP_N_ARGUMENTS * sizeof(*arguments));
	struct sp_front_slot slot = {
	    .n_arguments = SP_N_ARGUMENTS, .value = SP_NO_REG, .match = SP_NO_REG, .state = SP_NO_REG};
	struct sp_front_maps maps;
	struct sp_front *front;

	assert_true(maps_open(&maps)); /* anew: the sink gives no scratch back */
	memcpy(slot.ops, ops, sizeof(slot.ops));
	if (sp_front_load(&slot, &maps, &front) < 0)
		fail_msg("%s", sp_error_text(-EINVAL));
	assert_int_equal(bpf_prog_test_run_opts(sp_front_program(front), &opts), 0);
	sp_front_free(front);
	maps_close(&maps);
	return opts.retval == WANTED;
}

/* Behind n ops: all registers become one, which must be `sum`. */
static void demand(struct sp_op *ops, size_t n, sp_u64 sum)
{
	for (sp_u8 r = 1; r < SP_N_OP_REGS; r++)
		ops[n++] = (struct sp_op){.kind = SP_OP_ADD, .a = 0, .b = r};
	ops[n++] = (struct sp_op){.kind = SP_OP_EQ, .a = 0, .b = SP_OP_IMM, .imm = sum};
	ops[n++] = (struct sp_op){.kind = SP_OP_NEED, .a = 0};
	assert_true(n <= SP_N_OPS);
}

static bool may(void)
{
	struct sp_front_maps maps;
	bool ok = maps_open(&maps);

	maps_close(&maps);
	if (!ok) {
		print_message("skip: needs root\n");
		skip();
	}
	return ok;
}

static void arithmetic(void **state)
{
	(void)state;
	may();
	for (unsigned i = 0; i < N_LISTS; i++) {
		/* what demand() adds makes the list full, or fills the object for short lists */
		const size_t N = (i % 4 ? SP_N_OPS : SP_N_OPS_SHORT) - SP_N_OP_REGS - 1;
		struct sp_op ops[SP_N_OPS] = {0};
		struct sp_op_env env = {0};
		sp_u64 r[SP_N_OP_REGS] = {0}, sum = 0;

		for (size_t k = 0; k < SP_N_ARGUMENTS; k++)
			env.argument[k] = odd_number();
		for (size_t k = 0; k < N; k++) {
			uint64_t n = random_number();
			sp_u8 first = SP_OP_ADD, kind = (sp_u8)(first + (i * N + k) % (SP_N_OP_KINDS - first));

			ops[k] = (struct sp_op){.kind = k < 5 ? SP_OP_ARGUMENT : kind,
						.dst = (sp_u8)(k < 5 ? k : n % SP_N_OP_REGS),
						.a = (sp_u8)((n >> 8) % SP_N_OP_REGS),
						.b = (sp_u8)((n >> 16) % 3 ? (n >> 24) % SP_N_OP_REGS : SP_OP_IMM),
						.imm = k < 5 ? n % SP_N_ARGUMENTS : odd_number()};
			if (k > 5 && n >> 32 & 1)
				ops[k] = (struct sp_op){.kind = (sp_u8)(SP_OP_ZERO_EXTEND + (n >> 33 & 1)),
							.dst = ops[k].dst,
							.a = ops[k].a,
							.size = (sp_u32)(n >> 40) % 66};
		}
		assert_true(plain_run(&env, ops, r));
		for (size_t k = 0; k < SP_N_OP_REGS; k++)
			sum += r[k];
		demand(ops, N, sum);
		if (!run(ops, env.argument))
			fail_msg("list %u: the kernel computed something else", i);
		ops[N + SP_N_OP_REGS - 1].imm++;
		if (run(ops, env.argument))
			fail_msg("list %u: the kernel wants what is not wanted", i);
	}
}

static sp_u32 offset_of(const struct btf *btf, const char *type, const char *field)
{
	const struct btf_type *t = btf__type_by_id(btf, (sp_u32)btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT));

	for (sp_u32 i = 0; i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), field))
			return btf_member_bit_offset(t, i) / 8;
	fail_msg("%s has no %s", type, field);
	return 0;
}

/* What is known of ourselves, by the kernel's helpers and in its memory. */
static void surroundings(void **state)
{
	sp_u64 comm[2] = {0};
	struct {
		sp_u32 builtin;
		sp_u64 value;
	} known[] = {{SP_BUILTIN_PID, (sp_u64)getpid()},
		     {SP_BUILTIN_TID, (sp_u64)syscall(SYS_gettid)},
		     {SP_BUILTIN_UID, getuid()},
		     {SP_BUILTIN_GID, getgid()},
		     {SP_BUILTIN_COMM, 0},
		     {SP_BUILTIN_COMM_END, 0}};
	const sp_u64 arguments[SP_N_ARGUMENTS] = {0};
	struct btf *btf;

	(void)state;
	may();
	prctl(PR_SET_NAME, "of 15 character");
	prctl(PR_GET_NAME, comm);
	known[4].value = comm[0];
	known[5].value = comm[1];
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct sp_op ops[SP_N_OPS] = {{.kind = SP_OP_BUILTIN, .imm = known[i].builtin}};

		demand(ops, 1, known[i].value);
		assert_true(run(ops, arguments));
	}
	btf = btf__load_vmlinux_btf();
	assert_non_null(btf);
	struct sp_op tid[SP_N_OPS] = {
	    {.kind = SP_OP_BUILTIN, .imm = SP_BUILTIN_TASK},
	    {.kind = SP_OP_LOAD, .size = 4, .imm = offset_of(btf, "task_struct", "pid")},
	};
	btf__free(btf);
	demand(tid, 2, (sp_u64)syscall(SYS_gettid));
	assert_true(run(tid, arguments));
	struct sp_op nowhere[SP_N_OPS] = {{.kind = SP_OP_LOAD, .a = 1, .size = 8, .imm = 16}};
	demand(nowhere, 1, 0);
	assert_true(run(nowhere, arguments));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(arithmetic),
	    cmocka_unit_test(surroundings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

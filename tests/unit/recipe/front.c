/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fronts as the kernel runs them, loaded and run by hand. Lists of ops: each is specialised by the verifier; it ends
 * with the number that the plainest evaluator gave for it, which the event must have to be wanted; with another number
 * it must not be. Stamps: a thread that leaves its CPU and is back, which is ourselves, and what the sink is told of
 * it. Needs root.
 */
#include "recipe/front.h"

#include "evaluator.h"
#include "numbers.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "event/guard.h"
#include "test.h"
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

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
	struct sp_front_slot slot = {.n_arguments = SP_N_ARGUMENTS,
				     .value = SP_NO_REG,
				     .match = SP_NO_REG,
				     .state = SP_NO_REG,
				     .times = SP_NO_REG};
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

/* --- stamps --- */
enum { RECIPE = 3, MATCH = 0x1d3a5c7e, FLAGS = SP_SLOT_USER | SP_SLOT_NO_KTHREAD };
static const sp_u64 AWAY = 20000000, LONGER = 10000000000;

/* Task storage wants to know the types of its keys and values. */
static int stamps_open(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	struct btf *btf = btf__new_empty();
	int key = btf__add_int(btf, "int", 4, BTF_INT_SIGNED), word = btf__add_int(btf, "word", 8, 0), fd;

	opts.btf_key_type_id = (sp_u32)key;
	opts.btf_value_type_id = (sp_u32)btf__add_array(btf, key, word, sizeof(struct sp_stamps) / 8);
	assert_int_equal(btf__load_into_kernel(btf), 0);
	opts.btf_fd = (sp_u32)btf__fd(btf);
	fd = bpf_map_create(BPF_MAP_TYPE_TASK_STORAGE, NULL, sizeof(int), sizeof(struct sp_stamps), 0, &opts);
	btf__free(btf);
	return fd;
}

struct stamped {
	struct sp_front_slot slot;
	struct sp_guard_order order;
	int stamps, self;
	struct sp_hit hit; /* what the sink was told, if the event was wanted */
};

/* An event is wanted if its argument 0 is not 0; argument 1 is the thread's state. */
static struct stamped stamped_new(enum sp_front_role role)
{
	struct stamped s = {.slot = {.role = role,
				     .recipe = RECIPE,
				     .flags = FLAGS,
				     .n_arguments = 2,
				     .value = SP_NO_REG,
				     .match = 2,
				     .times = SP_NO_REG,
				     .state = role == SP_ROLE_LEAVE ? 1 : SP_NO_REG,
				     .ops = {{.kind = SP_OP_ARGUMENT, .dst = 0, .imm = 0},
					     {.kind = SP_OP_ARGUMENT, .dst = 1, .imm = 1},
					     {.kind = SP_OP_SET, .dst = 2, .imm = MATCH},
					     {.kind = SP_OP_NEED, .a = 0}}},
			    .order = {.one_in = 1, .times = 1},
			    .stamps = stamps_open(),
			    .self = (int)syscall(SYS_pidfd_open, getpid(), 0)};

	assert_true(s.stamps >= 0 && s.self >= 0);
	return s;
}

static void stamped_done(struct stamped *s)
{
	close(s->stamps);
	close(s->self);
}

static struct sp_stamp stamp_of(const struct stamped *s, unsigned recipe)
{
	struct sp_stamps all = {0};

	bpf_map_lookup_elem(s->stamps, &s->self, &all); /* zeros, if the thread never had one */
	return all.of[recipe];
}

static void stamp_put(const struct stamped *s, sp_u64 since_ns, sp_u64 task_state)
{
	struct sp_stamps all = {.of[RECIPE] = {since_ns, task_state}};

	assert_int_equal(bpf_map_update_elem(s->stamps, &s->self, &all, BPF_ANY), 0);
}

/* The scratch is empty but for what the front has put there: the hit is where its match stands. */
static void hit_find(int scratch, struct sp_hit *ret_hit)
{
	size_t n = (size_t)libbpf_num_possible_cpus() * ROOM;
	SP_FREE char *all = calloc(1, n);
	sp_u32 first = 0;
	const sp_u64 match = MATCH;
	char *at;

	assert_non_null(all);
	assert_int_equal(bpf_map_lookup_elem(scratch, &first, all), 0);
	at = memmem(all, n, &match, sizeof(match));
	assert_non_null(at);
	memcpy(ret_hit, at - offsetof(struct sp_hit, match), sizeof(*ret_hit));
}

/* Runs the front in this thread; whether the event was wanted. */
static bool stamped_run(struct stamped *s, bool is_met, sp_u64 task_state)
{
	const sp_u64 arguments[SP_N_ARGUMENTS] = {is_met, task_state};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = arguments, .ctx_size_in = sizeof(arguments));
	struct sp_front_maps maps;
	struct sp_front *front;
	sp_u32 recipe = RECIPE;

	assert_true(maps_open(&maps));
	maps.stamps = s->stamps;
	maps.guards = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, 4, sizeof(s->order), SP_N_GUARDS, NULL);
	LIBBPF_OPTS(bpf_map_create_opts, lazy, .map_flags = BPF_F_NO_PREALLOC);
	maps.episodes = bpf_map_create(BPF_MAP_TYPE_HASH, NULL, sizeof(struct sp_episode_key),
				       sizeof(struct sp_episode), 65536, &lazy);
	assert_int_equal(bpf_map_update_elem(maps.guards, &recipe, &s->order, BPF_ANY), 0);
	if (sp_front_load(&s->slot, &maps, &front) < 0)
		fail_msg("%s", sp_error_text(-EINVAL));
	assert_int_equal(bpf_prog_test_run_opts(sp_front_program(front), &opts), 0);
	if (opts.retval == WANTED)
		hit_find(maps.scratch, &s->hit);
	sp_front_free(front);
	close(maps.guards);
	close(maps.episodes);
	maps_close(&maps);
	return opts.retval == WANTED;
}

static void leaving_stamps(void **state)
{
	const struct {
		sp_u64 bits;
		enum sp_task_state is;
	} states[] = {{0, SP_TASK_PREEMPTED}, {1, SP_TASK_SLEEPING}, {2, SP_TASK_DISK}, {4, SP_TASK_STOPPED}};

	may();
	struct stamped s = stamped_new(SP_ROLE_LEAVE);
	assert_false(stamped_run(&s, false, 1));
	assert_int_equal(stamp_of(&s, RECIPE).since_ns, 0); /* the event was not wanted */
	for (size_t i = 0; i < SP_COUNT(states); i++) {
		sp_u64 before = sp_time_ns(CLOCK_MONOTONIC);

		assert_false(stamped_run(&s, true, states[i].bits)); /* never goes on into the sink */
		assert_in_range(stamp_of(&s, RECIPE).since_ns, before, sp_time_ns(CLOCK_MONOTONIC));
		assert_int_equal(stamp_of(&s, RECIPE).state, states[i].is);
	}
	assert_int_equal(stamp_of(&s, RECIPE - 1).since_ns, 0);
	stamp_put(&s, 0, 0);
	s.order.times = 0; /* the guard has closed */
	assert_false(stamped_run(&s, true, 1));
	assert_int_equal(stamp_of(&s, RECIPE).since_ns, 0);
	stamped_done(&s);
}

enum others { NOBODY, TARGET, WAITING }; /* who is there: nobody, ourselves as a target, a thread's episode */

/* Whether an event of ours comes as far as the sink. */
static bool filtered_run(enum sp_front_role role, enum others who)
{
	LIBBPF_OPTS(bpf_map_create_opts, lazy, .map_flags = BPF_F_NO_PREALLOC);
	const sp_u64 arguments[SP_N_ARGUMENTS] = {MATCH};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = arguments, .ctx_size_in = sizeof(arguments));
	const struct sp_config config = {.filter = SP_TARGETS_TGID};
	const struct sp_episode_key at = {.match = MATCH, .recipe = RECIPE};
	const struct sp_episode episode = {.since_ns = 1};
	const struct sp_front_slot slot = {.ops = {{.kind = SP_OP_ARGUMENT}},
					   .role = role,
					   .recipe = RECIPE,
					   .n_arguments = 1,
					   .value = SP_NO_REG,
					   .state = SP_NO_REG,
					   .times = SP_NO_REG};
	sp_u32 self = (sp_u32)getpid(), wanted = SP_TARGET_WANTED;
	struct sp_front_maps maps;
	struct sp_front *front;

	assert_true(maps_open(&maps));
	maps.config = &config;
	maps.targets = bpf_map_create(BPF_MAP_TYPE_HASH, NULL, 4, 4, SP_MAX_TARGETS, &lazy);
	maps.episodes = bpf_map_create(BPF_MAP_TYPE_HASH, NULL, sizeof(at), sizeof(episode), 65536, &lazy);
	if (who == TARGET)
		assert_int_equal(bpf_map_update_elem(maps.targets, &self, &wanted, BPF_ANY), 0);
	if (who == WAITING)
		assert_int_equal(bpf_map_update_elem(maps.episodes, &at, &episode, BPF_ANY), 0);
	if (sp_front_load(&slot, &maps, &front) < 0)
		fail_msg("%s", sp_error_text(-EINVAL));
	assert_int_equal(bpf_prog_test_run_opts(sp_front_program(front), &opts), 0);
	sp_front_free(front);
	close(maps.targets);
	close(maps.episodes);
	maps_close(&maps);
	return opts.retval == WANTED;
}

/* Neither others' events come that far, nor what ends an episode that is not there. */
static void others_are_left_out(void **state)
{
	const enum sp_front_role begin[] = {SP_ROLE_EVENT, SP_ROLE_BEGIN},
				 end[] = {SP_ROLE_END, SP_ROLE_FORGET, SP_ROLE_WAKER};

	may();
	for (size_t i = 0; i < SP_COUNT(begin); i++) {
		assert_false(filtered_run(begin[i], NOBODY));
		assert_true(filtered_run(begin[i], TARGET));
	}
	for (size_t i = 0; i < SP_COUNT(end); i++) {
		assert_false(filtered_run(end[i], TARGET));
		assert_true(filtered_run(end[i], WAITING));
	}
}

/* Who was away for long enough is told to the sink, with the state of the stamp, and is stamped no more. */
static void returning_counts(void **state)
{
	sp_u64 since = sp_time_ns(CLOCK_MONOTONIC) - AWAY;

	may();
	struct stamped s = stamped_new(SP_ROLE_RETURN);
	s.slot.min_ns = AWAY / 2;
	s.slot.max_ns = LONGER;
	s.order.times = 4;
	assert_false(stamped_run(&s, true, 1)); /* it was never away */
	stamp_put(&s, since, SP_TASK_DISK);
	assert_false(stamped_run(&s, false, 1));
	assert_int_equal(stamp_of(&s, RECIPE).since_ns, since); /* that was not its return */
	assert_true(stamped_run(&s, true, 1));
	assert_int_equal(stamp_of(&s, RECIPE).since_ns, 0);
	assert_in_range(s.hit.value, AWAY, sp_time_ns(CLOCK_MONOTONIC) - since);
	assert_int_equal(s.hit.role, SP_ROLE_RETURN);
	assert_int_equal(s.hit.recipe, RECIPE);
	assert_int_equal(s.hit.flags, FLAGS);
	assert_int_equal(s.hit.state, SP_TASK_DISK);
	assert_int_equal(s.hit.times, 4);
	assert_false(stamped_run(&s, true, 1)); /* counted once */
	stamped_done(&s);
}

static void returning_leaves_out(void **state)
{
	may();
	struct stamped s = stamped_new(SP_ROLE_RETURN);
	s.slot.min_ns = LONGER;
	stamp_put(&s, sp_time_ns(CLOCK_MONOTONIC) - AWAY, SP_TASK_SLEEPING);
	assert_false(stamped_run(&s, true, 1)); /* too short */
	assert_int_equal(stamp_of(&s, RECIPE).since_ns, 0);
	s.slot.min_ns = 0;
	s.slot.max_ns = AWAY / 2;
	stamp_put(&s, sp_time_ns(CLOCK_MONOTONIC) - AWAY, SP_TASK_SLEEPING);
	assert_false(stamped_run(&s, true, 1)); /* too long */
	assert_int_equal(stamp_of(&s, RECIPE).since_ns, 0);
	s.slot.max_ns = 0;
	s.order.times = 0;
	stamp_put(&s, sp_time_ns(CLOCK_MONOTONIC) - AWAY, SP_TASK_SLEEPING);
	assert_false(stamped_run(&s, true, 1)); /* the guard has closed meanwhile */
	assert_int_equal(stamp_of(&s, RECIPE).since_ns, 0);
	stamped_done(&s);
}

/* Who waited since before the sampling has an episode, which ends, whatever the guard says and however long that was.
 */
static void returning_ends_an_episode(void **state)
{
	may();
	struct stamped s = stamped_new(SP_ROLE_RETURN);
	s.slot.min_ns = LONGER;
	s.order.times = 0;
	stamp_put(&s, SP_STAMP_EPISODE, SP_TASK_SLEEPING);
	assert_true(stamped_run(&s, true, 1));
	assert_int_equal(s.hit.role, SP_ROLE_END);
	assert_int_equal(s.hit.times, 1);
	assert_int_equal(stamp_of(&s, RECIPE).since_ns, 0);
	assert_false(stamped_run(&s, true, 1));
	stamped_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(arithmetic),           cmocka_unit_test(surroundings),
	    cmocka_unit_test(leaving_stamps),       cmocka_unit_test(returning_counts),
	    cmocka_unit_test(returning_leaves_out), cmocka_unit_test(returning_ends_an_episode),
	    cmocka_unit_test(others_are_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

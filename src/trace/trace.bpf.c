/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * trace.bpf.c: the program of an attach point of `soprof trace`, loaded once for each.
 *
 * It walks no stacks, so it needs nothing for which the kernel's types must be read (follow.bpf.c). Where they are
 * wanted it goes on into the sink of a session of sampling, as a front does (front.bpf.c). The points of a session
 * share the maps of the first.
 */
#define SP_ENV_HAS_PAIR
#include "bpf/event.bpf.h"
#include "bpf/scratch.bpf.h"
#include "bpf/target.bpf.h"
#include "trace/trace_wire.h"

char LICENSE[] SEC("license") = "GPL";

const volatile struct sp_trace_config sp_trace = {};

/* A row for each key, of each CPU's own: nothing is waited for. Rows are never removed while programs run. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 16);
	__uint(key_size, 8 * SP_TRACE_KEY_WORDS);
	__uint(value_size, sizeof(struct sp_trace_value));
} rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 2 * 1024 * 1024); /* more where there are more CPUs */
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SP_TRACE_N_COUNTERS);
	__uint(key_size, 4);
	__uint(value_size, 8);
} losses SEC(".maps");

/* What first points have left. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SP_TRACE_PAIRS);
	__uint(key_size, sizeof(struct sp_trace_pair_key));
	__uint(value_size, sizeof(struct sp_trace_pair));
} pairs SEC(".maps");

/* Its one element is the sink. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} sink SEC(".maps");

static __always_inline void sp_trace_lost(sp_u32 counter)
{
	sp_u64 *n = bpf_map_lookup_elem(&losses, &counter);

	if (n)
		__sync_fetch_and_add(n, 1);
}

static __always_inline int sp_trace_is_wanted(void)
{
	if (sp_trace.targets && !sp_is_target(bpf_get_current_pid_tgid() >> 32))
		return 0;
	return !sp_trace.cgroup || bpf_get_current_ancestor_cgroup_id(sp_trace.cgroup_level) == sp_trace.cgroup;
}

static __always_inline sp_u64 sp_trace_number(const sp_u64 *r, sp_u32 number)
{
	return r[number & (SP_N_OP_REGS - 1)];
}

/* So many bytes, whatever they are. Where there is no address there is no text, which is no loss. */
static __always_inline void sp_trace_bytes_read(const sp_u64 *r, sp_u32 i, char *to)
{
	void *address = (void *)sp_trace_number(r, sp_trace.text[i].reg);
	sp_u64 n = sp_trace_number(r, sp_trace.text[i].length);
	sp_u32 most = sp_trace.text[i].bytes - 1;
	long error;

	n = (sp_s64)n < 0 ? 0 : n > most ? most : n;
	asm volatile("" : "+r"(n)); /* what the verifier is to see is the next line */
	n &= SP_TRACE_TEXT - 1;
	if (n > most)
		return;
	error = sp_trace.text[i].from == SP_TRACE_TEXT_USER ? bpf_probe_read_user(to, n, address)
							    : bpf_probe_read_kernel(to, n, address);
	if (error < 0 && address)
		sp_trace_lost(SP_TRACE_LOST_TEXTS);
	to[most] = error < 0 ? 0 : n;
}

static __always_inline void sp_trace_text_read(const sp_u64 *r, sp_u32 i, char *to)
{
	void *address = (void *)sp_trace_number(r, sp_trace.text[i].reg);
	sp_u32 bytes = sp_trace.text[i].bytes;

	if (sp_trace.text[i].length != SP_NO_REG) {
		sp_trace_bytes_read(r, i, to);
		return;
	}
	if ((sp_trace.text[i].from == SP_TRACE_TEXT_USER ? bpf_probe_read_user_str(to, bytes, address)
							 : bpf_probe_read_kernel_str(to, bytes, address)) < 0 &&
	    address)
		sp_trace_lost(SP_TRACE_LOST_TEXTS);
}

static __always_inline const struct sp_trace_pair *sp_trace_pair_here(struct sp_op_env *env)
{
	if (!env->pair)
		return 0;
	return (const void *)env->pair - __builtin_offsetof(struct sp_trace_pair, dur_ns);
}

/* The pair, if the event is about its thread. */
static __always_inline const struct sp_trace_pair *sp_trace_pair_of(struct sp_op_env *env)
{
	return sp_trace.asks_who ? 0 : sp_trace_pair_here(env);
}

/* That of the thread that a pair is about, or of the current one. */
static __always_inline void sp_trace_comm(struct sp_op_env *env, char *to)
{
	const struct sp_trace_pair *pair = sp_trace_pair_of(env);

	if (pair)
		__builtin_memcpy(to, pair->comm, SP_COMM_LEN);
	else
		bpf_get_current_comm(to, SP_COMM_LEN);
}

static __always_inline void sp_trace_call_take(sp_u64 *to)
{
#pragma clang loop unroll(full)
	for (sp_u32 i = 0; i < 6; i++)
		to[i] = sp_call_argument(i);
}

/* --- stacks --- */
/* By which an event finds its stack; 0 is none. */
static __always_inline sp_u32 sp_trace_number_next(void)
{
	sp_u32 counter = SP_TRACE_N_WALKS;
	sp_u64 *n = bpf_map_lookup_elem(&losses, &counter);

	return n ? (sp_u32)__sync_fetch_and_add(n, 1) + 1 : 0;
}

/* The sink walks the stacks of the current thread. Comes back only where it could not be entered. */
static __always_inline void sp_trace_walk(void *ctx, sp_u32 number)
{
	struct sp_scratch *s = sp_scratch_take();

	if (!s)
		return;
	s->hit =
	    (struct sp_hit){.role = SP_ROLE_EVENT, .flags = sp_trace.walks, .value = 1, .times = 1, .object = number};
	s->ctx = (sp_u64)ctx;
	bpf_tail_call(ctx, &sink, 0);
	sp_scratch_give(s);
	sp_tally(SP_N_LOST_NESTED, 1);
}

/* --- pairs --- */
static __always_inline struct sp_trace_pair_key sp_trace_pair_key(const sp_u64 *r)
{
	return (struct sp_trace_pair_key){
	    .spec = sp_trace.point,
	    .number = {sp_trace_number(r, sp_trace.pair_key[0]),
		       sp_trace.pair_key[1] < SP_N_OP_REGS ? sp_trace_number(r, sp_trace.pair_key[1]) : 0}};
}

static __always_inline void sp_trace_pair_claim(struct sp_trace_pair *pair)
{
	sp_u64 who = bpf_get_current_pid_tgid();

	pair->pid = who >> 32;
	pair->tid = (sp_u32)who;
	bpf_get_current_comm(pair->comm, SP_COMM_LEN);
}

static __always_inline void sp_trace_pair_fill(struct sp_trace_pair *pair, const sp_u64 *r)
{
	if (sp_trace.asks_who) {
		sp_trace_pair_claim(pair);
	} else {
		pair->pid = pair->tid = 0;
		pair->comm[0] = 0;
	}
	pair->number = sp_trace.walks ? sp_trace_number_next() : 0;
#pragma clang loop unroll(full)
	for (sp_u32 i = 0; i < SP_N_KEPT; i++)
		if (i < sp_trace.n_kept)
			pair->kept[i] = sp_trace_number(r, sp_trace.kept + i);
	pair->since_ns = bpf_ktime_get_ns(); /* last: what this costs is not part of what is measured */
}

/* One that is open under the same key, whose second point did not come, is over. Returns its number. */
static __always_inline sp_u32 sp_trace_begin(const sp_u64 *r)
{
	struct sp_trace_pair_key key = sp_trace_pair_key(r);
	struct sp_trace_pair *there = bpf_map_lookup_elem(&pairs, &key), made = {};

	if (there) {
		sp_trace_pair_fill(there, r);
		return there->number;
	}
	sp_trace_pair_fill(&made, r);
	if (bpf_map_update_elem(&pairs, &key, &made, BPF_ANY))
		sp_trace_lost(SP_TRACE_LOST_PAIRS);
	return made.number;
}

static __always_inline void sp_trace_forget(const sp_u64 *r)
{
	struct sp_trace_pair_key key = sp_trace_pair_key(r);

	bpf_map_delete_elem(&pairs, &key);
}

/* It is this thread's now; if that is not wanted, it is nobody's. */
static __always_inline void sp_trace_claim(const sp_u64 *r)
{
	struct sp_trace_pair_key key = sp_trace_pair_key(r);
	struct sp_trace_pair *pair = bpf_map_lookup_elem(&pairs, &key);

	if (!pair || !pair->since_ns)
		return;
	if (sp_trace_is_wanted())
		sp_trace_pair_claim(pair);
	else
		bpf_map_delete_elem(&pairs, &key);
}

/* The pair is another thread's than that in which it began. Whether that one is wanted. */
static __always_inline int sp_trace_pair_give(struct sp_trace_pair *pair, const sp_u64 *r)
{
	pair->pid = (sp_u32)sp_trace_number(r, sp_trace.whose);
	pair->tid = (sp_u32)sp_trace_number(r, sp_trace.whose + 1);
	bpf_probe_read_kernel(pair->comm, SP_COMM_LEN, (void *)sp_trace_number(r, sp_trace.whose + 2));
	return !sp_trace.targets || sp_is_target(pair->pid);
}

/* Whether there was a first point, and the pair is wanted. */
static __noinline int sp_trace_find(struct sp_op_env *env, const sp_u64 *r, struct sp_trace_pair_key *key)
{
	struct sp_trace_pair *pair;

	*key = sp_trace_pair_key(r);
	pair = bpf_map_lookup_elem(&pairs, key);
	if (!pair || !pair->since_ns)
		return 0;
	if (sp_trace.needs_claim && !pair->tid && (sp_trace.targets || sp_trace.cgroup)) {
		bpf_map_delete_elem(&pairs, key);
		return 0;
	}
	pair->dur_ns = bpf_ktime_get_ns() - pair->since_ns;
	pair->since_ns = 0;
	env->pair = &pair->dur_ns;
	return !sp_trace.of_task || sp_trace_pair_give(pair, r);
}

/* As sp_ops_run(), and in between the pair is found. */
static __always_inline int sp_trace_ops_run(struct sp_op_env *env, sp_u64 *r, struct sp_trace_pair_key *key)
{
#pragma clang loop unroll(full)
	for (sp_u32 i = 0; i <= SP_N_OPS_RUN; i++) {
		if (sp_trace.role == SP_TRACE_SECOND && i == sp_trace.pair_at && !sp_trace_find(env, r, key))
			return 0;
		if (i == SP_N_OPS_RUN || sp_slot.ops[i].kind == SP_OP_END)
			break;
		if (!sp_op_step(env, &sp_slot.ops[i], r))
			return 0;
	}
	return 1;
}

/* --- rows --- */
/* 2 and 3 are one bucket, 4 to 7 the next. */
static __always_inline sp_u64 sp_trace_bucket(sp_u64 v)
{
	sp_u64 bucket = SP_TRACE_FROM_0;

	if (!sp_trace.hist_is_unsigned && (sp_s64)v < 0)
		return SP_TRACE_BELOW_0;
#pragma clang loop unroll(full)
	for (sp_u32 by = 32; by; by >>= 1)
		if (v >> by) {
			v >>= by;
			bucket += by;
		}
	return bucket;
}

static __always_inline void sp_trace_key_make(struct sp_op_env *env, const sp_u64 *r, sp_u64 *key)
{
	key[0] = sp_trace.point;
	if (sp_trace.hist < SP_N_OP_REGS)
		key[0] |= sp_trace_bucket(sp_trace_number(r, sp_trace.hist)) << 32;
#pragma clang loop unroll(full)
	for (sp_u32 i = 0; i < SP_N_OP_REGS; i++)
		if (i < sp_trace.n_numbers)
			key[1 + i] = r[i];
	if (sp_trace.comm_at)
		sp_trace_comm(env, (char *)key + sp_trace.comm_at);
	if (sp_trace.n_texts)
		sp_trace_text_read(r, 0, (char *)key + sp_trace.text[0].at);
}

static __always_inline struct sp_trace_value *sp_trace_value_find(const sp_u64 *key)
{
	struct sp_trace_value none = {}, *v = bpf_map_lookup_elem(&rows, key);

	if (v)
		return v;
	bpf_map_update_elem(&rows, key, &none, BPF_NOEXIST); /* another CPU may have been faster */
	return bpf_map_lookup_elem(&rows, key);
}

/* Locked, though the numbers are this CPU's: a probe's program may be preempted by another on the same CPU. */
static __always_inline void sp_trace_count(struct sp_op_env *env, const sp_u64 *r)
{
	sp_u64 key[SP_TRACE_KEY_WORDS] = {};
	struct sp_trace_value *v;

	sp_trace_key_make(env, r, key);
	v = sp_trace_value_find(key);
	if (!v) {
		sp_trace_lost(SP_TRACE_LOST_ROWS);
		return;
	}
	__sync_fetch_and_add(&v->n, 1);
#pragma clang loop unroll(full)
	for (sp_u32 i = 0; i < SP_TRACE_SUMS; i++)
		if (i < sp_trace.n_sums)
			__sync_fetch_and_add(&v->sum[i], sp_trace_number(r, sp_trace.sum[i]));
}

/* --- records --- */
/* Wakes the reader when much waits for it; else it comes by itself. */
static __always_inline sp_u64 sp_trace_wake(void)
{
	sp_u64 waiting = bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA);

	return waiting > bpf_ringbuf_query(&records, BPF_RB_RING_SIZE) / 4 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

static __always_inline sp_u64 sp_trace_n_lost(void)
{
	sp_u32 counter = SP_TRACE_LOST_RECORDS;
	sp_u64 *n = bpf_map_lookup_elem(&losses, &counter);

	return n ? *(volatile sp_u64 *)n : 0;
}

/* Returns the number of the event, if its stack is to be walked now. */
static __always_inline sp_u32 sp_trace_tell(struct sp_op_env *env, const sp_u64 *r)
{
	sp_u64 ns = bpf_ktime_get_ns(), who = bpf_get_current_pid_tgid();
	const struct sp_trace_pair *pair = sp_trace_pair_of(env), *here = sp_trace_pair_here(env);
	struct sp_trace_record *record = bpf_ringbuf_reserve(&records, sp_trace.record_bytes, 0);
	sp_u32 number = 0;
	sp_u64 *numbers;

	if (!record) {
		sp_trace_lost(SP_TRACE_LOST_RECORDS);
		return 0;
	}
	if (sp_trace.walks)
		number = sp_trace_number_next();
	numbers = (sp_u64 *)(record + 1);
	record->ns = ns;
	record->n_lost = sp_trace_n_lost();
	record->point = sp_trace.point;
	record->number = here && !sp_trace.walks ? here->number : number;
	record->pad = 0;
	record->cpu = bpf_get_smp_processor_id();
	record->pid = pair ? pair->pid : who >> 32;
	record->tid = pair ? pair->tid : who;
	sp_trace_comm(env, record->comm);
	if (sp_trace.calls_at)
		sp_trace_call_take((sp_u64 *)((char *)record + sp_trace.calls_at));
#pragma clang loop unroll(full)
	for (sp_u32 i = 0; i < SP_N_OP_REGS; i++)
		if (i < sp_trace.n_numbers)
			numbers[i] = r[i];
#pragma clang loop unroll(full)
	for (sp_u32 i = 0; i < SP_TRACE_TEXTS; i++)
		if (i < sp_trace.n_texts) {
			char *text = (char *)record + sp_trace.text[i].at;

			text[0] = 0; /* where it cannot be read */
			sp_trace_text_read(r, i, text);
		}
	bpf_ringbuf_submit(record, sp_trace_wake());
	return number;
}

/* Returns the event's number, if its stack is to be walked. */
static __always_inline sp_u32 sp_trace_take(struct sp_op_env *env, const sp_u64 *r)
{
	switch (sp_trace.role) {
	case SP_TRACE_FIRST:
		return sp_trace_begin(r);
	case SP_TRACE_FORGET:
		sp_trace_forget(r);
		return 0;
	case SP_TRACE_CLAIM:
		sp_trace_claim(r);
		return 0;
	}
	if (sp_trace.role == SP_TRACE_SECOND && sp_trace.asks_who && !sp_trace_is_wanted())
		return 0;
	if (sp_trace.tells)
		return sp_trace_tell(env, r);
	sp_trace_count(env, r);
	return 0;
}

/*
 * Loaded as front.bpf.c's is, with the same results. Whose event it is of a pair is asked at its first point, since
 * the second may be in another thread, unless the pair says whose it is, or another point claims it.
 */
SEC("raw_tp")
int sp_trace_event(struct bpf_raw_tracepoint_args *ctx)
{
	struct sp_op_env env = {};
	struct sp_trace_pair_key key = {};
	sp_u64 r[SP_N_OP_REGS] = {};
	sp_u32 number = 0;
	int result = sp_event_read(&env, ctx);

	if (sp_trace.role <= SP_TRACE_FIRST && sp_trace.asks_who && !sp_trace_is_wanted())
		return result;
	if (sp_slot.flags & SP_SLOT_MARK && env.is_unread) {
		sp_trace_lost(SP_TRACE_LOST_ARGUMENTS);
		return result;
	}
	if (sp_trace_ops_run(&env, r, &key))
		number = sp_trace_take(&env, r);
	if (env.pair && !sp_trace.pair_stays)
		bpf_map_delete_elem(&pairs, &key);
	if (sp_trace.walks && number)
		sp_trace_walk(ctx, number);
	return result;
}

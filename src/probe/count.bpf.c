/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * count.bpf.c: counts calls at probes, by function and process.
 *
 * One table for all CPUs, added to by locked instructions: a probe's program may be preempted by a thread whose probe
 * runs on the same CPU, so numbers of a CPU's own would lose some; and rows take memory once, not for each CPU. Where
 * programs can forbid that they are preempted, a few rows of timed calls are each CPU's own (`hot`).
 */
#include "bpf/own_stack.bpf.h"
#include "bpf/targets.bpf.h"
#include "bpf/x86_64/probe.bpf.h"
#include "probe/count_wire.h"

char LICENSE[] SEC("license") = "GPL";

const volatile struct sp_probed_config sp_probed = {};
const volatile char sp_probed_none[SP_PROBED_VALUE_MAX] = {};

enum { ENOMEM = 12, EEXIST = 17 };

sp_u64 sp_probed_counters[SP_PROBED_N_COUNTERS];

/* An element is made when it is needed; the kernel keeps some ready on each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 16);
	__uint(key_size, sizeof(struct sp_probed_key));
	__uint(value_size, SP_PROBED_VALUE_MAX);
} rows SEC(".maps");

/* Rows for which the kernel had no element ready. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 24);
	__uint(key_size, sizeof(struct sp_probed_key));
	__uint(value_size, SP_PROBED_VALUE_MAX);
} spare_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SP_PROBED_N_HOT); /* of each CPU */
	__uint(key_size, 4);
	__uint(value_size, sizeof(struct sp_probed_hot));
} hot SEC(".maps");

/* Processes that have called: the `targets` of a session that samples them (sp_counting_options). */
struct {
	SP_TARGET_MAP;
} sampled SEC(".maps");

/* How often each function was entered (count_wire.h). What has not returned is the difference. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 8);
} entered SEC(".maps");

/* Every hit, also of those who are not wanted: emulated ones, stepped ones. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__uint(key_size, 4);
	__uint(value_size, 8);
} hits SEC(".maps");
sp_u32 sp_probed_is_closed;

struct sp_probed_file_key {
	sp_u64 ino;
	sp_u64 dev;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(key_size, sizeof(struct sp_probed_file_key));
	__uint(value_size, 4);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} events SEC(".maps");

static __always_inline void sp_probed_tally(enum sp_probed_counter i)
{
	__sync_fetch_and_add(&sp_probed_counters[i], 1);
}

/* --- who is counted --- */
/* Apart, as its memory is (sp_row_add). */
static __noinline int sp_is_named(void)
{
	sp_u64 comm[2] = {};
	const volatile sp_u64 *wanted = (const volatile sp_u64 *)sp_probed.comm;

	bpf_get_current_comm(comm, sizeof(comm));
	return comm[0] == wanted[0] && comm[1] == wanted[1];
}

/* One that interrupts another on the same CPU may lose it its hit, which only the guard reads. */
static __always_inline int sp_is_open(sp_u64 cookie)
{
	sp_u32 which = SP_PROBED_IS_STEPPED(cookie);
	sp_u64 *n = bpf_map_lookup_elem(&hits, &which);

	if (n)
		(*n)++;
	return !*(volatile sp_u32 *)&sp_probed_is_closed;
}

/* 0 where probes have none. Asked for once: what asks for it again costs some ns of each call. */
static __always_inline sp_u64 sp_cookie(struct pt_regs *ctx)
{
	return sp_probed.addresses ? 0 : bpf_get_attach_cookie(ctx);
}

static __always_inline int sp_call_is_wanted(sp_u64 cookie)
{
	if (sp_probed.guarded && !sp_is_open(cookie))
		return 0;
	if (sp_probed.targets && !sp_is_target(bpf_get_current_pid_tgid() >> 32))
		return 0;
	if (sp_probed.cgroup && bpf_get_current_ancestor_cgroup_id(sp_probed.cgroup_level) != sp_probed.cgroup)
		return 0;
	return !sp_probed.has_comm || sp_is_named();
}

/* A thread has the number of its process's execve, as all threads from before are gone by then. */
static __always_inline void sp_key_set_process(struct sp_probed_key *key)
{
	struct task_struct *task;

	if (sp_probed.functions)
		return;
	task = bpf_get_current_task_btf();
	key->tgid = task->tgid;
	key->life = task->group_leader->start_boottime + task->self_exec_id;
	key->uid = sp_probed.users ? (sp_u32)bpf_get_current_uid_gid() : 0;
}

/* --- places, which are found once for each row --- */
static __always_inline void sp_file_tell(struct vm_area_struct *vma, const struct sp_probed_file_key *at, sp_u32 tgid)
{
	struct sp_probed_file *f;
	sp_u32 one = 1;

	if (bpf_map_lookup_elem(&files, at))
		return;
	f = bpf_ringbuf_reserve(&events, sizeof(*f), 0);
	if (!f) {
		sp_probed_tally(SP_PROBED_N_NO_FILE);
		return;
	}
	f->ino = at->ino;
	f->dev = at->dev;
	f->tgid = tgid;
	f->start = vma->vm_start;
	f->end = vma->vm_end;
	f->pgoff = vma->vm_pgoff << 12;
	f->name[0] = 0;
	bpf_probe_read_kernel_str(f->name, sizeof(f->name), vma->vm_file->f_path.dentry->d_name.name);
	if (bpf_map_update_elem(&files, at, &one, BPF_NOEXIST))
		bpf_ringbuf_discard(f, 0); /* another CPU was faster */
	else
		bpf_ringbuf_submit(f, 0);
}

struct sp_search {
	struct sp_probed_place *place;
	sp_u64 address;
	sp_u32 tgid, tell;
};

static long sp_place_put(struct task_struct *task, struct vm_area_struct *vma, struct sp_search *search)
{
	struct sp_probed_place place = {};
	struct sp_probed_file_key at = {};

	(void)task;
	place.is_known = 1; /* also that there is no file */
	place.offset = search->address;
	if (vma->vm_file) {
		place.ino = at.ino = vma->vm_file->f_inode->i_ino;
		place.dev = vma->vm_file->f_inode->i_sb->s_dev;
		at.dev = place.dev;
		place.offset += (vma->vm_pgoff << 12) - vma->vm_start;
		if (search->tell)
			sp_file_tell(vma, &at, search->tgid);
	}
	*search->place = place;
	return 0;
}

/*
 * The kernel refuses where another thread changes the mappings at this moment: then the next call of the row tries
 * again. Apart, as its memory is (sp_row_add).
 */
static __noinline void sp_place_find(struct sp_probed_place *ret_place, sp_u64 address, sp_u32 tgid, sp_u32 tell)
{
	struct sp_probed_place found = {};
	struct sp_search search = {.place = &found, .address = address, .tgid = tgid, .tell = tell};

	if (ret_place->is_known)
		return;
	bpf_find_vma(bpf_get_current_task_btf(), address, sp_place_put, &search, 0);
	ret_place->ino = found.ino;
	ret_place->offset = found.offset;
	ret_place->dev = found.dev;
	ret_place->is_known = found.is_known;
}

/* --- rows --- */
static __always_inline void sp_who_fill(struct sp_probed_who *who)
{
	struct task_struct *leader = bpf_get_current_task_btf()->group_leader;

	bpf_probe_read_kernel(who->comm, sizeof(who->comm), leader->comm);
	who->start_ns = leader->start_boottime;
	who->exec_id = leader->self_exec_id;
	who->cgroup = bpf_get_current_cgroup_id();
}

static __always_inline void sp_sample_from_now(sp_u32 tgid)
{
	sp_u32 wanted = SP_TARGET_WANTED;
	long r = bpf_map_update_elem(&sampled, &tgid, &wanted, BPF_NOEXIST);

	if (r && r != -EEXIST)
		sp_probed_tally(SP_PROBED_N_UNSAMPLED);
}

/* A row that is not in `rows`. NULL: there is no room for it, which is counted. */
static __always_inline struct sp_probed_who *sp_who_make_here(struct sp_probed_key *key)
{
	struct sp_probed_who *who = bpf_map_lookup_elem(&spare_rows, key);
	long r;

	if (who)
		return who;
	r = bpf_map_update_elem(&rows, key, (const void *)sp_probed_none, BPF_NOEXIST);
	if (!r)
		sp_probed_tally(SP_PROBED_N_MADE);
	else if (r == -ENOMEM)
		bpf_map_update_elem(&spare_rows, key, (const void *)sp_probed_none, BPF_NOEXIST);
	who = bpf_map_lookup_elem(&rows, key);
	if (!who)
		who = bpf_map_lookup_elem(&spare_rows, key);
	if (!who) {
		sp_probed_tally(SP_PROBED_N_NO_ROOM);
		return 0;
	}
	sp_who_fill(who);
	if (sp_probed.samples)
		sp_sample_from_now(key->tgid);
	return who;
}

static __noinline struct sp_probed_who *sp_who_make(struct sp_probed_key *key)
{
	return sp_who_make_here(key);
}

/* is_apart: in a function of its own already, of which each takes the kernel some pages. */
static __always_inline struct sp_probed_who *sp_who_find(struct sp_probed_key *key, int is_apart)
{
	struct sp_probed_who *who = bpf_map_lookup_elem(&rows, key);

	if (!who)
		who = is_apart ? sp_who_make_here(key) : sp_who_make(key);
	if (who && sp_probed.places_at) {
		struct sp_probed_places *places = (void *)who + sp_probed.places_at;

		if (sp_probed.callers && key->caller)
			sp_place_find(&places->caller, key->caller - 1, key->tgid, 1);
		if (sp_probed.addresses)
			sp_place_find(&places->function, key->function, key->tgid, 0);
	}
	return who;
}

static __always_inline sp_u64 sp_return_address(struct pt_regs *ctx, sp_u64 pushed)
{
	sp_u64 address = 0;

	if (bpf_probe_read_user(&address, sizeof(address), (void *)(sp_probe_stack(ctx) + pushed)))
		sp_probed_tally(SP_PROBED_N_UNREAD);
	return address;
}

static __always_inline void sp_key_set_entry(struct sp_probed_key *key, struct pt_regs *ctx, sp_u64 cookie)
{
	key->function = sp_probed.addresses ? sp_probe_address(ctx) : (sp_u32)cookie;
	if (sp_probed.callers)
		key->caller = sp_return_address(ctx, SP_PROBED_PUSHED(cookie));
}

/* --- counting --- */
SEC("uprobe")
int sp_probed_call(struct pt_regs *ctx)
{
	sp_u64 cookie = sp_cookie(ctx);
	struct sp_probed_key key = {};
	struct sp_probed_who *who;

	if (!sp_call_is_wanted(cookie))
		return 0;
	sp_key_set_entry(&key, ctx, cookie);
	sp_key_set_process(&key);
	who = sp_who_find(&key, 0);
	if (who)
		__sync_fetch_and_add(&who->n_calls, 1);
	return 0;
}

/* --- with times --- */
/* By branches, which are foreseen, since most calls of a function take about the same. */
static __always_inline sp_u32 sp_log2(sp_u64 v)
{
	sp_u32 i = 0, step;

#pragma unroll
	for (step = 32; step; step >>= 1)
		if (v >= 1ULL << step) {
			v >>= step;
			i += step;
			asm volatile("" : "+r"(v), "+r"(i));
		}
	return i;
}

struct sp_raising {
	sp_u64 *at;
	sp_u64 v;
};

static long sp_raise_once(sp_u32 i, struct sp_raising *r)
{
	sp_u64 old = *(volatile sp_u64 *)r->at;

	(void)i;
	return old >= r->v || __sync_val_compare_and_swap(r->at, old, r->v) == old;
}

/* Seldom more than once: for as often as another CPU comes between. */
static __always_inline void sp_raise(sp_u64 *at, sp_u64 v)
{
	struct sp_raising r = {.at = at, .v = v};

	if (*(volatile sp_u64 *)at < v)
		bpf_loop(1 << 20, sp_raise_once, &r, 0);
}

static __always_inline void sp_time_add(struct sp_probed_who *who, sp_u64 ns)
{
	struct sp_probed_times *t = (void *)who + sp_probed.times_at;
	sp_u32 i = sp_log2(ns);

	__sync_fetch_and_add(&t->sum_ns, ns);
	sp_raise(&t->max_ns, ns);
	sp_raise(&t->least, ~ns);
	if (i >= SP_PROBED_BUCKETS)
		i = SP_PROBED_BUCKETS - 1;
	__sync_fetch_and_add(&t->n[i], 1);
}

static __always_inline void sp_enter(sp_u32 function)
{
	sp_u64 *n = bpf_map_lookup_elem(&entered, &function);

	if (n)
		__sync_fetch_and_add(n, 1);
}

static __always_inline void sp_key_set_return(struct sp_probed_key *key, struct pt_regs *ctx)
{
	if (sp_probed.callers)
		key->caller = sp_probe_address(ctx);
	sp_key_set_process(key);
}

static __noinline void sp_row_add_apart(sp_u64 function, sp_u64 user, sp_u64 life, sp_u64 caller, sp_u64 ns)
{
	struct sp_probed_key key = {function, (sp_u32)user, user >> 32, life, caller};
	struct sp_probed_who *who = sp_who_find(&key, 1);

	if (who)
		sp_time_add(who, ns);
}

/*
 * By value, so that who calls keeps no key in memory: programs that want 64 bytes have a stack of their own, whose
 * place the kernel saves around each call of one of its functions.
 */
static __always_inline void sp_row_add(const struct sp_probed_key *key, sp_u64 ns)
{
	sp_row_add_apart(key->function, key->tgid | (sp_u64)key->uid << 32, key->life, key->caller, ns);
}

/* --- both ends of a call, with what is each CPU's own --- */
extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

static __always_inline void sp_enter_own(sp_u32 function)
{
	sp_u32 at = sp_probed.max_functions + bpf_get_smp_processor_id() * sp_probed.own_functions + function;
	sp_u64 *n;

	if (function >= sp_probed.own_functions) {
		sp_enter(function);
		return;
	}
	bpf_preempt_disable();
	n = bpf_map_lookup_elem(&entered, &at);
	if (n)
		++*n;
	bpf_preempt_enable();
}

/* The user half reads a row only when it is held: by then its key stands there (x86 keeps the order of stores). */
static __always_inline void sp_hot_take(struct sp_probed_hot *h, const struct sp_probed_key *key)
{
	h->key = *key;
	sp_who_fill(&h->who);
	barrier();
	*(volatile sp_u32 *)&h->state = SP_PROBED_HELD;
}

static __always_inline int sp_hot_is(const struct sp_probed_hot *h, const struct sp_probed_key *key)
{
	return h->key.function == key->function && h->key.life == key->life && h->key.tgid == key->tgid &&
	       h->key.uid == key->uid;
}

static __always_inline void sp_hot_time_add(struct sp_probed_times *t, sp_u64 ns)
{
	sp_u32 i = sp_log2(ns);

	t->sum_ns += ns;
	if (t->max_ns < ns)
		t->max_ns = ns;
	if (t->least < ~ns)
		t->least = ~ns;
	if (i >= SP_PROBED_BUCKETS)
		i = SP_PROBED_BUCKETS - 1;
	t->n[i]++;
}

/* 0: another row has its place. */
static __always_inline int sp_hot_add(const struct sp_probed_key *key, sp_u64 ns)
{
	sp_u32 at = bpf_get_smp_processor_id() * SP_PROBED_N_HOT + SP_PROBED_HOT(key), state;
	struct sp_probed_hot *h;
	int is_added = 0;

	bpf_preempt_disable();
	h = bpf_map_lookup_elem(&hot, &at);
	if (h) {
		state = *(volatile sp_u32 *)&h->state;
		if (state == SP_PROBED_FREE)
			sp_hot_take(h, key);
		if (state == SP_PROBED_FREE || (state == SP_PROBED_HELD && sp_hot_is(h, key))) {
			sp_hot_time_add(&h->times, ns);
			is_added = 1;
		}
	}
	bpf_preempt_enable();
	return is_added;
}

/*
 * What a beginning leaves its end: the time, above 13 bits of the function's number plus one, which saves asking for it
 * again; 0 there where it has more. 51 bits of nanoseconds are 26 days, longer than a call that is timed.
 */
enum { SP_SINCE_BITS = 13, SP_SINCE_FUNCTION = (1 << SP_SINCE_BITS) - 1 };

static __always_inline sp_u64 sp_since(sp_u64 now, sp_u32 function)
{
	return now << SP_SINCE_BITS | (function < SP_SINCE_FUNCTION ? function + 1 : 0);
}

static __always_inline sp_u32 sp_since_function(sp_u64 since, struct pt_regs *ctx)
{
	sp_u32 number = since & SP_SINCE_FUNCTION;

	return number ? number - 1 : (sp_u32)bpf_get_attach_cookie(ctx);
}

/*
 * Where the beginning gives back 1, the kernel leaves out the end. An end has a time, and a beginning none, which saves
 * asking which of the two it is.
 */
SEC("uprobe")
int sp_probed_session(struct pt_regs *ctx)
{
	sp_u64 *since = bpf_session_cookie(), cookie;

	if (*since) {
		sp_u64 now = bpf_ktime_get_ns(), began = *since;
		sp_u64 ns = ((now << SP_SINCE_BITS) - (began & ~(sp_u64)SP_SINCE_FUNCTION)) >> SP_SINCE_BITS;
		struct sp_probed_key key = {.function = sp_since_function(began, ctx)};

		sp_key_set_return(&key, ctx);
		if (!sp_probed.hot || !sp_hot_add(&key, ns))
			sp_row_add(&key, ns);
		return 0;
	}
	cookie = bpf_get_attach_cookie(ctx);
	if (!sp_call_is_wanted(cookie))
		return 1;
	if (!sp_is_on_own_stack(ctx)) {
		sp_probed_tally(SP_PROBED_N_ELSEWHERE);
		return 1;
	}
	sp_enter_own(cookie);
	*since = sp_since(bpf_ktime_get_ns(), cookie);
	return 0;
}

/*
 * Kernels without sessions: both ends find each other by thread and stack. One that never returns leaves its beginning
 * behind, which the next call there takes over, or which is forgotten as the oldest when there is no room.
 */
struct sp_start_key {
	sp_u64 stack;
	sp_u32 tid, function; /* 0 where it is told by its address: what it was, only the beginning knows */
};
struct sp_start {
	sp_u64 function, since;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__uint(key_size, sizeof(struct sp_start_key));
	__uint(value_size, sizeof(struct sp_start));
} starts SEC(".maps");

SEC("uprobe")
int sp_probed_begin(struct pt_regs *ctx)
{
	struct sp_start_key at = {.stack = sp_probe_stack(ctx)};
	sp_u64 cookie = sp_cookie(ctx);
	struct sp_start start = {};

	if (!sp_call_is_wanted(cookie))
		return 0;
	at.tid = bpf_get_current_pid_tgid();
	at.function = cookie;
	start.function = sp_probed.addresses ? sp_probe_address(ctx) : at.function;
	sp_enter(at.function);
	start.since = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&starts, &at, &start, BPF_ANY))
		sp_probed_tally(SP_PROBED_N_NO_START);
	return 0;
}

SEC("uretprobe")
int sp_probed_end(struct pt_regs *ctx)
{
	sp_u64 now = bpf_ktime_get_ns();
	struct sp_start_key at = {.stack = sp_probe_stack(ctx) - SP_PROBE_RETURN_BYTES};
	struct sp_probed_key key = {};
	sp_u64 cookie = sp_cookie(ctx);
	struct sp_start *found, start;

	at.tid = bpf_get_current_pid_tgid();
	at.function = cookie;
	found = bpf_map_lookup_elem(&starts, &at);
	if (!found) {
		if (sp_call_is_wanted(cookie))
			sp_probed_tally(SP_PROBED_N_NO_BEGIN);
		return 0;
	}
	start = *found;
	bpf_map_delete_elem(&starts, &at);
	key.function = start.function;
	sp_key_set_return(&key, ctx);
	sp_row_add(&key, now - start.since);
	return 0;
}

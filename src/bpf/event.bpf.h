/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * event.bpf.h: an event as the ops of its attach point see it: the arguments of a raw tracepoint or of a mark, the
 * record of a classic one or the registers of a probe, the kernel's memory, and what all events have.
 *
 * Includes the ops themselves (event/ops.h). The program's read-only data is sp_slot.
 */
#ifndef SP_BPF_EVENT_BPF_H
#define SP_BPF_EVENT_BPF_H

#include "bpf/mark.bpf.h"
#include "bpf/x86_64/call.bpf.h"
#include "event/slot.h"

const volatile struct sp_front_slot sp_slot = {};

struct sp_op_env {
	sp_u64 argument[SP_N_ARGUMENTS];
	int is_unread; /* an argument is in memory that cannot be read */
#ifdef SP_ENV_HAS_PAIR
	const sp_u64 *pair; /* SP_BUILTIN_DUR and what follows it; NULL: this is no second point */
#endif
};

static __always_inline sp_u64 sp_env_pair(struct sp_op_env *env, sp_u64 number)
{
#ifdef SP_ENV_HAS_PAIR
	if (env->pair && number < SP_N_BUILTINS - SP_BUILTIN_DUR)
		return env->pair[number & 15];
#endif
	(void)env, (void)number;
	return 0;
}

static __always_inline sp_u64 sp_env_argument(struct sp_op_env *env, sp_u64 number)
{
	return number < SP_N_ARGUMENTS ? env->argument[number & 15] : 0;
}

static __always_inline sp_u64 sp_env_memory(struct sp_op_env *env, sp_u64 address, sp_u32 size)
{
	sp_u64 value = 0;

	(void)env;
	if (size > sizeof(value))
		return 0;
	bpf_probe_read_kernel(&value, size, (void *)address);
	return value;
}

static __always_inline sp_u64 sp_comm_word(sp_u64 number)
{
	sp_u64 words[2] = {};

	bpf_get_current_comm(words, sizeof(words));
	return words[number & 1];
}

static __always_inline sp_u64 sp_env_builtin(struct sp_op_env *env, sp_u64 builtin)
{
	if (builtin >= SP_BUILTIN_DUR)
		return sp_env_pair(env, builtin - SP_BUILTIN_DUR);
	switch (builtin) {
	case SP_BUILTIN_PID:
		return bpf_get_current_pid_tgid() >> 32;
	case SP_BUILTIN_TID:
		return (sp_u32)bpf_get_current_pid_tgid();
	case SP_BUILTIN_UID:
		return (sp_u32)bpf_get_current_uid_gid();
	case SP_BUILTIN_GID:
		return bpf_get_current_uid_gid() >> 32;
	case SP_BUILTIN_CPU:
		return bpf_get_smp_processor_id();
	case SP_BUILTIN_CGROUP:
		return bpf_get_current_cgroup_id();
	case SP_BUILTIN_NOW:
		return bpf_ktime_get_ns();
	case SP_BUILTIN_TASK:
		return bpf_get_current_task();
	case SP_BUILTIN_COMM:
	case SP_BUILTIN_COMM_END:
		return sp_comm_word(builtin - SP_BUILTIN_COMM);
	case SP_BUILTIN_CALL:
		return sp_call_number();
	}
	return sp_call_argument(builtin - SP_BUILTIN_CALL_ARGUMENT);
}

#include "event/ops.h"

/*
 * Reads each argument by an instruction of its own: the compiler would merge the reads into one with a computed
 * address, which the verifier refuses. The kernel attaches the program only to tracepoints that have all arguments it
 * reads.
 */
#define SP_ARGUMENT_AT(env, ctx, i, at)                                                                                \
	do {                                                                                                           \
		if (sp_slot.n_arguments > (i))                                                                         \
			asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"((env)->argument[i]) : "r"(ctx), "i"(at));         \
	} while (0)
#define SP_ARGUMENT(env, ctx, i) SP_ARGUMENT_AT(env, ctx, i, 8 * (i))
#define SP_REGISTER(env, ctx, i) SP_ARGUMENT_AT(env, ctx, i, SP_PROBE_REGISTER(i))

static __always_inline void sp_arguments_read(struct sp_op_env *env, struct bpf_raw_tracepoint_args *ctx)
{
	SP_ARGUMENT(env, ctx, 0);
	SP_ARGUMENT(env, ctx, 1);
	SP_ARGUMENT(env, ctx, 2);
	SP_ARGUMENT(env, ctx, 3);
	SP_ARGUMENT(env, ctx, 4);
	SP_ARGUMENT(env, ctx, 5);
	SP_ARGUMENT(env, ctx, 6);
	SP_ARGUMENT(env, ctx, 7);
	SP_ARGUMENT(env, ctx, 8);
	SP_ARGUMENT(env, ctx, 9);
	SP_ARGUMENT(env, ctx, 10);
	SP_ARGUMENT(env, ctx, 11);
}

static __always_inline void sp_registers_read(struct sp_op_env *env, void *ctx)
{
	SP_REGISTER(env, ctx, 0);
	SP_REGISTER(env, ctx, 1);
	SP_REGISTER(env, ctx, 2);
	SP_REGISTER(env, ctx, 3);
	SP_REGISTER(env, ctx, 4);
	SP_REGISTER(env, ctx, 5);
	SP_REGISTER(env, ctx, 6);
	SP_REGISTER(env, ctx, 7);
	SP_REGISTER(env, ctx, 8);
	SP_REGISTER(env, ctx, 9);
	SP_REGISTER(env, ctx, 10);
	SP_REGISTER(env, ctx, 11);
}

/*
 * The record's address as a number, with which any arithmetic is allowed: negated twice, it is no pointer to the
 * verifier any more.
 */
static __always_inline void sp_record_take(struct sp_op_env *env, void *ctx)
{
	sp_u64 address;

	asm volatile("%0 = %1; %0 = -%0; %0 = -%0" : "=r"(address) : "r"(ctx));
	env->argument[0] = address;
}

/* Those that somebody wants. */
static __always_inline void sp_mark_take(struct sp_op_env *env, void *ctx)
{
	sp_u64 cookie = bpf_get_attach_cookie(ctx);
	const struct sp_mark_place *mark = bpf_map_lookup_elem(&marks, &cookie);

	env->is_unread = !mark;
	if (!mark)
		return;
#pragma clang loop unroll(disable)
	for (int i = 0; i < SP_N_ARGUMENTS; i++)
		if (mark->argument[i].bits && !sp_mark_argument_read(ctx, &mark->argument[i], &env->argument[i]))
			env->is_unread = 1;
}

/* Reads what the ops need. Returns what the program is to return in the end. */
static __always_inline int sp_event_read(struct sp_op_env *env, struct bpf_raw_tracepoint_args *ctx)
{
	if (sp_slot.flags & SP_SLOT_RECORD)
		sp_record_take(env, ctx);
	else if (sp_slot.flags & SP_SLOT_MARK)
		sp_mark_take(env, ctx);
	else if (sp_slot.flags & SP_SLOT_PROBE)
		sp_registers_read(env, ctx);
	else
		sp_arguments_read(env, ctx);
	return sp_slot.flags & SP_SLOT_RECORD ? 1 : 0;
}

#endif

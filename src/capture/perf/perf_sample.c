/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/mem.h"
#include "capture/pending.h"
#include "capture/perf/perf.h"
#include "unwind/finish.h"
#include "unwind/step_types.h"
#include <string.h>
#include <sys/uio.h>

/* --- who --- */
static void record_process(struct sp_capture *c, struct sp_task_process *t)
{
	struct sp_perf *p = c->perf;
	struct sp_message_process r = {.type = SP_MESSAGE_PROCESS};

	if (t->record)
		return;
	sp_perf_proc_describe(t);
	t->record = ++p->last_process;
	r.id = t->record;
	r.key = (struct sp_process_key){.start_ns = t->start_ns, .tgid = t->pid, .exec_id = t->exec_id};
	r.ns_tgid = t->ns_pid;
	r.uid = t->uid;
	r.cgroup = t->cgroup;
	r.exe = t->exe_object ? p->objects[t->exe_object].id : 0;
	memcpy(r.comm, t->comm, sizeof(r.comm));
	sp_drain_message(c, &r, sizeof(r));
}

/* Reads the mappings of a process again if a change of them may have been missed. */
static int maps_renew(struct sp_capture *c, struct sp_task_process *t)
{
	if (t->n_losses == c->perf->n_losses)
		return 0;
	t->n_losses = c->perf->n_losses;
	return sp_perf_proc_maps(c, t);
}

static int who(struct sp_capture *c, const struct sp_perf_record *r, struct sp_task_process **ret_process,
	       struct sp_count_key *key)
{
	struct sp_perf *p = c->perf;
	struct sp_task_thread *thread = sp_tasks_thread(&p->tasks, r->tid);
	struct sp_task_process *t;
	int error = 0;

	if (thread && thread->process->pid != r->pid)
		thread = NULL;
	t = thread ? thread->process : sp_tasks_process(&p->tasks, r->pid);

	if (!t)
		error = sp_perf_proc_add(c, r->pid, &t);
	if (!error)
		error = maps_renew(c, t);
	if (!error)
		error = sp_perf_announce_files(c, t);
	if (error < 0)
		return error;
	record_process(c, t);
	if (!error)
		error = sp_perf_announce_memory(c, t);
	key->process = (struct sp_process_key){.start_ns = t->start_ns, .tgid = t->pid, .exec_id = t->exec_id};
	memcpy(key->comm, thread ? thread->comm : t->comm, sizeof(key->comm));
	*ret_process = t;
	return error;
}

/* --- the kernel's part --- */
/* The id of the sample's kernel stack, which is sent as the kernel half would send it; 0 = there is none. */
static sp_u64 kernel_stack(struct sp_capture *c, const struct sp_perf_sample *s)
{
	struct {
		struct sp_message_stack head;
		sp_u64 frames[SP_MAX_KERNEL_FRAMES];
	} r = {.head = {.type = SP_MESSAGE_STACK, .stop = SP_STOP_COMPLETE}};
	sp_u64 hash = 2;
	size_t i, n = 0;

	for (i = 0; i < s->n_chain && n < SP_COUNT(r.frames); i++) {
		sp_u64 addr;

		memcpy(&addr, s->chain + 8 * i, 8);
		if (addr >= PERF_CONTEXT_MAX) /* PERF_CONTEXT_KERNEL or another mark: tells whose addresses follow */
			continue;
		addr = ((addr - (n ? 1 : 0)) & SP_FRAME_KERNEL_MASK) | SP_FRAME_KERNEL << SP_FRAME_KIND_SHIFT;
		hash = (hash ^ addr) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 29;
		r.frames[n++] = addr;
	}
	if (!n)
		return 0;
	r.head.n_frames = (sp_u16)n;
	r.head.id = hash | 1;
	if (!sp_numbers_find(&c->stacks, &r.head.id, sizeof(r.head.id)))
		sp_drain_message(c, &r, sizeof(r.head) + 8 * n);
	return r.head.id;
}

/* --- the user's part --- */
static int stack_without_frames(struct sp_capture *c, const struct sp_message_pending *r, enum sp_stop stop)
{
	int64_t stack = sp_drain_stack(c, &(struct sp_walked){.stop = stop});

	return stack < 0 ? (int)stack : sp_drain_add(c, &r->key, &r->value, (uint32_t)stack);
}

/* Why there is no stack to walk; SP_STOP_COMPLETE: there is one. */
static enum sp_stop obstacle(const struct sp_perf_sample *s, const struct sp_task_process *t, bool no_number)
{
	if (!s->has_regs || !s->regs.ip)
		return t->space->n ? SP_STOP_GONE : SP_STOP_NONE;
	if (s->is_32_bit)
		return SP_STOP_BITS;
	if (no_number)
		return SP_STOP_FILES;
	/* Inside execve or exit the saved registers belong to a program that is gone. */
	if (s->in_kernel && !sp_space_find(t->space, s->regs.ip))
		return SP_STOP_GONE;
	return SP_STOP_COMPLETE;
}

/* Reads the process's memory, for code only, which does not change. Fails where ptrace is restricted to parents. */
static int memory_read(void *arg, sp_u64 addr, void *ret, size_t n)
{
	const struct sp_task_process *t = arg;
	struct iovec to = {ret, n}, from = {(void *)addr, n};

	return process_vm_readv((pid_t)t->pid, &to, 1, &from, 1, 0) == (ssize_t)n ? 0 : -1;
}

static int user_stack(struct sp_capture *c, const struct sp_perf_sample *s, struct sp_task_process *t, bool no_number)
{
	struct sp_message_pending *r = &c->perf->pending;
	struct sp_finish_memory memory = {
	    .stack = s->stack, .stack_bytes = s->stack_bytes, .read = memory_read, .read_arg = t};
	enum sp_stop stop = obstacle(s, t, no_number);

	if (stop != SP_STOP_COMPLETE)
		return stack_without_frames(c, r, stop);
	r->regs = s->regs;
	r->how = SP_HOW_FIRST | SP_HOW_REGS | (s->is_call ? 0 : SP_HOW_EXACT);
	memory.stack_at = s->regs.sp;
	sp_space_memory(t->space, &memory);
	return sp_pending_walk(c, r, &memory, t->space);
}

int sp_perf_sample(struct sp_capture *c, const struct sp_perf_record *record)
{
	const struct sp_perf_sample *s = &record->sample;
	struct sp_message_pending *r = &c->perf->pending;
	struct sp_task_process *t = NULL;
	int error;

	memset(r, 0, offsetof(struct sp_message_pending, frames));
	r->type = SP_MESSAGE_PENDING;
	r->value = (struct sp_count){.n = 1, .weight = s->period};
	error = who(c, record, &t, &r->key);
	if (error < 0)
		return error;
	r->key.slice_unit = sp_slice_unit(c->shared.slicing, record->time_ns);
	c->stats.counter[SP_N_SAMPLES]++;
	c->stats.counter[SP_N_KERNEL] += s->in_kernel;
	if (c->perf->format.has_kernel)
		r->key.kernel_stack = kernel_stack(c, s);
	if (!c->perf->format.has_user)
		return sp_drain_add(c, &r->key, &r->value, 0);
	return user_stack(c, s, t, error > 0);
}

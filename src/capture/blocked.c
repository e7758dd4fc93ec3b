/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * blocked.c: threads that wait already when the sampling begins, or the guard attaches a recipe again: a thread that
 * sleeps all the time has no other sample.
 *
 * Called once the fronts are attached. The kernel half lists the threads that do not run (bpf/blocked.bpf.h). For each
 * an episode is opened, as its front would have done, from the beginning of the sampling on. A thread may have gone on
 * meanwhile, unseen: a second pass finds these by how often they have stopped running, and their episodes are taken
 * back. Then the stacks are read from the processes' memory: as long as an episode is open its thread has not run, so
 * the memory is that of the registers. The walk is that of any other sample that waits (pending.c).
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/time.h"
#include "capture/backend.h"
#include "capture/pending.h"
#include "capture/perf/perf_space.h"
#include "capture/x86_64/call.h"
#include "unwind/finish.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	HEAD_BYTES = offsetof(struct sp_message_pending, sent),
	STREAM_BYTES = 64 << 10,
	STACK_REACH = 16 << 20, /* a mapping that goes on further is no stack alone */
	WAITING_BYTES = 16 << 20,
};

struct thread {
	struct sp_message_blocked head;
	struct sp_message_pending *record; /* HEAD_BYTES of it */
	struct sp_space *space;
	struct sp_episode_key episode; /* the last one that was opened for it */
	bool is_open;
	bool is_stamped;   /* in place of an episode */
	uint64_t taken_ns; /* its stamp, as of the second pass; 0: it was back before */
};

struct pass {
	struct sp_capture *c;
	struct thread *threads;
	size_t n, capacity, n_open;
	uint64_t since_ns;
	int recipe; /* -1: all */
	size_t n_now, now_capacity;
	struct sp_message_blocked *now; /* of the second pass */
};

static void pass_done(struct pass *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->threads[i].record);
		sp_space_put(p->threads[i].space);
	}
	free(p->threads);
	free(p->now);
	if (!p->c->recipe.config->stamps)
		sp_memory_reader_end(&p->c->reader);
}

/* --- the list of threads --- */
static struct sp_space *space_of(const struct pass *p, const struct sp_message_blocked *head,
				 const struct sp_message_pending *r)
{
	if (head->has_maps)
		return sp_space_from((const void *)r->sent, r->n_maps, !r->has_more_maps);
	if (p->n && p->threads[p->n - 1].space)
		return sp_space_get(p->threads[p->n - 1].space);
	return sp_space_from(NULL, 0, false);
}

static int thread_add(struct pass *p, const struct sp_message_blocked *head, const struct sp_message_pending *r)
{
	struct thread t = {.head = *head};

	if (head->bytes < HEAD_BYTES || r->n_maps > SP_PENDING_MAPS || r->n_frames ||
	    head->bytes - HEAD_BYTES != (head->has_maps ? r->n_maps * sizeof(struct sp_map) : 0))
		return sp_fail_said(-EBADMSG, "a blocked thread's record out of bounds");
	if (sp_grow(&p->threads, &p->capacity, p->n + 1, sizeof(*p->threads)) < 0)
		return -ENOMEM;
	t.record = malloc(HEAD_BYTES);
	t.space = space_of(p, head, r);
	if (!t.record || !t.space) {
		free(t.record);
		sp_space_put(t.space);
		return -ENOMEM;
	}
	memcpy(t.record, r, HEAD_BYTES);
	p->threads[p->n++] = t;
	return 0;
}

static int now_add(struct pass *p, const struct sp_message_blocked *head)
{
	return SP_APPEND(p->now, p->n_now, p->now_capacity, *head);
}

/* Takes in the whole messages of the stream. Returns their bytes, or a negative errno. */
static ssize_t messages_take(struct pass *p, const char *data, size_t size, bool is_brief)
{
	struct sp_message_blocked head;
	size_t at = 0;
	int r = 0;

	while (size - at >= sizeof(head)) {
		memcpy(&head, data + at, sizeof(head));
		if (head.bytes > STREAM_BYTES - sizeof(head))
			return sp_fail_said(-EBADMSG, "a blocked thread's record of %u bytes", head.bytes);
		if (size - at < sizeof(head) + head.bytes)
			break;
		r = is_brief ? now_add(p, &head) : thread_add(p, &head, (const void *)(data + at + sizeof(head)));
		if (r < 0)
			return r;
		at += sizeof(head) + head.bytes;
	}
	return (ssize_t)at;
}

/* What the threads' records name is announced through the rings, which hold only so much. */
static int list_read(struct pass *p, enum sp_blocked_how how)
{
	struct sp_threads_asked asked = {.how = how, .recipe = (unsigned)SP_MAX(p->recipe, 0)};
	bool is_brief = how == SP_BLOCKED_CHECK || how == SP_BLOCKED_TAKE;
	SP_CLOSE int fd = -1;
	SP_FREE char *data = malloc(STREAM_BYTES);
	size_t have = 0;
	ssize_t n, taken;

	asked.min_ns = sp_recipe_min_ns(p->c->o.recipes[asked.recipe], p->c->o.min_ns);
	asked.max_ns = p->c->o.max_ns;
	fd = p->c->o.recipes[0]->ground->threads(&p->c->recipe, &asked);
	if (fd < 0 || !data)
		return fd < 0 ? fd : -ENOMEM;
	for (;;) {
		n = read(fd, data + have, STREAM_BYTES - have);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return n < 0 ? sp_fail(-errno, "list the threads that wait") : 0;
		have += (size_t)n;
		taken = messages_take(p, data, have, is_brief);
		if (taken < 0)
			return (int)taken;
		memmove(data, data + taken, have - (size_t)taken);
		have -= (size_t)taken;
		if (!is_brief) {
			int r = p->c->backend->read(p->c);

			if (r < 0)
				return r;
		}
	}
}

/* --- episodes --- */
/* What a front's ops ask for at sched_switch(preempt, prev, next, prev_state), of a thread that has stopped running. */
struct thread_env {
	const struct thread *t;
};
#define sp_op_env thread_env

static sp_u64 sp_env_argument(struct sp_op_env *env, sp_u64 number)
{
	const struct sp_message_blocked *head = &env->t->head;

	return number == 0 ? !head->state : number == 1 ? head->task : number == 3 ? head->state : 0;
}

static sp_u64 sp_env_memory(struct sp_op_env *env, sp_u64 address, sp_u32 size)
{
	(void)env;
	(void)address;
	(void)size;
	return 0;
}

static sp_u64 sp_env_builtin(struct sp_op_env *env, sp_u64 builtin)
{
	const struct thread *t = env->t;

	switch (builtin) {
	case SP_BUILTIN_PID:
		return t->record->key.process.tgid;
	case SP_BUILTIN_TID:
		return t->head.tid;
	case SP_BUILTIN_TASK:
		return t->head.task;
	case SP_BUILTIN_CALL:
		return t->head.call;
	}
	return builtin >= SP_BUILTIN_CALL_ARGUMENT
		   ? sp_call_argument_of(&t->record->regs, builtin - SP_BUILTIN_CALL_ARGUMENT)
		   : 0;
}

#include "event/ops.h"

static bool is_begin(const struct sp_recipe_point *point)
{
	return point->at == SP_AT_RAW && point->slot.role == SP_ROLE_BEGIN && !strcmp(point->where, "sched_switch");
}

static bool is_wanted(const struct thread *t, const struct sp_front_slot *slot, sp_u64 *r)
{
	struct sp_op_env env = {.t = t};

	return sp_slot_takes(slot->flags, t->head.flags) && sp_ops_run(&env, slot->ops, r);
}

static void key_narrow(const struct sp_capture *c, const struct sp_front_slot *slot, struct sp_count_key *key)
{
	if (!c->o.kernel || !(slot->flags & SP_SLOT_KERNEL))
		key->kernel_stack = 0;
	if (!(slot->flags & SP_SLOT_LOCK))
		key->object = 0;
}

/* If the thread has begun another wait meanwhile, that one's episode stays. */
static void episode_open(struct pass *p, struct thread *t, unsigned recipe, const struct sp_front_slot *slot)
{
	struct sp_capture *c = p->c;
	sp_u64 r[SP_N_OP_REGS] = {0};
	struct sp_episode_key at = {.recipe = recipe};
	struct sp_episode e = {.since_ns = p->since_ns,
			       .times = 1,
			       .min_ns = sp_recipe_min_ns(c->o.recipes[recipe], c->o.min_ns),
			       .max_ns = c->o.max_ns,
			       .ran_ns = t->head.ran_ns,
			       .key = t->record->key};

	if (!is_wanted(t, slot, r))
		return;
	at.match = r[slot->match & (SP_N_OP_REGS - 1)];
	e.key.recipe = (sp_u16)recipe;
	if (slot->state < SP_N_OP_REGS)
		e.key.state = (sp_u16)sp_task_state_of(r[slot->state]);
	key_narrow(c, slot, &e.key);
	if (!bpf_map_update_elem(c->episodes_fd, &at, &e, BPF_NOEXIST)) {
		t->episode = at;
		p->n_open += !t->is_open;
		t->is_open = true;
	} else if (errno != EEXIST) {
		c->n_without_room++;
	}
}

static void episodes_open(struct pass *p)
{
	for (size_t i = 0; i < p->n; i++)
		for (unsigned k = 0; p->c->o.recipes[k]; k++)
			for (const struct sp_recipe_point *at = p->c->o.recipes[k]->points; at->at; at++)
				if (is_begin(at) && (p->recipe < 0 || p->recipe == (int)k))
					episode_open(p, &p->threads[i], k, &at->slot);
}

/* Whether the open episode of this key is the one that was opened here. */
static bool is_ours(const struct pass *p, const struct thread *t, const struct sp_episode_key *at)
{
	struct sp_episode e;

	return !bpf_map_lookup_elem(p->c->episodes_fd, at, &e) && e.since_ns &&
	       e.key.user_stack == t->record->key.user_stack;
}

SP_ORDER_BY(by_task, struct sp_message_blocked, task);

/* Takes back the episodes of threads that have run since they were listed. */
static void episodes_check(struct pass *p)
{
	qsort(p->now, p->n_now, sizeof(*p->now), by_task);
	for (size_t i = 0; i < p->n; i++) {
		struct thread *t = &p->threads[i];
		const struct sp_message_blocked *now = bsearch(&t->head, p->now, p->n_now, sizeof(*now), by_task);
		struct sp_episode_key at = t->episode;

		if (!t->is_open || (now && now->n_switches == t->head.n_switches))
			continue;
		for (at.recipe = 0; p->c->o.recipes[at.recipe]; at.recipe++)
			if (is_ours(p, t, &at))
				bpf_map_delete_elem(p->c->episodes_fd, &at);
		t->is_open = false;
	}
}

/* --- stacks --- */
static int stack_without_frames(struct sp_capture *c, const struct thread *t, sp_u32 stop)
{
	const sp_u64 *ticket = &t->record->key.user_stack;
	int64_t stack = sp_drain_stack(c, &(struct sp_walked){.stop = stop});

	return stack < 0 ? (int)stack : sp_numbers_set(&c->stacks, ticket, sizeof(*ticket), (uint32_t)stack);
}

static void code_known(struct pass *p, const struct thread *t)
{
	struct sp_message_pending *r = t->record;

	r->code_bytes = 0;
	if (!(r->how & SP_HOW_EXACT))
		return;
	if (sp_memory_reader_read(&p->c->reader, (pid_t)t->head.tid, r->regs.ip - SP_CODE_BEFORE, SP_CODE_BYTES) !=
	    SP_CODE_BYTES)
		return;
	memcpy(r->code, p->c->reader.memory, SP_CODE_BYTES);
	r->code_bytes = SP_CODE_BYTES;
}

/* The red zone may lie in a page of its own that was never written to. */
static ssize_t stack_read(struct pass *p, const struct thread *t)
{
	struct sp_message_pending *r = t->record;
	uint64_t room = t->head.stack_bytes;
	size_t bytes = !room || room > STACK_REACH ? SP_PENDING_STACK : SP_MIN(room, (uint64_t)SP_READER_BYTES);
	ssize_t n = sp_memory_reader_read(&p->c->reader, (pid_t)t->head.tid, r->stack_at, bytes);

	if (n <= 0 && n != -ETIMEDOUT) {
		r->stack_at = r->regs.sp;
		n = sp_memory_reader_read(&p->c->reader, (pid_t)t->head.tid, r->stack_at, bytes);
	}
	return n;
}

static int thread_walk(struct pass *p, struct thread *t)
{
	struct sp_finish_memory memory = {0};
	ssize_t n;

	if (t->head.stop != SP_N_STOPS)
		return stack_without_frames(p->c, t, t->head.stop);
	code_known(p, t);
	n = stack_read(p, t);
	if (n <= 0 || (!t->is_stamped && !is_ours(p, t, &t->episode)))
		return stack_without_frames(p->c, t, SP_STOP_READ);
	memory.stack = p->c->reader.memory;
	memory.stack_bytes = (size_t)n;
	memory.stack_at = t->record->stack_at;
	return sp_pending_keep(p->c, t->record, &memory, t->space);
}

static int stacks_walk(struct pass *p)
{
	int r = p->c->reader.memory ? 0 : sp_memory_reader_begin(&p->c->reader);

	for (size_t i = 0; i < p->n && r >= 0; i++) {
		if (p->threads[i].is_open)
			r = thread_walk(p, &p->threads[i]);
		if (r >= 0 && p->c->waiting_bytes > WAITING_BYTES)
			r = sp_pending_try(p->c, false);
	}
	return r < 0 ? r : sp_pending_try(p->c, false);
}

/* Who has gone on most often is the first to go on now: then its stack is another one. */
static int by_switches(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return SP_FALLING(x->head.n_switches, y->head.n_switches);
}

int sp_blocked_begin(struct sp_capture *c, uint64_t since_ns, int recipe)
{
	struct pass p = {.c = c, .since_ns = since_ns, .recipe = recipe};
	int r = list_read(&p, SP_BLOCKED_LIST);

	if (r >= 0)
		episodes_open(&p);
	if (r >= 0 && p.n_open)
		r = list_read(&p, SP_BLOCKED_CHECK);
	if (r >= 0 && p.n_open)
		episodes_check(&p);
	if (p.n)
		qsort(p.threads, p.n, sizeof(*p.threads), by_switches);
	if (r >= 0 && p.n_open && c->o.user)
		r = stacks_walk(&p);
	pass_done(&p);
	return r < 0 ? sp_fail(r, "look at the threads that wait already") : 0;
}

/* --- threads that are stamped --- */
static const struct sp_front_slot *return_slot(const struct sp_capture *c, unsigned recipe)
{
	const struct sp_recipe_point *at = c->o.recipes[recipe]->points;

	while (at->at && at->slot.role != SP_ROLE_RETURN)
		at++;
	return &at->slot;
}

/* What is known from the first pass. Its stack may still wait when it counts, so the record's own key has it, too. */
static void stamp_take(struct pass *p, struct thread *t)
{
	const struct sp_front_slot *slot = return_slot(p->c, (unsigned)p->recipe);
	struct sp_count_key *key = &t->record->key;

	key->recipe = (sp_u16)p->recipe;
	key->state = (sp_u16)t->head.stamp_state;
	key_narrow(p->c, slot, key);
	t->is_stamped = true;
	t->is_open = sp_slot_takes(slot->flags, t->head.flags);
}

static int by_thread(const void *a, const void *b)
{
	return by_task(&((const struct thread *)a)->head, &((const struct thread *)b)->head);
}

/* A thread that was back just when its stamp was to be taken is told once more, without one. */
static void stamps_find(struct pass *p)
{
	if (p->n)
		qsort(p->threads, p->n, sizeof(*p->threads), by_thread);
	for (size_t i = 0; i < p->n_now && p->n; i++) {
		struct thread wanted = {.head = p->now[i]}, *t;

		t = bsearch(&wanted, p->threads, p->n, sizeof(*t), by_thread);
		if (t)
			t->taken_ns = p->now[i].since_ns;
	}
}

static int stamps_count(struct pass *p)
{
	int r = 0;

	for (size_t i = 0; i < p->n && r >= 0; i++) {
		const struct thread *t = &p->threads[i];
		struct sp_episode e = {.since_ns = t->head.since_ns, .times = 1, .key = t->record->key};

		if (t->is_open && t->taken_ns == t->head.since_ns)
			r = sp_drain_episode(p->c, &e, p->since_ns);
	}
	return r;
}

/*
 * Threads that are back before the second pass have counted by themselves, and have no stamp any more; the others have
 * not run meanwhile.
 */
int sp_blocked_end(struct sp_capture *c, unsigned recipe)
{
	struct pass p = {.c = c, .since_ns = sp_time_ns(CLOCK_MONOTONIC), .recipe = (int)recipe};
	int r = list_read(&p, SP_BLOCKED_STAMPS);

	for (size_t i = 0; i < p.n; i++)
		stamp_take(&p, &p.threads[i]);
	if (r >= 0 && p.n && c->o.user)
		r = stacks_walk(&p);
	if (r >= 0)
		r = list_read(&p, SP_BLOCKED_TAKE);
	stamps_find(&p);
	if (r >= 0)
		r = stamps_count(&p);
	pass_done(&p);
	return r < 0 ? sp_fail(r, "look at the threads that still wait") : 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells processes and threads apart, if calls are counted for each.
 *
 * A child of fork has its parent's memory, and in it the counters that the parent's trampolines know. So one page,
 * which has the offset of struct rseq, is zeroed by the kernel in each child (MADV_WIPEONFORK). Without the offset a
 * call takes the locked path, finds that the process is not settled, and goes to sp_count_call(), which first forgets
 * all counters. So calls of the parent are not slowed down, and no system call is needed, which a sandbox might forbid.
 * A child may begin in a signal handler in the middle of a trampoline: only counters vanish under it, and trampolines
 * read these last; what it holds at that moment is counted for the parent, once. The child's pid is where libc has the
 * thread's id; a symbol of libc for debuggers says where. A child of vfork shares its parent's memory, and is counted
 * as the parent until it executes another program.
 *
 * If threads are told apart, no process is ever settled: each call goes to sp_count_call() and finds its thread's row.
 */
#include "audit/process.h"
#include "audit/audit.h"

#include <sys/mman.h>

struct sp_own sp_own __attribute__((aligned(SP_CALLS_PAGE))); /* no value: in memory without a file */
_Static_assert(sizeof(sp_own) == SP_CALLS_PAGE, "nothing else is zeroed");
_Static_assert(SP_CALLS_MAX_SLOTS *SP_CALLS_PAGE < SP_LOWEST_COUNTER, "of counters at 0 all slots are below");
_Static_assert(offsetof(struct sp_own, settled) == SP_OWN_SETTLED, "as trampolines.S has it");

static uint64_t rseq_offset,
    tid_offset;           /* from the thread pointer, of struct rseq and a thread's number; 0: not known */
static uint32_t last_pid; /* of the process that this one is a child of, or of this one */

/* Threads that have called: number << 32 | id of the record. Of one that finds no place here, another's is taken. */
enum { THREADS = 1024, THREAD_TRIES = 8 };
static uint64_t threads[THREADS + THREAD_TRIES];

void sp_process_begin(void)
{
	bool fails = sp_shared.apart != SP_CALLS_TOGETHER &&
		     sp_sys(SYS_madvise, (uint64_t)&sp_own, sizeof(sp_own), MADV_WIPEONFORK, 0, 0, 0) != 0;

	if (fails) /* an old kernel: children could not be recognised */
		sp_shared.apart = SP_CALLS_TOGETHER;
	sp_own.settled = sp_shared.apart != SP_CALLS_BY_THREAD;
}

void sp_process_rseq(uint64_t offset)
{
	rseq_offset = offset;
	if (sp_shared.apart != SP_CALLS_BY_THREAD)
		sp_store(&sp_own.rseq_offset, offset);
}

/* One thread does it; others, and its signal handlers, count without an offset. */
bool sp_process_settle(void)
{
	if (sp_load(&sp_own.settled) != 0)
		return true;
	if (sp_shared.apart == SP_CALLS_BY_THREAD) /* a place of a call has counters for each thread: all go this way */
		return false;
	if (!sp_swap(&sp_own.is_settling, 0, 1))
		return false;
	sp_counters_forget();
	sp_store(&sp_own.settled, 1);
	sp_store(&sp_own.rseq_offset, rseq_offset);
	return true;
}

static uint32_t tid_here(void)
{
	uint32_t tid;

	__asm__ volatile("movl %%fs:(%1), %0" : "=r"(tid) : "r"(tid_offset));
	return tid;
}

/* Size in bits, number, and offset, as for libthread_db. */
static void find_tid(void)
{
	for (uint32_t i = 0; i < sp_n_objects && tid_offset == 0; i++) {
		const struct sp_object *o = &sp_objects[i];
		const Elf64_Sym *s = sp_object_defines(o, "_thread_db_pthread_tid");
		const uint32_t *field = s ? (const uint32_t *)(o->bias + s->st_value) : NULL;
		if (field && s->st_size == 3 * sizeof(*field) && field[0] == 32 && field[2] < SP_CALLS_PAGE)
			tid_offset = field[2];
	}
}

void sp_process_loaded(void)
{
	if (sp_shared.apart == SP_CALLS_TOGETHER)
		return;
	find_tid();
	sp_own.pid = tid_offset != 0 ? tid_here() : (uint32_t)sp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static struct sp_object *program(void)
{
	for (uint32_t i = 0; i < sp_n_objects; i++)
		if (sp_objects[i].is_program)
			return &sp_objects[i];
	return NULL;
}

/* A child that has its parent's number where its own should be was made without libc. */
static uint32_t pid(void)
{
	uint32_t tid;

	if (sp_own.pid != 0)
		return sp_own.pid;
	if (tid_offset == 0) /* before all libraries are there */
		find_tid();
	tid = tid_offset != 0 ? tid_here() : 0;
	return tid != last_pid ? tid : 0;
}

/* tid 0: of the whole process. */
static uint32_t process_new(uint32_t tid)
{
	struct sp_object *o = program();
	const char *name = sp_again_name[0] != '\0' ? sp_again_name : sp_last_part(sp_program_path);
	size_t len = sp_len(name);
	struct sp_calls_process p = {.pid = pid(), .program = o ? sp_object_id(o) : 0, .tid = tid};

	sp_copy(p.name, name, len < sizeof(p.name) ? len : sizeof(p.name) - 1);
	last_pid = p.pid != 0 ? p.pid : last_pid;
	if (tid != 0) /* all threads have it from the first */
		sp_swap(&sp_own.pid, 0, p.pid);
	return sp_shared_process(&p);
}

/* A child of fork has another number than the thread that made it, so that what is here of its parent does no harm. */
static uint32_t thread_id(uint32_t tid)
{
	uint64_t *first = &threads[tid % THREADS], made;

	for (unsigned i = 0; i < THREAD_TRIES; i++)
		if (sp_load(&first[i]) >> 32 == tid)
			return (uint32_t)sp_load(&first[i]);
	made = process_new(tid);
	if (made == 0)
		return 0;
	made |= (uint64_t)tid << 32;
	for (unsigned i = 0; i < THREAD_TRIES; i++)
		if (sp_swap(&first[i], 0, made))
			return (uint32_t)made;
	sp_store(&first[tid / THREADS % THREAD_TRIES], made);
	return (uint32_t)made;
}

/* Of two threads that come here first one's record is what all take; the other's has no rows. */
uint32_t sp_process_id(void)
{
	uint32_t id = sp_load(&sp_own.id), made;

	if (sp_shared.apart == SP_CALLS_TOGETHER)
		return 0;
	if (sp_shared.apart == SP_CALLS_BY_THREAD && tid_offset == 0)
		find_tid();
	if (sp_shared.apart == SP_CALLS_BY_THREAD && tid_offset != 0 && tid_here() != 0)
		return thread_id(tid_here());
	if (id != 0)
		return id;
	made = process_new(0);
	return made == 0 || sp_swap(&sp_own.id, 0, made) ? made : sp_load(&sp_own.id);
}

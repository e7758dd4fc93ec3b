/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which process counts, where processes are told apart. A child of fork has its parent's memory, and with it the
 * counters that the parent's trampolines know. So the kernel zeroes what they know in it (MADV_WIPEONFORK), and each of
 * the child's first calls comes by sp_count(), which asks here who it is: no call is slower for it, and no system call
 * is made, as the child may be in a sandbox already. Its number is where libc has that of the thread (in a child of
 * fork(), that of the process); libc says where that is by a symbol that it has for debuggers. A child of vfork shares
 * its parent's memory, and is counted as its parent until it is another program.
 */
#include "audit/process.h"
#include "audit/audit.h"

#include <sys/mman.h>

static struct { /* of this process: a child finds it zeroed */
	uint32_t id, pid;
	uint8_t whole_page[SP_CALLS_PAGE - 2 * sizeof(uint32_t)];
} own __attribute__((aligned(SP_CALLS_PAGE)));

static uint64_t tid_offset; /* of a thread's number from the thread pointer; 0: not known */
static uint32_t last_pid;   /* of the process that this one is a child of, or of this one */

static bool wipe(void *at, uint64_t bytes)
{
	return sp_sys(SYS_madvise, (uint64_t)at, bytes, MADV_WIPEONFORK, 0, 0, 0) == 0;
}

void sp_process_begin(void)
{
	if (sp_share.apart == SP_CALLS_BY_PROCESS &&
	    (!wipe(&own, sizeof(own)) || !wipe(sp_sites, sizeof(sp_sites)) || !wipe(sp_records, sizeof(sp_records))))
		sp_share.apart = SP_CALLS_TOGETHER; /* an old kernel: children could not be told from their parent */
}

static uint32_t tid_here(void)
{
	uint32_t tid;

	__asm__ volatile("movl %%fs:(%1), %0" : "=r"(tid) : "r"(tid_offset));
	return tid;
}

/* Size in bits, number, and offset, as libthread_db is told. */
static void find_tid(void)
{
	for (uint32_t i = 0; i < sp_n_objects && tid_offset == 0; i++) {
		const struct sp_object *o = &sp_objects[i];
		const Elf64_Sym *s = sp_object_defines(o, "_thread_db_pthread_tid");
		const uint32_t *field = s != NULL ? (const uint32_t *)(o->bias + s->st_value) : NULL;
		if (field != NULL && s->st_size == 3 * sizeof(*field) && field[0] == 32 && field[2] < SP_CALLS_PAGE)
			tid_offset = field[2];
	}
}

void sp_process_loaded(void)
{
	if (sp_share.apart != SP_CALLS_BY_PROCESS)
		return;
	find_tid();
	own.pid = tid_offset != 0 ? tid_here() : (uint32_t)sp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0);
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

	if (own.pid != 0)
		return own.pid;
	if (tid_offset == 0) /* before all libraries are there */
		find_tid();
	tid = tid_offset != 0 ? tid_here() : 0;
	return tid != last_pid ? tid : 0;
}

static uint32_t process_new(void)
{
	struct sp_object *o = program();
	const char *name = sp_again_name[0] != '\0' ? sp_again_name : sp_last_part(sp_program_path);
	size_t len = sp_len(name);
	struct sp_calls_process p = {.pid = pid(), .program = o != NULL ? sp_object_id(o) : 0};

	sp_copy(p.name, name, len < sizeof(p.name) ? len : sizeof(p.name) - 1);
	last_pid = p.pid != 0 ? p.pid : last_pid;
	return sp_share_process(&p);
}

/* Of two threads that come here first one's record is what all take; the other's has no rows. */
uint32_t sp_process_id(void)
{
	uint32_t id = sp_load(&own.id), made;

	if (id != 0 || sp_share.apart != SP_CALLS_BY_PROCESS)
		return id;
	made = process_new();
	return made == 0 || sp_swap(&own.id, 0, made) ? made : sp_load(&own.id);
}

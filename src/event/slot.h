/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * slot.h: one attach point of a session (a "slot"), as its front and its sink know it.
 *
 * A front is a small BPF program on one event; its read-only data is a struct sp_front_slot, which the user half writes
 * before it is loaded. It runs the slot's ops. If the event is wanted, it leaves a struct sp_hit in the scratch and
 * goes on into a sink, which walks the stacks and counts. Shared by both halves, as bpf/wire.h is.
 */
#ifndef SP_EVENT_SLOT_H
#define SP_EVENT_SLOT_H

#include "event/op.h"

enum { SP_NO_REG = 0xff /* in place of a register: the slot has no such number */ };

/* An episode begins in the thread that waits, whose stacks are walked then; it ends in any thread, and counts then. */
enum sp_front_role {
	SP_ROLE_EVENT, /* counts by itself */
	SP_ROLE_BEGIN,
	SP_ROLE_END,
	SP_ROLE_FORGET, /* the episode's end will not be seen: it does not count */
	SP_ROLE_WAKER,  /* runs in the thread that ends an episode; the stacks are that thread's */
	/* In place of BEGIN, END and FORGET, where stacks are walked only when a wait was long enough: */
	SP_ROLE_LEAVE,  /* the thread leaves its CPU, and is stamped; made of BEGIN */
	SP_ROLE_RETURN, /* it is back: an event whose value is how long it was away */
	SP_ROLE_ALLOC,  /* an allocation, which counts until it is freed */
	SP_ROLE_FREE,   /* ends the ALLOC of the same match in the same process */
	/* Entry and return of a call that allocates; bpf/allocate.bpf.h makes ALLOC and FREE of them: */
	SP_ROLE_ASK,   /* it is entered: `value` bytes are asked for; the block at `match` is freed */
	SP_ROLE_GIVEN, /* it returns: `match` is the block's address */
	SP_ROLE_AGAIN, /* of a hit only: a realloc that failed keeps the old block */
};
enum {
	SP_SLOT_USER = 1, /* which stacks are walked */
	SP_SLOT_KERNEL = 2,
	SP_SLOT_NO_KTHREAD = 4, /* kernel threads are not wanted */
	SP_SLOT_NO_EXITING = 8, /* nor ending threads, whose registers still name the call that they were in */
	SP_SLOT_ALL_WAITS = 16, /* an episode is open whenever the thread does not run */
	SP_SLOT_KTHREAD = 32,   /* nothing but kernel threads is wanted */
	SP_SLOT_RECORD = 64,    /* the front is a classic tracepoint's: its argument 0 is the address of the record */
	SP_SLOT_LOCK = 128,     /* the slot's object is the address of a lock */
	SP_SLOT_PROBE = 256,  /* the front is a probe's: its arguments are those of the function, and what it returns */
	SP_SLOT_UNSEEN = 512, /* FREE, ASK: frees of blocks whose allocation was not seen are counted */
	SP_SLOT_BY_RET = 2048,   /* ASK, GIVEN: the call's end is seen at its `ret`; FREE: one that may call another */
	SP_SLOT_SESSION = 4096,  /* with SP_SLOT_PROBE: by both ends of a call, of which the second is the event */
	SP_SLOT_NUMBERED = 1024, /* the hit's object is the event's number, which its row has as its slice */
	SP_SLOT_KPROBE = 8192,   /* with SP_SLOT_PROBE: the function is one of the kernel's */
	SP_SLOT_MARK = 16384,    /* with SP_SLOT_PROBE: its arguments are those of a mark (mark.h) */
};

struct sp_front_slot {
	struct sp_op ops[SP_N_OPS];
	sp_u32 role, recipe, flags;
	sp_u32 n_arguments; /* how many of the event's arguments are read */
	/* Numbers of registers, or SP_NO_REG: */
	sp_u32 value;  /* what the event stands for; without one it counts 1 */
	sp_u32 match;  /* the number that an episode's beginning and end have in common */
	sp_u32 state;  /* bits of the task's state (TASK_INTERRUPTIBLE ...); 0: ready to run */
	sp_u32 times;  /* how many events it stands for; without one, what the guard says */
	sp_u32 kept;   /* with SP_SLOT_SESSION: this argument, less 1, is the call's beginning's; 0: none is */
	sp_u32 object; /* address of what it is about, read with SP_SLOT_LOCK only; ASK: where the block's will be */
	sp_u64 min_ns, max_ns; /* shorter and longer episodes do not count; max_ns 0 = none is too long */
	sp_u64 thin;           /* ASK: one of so many bytes is sampled; 1: all */
	sp_u64 one_in;         /* ASK: one of so many calls is, instead; 0: by bytes */
	sp_u64 least, most;    /* ASK: smaller and larger blocks do not count */
};

enum { SP_TASK_WAKING = 0x200 /* bit of a task's state (include/linux/sched.h): it is being queued for a CPU */ };
enum { SP_PF_EXITING = 0x4, SP_PF_KTHREAD = 0x200000 }; /* of a task (include/linux/sched.h) */

/* Whether a slot with these flags takes events of a task with those. */
static inline int sp_slot_takes(sp_u32 slot_flags, sp_u32 task_flags)
{
	if (slot_flags & SP_SLOT_NO_KTHREAD && task_flags & SP_PF_KTHREAD)
		return 0;
	if (slot_flags & SP_SLOT_KTHREAD && !(task_flags & SP_PF_KTHREAD))
		return 0;
	return !(slot_flags & SP_SLOT_NO_EXITING && task_flags & SP_PF_EXITING);
}

/* enum sp_task_state of the bits in a task's state, of which those above tell how it waits, and not for what */
static inline sp_u32 sp_task_state_of(sp_u64 bits)
{
	bits &= 0xf;
	return !bits ? SP_TASK_PREEMPTED : bits & 1 ? SP_TASK_SLEEPING : bits & 2 ? SP_TASK_DISK : SP_TASK_STOPPED;
}

struct sp_hit { /* an event on its way from its front to its sink */
	sp_u32 role, recipe, flags;
	sp_u32 state; /* enum sp_task_state */
	sp_u64 value, match, min_ns, max_ns;
	sp_u64 times; /* how many events it stands for (guard.h) */
	sp_u64 object;
};

struct sp_episode_key {
	sp_u64 match, recipe;
};

/* A thread's, which stays in its place when it has ended: the next, nearly always of the same stack, is not sent. */
struct sp_episode {
	sp_u64 since_ns;       /* it is counted up to then: its beginning, or the last drain; 0: it has ended */
	sp_u64 min_ns, max_ns; /* shorter and longer ones do not count */
	sp_u64 is_counted;
	sp_u64 ran_ns;       /* how long the thread had run when it began, by the scheduler's books */
	sp_u64 times;        /* how many episodes it stands for */
	sp_u64 woken_ns;     /* when its waker came; 0 = not yet, or not told */
	sp_u32 is_announced; /* all that its key names was sent */
	sp_u32 is_last;      /* the thread ends: nobody will forget the episode but its own end */
	struct sp_count_key key;
};

/* max_ns 0: none is too long */
static inline int sp_wait_counts(sp_u64 ns, sp_u64 min_ns, sp_u64 max_ns)
{
	return ns >= min_ns && (!max_ns || ns <= max_ns);
}

/* Whether an open episode counts if it has lasted so long since it was counted last. */
static inline int sp_episode_counts(const struct sp_episode *e, sp_u64 ns)
{
	return e->is_counted || sp_wait_counts(ns, e->min_ns, e->max_ns);
}

/* Of a thread that has left its CPU, for each recipe; the thread is alone with it. */
enum { SP_N_STAMPS = 8 };
#define SP_STAMP_EPISODE 1ULL /* in since_ns: the thread waits since before the sampling, and has an episode */
struct sp_stamp {
	sp_u64 since_ns; /* 0: it is back */
	sp_u64 state;    /* enum sp_task_state */
};
struct sp_stamps {
	struct sp_stamp of[SP_N_STAMPS];
};

/* What the iterator over threads that do not run is to do. */
enum sp_blocked_how {
	SP_BLOCKED_LIST,   /* tells all of each */
	SP_BLOCKED_CHECK,  /* only the heads; stamps those that have an episode with SP_STAMP_EPISODE */
	SP_BLOCKED_STAMPS, /* tells all of those whose stamp is old enough to count */
	SP_BLOCKED_TAKE,   /* takes all stamps, and tells the heads of those that had one */
};
struct sp_threads_asked {
	enum sp_blocked_how how;
	sp_u32 recipe; /* of which the stamps are meant, and how long a wait of it counts */
	sp_u64 min_ns, max_ns;
};

#endif

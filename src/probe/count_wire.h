/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * count_wire.h: all that the two halves of counting by probes say to each other.
 *
 * A row is a function in a process and, if asked for, a place it was called from; or a function alone. Its value has
 * the parts that the session wants, one behind the other: who, then times, then places. So a session without times or
 * places has small rows. Compiles as BPF C and as C17, with one layout in both; numbers are the host's.
 */
#ifndef SP_PROBE_COUNT_WIRE_H
#define SP_PROBE_COUNT_WIRE_H

#include "bpf/wire.h"

/*
 * By function: a cookie tells its number and how far the return address lies above the stack pointer. A probe that has
 * no cookie is told by its address, which means something in its process only.
 */
#define SP_PROBED_COOKIE(number, pushed, is_stepped)                                                                   \
	((sp_u64)((is_stepped) != 0) << 40 | (sp_u64)(sp_u8)(pushed) << 32 | (sp_u32)(number))
#define SP_PROBED_PUSHED(cookie) ((cookie) >> 32 & 0xff)
#define SP_PROBED_IS_STEPPED(cookie) ((sp_u32)((cookie) >> 40 & 1))

struct sp_probed_key {
	sp_u64 function;  /* its number, or the probe's address */
	sp_u32 tgid, uid; /* from here on not part of the key in sessions that want functions only */
	sp_u64 life;      /* differs between processes of one number, and between programs that one has executed */
	sp_u64 caller;    /* the return address; not part of the key in sessions without callers */
};

struct sp_probed_who {
	sp_u64 n_calls; /* in sessions with times the user half's alone: the sum of `n`, those that returned */
	sp_u64 start_ns, cgroup;
	sp_u32 exec_id, unused;
	char comm[SP_COMM_LEN];
};

enum { SP_PROBED_BUCKETS = 48 }; /* i: 2^i ns and more, below 2^(i+1); 0 also 0 ns, the last all that are longer */
struct sp_probed_times {
	sp_u64 sum_ns, max_ns, least; /* least: the complement of the shortest, so that 0 is none */
	sp_u64 n[SP_PROBED_BUCKETS];
};

/* Found when the row is new; `offset` is in the file. */
struct sp_probed_place {
	sp_u64 ino, offset;
	sp_u32 dev, is_known;
};
struct sp_probed_places {
	struct sp_probed_place caller, function;
};

enum {
	SP_PROBED_VALUE_MAX =
	    sizeof(struct sp_probed_who) + sizeof(struct sp_probed_times) + sizeof(struct sp_probed_places)
};

/*
 * Rows of timed calls that are found without a search, where there are sessions: each CPU has its own, each at one
 * place, by its function and process, which the first has that comes there. Others' are in the table, and one may be in
 * several: they add up. A CPU writes to its own alone, and does nothing else meanwhile, so that no instruction is
 * locked, and no CPU waits for another.
 */
enum sp_probed_hot_state { SP_PROBED_FREE, SP_PROBED_BUSY, SP_PROBED_HELD };
enum { SP_PROBED_N_HOT = 16 }; /* of each CPU */
struct sp_probed_hot {
	struct sp_probed_key key;
	sp_u32 state; /* enum sp_probed_hot_state */
	sp_u32 unused;
	struct sp_probed_who who; /* as in a row's value */
	struct sp_probed_times times;
};
#define SP_PROBED_HOT(key) (((sp_u32)(key)->function ^ (key)->tgid) & (SP_PROBED_N_HOT - 1))

/*
 * How often functions were entered, by number: what all CPUs add to comes first, of max_functions; then, of each CPU,
 * its own of the first functions, to which alone it adds where these have one.
 */
enum { SP_PROBED_N_OWN = 256 };

struct sp_probed_config {
	sp_u32 addresses;    /* probes have no cookies */
	sp_u32 functions;    /* keys have nothing else */
	sp_u32 callers;      /* keys have them */
	sp_u32 users;        /* keys have the user at the call */
	sp_u32 times_at;     /* where in a value; 0 = none */
	sp_u32 places_at;    /* likewise */
	sp_u32 targets;      /* only processes in the map of this name */
	sp_u32 cgroup_level; /* of the only cgroup wanted */
	sp_u32 has_comm;     /* only threads with the name `comm` */
	sp_u32 guarded;      /* hits are counted, and taken only while the session is open */
	sp_u32 hot;          /* rows may be where they are found without a search */
	sp_u32 max_functions;
	sp_u32 own_functions; /* how many of them have numbers of each CPU's own */
	sp_u32 samples;       /* who calls is put into the map `sampled` */
	sp_u64 cgroup;        /* 0 = all */
	char comm[SP_COMM_LEN];
};

enum sp_probed_counter {
	SP_PROBED_N_MADE,      /* rows that were made; all others are losses: */
	SP_PROBED_N_NO_ROOM,   /* calls that found no room for a row */
	SP_PROBED_N_NO_START,  /* calls whose beginning found no room, so that their time is not known */
	SP_PROBED_N_NO_BEGIN,  /* returns whose beginning was not seen, or is forgotten */
	SP_PROBED_N_NO_FILE,   /* announcements of files that found no room */
	SP_PROBED_N_ELSEWHERE, /* calls on other stacks than their thread's own, which are not timed */
	SP_PROBED_N_UNREAD,    /* calls whose return address could not be read */
	SP_PROBED_N_UNSAMPLED, /* rows of processes that found no room among those that are sampled */
	SP_PROBED_N_COUNTERS
};

/* A file of code that called, told when it is first met. */
struct sp_probed_file {
	sp_u64 ino, start, end, pgoff;
	sp_u32 dev, tgid;
	char name[SP_NAME_LEN];
};

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * trace_wire.h: what the two halves of `soprof trace` say to each other, as bpf/wire.h does for samples.
 *
 * Each attach point has a program of its own, which runs the ops of its slot (event/slot.h). They leave numbers in the
 * registers: first those that are keys or columns, then what is summed or drawn as a histogram, then the addresses of
 * texts. An event is either counted in a row, by its key, or told by a record. A key is as many words as the session's
 * rows have: the point and the bucket, the numbers, the thread's name, the texts.
 * Of a pair of points the first ones leave a struct sp_trace_pair under a key; the second one finds it, and is the
 * event.
 */
#ifndef SP_TRACE_TRACE_WIRE_H
#define SP_TRACE_TRACE_WIRE_H

#include "event/op.h"

enum {
	SP_TRACE_POINTS = 32,
	SP_TRACE_CALL_ARGUMENTS = 6,
	SP_TRACE_SUMS = 2,
	SP_TRACE_TEXTS = 4,
	SP_TRACE_PAIRS = 1 << 16, /* open at a time */
	SP_TRACE_KEY_TEXT = 64,   /* bytes of a text in a key: with its NUL */
	SP_TRACE_TEXT = 256,      /* in a record */
	SP_TRACE_KEY_WORDS = 1 + SP_N_OP_REGS + SP_COMM_LEN / 8 + SP_TRACE_KEY_TEXT / 8,
	SP_TRACE_NO_BUCKET = 0,
	SP_TRACE_BELOW_0 = 1, /* buckets: below 0; then 0 and 1, 2 and 3, 4 to 7 ... */
	SP_TRACE_FROM_0 = 2,
	SP_TRACE_BUCKETS = SP_TRACE_FROM_0 + 64,
};

enum sp_trace_role {
	SP_TRACE_EVENT,
	SP_TRACE_FIRST,  /* its numbers are kept */
	SP_TRACE_SECOND, /* an event, if there was a first one */
	SP_TRACE_FORGET, /* there will be no second one */
	SP_TRACE_CLAIM,  /* from here on an open pair is the current thread's */
};
struct sp_trace_pair_key {
	sp_u64 spec, number[2];
};
struct sp_trace_pair {
	sp_u64 since_ns; /* 0: it is over */
	sp_u64 number;   /* of its stack, where stacks are walked at first points */
	sp_u64 dur_ns;   /* from here on SP_BUILTIN_DUR and what follows it */
	sp_u64 pid, tid;
	char comm[SP_COMM_LEN];
	sp_u64 kept[SP_N_KEPT];
};

enum sp_trace_text_from {
	SP_TRACE_TEXT_KERNEL, /* the kernel's memory */
	SP_TRACE_TEXT_USER,   /* the current process's */
};
struct sp_trace_text {
	sp_u32 from, reg, at, bytes; /* reg: has the address; at: where it goes, in bytes; bytes: with the NUL */
	sp_u32 length; /* register that has its length, which is left in the last byte; SP_NO_REG: it ends with a NUL */
};

/* A point's read-only data, beside its slot. Numbers of registers, or SP_NO_REG. */
struct sp_trace_config {
	sp_u32 point; /* the number of its spec */
	sp_u32 role;
	sp_u32 pair_at, pair_key[2],
	    pair_stays;      /* SECOND: before which op the pair is found; whether its place stays */
	sp_u32 asks_who;     /* whether it is the thread here that must be wanted, and that the event is about */
	sp_u32 needs_claim;  /* SECOND: what nobody has claimed is not wanted, where somebody's is asked for */
	sp_u32 n_kept, kept; /* FIRST: from which register on */
	/*
	 * Whose event a pair is, is known and asked at the second point, not at the first: three registers from `whose`
	 * on have the process, the thread, and the address of its name.
	 */
	sp_u32 of_task, whose;
	sp_u32 tells;     /* whether events are told; else they are counted */
	sp_u32 n_numbers; /* the lowest registers: keys or columns */
	sp_u32 hist, hist_is_unsigned;
	sp_u32 n_sums, sum[SP_TRACE_SUMS];
	sp_u32 calls_at; /* of the six arguments of the system call in the record, in bytes; 0: they are not there */
	sp_u32 comm_at;  /* of the thread's name in the key, in bytes; 0: it is none */
	sp_u32 n_texts;
	struct sp_trace_text text[SP_TRACE_TEXTS];
	sp_u32 record_bytes;
	sp_u32 walks;   /* flags of the slot (event/slot.h) with which stacks are walked here; 0: not at all */
	sp_u32 targets; /* only processes in the map `targets` */
	sp_u32 cgroup_level;
	sp_u64 cgroup; /* 0 = all */
};

struct sp_trace_value { /* of a row on one CPU; a session has as many sums as it needs */
	sp_u64 n;
	sp_u64 sum[SP_TRACE_SUMS];
};

struct sp_trace_record { /* a told event; the numbers follow, then the texts */
	sp_u64 ns;       /* CLOCK_MONOTONIC */
	sp_u64 n_lost;   /* records that had found no room by then */
	sp_u32 point, cpu;
	sp_u32 pid, tid;
	sp_u32 number, pad; /* of its stack, which comes by the session that samples; 0: it has none */
	char comm[SP_COMM_LEN];
};

enum sp_trace_counter {                        /* elements of the map `losses`, of all CPUs together */
			SP_TRACE_LOST_ROWS,    /* no room for a new row: events that are not counted */
			SP_TRACE_LOST_RECORDS, /* no room in the ring */
			SP_TRACE_LOST_PAIRS,   /* no room for a first point: its second will not be one */
			SP_TRACE_LOST_TEXTS, /* texts that could not be read, since their page is not in memory, say */
			SP_TRACE_LOST_ARGUMENTS, /* marks with an argument in memory that could not be read */
			SP_TRACE_N_WALKS,        /* no loss: numbers of stacks given so far */
			SP_TRACE_N_COUNTERS,
};

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * op.h: ops, the steps by which a front computes numbers of an event (ops.h runs a list of them).
 *
 * Shared by both halves, as bpf/wire.h is: plain structures of one layout. The list is part of a slot (slot.h), which
 * the user half writes before the front is loaded; nothing changes it afterwards.
 */
#ifndef SP_EVENT_OP_H
#define SP_EVENT_OP_H

#include "bpf/wire.h"

/* SP_N_OPS_SHORT: the front is loaded in half the time if a list has no more */
enum { SP_N_OPS = 24, SP_N_OPS_SHORT = 12, SP_N_OP_REGS = 8, SP_N_ARGUMENTS = 12, SP_OP_IMM = 0xff };

/* dst, a and b are numbers of registers; b may be SP_OP_IMM: then the operand is the op's own imm. */
enum sp_op_kind {
	SP_OP_END,         /* after the last op: what follows is not looked at */
	SP_OP_SET,         /* dst = imm */
	SP_OP_ARGUMENT,    /* dst = the event's argument number imm */
	SP_OP_LOAD,        /* dst = `size` bytes (1 to 8) of the kernel's memory at a + imm */
	SP_OP_BUILTIN,     /* dst = enum sp_builtin imm */
	SP_OP_ZERO_EXTEND, /* dst = the low `size` bits of a */
	SP_OP_SIGN_EXTEND, /* likewise, copying their sign bit upwards */
	SP_OP_NEED,        /* if a is 0 the event is not wanted */
	SP_OP_ADD,         /* from here on dst = a op b */
	SP_OP_SUB,
	SP_OP_MUL,
	SP_OP_DIV,
	SP_OP_MOD,
	SP_OP_SDIV, /* signed, as the kinds below whose names have an S */
	SP_OP_SMOD,
	SP_OP_AND,
	SP_OP_OR,
	SP_OP_XOR,
	SP_OP_SHL,
	SP_OP_SHR,
	SP_OP_SAR,
	SP_OP_EQ,
	SP_OP_NE,
	SP_OP_LT,
	SP_OP_LE,
	SP_OP_SLT,
	SP_OP_SLE,
	SP_OP_BOTH, /* && */
	SP_OP_EITHER,
	SP_N_OP_KINDS,
};

enum sp_builtin {
	SP_BUILTIN_PID, /* of the process, in the first namespace */
	SP_BUILTIN_TID,
	SP_BUILTIN_UID,
	SP_BUILTIN_GID,
	SP_BUILTIN_CPU,
	SP_BUILTIN_CGROUP,
	SP_BUILTIN_NOW,  /* CLOCK_MONOTONIC */
	SP_BUILTIN_TASK, /* the address of the current task */
	SP_BUILTIN_COMM, /* the first 8 bytes of the thread's name; then the other 8 */
	SP_BUILTIN_COMM_END,
	SP_BUILTIN_CALL,          /* number of the system call that the current thread is in; -1: none */
	SP_BUILTIN_CALL_ARGUMENT, /* its first argument; those of the five others follow */
	/* Of a pair of points, whose second this is (trace/trace_wire.h); elsewhere 0: */
	SP_BUILTIN_DUR = SP_BUILTIN_CALL_ARGUMENT + 6, /* time since the first */
	SP_BUILTIN_FIRST_PID,
	SP_BUILTIN_FIRST_TID,
	SP_BUILTIN_FIRST_COMM, /* as SP_BUILTIN_COMM */
	SP_BUILTIN_FIRST_COMM_END,
	SP_BUILTIN_KEPT, /* a number that was kept of the first; the others follow */
	SP_N_KEPT = 4,
	SP_N_BUILTINS = SP_BUILTIN_KEPT + SP_N_KEPT,
};

struct sp_op {
	sp_u8 kind, dst, a, b;
	sp_u32 size;
	sp_u64 imm;
};

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_record.h: parses the records of a perf_event_open ring buffer.
 *
 * A pure function from bytes to a struct that points into them. SP_PERF_SAMPLE_TYPE and struct sp_perf_format, by which
 * the events were opened, determine the layout: see perf_event_open(2) and linux/perf_event.h. The kernel is trusted,
 * but its bytes are checked all the same: no read leaves the record, and what does not fit in it is -EBADMSG. Registers
 * come in the order of their DWARF numbers. No state; thread-safe.
 */
#ifndef SP_CAPTURE_PERF_PERF_RECORD_H
#define SP_CAPTURE_PERF_PERF_RECORD_H

#include "bpf/wire.h"
#include "capture/x86_64/perf_registers.h"
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_PERF_SAMPLE_TYPE (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD)

struct sp_perf_format {
	bool has_user;   /* PERF_SAMPLE_REGS_USER of SP_PERF_REGS, PERF_SAMPLE_STACK_USER */
	bool has_kernel; /* PERF_SAMPLE_CALLCHAIN of the kernel */
};

struct sp_perf_sample {
	uint64_t ip, period;
	bool in_kernel;
	const sp_u8 *chain; /* n_chain words of 8 bytes: addresses, and PERF_CONTEXT_ marks among them */
	size_t n_chain;
	bool has_regs, is_32_bit;
	bool is_call; /* a system call: ip is behind the instruction, as a return address is */
	struct sp_regs regs;
	const sp_u8 *stack;
	size_t stack_bytes;
};

struct sp_perf_mmap {
	uint64_t addr, len, pgoff, ino, generation;
	uint32_t dev; /* major << 20 | minor */
	bool is_exec;
	const char *path; /* ends within the record */
};

struct sp_perf_record {
	uint32_t type;
	uint16_t misc;
	uint32_t pid, tid;
	uint64_t time_ns;
	union {
		struct sp_perf_sample sample; /* PERF_RECORD_SAMPLE */
		struct sp_perf_mmap map;      /* PERF_RECORD_MMAP2 */
		char comm[SP_COMM_LEN];       /* PERF_RECORD_COMM; ends with a NUL */
		struct {
			uint32_t ppid, ptid;
		} task;          /* PERF_RECORD_FORK, PERF_RECORD_EXIT */
		uint64_t n_lost; /* PERF_RECORD_LOST, PERF_RECORD_LOST_SAMPLES */
	};
};

/* bytes: of one record, header included. Of an unknown type, only what all records have is filled in. 0 or -EBADMSG. */
int sp_perf_record_parse(const void *bytes, size_t size, const struct sp_perf_format *f,
			 struct sp_perf_record *ret_record);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_line.h: one line of `perf script` text taken apart.
 *
 * A sample is a header, `COMM PID/TID [CPU] TIME: PERIOD EVENT: ...` (every part may be missing: `perf script -F`), and
 * the lines of its frames, `ADDRESS SYMBOL+0xOFFSET (LIBRARY)`, or one frame behind the header. Nothing in the text is
 * quoted, so a thread's name may look like the fields behind it. What decides: the kernel's names have at most
 * SP_PERF_COMM_MAX bytes, and what is before TIME must be whole; see tools/perf/builtin-script.c of Linux for the form.
 * Pieces point into the line. No state, no memory, no errors but "it is not one".
 */
#ifndef SP_READ_PERF_LINE_H
#define SP_READ_PERF_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_PERF_COMM_MAX = 15 };
#define SP_PERF_KERNEL_START 0xffff800000000000ULL

struct sp_perf_text {
	const char *s;
	size_t n;
};

struct sp_perf_header {
	struct sp_perf_text comm, event, rest; /* rest: behind EVENT: (or TIME:) */
	struct sp_perf_text who;               /* COMM and ids as they stand: equal bytes mean equal ids */
	uint32_t pid, tid;                     /* equal if only one of them is told; 0 for -1 */
	uint64_t time_ns, period;
	bool has_ids, has_time, has_period;
	bool is_record; /* PERF_RECORD_...: no sample */
	bool is_sure;   /* enough of it is there; else it is a header only if frames follow */
	bool is_column; /* nothing but a frame in its column says so */
};

/* Whether there is anything that can be a header: false for an empty line only. */
bool sp_perf_header_parse(struct sp_perf_text line, struct sp_perf_header *ret_header);

struct sp_perf_frame {
	uint64_t address;
	struct sp_perf_text symbol,
	    library; /* without +0x... behind them; library is empty if has_library is not set */
	uint64_t symbol_offset, library_offset;
	bool has_symbol_offset, has_library, has_library_offset;
	bool is_inlined;
};

/* White space before it is passed over. */
bool sp_perf_frame_parse(struct sp_perf_text line, struct sp_perf_frame *ret_frame);
/* The frame in the rest of a header, behind whatever else is there: its text; empty if there is none. */
struct sp_perf_text sp_perf_frame_find(struct sp_perf_text rest);
/* The frame in a line that has neither time nor event, by its column; empty if there is none. */
struct sp_perf_text sp_perf_frame_column(struct sp_perf_text line);

/* --- helpers of both --- */
static inline bool sp_perf_is_space(char c)
{
	return c == ' ' || c == '\t';
}

struct sp_perf_text sp_perf_trim(struct sp_perf_text t);
/* The last word of *t, which *t loses; empty at the beginning. */
struct sp_perf_text sp_perf_last_word(struct sp_perf_text *t);
/* The whole text in decimal; too large a number becomes the largest. */
bool sp_perf_number(struct sp_perf_text t, uint64_t *ret_number);
/* Seconds with up to 9 decimals. */
bool sp_perf_time_parse(struct sp_perf_text t, uint64_t *ret_ns);
bool sp_perf_begins(struct sp_perf_text t, const char *with);

#endif

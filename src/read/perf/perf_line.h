/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_line.h: parses a line of `perf script` text.
 *
 * A sample is a header, `COMM PID/TID [CPU] TIME: PERIOD EVENT: ...` (every part may be missing: `perf script -F`),
 * and lines of frames, `ADDRESS SYMBOL+0xOFFSET (LIBRARY)`, or one frame behind the header. Nothing is quoted, so a
 * thread's name may look like the fields behind it; it is resolved by the length of names (at most SP_PERF_COMM_MAX
 * bytes) and because the fields before TIME must be complete. For the form see tools/perf/builtin-script.c of Linux.
 * Results point into the line. No state, no memory, no errors but false.
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
	struct sp_perf_text comm, event, rest; /* rest: behind EVENT: or TIME: */
	struct sp_perf_text who;               /* the text of COMM and ids: equal text means the same thread */
	uint32_t pid, tid;                     /* equal if there is only one of them; 0 for -1 */
	uint64_t time_ns, period;
	bool has_ids, has_time, has_period;
	bool is_record; /* PERF_RECORD_...: not a sample */
	bool is_sure;   /* certainly a header; else only if frames follow */
	bool is_column; /* only a frame in its usual column indicates that it is a header */
};

/* False only for an empty line: anything else may be a header. */
bool sp_perf_header_parse(struct sp_perf_text line, struct sp_perf_header *ret_header);

/*
 * A sample that is one line without a frame (`-F` without ip): perf pads its columns, and nothing else is in the line.
 * Which columns: bits of enum sp_perf_column, 0 if the line is none.
 */
enum sp_perf_column {
	SP_PERF_COMM = 1,
	SP_PERF_ID = 2,
	SP_PERF_CPU = 4,
	SP_PERF_TIME = 8,
	SP_PERF_PERIOD = 16,
	SP_PERF_EVENT = 32
};
unsigned int sp_perf_columns_parse(struct sp_perf_text line, struct sp_perf_header *ret_header);

struct sp_perf_frame {
	uint64_t address;
	struct sp_perf_text symbol, library; /* without +0x...; library is empty without has_library */
	uint64_t symbol_offset, library_offset;
	bool has_symbol_offset, has_library, has_library_offset;
	bool is_inlined;
};

/* Leading white space is skipped. */
bool sp_perf_frame_parse(struct sp_perf_text line, struct sp_perf_frame *ret_frame);
/* The text of the frame at the end of a header's rest; empty if there is none. */
struct sp_perf_text sp_perf_frame_find(struct sp_perf_text rest);
/* The text of the frame in a line without time and event, by its column; empty if there is none. */
struct sp_perf_text sp_perf_frame_column(struct sp_perf_text line);

/* --- helpers of both --- */
static inline bool sp_perf_is_space(char c)
{
	return c == ' ' || c == '\t';
}

struct sp_perf_text sp_perf_trim(struct sp_perf_text t);
/* Cuts the last word off *t and returns it; empty if there is none. */
struct sp_perf_text sp_perf_last_word(struct sp_perf_text *t);
/* Seconds with up to 9 decimals. */
bool sp_perf_time_parse(struct sp_perf_text t, uint64_t *ret_ns);
bool sp_perf_begins(struct sp_perf_text t, const char *with);

#endif

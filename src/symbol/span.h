/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * span.h: all functions of a file as spans. A span is a range of offsets with one result of names.h.
 *
 * Spans are in ascending order; the first begins at 0, each ends where the next one begins, and the last says that
 * nothing more is known. They are stored and sent one after the other: a byte of flags, the differences to the span
 * before as LEB128, and strings with their lengths. Input is untrusted: sp_span_get() accepts only what names.h can
 * return; name and linkage point into the bytes read and have no NUL. No state but the structs.
 */
#ifndef SP_SYMBOL_SPAN_H
#define SP_SYMBOL_SPAN_H

#include "base/cursor.h"
#include "symbol/names.h"

enum { SP_SPAN_MAX_BYTES = 2 * SP_NAME_MAX + 64 };

struct sp_span {
	uint64_t at;
	uint64_t start, size, vaddr; /* as in struct sp_name; size 0: nothing is known in this span, and start is 0 */
	const char *name, *linkage;  /* may be NULL as there */
	uint32_t name_len, linkage_len;
	bool is_gap;
};
struct sp_span_state { /* the span before; zeroed at the beginning of a sequence */
	uint64_t at, bias;
	bool any;
};

/* Encodes a span into at most SP_SPAN_MAX_BYTES; returns their number. */
size_t sp_span_put(struct sp_span_state *s, const struct sp_span *span, uint8_t *ret_bytes);
/* Decodes a span; false: invalid, and c is bad. */
bool sp_span_get(struct sp_span_state *s, struct sp_cursor *c, struct sp_span *ret_span);
/*
 * Calls `each` for all spans of a file, in order, until it returns non-zero, which is returned. For every offset they
 * have the result of sp_names_find_with(). -EFBIG: more than SP_SPANS_MAX_SYMBOLS functions or ranges in one table.
 * Memory: about 60 bytes for each of them.
 */
enum { SP_SPANS_MAX_SYMBOLS = 2 << 20 };
int sp_spans_walk(struct sp_elf *e, struct sp_names_more *more, sp_range_walk *walk,
		  int (*each)(void *arg, const struct sp_span *span), void *arg);

/*
 * The same for /proc/kallsyms, with addresses instead of offsets: each function reaches to the next symbol. The name of
 * a module's function is followed by a tab and the module. -EPERM: the file hides all addresses. Memory: about 60 bytes
 * for each of at most SP_KERNEL_SYMBOLS_MAX symbols.
 */
enum { SP_KERNEL_SYMBOLS_MAX = 1 << 20 };
int sp_kallsyms_walk(int fd, int (*each)(void *arg, const struct sp_span *span), void *arg);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * span.h: all functions of a file as spans: which answer names.h gives, from one offset up to the next span.
 *
 * Spans come in ascending order; the first begins at 0, the last says that there is nothing more, and each lies within
 * what it says. They are kept
 * and sent one behind the other: a byte of flags, what differs from the span before as LEB128, the strings with their
 * lengths. What is read is foreign: sp_span_get() takes nothing but what names.h could have answered; name and linkage
 * name point into the bytes that were read and have no NUL. No state but the structs.
 */
#ifndef SP_SYMBOL_SPAN_H
#define SP_SYMBOL_SPAN_H

#include "base/cursor.h"
#include "symbol/names.h"

enum { SP_SPAN_MAX_BYTES = 2 * SP_NAME_MAX + 64 };

struct sp_span {
	uint64_t at;
	uint64_t start, size, vaddr; /* as struct sp_name's; size 0: nothing is known from here on, and start is 0 */
	const char *name, *linkage;  /* NULL as there */
	uint32_t name_len, linkage_len;
	bool is_gap;
};
struct sp_span_state { /* of the span before; zeroed where a row of spans begins */
	uint64_t at, bias;
	bool any;
};

/* At most SP_SPAN_MAX_BYTES into ret_bytes: how many. */
size_t sp_span_put(struct sp_span_state *s, const struct sp_span *span, uint8_t *ret_bytes);
/* false: this is none, and c is bad. */
bool sp_span_get(struct sp_span_state *s, struct sp_cursor *c, struct sp_span *ret_span);
/*
 * All spans of a file, in order, until `each` returns other than 0, which is given back. For every offset they tell
 * what sp_names_find_with() would. -EFBIG: it has more than SP_SPANS_MAX_SYMBOLS functions and ranges in one of its
 * tables. Memory: about 60 bytes for each of them.
 */
enum { SP_SPANS_MAX_SYMBOLS = 2 << 20 };
int sp_spans_walk(struct sp_elf *e, struct sp_names_more *more, sp_range_walk *walk,
		  int (*each)(void *arg, const struct sp_span *span), void *arg);

/*
 * The same of /proc/kallsyms, read from the beginning, with addresses for offsets: each function up to the next symbol,
 * by the rules of symbol.h. A name is followed by a tab and its module, if it is of one. -EPERM: the file hides all
 * addresses. Memory: about 60 bytes a symbol, at most SP_KERNEL_SYMBOLS_MAX.
 */
enum { SP_KERNEL_SYMBOLS_MAX = 1 << 20 };
int sp_kallsyms_walk(int fd, int (*each)(void *arg, const struct sp_span *span), void *arg);

#endif

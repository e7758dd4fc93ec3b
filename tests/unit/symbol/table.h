/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table.h: a table of names of an ELF file, made as the workers and the program make it, but in one process.
 *
 * table_make() gives an unnamed file with the table, and its head; table_differs() asks the table and the file itself
 * for the names at some offsets and says how many answers differ: all fields, and where the table says that its answer
 * holds. The caller closes. Errors: negative errno. No state.
 */
#ifndef SP_TEST_SYMBOL_TABLE_H
#define SP_TEST_SYMBOL_TABLE_H

#include "base/error.h"
#include "elf/elf.h"
#include "symbol/name_table.h"
#include "symbol/span.h"
#include "unwind/build.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct table_out {
	FILE *out;
	struct sp_span_state state;
};

static inline int table_span(void *arg, const struct sp_span *span)
{
	struct table_out *o = arg;
	uint8_t bytes[SP_SPAN_MAX_BYTES];
	size_t n = sp_span_put(&o->state, span, bytes);
	return fwrite(bytes, 1, n, o->out) == n ? 0 : -EIO;
}

static inline int table_make(struct sp_elf *e, struct sp_elf *debug, struct sp_name_table_head *head)
{
	struct sp_names_more more = {.debug = debug};
	struct table_out o = {.out = tmpfile()};
	int fd = memfd_create("table", MFD_CLOEXEC);
	*head = (struct sp_name_table_head){.with_debug = debug != NULL};
	int r = sp_spans_walk(e, &more, sp_function_walk, table_span, &o);
	fflush(o.out);
	if (r == 0)
		r = sp_name_table_write(fileno(o.out), (uint64_t)ftell(o.out), fd, head);
	fclose(o.out);
	if (r == 0)
		return fd;
	close(fd);
	return r;
}

static inline struct sp_name_table table_of(int fd, const struct sp_name_table_head *h)
{
	return (struct sp_name_table){
	    .fd = fd, .n_blocks = h->n_blocks, .index_at = h->index_at, .index_hash = h->index_hash};
}

static inline int table_text_differs(const char *a, const char *b)
{
	return !a != !b || (a && strcmp(a, b) != 0);
}

static inline int table_answer_differs(const struct sp_name *a, const struct sp_name *b, uint64_t offset)
{
	if (b->size && (offset < b->from || offset >= b->to))
		return 1;
	return a->start != b->start || a->size != b->size || a->vaddr != b->vaddr || a->is_gap != b->is_gap ||
	       table_text_differs(a->name, b->name) || table_text_differs(a->linkage_name, b->linkage_name);
}

static inline void table_show(const struct sp_name *m)
{
	printf("  %s / %s start %#lx size %#lx vaddr %#lx %s\n", m->name ? m->name : "-",
	       m->linkage_name ? m->linkage_name : "-", (unsigned long)m->start, (unsigned long)m->size,
	       (unsigned long)m->vaddr, m->is_gap ? "gap" : "");
}

/* How many answers differ; the first one is shown. */
static inline int64_t table_differs(struct sp_elf *e, struct sp_elf *debug, const struct sp_name_table *t,
				    const uint64_t *offsets, size_t n)
{
	struct sp_name *real = calloc(n + 1, sizeof(*real)), *ours = calloc(n + 1, sizeof(*ours));
	struct sp_names_more more = {.debug = debug};
	int64_t n_bad = 0;
	int r = sp_names_find_with(e, &more, sp_function_walk, offsets, n, real);
	if (r == 0)
		r = sp_name_table_find(t, offsets, n, ours);
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (!table_answer_differs(&real[i], &ours[i], offsets[i]))
			continue;
		if (!n_bad++) {
			printf("at %#lx:\n", (unsigned long)offsets[i]);
			table_show(&real[i]);
			table_show(&ours[i]);
		}
	}
	if (r == 0) {
		sp_names_done(real, n);
		sp_names_done(ours, n);
	}
	free(real);
	free(ours);
	return r < 0 ? r : n_bad;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/jit_names.h"

#include "base/error.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/search.h"
#include "symbol/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1 << 18, MAX_RANGE = 1 << 30, MAX_BYTES = 256 << 20 };

struct range { /* a line */
	uint64_t start, size;
	uint64_t name; /* where its name is in the file */
	uint32_t name_len;
};

struct reader {
	int fd;
	char bytes[CHUNK];
	size_t n;    /* bytes in the buffer, which begin at `at` in the file */
	uint64_t at; /* in the file */
	const uint64_t *addresses;
	size_t n_addresses;
	/*
	 * A tree over the addresses, which are its leaves: an address belongs to the last of the lines from its leaf to
	 * the root. So a line costs some steps, however many addresses it holds.
	 */
	struct range *tree;
	struct sp_jit_counts counts;
};

/* Takes up to 16 digits and the space behind them. Returns the number of bytes, or 0. */
static size_t take_hex(const char *text, size_t len, uint64_t *ret_value)
{
	size_t i = len > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 2 : 0, first = i;
	uint64_t value = 0;
	for (; i < len && i - first < 17; i++) {
		int c = text[i] | 0x20, digit = c >= 'a' && c <= 'f' ? c - 'a' + 10 : c - '0';
		if (digit < 0 || digit > 15 || (digit > 9 && c < 'a'))
			break;
		value = value << 4 | (uint64_t)digit;
	}
	if (i == first || i - first > 16 || i == len || text[i] != ' ')
		return 0;
	*ret_value = value;
	return i + 1;
}

static void note_range(struct reader *r, const struct range *g)
{
	size_t n = r->n_addresses, low = n + sp_n_below(r->addresses, n, g->start);
	size_t high = n + sp_n_below(r->addresses, n, g->start + g->size);
	for (; low < high; low /= 2, high /= 2) {
		if (low % 2)
			r->tree[low++] = *g;
		if (high % 2)
			r->tree[--high] = *g;
	}
}

/* Size 0: no line holds the address. */
static struct range range_of(const struct reader *r, size_t address)
{
	struct range last = {0};
	for (size_t at = r->n_addresses + address; at; at /= 2)
		if (r->tree[at].name > last.name)
			last = r->tree[at];
	return last;
}

/* A line without its newline, at this place in the file. */
static bool perf_map_take_line(struct reader *r, const char *line, size_t len, uint64_t at)
{
	struct range g;
	size_t n = take_hex(line, len, &g.start), m = n ? take_hex(line + n, len - n, &g.size) : 0;
	size_t name = n + m;
	if (!m || name >= len || memchr(line, 0, len))
		return false;
	if (!g.size || g.size > MAX_RANGE || g.start + g.size < g.start)
		return false;
	g.name = at + name;
	g.name_len = (uint32_t)(len - name);
	note_range(r, &g);
	return true;
}

/* Takes the whole lines; the bytes left begin the next chunk. A line longer than a chunk is bad. */
static void take_lines(struct reader *r, bool *skipping)
{
	size_t from = 0;
	for (;;) {
		const char *line = r->bytes + from, *end = memchr(line, '\n', r->n - from);
		if (!end)
			break;
		size_t len = (size_t)(end - line);
		r->counts.n++;
		r->counts.n_bad += *skipping || !perf_map_take_line(r, line, len, r->at + from);
		*skipping = false;
		from += len + 1;
	}
	if (!from && r->n == CHUNK) {
		*skipping = true;
		from = r->n;
	}
	memmove(r->bytes, r->bytes + from, r->n - from);
	r->n -= from;
	r->at += from;
}

static int perf_map_read_lines(struct reader *r)
{
	bool skipping = false;
	while (r->at + r->n < MAX_BYTES) {
		ssize_t n = sp_read_most_at(r->fd, r->bytes + r->n, CHUNK - r->n, r->at + r->n);
		if (n < 0)
			return sp_fail((int)n, "read the perf map");
		r->n += (size_t)n;
		if (!n)
			break;
		take_lines(r, &skipping);
	}
	r->counts.is_cut = r->at + r->n >= MAX_BYTES;
	if (r->n && !r->counts.is_cut) { /* it is still being written, or was cut */
		r->counts.n++;
		r->counts.n_bad++;
	}
	return 0;
}

static int perf_map_copy_name(const struct reader *r, const struct range *g, struct sp_name *ret_name)
{
	char text[SP_LINKAGE_MAX + 1];
	size_t len = SP_MIN(g->name_len, (uint32_t)SP_LINKAGE_MAX);
	ssize_t n = sp_read_most_at(r->fd, text, len, g->name);
	if (n < 0)
		return (int)n;
	text[n] = 0;
	if (n == 0 || memchr(text, '\n', (size_t)n)) /* cut, or written anew, in between */
		return 0;
	char *name = sp_demangle(text);
	if (!name)
		return -ENOMEM;
	*ret_name = (struct sp_name){.name = name, .start = g->start, .size = g->size, .vaddr = g->start};
	return 0;
}

static int perf_map_name_addresses(struct reader *r, struct sp_name *names)
{
	int e = perf_map_read_lines(r);
	for (size_t i = 0; i < r->n_addresses && e == 0; i++) {
		names[i] = (struct sp_name){.start = r->addresses[i]};
		struct range g = range_of(r, i);
		if (g.size)
			e = perf_map_copy_name(r, &g, &names[i]);
	}
	return e;
}

int sp_perf_map_find(int fd, uint64_t asked, const uint64_t *addresses, size_t n, struct sp_name *names,
		     struct sp_jit_counts *ret_counts)
{
	(void)asked;
	struct reader *r SP_FREE = calloc(1, sizeof(*r));
	struct range *tree SP_FREE = calloc(2 * n + 1, sizeof(*tree));
	if (!r || !tree)
		return -ENOMEM;
	memset(names, 0, n * sizeof(*names));
	r->fd = fd;
	r->addresses = addresses;
	r->n_addresses = n;
	r->tree = tree;
	int e = perf_map_name_addresses(r, names);
	*ret_counts = r->counts;
	if (e < 0)
		sp_names_done(names, n);
	return e;
}

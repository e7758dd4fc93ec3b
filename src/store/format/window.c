/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/format/window.h"

#include "base/cursor.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { HEAD_NUMBERS = 9, NS_PER_MS = 1000000 };

/* Coding of a value. */
enum form { FORM_ZERO, FORM_PLAIN, FORM_SIGNED, FORM_MULTIPLE };

static uint32_t head_crc(struct sp_window_id id, const void *bytes, size_t len)
{
	uLong crc = crc32_z(0, (const Bytef *)&id, sizeof(id));

	return (uint32_t)crc32_z(crc, bytes, len);
}

size_t sp_head_pack(const struct sp_head *h, struct sp_window_id id, uint8_t ret_bytes[SP_HEAD_MAX])
{
	const uint64_t numbers[HEAD_NUMBERS] = {sp_zigzag((int64_t)(h->wall_ns - id.t_ms * NS_PER_MS)),
						h->boot_ns,
						h->duration_ns,
						h->length_ns,
						h->rate_millihertz,
						h->n_lost,
						h->n_rows,
						h->last_chunk,
						h->n_cpus};
	size_t n = 0;

	for (size_t i = 0; i < HEAD_NUMBERS; i++) {
		uint64_t v = numbers[i];
		for (; v >= 0x80; v >>= 7)
			ret_bytes[n++] = (uint8_t)(v | 0x80);
		ret_bytes[n++] = (uint8_t)v;
	}
	uint32_t crc = head_crc(id, ret_bytes, n);
	memcpy(ret_bytes + n, &crc, sizeof(crc));
	return n + sizeof(crc);
}

int sp_head_unpack(struct sp_window_id id, const void *bytes, size_t len, struct sp_head *ret_head)
{
	uint64_t v[HEAD_NUMBERS];
	uint32_t crc;

	if (len < sizeof(crc) || len > SP_HEAD_MAX)
		return -EBADMSG;
	memcpy(&crc, (const char *)bytes + len - sizeof(crc), sizeof(crc));
	struct sp_cursor c = sp_cursor_on(bytes, len - sizeof(crc));
	for (size_t i = 0; i < HEAD_NUMBERS; i++)
		v[i] = sp_cursor_uleb(&c);
	if (c.bad || sp_cursor_left(&c) > 0 || crc != head_crc(id, bytes, len - sizeof(crc)))
		return -EBADMSG;
	*ret_head = (struct sp_head){.wall_ns = id.t_ms * NS_PER_MS + (uint64_t)sp_unzigzag(v[0]),
				     .boot_ns = v[1],
				     .duration_ns = v[2],
				     .length_ns = v[3],
				     .rate_millihertz = v[4],
				     .n_lost = v[5],
				     .n_rows = v[6],
				     .last_chunk = v[7],
				     .n_cpus = (uint32_t)v[8]};
	return 0;
}

void sp_head_add(struct sp_head *sum, const struct sp_head *h, bool first)
{
	if (first) {
		*sum = *h;
		return;
	}
	sum->duration_ns += h->duration_ns;
	sum->length_ns = SP_MAX(sum->length_ns, h->wall_ns + h->length_ns - sum->wall_ns);
	sum->n_lost += h->n_lost;
	sum->rate_millihertz = h->rate_millihertz;
	sum->n_cpus = SP_MAX(sum->n_cpus, h->n_cpus);
	sum->last_chunk = SP_MAX(sum->last_chunk, h->last_chunk);
}

/* --- rows --- */
struct value_coding {
	uint64_t form, factor;
};

static struct value_coding choose_coding(const struct sp_window_rows *r, uint32_t value)
{
	const int64_t *v = r->values[value];
	int64_t all = 0, factor;

	for (uint32_t i = 0; i < r->n; i++)
		all |= v[i];
	struct value_coding s = {.form = all < 0 ? FORM_SIGNED : all > 0 ? FORM_PLAIN : FORM_ZERO};
	if (value > 0 && s.form != FORM_ZERO && sp_window_rows_find_factor(r, value, &factor))
		s = (struct value_coding){.form = FORM_MULTIPLE, .factor = (uint64_t)factor};
	return s;
}

static void pack_values(const struct sp_window_rows *r, uint32_t value, enum form form, uint64_t *column,
			struct sp_packer *p)
{
	const int64_t *v = r->values[value];

	if (form == FORM_PLAIN)
		sp_pack_u64(p, (const uint64_t *)v, r->n);
	if (form != FORM_SIGNED)
		return;
	for (uint32_t i = 0; i < r->n; i++)
		column[i] = sp_zigzag(v[i]);
	sp_pack_u64(p, column, r->n);
}

static void pack_places(const struct sp_window_rows *r, uint32_t *who, uint32_t *n_each, uint32_t *nodes,
			struct sp_packer *p)
{
	uint32_t n = 0, last = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		bool same = i > 0 && r->who[i] == r->who[i - 1];
		if (!same) {
			who[n] = r->who[i] - last;
			last = r->who[i];
			n_each[n++] = 0;
		}
		n_each[n - 1]++;
		nodes[i] = r->node[i] - (same ? r->node[i - 1] : 0);
	}
	sp_pack_u32(p, who, n);
	sp_pack_u32(p, n_each, n);
	sp_pack_u32(p, nodes, r->n);
}

void sp_window_rows_pack_columns(const struct sp_window_rows *r, struct sp_packer *p)
{
	uint64_t forms[SP_MAX_VALUES], factors[SP_MAX_VALUES];
	SP_FREE uint64_t *scratch = malloc(((size_t)r->n + 1) * 2 * sizeof(*scratch));

	if (!scratch) {
		sp_packer_fail(p, -ENOMEM);
		return;
	}
	uint32_t *who = (uint32_t *)(void *)scratch, *n_each = who + r->n, *nodes = n_each + r->n;
	pack_places(r, who, n_each, nodes, p);
	for (uint32_t v = 0; v < r->n_values; v++) {
		struct value_coding s = choose_coding(r, v);
		forms[v] = s.form;
		factors[v] = s.factor;
	}
	sp_pack_u64(p, forms, r->n_values);
	sp_pack_u64(p, factors, r->n_values);
	for (uint32_t v = 0; v < r->n_values; v++)
		pack_values(r, v, (enum form)forms[v], scratch, p);
}

int sp_window_rows_pack(const struct sp_window_rows *r, struct sp_window_id id, struct sp_packer *p,
			const void **ret_record, size_t *ret_len)
{
	sp_packer_begin(p);
	sp_window_rows_pack_columns(r, p);
	return sp_packer_end(p, SP_RECORD_WINDOW, (uint64_t[]){id.t_ms, id.generation}, ret_record, ret_len);
}

/* Replaces distances by numbers; -EBADMSG: beyond 32 bits. */
static int decode_places(struct sp_window_rows *r, size_t at, const uint32_t *who, const uint32_t *n_each, size_t n_who)
{
	uint64_t number = 0;
	size_t end = r->n;

	for (size_t w = 0; w < n_who; w++) {
		uint64_t node = 0;
		number += who[w];
		if (n_each[w] > end - at || number > UINT32_MAX)
			return -EBADMSG;
		for (uint32_t i = 0; i < n_each[w]; i++, at++) {
			node += r->node[at];
			r->who[at] = (uint32_t)number;
			r->node[at] = (uint32_t)node;
		}
		if (node > UINT32_MAX)
			return -EBADMSG;
	}
	return at == end ? 0 : -EBADMSG;
}

static int unpack_values(struct sp_window_rows *r, size_t at, struct sp_unpacker *u)
{
	uint64_t forms[SP_MAX_VALUES], factors[SP_MAX_VALUES];
	size_t n = r->n - at;

	sp_unpack_u64(u, forms, r->n_values);
	sp_unpack_u64(u, factors, r->n_values);
	for (uint32_t v = 0; v < r->n_values; v++) {
		int64_t *values = r->values[v] + at;
		if (forms[v] > FORM_MULTIPLE || (v == 0 && forms[v] == FORM_MULTIPLE))
			return -EBADMSG;
		if (forms[v] == FORM_PLAIN || forms[v] == FORM_SIGNED)
			sp_unpack_u64(u, (uint64_t *)values, n);
		for (size_t i = 0; i < n && forms[v] != FORM_PLAIN; i++)
			values[i] = forms[v] == FORM_ZERO     ? 0
				    : forms[v] == FORM_SIGNED ? sp_unzigzag((uint64_t)values[i])
							      : (int64_t)((uint64_t)r->values[0][at + i] * factors[v]);
	}
	return u->bad ? -EBADMSG : 0;
}

static int unpack_places(struct sp_window_rows *r, size_t at, struct sp_unpacker *u)
{
	size_t n_who = sp_unpack_length(u);
	SP_FREE uint32_t *who = malloc((n_who + 1) * 2 * sizeof(*who));

	if (!who)
		return -ENOMEM;
	sp_unpack_u32(u, who, n_who);
	sp_unpack_u32(u, who + n_who, n_who);
	size_t n = sp_unpack_length(u);
	int e = n > UINT32_MAX - at ? -EBADMSG : sp_window_rows_reserve(r, at + n);
	if (e < 0)
		return e;
	sp_unpack_u32(u, r->node + at, n);
	r->n = (uint32_t)(at + n);
	return u->bad ? -EBADMSG : decode_places(r, at, who, who + n_who, n_who);
}

int sp_window_rows_unpack_columns(struct sp_window_rows *r, struct sp_unpacker *u)
{
	uint32_t at = r->n;
	size_t n_values = u->n_columns - u->column > 3 ? u->lengths[u->column + 3] : SP_MAX_VALUES + 1;
	int e = 0;

	if (n_values == 0 || n_values > SP_MAX_VALUES || (at > 0 && n_values != r->n_values))
		return -EBADMSG;
	r->n_values = (uint32_t)n_values;
	e = unpack_places(r, at, u);
	e = e < 0 ? e : unpack_values(r, at, u);
	if (e < 0)
		r->n = at;
	return e;
}

int sp_window_rows_unpack(struct sp_window_rows *r, struct sp_window_id id, const void *record, size_t len)
{
	struct sp_unpacker u;
	int e = sp_unpack_begin(&u, SP_RECORD_WINDOW, (uint64_t[]){id.t_ms, id.generation}, record, len);

	if (e < 0)
		return e;
	e = sp_window_rows_unpack_columns(r, &u);
	sp_unpack_done(&u);
	return e;
}

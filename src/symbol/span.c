/* SPDX-License-Identifier: GPL-2.0-or-later */
/* span.c: spans to bytes and back. */
#include "symbol/span.h"
#include "base/cursor.h"

#include <string.h>

enum { NAMED = 1, LINKAGE = 2, GAP = 4, NOTHING = 8, BIAS = 16, ALL_FLAGS = 31 };

static size_t span_put_text(uint8_t *out, const char *text, uint32_t len)
{
	size_t n = sp_put_uleb(out, len);
	memcpy(out + n, text, len);
	return n + len;
}

size_t sp_span_put(struct sp_span_state *s, const struct sp_span *x, uint8_t *out)
{
	uint64_t bias = x->vaddr - x->start;
	uint8_t flags = (uint8_t)((x->name ? NAMED : 0) | (x->linkage ? LINKAGE : 0) | (x->is_gap ? GAP : 0) |
				  (x->size ? 0 : NOTHING) | (x->size && bias != s->bias ? BIAS : 0));
	size_t n = 0;
	out[n++] = flags;
	n += sp_put_uleb(out + n, x->at - s->at);
	s->at = x->at;
	if (flags & NOTHING)
		return n;
	n += sp_put_uleb(out + n, x->at - x->start);
	n += sp_put_uleb(out + n, x->size);
	if (flags & BIAS)
		n += sp_put_uleb(out + n, s->bias = bias);
	if (flags & NAMED)
		n += span_put_text(out + n, x->name, x->name_len);
	if (flags & LINKAGE)
		n += span_put_text(out + n, x->linkage, x->linkage_len);
	return n;
}

static bool get_text(struct sp_cursor *c, const char **ret_text, uint32_t *ret_len)
{
	uint64_t len = sp_cursor_uleb(c);
	const char *text = (const char *)c->data + c->at;
	if (c->bad || !len || len >= SP_NAME_MAX || len > sp_cursor_left(c) || memchr(text, 0, len))
		return false;
	sp_cursor_skip(c, len);
	*ret_text = text;
	*ret_len = (uint32_t)len;
	return true;
}

static bool get_place(struct sp_span_state *s, struct sp_cursor *c, uint8_t flags, struct sp_span *x)
{
	uint64_t into = sp_cursor_uleb(c), size = sp_cursor_uleb(c);
	if (flags & BIAS)
		s->bias = sp_cursor_uleb(c);
	if (c->bad || into > x->at || into >= size || size - 1 > UINT64_MAX - (x->at - into))
		return false;
	x->start = x->at - into;
	x->size = size;
	x->vaddr = x->start + s->bias;
	x->is_gap = flags & GAP;
	return true;
}

static bool get_span(struct sp_span_state *s, struct sp_cursor *c, struct sp_span *x)
{
	uint8_t flags = sp_cursor_u8(c);
	uint64_t step = sp_cursor_uleb(c);
	bool named = flags & NAMED, rest = flags & ~(NOTHING | GAP);
	if (c->bad || flags > ALL_FLAGS || ((flags & LINKAGE) && !named) || ((flags & GAP) && named) ||
	    ((flags & NOTHING) && (rest || (flags & GAP))) || (s->any && !step) || step > UINT64_MAX - s->at)
		return false;
	*x = (struct sp_span){.at = s->at + step};
	s->at = x->at;
	s->any = true;
	if (flags & NOTHING)
		return true;
	return get_place(s, c, flags, x) && (!named || get_text(c, &x->name, &x->name_len)) &&
	       (!(flags & LINKAGE) || get_text(c, &x->linkage, &x->linkage_len));
}

bool sp_span_get(struct sp_span_state *s, struct sp_cursor *c, struct sp_span *ret_span)
{
	struct sp_span x;
	if (!get_span(s, c, &x)) {
		c->bad = true;
		return false;
	}
	*ret_span = x;
	return true;
}

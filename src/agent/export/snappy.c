/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/export/snappy.h"
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 65536, HASH_BITS = 13, MIN_COPY = 4, MAX_COPY = 64, TAG_LITERAL = 0, TAG_COPY = 2 };
enum { ONE_BYTE = 60, TWO_BYTES = 61 }; /* bytes of length after a literal's tag */

static uint8_t *put_literal(uint8_t *to, const uint8_t *from, size_t n)
{
	size_t length = n - 1;

	if (!n)
		return to;
	if (length < ONE_BYTE) {
		*to++ = (uint8_t)(length << 2 | TAG_LITERAL);
	} else if (length < 256) {
		*to++ = ONE_BYTE << 2 | TAG_LITERAL;
		*to++ = (uint8_t)length;
	} else {
		*to++ = TWO_BYTES << 2 | TAG_LITERAL;
		*to++ = (uint8_t)length;
		*to++ = (uint8_t)(length >> 8);
	}
	memcpy(to, from, n);
	return to + n;
}

static uint8_t *put_copy(uint8_t *to, size_t distance, size_t n)
{
	while (n) {
		size_t part = n > MAX_COPY ? MAX_COPY : n;

		*to++ = (uint8_t)((part - 1) << 2 | TAG_COPY);
		*to++ = (uint8_t)distance;
		*to++ = (uint8_t)(distance >> 8);
		n -= part;
	}
	return to;
}

static uint32_t hash_word(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word * 0x9e3779b1U >> (32 - HASH_BITS);
}

static size_t count_equal(const uint8_t *a, const uint8_t *b, size_t max)
{
	size_t n = 0;

	while (n < max && a[n] == b[n])
		n++;
	return n;
}

/* At most BLOCK bytes. seen: by hash, where it was last; 0 = never, or at the beginning. */
static uint8_t *pack_block(const uint8_t *from, size_t n, uint16_t *seen, uint8_t *to)
{
	size_t at = 1, literal = 0;

	memset(seen, 0, sizeof(*seen) << HASH_BITS);
	while (at + MIN_COPY <= n) {
		uint16_t *slot = &seen[hash_word(from + at)];
		size_t before = *slot, same = count_equal(from + before, from + at, n - at);

		*slot = (uint16_t)at;
		if (same < MIN_COPY) {
			at++;
			continue;
		}
		to = put_literal(to, from + literal, at - literal);
		to = put_copy(to, at - before, same);
		at += same;
		literal = at;
	}
	return put_literal(to, from + literal, n - literal);
}

int sp_snappy_pack(const void *bytes, size_t n, void **ret_block, size_t *ret_n)
{
	static const size_t extra = 64; /* beyond n and a sixth: for the length, and tags */
	const uint8_t *from = bytes;
	uint16_t *seen = malloc(sizeof(*seen) << HASH_BITS);
	uint8_t *block = n > UINT32_MAX ? NULL : malloc(n + n / 6 + extra), *to = block;
	size_t left = n;

	if (!seen || !block) {
		free(seen);
		free(block);
		return n > UINT32_MAX ? -E2BIG : -ENOMEM;
	}
	for (; left >= 0x80; left >>= 7)
		*to++ = (uint8_t)(left | 0x80);
	*to++ = (uint8_t)left;
	for (; n; from += left, n -= left) {
		left = n < BLOCK ? n : BLOCK;
		to = pack_block(from, left, seen, to);
	}
	free(seen);
	*ret_block = block;
	*ret_n = (size_t)(to - block);
	return 0;
}

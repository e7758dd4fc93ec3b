/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/format/pack.h"

#include "base/cursor.h"
#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum {
	VERSION = 1,
	HEAD_BYTES = 8,
	LEVEL = 1,
	FLUSH_MIN = 512, /* symbols: fewer are not worth a block of their own */
	PAD_BYTES = 8,
	MAX_COLUMNS = 256,
	MAX_NUMBERS = 1 << 27,
	LITERALS = 16,
	KEPT_BYTES = 256 << 10,
};

struct sp_packer {
	ZSTD_CCtx *zstd;
	uint8_t *symbols, *bits, *record;
	size_t n_symbols, symbols_capacity, n_bytes, bits_capacity, record_capacity;
	uint64_t word; /* bits that do not fill a byte yet: n_word < 8 */
	unsigned n_word;
	size_t lengths[MAX_COLUMNS], n_columns;
	int error;
};

int sp_packer_new(struct sp_packer **ret_packer)
{
	struct sp_packer *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->zstd = ZSTD_createCCtx();
	if (!p->zstd || ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, LEVEL)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 0))) {
		sp_packer_free(p);
		return -ENOMEM;
	}
	*ret_packer = p;
	return 0;
}

void sp_packer_free(struct sp_packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->zstd);
	free(p->symbols);
	free(p->bits);
	free(p->record);
	free(p);
}

void sp_packer_begin(struct sp_packer *p)
{
	p->n_symbols = p->n_bytes = p->n_columns = p->n_word = 0;
	p->word = 0;
	p->error = 0;
}

/* Reserves a column of n symbols with at most bits_each bits each. */
static bool reserve_column(struct sp_packer *p, size_t n, size_t bits_each)
{
	if (p->error == 0 && (p->n_columns == MAX_COLUMNS || n > MAX_NUMBERS - p->n_symbols))
		p->error = -E2BIG;
	if (p->error == 0)
		p->error = sp_grow(&p->symbols, &p->symbols_capacity, p->n_symbols + n + 1, 1); /* never NULL */
	if (p->error == 0)
		p->error = sp_grow(&p->bits, &p->bits_capacity, p->n_bytes + n * bits_each / 8 + 3 * PAD_BYTES, 1);
	if (p->error == 0)
		p->lengths[p->n_columns++] = n;
	return p->error == 0;
}

/* The write position of a packer: kept in registers while a column is packed. */
struct write_position {
	uint8_t *symbol, *bits;
	uint64_t word;
	unsigned n_word;
};

static struct write_position load_position(const struct sp_packer *p)
{
	return (struct write_position){p->symbols + p->n_symbols, p->bits + p->n_bytes, p->word, p->n_word};
}

static void save_position(struct sp_packer *p, struct write_position at)
{
	p->n_symbols = (size_t)(at.symbol - p->symbols);
	p->n_bytes = (size_t)(at.bits - p->bits);
	p->word = at.word;
	p->n_word = at.n_word;
}

static inline void put_bits(struct write_position *at, uint64_t value, unsigned n)
{
	at->word |= value << at->n_word;
	at->n_word += n;                               /* at most 7 + 32 */
	memcpy(at->bits, &at->word, sizeof(at->word)); /* little-endian */
	at->bits += at->n_word / 8;
	at->word >>= at->n_word / 8 * 8;
	at->n_word %= 8;
}

static inline void put_number(struct write_position *at, uint64_t v)
{
	if (v < LITERALS) {
		*at->symbol++ = (uint8_t)v;
		return;
	}
	unsigned e = 63U - (unsigned)__builtin_clzll(v), n = e - 2;
	uint64_t low = v & ((UINT64_C(1) << n) - 1);
	*at->symbol++ = (uint8_t)(LITERALS + (e - 4) * 4 + (v >> n & 3));
	if (n > 32) { /* with 7 pending bits it would exceed a word */
		put_bits(at, low & UINT32_MAX, 32);
		low >>= 32, n -= 32;
	}
	put_bits(at, low, n);
}

void sp_pack_u64(struct sp_packer *p, const uint64_t *v, size_t n)
{
	if (!reserve_column(p, n, 64))
		return;
	struct write_position at = load_position(p);
	for (size_t i = 0; i < n; i++)
		put_number(&at, v[i]);
	save_position(p, at);
}

void sp_pack_u32(struct sp_packer *p, const uint32_t *v, size_t n)
{
	if (!reserve_column(p, n, 32))
		return;
	struct write_position at = load_position(p);
	for (size_t i = 0; i < n; i++)
		put_number(&at, v[i]);
	save_position(p, at);
}

void sp_pack_bytes(struct sp_packer *p, const void *bytes, size_t n)
{
	if (!reserve_column(p, n, 0) || n == 0)
		return;
	memcpy(p->symbols + p->n_symbols, bytes, n);
	p->n_symbols += n;
}

void sp_packer_fail(struct sp_packer *p, int error)
{
	if (p->error == 0)
		p->error = error;
}

/* Compresses the symbols. Before a large column the block is flushed. */
static int write_frame(struct sp_packer *p, uint8_t *to, size_t room, size_t *ret_len)
{
	ZSTD_outBuffer out = {.dst = to, .size = room};
	ZSTD_inBuffer in = {.src = p->symbols};

	(void)ZSTD_CCtx_reset(p->zstd, ZSTD_reset_session_only);
	if (ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(p->zstd, p->n_symbols)))
		return -ENOMEM;
	for (size_t c = 0, held = 0; c <= p->n_columns; c++) {
		bool last = c == p->n_columns;
		size_t n = last ? 0 : p->lengths[c];
		bool flush = n >= FLUSH_MIN && held > 0; /* flush the columns before */
		ZSTD_EndDirective how = last ? ZSTD_e_end : flush ? ZSTD_e_flush : ZSTD_e_continue;
		size_t left;
		do {
			left = ZSTD_compressStream2(p->zstd, &out, &in, how);
			if (ZSTD_isError(left))
				return -ENOMEM;
		} while (how != ZSTD_e_continue ? left > 0 : in.pos < in.size);
		held = flush ? n : held + n;
		in.size += n;
	}
	*ret_len = out.pos;
	return 0;
}

/* Upper limit for the LEB128 numbers before the frame. */
static size_t max_length_bytes(const struct sp_packer *p)
{
	return 10 * (p->n_columns + 2);
}

static uint32_t record_crc(const uint64_t bound_to[2], const uint8_t *bytes, size_t n)
{
	uLong crc = crc32_z(0, (const Bytef *)bound_to, 2 * sizeof(*bound_to));

	return (uint32_t)crc32_z(crc, bytes, n);
}

static int write_record(struct sp_packer *p, uint8_t type, const uint64_t bound_to[2], size_t *ret_len)
{
	size_t room = ZSTD_compressBound(p->n_symbols) + 8 * p->n_columns + 64, n = HEAD_BYTES, n_frame;
	size_t most = HEAD_BYTES + 2 * max_length_bytes(p) + room + p->n_bytes + PAD_BYTES + 1;
	int r = sp_grow(&p->record, &p->record_capacity, most, 1);

	/* the frame first, behind the space for the longest head */
	uint8_t *frame = r < 0 ? NULL : p->record + HEAD_BYTES + max_length_bytes(p);
	r = r < 0 ? r : write_frame(p, frame, room, &n_frame);
	if (r < 0)
		return r;
	n += sp_put_uleb(p->record + n, p->n_columns);
	for (size_t i = 0; i < p->n_columns; i++)
		n += sp_put_uleb(p->record + n, p->lengths[i]);
	n += sp_put_uleb(p->record + n, n_frame);
	memmove(p->record + n, frame, n_frame);
	n += n_frame;
	memcpy(p->record + n, p->bits, p->n_bytes);
	n += p->n_bytes;
	memset(p->record + n, 0, PAD_BYTES);
	n += PAD_BYTES;
	memcpy(p->record, (uint8_t[]){'S', 'P', type, VERSION}, 4);
	uint32_t crc = record_crc(bound_to, p->record + HEAD_BYTES, n - HEAD_BYTES);
	memcpy(p->record + 4, &crc, sizeof(crc));
	*ret_len = n;
	return 0;
}

int sp_packer_end(struct sp_packer *p, enum sp_store_record type, const uint64_t bound_to[2], const void **ret_record,
		  size_t *ret_len)
{
	if (p->error == 0 && p->n_word > 0) {
		memcpy(p->bits + p->n_bytes, &p->word, sizeof(p->word));
		p->n_bytes++;
	}
	int r = p->error < 0 ? p->error : write_record(p, (uint8_t)type, bound_to, ret_len);
	if (r < 0)
		return sp_fail(r, "pack");
	*ret_record = p->record;
	return 0;
}

/* --- unpacking --- */
/* Creating a context takes longer than decompressing a window: each thread keeps one, unless it has grown large. */
static _Thread_local ZSTD_DCtx *kept_zstd;

static ZSTD_DCtx *get_zstd(void)
{
	if (kept_zstd && ZSTD_sizeof_DCtx(kept_zstd) > KEPT_BYTES) {
		ZSTD_freeDCtx(kept_zstd);
		kept_zstd = NULL;
	}
	if (!kept_zstd)
		kept_zstd = ZSTD_createDCtx();
	if (kept_zstd)
		(void)ZSTD_DCtx_reset(kept_zstd, ZSTD_reset_session_only);
	return kept_zstd;
}

static int read_frame(struct sp_unpacker *u, const uint8_t *frame, size_t n_frame)
{
	ZSTD_DCtx *zstd = get_zstd();

	u->symbols = malloc(u->n_symbols + 1);
	if (!u->symbols || !zstd)
		return -ENOMEM;
	size_t n = ZSTD_decompressDCtx(zstd, u->symbols, u->n_symbols, frame, n_frame);
	return ZSTD_isError(n) || n != u->n_symbols ? -EBADMSG : 0;
}

/* Decompresses only the first n symbols, of which there are many more: else all, which is the faster way. */
static int read_beginning(struct sp_unpacker *u, const uint8_t *frame, size_t n_frame, size_t n)
{
	ZSTD_DCtx *zstd = get_zstd();
	ZSTD_inBuffer in = {.src = frame, .size = n_frame};
	ZSTD_outBuffer out = {.dst = malloc(n + 1), .size = n};

	u->symbols = out.dst;
	u->n_symbols = n;
	int r = !zstd || !u->symbols ? -ENOMEM : 0;
	while (r == 0 && out.pos < n) {
		size_t before = out.pos + in.pos, left = ZSTD_decompressStream(zstd, &out, &in);
		if (ZSTD_isError(left) || out.pos + in.pos == before)
			r = -EBADMSG;
	}
	return r;
}

static int read_record(struct sp_unpacker *u, struct sp_cursor *c, size_t wanted)
{
	size_t n_wanted = 0;
	uint64_t n_columns = sp_cursor_uleb(c);

	if (c->bad || n_columns > MAX_COLUMNS)
		return -EBADMSG;
	u->lengths = calloc(n_columns + 1, sizeof(*u->lengths));
	if (!u->lengths)
		return -ENOMEM;
	u->n_columns = n_columns;
	for (size_t i = 0; i < n_columns; i++) {
		uint64_t n = sp_cursor_uleb(c);
		if (n > MAX_NUMBERS - u->n_symbols)
			return -EBADMSG;
		u->lengths[i] = n;
		u->n_symbols += n;
		n_wanted += i < wanted ? n : 0;
	}
	struct sp_cursor frame = sp_cursor_sub(c, sp_cursor_uleb(c));
	if (c->bad || sp_cursor_left(c) < PAD_BYTES)
		return -EBADMSG;
	/* a crafted record must not need more memory than it declares */
	if (ZSTD_getFrameContentSize(frame.data, frame.size) != u->n_symbols)
		return -EBADMSG;
	u->bits = c->data + c->at;
	u->n_bits = (uint64_t)(sp_cursor_left(c) - PAD_BYTES) * 8;
	if (wanted >= n_columns)
		return read_frame(u, frame.data, frame.size);
	u->n_columns = wanted;
	return u->n_symbols <= SP_MIN(2 * n_wanted, (size_t)KEPT_BYTES)
		   ? read_frame(u, frame.data, frame.size)
		   : read_beginning(u, frame.data, frame.size, n_wanted);
}

bool sp_record_is_valid(enum sp_store_record type, const uint64_t bound_to[2], const void *record, size_t len)
{
	const uint8_t *b = record;
	uint32_t crc;

	if (len < HEAD_BYTES || b[0] != 'S' || b[1] != 'P' || b[2] != type || b[3] != VERSION)
		return false;
	memcpy(&crc, b + 4, sizeof(crc));
	return crc == record_crc(bound_to, b + HEAD_BYTES, len - HEAD_BYTES);
}

int sp_unpack_begin_columns(struct sp_unpacker *u, enum sp_store_record type, const uint64_t bound_to[2],
			    const void *record, size_t len, size_t n_columns)
{
	const uint8_t *b = record;

	*u = (struct sp_unpacker){0};
	if (!sp_record_is_valid(type, bound_to, record, len))
		return -EBADMSG;
	struct sp_cursor c = sp_cursor_on(b + HEAD_BYTES, len - HEAD_BYTES);
	int r = read_record(u, &c, n_columns);
	if (r < 0)
		sp_unpack_done(u);
	return r;
}

int sp_unpack_begin(struct sp_unpacker *u, enum sp_store_record type, const uint64_t bound_to[2], const void *record,
		    size_t len)
{
	return sp_unpack_begin_columns(u, type, bound_to, record, len, MAX_COLUMNS);
}

void sp_unpack_done(struct sp_unpacker *u)
{
	free(u->symbols);
	free(u->lengths);
	*u = (struct sp_unpacker){.bad = true};
}

void sp_unpack_forget(void)
{
	ZSTD_freeDCtx(kept_zstd);
	kept_zstd = NULL;
}

size_t sp_unpack_length(const struct sp_unpacker *u)
{
	return u->column < u->n_columns ? u->lengths[u->column] : 0;
}

/* The symbols of the next column; NULL and u->bad: it does not have n. */
static const uint8_t *next_column(struct sp_unpacker *u, size_t n)
{
	if (u->bad || u->column >= u->n_columns || u->lengths[u->column] != n) {
		u->bad = true;
		return NULL;
	}
	const uint8_t *symbols = u->symbols + u->at;
	u->column++;
	u->at += n;
	return symbols;
}

/* n <= 57 */
static inline uint64_t get_bits(struct sp_unpacker *u, unsigned n)
{
	uint64_t word;

	if (u->bit + n > u->n_bits) {
		u->bad = true;
		return 0;
	}
	memcpy(&word, u->bits + u->bit / 8, sizeof(word)); /* may read the zeros at the end */
	word >>= u->bit % 8;
	u->bit += n;
	return word & ((UINT64_C(1) << n) - 1);
}

/* Tables instead of a branch, which would be mispredicted often. */
#define BITS(s) ((s) < LITERALS ? 0 : (s) / 4 - 2)
#define HIGH(s) ((s) < LITERALS ? (s) : 4 + (s) % 4)
#define FOUR(of, s) of(s), of((s) + 1), of((s) + 2), of((s) + 3)
#define SIXTEEN(of, s) FOUR(of, s), FOUR(of, (s) + 4), FOUR(of, (s) + 8), FOUR(of, (s) + 12)
#define SIXTY_FOUR(of, s) SIXTEEN(of, s), SIXTEEN(of, (s) + 16), SIXTEEN(of, (s) + 32), SIXTEEN(of, (s) + 48)
#define ALL(of) SIXTY_FOUR(of, 0), SIXTY_FOUR(of, 64), SIXTY_FOUR(of, 128), SIXTY_FOUR(of, 192)
static const uint8_t bits_of[256] = {ALL(BITS)}, high_of[256] = {ALL(HIGH)};

static inline uint64_t get_number(struct sp_unpacker *u, uint8_t symbol)
{
	unsigned n = bits_of[symbol];
	uint64_t high = (uint64_t)high_of[symbol] << n;

	if (n <= 56)
		return high | get_bits(u, n);
	uint64_t low = get_bits(u, 32);
	return high | get_bits(u, n - 32) << 32 | low;
}

void sp_unpack_u64(struct sp_unpacker *u, uint64_t *ret_v, size_t n)
{
	const uint8_t *symbols = next_column(u, n);
	struct sp_unpacker at = *u; /* a local copy: stays in registers despite the writes to ret_v */

	if (!symbols)
		memset(ret_v, 0, n * sizeof(*ret_v));
	else
		for (size_t i = 0; i < n; i++)
			ret_v[i] = get_number(&at, symbols[i]);
	u->bit = at.bit;
	u->bad = at.bad;
}

void sp_unpack_u32(struct sp_unpacker *u, uint32_t *ret_v, size_t n)
{
	const uint8_t *symbols = next_column(u, n);
	struct sp_unpacker at = *u;
	uint64_t all = 0;

	if (!symbols)
		memset(ret_v, 0, n * sizeof(*ret_v));
	for (size_t i = 0; i < n && symbols; i++) {
		uint64_t v = get_number(&at, symbols[i]);
		all |= v;
		ret_v[i] = (uint32_t)v;
	}
	u->bit = at.bit;
	u->bad = at.bad || all > UINT32_MAX;
}

/* The sum of bits_of[] of eight symbols. */
static uint64_t bits_of_eight(const uint8_t *symbols)
{
	const uint64_t each = UINT64_C(0x0101010101010101), pairs = UINT64_C(0x00ff00ff00ff00ff);
	uint64_t s;

	memcpy(&s, symbols, sizeof(s));
	s = s >> 2 & 0x3f * each;
	uint64_t have = (s + 0x7c * each) >> 7 & each; /* from LITERALS on: 4 and more */
	s = (s & have * 0xff) - 2 * have;
	s = (s & pairs) + (s >> 8 & pairs);
	return s * UINT64_C(0x0001000100010001) >> 48;
}

void sp_unpack_skip(struct sp_unpacker *u, size_t n)
{
	const uint8_t *symbols = next_column(u, n);
	uint64_t bits = 0;
	size_t i = 0;

	for (; i + 8 <= n && symbols; i += 8)
		bits += bits_of_eight(symbols + i);
	for (; i < n && symbols; i++)
		bits += bits_of[symbols[i]];
	u->bad = u->bad || bits > u->n_bits - u->bit;
	u->bit += u->bad ? 0 : bits;
}

bool sp_unpack_skip_zeros(struct sp_unpacker *u, size_t n)
{
	const uint8_t *symbols = u->symbols + u->at;

	if (u->bad || n != sp_unpack_length(u) || (n > 0 && (*symbols || memcmp(symbols, symbols + 1, n - 1) != 0)))
		return false;
	return next_column(u, n) != NULL;
}

void sp_unpack_skip_bytes(struct sp_unpacker *u)
{
	(void)next_column(u, sp_unpack_length(u));
}

void sp_unpack_bytes(struct sp_unpacker *u, void *ret_bytes, size_t n)
{
	const uint8_t *symbols = next_column(u, n);

	if (!symbols)
		memset(ret_bytes, 0, n);
	else if (n > 0)
		memcpy(ret_bytes, symbols, n);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "read/decode.h"

#include "base/error.h"
#include "base/library.h"
#include "base/mem.h"

#include <bzlib.h>
#include <errno.h>
#include <inttypes.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { RAW_MIN_BYTES = 1 << 10, MAGIC_BYTES = 6, XZ_MEMORY = 128 << 20 };
enum codec { CODEC_UNKNOWN, CODEC_NONE, CODEC_GZIP, CODEC_ZSTD, CODEC_XZ, CODEC_BZIP2 };

struct sp_decoder {
	int fd;
	const char *name;
	const struct sp_read_options *o;
	uint64_t size, n_read; /* the file's size, as far as it is known; bytes read so far */
	enum codec codec;
	bool file_ended, member_ended;
	z_stream z;
	ZSTD_DStream *zstd;
	lzma_stream xz;
	bz_stream bzip2;
	size_t at, n; /* raw[at] to raw[n]: not decoded yet */
	size_t raw_bytes;
	uint8_t *raw;
};

static struct { /* loaded at run time */
	__typeof__(BZ2_bzDecompressInit) *begin;
	__typeof__(BZ2_bzDecompress) *decompress;
	__typeof__(BZ2_bzDecompressEnd) *end;
} libbz2;

static int bzip2_load(void)
{
	static const struct sp_library_function functions[] = {
	    {"BZ2_bzDecompressInit", offsetof(__typeof__(libbz2), begin)},
	    {"BZ2_bzDecompress", offsetof(__typeof__(libbz2), decompress)},
	    {"BZ2_bzDecompressEnd", offsetof(__typeof__(libbz2), end)}};
	static const char *const sonames[] = {"libbz2.so.1.0", NULL};

	return sp_library_load("bzip2 data", "libbz2-1.0", sonames, functions, SP_COUNT(functions), &libbz2);
}

static uint64_t size_of(int fd)
{
	struct stat st;
	off_t at;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	at = lseek(fd, 0, SEEK_CUR);
	return at >= 0 && at < st.st_size ? (uint64_t)(st.st_size - at) : 0;
}

size_t sp_decoder_piece_bytes(const struct sp_decoder *d)
{
	size_t most = SP_DECODER_PIECE_BYTES;

	return d->size == 0 || d->size >= most ? most : SP_MAX((size_t)d->size, (size_t)RAW_MIN_BYTES);
}

int sp_decoder_new(int fd, const char *name, const struct sp_read_options *o, struct sp_decoder **ret_decoder)
{
	struct sp_decoder *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->fd = fd;
	d->name = name;
	d->o = o;
	d->size = size_of(fd);
	d->raw_bytes = sp_decoder_piece_bytes(d);
	d->raw = malloc(d->raw_bytes);
	if (!d->raw) {
		free(d);
		return -ENOMEM;
	}
	*ret_decoder = d;
	return 0;
}

void sp_decoder_free(struct sp_decoder *d)
{
	if (!d)
		return;
	if (d->codec == CODEC_GZIP)
		(void)inflateEnd(&d->z);
	if (d->codec == CODEC_XZ)
		lzma_end(&d->xz);
	if (d->codec == CODEC_BZIP2)
		(void)libbz2.end(&d->bzip2);
	(void)ZSTD_freeDStream(d->zstd);
	free(d->raw);
	free(d);
}

uint64_t sp_decoder_consumed(const struct sp_decoder *d)
{
	return d->n_read - (d->n - d->at);
}

static int broken(const struct sp_decoder *d, const char *what)
{
	return sp_fail_said(-EBADMSG, "%s: byte %" PRIu64 " of the file: %s", d->name, sp_decoder_consumed(d), what);
}

static int tell_progress(const struct sp_decoder *d)
{
	if (d->o->progress && d->o->progress(d->o->arg, d->n_read, d->size))
		return sp_fail(-EINTR, "read %s", d->name);
	return 0;
}

/* One read, straight into `to`; a signal is where the user may want to stop. */
static int64_t decode_read_file(struct sp_decoder *d, uint8_t *to, size_t room)
{
	ssize_t n;
	int r;

	do {
		r = tell_progress(d);
		n = r < 0 ? 0 : read(d->fd, to, room);
	} while (n < 0 && errno == EINTR);
	if (r < 0)
		return r;
	if (n < 0)
		return sp_fail(-errno, "read %s", d->name);
	d->file_ended = n == 0;
	d->n_read += (uint64_t)n;
	return n;
}

/* Makes at least `wanted` bytes available in raw, fewer only at the end of the file. */
static int fill_raw(struct sp_decoder *d, size_t wanted)
{
	if (d->n - d->at >= wanted)
		return 0;
	memmove(d->raw, d->raw + d->at, d->n - d->at);
	d->n -= d->at;
	d->at = 0;
	while (d->n < wanted && !d->file_ended) {
		int64_t n = decode_read_file(d, d->raw + d->n, d->raw_bytes - d->n);

		if (n < 0)
			return (int)n;
		d->n += (size_t)n;
	}
	return 0;
}

static bool is_gzip(const uint8_t *b, size_t n)
{
	return n >= 2 && b[0] == 0x1f && b[1] == 0x8b;
}

/* A zstd frame, or a skippable one (RFC 8878, 3.1.2: 0x184D2A50 to 5F). */
static bool is_zstd(const uint8_t *b, size_t n)
{
	return n >= 4 && ((b[0] == 0x28 && b[1] == 0xb5 && b[2] == 0x2f && b[3] == 0xfd) ||
			  ((b[0] & 0xf0) == 0x50 && b[1] == 0x2a && b[2] == 0x4d && b[3] == 0x18));
}

static bool is_xz(const uint8_t *b, size_t n)
{
	return n >= 6 && !memcmp(b,
				 "\xfd"
				 "7zXZ\0",
				 6);
}

/* The block size is a digit; the first block begins with pi, an empty stream's end with its root. */
static bool is_bzip2(const uint8_t *b, size_t n)
{
	return n >= 5 && !memcmp(b, "BZh", 3) && b[3] >= '1' && b[3] <= '9' && (b[4] == 0x31 || b[4] == 0x17);
}

static int start_xz(struct sp_decoder *d)
{
	d->xz = (lzma_stream)LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&d->xz, XZ_MEMORY, LZMA_CONCATENATED) != LZMA_OK)
		return -ENOMEM;
	d->codec = CODEC_XZ;
	return 0;
}

static int start_bzip2(struct sp_decoder *d)
{
	int r = bzip2_load();

	if (r < 0)
		return r;
	memset(&d->bzip2, 0, sizeof(d->bzip2));
	if (libbz2.begin(&d->bzip2, 0, 0) != BZ_OK)
		return -ENOMEM;
	d->codec = CODEC_BZIP2;
	return 0;
}

static int start_codec(struct sp_decoder *d)
{
	int r = fill_raw(d, MAGIC_BYTES);

	if (r < 0)
		return r;
	if (is_xz(d->raw, d->n))
		return start_xz(d);
	if (is_bzip2(d->raw, d->n))
		return start_bzip2(d);
	if (is_gzip(d->raw, d->n)) {
		if (inflateInit2(&d->z, 16 + MAX_WBITS) != Z_OK)
			return -ENOMEM;
		d->codec = CODEC_GZIP;
	} else if (is_zstd(d->raw, d->n)) {
		d->zstd = ZSTD_createDStream();
		if (!d->zstd)
			return -ENOMEM;
		d->codec = CODEC_ZSTD;
	} else {
		d->codec = CODEC_NONE;
	}
	return 0;
}

static int64_t copy(struct sp_decoder *d, uint8_t *out, size_t room)
{
	size_t n = SP_MIN(room, d->n - d->at);

	if (!n)
		return d->file_ended ? 0 : decode_read_file(d, out, room);
	memcpy(out, d->raw + d->at, n);
	d->at += n;
	return (int64_t)n;
}

/* --- gzip --- */
/* 1: another member follows; 0: the end; or negative. */
static int next_member(struct sp_decoder *d)
{
	for (;;) {
		int r = fill_raw(d, 2);

		if (r < 0)
			return r;
		if (d->at == d->n)
			return 0;
		if (is_gzip(d->raw + d->at, d->n - d->at))
			break;
		if (d->raw[d->at])
			return broken(d, "neither the end nor another gzip member behind the end of one");
		d->at++;
	}
	d->member_ended = false;
	return inflateReset(&d->z) == Z_OK ? 1 : -ENOMEM;
}

static int inflate_some(struct sp_decoder *d, uint8_t *out, size_t room)
{
	int r;

	d->z.next_in = d->raw + d->at;
	d->z.avail_in = (unsigned int)(d->n - d->at);
	d->z.next_out = out;
	d->z.avail_out = (unsigned int)SP_MIN(room, (size_t)1 << 30);
	r = inflate(&d->z, Z_NO_FLUSH);
	d->at = d->n - d->z.avail_in;
	d->member_ended = r == Z_STREAM_END;
	if (r == Z_OK || r == Z_STREAM_END || r == Z_BUF_ERROR)
		return 0;
	return r == Z_MEM_ERROR ? -ENOMEM : broken(d, d->z.msg ? d->z.msg : "broken gzip data");
}

static int64_t read_gzip(struct sp_decoder *d, uint8_t *out, size_t room)
{
	int r = 0;

	for (;;) {
		if (d->member_ended) {
			r = next_member(d);
			if (r <= 0)
				return r;
		}
		r = fill_raw(d, 1);
		if (r < 0)
			return r;
		if (d->at == d->n)
			return broken(d, "truncated gzip data");
		r = inflate_some(d, out, room);
		if (d->z.next_out != out) /* a failure comes back at the next call, when this has been used */
			return d->z.next_out - out;
		if (r < 0)
			return r;
	}
}

/* --- zstd --- */
static int64_t read_zstd(struct sp_decoder *d, uint8_t *out, size_t room)
{
	for (;;) {
		ZSTD_inBuffer from;
		ZSTD_outBuffer to = {out, room, 0};
		size_t left;
		int r = fill_raw(d, 1);

		if (r < 0)
			return r;
		if (d->at == d->n && d->member_ended)
			return 0;
		from = (ZSTD_inBuffer){d->raw, d->n, d->at};
		left = ZSTD_decompressStream(d->zstd, &to, &from);
		d->at = from.pos;
		if (ZSTD_isError(left))
			return to.pos ? (int64_t)to.pos : broken(d, ZSTD_getErrorName(left));
		d->member_ended = left == 0;
		if (to.pos)
			return (int64_t)to.pos;
		if (d->at == d->n && d->file_ended && !d->member_ended)
			return broken(d, "truncated zstd data");
	}
}

/* --- xz --- */
static int64_t read_xz(struct sp_decoder *d, uint8_t *out, size_t room)
{
	for (;;) {
		lzma_ret got;
		int r = fill_raw(d, 1);

		if (r < 0 || d->member_ended)
			return r;
		d->xz.next_in = d->raw + d->at;
		d->xz.avail_in = d->n - d->at;
		d->xz.next_out = out;
		d->xz.avail_out = room;
		got = lzma_code(&d->xz, d->file_ended && d->at == d->n ? LZMA_FINISH : LZMA_RUN);
		d->at = d->n - d->xz.avail_in;
		d->member_ended = got == LZMA_STREAM_END;
		if (d->xz.avail_out < room) /* a failure comes back at the next call, when this has been used */
			return (int64_t)(room - d->xz.avail_out);
		if (got == LZMA_BUF_ERROR)
			return broken(d, "truncated xz data");
		if (got == LZMA_MEMLIMIT_ERROR)
			return broken(d, "xz data that takes more than 128 MiB to unpack");
		if (got != LZMA_OK && got != LZMA_STREAM_END)
			return got == LZMA_MEM_ERROR ? -ENOMEM : broken(d, "broken xz data");
	}
}

/* --- bzip2 --- */
/* 1: another stream follows; 0: the end; or negative. */
static int next_bzip2(struct sp_decoder *d)
{
	int r = fill_raw(d, MAGIC_BYTES);

	if (r < 0 || d->at == d->n)
		return r;
	if (!is_bzip2(d->raw + d->at, d->n - d->at))
		return broken(d, "neither the end nor more bzip2 data behind the end of some");
	(void)libbz2.end(&d->bzip2);
	d->member_ended = false;
	r = start_bzip2(d);
	return r < 0 ? r : 1;
}

static int64_t read_bzip2(struct sp_decoder *d, uint8_t *out, size_t room)
{
	for (;;) {
		int r = d->member_ended ? next_bzip2(d) : 1, got;

		if (r <= 0)
			return r;
		r = fill_raw(d, 1);
		if (r < 0)
			return r;
		if (d->at == d->n)
			return broken(d, "truncated bzip2 data");
		d->bzip2.next_in = (char *)d->raw + d->at;
		d->bzip2.avail_in = (unsigned int)(d->n - d->at);
		d->bzip2.next_out = (char *)out;
		d->bzip2.avail_out = (unsigned int)SP_MIN(room, (size_t)1 << 30);
		got = libbz2.decompress(&d->bzip2);
		d->at = d->n - d->bzip2.avail_in;
		d->member_ended = got == BZ_STREAM_END;
		if (d->bzip2.next_out != (char *)out)
			return d->bzip2.next_out - (char *)out;
		if (got != BZ_OK && got != BZ_STREAM_END)
			return got == BZ_MEM_ERROR ? -ENOMEM : broken(d, "broken bzip2 data");
	}
}

int64_t sp_decoder_read(struct sp_decoder *d, uint8_t *out, size_t room)
{
	int r = d->codec == CODEC_UNKNOWN ? start_codec(d) : 0;

	if (r < 0)
		return r;
	return d->codec == CODEC_GZIP    ? read_gzip(d, out, room)
	       : d->codec == CODEC_ZSTD  ? read_zstd(d, out, room)
	       : d->codec == CODEC_XZ    ? read_xz(d, out, room)
	       : d->codec == CODEC_BZIP2 ? read_bzip2(d, out, room)
					 : copy(d, out, room);
}

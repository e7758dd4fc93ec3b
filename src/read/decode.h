/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decode.h: reads a descriptor and decompresses gzip, zstd, xz and bzip2.
 *
 * The compression is detected by the first bytes; concatenated members and frames are one text; zero padding behind
 * the last gzip member is skipped. Memory: one buffer and the decompressor's window (zstd and xz:
 * at most 128 MiB). Errors: negative errno with the name and the file offset in the chain; -EBADMSG: broken or
 * truncated compression; -EINTR: progress() returned non-zero. What precedes the error has been returned before.
 * Private to the layer. Not thread-safe. The descriptor stays open.
 */
#ifndef SP_READ_DECODE_H
#define SP_READ_DECODE_H

#include "read/read.h"

struct sp_decoder;
enum { SP_DECODER_PIECE_BYTES = 64 << 10 }; /* below what malloc() asks the kernel for each time */

/* name and the options must outlive it. */
int sp_decoder_new(int fd, const char *name, const struct sp_read_options *o, struct sp_decoder **ret_decoder);
void sp_decoder_free(struct sp_decoder *d);
/* Writes up to room (> 0) bytes to out. Returns their number, 0 = the end, or a negative errno. */
int64_t sp_decoder_read(struct sp_decoder *d, uint8_t *out, size_t room);
/* What to read at once: as much as the file has, if it is a small one. */
size_t sp_decoder_piece_bytes(const struct sp_decoder *d);
uint64_t sp_decoder_consumed(const struct sp_decoder *d); /* bytes of the file */

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decode.h: the bytes of a descriptor, undone of gzip or zstd if it holds them: what input.h reads from.
 *
 * The compression is told from the first bytes; members and frames one behind the other are one text, and padding of
 * zeros behind the last gzip member is passed over. Memory: one buffer and the window of the compression (zstd: at most
 * 128 MiB, its own limit). Errors: negative errno with the name and the offset in the file in the chain; -EBADMSG for
 * broken or truncated compression; -EINTR when progress said so. What stood before the error has been given out.
 * Private to the layer. Not thread-safe. The descriptor stays open.
 */
#ifndef SP_READ_DECODE_H
#define SP_READ_DECODE_H

#include "read/read.h"

struct sp_decoder;

/* name and the options are borrowed. */
int sp_decoder_new(int fd, const char *name, const struct sp_read_options *o, struct sp_decoder **ret_decoder);
void sp_decoder_free(struct sp_decoder *d);
/* Writes up to room (> 0) bytes to out: how many, 0 = the end, or negative. */
int64_t sp_decoder_read(struct sp_decoder *d, uint8_t *out, size_t room);
uint64_t sp_decoder_consumed(const struct sp_decoder *d); /* bytes of the file */

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * input.h: reads a descriptor by lines or bytes, decompressed (gzip, zstd, xz, bzip2, concatenated ones too).
 *
 * One buffer, which grows up to a limit: a longer line or piece is an error, or with keep_going is skipped in bounded
 * memory. Keeps track of the line number and the byte offset of the decompressed text, for messages. Truncated or
 * broken compression is -EBADMSG with the offset in the file; with keep_going it ends the input, and sp_read_fd()
 * counts it as lost. Pointers that are returned are valid until the next call. Not thread-safe.
 */
#ifndef SP_READ_INPUT_H
#define SP_READ_INPUT_H

#include "read/read.h"
#include <sys/types.h>

enum { SP_INPUT_MAX_LINE = 1 << 20, SP_INPUT_MAX_PIECE = 64 << 20, SP_INPUT_HEAD = 1 << 16 };

struct sp_input;
int sp_input_new(int fd, const char *name, const struct sp_read_options *o, struct sp_input **ret_input);
void sp_input_free(struct sp_input *in);
/* The first bytes, without consuming them: up to SP_INPUT_HEAD, fewer only at the end. */
int sp_input_head(struct sp_input *in, const uint8_t **ret_bytes, size_t *ret_n);
/*
 * 1: a line, NUL-terminated without its newline (it may contain NULs: use *ret_len); 0: the end; or a negative errno.
 * -E2BIG: longer than SP_INPUT_MAX_LINE; it is skipped.
 */
int sp_input_line(struct sp_input *in, char **ret_line, size_t *ret_len);
/* All lines to the end, each to `take`, until it says a negative errno. One that is too long is malformed. */
int sp_input_lines(struct sp_input *in, const struct sp_read_options *o, struct sp_read_result *result,
		   int (*take)(void *arg, char *line, size_t len), void *arg);
/*
 * 1: exactly n bytes; 0: the end, before the first of them; -EBADMSG: the end in the middle of them, or n is above
 * SP_INPUT_MAX_PIECE.
 */
int sp_input_bytes(struct sp_input *in, size_t n, const uint8_t **ret_bytes);
/* Up to n of the next bytes without consuming them, fewer only at the end. */
int sp_input_peek(struct sp_input *in, size_t n, const uint8_t **ret_bytes, size_t *ret_n);
/* 1: skipped n bytes, in bounded memory; 0: the end came first. */
int sp_input_skip(struct sp_input *in, uint64_t n);
uint64_t sp_input_offset(const struct sp_input *in); /* of the next byte, decompressed */
const char *sp_input_name(const struct sp_input *in);

/*
 * Reports a malformed part. With keep_going it is counted in result, which keeps the first message, and 0 is returned;
 * else -EBADMSG, with "NAME: line N: MESSAGE" in the chain ("NAME: byte N: ..." if bytes were read last).
 */
int sp_input_bad(struct sp_input *in, const struct sp_read_options *o, struct sp_read_result *result,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same for a part that began at this offset. */
int sp_input_bad_at(struct sp_input *in, const struct sp_read_options *o, struct sp_read_result *result,
		    uint64_t offset, const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "read/input.h"

#include "base/error.h"
#include "base/mem.h"
#include "read/decode.h"
#include "read/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct sp_input {
	struct sp_decoder *decoder;
	char *name;
	struct sp_read_options options;
	uint8_t *buffer; /* [at, n): decoded and not yet consumed */
	size_t capacity, at, n;
	uint64_t offset, line; /* of buffer[at]; of the last line returned */
	uint64_t asked_at;     /* offset of the piece that was asked for last */
	size_t heap_bytes;     /* in use when it was opened */
	bool by_line, ended, skipping;
	char loss[256]; /* why the input ended early, with keep_going */
};

int sp_input_new(int fd, const char *name, const struct sp_read_options *o, struct sp_input **ret_input)
{
	struct sp_input *in = calloc(1, sizeof(*in));
	int r = -ENOMEM;

	if (!in)
		return r;
	in->options = *o;
	in->heap_bytes = sp_heap_used_bytes();
	in->name = strdup(name);
	if (in->name)
		r = sp_decoder_new(fd, in->name, &in->options, &in->decoder);
	if (r < 0) {
		sp_input_free(in);
		return r;
	}
	*ret_input = in;
	return 0;
}

void sp_input_free(struct sp_input *in)
{
	if (!in)
		return;
	sp_decoder_free(in->decoder);
	free(in->name);
	free(in->buffer);
	free(in);
}

/* --- the buffer --- */
/* Broken compression ends the input with keep_going, else it is a failure. */
static int decoder_failed(struct sp_input *in, int r)
{
	if (r != -EBADMSG || !in->options.keep_going)
		return r;
	in->ended = true;
	snprintf(in->loss, sizeof(in->loss), "%s", sp_error_text(r));
	sp_error_clear();
	return 0;
}

int sp_input_check_memory(const struct sp_input *in)
{
	uint64_t file = sp_decoder_consumed(in->decoder), used = sp_heap_used_bytes(),
		 most = SP_READ_MEMORY + file * SP_READ_MEMORY_TIMES;

	if (used <= in->heap_bytes + most)
		return 0;
	return sp_fail_said(-EFBIG,
			    "%s: what is distinct in it takes more than %" PRIu64 " MiB of memory after %" PRIu64
			    " KiB of the file; if it is no bomb, unpack it first",
			    in->name, most >> 20, file >> 10);
}

static int input_make_room(struct sp_input *in, size_t wanted)
{
	if (in->at) {
		memmove(in->buffer, in->buffer + in->at, in->n - in->at);
		in->n -= in->at;
		in->at = 0;
	}
	/* One more for the NUL behind a last line without a newline. */
	return sp_grow(&in->buffer, &in->capacity, SP_MAX(wanted, sp_decoder_piece_bytes(in->decoder)) + 1, 1);
}

static int input_fill(struct sp_input *in, size_t wanted)
{
	int r = input_make_room(in, wanted);

	if (r < 0)
		return r;
	while (in->n < wanted && !in->ended) {
		int64_t n = sp_decoder_read(in->decoder, in->buffer + in->n, in->capacity - 1 - in->n);

		if (n < 0)
			return decoder_failed(in, (int)n);
		in->n += (size_t)n;
		in->ended = n == 0;
	}
	return sp_input_check_memory(in);
}

/*
 * Makes at least `wanted` bytes available behind `at`, fewer only at the end. A piece's size is only said: there is
 * room for as much again as has come, not for all of it at once.
 */
static int input_read_more(struct sp_input *in, size_t wanted)
{
	int r = 0;

	while (r == 0 && in->n - in->at < wanted && !in->ended)
		r = input_fill(in, SP_MIN(wanted, 2 * (in->n - in->at) + sp_decoder_piece_bytes(in->decoder)));
	return r;
}

static void consume(struct sp_input *in, size_t n)
{
	in->at += n;
	in->offset += n;
}

int sp_input_peek(struct sp_input *in, size_t n, const uint8_t **ret_bytes, size_t *ret_n)
{
	int r = input_read_more(in, SP_MIN(n, (size_t)SP_INPUT_MAX_PIECE));

	if (r < 0)
		return r;
	*ret_bytes = in->n == in->at ? (const uint8_t *)"" : in->buffer + in->at;
	*ret_n = SP_MIN(n, in->n - in->at);
	return 0;
}

/* If compression is broken, the bytes before the fault are still returned; the call that reaches it fails. */
int sp_input_head(struct sp_input *in, const uint8_t **ret_bytes, size_t *ret_n)
{
	int r = sp_input_peek(in, SP_INPUT_HEAD, ret_bytes, ret_n);

	if (r != -EBADMSG || in->n == in->at)
		return r;
	sp_error_clear();
	*ret_bytes = in->buffer + in->at;
	*ret_n = SP_MIN(in->n - in->at, (size_t)SP_INPUT_HEAD);
	return 0;
}

/* --- lines --- */
/* The distance to the next newline, within max bytes, reading on as needed; -E2BIG: none. */
static int64_t find_newline(struct sp_input *in, size_t max)
{
	size_t seen = 0;

	for (;;) {
		size_t have = in->n - in->at;
		const uint8_t *from = in->buffer + in->at;
		const uint8_t *newline = have > seen ? memchr(from + seen, '\n', have - seen) : NULL;
		int r;

		if (newline)
			return (size_t)(newline - from) > max ? -E2BIG : newline - from;
		if (have > max)
			return -E2BIG;
		if (in->ended)
			return (int64_t)have;
		seen = have;
		r = input_read_more(in, SP_MIN(SP_MAX(2 * have, have + 1), max + 1));
		if (r < 0)
			return r;
	}
}

/* Skips the rest of a line that was too long. */
static int skip_rest(struct sp_input *in)
{
	while (in->skipping) {
		const uint8_t *from = in->buffer + in->at, *newline = memchr(from, '\n', in->n - in->at);
		int r;

		consume(in, newline ? (size_t)(newline - from) + 1 : in->n - in->at);
		in->skipping = !newline;
		r = newline ? 0 : input_read_more(in, 1);
		if (r < 0)
			return r;
		in->skipping = in->skipping && in->n > in->at;
	}
	return 0;
}

int sp_input_line(struct sp_input *in, char **ret_line, size_t *ret_len)
{
	int r = input_read_more(in, 1);
	int64_t len;

	if (r >= 0)
		r = skip_rest(in);
	if (r < 0 || in->n == in->at)
		return r;
	in->by_line = true;
	in->asked_at = in->offset;
	in->line++;
	len = find_newline(in, SP_INPUT_MAX_LINE);
	if (len == -E2BIG) /* the rest is skipped by the next call */
		in->skipping = true;
	if (len < 0)
		return (int)len;
	*ret_line = (char *)in->buffer + in->at;
	*ret_len = (size_t)len;
	consume(in, SP_MIN((size_t)len + 1, in->n - in->at));
	(*ret_line)[len] = 0;
	return 1;
}

/* --- pieces --- */
int sp_input_bytes(struct sp_input *in, size_t n, const uint8_t **ret_bytes)
{
	int r = input_read_more(in, SP_MIN(n, (size_t)SP_INPUT_MAX_PIECE));
	size_t have = in->n - in->at;

	in->by_line = false;
	in->asked_at = in->offset;
	if (r < 0)
		return r;
	if (n > SP_INPUT_MAX_PIECE)
		return sp_fail_said(-EBADMSG, "%s: byte %" PRIu64 ": %zu bytes in one piece, at most %d are read",
				    in->name, in->offset, n, SP_INPUT_MAX_PIECE);
	if (have < n && !have)
		return 0;
	if (have < n)
		return sp_fail_said(-EBADMSG, "%s: byte %" PRIu64 ": ends after %zu of %zu bytes", in->name, in->offset,
				    have, n);
	*ret_bytes = n ? in->buffer + in->at : (const uint8_t *)"";
	consume(in, n);
	return 1;
}

int sp_input_skip(struct sp_input *in, uint64_t n)
{
	in->by_line = false;
	in->asked_at = in->offset;
	while (n) {
		int r = input_read_more(in, 1);
		uint64_t some = SP_MIN(n, in->n - in->at);

		if (r < 0 || !some)
			return r;
		consume(in, some);
		n -= some;
	}
	return 1;
}

int sp_input_lines(struct sp_input *in, const struct sp_read_options *o, struct sp_read_result *result,
		   int (*take)(void *arg, char *line, size_t len), void *arg)
{
	char *line;
	size_t len;
	int r;

	while ((r = sp_input_line(in, &line, &len)) != 0) {
		if (r == -E2BIG)
			r = sp_input_bad(in, o, result, "longer than %d bytes", SP_INPUT_MAX_LINE);
		else if (r > 0)
			r = take(arg, line, len);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- where, and what went wrong --- */
uint64_t sp_input_offset(const struct sp_input *in)
{
	return in->offset;
}

const char *sp_input_name(const struct sp_input *in)
{
	return in->name;
}

static int bad(const struct sp_input *in, const struct sp_read_options *o, struct sp_read_result *result,
	       const char *unit, uint64_t place, const char *format, va_list args)
{
	char words[sizeof(result->first_loss)];

	if (vsnprintf(words, sizeof(words), format, args) < 0)
		words[0] = 0;
	if (!o->keep_going)
		return sp_fail_said(-EBADMSG, "%s: %s %" PRIu64 ": %s", in->name, unit, place, words);
	result->n_lost++;
	if (!*result->first_loss)
		snprintf(result->first_loss, sizeof(result->first_loss), "%s: %s %" PRIu64 ": %.150s", in->name, unit,
			 place, words);
	return 0;
}

int sp_input_bad(struct sp_input *in, const struct sp_read_options *o, struct sp_read_result *result,
		 const char *format, ...)
{
	va_list args;
	int r;

	va_start(args, format);
	r = bad(in, o, result, in->by_line ? "line" : "byte", in->by_line ? in->line : in->asked_at, format, args);
	va_end(args);
	return r;
}

int sp_input_bad_at(struct sp_input *in, const struct sp_read_options *o, struct sp_read_result *result,
		    uint64_t offset, const char *format, ...)
{
	va_list args;
	int r;

	va_start(args, format);
	r = bad(in, o, result, "byte", offset, format, args);
	va_end(args);
	return r;
}

bool sp_input_is_cut(const struct sp_input *in)
{
	return *in->loss;
}

void sp_input_report(const struct sp_input *in, struct sp_read_result *result)
{
	result->bytes = sp_decoder_consumed(in->decoder);
	if (!*in->loss)
		return;
	result->n_lost++;
	if (!*result->first_loss)
		memcpy(result->first_loss, in->loss, sizeof(result->first_loss));
}

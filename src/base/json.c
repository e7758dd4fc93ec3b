/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"

#include "base/encode.h"

#include <assert.h>
#include <stdarg.h>

FILE *sp_json_raw(struct sp_json *j, const char *name)
{
	bool begins_line = j->begins_line || (j->in[j->depth].is_lined && j->in[j->depth].is_begun);

	assert((name != NULL) == (j->in[j->depth].end == '}'));
	if (j->in[j->depth].is_begun)
		(void)fputs_unlocked(j->is_spaced && !begins_line ? ", " : ",", j->out);
	if (begins_line)
		(void)putc_unlocked('\n', j->out);
	if (name) {
		(void)putc_unlocked('"', j->out);
		(void)fputs_unlocked(name, j->out);
		(void)fputs_unlocked(j->is_spaced ? "\": " : "\":", j->out);
	}
	j->in[j->depth].is_begun = true;
	j->begins_line = false;
	return j->out;
}

static void open_bracket(struct sp_json *j, const char *name, char begin, char end)
{
	assert(j->depth < SP_JSON_DEPTH);
	(void)sp_json_raw(j, name);
	(void)putc_unlocked(begin, j->out);
	j->depth++;
	j->in[j->depth].is_begun = j->in[j->depth].is_lined = false;
	j->in[j->depth].end = end;
}

void sp_json_object(struct sp_json *j, const char *name)
{
	open_bracket(j, name, '{', '}');
}

void sp_json_array(struct sp_json *j, const char *name)
{
	open_bracket(j, name, '[', ']');
}

void sp_json_end(struct sp_json *j)
{
	assert(j->depth > 0);
	if (j->begins_line)
		(void)putc_unlocked('\n', j->out);
	j->begins_line = false;
	(void)putc_unlocked(j->in[j->depth--].end, j->out);
}

void sp_json_done(struct sp_json *j)
{
	while (j->depth > 0)
		sp_json_end(j);
	(void)putc_unlocked('\n', j->out);
}

struct sp_json *sp_json_line(struct sp_json *j)
{
	j->begins_line = true;
	return j;
}

void sp_json_lines(struct sp_json *j)
{
	j->in[j->depth].is_lined = true;
}

void sp_json_string(struct sp_json *j, const char *name, const char *text)
{
	FILE *out = sp_json_raw(j, name);

	if (!text) {
		(void)fputs_unlocked("null", out);
		return;
	}
	(void)putc_unlocked('"', out);
	sp_encode(out, SP_ENCODE_JSON, text);
	(void)putc_unlocked('"', out);
}

void sp_json_word(struct sp_json *j, const char *name, const char *text)
{
	if (text && *text != '\0')
		sp_json_string(j, name, text);
}

void sp_json_hex(struct sp_json *j, const char *name, const uint8_t *bytes, size_t n)
{
	FILE *out = sp_json_raw(j, name);

	(void)putc_unlocked('"', out);
	for (size_t i = 0; i < n; i++) {
		char digits[3];

		sp_hex(bytes + i, 1, digits);
		(void)fputs_unlocked(digits, out);
	}
	(void)putc_unlocked('"', out);
}

/* By hand: there are millions, and fprintf takes several times as long. */
static void json_put_number(FILE *out, bool is_negative, uint64_t number)
{
	char text[24];
	size_t at = sizeof(text);

	do
		text[--at] = (char)('0' + number % 10);
	while ((number /= 10) != 0);
	if (is_negative)
		text[--at] = '-';
	(void)fwrite_unlocked(text + at, 1, sizeof(text) - at, out);
}

void sp_json_int(struct sp_json *j, const char *name, int64_t number)
{
	json_put_number(sp_json_raw(j, name), number < 0, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

void sp_json_uint(struct sp_json *j, const char *name, uint64_t number)
{
	json_put_number(sp_json_raw(j, name), false, number);
}

void sp_json_put_ints(struct sp_json *j, const struct sp_json_int *members)
{
	for (const struct sp_json_int *m = members; m->name; m++)
		sp_json_int(j, m->name, m->number);
}

void sp_json_bool(struct sp_json *j, const char *name, bool is_true)
{
	(void)fputs_unlocked(is_true ? "true" : "false", sp_json_raw(j, name));
}

void sp_json_format(struct sp_json *j, const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vfprintf(sp_json_raw(j, name), format, args);
	va_end(args);
}

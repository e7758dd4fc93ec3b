/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json.h: a JSON writer, which takes care of commas, colons, brackets and lines.
 *
 * Start with struct sp_json j = {.out = out}. Each function adds a value: a member `name` of the innermost open
 * object, or, with name NULL, an element of the innermost open array or the top-level value. Names are constants of
 * the caller and not escaped; texts may be any bytes (SP_ENCODE_JSON). A member without a name, an element with one,
 * an end without a beginning and nesting deeper than SP_JSON_DEPTH are bugs: assertions. Errors are in the stream's
 * error flag, as with stdio. Allocates nothing; one thread (the stream is not locked).
 */
#ifndef SP_BASE_JSON_H
#define SP_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { SP_JSON_DEPTH = 8 };

struct sp_json {
	FILE *out;
	bool is_spaced; /* a space behind commas and colons */
	bool begins_line;
	unsigned int depth;
	struct {
		bool is_begun; /* has a value */
		bool is_lined;
		char end; /* its closing bracket; 0 at the top level */
	} in[SP_JSON_DEPTH + 1];
};

void sp_json_object(struct sp_json *j, const char *name);
void sp_json_array(struct sp_json *j, const char *name);
/* Ends the innermost object or array. */
void sp_json_end(struct sp_json *j);
/* Ends all that are open, and the line. */
void sp_json_done(struct sp_json *j);
/* Puts the next value or end on a new line. Returns j: sp_json_array(sp_json_line(j), "rows") */
struct sp_json *sp_json_line(struct sp_json *j);
/* Puts each value of the innermost object or array, except its first, on a new line. */
void sp_json_lines(struct sp_json *j);

/* null for NULL */
void sp_json_string(struct sp_json *j, const char *name, const char *text);
/* Writes nothing for NULL and "": what is not known is absent. */
void sp_json_word(struct sp_json *j, const char *name, const char *text);
/* A string of lower-case hex. */
void sp_json_hex(struct sp_json *j, const char *name, const uint8_t *bytes, size_t n);
void sp_json_int(struct sp_json *j, const char *name, int64_t number);
void sp_json_uint(struct sp_json *j, const char *name, uint64_t number);
/* Several at once: sp_json_ints(j, {"self", self}, {"total", total}) */
#define sp_json_ints(j, ...) sp_json_put_ints(j, (const struct sp_json_int[]){__VA_ARGS__, {NULL, 0}})
struct sp_json_int {
	const char *name;
	int64_t number;
};
void sp_json_put_ints(struct sp_json *j, const struct sp_json_int *members); /* the last is {NULL, 0} */
void sp_json_bool(struct sp_json *j, const char *name, bool is_true);
/* The formatted text is the value, not escaped: for numbers with a fixed precision. */
void sp_json_format(struct sp_json *j, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The value is what the caller writes next to the stream returned. */
FILE *sp_json_raw(struct sp_json *j, const char *name);

#endif

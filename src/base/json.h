/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json.h: JSON on its way out. Commas, colons and brackets are its affair, what is told and in which order the
 * caller's.
 *
 * Start with struct sp_json j = {.out = out}. Each function below adds a value: a member of the object that is open
 * under `name`, or, with name NULL, an element of the array that is open, or what stands outside of all brackets. Names
 * are the caller's own words and written as they are; texts may be any bytes (SP_ENCODE_JSON). A member without a name,
 * an element with one, an end of nothing and more than SP_JSON_DEPTH brackets in each other are the caller's errors:
 * assertions. The stream's error flag is the result, as with stdio. Allocates nothing; one thread (the stream is not
 * locked).
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
		bool is_begun; /* something stands in it */
		bool is_lined;
		char end; /* its bracket; 0 outside of all */
	} in[SP_JSON_DEPTH + 1];
};

void sp_json_object(struct sp_json *j, const char *name);
void sp_json_array(struct sp_json *j, const char *name);
/* Of the innermost object or array. */
void sp_json_end(struct sp_json *j);
/* Of all that are open, and of the line. */
void sp_json_done(struct sp_json *j);
/* What comes next, a value or an end, begins a line. Returns j: sp_json_array(sp_json_line(j), "rows") */
struct sp_json *sp_json_line(struct sp_json *j);
/* So does all that comes in the object or array that is open, but for its first. */
void sp_json_lines(struct sp_json *j);

/* null for NULL */
void sp_json_string(struct sp_json *j, const char *name, const char *text);
/* Nothing for NULL and for "": what is not known is absent. */
void sp_json_word(struct sp_json *j, const char *name, const char *text);
/* A string of two digits a byte. */
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
/* What the format comes to is the value: a number with so many digits, say. */
void sp_json_format(struct sp_json *j, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* What the caller writes there next is the value. */
FILE *sp_json_raw(struct sp_json *j, const char *name);

#endif

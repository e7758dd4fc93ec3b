/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json.h: a whole JSON document in memory, for readers whose tables stand in any order.
 *
 * The text is kept, and beside it 16 bytes for each value, in the order of the text; nothing is copied or converted
 * before it is asked for. Values are numbers (uint32_t) of the document; SP_DOC_ROOT is its own value, and 0 is
 * "none", in which nothing is found and which is no number and no string. Nesting has no limit, since nothing recurses.
 * Members are looked for one by one: look for a member once for each object, not in a loop over something else. Errors:
 * -EBADMSG with the input's name and the byte; with keep_going what precedes the mistake is the document, and the
 * mistake is counted. A list that is not closed at the end of the text is whole: Chrome writes its traces so. -EFBIG:
 * more text than 4 GiB, or memory than read.h allows. Private to the layer. One thread.
 */
#ifndef SP_READ_JSON_H
#define SP_READ_JSON_H

#include "read/read.h"

struct sp_input;
struct sp_doc;

/* The whole input. */
int sp_doc_read(struct sp_input *in, const struct sp_read_options *o, struct sp_read_result *result,
		struct sp_doc **ret_doc);
/* From the first `{` behind this mark in the input, to the end of that value: JSON within other text. -EBADMSG: none.
 */
int sp_doc_read_behind(struct sp_input *in, const char *mark, const struct sp_read_options *o,
		       struct sp_read_result *result, struct sp_doc **ret_doc);
void sp_doc_free(struct sp_doc *d);

enum { SP_DOC_ROOT = 1 };
enum sp_doc_type {
	SP_DOC_NULL, /* and true, false, and none */
	SP_DOC_NUMBER,
	SP_DOC_STRING,
	SP_DOC_ARRAY,
	SP_DOC_OBJECT,
};
enum sp_doc_type sp_doc_kind(const struct sp_doc *d, uint32_t value);
/* The elements of an array, or the values of an object's members: 0 = there is no (other) one. */
uint32_t sp_doc_first(const struct sp_doc *d, uint32_t of);
uint32_t sp_doc_next(const struct sp_doc *d, uint32_t of, uint32_t value);
/* The value of the member of this name; 0: it is no object, or has none. */
uint32_t sp_doc_member(const struct sp_doc *d, uint32_t object, const char *name);
/* The same along a path: "shared.frames". */
uint32_t sp_doc_at(const struct sp_doc *d, uint32_t object, const char *path);
/* Whether a value is this string. */
bool sp_doc_is(const struct sp_doc *d, uint32_t value, const char *text);
/* The number; what is none is `other`. Integers up to 2^63 are exact. */
double sp_doc_double(const struct sp_doc *d, uint32_t value, double other);
int64_t sp_doc_int(const struct sp_doc *d, uint32_t value, int64_t other);
/* The string as it is meant, its escapes undone, NUL-terminated; "" for what is none. Valid until the next call. */
const char *sp_doc_string(struct sp_doc *d, uint32_t value);
/* An array of numbers, with `other` for what is none; *ret_n 0: it is no array. Free it. */
int sp_doc_ints(const struct sp_doc *d, uint32_t array, int64_t other, int64_t **ret_numbers, size_t *ret_n);
/* An array's elements, for who looks them up by number. Free it. */
int sp_doc_elements(const struct sp_doc *d, uint32_t array, uint32_t **ret_values, size_t *ret_n);
/* As sp_input_bad_at(), at this value. */
int sp_doc_bad(const struct sp_doc *d, uint32_t value, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif

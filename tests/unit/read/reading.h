/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reading.h: bytes in memory read as a profile, profiles shown by a view, and protocol buffers written by hand.
 *
 * What fails fails the test, apart from the reading itself, whose result comes back: its words are in reading_words().
 */
#ifndef TESTS_READ_READING_H
#define TESTS_READ_READING_H

#include "profile/profile.h"
#include "read/read.h"
#include "view/view.h"

/* A file without a name that holds the bytes, at its beginning. */
int reading_file(const void *bytes, size_t n);
int reading_bytes(const void *bytes, size_t n, const struct sp_read_options *o, struct sp_profile **ret_profile,
		  struct sp_read_result *ret_result);
/* Reads text that must be good. */
struct sp_profile *reading_text(const char *text);
const char *reading_words(int r);
/* What the view shows; free it. ret_len may be NULL. */
char *reading_view(const struct sp_profile *p, const char *view, const struct sp_view_options *o, size_t *ret_len);
/* The lines of text in order of their bytes; free it. */
char *reading_sorted(const char *text);
/* The whole file below tests/data. */
uint8_t *reading_data(const char *name, size_t *ret_n);
uint8_t *reading_gzip(const void *bytes, size_t n, size_t *ret_n);

/* --- protocol buffers --- */
struct pb {
	uint8_t data[1 << 16];
	size_t n;
};
void pb_varint(struct pb *b, uint64_t value);
void pb_number(struct pb *b, uint32_t field, uint64_t value);
void pb_bytes(struct pb *b, uint32_t field, const void *bytes, size_t n);
/* Numbers of the fields 1, 2, 3 ...; zeros are left out. */
void pb_message(struct pb *b, uint32_t field, size_t n, const uint64_t *numbers);
#define PB_MESSAGE(b, field, ...) pb_message(b, field, sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__})
void pb_string(struct pb *b, const char *text); /* of the string table */

#endif

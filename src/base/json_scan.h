/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json_scan.h: the smallest pieces of JSON (RFC 8259) in untrusted text: white space, strings, numbers, words.
 *
 * Each function takes its piece from the front of the text, or says false, and then stands where it does not belong.
 * What the pieces make up is the caller's affair: a flat object (elf/package.h), or a whole document
 * (read/json/json.h). Strings are returned as they stand between their quotes, with their escapes, which are checked.
 * Allocates nothing; no state.
 */
#ifndef SP_BASE_JSON_SCAN_H
#define SP_BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

struct sp_json_text {
	const char *at, *end;
};
struct sp_json_word { /* the text between the quotes, with its escapes */
	const char *at;
	size_t len;
};

void sp_json_skip_space(struct sp_json_text *t);
/* This character, and space around it. */
bool sp_json_take_char(struct sp_json_text *t, char c);
bool sp_json_take_string(struct sp_json_text *t, struct sp_json_word *ret_word);
bool sp_json_take_number(struct sp_json_text *t);
bool sp_json_take_literal(struct sp_json_text *t); /* true, false, null */

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * encode.h: one encoder for each kind of output, from any bytes.
 *
 * Names come from outside (comm, paths, symbols) and may hold newlines, separators, escapes, quotes and invalid UTF-8.
 * Each encoder writes a form that the format's own readers take apart again into the same set of distinct names:
 * what may not stand is written \xNN (NN: hex of the byte; a backslash itself stays unless the format needs it).
 *   TERMINAL  no C0, C1, ESC, DEL, bidirectional controls or invalid UTF-8
 *   FOLDED    as TERMINAL, and `;`, a space that is followed by a digit run ending the name, leading/trailing spaces
 *   XML       & < > " ' as entities, control characters and invalid UTF-8 as \xNN
 *   JSON      between quotes: \" \\ \n \uNNNN, invalid UTF-8 as \\xNN
 *   CSV       quoted when it needs to be, quotes doubled, a leading = + - @ guarded by an apostrophe
 * The stream's error flag is the result, as with stdio.
 */
#ifndef SP_BASE_ENCODE_H
#define SP_BASE_ENCODE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum sp_encoding { SP_ENCODE_TERMINAL, SP_ENCODE_FOLDED, SP_ENCODE_XML, SP_ENCODE_JSON, SP_ENCODE_CSV };

void sp_encode(FILE *out, enum sp_encoding encoding, const char *text);
/* As sp_encode, into a new string (free it), or NULL: out of memory. */
char *sp_encoded(enum sp_encoding encoding, const char *text);
/* The same of what a format and its arguments come to. */
char *sp_encoded_format(enum sp_encoding encoding, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Two digits a byte, lower case: 2 n + 1 characters, the last a NUL. */
void sp_hex(const uint8_t *bytes, size_t n, char *ret_text);

#endif

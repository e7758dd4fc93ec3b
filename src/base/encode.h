/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * encode.h: one encoder for each output format, for any bytes.
 *
 * Names come from outside (comm, paths, symbols) and may contain newlines, separators, escapes, quotes and invalid
 * UTF-8. Each encoder writes a form from which the format's own readers get distinct names back; what is not allowed
 * is written \xNN (NN: the byte in hex; a backslash itself stays unless the format needs it escaped).
 *   TERMINAL  no C0, C1, ESC, DEL, bidirectional controls or invalid UTF-8
 *   QUOTED    between quotes, for a terminal: as TERMINAL, and \" \\
 *   FOLDED    as TERMINAL; also no `;`, no leading or trailing space, no space before digits at the end of the name
 *   XML       & < > " ' as entities, control characters and invalid UTF-8 as \xNN
 *   JSON      between quotes: \" \\ \n \uNNNN, invalid UTF-8 as \\xNN
 *   CSV       quoted if necessary, quotes doubled, a leading = + - @ preceded by an apostrophe
 * Errors are in the stream's error flag, as with stdio.
 */
#ifndef SP_BASE_ENCODE_H
#define SP_BASE_ENCODE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum sp_encoding {
	SP_ENCODE_TERMINAL,
	SP_ENCODE_QUOTED,
	SP_ENCODE_FOLDED,
	SP_ENCODE_XML,
	SP_ENCODE_JSON,
	SP_ENCODE_CSV
};

void sp_encode(FILE *out, enum sp_encoding encoding, const char *text);
/* The same into a new string (free it); NULL: out of memory. */
char *sp_encoded(enum sp_encoding encoding, const char *text);
/* The same for formatted text. */
char *sp_encoded_format(enum sp_encoding encoding, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Lower-case hex: 2 n digits and a NUL. */
void sp_hex(const uint8_t *bytes, size_t n, char *ret_text);

#endif

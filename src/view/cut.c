/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cut.c: names as long as a terminal has room for. See priv.h. */
#include "view/priv.h"

#include <string.h>

enum { LEAST_NAME = 16 };

size_t sp_view_columns(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

size_t sp_view_room(unsigned width, size_t before)
{
	return !width ? 0 : width > before + LEAST_NAME ? width - before : LEAST_NAME;
}

void sp_view_put_middle(const char *text, size_t room, FILE *out)
{
	enum { LEAST_HEAD = 4 };
	const char *offset = strstr(text, "+0x");
	size_t columns = sp_view_columns(text), at = 0, end = room ? (room - 1) / 2 : 0;
	size_t n_offset = offset ? strlen(offset) : 0;
	bool fits = !room || columns <= room, is_seen = true;

	if (n_offset > end && n_offset + LEAST_HEAD <= room)
		end = n_offset;
	for (; *text; text++) {
		bool begins = ((unsigned char)*text & 0xc0) != 0x80;

		at += begins;
		if (begins && !fits && at == room - end)
			fputs("…", out);
		if (begins)
			is_seen = fits || at < room - end || columns - at < end;
		if (is_seen)
			fputc(*text, out);
	}
}

void sp_view_put_cut(const char *text, size_t room, bool is_stack, FILE *out)
{
	size_t columns = sp_view_columns(text), left = columns;
	bool fits = !room || columns <= room;

	fputs(!fits && is_stack ? "…" : "", out);
	for (; *text; text++) {
		left -= ((unsigned char)*text & 0xc0) != 0x80;
		if (fits || (is_stack ? left < room - 1 : columns - left < room))
			fputc(*text, out);
	}
	fputs(!fits && !is_stack ? "…" : "", out);
}

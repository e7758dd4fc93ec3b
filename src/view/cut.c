/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cut.c: names as long as a terminal has room for. See priv.h. */
#include "view/priv.h"

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

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* statement.c: pieces of statements; a part of client.h that needs no server. */
#include "base/mem.h"
#include "fleet/client.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void sp_fleet_quote(struct sp_bytes *sql, const char *text)
{
	static const char digits[] = "0123456789abcdef";

	sp_bytes_put_u8(sql, '\'');
	for (const char *c = text; *c; c++) {
		unsigned char b = (unsigned char)*c;
		char hex[] = {'\\', 'x', digits[b >> 4], digits[b & 15]};

		if (b < ' ' || b == '\'' || b == '\\' || b >= 0x7f)
			sp_bytes_put(sql, hex, sizeof(hex));
		else
			sp_bytes_put_u8(sql, b);
	}
	sp_bytes_put_u8(sql, '\'');
}

void sp_fleet_print(struct sp_bytes *sql, const char *format, ...)
{
	SP_FREE char *text = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		sql->failed = true;
	else
		sp_bytes_put(sql, text, (size_t)n);
}

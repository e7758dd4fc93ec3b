/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/cmd.h"

#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "cmd/grid.h"
#include "cmd/help.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NEXT_COLUMN = 12 }; /* as in the summary of profile */

/* The text in which a mistake is, with a caret below it. */
static void mistake_show(int r)
{
	size_t at, column = 0;
	const char *text = sp_error_where(r, &at);
	SP_FREE char *raw = text ? strndup(text, at) : NULL, *before = raw ? sp_encoded(SP_ENCODE_TERMINAL, raw) : NULL;

	if (!before)
		return;
	for (const char *c = before; *c; c++)
		column += (*c & 0xc0) != 0x80; /* a byte within a character of UTF-8 has no column */
	fputs("  ", stderr);
	sp_encode(stderr, SP_ENCODE_TERMINAL, text);
	fprintf(stderr, "\n  %*s^\n", (int)column, "");
}

int sp_cmd_error(const struct sp_cmd *cmd, int r, int exit_code)
{
	fputs("soprof: ", stderr);
	if (cmd)
		fprintf(stderr, "%s: ", cmd->name);
	sp_encode(stderr, SP_ENCODE_TERMINAL, sp_error_text(r));
	fputc('\n', stderr);
	mistake_show(r);
	return exit_code;
}

void sp_cmd_warn(const char *text)
{
	fputs("soprof: ", stderr);
	sp_encode(stderr, SP_ENCODE_TERMINAL, text);
	fputc('\n', stderr);
}

void sp_cmd_lost(uint64_t n, const char *what)
{
	if (n)
		fprintf(stderr, "soprof: %" PRIu64 " %s\n", n, what);
}

void sp_cmd_next(const char *format, ...)
{
	SP_FREE char *words = NULL;
	va_list args;

	va_start(args, format);
	words = sp_encoded_format(SP_ENCODE_TERMINAL, format, args);
	va_end(args);
	if (!words)
		return; /* it is only an addition */
	fprintf(stderr, "%-*s", NEXT_COLUMN, "next");
	sp_terminal_wrap(words, NEXT_COLUMN, sp_terminal_width(stderr, NULL), stderr);
}

int sp_cmd_exit_code(int r)
{
	return r == -EINVAL ? SP_EXIT_USAGE : r == -EACCES ? SP_EXIT_REFUSED : SP_EXIT_FAILED;
}

bool sp_cmd_parsed(const struct sp_cmd *cmd, int r, int *ret_exit)
{
	if (r == SP_PARSED)
		return true;
	if (r == SP_PARSED_HELP) {
		sp_help_cmd(cmd, stdout);
		*ret_exit = SP_EXIT_OK;
	} else {
		*ret_exit = sp_cmd_error(cmd, r, sp_cmd_exit_code(r));
	}
	return false;
}

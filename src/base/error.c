/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { CHAIN_BYTES = 1024, STRERROR_BYTES = 128 };
#define MORE "..." /* of a chain that was longer */

static _Thread_local struct {
	char words[CHAIN_BYTES];
	int r;                   /* the failure that the words are about */
	bool said;               /* the words are the whole message */
	bool read;               /* told already: what fails next is another failure */
	char where[CHAIN_BYTES]; /* the text in which the mistake is; "" = none */
	size_t at;
} chain;
static _Thread_local char said[CHAIN_BYTES + STRERROR_BYTES];

void sp_error_clear(void)
{
	chain.words[0] = chain.where[0] = '\0';
	chain.r = 0;
	chain.said = chain.read = false;
}

static void put_in_front(int r, bool said, const char *format, va_list args)
{
	char below[CHAIN_BYTES];

	if (chain.read || chain.r != r)
		sp_error_clear();
	memcpy(below, chain.words, sizeof(below));
	int all = vsnprintf(chain.words, sizeof(chain.words), format, args);
	if (all < 0)
		chain.words[all = 0] = '\0';
	size_t n = strlen(chain.words);
	if (below[0] != '\0')
		all += snprintf(chain.words + n, sizeof(chain.words) - n, "%s%s", n > 0 ? ": " : "", below);
	if (all >= CHAIN_BYTES)
		memcpy(chain.words + CHAIN_BYTES - sizeof(MORE), MORE, sizeof(MORE));
	chain.r = r;
	chain.said |= said;
}

int sp_fail(int r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_in_front(r, false, format, args);
	va_end(args);
	return r;
}

int sp_fail_said(int r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_in_front(r, true, format, args);
	va_end(args);
	return r;
}

int sp_fail_at(int r, const char *text, size_t at, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_in_front(r, true, format, args);
	va_end(args);
	(void)snprintf(chain.where, sizeof(chain.where), "%s", text);
	chain.at = at;
	return r;
}

const char *sp_error_where(int r, size_t *ret_at)
{
	if (chain.r != r || chain.where[0] == '\0' || chain.at > strlen(chain.where))
		return NULL;
	*ret_at = chain.at;
	return chain.where;
}

static const char *error_words_of(int r, char *buffer, size_t size)
{
	return strerror_r(r < 0 ? -r : r, buffer, size);
}

const char *sp_error_text(int r)
{
	char buffer[STRERROR_BYTES];
	bool about_r = chain.r == r && chain.words[0] != '\0';

	if (about_r && chain.said)
		(void)snprintf(said, sizeof(said), "%s", chain.words);
	else if (about_r)
		(void)snprintf(said, sizeof(said), "%s: %s", chain.words, error_words_of(r, buffer, sizeof(buffer)));
	else
		(void)snprintf(said, sizeof(said), "%s", error_words_of(r, buffer, sizeof(buffer)));
	chain.read = true;
	return said;
}

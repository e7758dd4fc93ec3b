/* SPDX-License-Identifier: GPL-2.0-or-later */
/* para.c: see para.h. */
#include "view/para.h"

#include "base/encode.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Characters, not bytes: continuation bytes of UTF-8 take no room. */
static size_t columns(const char *word, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)word[i] & 0xc0) != 0x80;
	return n;
}

FILE *sp_para_begin(struct sp_para *para, const char *label)
{
	fputs(para->bold_label ? "\033[1m" : "", para->out);
	fprintf(para->out, "%-*s", (int)para->indent, label);
	fputs(para->bold_label ? "\033[0m" : "", para->out);
	para->column = para->indent;
	para->text = NULL;
	para->words = open_memstream(&para->text, &para->len);
	para->failed |= !para->words;
	return para->words ? para->words : para->out; /* without memory the text comes unwrapped, but it comes */
}

static void para_put_word(struct sp_para *para, const char *word, size_t len)
{
	size_t n = columns(word, len);

	if (para->column > para->indent && para->column + 1 + n > para->width) {
		fprintf(para->out, "\n%-*s", (int)para->indent, "");
		para->column = para->indent;
	} else if (para->column > para->indent) {
		fputc(' ', para->out);
		para->column++;
	}
	fwrite(word, 1, len, para->out);
	para->column += n;
}

static void put_words(struct sp_para *para)
{
	char *text SP_FREE = sp_encoded(SP_ENCODE_TERMINAL, para->text);

	para->failed |= !text;
	for (const char *at = text; at && *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");

		if (n)
			para_put_word(para, at, n);
		at += n;
	}
}

void sp_para_end(struct sp_para *para)
{
	if (para->words && fclose(para->words) == 0)
		put_words(para);
	else
		para->failed = true;
	free(para->text);
	para->words = NULL;
	para->text = NULL;
	fputc('\n', para->out);
}

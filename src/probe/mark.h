/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mark.h: where the arguments of a mark for probes (usdt.h) are, by the text of its note.
 *
 * SIZE@OPERAND, with blanks between: of each its size in bytes, below 0 if it has a sign, and an operand as the
 * assembler has it. The text is as foreign as the file: what is not written so is -EBADMSG, with sp_error_text(). What
 * is, and yet cannot be read (numbers with a fraction; places that only a symbol tells which the file has not), has a
 * reason, which is constant. A pure function.
 */
#ifndef SP_PROBE_MARK_H
#define SP_PROBE_MARK_H

#include "event/mark.h"

struct sp_mark_said {
	unsigned n;
	struct sp_mark_place mark;           /* what is not there is 0 */
	const char *why_not[SP_N_ARGUMENTS]; /* NULL: it can be read */
};

int sp_mark_parse(const char *text, struct sp_mark_said *ret_said);

struct sp_elf;
struct sp_usdts;
/* Adds to the texts of these marks of the file where symbols are that they name. -ENOMEM, or 0. */
int sp_mark_symbols(struct sp_elf *elf, struct sp_usdts *marks);

#endif

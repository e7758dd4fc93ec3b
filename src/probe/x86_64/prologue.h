/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prologue.h: the instructions at a function's beginning that could be probed.
 *
 * They are those that run once in each call: up to the first branch, whatever instruction that is. Of these only such
 * are kept as candidates as cost less than all before them. Code is read through a window that follows the walk.
 * 0 or a negative errno. The reader owns its bytes.
 */
#ifndef SP_PROBE_PROLOGUE_H
#define SP_PROBE_PROLOGUE_H

#include "probe/priv.h"
#include "unwind/arch.h"

struct sp_prologue_reader {
	struct sp_elf *elf;
	ZydisDecoder decoder;
	uint8_t *bytes; /* bytes [start, end) of the file */
	uint64_t start, end;
	uint64_t code_end; /* of the segment that the window is in */
};
void sp_prologue_open(struct sp_prologue_reader *p, struct sp_elf *elf);
void sp_prologue_close(struct sp_prologue_reader *p);
/* At least 15 bytes of code from a file offset on, or all up to the end of its segment, until the next call. */
int sp_prologue_bytes(struct sp_prologue_reader *p, uint64_t at, const uint8_t **ret_bytes, size_t *ret_n);
/* Fills in the candidates of a function; w->limit is where the walk ends at the latest. */
int sp_prologue_walk(struct sp_prologue_reader *p, const struct sp_function *f, const struct sp_probe_what *what,
		     struct sp_probe_wanted *w);

#endif

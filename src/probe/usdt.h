/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usdt.h: the places in a program that its authors have marked for probes (SystemTap's sdt.h, "USDT").
 *
 * Each is a note in .note.stapsdt: a provider, a name, the address of a nop, where its arguments are, and a counter,
 * the semaphore, that whoever probes has to raise, or the program leaves the place out. Addresses are those of the
 * link; what has moved the file since (prelink) is found by .stapsdt.base. One name may stand for many places. A pure
 * function from bytes, which may be hostile, to places. Strings are the set's. -ENOENT: the file has no such notes;
 * -EFBIG: more than 1 MiB of them. Notes that make no sense, or lead out of the code, are counted.
 */
#ifndef SP_PROBE_USDT_H
#define SP_PROBE_USDT_H

#include "base/arena.h"
#include <stddef.h>
#include <stdint.h>

struct sp_elf;

struct sp_usdt {
	const char *provider, *name, *arguments; /* arguments: as the note says them; "" = none */
	uint64_t offset;                         /* of the nop, in the file */
	uint64_t semaphore;                      /* of its two bytes, in the file; 0 = none */
};
struct sp_usdts {
	struct sp_usdt *at; /* by provider, name, offset */
	size_t n, capacity;
	size_t n_bad;
	struct sp_arena strings;
};

int sp_usdt_find(struct sp_elf *elf, struct sp_usdts *ret_places);
/* Only those whose name, and provider (NULL: any), match these globs; with the places of symbols that their arguments
 * name (mark.h). -ENOENT: none; with the name nearest to it. */
int sp_usdt_choose(struct sp_elf *elf, const char *provider, const char *name, struct sp_usdts *ret_places);
void sp_usdts_done(struct sp_usdts *u);

#endif

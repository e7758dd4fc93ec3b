/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runtime.h: tells whether a file is V8 or HotSpot, runtimes that make code, and reads what it exports about that.
 *
 * V8 is recognised by symbols for debuggers, v8dbg_* (libnode.so, node), or by its builtins (chromium; v8_blob.c,
 * called when a table is built). These are in the file and have no unwind information; v8.h steps through them. HotSpot
 * (libjvm.so) exports tables of its fields for debuggers, gHotSpotVMStructs and gHotSpotVMTypes. The file tells where
 * in memory the numbers are that hotspot.h needs; HotSpot sets them when it starts, so they are read from the process.
 * A pure function of the file's bytes, which may be hostile.
 */
#ifndef SP_UNWIND_RUNTIME_H
#define SP_UNWIND_RUNTIME_H

#include "bpf/wire.h"
#include <stdint.h>

enum sp_runtime_kind { SP_RUNTIME_NONE, SP_RUNTIME_V8, SP_RUNTIME_HOTSPOT, SP_N_RUNTIMES };

struct sp_runtime {
	uint32_t kind;       /* enum sp_runtime_kind */
	uint32_t flags;      /* SP_HOTSPOT_* */
	uint64_t text_vaddr; /* of HotSpot's code: the first executable segment's address less its file offset */
	uint64_t at[SP_HOTSPOT_N_FIELDS]; /* as of struct sp_hotspot, in the file's addresses */
};

struct sp_elf;
/* 0, or -ENOMEM. What cannot be found makes it SP_RUNTIME_NONE. */
int sp_runtime_find(struct sp_elf *e, struct sp_runtime *ret_runtime);
/* hotspot_file.c: the tables that these two pointers lead to. 0: all is found; -ENOENT, -ENOMEM. */
int sp_hotspot_find(struct sp_elf *e, uint64_t structs, uint64_t types, struct sp_runtime *ret_runtime);

#endif

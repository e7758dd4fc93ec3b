/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * beside.h: programs of a BPF object that are loaded at the same time, each in a thread of its own. Private to
 * src/recipe.
 *
 * libbpf loads the programs of an object one after the other, and most of that is the verifier, which can work for
 * several at once. So when it comes to one that is to be loaded beside the others, its instructions go to a thread, and
 * libbpf loads two that do nothing in its place. In the end the program gets their descriptor. One session at
 * a time in each thread.
 */
#ifndef SP_RECIPE_BESIDE_H
#define SP_RECIPE_BESIDE_H

#include <stddef.h>

enum { SP_MAX_BESIDE = 2 };

struct bpf_program;
struct sp_beside;
struct sp_besides {
	struct sp_beside *each[SP_MAX_BESIDE];
	size_t n;
};

/* Before the object is opened. A failure only means that programs are loaded one after the other. */
void sp_beside_prepare(void);
/* Before the object is loaded: this program, of a section "raw_tp" or "perf_event", is loaded beside the others. */
int sp_beside_choose(struct sp_besides *b, struct bpf_program *program);
/* After that, whose result `loaded` is: waits for the programs. 0, or the first failure with sp_error_text(). */
int sp_beside_finish(struct sp_besides *b, int loaded);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stop.h: why a user stack ended, in words for a person.
 *
 * sp_stack.reason (profile/profile.h) carries the number that the kernel half gave, an enum sp_stop of bpf/wire.h.
 * Views know nothing of the kernel half, so the words stand here in the order of that enum; tests/unit/view/stop.c
 * compares the two, so that a reason cannot be added or moved without its words. The strings are constants, short
 * enough for
 * `[cut: WORDS]` at the end of a stack. Any number is allowed: an unknown one gives "unknown".
 */
#ifndef SP_VIEW_STOP_H
#define SP_VIEW_STOP_H

enum {
	SP_STOP_WORDS_NONE = 1,    /* the reason of a stack that never was: SP_STOP_NONE */
	SP_STOP_WORDS_THREAD = 16, /* of whole stacks: what they begin with: SP_STOP_THREAD, SP_STOP_FIBER */
	SP_STOP_WORDS_FIBER = 17,
};

const char *sp_stop_words(unsigned int reason);

#endif

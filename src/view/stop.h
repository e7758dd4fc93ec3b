/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stop.h: why a user stack ended, in words for people.
 *
 * sp_stack.reason (profile/profile.h) is an enum sp_stop of bpf/wire.h, the one thing that views take from the kernel
 * half. The strings are constants, short enough for `[cut: WORDS]` at the end of a stack. A number that is not in the
 * enum, as a foreign profile may have, gives "unknown". No state, no errors.
 */
#ifndef SP_VIEW_STOP_H
#define SP_VIEW_STOP_H

#include <stdbool.h>

const char *sp_stop_words(unsigned int reason);
bool sp_stop_is_cut(unsigned int reason); /* else it is whole, or there is none */

#endif

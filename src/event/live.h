/* SPDX-License-Identifier: GPL-2.0-or-later OR GPL-2.0-only */
/*
 * live.h: an allocation that was not freed yet, and where it is: what the map `live` of the kernel half holds.
 *
 * The kernel half alone writes it (bpf/live.bpf.h); the user half reads it for who wants to see each block. Shared by
 * both halves, as bpf/wire.h is.
 */
#ifndef SP_EVENT_LIVE_H
#define SP_EVENT_LIVE_H

#include "bpf/wire.h"

struct sp_live_key {
	sp_u64 address, tgid;
};
enum sp_live_state { SP_LIVE_COUNTS, SP_LIVE_YOUNG, SP_LIVE_GONE };
struct sp_live {
	struct sp_count_key key;
	struct sp_count value; /* what it stands for */
	sp_u64 since_ns;
	sp_u64 state; /* enum sp_live_state: whether its row has it */
};

#endif

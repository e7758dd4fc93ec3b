/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * derive_doubt.h: which calls of a function are known to return.
 *
 * What follows a call is in doubt, because the call may never return. A doubt is a number, never 0. It is lifted by
 * what only code that runs can do (a proper end), or together with another one that it is linked to. All is told
 * first, then settled once, then asked. Memory that is short is told by `short_of_memory`; what was not noted stays in
 * doubt. Owner: the explorer of one function, which clears it for the next.
 */
#ifndef SP_UNWIND_DERIVE_DOUBT_H
#define SP_UNWIND_DERIVE_DOUBT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_doubt_link { /* `from` is lifted with `to` */
	uint32_t from, to;
};
struct sp_doubts {
	uint32_t *lifted; /* ascending and distinct once they are settled */
	size_t n_lifted, lifted_capacity;
	struct sp_doubt_link *links;
	size_t n_links, links_capacity;
	struct sp_doubt_link *proofs;
	size_t n_proofs, proofs_capacity;
	bool short_of_memory;
};
void sp_doubt_lift(struct sp_doubts *d, uint32_t doubt); /* 0: nothing to lift */
/* to: 0, where the other is in no doubt. */
void sp_doubt_link(struct sp_doubts *d, uint32_t from, uint32_t to);
/* Proof: once doubt `before` is lifted (0: there was none), the call of `doubt` is known to have returned. */
void sp_doubt_prove(struct sp_doubts *d, uint32_t doubt, uint32_t before);
void sp_doubts_settle(struct sp_doubts *d, bool with_proofs);
bool sp_in_doubt(const struct sp_doubts *d, uint32_t doubt);
void sp_doubts_clear(struct sp_doubts *d);
void sp_doubts_free(struct sp_doubts *d);

#endif

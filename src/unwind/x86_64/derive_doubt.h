/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * derive_doubt.h: which calls of a function are known to return.
 *
 * A call may never return, so the code behind it is in doubt. A doubt is a number > 0. It is lifted when that code
 * does what only running code can (it ends properly), or with another doubt to which it is linked. First all doubts
 * and links are added, then they are settled once, then queried. If memory runs out, `short_of_memory` is set and the
 * rest stays in doubt. The explorer of one function owns it and clears it for the next.
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
void sp_doubt_lift(struct sp_doubts *d, uint32_t doubt); /* 0: no doubt, nothing to lift */
/* to 0: the other place is not in doubt. */
void sp_doubt_link(struct sp_doubts *d, uint32_t from, uint32_t to);
/* Proof that the call of `doubt` has returned; it holds once doubt `since` is lifted (0: at once). */
void sp_doubt_prove(struct sp_doubts *d, uint32_t doubt, uint32_t since);
void sp_doubts_settle(struct sp_doubts *d, bool with_proofs);
bool sp_in_doubt(const struct sp_doubts *d, uint32_t doubt);
void sp_doubts_clear(struct sp_doubts *d);
void sp_doubts_free(struct sp_doubts *d);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pace.h: how often the loop serves those who ask: the socket and the page.
 *
 * Anybody on the machine may ask as often as he likes, and even to refuse him costs something. A bucket of CPU time
 * (bucket.h) gains an eighth of max_cpu_ppm, up to what a quarter of a minute allows, and begins full. In debt the loop
 * looks at who asks only when that is paid, or after SP_PACE_REST_MS; so all are answered still, in turns. A debt is no
 * more than such a rest pays for: when the many are gone others are served at once. The log is told of rests, once an
 * hour. No clock, no memory; cannot fail. One thread.
 */
#ifndef SP_AGENT_DAEMON_PACE_H
#define SP_AGENT_DAEMON_PACE_H

#include "base/bucket.h"
#include <stdbool.h>
#include <stdint.h>

enum { SP_PACE_PART = 8, SP_PACE_REST_MS = 200 };

struct sp_pace {
	uint64_t max_cpu_ppm; /* 0 = no limit */
	struct sp_bucket left;
	uint64_t rest_until_ns; /* 0 = it does not rest, which whoever serves again says by setting it to that */
	uint64_t rested_ns;     /* the last rest began; 0 = none did */
};

/* now_ns: CLOCK_MONOTONIC. */
void sp_pace_init(struct sp_pace *p, uint64_t max_cpu_ppm, uint64_t now_ns);
/* So much was used. Returns for how long to rest; 0 = not at all. */
uint64_t sp_pace_take(struct sp_pace *p, uint64_t now_ns, uint64_t cpu_ns);
/* So much was used. Whether it rests now, until p->rest_until_ns. */
bool sp_pace_rest(struct sp_pace *p, uint64_t now_ns, uint64_t cpu_ns);

#endif

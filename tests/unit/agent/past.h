/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * past.h: random windows of an agent in 40 days, and what queries of time ranges must return by the rules of store.h.
 *
 * The windows stay in memory beside the store, so that sums need none of the store's code; of the store only the names
 * of its files are used. Failures are cmocka assertions. One past at a time.
 */
#ifndef SP_TEST_AGENT_PAST_H
#define SP_TEST_AGENT_PAST_H

#include <stdint.h>

#include "base/mem.h"
#include "base/time.h"

#define S SP_NS_PER_S
#define HOUR (3600 * S)
#define DAY (24 * HOUR)
#define BEGIN (UINT64_C(20700) * DAY)
enum { N_LIBRARIES = 6, N_FUNCTIONS = 4, N_PROCESSES = 3, MAX_FRAMES = 3, MAX_ROWS = 5, N_DAYS = 41 };

/* Our own generator: one seed, one past. */
extern uint64_t seed;
uint32_t below(uint32_t n);
uint64_t below_ns(uint64_t n);

struct row {
	uint32_t process, n_frames, frames[MAX_FRAMES]; /* leaf first; a function's number in all libraries */
	int64_t n;
};
struct window {
	uint64_t wall_ns, duration_ns, n_lost;
	uint32_t generation, n_rows;
	struct row rows[MAX_ROWS];
};
extern struct window *windows;
extern size_t n_windows, n_runs;
extern char place[64];      /* of the store */
extern uint64_t *record_ns; /* by window: when the record begins that has it: its own, its minute's, its hour's */
#define CPU_OF_SAMPLE INT64_C(52631578)

void history_make(void); /* from the seed */
void store_write(void);  /* by one process for each writer */
void record_make(void);  /* after that */

struct sums {
	uint64_t from_ns, to_ns, covered_ns, n_lost;
	int64_t n, of_process[N_PROCESSES];
	int64_t library[2][N_LIBRARIES + 1], function[2][N_LIBRARIES * N_FUNCTIONS]; /* self, total; last: none */
};
struct sums sums_of(uint64_t from_ns, uint64_t to_ns);

#endif

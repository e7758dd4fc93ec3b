/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history.h: queries the agent's history, for the commands that show it.
 *
 * A store that was named is read directly; an agent whose socket was named is asked; by default the agent at the usual
 * place is asked, and if none answers, the usual store is read; or a fleet. base/when.h parses times. sp_history_tell()
 * prints to stderr what of the range was sampled, in how many windows, its events (gaps, upgrades), and what was lost,
 * damaged or shortened. -ENODATA with a hint if no window was found. 0 or a negative errno with sp_error_text(). One
 * thread.
 */
#ifndef SP_CMD_REPORT_HISTORY_H
#define SP_CMD_REPORT_HISTORY_H

#include <stdbool.h>

#include "base/when.h"
#include "store/totals.h"

/* Of options, --store, --socket and --fleet: they exclude each other. */
enum { SP_HISTORY_PLACE = 1 << 30 };

struct sp_fleet_args;
struct sp_history;
/* store: a directory or one of its files; socket: an agent's. NULL = not named; not both. Strings stay the caller's. */
int sp_history_open(const char *store, const char *socket, struct sp_history **ret_history);
/* A fleet's hosts. The arguments stay the caller's, and are read at each query. */
int sp_history_open_fleet(const struct sp_fleet_args *fleet, struct sp_history **ret_history);
void sp_history_close(struct sp_history *h);

int sp_history_query(struct sp_history *h, const struct sp_store_query *q, struct sp_profile **ret_profile,
		     struct sp_store_answer *ret_answer);

int sp_history_totals(struct sp_history *h, const struct sp_store_query *q, bool by_function,
		      int (*each)(void *arg, const struct sp_store_total *t), void *arg,
		      struct sp_store_answer *ret_answer);

/* Whether the last answer was of the asking user's processes only. */
bool sp_history_is_own(const struct sp_history *h);
#define SP_OWN_ONLY "your own processes only: root and the agent's group see all" /* the words for it */

/* label: what the lines are of, where there are several answers; NULL = none. */
void sp_history_tell(struct sp_history *h, const char *label, const struct sp_store_query *q,
		     const struct sp_store_answer *answer, int64_t n_samples);

/* "2026-11-21 13:00 to 15:00": the day once if it is the same. Free it; NULL: out of memory. */
char *sp_history_range_text(uint64_t from_ns, uint64_t to_ns);
/* Whether the file is a store's, by its beginning. */
bool sp_history_is_file(int fd);

#endif

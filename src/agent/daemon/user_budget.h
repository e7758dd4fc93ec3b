/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * user_budget.h: what each user's programs may have of the agent for files that it has not seen before.
 *
 * Two shares of --max-cpu (share.h), by the user who runs the program: to look at new files (open and identify them),
 * and to parse them (unwind tables, names), which only ordinary users have: root's parsing is limited by the parse
 * budget alone, and his share of looks is larger. Looks of all ordinary users together have a share, too, since one may
 * have many numbers in a container. What is waited for counts with what such a file of the user has cost of late, so
 * that a queue is not longer than the share, nor than SP_USER_MAX_LOOKS. The largest debt is paid after an hour.
 * Refusals are counted. No clock, no memory; cannot fail. One thread.
 */
#ifndef SP_AGENT_DAEMON_USER_BUDGET_H
#define SP_AGENT_DAEMON_USER_BUDGET_H

#include "base/share.h"
#include <sys/types.h>

enum { SP_USER_MAX_LOOKS = 256, SP_USER_LOOK_NS = 500000 /* of a user's first file, as long as it is not known */ };

struct sp_user_budget {
	struct sp_shares looks, root_looks, all_looks, parsing; /* root_looks: his; all_looks: of all others */
	size_t n;
	struct sp_user_files {
		uid_t uid;
		unsigned n_open;
		int64_t cost_ns, open_ns; /* of a look, of late; taken for those that are waited for */
		uint64_t n_refused;
		bool is_logged;
	} users[SP_SHARE_USERS];
	uint64_t n_refused; /* looks, since the start, of all users */
};

void sp_user_budget_limit(struct sp_user_budget *b, uint64_t max_cpu_ppm); /* 0 = no limit; also while it is in use */

/* now_ns: CLOCK_MONOTONIC. After true comes one of the two after it. */
bool sp_user_budget_may_look(struct sp_user_budget *b, uid_t uid, uint64_t now_ns);
void sp_user_budget_looked(struct sp_user_budget *b, uid_t uid, uint64_t now_ns, uint64_t cpu_ns);
void sp_user_budget_taken_back(struct sp_user_budget *b, uid_t uid, uint64_t now_ns);    /* counted as refused */
bool sp_user_budget_is_over(const struct sp_user_budget *b, uid_t uid, uint64_t now_ns); /* looks are refused */

bool sp_user_budget_may_parse(const struct sp_user_budget *b, uid_t uid, uint64_t now_ns);
void sp_user_budget_parsed(struct sp_user_budget *b, uid_t uid, uint64_t now_ns, uint64_t cpu_ns);

/* The user with the most refusals; NULL: there were none. And one whose refusals are not in the log yet; from now on
 * they count as logged. */
const struct sp_user_files *sp_user_budget_most_refused(const struct sp_user_budget *b);
const struct sp_user_files *sp_user_budget_tell(struct sp_user_budget *b);

#endif

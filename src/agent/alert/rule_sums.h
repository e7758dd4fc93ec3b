/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rule_sums.h: sums a window for one alert rule.
 *
 * A match is a name that the rule's pattern matches, with its amount: a library, a function of a library, the processes
 * of a name, or the uppermost matching cgroup. Names belong to the profile; those of cgroups may end before the NUL, so
 * each has a length. Libraries and functions are told apart by identity.h, then merged by name, so that an upgrade does
 * not make a new alert. Rules on completeness and losses have one match with the name "". Upgrades are events and have
 * no matches. 0 or -ENOMEM. Only reads the profile; reentrant.
 */
#ifndef SP_AGENT_ALERT_RULE_SUMS_H
#define SP_AGENT_ALERT_RULE_SUMS_H

#include "agent/rules.h"
#include "profile/identity.h"
#include "store/store.h"

struct sp_rule_match {
	const char *name, *parent; /* parent: a function's library; else "" */
	size_t len;                /* of the name */
	double amount;             /* ns of CPU time; complete stacks; lost samples */
};
struct sp_rule_sums {
	double all; /* amounts are shares of it */
	uint64_t n_samples;
	struct sp_rule_match *matches; /* by name */
	size_t n_matches;
};

int sp_rule_sums_of_window(const struct sp_profile *p, const struct sp_identity *id, const struct sp_store_window *w,
			   const struct sp_alert_rule *rule, struct sp_rule_sums *ret_sums);
void sp_rule_sums_done(struct sp_rule_sums *t);

#endif

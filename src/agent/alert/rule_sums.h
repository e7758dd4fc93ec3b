/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rule_sums.h: what a window holds of that which an alert rule is about.
 *
 * A hit is something of one name that the rule's pattern means: a library, a function of a library, the processes of a
 * name, the uppermost cgroup that is meant. Names belong to the profile and stay as long as it does; those of cgroups
 * may end before the NUL, so each has a length. Libraries and functions are told apart by identity.h, then put together
 * by name: after an upgrade it is the same alert. Rules about completeness and losses have one hit without a name.
 * Upgrades are events, not windows: no hits. 0 or -ENOMEM. Only reads the profile; reentrant.
 */
#ifndef SP_AGENT_ALERT_RULE_SUMS_H
#define SP_AGENT_ALERT_RULE_SUMS_H

#include "agent/rules.h"
#include "profile/identity.h"
#include "store/store.h"

struct sp_rule_hit {
	const char *name, *of; /* of: a function's library; else "" */
	size_t len;            /* of the name */
	double amount;         /* ns of CPU time; complete stacks; lost samples */
};
struct sp_rule_sums {
	double all; /* of which the amounts are shares */
	uint64_t n_samples;
	struct sp_rule_hit *hits; /* by name */
	size_t n_hits;
};

int sp_rule_sums_of_window(const struct sp_profile *p, const struct sp_identity *id, const struct sp_store_window *w,
			   const struct sp_alert_rule *rule, struct sp_rule_sums *ret_tally);
void sp_rule_sums_done(struct sp_rule_sums *t);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rules.h: the agent's own alert rules: one line of text each, as soprof-alerts(5) has them.
 *
 *   library|function GLOB share|total|cpu > N% [in process|cgroup GLOB] [over TIME] [for TIME]
 *   process|cgroup GLOB share|cpu > N% [over TIME] [for TIME]
 *   complete < N% [over TIME] [for TIME]
 *   lost > N% [over TIME] [for TIME]
 *   upgrade changed GLOB by > N%
 *
 * Words have spaces between; a word in double quotes may have some in it, and \" and \\. Text may be anybody's: a wrong
 * one is -EINVAL with what is wrong in sp_error_text(), and where, in bytes from its beginning. No state; nothing is
 * allocated.
 */
#ifndef SP_AGENT_RULES_H
#define SP_AGENT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_ALERT_RULE_GLOB = 256, SP_ALERT_RULE_TEXT_MAX = 1024 };

enum sp_alert_rule_of {
	SP_ALERT_RULE_LIBRARY,
	SP_ALERT_RULE_FUNCTION,
	SP_ALERT_RULE_PROCESS,
	SP_ALERT_RULE_CGROUP,
	SP_ALERT_RULE_COMPLETE, /* of the user stacks */
	SP_ALERT_RULE_LOST,     /* of the samples */
	SP_ALERT_RULE_UPGRADE,
	SP_N_ALERT_RULES
};
enum sp_alert_rule_value {
	SP_ALERT_RULE_SHARE, /* of all CPU time: what ran in it */
	SP_ALERT_RULE_TOTAL, /* of all CPU time: it, and what it calls */
	SP_ALERT_RULE_CPU,   /* what ran in it, of one CPU */
};
struct sp_alert_rule {
	enum sp_alert_rule_of of;
	enum sp_alert_rule_value value;
	char glob[SP_ALERT_RULE_GLOB];
	enum sp_alert_rule_of in; /* PROCESS, CGROUP; SP_N_ALERT_RULES = everywhere */
	char in_glob[SP_ALERT_RULE_GLOB];
	double threshold; /* 0.3 = 30 % */
	bool is_below;    /* it fires below the threshold, not above */
	uint64_t over_ns; /* the time that is taken together */
	uint64_t for_ns;  /* so long it must hold */
};

#define SP_ALERT_RULE_OVER_NS (60 * UINT64_C(1000000000)) /* where the rule says nothing */
#define SP_ALERT_RULE_OVER_MAX_NS (3600 * UINT64_C(1000000000))
#define SP_ALERT_RULE_FOR_MAX_NS (86400 * UINT64_C(1000000000))

int sp_alert_rule_parse(const char *text, struct sp_alert_rule *ret_rule, size_t *ret_at);

const char *sp_alert_rule_of_name(enum sp_alert_rule_of of); /* "library" ... */
/* At which value the alert is over: a tenth back from the threshold, so that it does not come and go. */
double sp_alert_rule_release(const struct sp_alert_rule *r);

#endif

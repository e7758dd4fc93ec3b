/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rules.h: parses the agent's alert rules, a line of text each (soprof-alerts(5)).
 *
 *   library|function GLOB share|total|cpu > N% [in process|cgroup GLOB] [over TIME] [for TIME]
 *   process|cgroup GLOB share|cpu > N% [over TIME] [for TIME]
 *   complete < N% [over TIME] [for TIME]
 *   lost > N% [over TIME] [for TIME]
 *   upgrade changed GLOB by > N%
 *
 * Words are separated by space; a word in double quotes may contain space, \" and \\. Text is untrusted: -EINVAL with
 * what is wrong in sp_error_text(), and the byte offset in *ret_at. No state; nothing is allocated.
 */
#ifndef SP_AGENT_RULES_H
#define SP_AGENT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_ALERT_RULE_GLOB = 256, SP_ALERT_RULE_TEXT_MAX = 1024 };

enum sp_alert_subject {
	SP_ALERT_RULE_LIBRARY,
	SP_ALERT_RULE_FUNCTION,
	SP_ALERT_RULE_PROCESS,
	SP_ALERT_RULE_CGROUP,
	SP_ALERT_RULE_COMPLETE, /* of user stacks */
	SP_ALERT_RULE_LOST,     /* of samples */
	SP_ALERT_RULE_UPGRADE,
	SP_N_ALERT_RULES
};
enum sp_alert_rule_value {
	SP_ALERT_RULE_SHARE, /* self time, of all CPU time */
	SP_ALERT_RULE_TOTAL, /* self time and time of its callees, of all CPU time */
	SP_ALERT_RULE_CPU,   /* self time, of one CPU */
};
struct sp_alert_rule {
	enum sp_alert_subject subject;
	enum sp_alert_rule_value value;
	char glob[SP_ALERT_RULE_GLOB];
	enum sp_alert_subject within; /* PROCESS, CGROUP; SP_N_ALERT_RULES = everywhere */
	char within_glob[SP_ALERT_RULE_GLOB];
	double threshold; /* 0.3 = 30 % */
	bool is_below;    /* fires below the threshold instead of above */
	uint64_t over_ns; /* sums are over this time */
	uint64_t for_ns;  /* fires after the condition held for so long */
};

#define SP_ALERT_RULE_OVER_NS (60 * UINT64_C(1000000000)) /* without `over` */
#define SP_ALERT_RULE_OVER_MAX_NS (3600 * UINT64_C(1000000000))
#define SP_ALERT_RULE_FOR_MAX_NS (86400 * UINT64_C(1000000000))

int sp_alert_rule_parse(const char *text, struct sp_alert_rule *ret_rule, size_t *ret_at);

const char *sp_alert_subject_name(enum sp_alert_subject subject); /* "library" ... */
/* The value that resolves the alert: a tenth back from the threshold, so that it does not flap. */
double sp_alert_rule_resolve_at(const struct sp_alert_rule *r);

#endif

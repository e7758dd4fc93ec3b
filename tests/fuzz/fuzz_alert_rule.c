/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_alert_rule.c: any text as a rule of the agent's alerts: refused with a reason and a place in it, or within
 * bounds. */
#include "agent/rules.h"
#include "base/error.h"
#include "require.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void check(const struct sp_alert_rule *r)
{
	double release = sp_alert_rule_resolve_at(r);

	require(r->subject < SP_N_ALERT_RULES && r->threshold >= 0.0001 && r->threshold <= 10000);
	require(r->is_below ? release >= r->threshold && release <= 1 : release <= r->threshold && release > 0);
	require(memchr(r->glob, 0, sizeof(r->glob)) && memchr(r->within_glob, 0, sizeof(r->within_glob)));
	require((r->within < SP_N_ALERT_RULES) == (r->within_glob[0] != 0));
	require(r->subject >= SP_ALERT_RULE_COMPLETE && r->subject != SP_ALERT_RULE_UPGRADE ? !r->glob[0] : r->glob[0]);
	if (r->subject != SP_ALERT_RULE_UPGRADE)
		require(r->over_ns >= 10000000000 && r->over_ns <= SP_ALERT_RULE_OVER_MAX_NS &&
			r->for_ns <= SP_ALERT_RULE_FOR_MAX_NS);
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	struct sp_alert_rule rule;
	char *text = malloc(size + 1);
	size_t at = 0;
	int r;

	require(text);
	memcpy(text, data, size);
	text[size] = '\0';
	r = sp_alert_rule_parse(text, &rule, &at);
	require(r == 0 || r == -EINVAL);
	require(at <= strlen(text));
	if (r == 0)
		check(&rule);
	else
		require(*sp_error_text(r));
	sp_error_clear();
	free(text);
	return 0;
}

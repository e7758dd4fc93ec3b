/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/rules.h"
#include "base/error.h"
#include "base/mem.h"
#include "test.h"
#include <errno.h>
#include <stdint.h>
#include <string.h>

#define S UINT64_C(1000000000)

static struct sp_alert_rule good(const char *text)
{
	struct sp_alert_rule rule;
	size_t at;
	int r = sp_alert_rule_parse(text, &rule, &at);

	if (r < 0)
		fail_msg("%s: %s", text, sp_error_text(r));
	return rule;
}

static void near(double is, double wanted)
{
	assert_true(is > wanted - 1e-9 && is < wanted + 1e-9);
}

static void test_rules(void **state)
{
	struct sp_alert_rule r = good("library libcrypto* share > 30% for 5m");

	assert_int_equal(r.subject, SP_ALERT_RULE_LIBRARY);
	assert_int_equal(r.value, SP_ALERT_RULE_SHARE);
	assert_string_equal(r.glob, "libcrypto*");
	near(r.threshold, 0.3);
	near(sp_alert_rule_resolve_at(&r), 0.27);
	assert_int_equal(r.over_ns, 60 * S);
	assert_int_equal(r.for_ns, 300 * S);
	assert_int_equal(r.within, SP_N_ALERT_RULES);
	r = good(
	    "  function \"operator new(unsigned \\\"long\\\\)\"\ttotal > 0.5% over 30s in cgroup /system.slice for 1d");
	assert_int_equal(r.subject, SP_ALERT_RULE_FUNCTION);
	assert_int_equal(r.value, SP_ALERT_RULE_TOTAL);
	assert_string_equal(r.glob, "operator new(unsigned \"long\\)");
	near(r.threshold, 0.005);
	assert_int_equal(r.over_ns, 30 * S);
	assert_int_equal(r.for_ns, 86400 * S);
	assert_int_equal(r.within, SP_ALERT_RULE_CGROUP);
	assert_string_equal(r.within_glob, "/system.slice");
	r = good("process nginx cpu > 250%");
	assert_int_equal(r.subject, SP_ALERT_RULE_PROCESS);
	assert_int_equal(r.value, SP_ALERT_RULE_CPU);
	near(sp_alert_rule_resolve_at(&r), 2.25);
	r = good("complete < 90% for 10m");
	assert_true(r.is_below);
	near(sp_alert_rule_resolve_at(&r), 0.91);
	r = good("lost > 1%");
	assert_int_equal(r.subject, SP_ALERT_RULE_LOST);
	r = good("upgrade changed libz* by > 20%");
	assert_int_equal(r.subject, SP_ALERT_RULE_UPGRADE);
	assert_string_equal(r.glob, "libz*");
}

/* What is wrong, and at which byte. */
static void test_wrong(void **state)
{
	static const struct {
		const char *text, *message;
		size_t at;
	} cases[] = {
	    {"", "expected library, function, process, cgroup, complete, lost or upgrade, and the rule ends", 0},
	    {"\"library\" x share > 1%",
	     "expected library, function, process, cgroup, complete, lost or upgrade, not 'library'", 0},
	    {"library", "expected a name, or a pattern of names, and the rule ends", 7},
	    {"library \"\" share > 1%", "expected a name, or a pattern of names, not ''", 8},
	    {"library x", "expected share, total or cpu, and the rule ends", 9},
	    {"cgroup x total > 1%", "expected share or cpu, not 'total'", 9},
	    {"library x share < 1%", "expected >, not '<'", 16},
	    {"library x share > 1", "expected a threshold such as 30%, not '1'", 18},
	    {"library x share > 1s%", "expected a threshold such as 30%, not '1s%'", 18},
	    {"library x share > -1%", "expected a threshold such as 30%, not '-1%'", 18},
	    {"library x share > 0%", "a threshold of 0.01% to 100% is possible here, not 0%", 18},
	    {"library x share > 100.01%", "a threshold of 0.01% to 100% is possible here, not 100.01%", 18},
	    {"process x cpu > 1000001%", "a threshold of 0.01% to 1000000% is possible here, not 1000001%", 16},
	    {"library x share > 1% over 2h", "a time of 10s to 1h is possible here, not 2h", 26},
	    {"library x share > 1% for 1s", "a time of 10s to 24h is possible here, not 1s", 25},
	    {"library x share > 1% in user x", "expected process or cgroup, not 'user'", 24},
	    {"process x share > 1% in process x", "expected over or for (each once), or the end, not 'in'", 21},
	    {"library x share > 1% over 10s over 10s", "expected in, over or for (each once), or the end, not 'over'",
	     30},
	    {"upgrade of x", "expected changed, not 'of'", 8},
	    {"upgrade changed x by > 3% for 1m", "expected the end, not 'for'", 26},
	    {"library \"x share > 1%", "a \" without its end", 8},
	    {"library \"x\"share > 1%", "no space behind the \"", 8},
	};
	struct sp_alert_rule rule;
	char text[SP_ALERT_RULE_TEXT_MAX + 2];
	size_t at;

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		sp_error_clear();
		assert_int_equal(sp_alert_rule_parse(cases[i].text, &rule, &at), -EINVAL);
		assert_string_equal(sp_error_text(-EINVAL), cases[i].message);
		assert_int_equal(at, cases[i].at);
	}
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(sp_alert_rule_parse(text, &rule, &at), -EINVAL);
	text[SP_ALERT_RULE_TEXT_MAX] = '\0';
	assert_int_equal(sp_alert_rule_parse(text, &rule, &at), -EINVAL);
	sp_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules), cmocka_unit_test(test_wrong)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

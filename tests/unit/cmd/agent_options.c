/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/agent/agent_options.h"
#include "agent/log.h"
#include "base/error.h"
#include "line.h"
#include "recipe/recipe.h"
#include "test.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/soprof-agent-XXXXXX";

static int parse(const char *file, const char *line, struct sp_agent_args *ret_args)
{
	static char *argv[LINE_WORDS] = {"-c", path};
	FILE *f = fopen(path, "w");

	fputs(file, f);
	fclose(f);
	sp_error_clear();
	return sp_agent_args_parse(line_split(line, 2, argv), argv, ret_args);
}

static struct sp_agent_args good(const char *file, const char *line)
{
	struct sp_agent_args a;
	int r = parse(file, line, &a);

	if (r != SP_PARSED)
		fail_msg("%s: %s: %s", file, line, sp_error_text(r));
	return a;
}

static void bad(const char *file, const char *line, const char *message)
{
	struct sp_agent_args a;
	char whole[512];
	int r = parse(file, line, &a);
	const char *text = sp_error_text(r);

	assert_int_equal(r, -EINVAL);
	snprintf(whole, sizeof(whole), "%s%s", message[0] == ':' ? path : "", message);
	assert_string_equal(text, whole);
}

static void test_defaults(void **state)
{
	static const char *const files[] = {"",     "# nothing\n",       "---\n", "---\n# nothing\n...\n",
					    "{}\n", "%YAML 1.1\n---\n{}"};

	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct sp_agent_args a = good(files[i], "");
		const struct sp_agent_config *c = &a.config;
		assert_int_equal(c->frequency_hz, 19);
		assert_int_equal(c->n_sources, 1);
		assert_ptr_equal(c->sources[0].recipe, &sp_recipe_cpu);
		assert_string_equal(c->store, "/var/lib/soprof");
		assert_int_equal(c->retain_s[SP_RES_10S], 2 * 86400);
		assert_int_equal(c->retain_s[SP_RES_1M], 14 * 86400);
		assert_int_equal(c->retain_s[SP_RES_1H], 400 * 86400);
		assert_int_equal(c->max_disk_bytes, 2ULL << 30);
		assert_int_equal(c->max_cpu_ppm, 10000);
		assert_int_equal(c->max_memory_bytes, (uint64_t)(n_cpus <= 12   ? 60
								 : n_cpus >= 64 ? 320
										: n_cpus * 5)
							  << 20);
		assert_string_equal(c->socket, "/run/soprof/agent.sock");
		assert_string_equal(c->group, "soprof");
		assert_false(c->debuginfod);
		assert_string_equal(a.file, path);
		sp_agent_args_done(&a);
	}
}

static const char every_option[] = "frequency: 99\n"
				   "source: [ 'cpu:event=task-clock:frequency=7' ]\n"
				   "cgroup: /system.slice\n"
				   "exclude:\n  - 'ssh*'\n  - \"gpg agent\"\n"
				   "store: /srv/profiles\n"
				   "retain: 10s:6h,1h:1000d\n"
				   "max-disk: 500M\n"
				   "max-cpu: 0.25%\n"
				   "max-memory: 128M\n"
				   "debug-dir: [/a, /b]\n"
				   "debuginfod: Yes\n"
				   "socket: none\n"
				   "group: none\n"
				   "max-clients: 10\n"
				   "max-queries: 3\n"
				   "query-timeout: 1500ms\n"
				   "query-memory: 1G\n"
				   "listen: [127.0.0.1:1234, '[::1]:1234']\n"
				   "hosts: [a.example, b.example]\n"
				   "web-config: /etc/soprof/web.yaml\n"
				   "metrics-series: 500\n"
				   "metrics-by: cgroup\n"
				   "metrics-functions: ['SHA256*', inflate]\n"
				   "log-level: debug\n";

static void who_may_ask(const struct sp_agent_config *c)
{
	assert_string_equal(c->socket, "");
	assert_string_equal(c->group, "");
	assert_int_equal(c->max_clients, 10);
	assert_int_equal(c->max_queries, 3);
	assert_int_equal(c->query_timeout_ns, 1500000000);
	assert_int_equal(c->query_memory_bytes, 1 << 30);
	assert_int_equal(c->n_listen, 2);
	assert_int_equal(c->n_hosts, 2);
	assert_string_equal(c->hosts[1], "b.example");
	assert_string_equal(c->listen[1], "[::1]:1234");
	assert_false(c->listen_is_default);
	assert_string_equal(c->web_config, "/etc/soprof/web.yaml");
}

/* Every option, in the file and on the command line, and the latter has the last word. */
static void test_every_option(void **state)
{
	struct sp_agent_args a = good(every_option, "--frequency=49 --exclude x,y,z --store=/elsewhere");
	const struct sp_agent_config *c = &a.config;

	assert_int_equal(c->frequency_hz, 49);
	assert_int_equal(c->n_sources, 1);
	assert_string_equal(c->sources[0].event, "task-clock");
	assert_int_equal(c->sources[0].frequency_hz, 7);
	assert_string_equal(c->cgroup, "/system.slice");
	assert_int_equal(c->n_exclude, 3);
	assert_string_equal(c->exclude[2], "z");
	assert_string_equal(c->store, "/elsewhere");
	assert_int_equal(c->retain_s[SP_RES_10S], 6 * 3600);
	assert_int_equal(c->retain_s[SP_RES_1M], 14 * 86400);
	assert_int_equal(c->retain_s[SP_RES_1H], 1000 * 86400);
	assert_int_equal(c->max_disk_bytes, 500 << 20);
	assert_int_equal(c->max_cpu_ppm, 2500);
	assert_int_equal(c->max_memory_bytes, 128 << 20);
	assert_string_equal(c->debug_dirs, "/a:/b");
	assert_true(c->debuginfod);
	who_may_ask(c);
	assert_int_equal(c->metrics_series, 500);
	assert_int_equal(c->metrics_by, SP_METRICS_BY_CGROUP);
	assert_int_equal(c->n_metrics_functions, 2);
	assert_int_equal(c->log_level, SP_LOG_DEBUG);
	sp_agent_args_done(&a);
	a = good(every_option, "");
	assert_int_equal(a.config.n_exclude, 2);
	assert_string_equal(a.config.exclude[1], "gpg agent");
	sp_agent_args_done(&a);
}

/* Keys whose values are more than a word, and what is wrong with them, to the column. */
static void test_alerts(void **state)
{
	static const char file[] = "alerts:\n"
				   "  - lost > 1%\n"
				   "  - rule: 'library \"a b\" share > 30% for 5m'\n"
				   "    name: crypto\n"
				   "    labels: {severity: page, team: \"x y\"}\n"
				   "    command: [/bin/echo, a b]\n"
				   "    alertmanager: []\n"
				   "alert-to:\n"
				   "  webhook: http://127.0.0.1:1/x\n"
				   "  command: /bin/true\n"
				   "  alertmanager: ['http://a', 'https://b/']\n"
				   "  ca-file: /ca\n";
	struct sp_agent_args a = good(file, "");
	const struct sp_alert_config *alerts = a.config.alerts;

	assert_int_equal(a.config.n_alerts, 2);
	assert_string_equal(alerts[0].name, "lost > 1%");
	assert_string_equal(alerts[0].to.command[0], "/bin/true");
	assert_null(alerts[0].to.command[1]);
	assert_int_equal(alerts[0].to.n_managers, 2);
	assert_string_equal(alerts[0].to.managers[1], "https://b/");
	assert_string_equal(alerts[1].name, "crypto");
	assert_string_equal(alerts[1].rule.glob, "a b");
	assert_int_equal(alerts[1].n_labels, 2);
	assert_string_equal(alerts[1].labels[1].name, "team");
	assert_string_equal(alerts[1].labels[1].value, "x y");
	assert_string_equal(alerts[1].to.command[1], "a b");
	assert_string_equal(alerts[1].to.webhook, "http://127.0.0.1:1/x");
	assert_string_equal(alerts[1].to.ca_file, "/ca");
	assert_int_equal(alerts[1].to.n_managers, 0);
	sp_agent_args_done(&a);
	bad("alerts:\n  - library lib* shre > 3%\n", "", ":2:18: expected share, total or cpu, not 'shre'");
	bad("alerts:\n  - rule: \"library lib* shre > 3%\"\n", "", ":2:25: expected share, total or cpu, not 'shre'");
	bad("alerts:\n  - rule: \"library lib* \\x73hre > 3%\"\n", "",
	    ":2:11: expected share, total or cpu, not 'shre'");
	bad("alerts: lost > 1%\n", "", ":1:9: alerts: expected a list");
	bad("alerts:\n  - lost > 1%\n  - lost > 1%\n", "", ":3:5: two alerts are called 'lost > 1%'");
	bad("alerts:\n  - {name: x}\n", "", ":2:5: an alert without a rule");
	bad("alerts:\n  - {rul: x}\n", "", ":2:6: an alert has no 'rul'; did you mean rule?");
	bad("alert-to: {command: date}\n", "", ":1:21: command: 'date' does not begin with a /; no shell is used");
	bad("alert-to: {command: []}\n", "", ":1:21: command: the list is empty");
	bad("alert-to: {webhook: 'ftp://x'}\n", "",
	    ":1:21: webhook: 'ftp://x' does not begin with http://HOST or https://HOST");
	bad("alerts:\n  - {rule: lost > 1%, labels: {library: x}}\n", "",
	    ":2:32: labels: 'library' cannot be a label's name here");
	bad("alerts: []\nalerts: []\n", "", ":2:1: alerts is there twice");
}

/* Every named option that the file may have was in the test above: a new one has to be put there. */
static void test_table(void **state)
{
	size_t n = 0;

	for (const struct sp_option *o = sp_agent_options; o->type != SP_OPT_END; o++)
		n += !sp_agent_option_is_action(o);
	assert_int_equal(n, 24);
}

static void test_refused(void **state)
{
	bad("frequncy: 3\n", "", ":1:1: unknown option 'frequncy'; did you mean frequency?");
	bad("\nstore: /x\nfoo: 1\n", "", ":3:1: unknown option 'foo'; soprof agent --help lists them");
	bad("config: /x\n", "", ":1:1: unknown option 'config'; soprof agent --help lists them");
	bad("frequency: x\n", "", ":1:12: frequency: 'x' is not a whole number");
	bad("frequency: 0\n", "", ":1:12: frequency must be 1 to 10000, not 0");
	bad("max-disk: 2X\n", "", ":1:11: max-disk: '2X' is not a size such as 512K, 24M or 1G");
	bad("max-cpu: 200%\n", "", ":1:10: max-cpu must be 0.01% to 100% of a CPU, not 200%");
	bad("max-cpu: 1h\n", "", ":1:10: max-cpu: '1h' is not a share of a CPU such as 1% or 0.5%");
	bad("query-timeout: soon\n", "", ":1:16: query-timeout: 'soon' is not a time such as 500ms, 10s or 2m");
	bad("retain: 10s:2d,5m:1d\n", "", ":1:9: retain: '5m:1d' does not begin with 10s:, 1m: or 1h:");
	bad("retain: 10s:1\n", "", ":1:9: retain: '1' in '10s:1' is not a time of 1h to 36500d");
	bad("store: here\n", "", ":1:8: store: 'here' does not begin with a /");
	bad("store: none\n", "", ":1:8: store: 'none' does not begin with a /");
	bad("listen: here\n", "",
	    ":1:9: listen: 'here' is not an address such as 127.0.0.1:9877, [::1]:9877, or :9877 for all");
	bad("listen: [127.0.0.1:1, '::1:5']\n", "",
	    ":1:9: listen: '::1:5' is not an address such as 127.0.0.1:9877, [::1]:9877, or :9877 for all");
	bad("hosts: a.example:80\n", "", ":1:8: hosts: 'a.example:80' is not a host's name; it has no port");
	bad("web-config: web.yaml\n", "", ":1:13: web-config: 'web.yaml' does not begin with a /");
	bad("source: gpu\n", "", ":1:9: source: there is no recipe 'gpu'; there is cpu");
	bad("source: offcpu\n", "",
	    ":1:9: source: the agent does not take offcpu, of which every event counts; it takes cpu");
	bad("source: [cpu, cpu]\n", "", ":1:9: source: cpu is there twice");
	bad("source: cpu:speed=3\n", "",
	    ":1:9: source: 'speed=3' is no option of a source; there are event=EVENT, frequency=HZ");
	bad("log-level: loud\n", "", ":1:12: log-level: 'loud' is none of error, warning, notice, info, debug");
	bad("debuginfod: 1\n", "", ":1:13: debuginfod: '1' is neither yes nor no");
	bad("exclude: [a, 'b,c']\n", "", ":1:14: exclude: 'b,c' has a ',' in it");
	bad("exclude: ['']\n", "", ":1:10: exclude: a name is empty");
	bad("store: [/a]\n", "", ":1:8: store has one value, not a list");
	bad("store: {a: b}\n", "", ":1:8: expected a value, or a list of them");
	bad("exclude: [[a]]\n", "", ":1:11: expected a value of the list");
	bad("frequency: 3\nfrequency: 4\n", "", ":2:1: frequency is there twice");
	bad("- a\n", "", ":1:1: the file: expected lines of NAME: VALUE");
	bad("hello\n", "", ":1:1: the file: expected lines of NAME: VALUE");
	bad("store: &a /x\n", "", ":1:8: anchors and aliases are not for this file");
	bad("store: *a\n", "", ":1:8: anchors and aliases are not for this file");
	bad("---\n---\n", "", ":2:1: a second document");
	bad("", "--frequency 0", "--frequency must be 1 to 10000, not 0");
	bad("", "--frequncy 0", "unknown option --frequncy; did you mean --frequency?");
	bad("frequency: 0\n", "--frequency 0", "--frequency must be 1 to 10000, not 0");
}

/* libyaml's own words: only that there is a line, a column and something said. */
static void test_broken_yaml(void **state)
{
	static const char *const files[] = {"store: 'x\n", "a: b: c\n", "\t- x\n",
					    "store: [a\n", "\x80\xff",  "a: !!x\n%"};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct sp_agent_args a;
		const char *text;
		assert_int_equal(parse(files[i], "", &a), -EINVAL);
		text = sp_error_text(-EINVAL);
		assert_int_equal(strncmp(text, path, strlen(path)), 0);
		assert_true(strlen(text) > strlen(path) + 8);
	}
}

static void test_no_file(void **state)
{
	char *argv[] = {"-c", "/nonexistent/agent.yaml"};
	struct sp_agent_args a;

	assert_int_equal(sp_agent_args_parse(2, argv, &a), -ENOENT);
	assert_string_equal(argv[1], "/nonexistent/agent.yaml");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_defaults), cmocka_unit_test(test_every_option), cmocka_unit_test(test_alerts),
	    cmocka_unit_test(test_table),    cmocka_unit_test(test_refused),      cmocka_unit_test(test_broken_yaml),
	    cmocka_unit_test(test_no_file),
	};
	int fd = mkstemp(path), r;

	if (fd < 0)
		return 1;
	close(fd);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return r;
}

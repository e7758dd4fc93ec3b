/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * alert.c: made-up profiles, window by window: which alerts fire and resolve, and when; each once, also over gaps,
 * restarts and reloads.
 */
#include "agent/alert/alert.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"
#include "profile/profile.h"
#include "test.h"
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define S UINT64_C(1000000000)
#define START (1000000 * S)

static struct sp_alert_config configs[8];
static struct sp_agent_config config = {.alerts = configs};
static struct sp_alerts *alerts;
static struct sp_profile *profile;
static uint64_t now_ns;
static char notified[1 << 18]; /* notifications since the last expect(), each followed by a semicolon */
static struct sp_notification last;

/* --- rules --- */
/* A webhook and an Alertmanager are told where the page has it: the time that the rule looked at, and what it is about.
 */
static void check_link(const struct sp_notification *n, uint64_t over_ns)
{
	char wanted[160], *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct sp_json j = {.out = out};

	assert_non_null(out);
	snprintf(wanted, sizeof(wanted),
		 "\"http://host:9877/#at=%llu-%llu&to=", (unsigned long long)((n->starts_ns - over_ns) / SP_NS_PER_S),
		 (unsigned long long)((n->is_over ? n->ends_ns : n->starts_ns) / SP_NS_PER_S));
	sp_notification_json(n, out);
	sp_notification_alertmanager(n, 0, &j);
	fclose(out);
	char *hook = strstr(text, "\"url\":"), *manager = strstr(text, "\"generatorURL\":");
	assert_true(hook && !strncmp(hook + strlen("\"url\":"), wanted, strlen(wanted)));
	assert_true(manager && !strncmp(manager + strlen("\"generatorURL\":"), wanted, strlen(wanted)));
	for (size_t i = 0; i < n->n_labels; i++)
		assert_true(strcmp(n->label_names[i], "process") != 0 || strstr(manager, "&process="));
	free(text);
}

static void record(void *arg, const struct sp_alert_config *c, const struct sp_notification *n, bool is_repeat)
{
	size_t len = strlen(notified);

	assert_string_equal(n->name, c->name);
	len += (size_t)snprintf(notified + len, sizeof(notified) - len, "%s %s",
				is_repeat    ? "still"
				: n->is_over ? "over"
					     : "fires",
				n->name);
	for (size_t i = 0; i < n->n_labels; i++)
		if (strcmp(n->label_names[i], "instance") != 0 && strcmp(n->label_names[i], "alertname") != 0)
			len += (size_t)snprintf(notified + len, sizeof(notified) - len, " %s=%s", n->label_names[i],
						n->label_values[i]);
	snprintf(notified + len, sizeof(notified) - len, ";");
	check_link(n, c->rule.over_ns);
	sp_notification_done(&last);
	assert_int_equal(sp_notification_copy(n, &last), 0);
}

static void rules(size_t n, const char *const *texts)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	size_t at;

	memset(configs, 0, sizeof(configs));
	for (size_t i = 0; i < n; i++) {
		configs[i].name = names[i];
		configs[i].text = texts[i];
		assert_int_equal(sp_alert_rule_parse(texts[i], &configs[i].rule, &at), 0);
	}
	config.n_alerts = n;
}

static void begin(size_t n, const char *const *texts)
{
	struct sp_alerts_owner owner = {.page = "http://host:9877/", .notify = record};

	rules(n, texts);
	notified[0] = '\0';
	now_ns = START;
	assert_int_equal(sp_alerts_new(&config, &owner, &alerts), 0);
}

static void begin_one(const char *text)
{
	begin(1, &text);
}

static void end(void)
{
	sp_alerts_free(alerts);
	sp_notification_done(&last);
}

static void expect(const char *wanted)
{
	assert_string_equal(notified, wanted);
	notified[0] = '\0';
}

/* --- windows --- */
static uint32_t must(int64_t number)
{
	assert_true(number >= 0);
	return (uint32_t)number;
}

static uint32_t frame(const char *library, const char *function)
{
	struct sp_file file = {.kind = *library == '[' ? SP_FILE_KERNEL : SP_FILE_ELF};
	struct sp_func func = {0};
	struct sp_frame f = {0};
	uint32_t number;

	file.name = must(sp_profile_add_string(profile, library));
	file.tag = file.name;
	func.file = f.file = must(sp_profile_add_file(profile, &file));
	func.name = must(sp_profile_add_string(profile, function));
	func.start = f.offset = 16 * func.name;
	number = must(sp_profile_add_frame(profile, &f));
	sp_profile_frame(profile, number)->func = must(sp_profile_add_func(profile, &func));
	return number;
}

/* ms of samples, 10 ms each, of the program's main(), which calls the function. */
static void row_of(const char *process, const char *cgroup, const char *library, const char *function, int64_t ms,
		   unsigned how)
{
	uint32_t frames[2];
	struct sp_process p = {.exec_id = 1};
	struct sp_key key = {0};
	struct sp_stack stack = {.stack_class = (uint16_t)how, .n_frames = 2, .frames = frames};
	int64_t values[] = {ms / 10, ms * 1000000};

	frames[0] = frame(library, function);
	frames[1] = frame(process, "main");
	p.comm = must(sp_profile_add_string(profile, process));
	p.pid = p.comm;
	p.cgroup_path = must(sp_profile_add_string(profile, cgroup));
	key.process = must(sp_profile_add_process(profile, &p));
	assert_int_equal(sp_profile_add(profile, must(sp_profile_add_key(profile, &key)),
					must(sp_profile_add_stack(profile, &stack)), 0, values),
			 0);
}

static void row(const char *process, const char *library, const char *function, int64_t ms)
{
	row_of(process, "/x", library, function, ms, SP_CLASS_COMPLETE);
}

static void profile_begin(void)
{
	assert_int_equal(sp_profile_new(&profile), 0);
	sp_profile_add_value_type(profile, "samples", "count");
	sp_profile_add_value_type(profile, "cpu", "nanoseconds");
}

/* The profile's rows are a window of ten seconds. */
static void window(uint64_t n_lost)
{
	struct sp_store_window w = {.wall_ns = now_ns,
				    .boot_ns = now_ns - START + S,
				    .duration_ns = 10 * S - S / 100,
				    .rate_millihertz = 100000,
				    .n_cpus = 1,
				    .n_lost = n_lost,
				    .source = "cpu"};

	sp_alerts_window(alerts, profile, &w);
	now_ns += 10 * S;
	sp_profile_free(profile);
	profile = NULL;
}

/* n windows in which libz has percent of all, and libc the rest. */
static void shares(int percent, int n)
{
	while (n-- > 0) {
		profile_begin();
		if (percent)
			row("git", "libz.so.1", "inflate", percent * 100);
		if (percent < 100)
			row("git", "libc.so.6", "memcpy", 10000 - percent * 100);
		window(0);
	}
}

/* --- tests --- */
static void test_threshold(void **state)
{
	begin_one("library libz* share > 30% over 10s");
	shares(30, 3);
	expect("");
	shares(31, 1);
	expect("fires a library=libz.so.1;");
	assert_string_equal(last.summary, "library libz.so.1: 31.0 % of all CPU time (over 30 %)");
	shares(100, 2);
	shares(29, 3); /* not a tenth back */
	expect("");
	shares(27, 1);
	expect("over a library=libz.so.1;");
	assert_int_equal(last.ends_ns, now_ns - S / 100);
	shares(29, 2);
	expect("");
	shares(40, 1);
	shares(0, 1);
	expect("fires a library=libz.so.1;over a library=libz.so.1;");
	end();
}

/* A minute is summed, and must be complete. */
static void test_over_and_for(void **state)
{
	begin_one("library libz* share > 30% for 30s");
	shares(60, 5); /* 50 s: too little time */
	expect("");
	shares(0, 4); /* 60 60 0 0 0 0 */
	shares(20, 4);
	expect("");
	shares(40, 4); /* 20 20 40 40 40 40: 33 % */
	expect("");
	shares(40, 2);
	expect("");
	shares(40, 1); /* above it for 30 s */
	expect("fires a library=libz.so.1;");
	shares(0, 1); /* 40 40 40 40 40 0: 33 % */
	expect("");
	shares(0, 1); /* 26.7 % */
	expect("over a library=libz.so.1;");
	end();
	/* a dip begins `for` anew */
	begin_one("library libz* share > 30% over 10s for 30s");
	shares(40, 3);
	shares(10, 1);
	shares(40, 3);
	expect("");
	shares(40, 1);
	expect("fires a library=libz.so.1;");
	end();
}

static void test_gaps(void **state)
{
	begin_one("library libz* share > 30% over 10s for 30s");
	shares(40, 3);
	now_ns += 3600 * S;
	shares(40, 3);
	expect(""); /* what is an hour old does not count */
	shares(40, 1);
	expect("fires a library=libz.so.1;");
	now_ns += 3600 * S;
	shares(40, 1);
	expect("");
	shares(0, 1);
	expect("over a library=libz.so.1;");
	end();
	begin_one("library libz* share > 30% over 20s");
	shares(40, 2);
	expect("fires a library=libz.so.1;");
	now_ns += 60 * S;
	shares(0, 1); /* shorter than `over` */
	expect("");
	shares(0, 1);
	expect("over a library=libz.so.1;");
	end();
}

/* A machine that does next to nothing. */
static void test_few(void **state)
{
	begin_one("library libz* share > 30% over 10s");
	for (int64_t ms = 190; ms <= 200; ms += 10) {
		profile_begin();
		row("git", "libz.so.1", "inflate", ms);
		window(0);
		expect(ms < 200 ? "" : "fires a library=libz.so.1;");
	}
	profile_begin();
	window(0);
	expect("over a library=libz.so.1;");
	end();
}

static void test_kinds(void **state)
{
	static const char *const texts[] = {
	    "function * share > 20% over 10s",
	    "function main total > 60% over 10s",
	    "process w* cpu > 40% over 10s",
	    "cgroup /a* share > 60% over 10s",
	    "library libz* share > 90% over 10s in process wget",
	    "complete < 90% over 10s",
	    "lost > 1% over 10s",
	    "library [kernel] share > 10% over 10s",
	};

	begin(8, texts);
	profile_begin();
	row_of("wget", "/a.slice/x", "libz.so.1", "inflate", 3000, SP_CLASS_COMPLETE);
	row_of("wget", "/a.slice/y", "libz.so.1", "inflate_fast", 1900, SP_CLASS_CUT);
	row_of("curl", "/a.slice", "libz.so.1", "deflate", 1500, SP_CLASS_COMPLETE);
	row_of("make", "/b", "[kernel]", "read", 1100, SP_CLASS_COMPLETE);
	row_of("make", "/b", "libc.so.6", "memcpy", 100, SP_CLASS_ABSENT);
	window(10);
	expect("fires a function=inflate_fast library=libz.so.1;fires a function=inflate library=libz.so.1;"
	       "fires b function=main library=wget;fires c process=wget;fires d cgroup=/a.slice;"
	       "fires e library=libz.so.1 process=wget;fires f;fires g;fires h library=[kernel];");
	profile_begin();
	row_of("sed", "/b", "libc.so.6", "regexec", 100, SP_CLASS_COMPLETE);
	window(0);
	expect("over a function=inflate_fast library=libz.so.1;over a function=inflate library=libz.so.1;"
	       "over b function=main library=wget;over c process=wget;over d cgroup=/a.slice;"
	       "over e library=libz.so.1 process=wget;over f;over g;over h library=[kernel];");
	end();
}

/* Of hundreds of names only those near the threshold are watched; there is a limit. */
static void test_many(void **state)
{
	struct sp_alerts_stats stats;

	begin_one("process * share > 1% over 10s");
	profile_begin();
	for (int i = 0; i < 600; i++) {
		char name[16];
		snprintf(name, sizeof(name), "p%d", i);
		row(name, "libc.so.6", "memcpy", i < 3 ? 500 : 10);
	}
	window(0);
	expect("fires a process=p2;fires a process=p1;fires a process=p0;");
	sp_alerts_stats(alerts, &stats);
	assert_int_equal(stats.n_watched, 3);
	assert_int_equal(stats.n_firing, 3);
	assert_int_equal(stats.n_unwatched, 0);
	end();
	begin_one("process * cpu > 0.01% over 10s");
	profile_begin();
	for (int i = 0; i < SP_ALERT_MAX + 10; i++) {
		char name[16];
		snprintf(name, sizeof(name), "p%04d", i);
		row(name, "libc.so.6", "memcpy", 10);
	}
	window(0);
	sp_alerts_stats(alerts, &stats);
	assert_int_equal(stats.n_watched, SP_ALERT_MAX);
	assert_int_equal(stats.n_unwatched, 1);
	end();
}

/* --- restarts and reloads --- */
/* Writes alerts, and restores them in a new struct. */
static void restart(void)
{
	struct sp_alerts_owner owner = {.page = "http://host:9877/", .notify = record};
	char *text = NULL, *at, *line;
	size_t n = 0;
	struct sp_notification note = {0};
	FILE *out = open_memstream(&text, &n);

	sp_alerts_write(alerts, out);
	fclose(out);
	sp_alerts_free(alerts);
	assert_int_equal(sp_alerts_new(&config, &owner, &alerts), 0);
	at = text;
	while ((line = strsep(&at, "\n"))) {
		struct sp_line l;
		assert_int_equal(sp_line_parse(line, true, &l), 0);
		if (!strcmp(l.first, "ready")) {
			assert_int_equal(sp_alerts_restore(alerts, &note), 0);
			sp_notification_done(&note);
		} else if (*l.first && strcmp(l.first, "firing") != 0) {
			assert_int_equal(sp_notification_read_line(&note, &l), 1);
		}
	}
	free(text);
}

static void test_restart(void **state)
{
	static const char *const texts[] = {"library libz* share > 30% over 30s",
					    "function inflate share > 10% over 10s in cgroup /x",
					    "complete < 90% over 10s"};

	begin(3, texts);
	configs[0].labels[0].name = "severity";
	configs[0].labels[0].value = "page; \n\"";
	configs[0].n_labels = 1;
	shares(50, 3);
	expect("fires b function=inflate library=libz.so.1 cgroup=/x;"
	       "fires a severity=page; \n\" library=libz.so.1;");
	restart();
	expect("still a severity=page; \n\" library=libz.so.1;"
	       "still b function=inflate library=libz.so.1 cgroup=/x;");
	shares(50, 1);
	expect("");
	shares(0, 1); /* two of three windows are not enough to resolve it */
	expect("over b function=inflate library=libz.so.1 cgroup=/x;");
	shares(0, 2);
	expect("over a severity=page; \n\" library=libz.so.1;");
	assert_int_equal(last.starts_ns, START + 30 * S - S / 100);
	end();
}

static void test_reload(void **state)
{
	static struct sp_alert_config old[8];
	static struct sp_agent_config was;
	static const char *const before[] = {"library libz* share > 30% over 10s", "library libc* share > 30% over 10s",
					     "library libz* share > 40% over 10s for 30s"};
	static const char *const after[] = {"library libz* share > 30% over 10s", "library libc* share > 31% over 10s",
					    "library libz* share > 40% over 10s for 30s"};

	begin(3, before);
	shares(50, 2);
	expect("fires a library=libz.so.1;fires b library=libc.so.6;");
	/* the old configuration is at another address, as in a reload */
	memcpy(old, configs, sizeof(old));
	was = config;
	was.alerts = old;
	assert_int_equal(sp_alerts_configure(alerts, &was), 0);
	expect("");
	rules(3, after);
	assert_int_equal(sp_alerts_configure(alerts, &config), 0);
	expect("over b library=libc.so.6;");
	sp_alerts_announce(alerts);
	expect("still a library=libz.so.1;");
	shares(50, 1); /* pending alerts stay pending */
	expect("fires b library=libc.so.6;");
	shares(50, 1);
	expect("fires c library=libz.so.1;");
	shares(0, 1);
	expect("over a library=libz.so.1;over c library=libz.so.1;");
	end();
}

static void test_upgrade(void **state)
{
	static const char *const texts[] = {"upgrade changed libz* by > 20%", "upgrade changed * by > 100%"};
	struct sp_store_event e = {.kind = "change", .subject = "libz.so.1 in /usr/bin/git of box", .text = ""};

	begin(2, texts);
	e.data = "old=0.100000 new=0.119000 low=0.01 high=0.03";
	sp_alerts_event(alerts, &e, now_ns);
	e.data = "old=0.1";
	sp_alerts_event(alerts, &e, now_ns);
	expect("");
	e.data = "old=0.100000 new=0.079000 low=-0.03 high=-0.01";
	sp_alerts_event(alerts, &e, now_ns);
	sp_alerts_event(alerts, &e, now_ns); /* the same event again */
	expect("fires a library=libz.so.1 process=/usr/bin/git of box;");
	assert_string_equal(last.summary,
			    "libz.so.1 in /usr/bin/git of box changed by 21.0 % since its upgrade (over 20 %)");
	restart();
	expect("still a library=libz.so.1 process=/usr/bin/git of box;");
	e.subject = "libssl.so.3 in /usr/bin/curl";
	e.data = "old=0.000000 new=0.079000 low=0.03 high=0.01";
	sp_alerts_event(alerts, &e, now_ns + 3600 * S);
	expect("fires b library=libssl.so.3 process=/usr/bin/curl;");
	now_ns += (SP_ALERT_UPGRADE_S - 15) * S;
	shares(0, 1);
	expect("");
	shares(0, 1);
	expect("over a library=libz.so.1 process=/usr/bin/git of box;");
	now_ns += 3600 * S;
	shares(0, 1);
	expect("over b library=libssl.so.3 process=/usr/bin/curl;");
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_threshold), cmocka_unit_test(test_over_and_for), cmocka_unit_test(test_gaps),
	    cmocka_unit_test(test_few),       cmocka_unit_test(test_kinds),        cmocka_unit_test(test_many),
	    cmocka_unit_test(test_restart),   cmocka_unit_test(test_reload),       cmocka_unit_test(test_upgrade)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

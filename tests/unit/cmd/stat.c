/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of stat that count nothing: names of events, what counts mean, and what is read and judged of a machine. */
#include "cmd/stat/stat.h"
#include "base/error.h"
#include "cmd/stat/stat_use.h"
#include "test.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- events --- */
static void names_of_events(void **state)
{
	struct sp_stat_events e = {0};

	assert_int_equal(
	    sp_stat_events_add(&e, "task-clock,cs:u,L1-dcache-load-misses,r1A8,branch-instructions:k,cycles:uk"), 0);
	assert_int_equal(e.n, 6);
	assert_true(e.events[0].is_clock);
	assert_int_equal(e.events[1].config, PERF_COUNT_SW_CONTEXT_SWITCHES);
	assert_true(e.events[1].user_only);
	assert_string_equal(e.events[1].name, "cs:u");
	assert_string_equal(e.events[1].sampled, "cs:u");
	assert_int_equal(e.events[2].type, PERF_TYPE_HW_CACHE);
	assert_int_equal(e.events[2].config, 0x10000);
	assert_string_equal(e.events[2].sampled, "L1-dcache-load-misses");
	assert_int_equal(e.events[3].type, PERF_TYPE_RAW);
	assert_int_equal(e.events[3].config, 0x1a8);
	assert_int_equal(e.events[4].config, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	assert_true(e.events[4].kernel_only);
	assert_false(e.events[5].kernel_only || e.events[5].user_only);
	assert_int_equal(sp_stat_events_add(&e, "LLC-load-mises"), -EINVAL);
	assert_non_null(strstr(sp_error_text(-EINVAL), "did you mean LLC-load-misses?"));
	assert_int_equal(sp_stat_events_add(&e, "cycles,,cs"), -EINVAL);
	assert_int_equal(sp_stat_events_add(&e, "r11112222333344445"), -EINVAL); /* 17 digits */
	sp_stat_events_done(&e);
}

/* --- counts --- */
static void counts_and_metrics(void **state)
{
	struct sp_stat_events e = {0};
	struct sp_stat_counters c;
	struct sp_stat_result r = {.counters = &c, .elapsed_s = 2, .n_runs = 1};
	struct sp_stat_metric m;
	double share;

	assert_int_equal(sp_stat_events_add(&e, "task-clock,cycles,instructions,branches,branch-misses,page-faults"),
			 0);
	assert_int_equal(sp_stat_counters_new(&e, &c), 0);
	c.counters[0].count = (struct sp_stat_count){1000000000, 10, 10};
	c.counters[1].count = (struct sp_stat_count){1500000000, 10, 5}; /* counted half of the time */
	c.counters[2].count = (struct sp_stat_count){6000000000, 10, 10};
	c.counters[3].count = (struct sp_stat_count){1000, 10, 10};
	c.counters[4].count = (struct sp_stat_count){25, 10, 10};
	c.counters[5].count = (struct sp_stat_count){4000, 10, 10};
	assert_true(sp_stat_value(&c.counters[1], false, &share) == 3e9 && share == 0.5);
	sp_stat_metric(&r, 0, &m);
	assert_true(m.value == 0.5);
	assert_string_equal(m.unit, "CPUs utilized");
	sp_stat_metric(&r, 1, &m);
	assert_true(m.value == 3);
	assert_string_equal(m.unit, "GHz");
	sp_stat_metric(&r, 2, &m);
	assert_true(m.value == 2);
	sp_stat_metric(&r, 4, &m);
	assert_true(m.value == 2.5 && m.is_percent);
	sp_stat_metric(&r, 5, &m);
	assert_true(m.value == 4);
	assert_string_equal(m.unit, "K/sec");
	c.counters[3].refused = -ENOENT; /* without them a miss has a rate only */
	sp_stat_metric(&r, 4, &m);
	assert_string_equal(m.unit, "/sec");
	c.counters[5].before = (struct sp_stat_count){3000, 5, 5};
	assert_true(sp_stat_value(&c.counters[5], true, &share) == 1000);
	sp_stat_counters_done(&c);
	sp_stat_events_done(&e);
}

/* 2, 4, 4, 4, 5, 5, 7, 9: mean 5, standard deviation of the sample 2.138, of the mean 0.756 */
static void spread_of_runs(void **state)
{
	static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
	struct sp_stat_spread s = {0};

	for (size_t i = 0; i < 8; i++)
		sp_stat_spread_add(&s, i + 1, values[i]);
	assert_true(s.mean > 4.999999 && s.mean < 5.000001);
	assert_true(sp_stat_error_percent(&s, 8) > 15.11 && sp_stat_error_percent(&s, 8) < 15.12);
	assert_true(sp_stat_error_percent(&s, 1) == 0);
}

/* --- a machine of files --- */
static char root[] = "/tmp/soprof-stat-XXXXXX";

static void file_write(const char *path, const char *text)
{
	char whole[256], *slash;
	FILE *f;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (slash = whole + sizeof(root); (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(whole, 0755);
		*slash = '/';
	}
	f = fopen(whole, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void machine_make(void)
{
	file_write("/proc/stat", "cpu  100 10 50 800 40 0 0 0 0 0\ncpu0 60 5 25 400 20 0 0 0 0 0\n"
				 "cpu1 40 5 25 400 20 0 0 0 0 0\nintr 1\nprocs_running 3\n");
	file_write("/proc/meminfo", "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    400 kB\n");
	file_write("/proc/vmstat", "pswpin 5\npswpout 7\nallocstall_dma 1\nallocstall_normal 2\noom_kill 0\n");
	file_write("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\nfull avg10=0 total=9\n");
	file_write("/proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=50\n");
	file_write("/proc/diskstats",
		   "   7  0 loop0 1 1 1 1 1 1 1 1 1 1 1\n   8  0 sda 10 0 80 20 30 0 240 60 0 100 90 0 0 0 0\n"
		   "   8  1 sda1 9 0 80 20 30 0 240 60 0 100 90\n");
	file_write("/sys/block/sda/device/ioerr_cnt", "0x1a\n");
	file_write("/proc/net/dev",
		   "Inter-| Receive | Transmit\n face |bytes packets\n"
		   "  eth0:1000 1 2 3 4 0 0 0 2000 5 6 7 8 0 0 0\n    lo: 9 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n");
	file_write("/sys/class/net/eth0/speed", "1000\n");
	file_write("/proc/net/snmp",
		   "Ip: Forwarding\nIp: 1\nTcp: RtoMax OutSegs RetransSegs InErrs\nTcp: -1 500 4 0\n");
	file_write("/proc/net/netstat", "TcpExt: ListenOverflows ListenDrops TCPBacklogDrop\nTcpExt: 1 2 3\n");
}

static void reads_a_machine(void **state)
{
	struct sp_use u;

	assert_non_null(mkdtemp(root));
	machine_make();
	assert_int_equal(sp_use_read(root, &u), 0);
	assert_int_equal(u.n_cpus, 3);
	assert_int_equal(u.cpus[0].busy, 160);
	assert_int_equal(u.cpus[0].total, 1000);
	assert_int_equal(u.n_running, 3);
	assert_true(u.throttles == SP_USE_UNKNOWN && u.memory_errors == SP_USE_UNKNOWN);
	assert_int_equal(u.cpu_stall_us, 1000);
	assert_true(u.memory_stall_us == SP_USE_UNKNOWN);
	assert_int_equal(u.io_stall_us, 50);
	assert_int_equal(u.memory_bytes, 1024000);
	assert_int_equal(u.available_bytes, 409600);
	assert_int_equal(u.swapped_pages, 12);
	assert_int_equal(u.direct_reclaims, 3);
	assert_int_equal(u.n_disks, 1);
	assert_string_equal(u.disks[0].name, "sda");
	assert_true(u.disks[0].ios == 40 && u.disks[0].io_ms == 80 && u.disks[0].busy_ms == 100);
	assert_true(u.disks[0].queue_ms == 90 && u.disks[0].errors == 26);
	assert_int_equal(u.n_links, 2);
	assert_true(u.links[0].bytes_in == 1000 && u.links[0].bytes_out == 2000 && u.links[0].mbit_s == 1000);
	assert_true(u.links[0].errors == 8 && u.links[0].drops == 22);
	assert_true(u.links[1].mbit_s == SP_USE_UNKNOWN);
	assert_true(u.segments_out == 500 && u.retransmits == 4 && u.listen_drops == 2 && u.backlog_drops == 3);
	sp_use_done(&u);
	assert_int_equal(sp_use_read("/nonexistent", &u), -ENOENT);
}

/* --- verdicts --- */
struct pair {
	struct sp_use before, now;
	struct sp_use_cpu cpus[2][3];
	struct sp_use_disk disks[2];
	struct sp_use_link links[2];
};

/* Ten seconds in which nothing happened. */
static void pair_make(struct pair *p)
{
	*p = (struct pair){
	    .links = {{.name = "eth0", .bytes_in = 1, .mbit_s = 100}, {.name = "eth0", .bytes_in = 1, .mbit_s = 100}},
	    .disks = {{.name = "sda"}, {.name = "sda"}}};
	p->before = (struct sp_use){.cpus = p->cpus[0],
				    .disks = &p->disks[0],
				    .links = &p->links[0],
				    .n_cpus = 3,
				    .n_disks = 1,
				    .n_links = 1,
				    .n_running = 1,
				    .memory_bytes = 1000,
				    .available_bytes = 900};
	p->now = p->before;
	p->now.cpus = p->cpus[1];
	p->now.disks = &p->disks[1];
	p->now.links = &p->links[1];
	p->now.time_ns = 10000000000;
	p->cpus[1][0].total = 2000;
	p->cpus[1][1].total = p->cpus[1][2].total = 1000;
}

static void expect_state(const struct pair *p, const char *resource, enum sp_use_state state, const char *words)
{
	struct sp_use_rows rows = {0};
	bool is_there = false;

	assert_int_equal(sp_use_judge(&p->before, &p->now, &rows), 0);
	for (size_t i = 0; i < rows.n; i++) {
		bool is_it = !strncmp(rows.rows[i].resource, resource, strlen(resource));

		is_there |= is_it;
		assert_int_equal(rows.rows[i].state, is_it ? state : SP_USE_FINE);
		assert_true((rows.rows[i].next != NULL) == (rows.rows[i].state != SP_USE_FINE));
		if (is_it)
			assert_non_null(strstr(rows.rows[i].verdict, words));
	}
	assert_true(is_there);
	sp_use_rows_done(&rows);
}

static void verdicts_of_cpus(void **state)
{
	struct pair p;

	pair_make(&p);
	expect_state(&p, "CPUs (2)", SP_USE_FINE, "");
	p.cpus[1][1].busy = p.cpus[1][0].busy = 960;
	expect_state(&p, "CPUs", SP_USE_BUSY, "one CPU is full");
	p.cpus[1][0].busy = 1700;
	expect_state(&p, "CPUs", SP_USE_BUSY, "85 % used");
	p.now.cpu_stall_us = 3000000;
	expect_state(&p, "CPUs", SP_USE_SATURATED, "more runs");
	p.now.cpu_stall_us = SP_USE_UNKNOWN;
	expect_state(&p, "CPUs", SP_USE_BUSY, "85 % used");
	p.now.n_running = 5;
	expect_state(&p, "CPUs", SP_USE_SATURATED, "more runs");
	p.now.throttles = 2;
	expect_state(&p, "CPUs", SP_USE_FAULTY, "too hot");
	pair_make(&p);
	p.cpus[1][0].steal = 400;
	expect_state(&p, "CPUs", SP_USE_SATURATED, "hypervisor took 20 %");
}

static void verdicts_of_others(void **state)
{
	struct pair p;

	pair_make(&p);
	p.now.available_bytes = 50;
	expect_state(&p, "memory", SP_USE_BUSY, "95 % used");
	p.now.swapped_pages = 10;
	expect_state(&p, "memory", SP_USE_SATURATED, "it swaps");
	p.now.oom_kills = 1;
	expect_state(&p, "memory", SP_USE_FAULTY, "killed");
	pair_make(&p);
	p.disks[1].busy_ms = 9000;
	expect_state(&p, "sda", SP_USE_BUSY, "busy 90 %");
	p.disks[1].queue_ms = 20000;
	expect_state(&p, "sda", SP_USE_SATURATED, "wait for each other");
	p.disks[1].errors = 1;
	expect_state(&p, "sda", SP_USE_FAULTY, "failed");
	pair_make(&p);
	p.links[1].bytes_out = 100000000; /* 80 Mbit/s */
	expect_state(&p, "eth0", SP_USE_BUSY, "80 %");
	p.links[1].drops = 1;
	expect_state(&p, "eth0", SP_USE_SATURATED, "dropped");
	p.links[1].errors = 1;
	expect_state(&p, "eth0", SP_USE_FAULTY, "damaged");
	pair_make(&p);
	p.now.segments_out = 1000;
	p.now.retransmits = 9;
	expect_state(&p, "TCP", SP_USE_FINE, "");
	p.now.retransmits = 10;
	expect_state(&p, "TCP", SP_USE_FAULTY, "1.0 % of all segments");
	pair_make(&p);
	p.now.listen_drops = 1;
	expect_state(&p, "TCP", SP_USE_SATURATED, "does not accept");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_of_events),  cmocka_unit_test(counts_and_metrics),
	    cmocka_unit_test(spread_of_runs),   cmocka_unit_test(reads_a_machine),
	    cmocka_unit_test(verdicts_of_cpus), cmocka_unit_test(verdicts_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

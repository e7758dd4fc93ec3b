/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command lines of bcc's tools: each option that a tool has is taken, or refused with the reason; what each kind of
 * option is made into; mistakes. The options are those of the parsers in Debian's bpfcc-tools 0.26.
 */
#include "base/error.h"
#include "base/mem.h"
#include "cmd/trace/trace.h"
#include "line.h"
#include "test.h"
#include "trace/presets.h"
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

/* "=": a value follows. Options that only show bcc's own program, or keep it to a kind of container, are left out. */
static const char *const tools[] = {
    "opensnoop -T --timestamp -U --print-uid -x --failed -p= --pid= -t= --tid= -u= --uid= -d= --duration= -n= --name= "
    "-e --extended_fields -f= --flag_filter= -F --full-path -b= --buffer-pages= --cgroupmap= --mntnsmap= --ebpf",
    "execsnoop -T --time -t --timestamp -x --fails -u= --uid= -q --quote -n= --name= -l= --line= -U --print-uid "
    "--max-args= -P= --ppid= --cgroupmap= --mntnsmap= --ebpf",
    "exitsnoop -t --timestamp --utc -p= --pid= --label= -x --failed --per-thread --ebpf",
    "fileslower -p= --pid= -a --all-files --ebpf",
    "filetop -a --all-files -C --noclear -r= --maxrows= -s= --sort= -p= --pid= --ebpf",
    "filelife -p= --pid= --ebpf",
    "killsnoop -x --failed -p= --pid= -T= --tpid= -s= --signal= --ebpf",
    "biolatency -T --timestamp -Q --queued -m --milliseconds -D --disks -F --flags -e --extension -j --json -d= "
    "--disk= --ebpf",
    "biosnoop -Q --queue -d= --disk= -P --pattern --ebpf",
    "biotop -C --noclear -r= --maxrows= -p= --pid= --ebpf",
    "runqlat -T --timestamp -m --milliseconds -P --pids --pidnss -L --tids -p= --pid= --ebpf",
    "cpudist -O --offcpu -T --timestamp -m --milliseconds -P --pids -L --tids -p= --pid= --include-idle -e "
    "--extension --ebpf",
    "offcputime -p= --pid= -t= --tid= -u --user-threads-only -k --kernel-threads-only -U --user-stacks-only -K "
    "--kernel-stacks-only -d --delimited -f --folded --stack-storage-size= -m= --min-block-time= -M= "
    "--max-block-time= --state= --ebpf",
    "tcpconnect -t --timestamp -p= --pid= -P= --port= -4 --ipv4 -6 --ipv6 -L --lport -U --print-uid -u= --uid= -c "
    "--count -d --dns --cgroupmap= --mntnsmap= --ebpf",
    "tcpaccept -T --time -t --timestamp -p= --pid= -P= --port= -4 --ipv4 -6 --ipv6 --cgroupmap= --mntnsmap= --ebpf",
    "tcpconnlat -t --timestamp -p= --pid= -L --lport -4 --ipv4 -6 --ipv6 -v --verbose --ebpf",
    "tcpretrans -s --sequence -l --lossprobe -c --count -4 --ipv4 -6 --ipv6 --ebpf",
    "tcpstates -T --time -t --timestamp -w --wide -s --csv -L= --localport= -D= --remoteport= -Y --journal -4 --ipv4 "
    "-6 --ipv6 --ebpf",
    "tcplife -T --time -t --timestamp -w --wide -s --csv -p= --pid= -L= --localport= -D= --remoteport= -4 --ipv4 -6 "
    "--ipv6 --ebpf",
    "tcpsynbl -4 --ipv4 -6 --ipv6",
    "slabratetop -C --noclear -r= --maxrows= --ebpf",
    "klockstat -d= --duration= -i= --interval= -n= --locks= -s= --stacks= -c= --caller= -S= --sort= -p= --pid= -t= "
    "--tid= --stack-storage-size=",
    "hardirqs -T --timestamp -N --nanoseconds -C --count -d --dist -c= --cpu= --ebpf",
    "softirqs -T --timestamp -N --nanoseconds -C --events -d --dist -c= --cpu= --ebpf",
    "syscount -p= --pid= -t= --tid= -c= --ppid= -i= --interval= -d= --duration= -T= --top= -x --failures -e= --errno= "
    "-L --latency -m --milliseconds -P --process -l --list --syscall= --ebpf",
    "mountsnoop -P --parent_process --cgroupmap= --mntnsmap= --ebpf",
    "statsnoop -t --timestamp -x --failed -p= --pid= --ebpf",
    "vfsstat -p= --pid= --ebpf",
    "cachestat -T --timestamp --ebpf",
    "threadsnoop",
    "bitesize",
    "oomkill",
};

/* Taken, or refused by a line that says why. */
static void option_try(const char *tool, const char *option)
{
	bool has_value = option[strlen(option) - 1] == '=';
	char line[128];
	static char *argv[LINE_WORDS];
	struct sp_trace_args a = {0};
	int r;

	snprintf(line, sizeof(line), "%s %.*s%s", tool, (int)(strlen(option) - has_value), option,
		 has_value ? " 5" : "");
	sp_error_clear();
	r = sp_trace_args_parse(line_split(line, 0, argv), argv, &a);
	if (r != SP_PARSED && (r != -EINVAL || !strstr(sp_error_text(r), " is not here: ")))
		fail_msg("%s: %s", line, r < 0 ? sp_error_text(r) : "no failure");
	sp_trace_args_done(&a);
}

static void test_all_options_are_known(void **state)
{
	for (size_t i = 0; i < SP_COUNT(tools); i++) {
		SP_FREE char *words = strdup(tools[i]);
		char *at = words, *tool = strsep(&at, " "), *option;

		if (!sp_trace_preset_find(tool, strlen(tool)))
			fail_msg("%s is no preset", tool);
		while ((option = strsep(&at, " ")))
			option_try(tool, option);
	}
}

/* The words that are made of a line, with spaces between. */
static int read_line(const char *line, char *ret_words, size_t size)
{
	static char *argv[LINE_WORDS];
	struct sp_trace_bcc b = {0};
	size_t n = 0;
	int r;

	sp_error_clear();
	r = sp_trace_bcc_read(line_split(line, 0, argv), argv, &b);
	*ret_words = '\0';
	for (int i = 0; i < b.argc && !r && n < size; i++)
		n += (size_t)snprintf(ret_words + n, size - n, "%s%s", i ? " " : "", b.argv[i]);
	sp_trace_bcc_done(&b);
	return r;
}

static void test_what_lines_become(void **state)
{
	static const struct {
		const char *line, *words;
	} lines[] = {
	    {"opensnoop -x", "opensnoop[ret < 0]"},
	    {"opensnoop -x -u 7 -t 9", "opensnoop[ret < 0 && uid == 7 && tid == 9]"},
	    {"opensnoop --failed --uid=7", "opensnoop[ret < 0 && uid == 7]"},
	    {"opensnoop -xu7", "opensnoop[ret < 0 && uid == 7]"},
	    {"opensnoop -x -- ls -x 5", "opensnoop[ret < 0] -- ls -x 5"},
	    {"opensnoop --comm cat -p 5 -o file", "opensnoop --comm cat -p 5 -o file"},
	    {"opensnoop -T -d 5", "opensnoop 5"},
	    {"opensnoop 5", "opensnoop 5"},
	    {"execsnoop -P 1", "execsnoop[p->real_parent->tgid == 1]"},
	    {"exitsnoop -x", "exitsnoop[p->exit_code != 0]"},
	    {"killsnoop -s 9,15", "killsnoop[sig in {9,15}]"},
	    /* as the network has them */
	    {"tcpconnect -P 80,443", "tcpconnect[sk->__sk_common.skc_dport in {20480,47873}]"},
	    {"tcpaccept -6 -P 80", "tcpaccept[peer->__sk_common.skc_family == 10 && port in {80}]"},
	    {"fileslower", "fileslower"},
	    {"fileslower 10", "fileslower --min 10ms"},
	    {"tcpconnlat 0.5", "tcpconnlat --min 0.5ms"},
	    {"runqlat 1", "runqlat 1"},
	    {"runqlat -P 1 10", "runqlat --by pid=next->tgid -I 1 10"},
	    {"runqlat -mT 2 3", "runqlat --hist ms=dur/1000000 -I 2 6"},
	    {"syscount -L -d 10", "syscount --by sys --sum dur 10"},
	    {"syscount -d5 -T 3 -i 2 -x", "syscount[ret < 0 && ret > -4096] --by sys --top 3 -I 2 5"},
	    {"syscount -P", "syscount --by sys --by pid,comm"},
	    {"offcputime -m 1000 -M 5000", "offcputime[dur <= 5000us] --min 1000us"},
	    {"biolatency -d sda", "biolatency[rq->q->disk->disk_name == \"sda\"]"},
	    {"hardirqs -C 1 1", "hardirqs --by irq,name=kstr(action->name) --count -I 1 1"},
	    {"softirqs -c 1", "softirqs[cpu == 1]"},
	    {"sched:sched_switch -x 5 6", "sched:sched_switch -x 5 6"},
	    {"vfsstat -p 7 1 2", "vfsstat -p 7 -I 1 2"},
	};
	char words[4096];

	for (size_t i = 0; i < SP_COUNT(lines); i++) {
		int r = read_line(lines[i].line, words, sizeof(words));

		if (r)
			fail_msg("%s: %s", lines[i].line, sp_error_text(r));
		assert_string_equal(words, lines[i].words);
	}
	/* one column more, behind the preset's own */
	assert_int_equal(read_line("opensnoop -U", words, sizeof(words)), 0);
	assert_non_null(strstr(words, "opensnoop --print file="));
	assert_non_null(strstr(words, ", dur, uid"));
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *line, *message;
	} lines[] = {
	    {"opensnoop -F", "-F of opensnoop is not here: a name is shown as the program gave it"},
	    {"opensnoop -xF", "-F of opensnoop is not here"},
	    {"opensnoop -xZ", "opensnoop has no option -Z"},
	    {"killsnoop -s", "-s needs a value"},
	    {"killsnoop --signal", "--signal needs a value"},
	    {"tcpconnect -P http", "'http' is no list of ports"},
	    {"tcpconnect -P 70000", "'70000' is no list of ports"},
	    {"runqlat 0 5", "0 5: these are no interval and count"},
	    {"runqlat 99999999999999999999 5", "these are no interval and count"},
	    {"runqlat 1000000 1000000000000", "these are no interval and count"},
	};
	char words[256];

	for (size_t i = 0; i < SP_COUNT(lines); i++) {
		assert_int_equal(read_line(lines[i].line, words, sizeof(words)), -EINVAL);
		if (!strstr(sp_error_text(-EINVAL), lines[i].message))
			fail_msg("%s: %s", lines[i].line, sp_error_text(-EINVAL));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_all_options_are_known),
	    cmocka_unit_test(test_what_lines_become),
	    cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

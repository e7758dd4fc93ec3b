/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_bcc.c: command lines of bcc's tools: what each option of a tool means here, or why it means nothing. The tool's
 * name stands first; what is none of its options is soprof's own.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "cmd/trace/trace.h"
#include "trace/presets.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum how {
	FILTER,  /* an expression; %s is the value */
	PORTS,   /* likewise, of a list of ports, as the network has them */
	PRINT,   /* a column more */
	SETS,    /* options of ours, with spaces between */
	SECONDS, /* how long it goes on */
	NOTHING, /* it is so anyway */
	REFUSED, /* why, and what to do */
};
#define FROM_QUEUE "from the queue on: soprof trace 'raw:block_rq_insert..raw:block_rq_complete on rq' --hist dur"
static const struct bcc_option {
	const char *tools; /* with spaces around each; "*": all that have no other of this name */
	char letter;
	const char *name;
	bool has_value;
	enum how how;
	const char *what;
} options[] = {
    {" opensnoop ", 'U', "print-uid", false, PRINT, "uid"},
    {" opensnoop statsnoop ", 'x', "failed", false, FILTER, "ret < 0"},
    {" opensnoop syscount offcputime klockstat ", 't', "tid", true, FILTER, "tid == %s"},
    {" opensnoop execsnoop tcpconnect ", 'u', "uid", true, FILTER, "uid == %s"},
    {" opensnoop syscount klockstat ", 'd', "duration", true, SECONDS, NULL},
    {" opensnoop execsnoop ", 'n', "name", true, REFUSED,
     "--comm NAME is the whole name, --comm 'NAME*' its beginning"},
    {" opensnoop ", 'e', "extended_fields", false, NOTHING, NULL},
    {" opensnoop ", 'f', "flag_filter", true, REFUSED,
     "flags are numbers in a filter: 'opens[flags & 0x40]' is O_CREAT"},
    {" opensnoop ", 'F', "full-path", false, REFUSED, "a name is shown as the program gave it"},
    {" opensnoop ", 'b', "buffer-pages", true, REFUSED, "the buffer has 2 MiB a CPU"},
    {" execsnoop ", 'x', "fails", false, REFUSED,
     "programs that did not start: soprof trace 'syscall:execve[ret < 0]'"},
    {" execsnoop ", 'q', "quote", false, NOTHING, NULL},
    {" execsnoop ", 'l', "line", true, REFUSED, "arguments are no part of a filter: use grep"},
    {" execsnoop ", 'U', "print-uid", false, NOTHING, NULL},
    {" execsnoop ", 0, "max-args", true, REFUSED, "255 bytes of the arguments are shown"},
    {" execsnoop ", 'P', "ppid", true, FILTER, "p->real_parent->tgid == %s"},
    {" exitsnoop ", 'x', "failed", false, FILTER, "p->exit_code != 0"},
    {" exitsnoop ", 0, "utc", false, REFUSED, "times are of TZ: TZ=UTC soprof trace exits has UTC's"},
    {" exitsnoop ", 0, "label", true, REFUSED, "lines have no label: --json has the name of the event"},
    {" exitsnoop ", 0, "per-thread", false, REFUSED, "threads that end: soprof trace sched:sched_process_exit"},
    {" fileslower filetop ", 'a', "all-files", false, REFUSED,
     "for what is no file: soprof trace syscall:read --min 10ms"},
    {" filetop ", 's', "sort", true, REFUSED, "rows are in the order of bytes read"},
    {" killsnoop ", 'x', "failed", false, REFUSED, "signals that were not sent: soprof trace 'syscall:kill[ret < 0]'"},
    {" killsnoop ", 'T', "tpid", true, FILTER, "pid == %s"},
    {" killsnoop ", 's', "signal", true, FILTER, "sig in {%s}"},
    {" biolatency ", 'Q', "queued", false, REFUSED, FROM_QUEUE},
    {" biosnoop ", 'Q', "queue", false, REFUSED, FROM_QUEUE},
    {" biolatency ", 'D', "disks", false, SETS, "--by dev=rq->part->bd_dev"},
    {" biolatency ", 'F', "flags", false, SETS, "--by op=rq->cmd_flags&255"},
    {" biolatency cpudist ", 'e', "extension", false, REFUSED,
     "--by comm, pid or dev with --sum dur has sums and counts"},
    {" biolatency ", 'j', "json", false, SETS, "--json"},
    {" biolatency biosnoop ", 'd', "disk", true, FILTER, "rq->q->disk->disk_name == \"%s\""},
    {" biosnoop ", 'P', "pattern", false, REFUSED, "column sector shows it"},
    {" biolatency runqlat cpudist ", 'm', "milliseconds", false, SETS, "--hist ms=dur/1000000"},
    {" runqlat ", 'P', "pids", false, SETS, "--by pid=next->tgid"},
    {" runqlat ", 'L', "tids", false, SETS, "--by tid=next->pid"},
    {" runqlat ", 'p', "pid", true, FILTER, "next->tgid == %s"},
    {" runqlat ", 0, "pidnss", false, REFUSED, "soprof knows cgroups: --cgroup PATH"},
    {" cpudist ", 'O', "offcpu", false, REFUSED, "soprof trace offcputime --hist dur"},
    {" cpudist ", 'P', "pids", false, SETS, "--by pid"},
    {" cpudist ", 'L', "tids", false, SETS, "--by tid"},
    {" cpudist ", 0, "include-idle", false, REFUSED, "idle threads are no part of it: soprof stat --use"},
    {" tcpconnect ", 'P', "port", true, PORTS, "sk->__sk_common.skc_dport in {%s}"},
    {" tcpconnect tcpconnlat ", 'L', "lport", false, PRINT, "port=sk->__sk_common.skc_num"},
    {" tcpconnect ", 'U', "print-uid", false, PRINT, "uid"},
    {" tcpconnect tcpretrans ", 'c', "count", false, SETS,
     "--by to=kstr(sk->__sk_common.skc_v6_daddr.in6_u.u6_addr8,16),dport=sk->__sk_common.skc_dport"},
    {" tcpconnect ", 'd', "dns", false, REFUSED, "names are not asked for"},
    {" tcpconnlat ", 'v', "verbose", false, NOTHING, NULL},
    {" tcpaccept ", 'P', "port", true, FILTER, "port in {%s}"},
    {" tcpaccept ", '4', "ipv4", false, FILTER, "peer->__sk_common.skc_family == 2"},
    {" tcpaccept ", '6', "ipv6", false, FILTER, "peer->__sk_common.skc_family == 10"},
    {" tcpconnect tcpconnlat tcpretrans tcplife tcpstates ", '4', "ipv4", false, FILTER,
     "sk->__sk_common.skc_family == 2"},
    {" tcpconnect tcpconnlat tcpretrans tcplife tcpstates ", '6', "ipv6", false, FILTER,
     "sk->__sk_common.skc_family == 10"},
    {" tcpsynbl ", '4', "ipv4", false, FILTER, "skb->protocol == 8"},
    {" tcpsynbl ", '6', "ipv6", false, FILTER, "skb->protocol != 8"},
    {" tcpretrans ", 's', "sequence", false, REFUSED,
     "sequence numbers: --print 'port=sk->__sk_common.skc_num, seq=((struct tcp_sock *)sk)->snd_una'"},
    {" tcpretrans ", 'l', "lossprobe", false, REFUSED, "probes of a loss are among them"},
    {" tcplife ", 'L', "localport", true, PORTS, "((struct inet_sock *)sk)->inet_sport in {%s}"},
    {" tcplife ", 'D', "remoteport", true, PORTS, "sk->__sk_common.skc_dport in {%s}"},
    {" tcpstates ", 'L', "localport", true, FILTER, "sk->__sk_common.skc_num in {%s}"},
    {" tcpstates ", 'D', "remoteport", true, PORTS, "sk->__sk_common.skc_dport in {%s}"},
    {" tcpstates ", 'Y', "journal", false, REFUSED, "| systemd-cat writes to the journal"},
    {" tcplife tcpstates ", 'w', "wide", false, NOTHING, NULL},
    {" tcplife tcpstates ", 's', "csv", false, REFUSED, "lines are for programs with --json"},
    {" syscount ", 'c', "ppid", true, REFUSED, "soprof trace syscalls --by sys -- COMMAND has what COMMAND starts"},
    {" syscount klockstat ", 'i', "interval", true, SETS, "-I %s"},
    {" syscount ", 'T', "top", true, SETS, "--top %s"},
    {" syscount ", 'x', "failures", false, FILTER, "ret < 0 && ret > -4096"},
    {" syscount ", 'e', "errno", true, FILTER, "ret == -%s"},
    {" syscount ", 'L', "latency", false, SETS, "--sum dur"},
    {" syscount ", 'm', "milliseconds", false, NOTHING, NULL},
    {" syscount ", 'P', "process", false, SETS, "--by pid,comm"},
    {" syscount ", 'l', "list", false, REFUSED, "soprof profile --list 'syscalls:*' has them"},
    {" syscount ", 0, "syscall", true, REFUSED, "soprof trace syscall:NAME is one of them"},
    {" mountsnoop ", 'P', "parent_process", false, PRINT, "ppid=task->real_parent->tgid"},
    {" slabratetop biotop filetop ", 'C', "noclear", false, NOTHING, NULL},
    {" slabratetop biotop filetop ", 'r', "maxrows", true, SETS, "--top %s"},
    {" klockstat ", 'n', "locks", true, SETS, "--top %s"},
    {" klockstat ", 's', "stacks", true, REFUSED, "soprof profile -e lock:contention_begin has the stacks"},
    {" klockstat ", 'c', "caller", true, REFUSED, "soprof profile -e lock:contention_begin has the stacks"},
    {" klockstat ", 'S', "sort", true, REFUSED, "histograms are in the order of their events"},
    {" softirqs hardirqs ", 'N', "nanoseconds", false, NOTHING, NULL},
    {" softirqs hardirqs ", 'd', "dist", false, NOTHING, NULL},
    {" softirqs hardirqs ", 'c', "cpu", true, FILTER, "cpu == %s"},
    {" softirqs ", 'C', "events", false, SETS, "--by softirq=vec_nr --count"},
    {" hardirqs ", 'C', "count", false, SETS, "--by irq,name=kstr(action->name) --count"},
    {" offcputime ", 'm', "min-block-time", true, SETS, "--min %sus"},
    {" offcputime ", 'M', "max-block-time", true, FILTER, "dur <= %sus"},
    {" offcputime ", 'u', "user-threads-only", false, REFUSED, "soprof profile -e offcpu has it, and the stacks"},
    {" offcputime ", 'k', "kernel-threads-only", false, REFUSED, "soprof profile -e offcpu has it, and the stacks"},
    {" offcputime ", 'U', "user-stacks-only", false, REFUSED, "soprof profile -e offcpu -U has stacks"},
    {" offcputime ", 'K', "kernel-stacks-only", false, REFUSED, "soprof profile -e offcpu -K has stacks"},
    {" offcputime ", 'd', "delimited", false, REFUSED, "soprof profile -e offcpu -d has stacks"},
    {" offcputime ", 'f', "folded", false, REFUSED, "soprof profile -e offcpu -f has stacks"},
    {" offcputime ", 0, "state", true, REFUSED, "soprof profile -e offcpu --state has it"},
    {"*", 'T', "timestamp", false, NOTHING, NULL},
    {"*", 't', "timestamp", false, NOTHING, NULL},
    {"*", 0, "time", false, NOTHING, NULL},
    {"*", 0, "ebpf", false, REFUSED, "its program is compiled already: src/trace/trace.bpf.c"},
    {"*", 0, "cgroupmap", true, REFUSED, "--cgroup PATH is a cgroup and those in it"},
    {"*", 0, "mntnsmap", true, REFUSED, "--cgroup PATH is a cgroup and those in it"},
    {"*", 0, "stack-storage-size", true, REFUSED, "stacks are not kept here"},
};

/* What a tool does without being asked. */
static const struct {
	const char *tool, *sets;
} always[] = {{"syscount", "--by sys"}};

/* --- what is made of them --- */
static int word_add(struct sp_trace_bcc *b, char *word, bool is_ours)
{
	if (!word)
		return -ENOMEM;
	b->argv[b->argc++] = word;
	if (is_ours)
		b->made[b->n_made++] = word;
	return 0;
}

/* "--by pid --count" */
static int sets_add(struct sp_trace_bcc *b, const char *words, const char *value)
{
	int r = 0;

	while (!r && *words) {
		size_t n = strcspn(words, " ");
		const char *place = memmem(words, n, "%s", 2);
		char *word = NULL;

		if (!place)
			word = strndup(words, n);
		else if (asprintf(&word, "%.*s%s%.*s", (int)(place - words), words, value,
				  (int)(n - 2 - (size_t)(place - words)), place + 2) < 0)
			word = NULL;
		r = word_add(b, word, true);
		words += n + (words[n] == ' ');
	}
	return r;
}

static int joined(char **text, const char *between, const char *before, const char *value, const char *behind)
{
	char *more = NULL;

	if (asprintf(&more, "%s%s%s%s%s", *text ? *text : "", *text ? between : "", before, value, behind) < 0)
		return -ENOMEM;
	free(*text);
	*text = more;
	return 0;
}

/* Ports with commas between, in the network's order. */
static int ports_turn(const char *list, char *ret_list, size_t size)
{
	size_t n = 0;

	for (const char *at = list; *at; at += strspn(at, ",")) {
		char *end;
		unsigned long port = strtoul(at, &end, 10);

		if (end == at || port > UINT16_MAX || n + 8 > size)
			return sp_fail_said(-EINVAL, "'%s' is no list of ports", list);
		n += (size_t)snprintf(ret_list + n, size - n, "%s%u", n ? "," : "", htons((uint16_t)port));
		at = end;
	}
	return 0;
}

static int filter_add(struct sp_trace_bcc *b, const struct bcc_option *o, const char *value)
{
	const char *place = strstr(o->what, "%s");
	SP_FREE char *before = strndup(o->what, place ? (size_t)(place - o->what) : strlen(o->what));
	char ports[256] = "";
	int r = o->how == PORTS ? ports_turn(value, ports, sizeof(ports)) : before ? 0 : -ENOMEM;

	if (r)
		return r;
	return joined(&b->filter, " && ", before,
		      !place            ? ""
		      : o->how == PORTS ? ports
					: value,
		      place ? place + 2 : "");
}

static int option_take(struct sp_trace_bcc *b, const struct bcc_option *o, const char *shown, const char *value)
{
	switch (o->how) {
	case FILTER:
	case PORTS:
		return filter_add(b, o, value);
	case PRINT:
		return joined(&b->print, ", ", o->what, "", "");
	case SETS:
		return sets_add(b, o->what, value);
	case SECONDS:
		b->seconds = value;
		return 0;
	case NOTHING:
		return 0;
	case REFUSED:
		break;
	}
	return sp_fail_said(-EINVAL, "%s of %s is not here: %s", shown, b->tool, o->what);
}

/* --- reading --- */
static bool is_of(const struct bcc_option *o, const char *tool)
{
	char word[32];

	snprintf(word, sizeof(word), " %s ", tool);
	return *o->tools == '*' || strstr(o->tools, word);
}

/* By its letter, or its name of n bytes. */
static const struct bcc_option *option_find(const char *tool, char letter, const char *name, size_t n)
{
	for (size_t i = 0; i < SP_COUNT(options); i++)
		if (is_of(&options[i], tool) &&
		    (name ? strlen(options[i].name) == n && !strncmp(options[i].name, name, n)
			  : options[i].letter == letter))
			return &options[i];
	return NULL;
}

/* Whether a value follows an option of soprof's own. */
static bool own_has_value(const char *word)
{
	size_t n = strcspn(word + 2, "=");
	bool is_name = word[1] == '-';

	for (const struct sp_option *o = sp_trace_options; o->type; o++)
		if (is_name ? o->name && !word[2 + n] && strlen(o->name) == n && !strncmp(o->name, word + 2, n)
			    : o->letter == word[1] && !word[2])
			return o->type != SP_OPT_FLAG && !o->without;
	return false;
}

struct reading {
	int argc, at;
	char **argv;
};

static int value_take(struct reading *rd, const char *attached, const char *shown, const char **ret_value)
{
	*ret_value = attached ? attached : rd->at + 1 < rd->argc ? rd->argv[++rd->at] : NULL;
	return *ret_value ? 0 : sp_fail_said(-EINVAL, "%s needs a value", shown);
}

static int own_take(struct sp_trace_bcc *b, struct reading *rd)
{
	bool has_value = own_has_value(rd->argv[rd->at]);
	int r = word_add(b, rd->argv[rd->at], false);

	if (!r && has_value && rd->at + 1 < rd->argc)
		r = word_add(b, rd->argv[++rd->at], false);
	return r;
}

static int name_take(struct sp_trace_bcc *b, struct reading *rd)
{
	const char *word = rd->argv[rd->at], *equals = strchr(word, '='), *value = "";
	size_t n = equals ? (size_t)(equals - word) - 2 : strlen(word + 2);
	const struct bcc_option *o = option_find(b->tool, 0, word + 2, n);
	int r;

	if (!o)
		return own_take(b, rd);
	r = o->has_value ? value_take(rd, equals ? equals + 1 : NULL, word, &value) : 0;
	return r ? r : option_take(b, o, word, value);
}

/* "-xT", "-d5", "-d 5" */
static int letters_take(struct sp_trace_bcc *b, struct reading *rd)
{
	const char *word = rd->argv[rd->at];
	int r = 0;

	if (!option_find(b->tool, word[1], NULL, 0))
		return own_take(b, rd);
	for (const char *c = word + 1; *c && !r; c++) {
		const struct bcc_option *o = option_find(b->tool, *c, NULL, 0);
		const char shown[] = {'-', *c, '\0'}, *value = "";

		if (!o)
			return sp_fail_said(-EINVAL, "%s has no option %s", b->tool, shown);
		if (o->has_value) {
			r = value_take(rd, c[1] ? c + 1 : NULL, shown, &value);
			c += strlen(c) - 1;
		}
		r = r ? r : option_take(b, o, shown, value);
	}
	return r;
}

/* The number behind its name is a time that what it shows takes at least. */
static bool has_least(const struct sp_trace_bcc *b)
{
	return !strcmp(b->tool, "fileslower") || !strcmp(b->tool, "tcpconnlat");
}

static int word_take(struct sp_trace_bcc *b, struct reading *rd)
{
	char *word = rd->argv[rd->at];

	if (!strncmp(word, "--", 2))
		return name_take(b, rd);
	if (word[0] == '-' && word[1])
		return letters_take(b, rd);
	if (word[strspn(word, has_least(b) ? "0123456789." : "0123456789")] || b->n_numbers == SP_COUNT(b->numbers))
		return word_add(b, word, false);
	b->numbers[b->n_numbers++] = word;
	return 0;
}

void sp_trace_bcc_options_print(const char *tool, size_t n)
{
	char name[24];
	size_t n_options = 0;

	snprintf(name, sizeof(name), "%.*s", (int)n, tool);
	for (const struct bcc_option *o = options; o < options + SP_COUNT(options); o++) {
		if (*o->tools == '*' || o->how == REFUSED || !is_of(o, name))
			continue;
		if (!n_options++)
			printf("    %s's options:", name);
		if (o->letter)
			printf(" -%c", o->letter);
		printf(" --%s", o->name);
	}
	if (n_options)
		putchar('\n');
}

/* --- the numbers behind the name --- */
static int number_add(struct sp_trace_bcc *b, const char *format, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	return sets_add(b, format, text);
}

/* fileslower MS; for the others SECONDS, or INTERVAL COUNT. */
static int numbers_take(struct sp_trace_bcc *b)
{
	uint64_t interval = 0, count = 0;
	int r = 0;

	if (has_least(b) && b->n_numbers)
		return sets_add(b, "--min %sms", b->numbers[0]);
	if (b->n_numbers < 2)
		b->seconds = b->n_numbers ? b->numbers[0] : b->seconds;
	else if (sp_parse_number(b->numbers[0], 1, SP_MAX_SECONDS, &interval) < 0 ||
		 sp_parse_number(b->numbers[1], 1, SP_MAX_SECONDS, &count) < 0 || count > SP_MAX_SECONDS / interval)
		return sp_fail_said(-EINVAL, "%s %s: these are no interval and count", b->numbers[0], b->numbers[1]);
	if (interval)
		r = number_add(b, "-I %s", interval);
	if (!r && interval)
		return number_add(b, "%s", interval * count);
	return r || !b->seconds ? r : sets_add(b, "%s", b->seconds);
}

static int all_take(struct sp_trace_bcc *b, struct reading *rd)
{
	const struct sp_trace_preset *preset = sp_trace_preset_find(b->tool, strlen(b->tool));
	int r = 0;

	for (size_t i = 0; i < SP_COUNT(always) && !r; i++)
		if (!strcmp(always[i].tool, b->tool))
			r = sets_add(b, always[i].sets, "");
	for (rd->at = 1; rd->at < rd->argc && strcmp(rd->argv[rd->at], "--") != 0 && !r; rd->at++)
		r = word_take(b, rd);
	if (!r && b->print) {
		r = sets_add(b, "--print", "");
		if (!r)
			r = joined(&b->columns, "", preset->print ? preset->print : "", preset->print ? ", " : "",
				   b->print);
		if (!r)
			r = word_add(b, b->columns, false);
	}
	return r ? r : numbers_take(b);
}

int sp_trace_bcc_read(int argc, char **argv, struct sp_trace_bcc *b)
{
	struct reading rd = {.argc = argc, .argv = argv};
	size_t most = (size_t)argc * 4 + 16; /* of one option at most three words are made */
	int r;

	b->argc = argc;
	b->argv = argv;
	if (!argc || !sp_trace_preset_find(argv[0], strlen(argv[0])))
		return 0;
	b->tool = argv[0];
	b->words = b->argv = calloc(most, sizeof(*b->argv));
	b->made = calloc(most, sizeof(*b->made));
	b->argc = 1;
	if (!b->words || !b->made)
		return -ENOMEM;
	r = all_take(b, &rd);
	b->argv[0] = argv[0];
	if (!r && b->filter) {
		r = asprintf(&b->event, "%s[%s]", b->tool, b->filter) < 0 ? -ENOMEM : 0;
		b->argv[0] = r ? argv[0] : b->event;
	}
	for (; rd.at < argc && !r; rd.at++)
		r = word_add(b, argv[rd.at], false);
	return r;
}

void sp_trace_bcc_done(struct sp_trace_bcc *b)
{
	for (size_t i = 0; i < b->n_made; i++)
		free(b->made[i]);
	free(b->made);
	free(b->words);
	free(b->filter);
	free(b->print);
	free(b->columns);
	free(b->event);
}

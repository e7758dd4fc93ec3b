/* SPDX-License-Identifier: GPL-2.0-or-later */
/* agent_status.c: the agent's status: written by the agent as words, shown to people. */
#include "agent/agent.h"
#include "agent/daemon/notify.h"
#include "agent/log.h"
#include "agent/request.h"
#include "agent/socket/ask.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/time.h"
#include "cmd/agent/agent.h"
#include "recipe/recipe.h"
#include "view/units.h"
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_WORDS = 256, TEXT = 64 };

/* --- the agent's end --- */
static void word(FILE *out, const char *name, const char *value)
{
	sp_line_put(out, name, value);
	fputc('\n', out);
}

static void number(FILE *out, const char *name, uint64_t value)
{
	sp_line_put_number(out, name, value);
	fputc('\n', out);
}

/* The words of a source, which follow its name. */
static const struct {
	const char *name;
	size_t offset;
} source_words[] = {
#define WORD(name, member)                                                                                             \
	{                                                                                                              \
		name, offsetof(struct sp_agent_source_status, member)                                                  \
	}
    WORD("rate_mhz", rate_millihertz),
    WORD("wanted_mhz", wanted_millihertz),
    WORD("samples", n_samples),
    WORD("complete", n_complete),
    WORD("lost", n_lost),
    WORD("lost_stacks", n_lost_stacks),
    WORD("folded", n_folded),
    WORD("folded_uid", folded_uid),
    WORD("folded_users", n_folded_users),
    WORD("cut_names", n_cut_names),
    WORD("cut_names_uid", cut_names_uid),
    WORD("deleted_bytes", deleted_bytes),
    WORD("let_go", n_let_go),
    WORD("let_go_uid", let_go_uid),
    WORD("windows", n_windows),
    WORD("waiting", n_waiting),
    WORD("dropped", n_dropped),
    WORD("expected", n_expected),
    WORD("taken", n_taken),
    WORD("renewals", n_renewals),
    WORD("paused_ns", paused_ns),
    WORD("files", n_files),
    WORD("forgotten", n_forgotten),
    WORD("profile_bytes", profile_bytes),
    WORD("unnamed_files", n_unnamed_files),
    WORD("unnamed_frames", n_unnamed_frames),
    WORD("unnamed_samples", n_unnamed_samples),
    WORD("tables_later", n_tables_later),
    WORD("tables_put_off", n_tables_put_off),
    WORD("unfetched", n_unfetched),
#undef WORD
};

bool sp_agent_status_is_of_source(const char *name)
{
	for (size_t i = 0; i < SP_COUNT(source_words); i++)
		if (!strcmp(source_words[i].name, name))
			return true;
	return false;
}

static void put_source(FILE *out, const struct sp_agent_source_status *s)
{
	word(out, "source", s->name);
	for (size_t i = 0; i < SP_COUNT(source_words); i++)
		number(out, source_words[i].name, *(const uint64_t *)((const char *)s + source_words[i].offset));
}

static void put_store(FILE *out, struct sp_agent *a, const struct sp_agent_config *c)
{
	struct sp_store_stats s;

	word(out, "store", c->store);
	number(out, "max_disk", c->max_disk_bytes);
	if (sp_store_stats(sp_agent_store(a), &s) < 0) {
		sp_error_clear();
		return;
	}
	number(out, "stored_bytes", s.bytes);
	number(out, "first", s.first_ns);
	number(out, "last", s.last_ns);
	number(out, "damaged_files", s.n_damaged_files);
	number(out, "damaged_windows", s.n_damaged_windows);
	number(out, "damaged_chunks", s.n_damaged_chunks);
	number(out, "outgrown_dictionaries", s.n_outgrown);
	number(out, "moved_stores", s.n_moved);
	number(out, "removed_windows", s.removed[SP_RES_10S].n_files);
	number(out, "removed_minutes", s.removed[SP_RES_1M].n_files);
	number(out, "removed_hours", s.removed[SP_RES_1H].n_files);
	number(out, "removed_bytes",
	       s.removed[SP_RES_10S].bytes + s.removed[SP_RES_1M].bytes + s.removed[SP_RES_1H].bytes);
}

int sp_agent_status_put(struct sp_agent *a, const struct sp_agent_config *c, FILE *out)
{
	struct sp_agent_status s;

	sp_agent_status(a, &s);
	word(out, "version", SP_VERSION);
	number(out, "pid", (uint64_t)getpid());
	number(out, "started", s.started_wall_ns);
	number(out, "up_ns", sp_time_ns(CLOCK_BOOTTIME) - s.started_boot_ns);
	number(out, "cpus", s.n_cpus);
	number(out, "halvings", s.halvings);
	word(out, "why_halved", s.why_halved);
	number(out, "cpu_ppm", s.cpu_ppm);
	number(out, "max_cpu_ppm", c->max_cpu_ppm);
	number(out, "cpu_ns", s.cpu_ns);
	number(out, "own_ns", s.own_ns);
	number(out, "workers_ns", s.workers_ns);
	number(out, "parsers_ns", s.parsers_ns);
	number(out, "service_ns", s.service_ns);
	number(out, "parse_left_ns", (uint64_t)SP_MAX(s.parse_left_ns, 0));
	number(out, "rests", s.n_rests);
	number(out, "refused_files", s.n_refused_files);
	number(out, "refused_files_uid", s.refused_uid);
	number(out, "refused_files_of_uid", s.n_refused_of_uid);
	number(out, "late_files", s.n_late_files);
	word(out, "late_file", s.late_file);
	number(out, "bpf_ns", s.bpf_ns);
	number(out, "memory", s.memory_bytes);
	number(out, "peak", s.peak_bytes);
	number(out, "max_memory", c->max_memory_bytes);
	number(out, "gaps", s.n_gaps);
	number(out, "gap_ns", s.gap_ns);
	number(out, "unstored_ns", s.unstored_ns);
	number(out, "errors", s.n_errors);
	word(out, "store_error", s.store_error);
	word(out, "kernel_failure", s.kernel_failure);
	put_store(out, a, c);
	for (size_t i = 0; i < s.n_sources; i++)
		put_source(out, &s.sources[i]);
	return ferror(out) ? sp_fail(-EIO, "tell the agent's status") : 0;
}

void sp_agent_status_notify(struct sp_agent *a, struct sp_notify *n)
{
	struct sp_agent_status s;
	char memory[TEXT];
	uint64_t n_windows = 0;

	sp_agent_status(a, &s);
	for (size_t i = 0; i < s.n_sources; i++)
		n_windows += s.sources[i].n_windows;
	sp_unit_write("bytes", s.memory_bytes, memory, sizeof(memory));
	sp_notify_status(n, "%" PRIu64 " windows stored; %.2f %% of a CPU, %s%s%s", n_windows, (double)s.cpu_ppm / 1e4,
			 memory, *s.store_error ? "; the store takes nothing: " : "", s.store_error);
}

/* --- the greeting --- */
static void duration(uint64_t s, char *ret_text, size_t size)
{
	static const struct {
		uint64_t s;
		const char *name;
	} units[] = {{86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}};
	size_t i = 0;

	while (i + 1 < SP_COUNT(units) && s < 2 * units[i].s && s != units[i].s)
		i++;
	if (s % units[i].s && i + 1 < SP_COUNT(units) && s / units[i + 1].s % (units[i].s / units[i + 1].s))
		snprintf(ret_text, size, "%" PRIu64 "%s %" PRIu64 "%s", s / units[i].s, units[i].name,
			 s % units[i].s / units[i + 1].s, units[i + 1].name);
	else
		snprintf(ret_text, size, "%" PRIu64 "%s", s / units[i].s, units[i].name);
}

static void greet_sources(const struct sp_agent_config *c, unsigned n_cpus)
{
	for (size_t i = 0; i < c->n_sources; i++) {
		const struct sp_agent_source *s = &c->sources[i];
		sp_log(SP_LOG_INFO, "samples %s%s%s %" PRIu64 " times a second on %u CPU%s%s%s", s->recipe->name,
		       s->event ? ":" : "", s->event ? s->event : "",
		       s->frequency_hz ? s->frequency_hz : c->frequency_hz, n_cpus, n_cpus == 1 ? "" : "s",
		       c->cgroup ? ", of cgroup " : "", c->cgroup ? c->cgroup : "");
	}
}

/* As it can be typed: with the place where that is not the one that is asked anyway. */
static void greet_ask(const struct sp_agent_config *c)
{
	const char *option = "", *place = "";

	if (!*c->socket) {
		option = strcmp(c->store, SP_AGENT_STORE) ? " --store " : "";
		place = *option ? c->store : "";
	} else if (strcmp(c->socket, SP_AGENT_SOCKET)) {
		option = " --socket ";
		place = c->socket;
	}
	sp_log(SP_LOG_INFO, "to ask: soprof query --from -15m -o last.svg%s%s%s", option, place,
	       *place || !*c->socket ? "" : "; soprof top; soprof agent --status");
}

void sp_agent_greet(const struct sp_agent_config *c, unsigned n_cpus)
{
	char disk[TEXT], memory[TEXT], keep[SP_N_RESOLUTIONS][TEXT];

	for (int i = 0; i < SP_N_RESOLUTIONS; i++)
		duration(c->retain_s[i], keep[i], sizeof(keep[i]));
	sp_unit_write("bytes", c->max_disk_bytes, disk, sizeof(disk));
	sp_unit_write("bytes", c->max_memory_bytes, memory, sizeof(memory));
	sp_log(SP_LOG_NOTICE, "soprof agent " SP_VERSION);
	greet_sources(c, n_cpus);
	sp_log(SP_LOG_INFO,
	       "keeps history in %s: every 10 s for %s, every minute for %s, every hour for %s, at most %s", c->store,
	       keep[SP_RES_10S], keep[SP_RES_1M], keep[SP_RES_1H], disk);
	const char *group = *c->group && getgrnam(c->group) ? c->group : "";

	if (*c->socket)
		sp_log(SP_LOG_INFO, "answers at %s: for root%s%s about all processes, for others about their own",
		       c->socket, *group ? " and group " : "", group);
	else
		sp_log(SP_LOG_INFO, "answers nobody (socket: none)");
	sp_log(SP_LOG_INFO, "uses at most %g %% of a CPU, or it samples less often, and some %s of memory",
	       (double)c->max_cpu_ppm / 1e4, memory);
	greet_ask(c);
}

/* --- the other end --- */
struct screen {
	struct {
		char *name, *value;
	} words[MAX_WORDS];
	size_t n;
};

static int take(void *arg, const char *name, const char *value)
{
	struct screen *s = arg;

	if (s->n == MAX_WORDS)
		return 0; /* a newer agent tells more than we know how to show */
	s->words[s->n].name = strdup(name);
	s->words[s->n].value = sp_encoded(SP_ENCODE_TERMINAL, value);
	s->n++;
	return s->words[s->n - 1].name && s->words[s->n - 1].value ? 0 : -ENOMEM;
}

/* From the word at `from` on; "" = unknown. */
static const char *text_of(const struct screen *s, size_t from, const char *name)
{
	for (size_t i = from; i < s->n; i++)
		if (!strcmp(s->words[i].name, name))
			return s->words[i].value;
	return "";
}

static uint64_t number_of(const struct screen *s, size_t from, const char *name)
{
	uint64_t value = 0;

	return sp_parse_number(text_of(s, from, name), 0, UINT64_MAX, &value) < 0 ? 0 : value;
}

static void bytes_of(const struct screen *s, const char *name, char *ret_text)
{
	sp_unit_write("bytes", number_of(s, 0, name), ret_text, TEXT);
}

static void moment(uint64_t wall_ns, char *ret_text)
{
	time_t t = (time_t)(wall_ns / SP_NS_PER_S);
	struct tm tm;

	if (!wall_ns || !localtime_r(&t, &tm) || !strftime(ret_text, TEXT, "%F %T", &tm))
		snprintf(ret_text, TEXT, "-");
}

/* What parsing was put off for, to keep within the limit of CPU. */
static void show_put_off(const struct screen *s, size_t i, FILE *out)
{
	uint64_t files = number_of(s, i, "unnamed_files"), tables = number_of(s, i, "tables_later");
	uint64_t samples = number_of(s, i, "unnamed_samples");

	if (files || tables)
		fprintf(out,
			"          %" PRIu64 " files wait for names, %" PRIu64 " for unwind tables, to spare the CPU\n",
			files, tables);
	if (samples)
		fprintf(out, "          %" PRIu64 " samples were stored with frames that have no names yet\n", samples);
}

static void show_shares(const struct screen *s, size_t i, FILE *out)
{
	char bytes[TEXT];

	if (number_of(s, i, "folded"))
		fprintf(out,
			"          %" PRIu64 " stacks of %" PRIu64
			" users are stored by library only, above a user's share; most are user %" PRIu64 "'s\n",
			number_of(s, i, "folded"), number_of(s, i, "folded_users"), number_of(s, i, "folded_uid"));
	if (number_of(s, i, "cut_names"))
		fprintf(out,
			"          %" PRIu64
			" long names of functions are cut, above a user's share; the last was user %" PRIu64 "'s\n",
			number_of(s, i, "cut_names"), number_of(s, i, "cut_names_uid"));
	if (number_of(s, i, "deleted_bytes")) {
		sp_unit_write("bytes", number_of(s, i, "deleted_bytes"), bytes, sizeof(bytes));
		fprintf(out, "          %s of deleted files are kept in memory for their names\n", bytes);
	}
	if (number_of(s, i, "let_go"))
		fprintf(out,
			"          deleted files let go, as they are too large: %" PRIu64 "; the last was user %" PRIu64
			"'s\n",
			number_of(s, i, "let_go"), number_of(s, i, "let_go_uid"));
}

static void show_source(const struct screen *s, size_t i, FILE *out)
{
	uint64_t samples = number_of(s, i, "samples"), rate = number_of(s, i, "rate_mhz");
	uint64_t wanted = number_of(s, i, "wanted_mhz");

	fprintf(out, "samples   %s, %g times a second on %" PRIu64 " CPUs", s->words[i].value, (double)rate / 1e3,
		number_of(s, 0, "cpus"));
	if (rate != wanted)
		fprintf(out, " (halved from %g to spare %s)", (double)wanted / 1e3,
			*text_of(s, 0, "why_halved") ? text_of(s, 0, "why_halved") : "the machine");
	fprintf(out, "\n          %" PRIu64 " samples, %.1f %% of the user stacks complete, %" PRIu64 " lost\n",
		samples, sp_percent((int64_t)number_of(s, i, "complete"), (int64_t)samples), number_of(s, i, "lost"));
	if (number_of(s, i, "lost_stacks"))
		fprintf(out, "          %" PRIu64 " stacks found no room on their way from the kernel\n",
			number_of(s, i, "lost_stacks"));
	show_shares(s, i, out);
	show_put_off(s, i, out);
	if (number_of(s, i, "unfetched"))
		fprintf(out,
			"          %" PRIu64
			" debug files did not come from debuginfod: failures, or not asked since\n",
			number_of(s, i, "unfetched"));
	fprintf(out, "windows   %" PRIu64 " stored", number_of(s, i, "windows"));
	if (number_of(s, i, "waiting") || number_of(s, i, "dropped"))
		fprintf(out, ", %" PRIu64 " waiting for names or the disk, %" PRIu64 " dropped",
			number_of(s, i, "waiting"), number_of(s, i, "dropped"));
	fputc('\n', out);
}

static void show_use(const struct screen *s, FILE *out)
{
	char memory[TEXT], most[TEXT], limit[TEXT];
	uint64_t ppm = number_of(s, 0, "cpu_ppm");

	bytes_of(s, "memory", memory);
	bytes_of(s, "peak", most);
	bytes_of(s, "max_memory", limit);
	/* the share of the last minutes; before there is one, of all the time */
	if (!ppm && number_of(s, 0, "up_ns"))
		ppm = number_of(s, 0, "cpu_ns") * 1000 / (number_of(s, 0, "up_ns") / 1000 + 1);
	fprintf(out, "uses      %.2f %% of a CPU (limit %g %%), %s (most %s, limit %s)\n", (double)ppm / 1e4,
		(double)number_of(s, 0, "max_cpu_ppm") / 1e4, memory, most, limit);
}

static void show_store(const struct screen *s, FILE *out)
{
	char bytes[TEXT], limit[TEXT], first[TEXT], last[TEXT];

	bytes_of(s, "stored_bytes", bytes);
	bytes_of(s, "max_disk", limit);
	moment(number_of(s, 0, "first"), first);
	moment(number_of(s, 0, "last"), last);
	fprintf(out, "store     %s: %s of %s, from %s to %s\n", text_of(s, 0, "store"), bytes, limit, first, last);
	if (number_of(s, 0, "damaged_files") || number_of(s, 0, "damaged_windows"))
		fprintf(out, "          %" PRIu64 " damaged files set aside, %" PRIu64 " damaged windows\n",
			number_of(s, 0, "damaged_files"), number_of(s, 0, "damaged_windows"));
	if (number_of(s, 0, "outgrown_dictionaries"))
		fprintf(out, "          %" PRIu64 " dictionaries of stacks had no room any more (max-memory)\n",
			number_of(s, 0, "outgrown_dictionaries"));
	if (number_of(s, 0, "moved_stores"))
		fprintf(out,
			"          removed or replaced %" PRIu64 " times while it was written to, and begun anew\n",
			number_of(s, 0, "moved_stores"));
	if (number_of(s, 0, "removed_bytes")) {
		bytes_of(s, "removed_bytes", bytes);
		fprintf(out,
			"          %s removed since the start, as the limit was reached: days of 10 s %" PRIu64
			", of 1 min %" PRIu64 ", of 1 h %" PRIu64 "\n",
			bytes, number_of(s, 0, "removed_windows"), number_of(s, 0, "removed_minutes"),
			number_of(s, 0, "removed_hours"));
	}
	if (*text_of(s, 0, "store_error"))
		fprintf(out, "          takes nothing now: %s\n", text_of(s, 0, "store_error"));
}

static void show_refused(const struct screen *s, FILE *out)
{
	uint64_t n = number_of(s, 0, "refused_files");

	if (n)
		fprintf(out,
			"files     %" PRIu64 " new ones not looked at, %" PRIu64 " of them of user %" PRIu64
			": more than a user's share of --max-cpu\n",
			n, number_of(s, 0, "refused_files_of_uid"), number_of(s, 0, "refused_files_uid"));
}

static void show_late(const struct screen *s, FILE *out)
{
	uint64_t n = number_of(s, 0, "late_files");

	if (n)
		fprintf(out,
			"files     took a worker too long %" PRIu64
			" times, and lack names or unwind tables; the last:\n"
			"          %s\n",
			n, text_of(s, 0, "late_file"));
}

static void show_kernel(const struct screen *s, FILE *out)
{
	if (*text_of(s, 0, "kernel_failure"))
		fprintf(out, "kernel    its functions have no names: %s\n", text_of(s, 0, "kernel_failure"));
}

static const char *sent_text(const struct screen *s, const char *kind, const char *word)
{
	char name[TEXT];

	snprintf(name, sizeof(name), "%s_%s", kind, word);
	return text_of(s, 0, name);
}

static uint64_t sent_number(const struct screen *s, const char *kind, const char *word)
{
	uint64_t value = 0;

	return sp_parse_number(sent_text(s, kind, word), 0, UINT64_MAX, &value) < 0 ? 0 : value;
}

/* kind: as sp_receiver_words has it; what: as sp_sent_words. */
static void show_sent(const struct screen *s, const char *kind, const char *what, FILE *out)
{
	char bytes[TEXT], to[TEXT];

	if (!*text_of(s, 0, kind))
		return;
	sp_unit_write("bytes", sent_number(s, kind, "bytes"), bytes, sizeof(bytes));
	moment(sent_number(s, kind, "to"), to);
	fprintf(out, "%-9s %s: %" PRIu64 " %s sent in %s, until %s\n", kind, text_of(s, 0, kind),
		sent_number(s, kind, what), what, bytes, to);
	if (sent_number(s, kind, "left_out"))
		fprintf(out, "          %" PRIu64 " damaged windows of the store are not there\n",
			sent_number(s, kind, "left_out"));
	if (sent_number(s, kind, "refused"))
		fprintf(out, "          refused %" PRIu64 " samples: %s\n", sent_number(s, kind, "refused"),
			sent_text(s, kind, "refused_why"));
	if (sent_number(s, kind, "slow_now"))
		fprintf(out,
			"          slow now: an answer took longer than 10 s in %" PRIu64 " of the times it sent\n",
			sent_number(s, kind, "slow"));
	if (*sent_text(s, kind, "error"))
		fprintf(out, "          takes nothing now (%" PRIu64 " failures): %s\n", sent_number(s, kind, "failed"),
			sent_text(s, kind, "error"));
}

static void show(const struct screen *s, FILE *out)
{
	char up[TEXT], since[TEXT], gaps[TEXT];

	duration(number_of(s, 0, "up_ns") / SP_NS_PER_S, up, sizeof(up));
	duration(number_of(s, 0, "gap_ns") / SP_NS_PER_S, gaps, sizeof(gaps));
	moment(number_of(s, 0, "started"), since);
	fprintf(out, "soprof agent %s, process %s, running for %s (since %s)\n", text_of(s, 0, "version"),
		text_of(s, 0, "pid"), up, since);
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->words[i].name, "source"))
			show_source(s, i, out);
	show_use(s, out);
	show_refused(s, out);
	show_late(s, out);
	show_kernel(s, out);
	show_store(s, out);
	if (*text_of(s, 0, "url"))
		fprintf(out, "page      %s: %" PRIu64 " requests, %" PRIu64 " refused\n", text_of(s, 0, "url"),
			number_of(s, 0, "http_requests"), number_of(s, 0, "http_refused"));
	if (number_of(s, 0, "http_unpaid"))
		fprintf(out, "          %" PRIu64 " TLS handshakes refused to who makes too many; the last: %s\n",
			number_of(s, 0, "http_unpaid"), text_of(s, 0, "http_unpaid_by"));
	show_sent(s, "fleet", "windows", out);
	show_sent(s, "pyroscope", "profiles", out);
	show_sent(s, "otlp", "profiles", out);
	if (number_of(s, 0, "gaps"))
		fprintf(out, "gaps      %" PRIu64 ", %s in all\n", number_of(s, 0, "gaps"), gaps);
	if (number_of(s, 0, "unstored_ns")) {
		duration((number_of(s, 0, "unstored_ns") + SP_NS_PER_S / 2) / SP_NS_PER_S, gaps, sizeof(gaps));
		fprintf(out, "          the agent before was killed: up to %s that it had sampled are not stored\n",
			gaps);
	}
	if (number_of(s, 0, "errors"))
		fprintf(out, "errors    %" PRIu64 ", told in the log\n", number_of(s, 0, "errors"));
	fprintf(out, "questions %s answered, %s failed, %s clients turned away", text_of(s, 0, "answered"),
		text_of(s, 0, "failed"), text_of(s, 0, "refused"));
	if (number_of(s, 0, "rests"))
		fprintf(out, ", put off %" PRIu64 " times to keep within --max-cpu", number_of(s, 0, "rests"));
	fputc('\n', out);
}

int sp_agent_status_show(const char *socket, FILE *out)
{
	struct sp_ask a = {.socket = *socket ? socket : NULL};
	struct screen s = {0};
	int r = sp_ask_status(&a, take, &s);

	if (r == 0)
		show(&s, out);
	for (size_t i = 0; i < s.n; i++) {
		free(s.words[i].name);
		free(s.words[i].value);
	}
	return r;
}

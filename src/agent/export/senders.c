/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/export/senders.h"
#include "agent/exec/again.h"
#include "agent/exec/self.h"
#include "agent/export/exposition.h"
#include "agent/export/remote_write.h"
#include "agent/export/send_child.h"
#include "agent/log.h"
#include "agent/request.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/time.h"
#include "http/curl.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	TIMEOUT_MS = 900000, /* for some twenty requests that each take nearly as long as they may */
	FIRST_PAUSE_MS = 10000,
	MAX_PAUSE_MS = 300000,
	MAX_LATER_S = 3600, /* as a server wishes */
	LEAST_S = 60,       /* between two that send: each decodes the day's dictionary */
	NS_A_MS = 1000000,
	NAME = 1024,
	MAX_PASSWORD = 4096,
	MAX_HEADERS = 16384,
	WORD = 64
};

/* Of its time from one to the next, one that sends computes at most 1/share, if that takes no longer than most_s. */
static const struct {
	unsigned share, most_s; /* most_s of a fleet: so long is a reading (fleet/send.c) */
} paces[SP_N_RECEIVERS] = {
    [SP_RECEIVER_FLEET] = {2000, 600}, [SP_RECEIVER_PYROSCOPE] = {500, 300}, [SP_RECEIVER_OTLP] = {500, 300}};

const char *const sp_sent_words[SP_N_RECEIVERS][SP_SENT_COUNTS] = {
    [SP_RECEIVER_FLEET] = {"windows", "rows", "samples", "bytes", "left_out"},
    [SP_RECEIVER_PYROSCOPE] = {"profiles", "samples", "bytes", "refused", "left_out"},
    [SP_RECEIVER_OTLP] = {"profiles", "samples", "bytes", "refused", "left_out"}};

struct sender {
	enum sp_receiver kind;
	const struct sp_agent_receiver *to;
	const struct sp_agent_config *config;
	char name[NAME]; /* of the server, without a user; "" = none */
	struct sp_program program;
	uint64_t began_ns, due_ns; /* CLOCK_MONOTONIC */
	struct sp_again again;
	bool has_sent, is_slow, is_counted;                              /* is_counted: of the process */
	char why[SP_PROGRAM_TEXT + 1], why_refused[SP_PROGRAM_TEXT + 1]; /* the last; "" = none */
	uint64_t counts[SP_SENT_COUNTS], n_failed, n_slow, cpu_ns;       /* since the start */
	uint64_t to_ns;                                                  /* CLOCK_REALTIME */
	uint64_t later_s; /* of the last: its server wants no more before; 0 = any time */
};
struct sp_senders {
	struct sender all[SP_N_RECEIVERS];
	int epoll, self;
};

/* --- what the process is told --- */
static int headers_put(const char *file, FILE *out)
{
	SP_FREE char *text = NULL;
	size_t n = 0;
	int r = file ? sp_text_read_config(file, MAX_HEADERS, &text, &n) : 0;

	if (r < 0 || !file)
		return r;
	fwrite(text, 1, n, out);
	explicit_bzero(text, n);
	return 0;
}

static int job_put(void *sender, FILE *out)
{
	const struct sender *s = sender;
	const struct sp_agent_config *c = s->config;
	const struct sp_agent_receiver *to = s->to;

	sp_line_put(out, "kind", sp_receiver_words[s->kind]);
	sp_line_put(out, "url", to->url);
	sp_line_put(out, "database", to->database);
	sp_line_put(out, "user", to->user);
	sp_line_put(out, "ca", to->ca_file);
	sp_line_put(out, "host", to->host);
	sp_line_put(out, "machine", to->machine);
	sp_line_put(out, "store", c->store);
	sp_line_put_number(out, "resolution", to->resolution_s);
	sp_line_put_number(out, "memory", c->query_memory_bytes);
	fputc('\n', out);
	for (size_t i = 0; i < c->n_sources; i++)
		fprintf(out, "source=%s\n", c->sources[i].name);
	for (size_t i = 0; i < to->n_labels; i++)
		fprintf(out, "label=%s\n", to->labels[i]);
	fputc('\n', out);
	return s->kind == SP_RECEIVER_FLEET ? sp_self_put_secret(to->secret_file, MAX_PASSWORD, out)
					    : headers_put(to->secret_file, out);
}

static int child_start(struct sp_senders *all, struct sender *s)
{
	SP_CLOSE int input = -1;
	int r = sp_program_input_write("soprof-send", job_put, s, &input);

	if (r == 0)
		r = sp_self_start(&s->program, all->self, SP_SEND_ARGUMENT, input, TIMEOUT_MS);
	if (r == 0)
		sp_program_watch(&s->program, all->epoll);
	return r;
}

/* --- what it says --- */
static void counts_take(struct sender *s, char *line)
{
	struct sp_line words;

	s->later_s = 0;
	if (sp_line_parse(line, false, &words) == 0) {
		uint64_t n = 0;
		sp_line_number(&words, "later", &s->later_s);
		if (sp_line_number(&words, "to", &n) == 0)
			s->to_ns = SP_MAX(s->to_ns, n);
		for (size_t i = 0; i < SP_SENT_COUNTS; i++) {
			n = 0;
			if (sp_line_number(&words, sp_sent_words[s->kind][i], &n) == 0)
				s->counts[i] += n;
		}
	}
	sp_error_clear();
}

static void failed(struct sender *s, const char *why)
{
	snprintf(s->why, sizeof(s->why), "%s", why);
	if (sp_again_failed(&s->again, FIRST_PAUSE_MS, MAX_PAUSE_MS))
		sp_log(SP_LOG_WARNING, "%s at %s: %s; tried again", sp_receiver_words[s->kind], s->name, s->why);
	s->n_failed++;
	s->due_ns = SP_MAX(s->again.at_ns,
			   sp_time_ns(CLOCK_MONOTONIC) + SP_MIN(s->later_s, (uint64_t)MAX_LATER_S) * SP_NS_PER_S);
}

static void refused(struct sender *s, const char *why)
{
	if (!*s->why_refused)
		sp_log(SP_LOG_WARNING, "%s at %s: profiles are refused: %s", sp_receiver_words[s->kind], s->name, why);
	snprintf(s->why_refused, sizeof(s->why_refused), "%s", why);
}

/* Whether the process waits, or has waited, for an answer that takes long; told in the midst of it. */
static bool child_is_slow(struct sender *s)
{
	bool is_slow = !strncmp(s->program.text, SP_SEND_SLOW, strlen(SP_SEND_SLOW));

	if (!is_slow || s->is_counted)
		return is_slow;
	if (!s->is_slow)
		sp_log(SP_LOG_WARNING, "%s at %s: slow: no answer for %d s; waited for", sp_receiver_words[s->kind],
		       s->name, SP_CURL_SLOW_S);
	s->is_slow = s->is_counted = true;
	s->n_slow++;
	return true;
}

static void child_ended(struct sender *s, int status)
{
	bool is_slow = child_is_slow(s);
	char *text = s->program.text + (is_slow ? strlen(SP_SEND_SLOW) : 0);
	char *end = strchrnul(text, '\n'), *why = *end ? end + 1 : end;
	uint64_t before = s->counts[0], cpu_ns = s->program.cpu_ns;
	uint64_t pause_ns = cpu_ns * paces[s->kind].share;

	*end = '\0';
	s->cpu_ns += cpu_ns;
	counts_take(s, text);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		failed(s, s->program.is_late ? "sending took longer than 15 min" : *why ? why : "the process failed");
		return;
	}
	if (*why)
		refused(s, why);
	if (s->again.pause_ms || !s->has_sent)
		sp_log(SP_LOG_NOTICE, "%s at %s: taken", sp_receiver_words[s->kind], s->name);
	if (s->is_slow && !is_slow)
		sp_log(SP_LOG_NOTICE, "%s at %s: no longer slow", sp_receiver_words[s->kind], s->name);
	s->is_slow = is_slow;
	s->has_sent = true;
	s->again.pause_ms = 0;
	*s->why = '\0';
	if (s->counts[0] > before || *why)
		s->due_ns = SP_MAX(s->due_ns, s->began_ns + SP_MIN(pause_ns, paces[s->kind].most_s * SP_NS_PER_S));
}

/* --- in the loop --- */
static uint64_t period_s(const struct sender *s)
{
	return SP_MAX(s->to->resolution_s, (uint32_t)LEAST_S);
}

static void sender_run(struct sp_senders *all, struct sender *s)
{
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC);
	int status, r;

	if (sp_program_check(&s->program, &status))
		child_ended(s, status);
	else if (s->program.pid)
		child_is_slow(s);
	if (!*s->name || s->program.pid || now < s->due_ns)
		return;
	s->began_ns = now;
	s->is_counted = false;
	s->due_ns = SP_MAX(s->due_ns + period_s(s) * SP_NS_PER_S, now + SP_NS_PER_S);
	r = child_start(all, s);
	if (r < 0)
		failed(s, sp_error_text(r));
	sp_error_clear();
}

void sp_senders_dispatch(void *senders)
{
	struct sp_senders *all = senders;

	for (size_t i = 0; i < SP_N_RECEIVERS; i++)
		sender_run(all, &all->all[i]);
}

static int sender_timeout_ms(const struct sender *s)
{
	if (s->program.pid)
		return sp_program_timeout_ms(&s->program);
	return *s->name ? sp_ms_until(s->due_ns) : -1;
}

int sp_senders_timeout_ms(void *senders)
{
	const struct sp_senders *all = senders;
	int ms = -1;

	for (size_t i = 0; i < SP_N_RECEIVERS; i++)
		ms = sp_ms_sooner(ms, sender_timeout_ms(&all->all[i]));
	return ms;
}

int sp_senders_fd(const struct sp_senders *s)
{
	return s->epoll;
}

/* --- start and stop --- */
/*
 * Counts are of one address. A host's moment in the interval is drawn, so that not all hosts send at once. A process
 * that still sends to the address before is left to end.
 */
static void sender_configure(struct sender *s, enum sp_receiver kind, const struct sp_agent_config *c)
{
	char name[NAME] = "";
	uint32_t drawn = 0;

	s->kind = kind;
	s->config = c;
	s->to = &c->receivers[kind];
	if (s->to->url)
		sp_remote_name(s->to->url, name, sizeof(name));
	if (!strcmp(s->name, name))
		return;
	*s = (struct sender){.kind = kind, .config = c, .to = s->to, .program = s->program};
	memcpy(s->name, name, sizeof(name));
	if (getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK) < 0)
		drawn = 0;
	s->due_ns = sp_time_ns(CLOCK_MONOTONIC) + drawn % (period_s(s) * 1000) * NS_A_MS;
}

void sp_senders_configure(struct sp_senders *s, const struct sp_agent_config *c)
{
	for (int i = 0; i < SP_N_RECEIVERS; i++)
		sender_configure(&s->all[i], (enum sp_receiver)i, c);
}

int sp_senders_new(const struct sp_agent_config *c, struct sp_senders **ret_senders)
{
	struct sp_senders *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->self = sp_self_open();
	if (s->epoll < 0 || s->self < 0) {
		int r = s->self < 0 ? s->self : sp_fail(-errno, "make an epoll descriptor");

		sp_senders_free(s);
		return r;
	}
	sp_senders_configure(s, c);
	*ret_senders = s;
	return 0;
}

void sp_senders_free(struct sp_senders *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < SP_N_RECEIVERS; i++)
		sp_program_kill(&s->all[i].program);
	sp_cleanup_close(&s->epoll);
	sp_cleanup_close(&s->self);
	free(s);
}

/* --- what others are told --- */
struct family {
	bool of_fleet;
	enum sp_expo_type type;
	const char *name, *unit, *help;
	size_t offset;
};
static const struct family families[] = {
#define AT(member) offsetof(struct sender, member)
    {true, SP_EXPO_COUNTER, "soprof_fleet_windows", NULL, "Windows that the fleet's server took.", AT(counts[0])},
    {true, SP_EXPO_COUNTER, "soprof_fleet_samples", NULL, "Samples in them.", AT(counts[2])},
    {true, SP_EXPO_COUNTER, "soprof_fleet_left_out_windows", NULL,
     "Windows of the store that could not be read, and were not sent.", AT(counts[4])},
    {true, SP_EXPO_COUNTER, "soprof_fleet_failures", NULL, "Times that sending failed; it is tried again.",
     AT(n_failed)},
    {true, SP_EXPO_COUNTER, "soprof_fleet_slow_sends", NULL, "Times that an answer took longer than 10 s.", AT(n_slow)},
    {true, SP_EXPO_COUNTER, "soprof_fleet_sent_bytes", "bytes", "Sent to it, compressed.", AT(counts[3])},
    {true, SP_EXPO_COUNTER, "soprof_fleet_cpu_seconds", "seconds", "CPU time of the processes that send.", AT(cpu_ns)},
    {true, SP_EXPO_GAUGE, "soprof_fleet_sent_until_timestamp_seconds", "seconds",
     "The end of the last window that it has; 0: none since the start.", AT(to_ns)},
    {false, SP_EXPO_COUNTER, "soprof_push_profiles", NULL, "Profiles that the server took.", AT(counts[0])},
    {false, SP_EXPO_COUNTER, "soprof_push_samples", NULL, "Samples in them.", AT(counts[1])},
    {false, SP_EXPO_COUNTER, "soprof_push_sent_bytes", "bytes", "Sent to it, compressed.", AT(counts[2])},
    {false, SP_EXPO_COUNTER, "soprof_push_refused_samples", NULL, "Samples in profiles that the server refused.",
     AT(counts[3])},
    {false, SP_EXPO_COUNTER, "soprof_push_left_out_windows", NULL,
     "Windows of the store that could not be read, and were not sent.", AT(counts[4])},
    {false, SP_EXPO_COUNTER, "soprof_push_failures", NULL, "Times that sending failed; it is tried again.",
     AT(n_failed)},
    {false, SP_EXPO_COUNTER, "soprof_push_slow_sends", NULL, "Times that an answer took longer than 10 s.", AT(n_slow)},
    {false, SP_EXPO_GAUGE, "soprof_push_sent_until_timestamp_seconds", "seconds",
     "The end of the last interval that it has; 0: none since the start.", AT(to_ns)},
#undef AT
};

static void family_write(const struct sp_senders *all, const struct family *f, struct sp_expo *x)
{
	struct sp_labels l;
	bool is_begun = false;

	for (const struct sender *s = all->all; s < all->all + SP_N_RECEIVERS; s++) {
		uint64_t value = *(const uint64_t *)(const void *)((const char *)s + f->offset);
		const char *labels;
		if (!*s->name || f->of_fleet != (s->kind == SP_RECEIVER_FLEET))
			continue;
		if (!is_begun)
			sp_expo_family(x, f->type, f->name, f->unit, f->help);
		is_begun = true;
		labels = f->of_fleet ? sp_labels_of(x, &l, "target", s->name, NULL, NULL)
				     : sp_labels_of(x, &l, "protocol", sp_receiver_words[s->kind], "target", s->name);
		if (f->unit && !strcmp(f->unit, "seconds"))
			sp_expo_seconds(x, labels, value);
		else
			sp_expo_number(x, labels, value);
	}
}

void sp_senders_write(void *senders, struct sp_expo *x)
{
	for (size_t i = 0; i < SP_COUNT(families); i++)
		family_write(senders, &families[i], x);
}

static void word_put(const struct sender *s, const char *name, const char *value, FILE *out)
{
	char word[WORD];

	snprintf(word, sizeof(word), "%s%s", sp_receiver_words[s->kind], name);
	sp_line_put(out, word, value);
	fputc('\n', out);
}

void sp_senders_status(const struct sp_senders *all, FILE *out)
{
	for (const struct sender *s = all->all; s < all->all + SP_N_RECEIVERS; s++) {
		const char *word = sp_receiver_words[s->kind];
		if (!*s->name)
			continue;
		word_put(s, "", s->name, out);
		for (size_t i = 0; i < SP_SENT_COUNTS; i++)
			fprintf(out, "%s_%s=%" PRIu64 "\n", word, sp_sent_words[s->kind][i], s->counts[i]);
		fprintf(out, "%s_failed=%" PRIu64 "\n%s_to=%" PRIu64 "\n%s_cpu_ns=%" PRIu64 "\n", word, s->n_failed,
			word, s->to_ns, word, s->cpu_ns);
		fprintf(out, "%s_slow=%" PRIu64 "\n%s_slow_now=%d\n", word, s->n_slow, word, s->is_slow);
		word_put(s, "_refused_why", s->why_refused, out);
		word_put(s, "_error", s->why, out);
	}
}

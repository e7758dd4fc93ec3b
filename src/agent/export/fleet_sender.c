/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/export/fleet_sender.h"
#include "agent/exec/again.h"
#include "agent/exec/self.h"
#include "agent/export/exposition.h"
#include "agent/export/remote_write.h"
#include "agent/log.h"
#include "agent/request.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	NAME = 256,
	TIMEOUT_MS = 300000,
	FIRST_PAUSE_MS = 10000,
	MAX_PAUSE_MS = 300000,
	LEAST_S = 60, /* between two that send: each decodes the day's dictionary */
	MOST_S = 600, /* so long at most for the sake of SHARE; a reading is as long (fleet/send.c) */
	SHARE = 2000, /* of its time from one to the next, one that sends computes at most 1/SHARE */
	NS_A_MS = 1000000,
	MAX_PASSWORD = 4096
};

struct sp_fleet_sender {
	const struct sp_agent_config *config;
	char name[NAME]; /* of the server; "" = none */
	struct sp_program program;
	int epoll, self;
	uint64_t began_ns, due_ns; /* CLOCK_MONOTONIC */
	struct sp_again again;
	bool has_sent;
	char why[SP_PROGRAM_TEXT + 1];                                        /* the last failure; "" = it went well */
	uint64_t n_windows, n_rows, n_samples, n_bytes, n_left_out, n_failed; /* since the start */
	uint64_t cpu_ns;                                                      /* of all that sent */
	uint64_t to_ns;                                                       /* CLOCK_REALTIME */
};

/* --- what the process is told --- */
static int job_put(void *sender, FILE *out)
{
	const struct sp_fleet_sender *s = sender;
	const struct sp_agent_config *c = s->config;
	const struct sp_agent_fleet *fleet = &c->fleet;

	sp_line_put(out, "url", fleet->url);
	sp_line_put(out, "database", fleet->database);
	sp_line_put(out, "user", fleet->user);
	sp_line_put(out, "ca", fleet->ca_file);
	sp_line_put(out, "host", fleet->host);
	sp_line_put(out, "machine", fleet->machine);
	sp_line_put(out, "store", c->store);
	sp_line_put_number(out, "resolution", fleet->resolution_s);
	sp_line_put_number(out, "memory", c->query_memory_bytes);
	fputc('\n', out);
	for (size_t i = 0; i < c->n_sources; i++)
		fprintf(out, "source=%s\n", c->sources[i].name);
	for (size_t i = 0; i < fleet->n_labels; i++)
		fprintf(out, "label=%s\n", fleet->labels[i]);
	fputc('\n', out);
	return sp_self_put_secret(fleet->password_file, MAX_PASSWORD, out);
}

static int child_start(struct sp_fleet_sender *s)
{
	SP_CLOSE int input = -1;
	int r = sp_program_input_write("soprof-fleet", job_put, s, &input);

	if (r == 0)
		r = sp_self_start(&s->program, s->self, SP_FLEET_CHILD_ARGUMENT, input, TIMEOUT_MS);
	if (r == 0)
		sp_program_watch(&s->program, s->epoll);
	return r;
}

/* --- what it says --- */
static void counts_take(struct sp_fleet_sender *s, char *line)
{
	struct sp_line words;
	uint64_t n = 0;
	struct {
		const char *name;
		uint64_t *sum;
	} sums[] = {{"windows", &s->n_windows},
		    {"rows", &s->n_rows},
		    {"samples", &s->n_samples},
		    {"bytes", &s->n_bytes},
		    {"left_out", &s->n_left_out}};

	if (sp_line_parse(line, false, &words) < 0) {
		sp_error_clear();
		return;
	}
	for (size_t i = 0; i < SP_COUNT(sums); i++)
		if (sp_line_number(&words, sums[i].name, &n) == 0)
			*sums[i].sum += n;
	sp_line_number(&words, "to", &s->to_ns);
	sp_error_clear();
}

static void failed(struct sp_fleet_sender *s, const char *why)
{
	snprintf(s->why, sizeof(s->why), "%s", why);
	if (sp_again_failed(&s->again, FIRST_PAUSE_MS, MAX_PAUSE_MS))
		sp_log(SP_LOG_WARNING, "fleet at %s: %s; tried again", s->name, s->why);
	s->n_failed++;
	s->due_ns = s->again.at_ns;
}

static void child_ended(struct sp_fleet_sender *s, int status)
{
	char *end = strchrnul(s->program.text, '\n'), *why = *end ? end + 1 : end;
	bool went_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	uint64_t before = s->n_windows;

	*end = '\0';
	s->cpu_ns += s->program.cpu_ns;
	counts_take(s, s->program.text);
	if (!went_well) {
		failed(s, s->program.is_late ? "it took too long" : *why ? why : "the process failed");
		return;
	}
	if (s->again.pause_ms || !s->has_sent)
		sp_log(SP_LOG_NOTICE, "fleet at %s: taken", s->name);
	s->has_sent = true;
	s->again.pause_ms = 0;
	*s->why = '\0';
	if (s->n_windows > before)
		s->due_ns = SP_MAX(s->due_ns, s->began_ns + SP_MIN(s->program.cpu_ns * SHARE, MOST_S * SP_NS_PER_S));
}

/* --- in the loop --- */
static uint64_t period_s(const struct sp_agent_config *c)
{
	return SP_MAX(c->fleet.resolution_s, (uint32_t)LEAST_S);
}

void sp_fleet_sender_dispatch(void *sender)
{
	struct sp_fleet_sender *s = sender;
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC);
	int status, r;

	if (sp_program_check(&s->program, &status))
		child_ended(s, status);
	if (!*s->name || s->program.pid || now < s->due_ns)
		return;
	s->began_ns = now;
	s->due_ns = SP_MAX(s->due_ns + period_s(s->config) * SP_NS_PER_S, now + SP_NS_PER_S);
	r = child_start(s);
	if (r < 0)
		failed(s, sp_error_text(r));
	sp_error_clear();
}

int sp_fleet_sender_timeout_ms(void *sender)
{
	const struct sp_fleet_sender *s = sender;
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC);

	if (s->program.pid)
		return sp_program_timeout_ms(&s->program);
	if (!*s->name)
		return -1;
	return s->due_ns > now ? (int)((s->due_ns - now) / NS_A_MS + 1) : 0;
}

int sp_fleet_sender_fd(const struct sp_fleet_sender *s)
{
	return s->epoll;
}

/* A host's moment in the interval is drawn, so that not all hosts send at once. */
void sp_fleet_sender_configure(struct sp_fleet_sender *s, const struct sp_agent_config *c)
{
	char old[NAME];
	uint32_t drawn = 0;

	snprintf(old, sizeof(old), "%s", s->name);
	s->config = c;
	*s->name = '\0';
	if (c->fleet.url)
		sp_remote_name(c->fleet.url, s->name, sizeof(s->name));
	if (!*s->name || !strcmp(s->name, old))
		return;
	if (getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK) < 0)
		drawn = 0;
	s->due_ns = sp_time_ns(CLOCK_MONOTONIC) + drawn % (period_s(c) * 1000) * NS_A_MS;
	s->again.pause_ms = 0;
	s->has_sent = false;
}

int sp_fleet_sender_new(const struct sp_agent_config *c, struct sp_fleet_sender **ret_sender)
{
	struct sp_fleet_sender *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->self = sp_self_open();
	if (s->epoll < 0 || s->self < 0) {
		int r = s->self < 0 ? s->self : sp_fail(-errno, "make an epoll descriptor");

		sp_fleet_sender_free(s);
		return r;
	}
	sp_fleet_sender_configure(s, c);
	*ret_sender = s;
	return 0;
}

void sp_fleet_sender_free(struct sp_fleet_sender *s)
{
	if (!s)
		return;
	sp_program_kill(&s->program);
	sp_cleanup_close(&s->epoll);
	sp_cleanup_close(&s->self);
	free(s);
}

/* --- what others are told --- */
void sp_fleet_sender_write(void *sender, struct sp_expo *x)
{
	const struct sp_fleet_sender *s = sender;
	struct sp_labels l;
	const struct {
		const char *name, *help;
		uint64_t n;
	} counters[] = {
	    {"soprof_fleet_windows", "Windows that the fleet's server took.", s->n_windows},
	    {"soprof_fleet_samples", "Samples in them.", s->n_samples},
	    {"soprof_fleet_left_out_windows", "Windows of the store that could not be read, and were not sent.",
	     s->n_left_out},
	    {"soprof_fleet_failures", "Times that sending failed; it is tried again.", s->n_failed},
	};

	if (!*s->name)
		return;
	for (size_t i = 0; i < SP_COUNT(counters); i++) {
		sp_expo_family(x, SP_EXPO_COUNTER, counters[i].name, NULL, counters[i].help);
		sp_expo_number(x, sp_labels_of(x, &l, "target", s->name, NULL, NULL), counters[i].n);
	}
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_fleet_sent_bytes", "bytes", "Sent to it, compressed.");
	sp_expo_number(x, sp_labels_of(x, &l, "target", s->name, NULL, NULL), s->n_bytes);
	sp_expo_family(x, SP_EXPO_COUNTER, "soprof_fleet_cpu_seconds", "seconds",
		       "CPU time of the processes that send.");
	sp_expo_seconds(x, sp_labels_of(x, &l, "target", s->name, NULL, NULL), s->cpu_ns);
	sp_expo_family(x, SP_EXPO_GAUGE, "soprof_fleet_sent_until_timestamp_seconds", "seconds",
		       "The end of the last window that it has; 0: none since the start.");
	sp_expo_seconds(x, sp_labels_of(x, &l, "target", s->name, NULL, NULL), s->to_ns);
}

void sp_fleet_sender_status(const struct sp_fleet_sender *s, FILE *out)
{
	if (!*s->name)
		return;
	sp_line_put(out, "fleet", s->name);
	fputc('\n', out);
	fprintf(out, "fleet_windows=%" PRIu64 "\nfleet_rows=%" PRIu64 "\nfleet_bytes=%" PRIu64 "\n", s->n_windows,
		s->n_rows, s->n_bytes);
	fprintf(out, "fleet_left_out=%" PRIu64 "\nfleet_failed=%" PRIu64 "\nfleet_to=%" PRIu64 "\n", s->n_left_out,
		s->n_failed, s->to_ns);
	fprintf(out, "fleet_cpu_ns=%" PRIu64 "\n", s->cpu_ns);
	sp_line_put(out, "fleet_error", s->why);
	fputc('\n', out);
}

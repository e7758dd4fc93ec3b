/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/export/fleet_sender.h"
#include "agent/exec/post.h"
#include "agent/export/exposition.h"
#include "agent/export/remote_write.h"
#include "agent/log.h"
#include "agent/request.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
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
	NS_A_MS = 1000000,
	MAX_PASSWORD = 4096
};

struct sp_fleet_sender {
	const struct sp_agent_config *config;
	char name[NAME]; /* of the server; "" = none */
	struct sp_program program;
	int epoll, self;
	uint64_t due_ns;   /* CLOCK_MONOTONIC */
	unsigned pause_ms; /* 0: the last went well */
	bool has_sent;
	char why[SP_PROGRAM_TEXT + 1];                                        /* the last failure; "" = it went well */
	uint64_t n_windows, n_rows, n_samples, n_bytes, n_left_out, n_failed; /* since the start */
	uint64_t to_ns, success_ns;                                           /* CLOCK_REALTIME */
};

/* --- what the process is told --- */
/* The agent may have it opened by others (sp_text_open_by()); what is wrong with it the process would say no better. */
static int password_put(const struct sp_agent_fleet *fleet, FILE *out)
{
	SP_FREE char *text = NULL;
	size_t n;
	int r;

	if (!fleet->password_file) {
		fputc('\n', out);
		return 0;
	}
	r = sp_text_read_config(fleet->password_file, MAX_PASSWORD, &text, NULL);
	if (r < 0)
		return r;
	n = strcspn(text, "\r\n");
	fwrite(text, 1, n, out);
	fputc('\n', out);
	explicit_bzero(text, n);
	return 0;
}

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
	return password_put(fleet, out);
}

static int child_start(struct sp_fleet_sender *s)
{
	char path[64], *argv[] = {"soprof", SP_FLEET_CHILD_ARGUMENT, NULL};
	struct sp_program_spec spec = {.path = path, .argv = argv, .env = environ, .timeout_ms = TIMEOUT_MS};
	SP_CLOSE int input = -1;
	int r = sp_program_input_write("soprof-fleet", job_put, s, &input);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->self);
	spec.input = input;
	r = sp_program_start(&s->program, &spec);
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
	if (!s->pause_ms)
		sp_log(SP_LOG_WARNING, "fleet at %s: %s; tried again", s->name, s->why);
	s->n_failed++;
	s->pause_ms = s->pause_ms ? SP_MIN(2 * s->pause_ms, (unsigned)MAX_PAUSE_MS) : FIRST_PAUSE_MS;
	s->due_ns = sp_time_ns(CLOCK_MONOTONIC) + s->pause_ms * (uint64_t)NS_A_MS;
}

static void child_ended(struct sp_fleet_sender *s, int status)
{
	char *end = strchrnul(s->program.text, '\n'), *why = *end ? end + 1 : end;
	bool went_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;

	*end = '\0';
	counts_take(s, s->program.text);
	if (!went_well) {
		failed(s, s->program.is_late ? "it took too long" : *why ? why : "the process failed");
		return;
	}
	if (s->pause_ms || !s->has_sent)
		sp_log(SP_LOG_NOTICE, "fleet at %s: taken", s->name);
	s->has_sent = true;
	s->pause_ms = 0;
	*s->why = '\0';
	s->success_ns = sp_time_ns(CLOCK_REALTIME);
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
	s->pause_ms = 0;
	s->has_sent = false;
}

int sp_fleet_sender_new(const struct sp_agent_config *c, struct sp_fleet_sender **ret_sender)
{
	struct sp_fleet_sender *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->self = sp_post_open_self();
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
	sp_line_put(out, "fleet_error", s->why);
	fputc('\n', out);
}

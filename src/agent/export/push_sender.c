/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/export/push_sender.h"
#include "agent/exec/again.h"
#include "agent/exec/self.h"
#include "agent/export/exposition.h"
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
	TIMEOUT_MS = 300000,
	FIRST_PAUSE_MS = 10000,
	MAX_PAUSE_MS = 300000,
	LEAST_S = 60, /* between two that send: each decodes the day's dictionary */
	MOST_S = 300, /* so long at most for the sake of SHARE */
	SHARE = 500,  /* of its time from one to the next, one that sends computes at most 1/SHARE */
	NS_A_MS = 1000000,
	MAX_HEADERS = 16384,
	WORD = 64
};

struct target {
	enum sp_push_kind kind;
	const struct sp_agent_config *config;
	const char *url; /* NULL = none */
	char *name;      /* of what the counts are: the URL as it was configured; NULL = none yet */
	struct sp_program program;
	uint64_t began_ns, due_ns; /* CLOCK_MONOTONIC */
	struct sp_again again;
	bool has_sent;
	char why[SP_PROGRAM_TEXT + 1], why_refused[SP_PROGRAM_TEXT + 1];          /* the last; "" = none */
	uint64_t n_profiles, n_samples, n_bytes, n_refused, n_left_out, n_failed; /* since the start */
	uint64_t to_ns;                                                           /* CLOCK_REALTIME */
};
struct sp_pushes {
	struct target targets[SP_N_PUSHES];
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

static int job_put(void *target, FILE *out)
{
	const struct target *t = target;
	const struct sp_agent_config *c = t->config;
	const struct sp_agent_push *push = &c->pushes[t->kind];

	sp_line_put(out, "kind", sp_push_words[t->kind]);
	sp_line_put(out, "url", push->url);
	sp_line_put(out, "ca", push->ca_file);
	sp_line_put(out, "host", push->host);
	sp_line_put(out, "store", c->store);
	sp_line_put_number(out, "resolution", push->resolution_s);
	sp_line_put_number(out, "memory", c->query_memory_bytes);
	fputc('\n', out);
	for (size_t i = 0; i < c->n_sources; i++)
		fprintf(out, "source=%s\n", c->sources[i].name);
	for (size_t i = 0; i < push->n_labels; i++)
		fprintf(out, "label=%s\n", push->labels[i]);
	fputc('\n', out);
	return headers_put(push->headers_file, out);
}

static int child_start(struct sp_pushes *p, struct target *t)
{
	SP_CLOSE int input = -1;
	int r = sp_program_input_write("soprof-push", job_put, t, &input);

	if (r == 0)
		r = sp_self_start(&t->program, p->self, SP_PUSH_CHILD_ARGUMENT, input, TIMEOUT_MS);
	if (r == 0)
		sp_program_watch(&t->program, p->epoll);
	return r;
}

/* --- what it says --- */
static void counts_take(struct target *t, char *line)
{
	struct sp_line words;
	uint64_t n = 0;
	struct {
		const char *name;
		uint64_t *sum;
	} sums[] = {{"profiles", &t->n_profiles},
		    {"samples", &t->n_samples},
		    {"bytes", &t->n_bytes},
		    {"refused", &t->n_refused},
		    {"left_out", &t->n_left_out}};

	if (sp_line_parse(line, false, &words) == 0) {
		for (size_t i = 0; i < SP_COUNT(sums); i++)
			if (sp_line_number(&words, sums[i].name, &n) == 0)
				*sums[i].sum += n;
		n = 0;
		if (sp_line_number(&words, "to", &n) == 0)
			t->to_ns = SP_MAX(t->to_ns, n);
	}
	sp_error_clear();
}

static void failed(struct target *t, const char *why)
{
	snprintf(t->why, sizeof(t->why), "%s", why);
	if (sp_again_failed(&t->again, FIRST_PAUSE_MS, MAX_PAUSE_MS))
		sp_log(SP_LOG_WARNING, "%s at %s: %s; tried again", sp_push_words[t->kind], t->name, t->why);
	t->n_failed++;
	t->due_ns = t->again.at_ns;
}

static void refused(struct target *t, const char *why)
{
	if (!*t->why_refused)
		sp_log(SP_LOG_WARNING, "%s at %s: profiles are refused: %s", sp_push_words[t->kind], t->name, why);
	snprintf(t->why_refused, sizeof(t->why_refused), "%s", why);
}

static void child_ended(struct target *t, int status)
{
	char *end = strchrnul(t->program.text, '\n'), *why = *end ? end + 1 : end;
	uint64_t n_refused = t->n_refused;

	*end = '\0';
	counts_take(t, t->program.text);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		failed(t, t->program.is_late ? "it took too long" : *why ? why : "the process failed");
		return;
	}
	if (t->n_refused > n_refused)
		refused(t, why);
	if (t->again.pause_ms || !t->has_sent)
		sp_log(SP_LOG_NOTICE, "%s at %s: taken", sp_push_words[t->kind], t->name);
	t->has_sent = true;
	t->again.pause_ms = 0;
	*t->why = '\0';
	t->due_ns = SP_MAX(t->due_ns, t->began_ns + SP_MIN(t->program.cpu_ns * SHARE, MOST_S * SP_NS_PER_S));
}

/* --- in the loop --- */
static uint64_t period_s(const struct target *t)
{
	return SP_MAX(t->config->pushes[t->kind].resolution_s, (uint32_t)LEAST_S);
}

static void target_run(struct sp_pushes *p, struct target *t)
{
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC);
	int status, r;

	if (sp_program_check(&t->program, &status))
		child_ended(t, status);
	if (!t->url || t->program.pid || now < t->due_ns)
		return;
	t->began_ns = now;
	t->due_ns = SP_MAX(t->due_ns + period_s(t) * SP_NS_PER_S, now + SP_NS_PER_S);
	r = child_start(p, t);
	if (r < 0)
		failed(t, sp_error_text(r));
	sp_error_clear();
}

void sp_pushes_dispatch(void *pushes)
{
	struct sp_pushes *p = pushes;

	for (size_t i = 0; i < SP_N_PUSHES; i++)
		target_run(p, &p->targets[i]);
}

static int target_timeout_ms(const struct target *t)
{
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC);

	if (t->program.pid)
		return sp_program_timeout_ms(&t->program);
	if (!t->url)
		return -1;
	return t->due_ns > now ? (int)((t->due_ns - now) / NS_A_MS + 1) : 0;
}

int sp_pushes_timeout_ms(void *pushes)
{
	const struct sp_pushes *p = pushes;
	int ms = -1;

	for (size_t i = 0; i < SP_N_PUSHES; i++) {
		int next = target_timeout_ms(&p->targets[i]);
		ms = ms < 0 || (next >= 0 && next < ms) ? next : ms;
	}
	return ms;
}

int sp_pushes_fd(const struct sp_pushes *p)
{
	return p->epoll;
}

/* --- start and stop --- */
/* The first moment is drawn, so that not all hosts send at once. Counts are of one address. */
static void target_begin(struct target *t)
{
	uint32_t drawn = 0;

	free(t->name);
	*t = (struct target){
	    .kind = t->kind, .config = t->config, .url = t->url, .program = t->program, .name = strdup(t->url)};
	if (!t->name)
		t->url = NULL;
	if (getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK) < 0)
		drawn = 0;
	t->due_ns =
	    sp_time_ns(CLOCK_MONOTONIC) + drawn % (t->config->pushes[t->kind].resolution_s * 1000) * (uint64_t)NS_A_MS;
}

void sp_pushes_configure(struct sp_pushes *p, const struct sp_agent_config *c)
{
	for (size_t i = 0; i < SP_N_PUSHES; i++) {
		struct target *t = &p->targets[i];
		t->kind = (enum sp_push_kind)i;
		t->config = c;
		t->url = c->pushes[i].url;
		if (t->url && (!t->name || strcmp(t->url, t->name) != 0))
			target_begin(t);
	}
}

int sp_pushes_new(const struct sp_agent_config *c, struct sp_pushes **ret_pushes)
{
	struct sp_pushes *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	p->self = sp_self_open();
	if (p->epoll < 0 || p->self < 0) {
		int r = p->self < 0 ? p->self : sp_fail(-errno, "make an epoll descriptor");

		sp_pushes_free(p);
		return r;
	}
	sp_pushes_configure(p, c);
	*ret_pushes = p;
	return 0;
}

void sp_pushes_free(struct sp_pushes *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < SP_N_PUSHES; i++) {
		sp_program_kill(&p->targets[i].program);
		free(p->targets[i].name);
	}
	sp_cleanup_close(&p->epoll);
	sp_cleanup_close(&p->self);
	free(p);
}

/* --- what others are told --- */
void sp_pushes_write(void *pushes, struct sp_expo *x)
{
	const struct sp_pushes *p = pushes;
	struct sp_labels l;
	static const struct {
		enum sp_expo_type type;
		const char *name, *unit, *help;
		size_t offset;
	} families[] = {
#define AT(member) offsetof(struct target, member)
	    {SP_EXPO_COUNTER, "soprof_push_profiles", NULL, "Profiles that the server took.", AT(n_profiles)},
	    {SP_EXPO_COUNTER, "soprof_push_samples", NULL, "Samples in them.", AT(n_samples)},
	    {SP_EXPO_COUNTER, "soprof_push_sent_bytes", "bytes", "Sent to it, compressed.", AT(n_bytes)},
	    {SP_EXPO_COUNTER, "soprof_push_refused_samples", NULL, "Samples in profiles that the server refused.",
	     AT(n_refused)},
	    {SP_EXPO_COUNTER, "soprof_push_left_out_windows", NULL,
	     "Windows of the store that could not be read, and were not sent.", AT(n_left_out)},
	    {SP_EXPO_COUNTER, "soprof_push_failures", NULL, "Times that sending failed; it is tried again.",
	     AT(n_failed)},
	    {SP_EXPO_GAUGE, "soprof_push_sent_until_timestamp_seconds", "seconds",
	     "The end of the last interval that it has; 0: none since the start.", AT(to_ns)},
#undef AT
	};

	if (!p->targets[SP_PUSH_PYROSCOPE].url && !p->targets[SP_PUSH_OTLP].url)
		return;
	for (size_t i = 0; i < SP_COUNT(families); i++) {
		sp_expo_family(x, families[i].type, families[i].name, families[i].unit, families[i].help);
		for (size_t k = 0; k < SP_N_PUSHES; k++) {
			const struct target *t = &p->targets[k];
			uint64_t value = *(const uint64_t *)(const void *)((const char *)t + families[i].offset);
			const char *labels;
			if (!t->url)
				continue;
			labels = sp_labels_of(x, &l, "protocol", sp_push_words[k], "target", t->name);
			if (families[i].type == SP_EXPO_GAUGE)
				sp_expo_seconds(x, labels, value);
			else
				sp_expo_number(x, labels, value);
		}
	}
}

static void word_put(const struct target *t, const char *name, const char *value, FILE *out)
{
	char word[WORD];

	snprintf(word, sizeof(word), "%s%s", sp_push_words[t->kind], name);
	sp_line_put(out, word, value);
	fputc('\n', out);
}

void sp_pushes_status(const struct sp_pushes *p, FILE *out)
{
	for (size_t i = 0; i < SP_N_PUSHES; i++) {
		const struct target *t = &p->targets[i];
		const char *word = sp_push_words[i];
		if (!t->url)
			continue;
		word_put(t, "", t->name, out);
		fprintf(out, "%s_profiles=%" PRIu64 "\n%s_samples=%" PRIu64 "\n%s_bytes=%" PRIu64 "\n", word,
			t->n_profiles, word, t->n_samples, word, t->n_bytes);
		fprintf(out, "%s_refused=%" PRIu64 "\n%s_left_out=%" PRIu64 "\n%s_failed=%" PRIu64 "\n", word,
			t->n_refused, word, t->n_left_out, word, t->n_failed);
		fprintf(out, "%s_to=%" PRIu64 "\n", word, t->to_ns);
		word_put(t, "_refused_why", t->why_refused, out);
		word_put(t, "_error", t->why, out);
	}
}

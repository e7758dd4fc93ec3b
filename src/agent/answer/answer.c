/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/answer/answer.h"
#include "agent/answer/answer_web.h"
#include "agent/answer/api.h"
#include "agent/answer/api_fleet.h"
#include "agent/answer/long_totals.h"
#include "agent/socket/server_priv.h"
#include "agent/upgrade/upgrade.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/filter.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sqlite.h"
#include "base/time.h"
#include "http/gate.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "profile/values.h"
#include "read/read.h"
#include "store/filter.h"
#include "view/view.h"
#include <crypt.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

enum { HEAP_BYTES = 64 << 20 };

struct answer {
	FILE *in; /* unbuffered, because what follows the lines is read by descriptor */
	char words[SP_LINE_MAX + 2], line[SP_LINE_MAX + 2], current[SP_LINE_MAX + 2];
	struct sp_request q;
	struct sp_web_request web; /* the same, of the API */
	struct sp_line asked;      /* what is asked: a store, or a fleet, */
	const char *store;         /* where this is NULL */
	struct sp_api_fleet fleet;
	bool own_only;
	uint32_t uid;
	uint64_t timeout_ns, memory_bytes;
	/* The current window, as the agent gave it; NULL: there is none, or it was not read yet. */
	struct sp_profile *window;
	bool has_read_current;
	uint64_t wall_ns, duration_ns, n_lost;
};

/* --- limits --- */
static volatile sig_atomic_t is_sending; /* the answer, so that no error may be written any more */

static const char late[] = "error errno=110 text=the%20answer%20takes%20longer%20than%20the%20agent's%20"
			   "query-timeout\n",
		  fleet_late[] = "error errno=110 text=the%20answer%20takes%20longer%20than%20query-timeout:%20a%20"
				 "shorter%20time,%20or%20fewer%20hosts,%20would%20make%20it%20smaller\n";
static const char *late_text = late;

/* For the deadline and the limit of CPU time. */
static void handle_timeout(int signal)
{
	(void)signal;
	if (!is_sending && write(STDOUT_FILENO, late_text, strlen(late_text)) < 0)
		_exit(3);
	_exit(2);
}

static uint64_t address_space(void)
{
	unsigned long pages = 0;
	FILE *f SP_FCLOSE = fopen("/proc/self/statm", "re");

	return f && fscanf(f, "%lu", &pages) == 1 ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static int set_limit(int resource, uint64_t max)
{
	struct rlimit l = {.rlim_max = RLIM_INFINITY};

	getrlimit(resource, &l); /* never above those of the service */
	l.rlim_max = SP_MIN(l.rlim_max, max + 1);
	l.rlim_cur = SP_MIN(l.rlim_max, max);
	return setrlimit(resource, &l) < 0 ? sp_fail(-errno, "limit this process") : 0;
}

static int set_limits(const struct answer *a)
{
	struct itimerval timer = {.it_value = {.tv_sec = (time_t)(a->timeout_ns / SP_NS_PER_S),
					       .tv_usec = (suseconds_t)(a->timeout_ns % SP_NS_PER_S / 1000)}};
	int r = 0;

	signal(SIGALRM, handle_timeout);
	signal(SIGXCPU, handle_timeout);
	signal(SIGPIPE, SIG_DFL);
	if (setitimer(ITIMER_REAL, &timer, NULL))
		return sp_fail(-errno, "set a timer");
	r = set_limit(RLIMIT_CPU, a->timeout_ns / SP_NS_PER_S + 1);
#if !defined(__SANITIZE_ADDRESS__) /* its shadow memory is larger than any limit */
	if (r == 0)
		r = set_limit(RLIMIT_AS, address_space() + a->memory_bytes);
#else
	(void)address_space;
#endif
	sp_process_expendable();
	sp_heap_make_large(SP_MIN(a->memory_bytes / 4, (uint64_t)HEAP_BYTES));
	return r == 0 ? set_limit(RLIMIT_CORE, 0) : r;
}

/* --- the request --- */
static int read_line(struct answer *a, char *ret_line, size_t size)
{
	size_t n;

	if (!fgets(ret_line, (int)size, a->in))
		return -ENODATA;
	n = strcspn(ret_line, "\n");
	if (!ret_line[n])
		return -EBADMSG;
	ret_line[n] = '\0';
	return 0;
}

static int read_input(struct answer *a)
{
	uint64_t uid = 0;
	int r;

	a->in = fdopen(STDIN_FILENO, "r");
	if (!a->in || setvbuf(a->in, NULL, _IONBF, 0))
		return -EBADF;
	r = read_line(a, a->words, sizeof(a->words));
	if (r == 0)
		r = sp_line_parse(a->words, false, &a->asked);
	if (r == 0)
		r = read_line(a, a->line, sizeof(a->line));
	if (r == 0)
		r = sp_request_parse(a->line, &a->q);
	if (r < 0)
		return r;
	a->store = sp_line_word(&a->asked, "store");
	a->own_only = sp_line_word(&a->asked, "uid") != NULL;
	sp_line_number(&a->asked, "uid", &uid);
	a->uid = (uint32_t)uid;
	sp_line_number(&a->asked, "timeout", &a->timeout_ns);
	sp_line_number(&a->asked, "memory", &a->memory_bytes);
	late_text = a->store ? late : fleet_late;
	return a->store || sp_api_fleet_is_meant(&a->asked) ? 0 : -EBADMSG;
}

/* --- the answer --- */
static void put_head(const struct answer *a, FILE *out)
{
	fprintf(out, "ok users=%s", a->own_only ? "own" : "all");
}

static int send_all(const char *text, size_t n)
{
	is_sending = 1;
	return sp_write_all(STDOUT_FILENO, text, n);
}

static int send_error(int r)
{
	char text[2048];
	FILE *out = fmemopen(text, sizeof(text), "w");

	if (!out)
		return 1;
	fputs("error", out);
	sp_line_put_number(out, "errno", (uint64_t)-r);
	sp_line_put(out, "text", sp_error_text(r));
	fputc('\n', out);
	long n = ftell(out);
	fclose(out);
	return n > 0 && send_all(text, (size_t)n) == 0 && r != -EIO && r != -ENOMEM ? 0 : 1;
}

/* --- query --- */
static int read_current(struct answer *a)
{
	struct sp_read_options o = {.format = "pprof"};
	struct sp_read_result result = {0};
	struct sp_line words;
	int r = a->has_read_current ? -ENODATA : read_line(a, a->current, sizeof(a->current));

	a->has_read_current = true;
	if (r == -ENODATA)
		return 0;
	if (r == 0)
		r = sp_line_parse(a->current, false, &words);
	if (r < 0)
		return r;
	sp_line_number(&words, "wall", &a->wall_ns);
	sp_line_number(&words, "duration", &a->duration_ns);
	sp_line_number(&words, "lost", &a->n_lost);
	return sp_read_fd(STDIN_FILENO, "the window that is not stored yet", &o, &a->window, &result);
}

/*
 * The store may have the window by now: then its answer ends behind the window's begin. A copy is filtered, because
 * several queries may ask for the window.
 */
static int add_current(void *arg, const struct sp_store_query *q, struct sp_profile *into,
		       struct sp_store_answer *answer)
{
	struct answer *a = arg;
	struct sp_profile *p = NULL;
	int r = read_current(a);

	if (r < 0 || !a->window || answer->to_ns > a->wall_ns || a->wall_ns >= sp_store_end(q, q->to_ns) ||
	    a->wall_ns < sp_store_end(q, q->from_ns))
		return r;
	r = sp_profile_new(&p);
	if (r >= 0)
		r = sp_profile_merge(p, a->window);
	if (r >= 0)
		r = sp_store_filter(q, &p);
	if (r >= 0)
		r = sp_profile_merge(into, p);
	sp_profile_free(p);
	if (r < 0)
		return r;
	answer->from_ns = answer->from_ns ? answer->from_ns : a->wall_ns;
	answer->to_ns = a->wall_ns + a->duration_ns;
	answer->covered_ns += a->duration_ns;
	answer->n_windows++;
	answer->n_lost += a->n_lost;
	return 0;
}

static int write_profile(const struct answer *a, const struct sp_profile *p, const struct sp_store_answer *answer)
{
	const struct sp_view *view = sp_view_by_name("pprof");
	struct sp_view_options o = {.value = sp_profile_default_value(p)};
	char *text SP_FREE = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	int r;

	if (!out || !view)
		return -ENOMEM;
	put_head(a, out);
	sp_answer_write(answer, out);
	fputc('\n', out);
	r = view->write(p, &o, out);
	if (fclose(out) && r == 0)
		r = -ENOMEM;
	return r == 0 ? send_all(text, n) : r;
}

static int answer_query(struct answer *a, struct sp_store *store)
{
	struct sp_store_answer answer = {0};
	struct sp_profile *p = NULL;
	int r = sp_profile_new(&p);

	if (a->own_only && !a->q.query.all_users && a->q.query.uid != a->uid)
		r = sp_fail_said(-EACCES, "the processes of user %u are for root, and for members of the agent's group",
				 a->q.query.uid);
	if (a->own_only) {
		a->q.query.all_users = false;
		a->q.query.uid = a->uid;
	}
	if (r >= 0)
		r = sp_store_query(store, &a->q.query, p, &answer);
	if (r >= 0)
		r = add_current(a, &a->q.query, p, &answer);
	if (r >= 0)
		r = write_profile(a, p, &answer);
	sp_profile_free(p);
	return r;
}

/* --- events and totals --- */
struct lines {
	const struct answer *a;
	FILE *out;
};

static int put_event(void *arg, const struct sp_store_event *e)
{
	struct lines *l = arg;

	if (l->a->own_only && !sp_api_event_is_for_all(e->kind))
		return 0;
	sp_line_put_number(l->out, "from", e->from_ns);
	sp_line_put_number(l->out, "to", e->to_ns);
	sp_line_put(l->out, "kind", e->kind);
	sp_line_put(l->out, "subject", e->subject);
	sp_line_put(l->out, "text", e->text);
	sp_line_put(l->out, "data", e->data);
	fputc('\n', l->out);
	return ferror(l->out) ? -ENOMEM : 0;
}

enum { MAX_NAME = 1000 }; /* of a function: the encoded name must fit in a line */

static void put_values(FILE *out, const char *name, const int64_t *values, uint32_t n)
{
	fprintf(out, " %s=", name);
	for (uint32_t i = 0; i < n; i++)
		fprintf(out, "%s%" PRId64, i ? "," : "", values[i]);
}

static void put_types(FILE *out, const struct sp_store_total *t)
{
	char types[512] = "";
	size_t n = 0;

	for (uint32_t i = 0; i < t->n_values && n < sizeof(types); i++)
		n += (size_t)snprintf(types + n, sizeof(types) - n, "%s%s,%s", i ? "," : "", t->value_names[i],
				      t->value_units[i]);
	sp_line_put(out, "types", types);
}

static int put_total(void *arg, const struct sp_store_total *t)
{
	char function[MAX_NAME + 1], id[2 * 64 + 1];
	struct lines *l = arg;

	snprintf(function, sizeof(function), "%s", t->function);
	sp_hex(t->build_id, SP_MIN(t->build_id_len, 64U), id);
	sp_line_put_number(l->out, "wall", t->wall_ns);
	sp_line_put(l->out, "file", t->file);
	sp_line_put(l->out, "function", function);
	sp_line_put(l->out, "id", id);
	put_values(l->out, "self", t->self, t->n_values);
	put_values(l->out, "total", t->total, t->n_values);
	put_types(l->out, t);
	fputc('\n', l->out);
	return ferror(l->out) ? -ENOMEM : 0;
}

static int put_upgrades(const struct answer *a, struct sp_store *store, struct lines *l)
{
	struct sp_upgrade_comparison q = {.from_ns = a->q.query.from_ns,
					  .to_ns = a->q.query.to_ns,
					  .span_ns = a->q.span_ns,
					  .source = a->q.query.source};

	return sp_upgrade_compare(store, &q, put_event, l);
}

static int put_lines(struct answer *a, struct sp_store *store)
{
	const struct sp_store_query *q = &a->q.query;
	char *text SP_FREE = NULL;
	size_t n = 0;
	struct lines l = {.a = a, .out = open_memstream(&text, &n)};
	int r;

	if (!l.out)
		return -ENOMEM;
	put_head(a, l.out);
	fputc('\n', l.out);
	if (a->q.what == SP_ASK_EVENTS)
		r = sp_store_events(store, q->from_ns, q->to_ns, put_event, &l);
	else if (a->q.what == SP_ASK_UPGRADES && !a->own_only) /* the server refuses others */
		r = put_upgrades(a, store, &l);
	else
		r = -EACCES; /* the server has refused it with a better message */
	if (fclose(l.out) && r == 0)
		r = -ENOMEM;
	return r >= 0 ? send_all(text, n) : r;
}

/* The current window as lines of totals. */
static int add_current_totals(struct answer *a, struct lines *l, struct sp_store_answer *answer)
{
	struct sp_profile *p = NULL;
	int r = sp_profile_new(&p);

	if (r >= 0)
		r = add_current(a, &a->q.query, p, answer);
	if (r >= 0)
		r = sp_totals_of_profile(p, a->q.by_function, put_total, l);
	sp_profile_free(p);
	return r;
}

/* The head has the sums, so it is written last and sent first. */
static int send_totals(struct answer *a, struct sp_store *store, FILE *lines, char *const *text, const size_t *n)
{
	struct lines l = {.a = a, .out = lines};
	struct sp_store_answer answer = {0};
	char head[SP_LINE_MAX];
	FILE *out = fmemopen(head, sizeof(head), "w");
	int r = out ? sp_store_totals(store, &a->q.query, a->q.by_function, put_total, &l, &answer) : -ENOMEM;

	if (r >= 0)
		r = add_current_totals(a, &l, &answer);
	if (out) {
		put_head(a, out);
		sp_answer_write(&answer, out);
		fputc('\n', out);
	}
	long len = out ? ftell(out) : 0;
	if (out && fclose(out) && r >= 0)
		r = -ENOMEM;
	if (fflush(lines) && r >= 0)
		r = -ENOMEM;
	if (r >= 0)
		r = send_all(head, (size_t)len);
	return r >= 0 ? send_all(*text, *n) : r;
}

static int answer_totals(struct answer *a, struct sp_store *store)
{
	char *text SP_FREE = NULL;
	size_t n = 0;
	FILE *lines = open_memstream(&text, &n);
	int r = a->own_only ? -EACCES : lines ? send_totals(a, store, lines, &text, &n) : -ENOMEM;

	if (lines)
		fclose(lines);
	return r;
}

/* --- API --- */
/* Before it foreign bytes are only told apart. */
static int open_store(const struct answer *a, bool asks_for_names, struct sp_store **ret_store)
{
	const struct sp_store_options o = {.read_only = true};
	int r = sp_sqlite_load();

	r = r < 0 ? r : sp_filter_enter(asks_for_names ? SP_FILTER_ANSWER_NAMES : SP_FILTER_ANSWER);
	return r < 0 ? r : sp_store_open(a->store, &o, ret_store);
}

static int api_ready(void *arg, bool asks_for_names)
{
	struct answer *a = arg;
	int r;

	if (!a->store)
		return sp_api_fleet_open(&a->asked, a->timeout_ns, &a->fleet);
	r = open_store(a, asks_for_names, &a->web.api.store);
	return r < 0 ? sp_fail(-EIO, "answer") : 0; /* ours, not the client's */
}

static int answer_api(struct answer *a)
{
	char *text SP_FREE = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	int r;

	if (!out)
		return -ENOMEM;
	a->web = (struct sp_web_request){
	    .api = {.fleet = a->store ? NULL : &a->fleet,
		    .now_ns = sp_time_ns(CLOCK_REALTIME),
		    .own_only = a->own_only,
		    .uid = a->uid,
		    .current = add_current,
		    .ready = api_ready,
		    .arg = a},
	    .path = a->q.path,
	    .params = a->q.params,
	    .coding = a->q.coding,
	};
	put_head(a, out);
	r = sp_web_answer(&a->web, out);
	sp_store_close(a->web.api.store);
	sp_api_fleet_close(&a->fleet);
	if (fclose(out) && r == 0)
		r = -ENOMEM;
	return r == 0 ? send_all(text, n) : r;
}

/* --- passwords --- */
/* libcrypt is loaded only here, because few processes need it. */
static int verify_password(const struct answer *a)
{
	static struct crypt_data data;
	void *library = dlopen("libcrypt.so.1", RTLD_NOW);
	__typeof__(crypt_r) *hash_password = library ? (__typeof__(crypt_r) *)dlsym(library, "crypt_r") : NULL;
	char text[64];
	const char *hash;
	int n;

	if (!hash_password)
		return sp_fail_said(-ELIBACC, "users need libcrypt1: %s", dlerror());
	n = sp_filter_enter(SP_FILTER_ANSWER);
	if (n < 0)
		return sp_fail(n, "filter system calls");
	hash = hash_password(a->q.password, a->q.hash, &data);
	n = snprintf(text, sizeof(text), "ok users=all match=%d\n", hash && sp_http_secret_equals(hash, a->q.hash));
	return send_all(text, (size_t)n);
}

/* --- start --- */
static int answer_request(struct answer *a)
{
	struct sp_store *store = NULL;
	int r = read_input(a);

	if (r == 0)
		r = set_limits(a);
	if (r == 0 && a->q.what == SP_ASK_PASSWORD)
		return verify_password(a);
	if (r == 0 && a->q.what == SP_ASK_API)
		return answer_api(a);
	if (r == 0 && !a->store)
		r = sp_fail_said(-EOPNOTSUPP,
				 "a fleet's page answers there where it is; soprof query --fleet asks as it does");
	if (r == 0)
		r = open_store(a, false, &store);
	if (r == 0)
		r = a->q.what == SP_ASK_QUERY    ? answer_query(a, store)
		    : a->q.what == SP_ASK_TOTALS ? answer_totals(a, store)
						 : put_lines(a, store);
	sp_store_close(store);
	return r;
}

void sp_answer_main(int argc, char **argv)
{
	static struct answer a;
	int r;

	if (argc != 2 || strcmp(argv[1], SP_ANSWER_ARGUMENT) != 0)
		return;
	prctl(PR_SET_NAME, "soprof-answer"); /* else a descriptor's number */
	r = answer_request(&a);
	_exit(r < 0 && !is_sending ? send_error(r) : r < 0);
}

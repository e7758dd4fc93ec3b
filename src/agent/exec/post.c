/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/exec/post.h"
#include "agent/exec/self.h"
#include "agent/request.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "http/curl.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* MAX_READ: of an answer, whose status has come before it; a server may send without end. */
enum { MAX_READ = 64 << 10 };
enum { GRACE_MS = 2000, MAX_AUTHORIZATION = 8192, MAX_ANSWER = 200, MAX_CPU_S = 20, CODE_AGAIN = 3, CODE_REFUSED = 4 };

/* --- the agent's side --- */
int sp_post_url_check(const char *url)
{
	const char *host = !strncmp(url, "http://", 7) ? url + 7 : !strncmp(url, "https://", 8) ? url + 8 : NULL;

	if (!host || !*host || strchr("/:?#", *host))
		return sp_fail_said(-EINVAL, "'%s' does not begin with http://HOST or https://HOST", url);
	if (strlen(url) > SP_POST_URL_MAX)
		return sp_fail_said(-EINVAL, "an address of more than %d bytes", SP_POST_URL_MAX);
	for (const char *c = url; *c; c++)
		if (*c <= ' ' || *c == 0x7f)
			return sp_fail_said(-EINVAL, "'%s' has a space or a control character in it", url);
	return 0;
}

/* If it cannot be read the line is empty; then the process that sends tries, and says what is wrong. */
static void put_authorization(const char *file, FILE *out)
{
	if (sp_self_put_secret(file, MAX_AUTHORIZATION, out) < 0)
		fputc('\n', out);
	sp_error_clear();
}

static int make_input(const struct sp_post *p, int *ret_fd)
{
	char *text SP_FREE = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	if (!out)
		return -ENOMEM;
	sp_line_put(out, "url", p->url);
	sp_line_put(out, "type", p->type);
	sp_line_put(out, "encoding", p->encoding);
	sp_line_put(out, "header", p->header);
	sp_line_put(out, "authorization", p->authorization_file);
	sp_line_put(out, "ca", p->ca_file);
	sp_line_put_number(out, "timeout", p->timeout_ms);
	fputc('\n', out);
	put_authorization(p->authorization_file, out);
	fwrite(p->body, 1, p->n_body, out);
	return fclose(out) ? -ENOMEM : sp_program_input(text, n, ret_fd);
}

int sp_post_start(struct sp_program *c, int self, const struct sp_post *p)
{
	SP_CLOSE int input = -1;
	int r = p->n_body > SP_POST_BODY_MAX ? -E2BIG : make_input(p, &input);

	*c = (struct sp_program){0};
	if (r == 0)
		r = sp_self_start(c, self, SP_POST_ARGUMENT, input, p->timeout_ms + GRACE_MS);
	return r < 0 ? sp_fail(r, "post to %s", p->url) : 0;
}

enum sp_post_result sp_post_result(int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return SP_POST_TAKEN;
	return WIFEXITED(status) && WEXITSTATUS(status) == CODE_REFUSED ? SP_POST_REFUSED : SP_POST_AGAIN;
}

/* --- the process --- */
struct job {
	struct sp_curl l;
	CURL *curl;
	struct curl_slist *headers;
	char line[SP_LINE_MAX + 2], authorization[MAX_AUTHORIZATION + 2];
	struct sp_line words;
	uint64_t timeout_ms;
	char *body;
	size_t n_body;
	char answer[MAX_ANSWER + 1]; /* the beginning of the server's answer */
	size_t n_answer, n_read;
	char error[CURL_ERROR_SIZE];
};

static int read_body(struct job *j, FILE *in)
{
	size_t capacity = 0, n;

	do {
		int r = sp_grow(&j->body, &capacity, j->n_body + 65536, 1);
		if (r < 0 || j->n_body > SP_POST_BODY_MAX)
			return r < 0 ? r : -E2BIG;
		n = fread(j->body + j->n_body, 1, capacity - j->n_body, in);
		j->n_body += n;
	} while (n > 0);
	return ferror(in) ? -EIO : 0;
}

static int read_job(struct job *j)
{
	FILE *in = fdopen(STDIN_FILENO, "r");
	size_t n;
	int r;

	if (!in || !fgets(j->line, sizeof(j->line), in))
		return -EBADF;
	n = strcspn(j->line, "\n");
	if (!j->line[n])
		return -EBADMSG;
	j->line[n] = '\0';
	r = sp_line_parse(j->line, false, &j->words);
	if (r == 0)
		r = sp_line_number(&j->words, "timeout", &j->timeout_ms);
	if (r == 0 && !fgets(j->authorization, sizeof(j->authorization), in))
		r = -EBADMSG;
	j->authorization[strcspn(j->authorization, "\n")] = '\0';
	return r < 0 ? r : read_body(j, in);
}

static size_t save_answer(char *bytes, size_t size, size_t n, void *job)
{
	struct job *j = job;
	size_t n_saved = SP_MIN(size * n, MAX_ANSWER - j->n_answer);

	memcpy(j->answer + j->n_answer, bytes, n_saved);
	j->n_answer += n_saved;
	j->n_read += size * n;
	return j->n_read > MAX_READ ? 0 : size * n;
}

static int add_header(struct job *j, const char *name, const char *value)
{
	char *text SP_FREE = NULL;
	struct curl_slist *list;

	if (!value)
		return 0;
	if (asprintf(&text, "%s%s%s", name, *name ? ": " : "", value) < 0)
		return -ENOMEM;
	list = j->l.append(j->headers, text);
	j->headers = list ? list : j->headers;
	return list ? 0 : -ENOMEM;
}

static int add_authorization(struct job *j)
{
	const char *file = sp_line_word(&j->words, "authorization");
	char *text SP_FREE = NULL;
	int r;

	if (!file || *j->authorization)
		return file ? add_header(j, "Authorization", j->authorization) : 0;
	r = sp_text_read(file, MAX_AUTHORIZATION, &text, NULL);
	if (r < 0)
		return r;
	text[strcspn(text, "\r\n")] = '\0';
	return add_header(j, "Authorization", text);
}

static int make_headers(struct job *j)
{
	int r = add_header(j, "Content-Type", sp_line_word(&j->words, "type"));

	if (r == 0)
		r = add_header(j, "Content-Encoding", sp_line_word(&j->words, "encoding"));
	if (r == 0)
		r = add_header(j, "", sp_line_word(&j->words, "header"));
	if (r == 0)
		r = add_header(j, "", "Expect:"); /* saves a round trip before the body */
	return r < 0 ? r : add_authorization(j);
}

static int set_options(struct job *j)
{
	const struct sp_curl *l = &j->l;
	CURL *c = j->curl;
	int bad = 0, r = sp_curl_begin(l, c, sp_line_word(&j->words, "ca"), j->error);

	bad |= l->setopt(c, CURLOPT_URL, sp_line_word(&j->words, "url"));
	bad |= l->setopt(c, CURLOPT_POST, 1L);
	bad |= l->setopt(c, CURLOPT_POSTFIELDS, j->body);
	bad |= l->setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)j->n_body);
	bad |= l->setopt(c, CURLOPT_HTTPHEADER, j->headers);
	bad |= l->setopt(c, CURLOPT_TIMEOUT_MS, (long)j->timeout_ms);
	bad |= l->setopt(c, CURLOPT_WRITEFUNCTION, save_answer);
	bad |= l->setopt(c, CURLOPT_WRITEDATA, j);
	return r < 0 ? r : bad ? -ENOMEM : 0;
}

/* Of the client errors (4xx) only "too many requests" and "timeout" may pass. */
static int report_result(struct job *j, CURLcode code)
{
	long status = 0;

	if (code != CURLE_OK && j->n_read <= MAX_READ) {
		dprintf(STDOUT_FILENO, "%s", *j->error ? j->error : j->l.strerror(code));
		return CODE_AGAIN;
	}
	j->l.getinfo(j->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 200 && status < 300)
		return 0;
	j->answer[strcspn(j->answer, "\r\n")] = '\0';
	dprintf(STDOUT_FILENO, "HTTP %ld%s%s", status, *j->answer ? ": " : "", j->answer);
	return status >= 500 || status == 429 || status == 408 ? CODE_AGAIN : CODE_REFUSED;
}

static int run_job(struct job *j)
{
	int r = read_job(j);

	if (r == 0)
		r = sp_curl_load(&j->l);
	if (r == 0)
		r = make_headers(j);
	if (r == 0) {
		j->curl = j->l.init();
		r = j->curl ? set_options(j) : -ENOMEM;
	}
	return r < 0 ? r : report_result(j, j->l.perform(j->curl));
}

void sp_post_main(int argc, char **argv)
{
	static struct job j;
	struct rlimit none = {0}, some = {.rlim_cur = MAX_CPU_S, .rlim_max = MAX_CPU_S + 1};
	int r;

	if (argc != 2 || strcmp(argv[1], SP_POST_ARGUMENT) != 0)
		return;
	prctl(PR_SET_NAME, "soprof-post"); /* else a descriptor's number */
	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_CPU, &some);
	r = run_job(&j);
	if (r < 0)
		dprintf(STDOUT_FILENO, "%s", sp_error_text(r));
	_exit(r < 0 ? CODE_AGAIN : r);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/export/send_child.h"
#include "agent/exec/self.h"
#include "base/error.h"
#include "base/mem.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Of what is read of a store most is needed for moments, and little is large. */
enum { LARGE_BYTES = 16 << 10 };

static const struct {
	int (*send)(const struct sp_send_job *job, struct sp_send_result *ret_result);
	unsigned max_cpu_s;
} tasks[SP_N_RECEIVERS] = {
    [SP_RECEIVER_FLEET] = {sp_send_windows, 120},
    [SP_RECEIVER_PYROSCOPE] = {sp_send_profiles, 60},
    [SP_RECEIVER_OTLP] = {sp_send_profiles, 60},
};

int sp_send_read_line(char *ret_line, size_t size)
{
	if (!fgets(ret_line, (int)size, stdin))
		return ferror(stdin) ? -EIO : 1;
	if (!strchr(ret_line, '\n') && !feof(stdin))
		return sp_fail_said(-EBADMSG, "a line of more than %zu bytes", size - 2);
	ret_line[strcspn(ret_line, "\r\n")] = '\0';
	return 0;
}

void sp_send_slow(const char *server, unsigned seconds)
{
	(void)server;
	(void)seconds;
	dprintf(STDOUT_FILENO, SP_SEND_SLOW);
}

/* "source=cpu", "label=a=b" */
static const char **place_of(struct sp_send_job *job, const char *line)
{
	if (!strncmp(line, "source=", 7) && job->n_sources < SP_AGENT_MAX_SOURCES)
		return &job->sources[job->n_sources++];
	if (!strncmp(line, "label=", 6) && job->n_labels < SP_AGENT_MAX_LABELS)
		return &job->labels[job->n_labels++];
	return NULL;
}

static int listed_read(struct sp_send_job *job)
{
	char line[SP_LINE_MAX];

	for (;;) {
		int r = sp_send_read_line(line, sizeof(line));
		if (r != 0 || !*line)
			return r > 0 ? -EBADMSG : r;
		const char **place = place_of(job, line);
		if (!place)
			return -EBADMSG;
		*place = strdup(strchr(line, '=') + 1);
		if (!*place)
			return -ENOMEM;
	}
}

static int words_take(struct sp_send_job *job)
{
	const char *kind = sp_line_word(&job->words, "kind");
	uint64_t resolution_s = 0;
	int r = sp_line_number(&job->words, "resolution", &resolution_s);

	job->url = sp_line_word(&job->words, "url");
	job->ca_file = sp_line_word(&job->words, "ca");
	job->host = sp_line_word(&job->words, "host");
	job->store = sp_line_word(&job->words, "store");
	job->resolution_s = (uint32_t)resolution_s;
	while (kind && job->to < SP_N_RECEIVERS && strcmp(kind, sp_receiver_words[job->to]) != 0)
		job->to++;
	if (r < 0 || !kind || job->to == SP_N_RECEIVERS || !job->url || !job->host || !job->store || !resolution_s)
		return -EBADMSG;
	return 0;
}

static int job_read(struct sp_send_job *job)
{
	int r = sp_send_read_line(job->line, sizeof(job->line));

	if (r == 0)
		r = sp_line_parse(job->line, false, &job->words);
	if (r == 0)
		r = words_take(job);
	return r == 0 ? listed_read(job) : r > 0 ? -EBADMSG : r;
}

static int job_run(const struct sp_send_job *job, struct sp_send_result *ret_result)
{
	uint64_t memory_bytes = 0;

	sp_line_number(&job->words, "memory", &memory_bytes);
	sp_self_limit(tasks[job->to].max_cpu_s, memory_bytes);
	sp_heap_return_large(LARGE_BYTES);
	return tasks[job->to].send(job, ret_result);
}

void sp_send_main(int argc, char **argv)
{
	static struct sp_send_job job;
	struct sp_send_result result = {0};
	int r;

	if (argc != 2 || strcmp(argv[1], SP_SEND_ARGUMENT) != 0)
		return;
	prctl(PR_SET_NAME, "soprof-send"); /* else a descriptor's number */
	r = job_read(&job);
	if (r == 0)
		r = job_run(&job, &result);
	for (size_t i = 0; job.to < SP_N_RECEIVERS && i < SP_SENT_COUNTS; i++)
		dprintf(STDOUT_FILENO, "%s=%" PRIu64 " ", sp_sent_words[job.to][i], result.counts[i]);
	if (result.later_s)
		dprintf(STDOUT_FILENO, "later=%" PRIu64 " ", result.later_s);
	dprintf(STDOUT_FILENO, "to=%" PRIu64 "\n%s", result.to_ns, r < 0 ? sp_error_text(r) : result.why_refused);
	_exit(r < 0 ? SP_SEND_FAILED : 0);
}

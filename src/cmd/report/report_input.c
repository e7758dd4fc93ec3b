/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report_input.c: see report.h. */
#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "cmd/grid.h"
#include "cmd/recordings.h"
#include "cmd/report/history.h"
#include "cmd/report/object.h"
#include "cmd/report/perf_data.h"
#include "cmd/report/report.h"
#include "cmd/unmatched.h"
#include "profile/filter.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "profile/values.h"
#include "read/read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *sp_input_format_choice(size_t i)
{
	return sp_readers[i] ? sp_readers[i]->name : NULL;
}

/* --- progress --- */
enum { PROGRESS_MS = 100, BAR_COLUMNS = 30 };

struct progress {
	const char *name;
	uint64_t next_ns; /* when to draw again */
	bool drawn;
};

static int progress_draw(void *arg, uint64_t bytes, uint64_t size)
{
	struct progress *p = arg;
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC);
	int full = size ? (int)(SP_MIN(bytes, size) * BAR_COLUMNS / size) : 0;

	if (now < p->next_ns)
		return 0;
	p->next_ns = now + PROGRESS_MS * 1000000ULL;
	p->drawn = true;
	fputs("\r\033[Kreading ", stderr);
	sp_encode(stderr, SP_ENCODE_TERMINAL, p->name);
	if (size)
		fprintf(stderr, "  [%.*s%*s] %d %%", full, "##############################", BAR_COLUMNS - full, "",
			(int)(SP_MIN(bytes, size) * 100 / size));
	else
		fprintf(stderr, "  %" PRIu64 " MiB", bytes >> 20);
	fflush(stderr);
	return 0;
}

/* --- reading --- */
static int input_open(const char *name, int *ret_fd)
{
	SP_FREE char *recording = NULL;
	int r;

	if (!strcmp(name, "-")) {
		*ret_fd = dup(STDIN_FILENO);
		return *ret_fd < 0 ? sp_fail(-errno, "standard input") : 0;
	}
	r = sp_recording_find(name, &recording);
	if (r < 0)
		return r;
	*ret_fd = open(recording ? recording : name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return *ret_fd < 0 ? sp_fail(-errno, "open %s", recording ? recording : name) : 0;
}

/* A file of a store: all that is in it. */
static int store_read(const char *name, const struct sp_input_args *a, struct sp_profile **ret_profile,
		      struct sp_input_summary *summary)
{
	struct sp_store_query q = {
	    .to_ns = INT64_MAX, .all_users = true, .resolution = -1, .n_slices = a->n_slices, .exact = true};
	struct sp_store_answer answer;
	struct sp_history *h;
	int r = sp_history_open(name, NULL, &h);

	if (r < 0)
		return r;
	r = sp_history_query(h, &q, ret_profile, &answer);
	if (r == 0 && answer.n_damaged + answer.n_incomplete + answer.n_salvaged > 0) {
		summary->n_lost += answer.n_damaged + answer.n_incomplete + answer.n_salvaged;
		if (!*summary->first_loss)
			snprintf(summary->first_loss, sizeof(summary->first_loss), "%s: %s", name,
				 answer.n_damaged      ? "a window is damaged"
				 : answer.n_incomplete ? "names and stacks are damaged"
						       : "salvaged, since the file is damaged");
	}
	sp_history_close(h);
	return r;
}

/* On an error the profile is gone. */
static int names_find(struct sp_profile **p, const char *name, const struct sp_profiled_file *object,
		      struct sp_input_summary *summary)
{
	int r = sp_object_names(*p);

	if (r < 0) {
		sp_profile_free(*p);
		*p = NULL;
		return sp_fail(r, "names for %s", name);
	}
	if (!object->found && !*summary->nameless)
		snprintf(summary->nameless, sizeof(summary->nameless), "%s", name);
	return 0;
}

static int perf_data_read(const char *name, const struct sp_read_options *o, struct sp_profile **ret_profile,
			  struct sp_read_result *ret_result)
{
	struct sp_read_options text = *o;
	pid_t pid;
	int fd, r = !strcmp(name, "-")
			? sp_fail_said(-EINVAL, "perf.data is read from a file, not from standard input: "
						"perf script | soprof report - shows the last one")
			: sp_perf_data_open(name, &fd, &pid);

	if (r < 0)
		return r;
	text.format = "perf";
	r = sp_read_fd(fd, name, &text, ret_profile, ret_result);
	close(fd);
	if (r >= 0) {
		r = sp_perf_data_close(name, pid, 0);
		if (r < 0)
			sp_profile_free(sp_take_ptr(*ret_profile));
		return r;
	}
	return sp_perf_data_close(name, pid, r);
}

static int input_read(const char *name, const struct sp_input_args *a, struct sp_profile **ret_profile,
		      struct sp_input_summary *summary)
{
	bool shown = sp_terminal_has_escapes(stderr);
	struct progress progress = {.name = name, .next_ns = sp_time_ns(CLOCK_MONOTONIC) + 300000000ULL};
	struct sp_profiled_file object = {.given = a->object};
	struct sp_read_options o = {.keep_going = a->keep_going,
				    .object = sp_object_find,
				    .object_arg = &object,
				    .format = a->format < 0 ? NULL : sp_readers[a->format]->name,
				    .progress = shown ? progress_draw : NULL,
				    .arg = &progress};
	struct sp_read_result result = {0};
	SP_CLOSE int fd = -1;
	int r = input_open(name, &fd);

	if (r >= 0 && a->format < 0 && sp_history_is_file(fd))
		return store_read(name, a, ret_profile, summary);
	if (r >= 0 && a->format < 0 && sp_calls_is_file(fd)) {
		summary->has_calls = true;
		return sp_calls_read_named(fd, name, ret_profile, &summary->calls);
	}
	if (r >= 0 && a->format < 0 && sp_perf_data_is(fd))
		r = perf_data_read(name, &o, ret_profile, &result);
	else if (r >= 0)
		r = sp_read_fd(fd, name, &o, ret_profile, &result);
	if (progress.drawn)
		fputs("\r\033[K", stderr);
	if (r >= 0 && result.wants_names)
		r = names_find(ret_profile, name, &object, summary);
	if (r < 0)
		return r;
	summary->n_samples += result.n_samples;
	summary->n_lost += result.n_lost;
	summary->n_labels_dropped += result.n_labels_dropped;
	if (!*summary->first_loss)
		memcpy(summary->first_loss, result.first_loss, sizeof(summary->first_loss));
	return 0;
}

int sp_inputs_read(const struct sp_words *files, const struct sp_input_args *a, struct sp_profile **ret_profile,
		   struct sp_input_summary *summary)
{
	struct sp_profile *all = NULL;
	int r = 0;

	for (size_t i = 0; i < files->n && r >= 0; i++) {
		struct sp_profile *one = NULL;

		r = input_read(files->words[i], a, &one, summary);
		if (r >= 0 && all && sp_profile_n_value_types(one) > sp_profile_n_value_types(all)) {
			struct sp_profile *more = one; /* calls that were timed, say, and before them others */

			one = all;
			all = more;
		}
		if (r >= 0 && all) {
			r = sp_profile_merge(all, one);
			if (r < 0)
				r = sp_fail(r, "merge %s with the files before it", files->words[i]);
			sp_profile_free(one);
		} else if (r >= 0) {
			all = one;
		}
	}
	if (r < 0) {
		sp_profile_free(all);
		return r;
	}
	*ret_profile = all;
	return 0;
}

/* --- filters --- */
static int narrow(struct sp_profile **profile, struct sp_input_summary *summary, const char *option,
		  const struct sp_words *globs, const struct sp_glob_filter *filter)
{
	struct sp_filter_result result;
	struct sp_profile *kept;
	int r = sp_profile_filter_by(*profile, filter, &kept, &result);

	if (r < 0)
		return sp_fail(r, "%s", option);
	if (!result.n_kept && result.n_left_out && !filter->exclude && !summary->unmatched) {
		summary->unmatched = sp_unmatched(*profile, option, filter);
		snprintf(summary->why_unmatched, sizeof(summary->why_unmatched), "%s",
			 sp_error_text(summary->unmatched));
		sp_error_clear();
	}
	sp_profile_free(*profile);
	*profile = kept;
	summary->filters[summary->n_filters].option = option;
	summary->filters[summary->n_filters].globs = globs;
	summary->filters[summary->n_filters++].left_out = result.left_out[0];
	summary->kept = result.kept[0];
	return 0;
}

int sp_inputs_narrow(const struct sp_input_args *a, struct sp_profile **profile, struct sp_input_summary *summary)
{
	const struct {
		const char *option;
		const struct sp_words *globs;
		enum sp_filter_by by;
		bool exclude;
	} all[] = {
	    {"--process", &a->process, SP_FILTER_PROCESS, false},
	    {"--comm", &a->comm, SP_FILTER_COMM, false},
	    {"--cgroup", &a->cgroup, SP_FILTER_CGROUP, false},
	    {"--label", &a->label, SP_FILTER_LABEL, false},
	    {"--library", &a->library, SP_FILTER_LIBRARY, false},
	    {"--function", &a->function, SP_FILTER_FUNCTION, false},
	    {"--exclude", &a->exclude, SP_FILTER_ANY, true},
	};
	int r = 0;

	for (size_t i = 0; i < SP_COUNT(all) && r >= 0; i++) {
		const struct sp_words *globs = all[i].globs;
		struct sp_glob_filter filter = {
		    .by = all[i].by, .globs = globs->words, .n_globs = globs->n, .exclude = all[i].exclude};

		if (globs->n)
			r = narrow(profile, summary, all[i].option, globs, &filter);
	}
	return r;
}

void sp_input_args_done(struct sp_input_args *a)
{
	struct sp_words *all[] = {&a->process, &a->comm, &a->cgroup, &a->label, &a->library, &a->function, &a->exclude};

	for (size_t i = 0; i < SP_COUNT(all); i++)
		sp_words_done(all[i]);
}

int sp_inputs_matched(const struct sp_input_summary *summary)
{
	return summary->unmatched < 0 ? sp_fail_said(summary->unmatched, "%s", summary->why_unmatched) : 0;
}

/* --- values --- */
int sp_inputs_value(const struct sp_profile *p, const char *name, uint32_t *ret_value)
{
	uint32_t n = sp_profile_n_value_types(p);
	char all[256] = "";
	size_t len = 0;

	*ret_value = sp_profile_default_value(p);
	for (uint32_t i = 0; name && i < n; i++) {
		const char *other = sp_profile_string(p, sp_profile_value_type(p, i)->name);

		*ret_value = i;
		if (!strcmp(other, name))
			return 0;
		if (len < sizeof(all))
			len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", i ? ", " : "", other);
	}
	return name ? sp_fail_said(-EINVAL, "--value: '%s' is none of %s", name, all) : 0;
}

/* --- what was lost --- */
static void put_share(int64_t left_out, int64_t all)
{
	fprintf(stderr, "%" PRId64 " (%.2f %%)", left_out, all ? 100 * (double)left_out / (double)all : 0);
}

/* Samples of perf script without the field ip have none: neither library nor function. */
static bool has_stacks(const struct sp_profile *p)
{
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++)
		if (sp_profile_row(p, i)->user || sp_profile_row(p, i)->kernel)
			return true;
	return sp_profile_n_rows(p) == 0;
}

void sp_inputs_tell(const struct sp_profile *p, const struct sp_input_summary *summary)
{
	int64_t all = summary->kept;

	if (summary->has_calls)
		sp_calls_tell(&summary->calls);
	for (size_t i = 0; i < summary->n_filters; i++)
		all += summary->filters[i].left_out;
	for (size_t i = 0; i < summary->n_filters; i++) {
		const struct sp_words *globs = summary->filters[i].globs;

		fprintf(stderr, "left out by %s ", summary->filters[i].option);
		for (size_t k = 0; k < globs->n; k++) {
			fputs(k ? ", " : "", stderr);
			sp_encode(stderr, SP_ENCODE_TERMINAL, globs->words[k]);
		}
		fputs(": ", stderr);
		put_share(summary->filters[i].left_out, all);
		fprintf(stderr, " of %s\n", sp_profile_string(p, sp_profile_value_type(p, 0)->name));
	}
	if (*summary->nameless) {
		fputs("no names for ", stderr);
		sp_encode(stderr, SP_ENCODE_TERMINAL, summary->nameless);
		fputs(": give the library or program that it is of by --object ELF\n", stderr);
	}
	if (!has_stacks(p))
		fputs("no sample has a stack; whose they are is told by --by comm and --by process\n", stderr);
	if (summary->n_labels_dropped)
		fprintf(stderr, "dropped %" PRIu64 " label%s of samples that have too many or too long ones\n",
			summary->n_labels_dropped, summary->n_labels_dropped == 1 ? "" : "s");
	if (!summary->n_lost)
		return;
	fprintf(stderr, "lost %" PRIu64 " piece%s that could not be read; the first: ", summary->n_lost,
		summary->n_lost == 1 ? "" : "s");
	sp_encode(stderr, SP_ENCODE_TERMINAL, summary->first_loss);
	fputc('\n', stderr);
}

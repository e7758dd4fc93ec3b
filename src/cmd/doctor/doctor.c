/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor.c: `soprof doctor`: what this kernel, this user and this machine allow, and what would help. */
#include "cmd/doctor/doctor.h"

#include "base/error.h"
#include "base/mem.h"
#include "cmd/doctor/doctor_file.h"
#include "cmd/grid.h"
#include "cmd/output.h"
#include "probe/attach.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct args {
	const char *file, *debug_dirs, *output;
	bool json, clean;
};

/* clang-format off */
#define AT(member) .offset = offsetof(struct args, member)
static const struct sp_option options[] = {
	{SP_OPT_STRING, 'f', "file", "FILE", "how well this library or program can be profiled", AT(file)},
	{SP_OPT_STRING, 0, "debug-dir", "DIR[:DIR]", "with --file: debug files are here too", AT(debug_dirs)},
	{SP_OPT_FLAG, 0, "clean", NULL, "remove what a killed soprof has left in tracefs", AT(clean)},
	{SP_OPT_FLAG, 0, "json", NULL, "as JSON", AT(json)},
	{SP_OPT_STRING, 'o', "output", "FILE", "write to FILE", AT(output)},
	{0},
};
/* clang-format on */

static const struct sp_example examples[] = {
    {"soprof doctor", "what you may do here, and why not more"},
    {"sudo soprof doctor", "what root may do here"},
    {"soprof doctor --file /lib/x86_64-linux-gnu/libz.so.1", "its table, and where its names come from"},
    {0},
};

/* --- checks --- */
static char *words(struct sp_doctor *d, const char *format, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, format, args) >= 0)
		return text;
	d->failed = true;
	return NULL;
}

/* Where memory is short the words go to one that is never shown. */
static struct sp_doctor_check *last(struct sp_doctor *d)
{
	static struct sp_doctor_check nowhere;

	return d->n_checks && !d->failed ? &d->checks[d->n_checks - 1] : &nowhere;
}

struct sp_doctor_check *sp_doctor_add(struct sp_doctor *d, const char *key, const char *what,
				      enum sp_doctor_state state, const char *why, ...)
{
	struct sp_doctor_check *c;
	va_list args;

	if (sp_grow(&d->checks, &d->capacity, d->n_checks + 1, sizeof(*d->checks)) < 0) {
		d->failed = true;
		return last(d);
	}
	c = &d->checks[d->n_checks++];
	*c = (struct sp_doctor_check){.group = d->group, .key = key, .what = what, .state = state};
	if (*why) {
		va_start(args, why);
		c->why = words(d, why, args);
		va_end(args);
	}
	return c;
}

void sp_doctor_cure(struct sp_doctor *d, const char *cure, ...)
{
	struct sp_doctor_check *c = last(d);
	va_list args;

	if (d->failed)
		return;
	free(c->cure);
	va_start(args, cure);
	c->cure = words(d, cure, args);
	va_end(args);
}

void sp_doctor_value(struct sp_doctor *d, int64_t value)
{
	struct sp_doctor_check *c = last(d);

	c->has_value = true;
	c->value = value;
}

void sp_doctor_done(struct sp_doctor *d)
{
	for (size_t i = 0; i < d->n_checks; i++) {
		free(d->checks[i].why);
		free(d->checks[i].cure);
	}
	free(d->checks);
}

const char *sp_doctor_errno(int r)
{
	static char text[128];
	const char *name = strerrorname_np(-r);

	snprintf(text, sizeof(text), "%s (%s)", strerror(-r), name ? name : "?");
	return text;
}

bool sp_doctor_has(const struct sp_doctor *d, int capability)
{
	return d->capabilities >> capability & 1;
}

/* --- the run --- */
/* Where BPF is refused perf_event_open serves: slower, but the same stacks. */
static bool is_by_perf(const struct sp_doctor *d)
{
	return !d->can_sample && d->has_all && d->can_own;
}

static bool is_whole(const struct sp_doctor *d)
{
	return ((d->can_sample && d->can_unwind) || is_by_perf(d)) && d->can_open;
}

static const char *verdict_words(const struct sp_doctor *d)
{
	if (is_whole(d))
		return is_by_perf(d)
			   ? "soprof profile samples all processes, by perf_event_open, at a higher cost than by BPF"
			   : "soprof profile samples all processes, with whole stacks";
	if (d->can_sample || is_by_perf(d))
		return "soprof profile samples all processes, but cannot open all files that they run: without their "
		       "tables stacks are cut or guessed, and without names";
	return d->can_own ? "soprof profile samples your own programs (-p PID, -- COMMAND), not the whole machine"
			  : "soprof profile cannot sample anything";
}

static void verdict(struct sp_doctor *d)
{
	enum sp_doctor_state state = is_whole(d)                   ? SP_DOCTOR_YES
				     : d->can_sample || d->can_own ? SP_DOCTOR_PARTLY
								   : SP_DOCTOR_NO;

	sp_doctor_add(d, "essential", "whole stacks of all", state, "%s", verdict_words(d));
	if (state == SP_DOCTOR_YES)
		return;
	if (d->in_namespace)
		sp_doctor_cure(d, "run it outside of the container or user namespace, as root");
	else
		sp_doctor_cure(d, "%s", geteuid() ? "run it as root, with sudo" : "see what is refused above");
}

static const struct {
	const char *group;
	void (*examine)(struct sp_doctor *d);
} parts[] = {
    {"User", sp_doctor_user}, /* first: the others ask what it finds */
    {"Machine", sp_doctor_machine},  {"Sampling", sp_doctor_bpf},   {"Sampling", sp_doctor_perf},
    {"Sampling", sp_doctor_recipes}, {"Sampling", sp_doctor_files}, {"Names and tables", sp_doctor_names},
    {"Probes", sp_doctor_probes},    {"Agent", sp_doctor_agent}, /* these two use the other answers */
    {"All in all", verdict},
};

static void examine(struct sp_doctor *d)
{
	for (size_t i = 0; i < SP_COUNT(parts); i++) {
		d->group = parts[i].group;
		parts[i].examine(d);
	}
	sp_error_clear();
}

struct printing {
	const struct sp_doctor *d;
	const struct args *args;
};

static int print(void *arg, FILE *out)
{
	const struct printing *p = arg;
	unsigned width = sp_terminal_width(out, NULL);

	return p->args->json ? sp_doctor_print_json(p->d, is_whole(p->d), out)
			     : sp_doctor_print(p->d, width, width > 0, out);
}

static int run_doctor(const struct args *a)
{
	struct sp_doctor d = {0};
	struct printing p = {&d, a};
	int r, code;

	examine(&d);
	r = d.failed ? -ENOMEM : sp_output(a->output, print, &p);
	if (r < 0)
		code = sp_cmd_error(&sp_cmd_doctor, r, SP_EXIT_FAILED);
	else
		code = is_whole(&d) ? SP_EXIT_OK : SP_EXIT_REFUSED;
	sp_doctor_done(&d);
	return code;
}

struct printing_file {
	const struct sp_doctor_file *file;
	const struct args *args;
};

static int print_file(void *arg, FILE *out)
{
	const struct printing_file *p = arg;
	unsigned width = sp_terminal_width(out, NULL);

	return p->args->json ? sp_doctor_file_print_json(p->file, out)
			     : sp_doctor_file_print(p->file, width, width > 0, out);
}

static int run_file(const struct args *a)
{
	struct sp_doctor_file file;
	struct printing_file p = {&file, a};
	int r = sp_doctor_file_read(a->file, a->debug_dirs, &file);

	if (r >= 0)
		r = sp_output(a->output, print_file, &p);
	sp_doctor_file_done(&file);
	return r < 0 ? sp_cmd_error(&sp_cmd_doctor, r, SP_EXIT_FAILED) : SP_EXIT_OK;
}

static int run_clean(void)
{
	size_t n = 0;
	int r = sp_probe_clean(&n);

	if (r < 0)
		return sp_cmd_error(&sp_cmd_doctor, r, r == -EACCES ? SP_EXIT_REFUSED : SP_EXIT_FAILED);
	printf("%zu %s of killed soprofs removed from tracefs\n", n, n == 1 ? "event" : "events");
	return SP_EXIT_OK;
}

static int doctor_run(const struct sp_cmd *cmd, int argc, char **argv)
{
	struct args args = {0};
	int code, r = sp_options_parse(options, argc, argv, &args);

	if (r == SP_PARSED && args.debug_dirs && !args.file)
		r = sp_fail_said(-EINVAL, "--debug-dir goes with --file");
	if (r == SP_PARSED && args.clean && (args.file || args.json || args.output))
		r = sp_fail_said(-EINVAL, "--clean goes alone");
	if (!sp_cmd_parsed(cmd, r, &code))
		return code;
	if (args.clean)
		return run_clean();
	return args.file ? run_file(&args) : run_doctor(&args);
}

const struct sp_cmd sp_cmd_doctor = {
    .name = "doctor",
    .summary = "what this kernel and this user may do, and why not more",
    .group = SP_CMD_CHECK,
    .needs = NULL,
    .synopsis = "[OPTIONS]",
    .options = options,
    .examples = examples,
    .run = doctor_run,
};

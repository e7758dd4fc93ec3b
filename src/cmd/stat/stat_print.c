/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stat_print.c: counts in the layouts of perf stat, so that scripts that read those go on, and as JSON. */
#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "cmd/stat/stat.h"
#include "proc/process.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

/* --- words --- */
static const char *refusal_word(const struct sp_stat_counter *c)
{
	return c->refused == -EACCES || c->refused == -EPERM ? "<not permitted>" : "<not supported>";
}

/* ":u" where only user mode could be counted, though all was asked for. */
static const char *name_suffix(const struct sp_stat_counter *c)
{
	return c->user_only && !c->event->user_only ? ":u" : "";
}

static void name_put(const struct sp_stat_counter *c, FILE *out)
{
	sp_encode(out, SP_ENCODE_TERMINAL, c->event->name);
	fputs(name_suffix(c), out);
}

/* Digits in groups of three where a person reads them. */
static const char *digits(double value, bool grouped, char ret_text[48])
{
	char plain[32];
	size_t n = (size_t)snprintf(plain, sizeof(plain), "%.0f", value), at = 0;

	for (size_t i = 0; i < n; i++) {
		if (grouped && i && (n - i) % 3 == 0)
			ret_text[at++] = ',';
		ret_text[at++] = plain[i];
	}
	ret_text[at] = 0;
	return ret_text;
}

/* --- text --- */
static void target_put(const struct sp_stat_args *a, FILE *out)
{
	const struct sp_u32_list *list = a->pids.n ? &a->pids : a->tids.n ? &a->tids : &a->cpus;

	if (a->command) {
		fputc('\'', out);
		for (size_t i = 0; a->command[i]; i++) {
			fputs(i ? " " : "", out);
			sp_encode(out, SP_ENCODE_TERMINAL, a->command[i]);
		}
		fputc('\'', out);
		return;
	}
	fputs(a->pids.n ? "process id '" : a->tids.n ? "thread id '" : a->cpus.n ? "CPU(s) '" : "'system wide", out);
	for (size_t i = 0; i < list->n; i++)
		fprintf(out, "%s%u", i ? "," : "", list->values[i]);
	fputc('\'', out);
}

static void count_put(const struct sp_stat_result *r, size_t i, FILE *out)
{
	const struct sp_stat_counter *c = &r->counters->counters[i];
	double share, value = sp_stat_printed_value(r, i, &share);
	char text[48];

	if (c->refused)
		fprintf(out, "%18s      ", refusal_word(c));
	else if (share == 0 && !r->spreads)
		fprintf(out, "%18s %4s ", "<not counted>", c->event->is_clock ? "msec" : "");
	else if (c->event->is_clock)
		fprintf(out, "%18.2f msec ", value / 1e6);
	else
		fprintf(out, "%18s      ", digits(value, isatty(fileno(out)), text));
}

static void rest_put(const struct sp_stat_result *r, size_t i, FILE *out)
{
	const struct sp_stat_counter *c = &r->counters->counters[i];
	int padding = 25 - (int)strlen(c->event->name) - (int)strlen(name_suffix(c));
	struct sp_stat_metric m;
	double share;

	sp_stat_printed_value(r, i, &share);
	sp_stat_metric(r, i, &m);
	if (m.unit && share > 0)
		fprintf(out, "%*s# %8.*f%s %s", SP_MAX(padding, 1), "", m.is_percent ? 2 : 3, m.value,
			m.is_percent ? "%" : "", m.unit);
	if (r->spreads && !c->refused)
		fprintf(out, "  ( +- %5.2f%% )", sp_stat_error_percent(&r->spreads[i], r->n_runs));
	if (!c->refused && share > 0 && share < 0.9995)
		fprintf(out, "  (%.2f%%)", 100 * share);
	fputc('\n', out);
}

static void rows_put(const struct sp_stat_result *r, FILE *out)
{
	for (size_t i = 0; i < r->counters->n; i++) {
		if (r->at_s > 0)
			fprintf(out, "%16.9f ", r->at_s);
		count_put(r, i, out);
		name_put(&r->counters->counters[i], out);
		rest_put(r, i, out);
	}
}

static void seconds_put(const struct sp_stat_result *r, FILE *out)
{
	if (r->elapsed_spread)
		fprintf(out, "\n%18.6f seconds time elapsed  ( +- %5.2f%% )\n\n", r->elapsed_spread->mean,
			sp_stat_error_percent(r->elapsed_spread, r->n_runs));
	else
		fprintf(out, "\n%18.9f seconds time elapsed\n\n", r->elapsed_s);
	if (r->args->command && !r->elapsed_spread)
		fprintf(out, "%18.9f seconds user\n%18.9f seconds sys\n\n", r->user_s, r->system_s);
}

static void text_put(const struct sp_stat_result *r, FILE *out)
{
	if (r->at_s > 0) {
		rows_put(r, out);
		return;
	}
	fputs("\n Performance counter stats for ", out);
	target_put(r->args, out);
	if (r->n_runs > 1)
		fprintf(out, " (%zu runs)", r->n_runs);
	fputs(":\n\n", out);
	rows_put(r, out);
	seconds_put(r, out);
}

/* --- perf's -x --- */
static void csv_row_put(const struct sp_stat_result *r, size_t i, const char *sep, FILE *out)
{
	const struct sp_stat_counter *c = &r->counters->counters[i];
	double share, value = sp_stat_printed_value(r, i, &share);
	struct sp_stat_metric m;

	sp_stat_metric(r, i, &m);
	if (r->at_s > 0)
		fprintf(out, "%.9f%s", r->at_s, sep);
	if (c->refused)
		fprintf(out, "%s%s%s", refusal_word(c), sep, sep);
	else if (c->event->is_clock)
		fprintf(out, "%.2f%smsec%s", value / 1e6, sep, sep);
	else
		fprintf(out, "%.0f%s%s", value, sep, sep);
	name_put(c, out);
	if (r->spreads)
		fprintf(out, "%s%.2f%%", sep, sp_stat_error_percent(&r->spreads[i], r->n_runs));
	fprintf(out, "%s%llu%s%.2f%s", sep,
		(unsigned long long)(c->count.running_ns - (r->at_s > 0 ? c->before.running_ns : 0)), sep,
		c->refused ? 100.0 : 100 * share, sep);
	if (m.unit)
		fprintf(out, "%.3f%s%s", m.value, sep, m.unit);
	else
		fputs(sep, out);
	fputc('\n', out);
}

static void csv_put(const struct sp_stat_result *r, FILE *out)
{
	const char *sep = r->args->separator ? r->args->separator : ",";

	for (size_t i = 0; i < r->counters->n; i++)
		csv_row_put(r, i, sep, out);
}

/* --- JSON --- */
static void json_event_put(const struct sp_stat_result *r, size_t i, struct sp_json *j)
{
	const struct sp_stat_counter *c = &r->counters->counters[i];
	double share, value = sp_stat_printed_value(r, i, &share);
	struct sp_stat_metric m;

	sp_stat_metric(r, i, &m);
	sp_json_object(j, NULL);
	sp_json_string(j, "event", c->event->name);
	if (c->refused)
		sp_json_string(j, "not_counted", strerror(-c->refused));
	else
		sp_json_format(j, "value", "%.0f", value);
	sp_json_string(j, "unit", c->event->is_clock ? "nanoseconds" : "count");
	if (!c->refused) {
		sp_json_bool(j, "user_mode_only", c->user_only);
		sp_json_format(j, "counted_percent", "%.2f", 100 * share);
	}
	if (r->spreads && !c->refused)
		sp_json_format(j, "error_percent", "%.3f", sp_stat_error_percent(&r->spreads[i], r->n_runs));
	if (m.unit) {
		sp_json_format(j, "metric", "%.6f", m.value);
		sp_json_string(j, "metric_unit", m.unit);
	}
	sp_json_end(j);
}

/* One line an object, so that intervals are JSON lines. */
static void json_put(const struct sp_stat_result *r, FILE *out)
{
	struct sp_json j = {.out = out};

	sp_json_object(&j, NULL);
	if (r->at_s > 0)
		sp_json_format(&j, "at_s", "%.9f", r->at_s);
	sp_json_format(&j, "elapsed_s", "%.9f", r->elapsed_spread ? r->elapsed_spread->mean : r->elapsed_s);
	if (r->n_runs > 1)
		sp_json_uint(&j, "runs", r->n_runs);
	if (r->args->command && !r->at_s && !r->spreads) {
		sp_json_format(&j, "user_s", "%.6f", r->user_s);
		sp_json_format(&j, "system_s", "%.6f", r->system_s);
	}
	sp_json_array(&j, "events");
	for (size_t i = 0; i < r->counters->n; i++)
		json_event_put(r, i, &j);
	sp_json_end(&j);
	sp_json_end(&j);
	sp_json_done(&j);
}

/* --- all layouts --- */
void sp_stat_print_begin(const struct sp_stat_args *a, FILE *out)
{
	if (a->interval_s && !a->csv && !a->json && !a->separator)
		fputs("#           time             counts unit events\n", out);
}

void sp_stat_print(const struct sp_stat_result *result, FILE *out)
{
	if (result->args->json)
		json_put(result, out);
	else if (result->args->csv || result->args->separator)
		csv_put(result, out);
	else
		text_put(result, out);
	fflush(out);
}

/* --- what could not be counted --- */
static bool is_missing(const struct sp_stat_counter *c)
{
	return c->refused == -ENOENT || c->refused == -EOPNOTSUPP || c->refused == -ENODEV || c->refused == -ENXIO ||
	       c->refused == -EINVAL;
}

static bool names_list(const struct sp_stat_counters *c, bool missing)
{
	const char *before = "soprof: not counted: ";

	for (size_t i = 0; i < c->n; i++)
		if (c->counters[i].refused && is_missing(&c->counters[i]) == missing) {
			fputs(before, stderr);
			sp_encode(stderr, SP_ENCODE_TERMINAL, c->counters[i].event->name);
			before = ", ";
		}
	return *before == ',';
}

static bool has_missing_software(const struct sp_stat_counters *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->counters[i].refused && is_missing(&c->counters[i]) &&
		    c->counters[i].event->type != PERF_TYPE_HARDWARE &&
		    c->counters[i].event->type != PERF_TYPE_HW_CACHE && c->counters[i].event->type != PERF_TYPE_RAW)
			return true;
	return false;
}

void sp_stat_refused_tell(const struct sp_stat_counters *c)
{
	int level = 2;

	if (names_list(c, true))
		fputs(has_missing_software(c) ? ": this kernel does not count them here\n"
					      : ": this machine has no such hardware counters, as most virtual ones\n",
		      stderr);
	if (!names_list(c, false))
		return;
	if (sp_process_setting("perf_event_paranoid", &level) < 0)
		sp_error_clear();
	fprintf(stderr, ": kernel.perf_event_paranoid is %d: run it as root, with sudo\n", level);
}

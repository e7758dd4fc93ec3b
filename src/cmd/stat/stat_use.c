/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stat_use.c: `soprof stat --use`: two readings, a table, and what to run next. */
#include "cmd/stat/stat_use.h"

#include "base/encode.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"
#include "cmd/grid.h"
#include "cmd/output.h"
#include "cmd/sampling.h"
#include "cmd/stat/stat.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

enum { DEFAULT_SECONDS = 5 };

struct use_run {
	const struct sp_stat_args *args;
	struct sp_use before, now;
	struct sp_use_rows rows;
	int signal_fd;
	bool has_csv_head;
};

/* --- layouts --- */
static void used_put(struct sp_grid *g, double used)
{
	if (used < 0)
		sp_grid_put(g, SP_GRID_DIM, "-");
	else
		sp_grid_put(g, SP_GRID_PLAIN, "%.0f", used);
}

static int table_put(const struct use_run *u, FILE *out)
{
	static const struct sp_grid_column columns[] = {
	    {"resource", false, 0, 20, 0}, {"used %", true, 0, 0, 0},   {"saturation", false, 16, 0, 0},
	    {"errors", false, 8, 0, 2},    {"verdict", false, 0, 0, 0},
	};
	static const enum sp_grid_colour colours[] = {SP_GRID_PLAIN, SP_GRID_YELLOW, SP_GRID_RED, SP_GRID_RED};
	unsigned width = sp_terminal_width(out, NULL);
	struct sp_grid *g = sp_grid_new(columns, SP_COUNT(columns));
	int r;

	if (!g)
		return -ENOMEM;
	for (size_t i = 0; i < u->rows.n; i++) {
		const struct sp_use_row *row = &u->rows.rows[i];

		sp_grid_put(g, SP_GRID_BOLD, "%s", row->resource);
		used_put(g, row->used_percent);
		sp_grid_put(g, SP_GRID_PLAIN, "%s", row->saturation);
		sp_grid_put(g, SP_GRID_PLAIN, "%s", row->errors);
		sp_grid_put(g, colours[row->state], "%s", sp_use_state_name(row->state));
	}
	r = sp_grid_print(g, width, width != 0, "", out);
	sp_grid_free(g);
	return r;
}

/* The worst first; each command once. */
static void next_put(const struct use_run *u, FILE *out)
{
	for (int state = SP_USE_FAULTY; state > SP_USE_FINE; state--)
		for (size_t i = 0; i < u->rows.n; i++) {
			const struct sp_use_row *row = &u->rows.rows[i];

			if ((int)row->state == state && row->next) {
				sp_encode(out, SP_ENCODE_TERMINAL, row->resource);
				fprintf(out, ": %s; next: %s\n", row->verdict, row->next);
			}
		}
}

static void csv_put(struct use_run *u, FILE *out)
{
	if (!u->has_csv_head)
		fputs("resource,used_percent,saturation,errors,state,verdict,next\n", out);
	u->has_csv_head = true;
	for (size_t i = 0; i < u->rows.n; i++) {
		const struct sp_use_row *row = &u->rows.rows[i];
		const char *words[] = {row->saturation, row->errors, sp_use_state_name(row->state), row->verdict,
				       row->next ? row->next : ""};

		sp_encode(out, SP_ENCODE_CSV, row->resource);
		if (row->used_percent >= 0)
			fprintf(out, ",%.2f", row->used_percent);
		else
			fputc(',', out);
		for (size_t k = 0; k < SP_COUNT(words); k++) {
			fputc(',', out);
			sp_encode(out, SP_ENCODE_CSV, words[k]);
		}
		fputc('\n', out);
	}
}

static void json_put(const struct use_run *u, FILE *out)
{
	struct sp_json j = {.out = out};

	sp_json_object(&j, NULL);
	sp_json_format(&j, "seconds", "%.3f", (double)(u->now.time_ns - u->before.time_ns) / 1e9);
	sp_json_array(&j, "resources");
	for (size_t i = 0; i < u->rows.n; i++) {
		const struct sp_use_row *row = &u->rows.rows[i];

		sp_json_object(&j, NULL);
		sp_json_string(&j, "resource", row->resource);
		if (row->used_percent >= 0)
			sp_json_format(&j, "used_percent", "%.2f", row->used_percent);
		sp_json_word(&j, "saturation", row->saturation);
		sp_json_word(&j, "errors", row->errors);
		sp_json_string(&j, "state", sp_use_state_name(row->state));
		sp_json_word(&j, "verdict", row->verdict);
		sp_json_word(&j, "next", row->next);
		sp_json_end(&j);
	}
	sp_json_end(&j);
	sp_json_end(&j);
	sp_json_done(&j);
}

static int rows_put(void *arg, FILE *out)
{
	struct use_run *u = arg;
	int r = 0;

	if (u->args->json) {
		json_put(u, out);
	} else if (u->args->csv) {
		csv_put(u, out);
	} else {
		r = table_put(u, out);
		next_put(u, out);
	}
	return r;
}

/* --- the run --- */
/* false: a signal came. */
static bool seconds_wait(struct use_run *u, uint64_t seconds)
{
	struct pollfd fd = {.fd = u->signal_fd, .events = POLLIN};

	return poll(&fd, 1, (int)SP_MIN(seconds * 1000, (uint64_t)INT32_MAX)) == 0;
}

/* A signal ends it, with what there is. */
static int use_once(struct use_run *u, uint64_t seconds, bool *ret_goes_on)
{
	int r;

	*ret_goes_on = seconds_wait(u, seconds);
	r = sp_use_read("", &u->now);
	if (r >= 0 && u->now.time_ns - u->before.time_ns >= SP_NS_PER_S / 20)
		r = sp_use_judge(&u->before, &u->now, &u->rows);
	if (r >= 0 && u->rows.n)
		r = sp_output(u->args->output, rows_put, u);
	sp_use_rows_done(&u->rows);
	sp_use_done(&u->before);
	u->before = u->now;
	u->now = (struct sp_use){0};
	return r;
}

static int use_all(struct use_run *u)
{
	uint64_t each = u->args->interval_s, left = u->args->seconds ? u->args->seconds : DEFAULT_SECONDS, length;
	bool for_ever = each && !u->args->seconds, goes_on = true;
	int r = sp_use_read("", &u->before);

	while (r >= 0 && goes_on && (left || for_ever)) {
		length = !each ? left : for_ever ? each : SP_MIN(each, left);
		r = use_once(u, length, &goes_on);
		left -= SP_MIN(left, length);
	}
	return r;
}

int sp_stat_use(const struct sp_cmd *cmd, const struct sp_stat_args *a)
{
	struct use_run u = {.args = a, .signal_fd = -1};
	int r = sp_signals_take(0, NULL, &u.signal_fd);

	if (r >= 0)
		r = use_all(&u);
	sp_use_done(&u.before);
	if (u.signal_fd >= 0)
		close(u.signal_fd);
	return r < 0 ? sp_cmd_error(cmd, r, sp_cmd_exit_code(r)) : SP_EXIT_OK;
}

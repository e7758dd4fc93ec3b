/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "past.h"
#include "base/error.h"
#include "profile/profile.h"
#include "store/store.h"
#include "test.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct window *windows;
size_t n_windows, n_runs;
uint64_t *record_ns;
char place[64];
static size_t windows_capacity;

/* A run of a writer: its windows; then it ends or is killed. */
struct run {
	size_t end;
	bool is_killed;
};
static struct run runs[4 * N_DAYS];

/* --- random numbers --- */
uint64_t seed;

uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)((seed >> 33) % n);
}

uint64_t below_ns(uint64_t n)
{
	return ((uint64_t)below(1U << 30) << 30 | below(1U << 30)) % n;
}

/* --- windows --- */
static void window_make(struct window *w)
{
	w->n_rows = below(MAX_ROWS + 1);
	w->n_lost = below(4) == 0 ? below(9) : 0;
	for (uint32_t i = 0; i < w->n_rows; i++) {
		struct row *row = &w->rows[i];
		*row =
		    (struct row){.process = below(N_PROCESSES), .n_frames = below(MAX_FRAMES + 1), .n = 1 + below(500)};
		for (uint32_t k = 0; k < row->n_frames; k++)
			row->frames[k] = below(N_LIBRARIES * N_FUNCTIONS);
	}
}

/* A new dictionary begins with each writer and day, and where the clock was set back. */
static void window_add(uint64_t wall_ns, uint64_t duration_ns, bool is_new)
{
	const struct window *last = n_windows > 0 ? &windows[n_windows - 1] : NULL;
	struct window w = {.wall_ns = wall_ns, .duration_ns = duration_ns, .generation = last ? last->generation : 1};

	if (last && (is_new || wall_ns / DAY != last->wall_ns / DAY || wall_ns / 1000000 < last->wall_ns / 1000000))
		w.generation++;
	window_make(&w);
	assert_int_equal(sp_grow(&windows, &windows_capacity, n_windows + 1, sizeof(*windows)), 0);
	windows[n_windows++] = w;
}

static void run_end(void)
{
	if (n_runs > 0 && runs[n_runs - 1].end == n_windows)
		return;
	assert_true(n_runs < SP_COUNT(runs));
	runs[n_runs++] = (struct run){n_windows, below(2) == 0};
}

/* Some windows in a row, on full ten seconds or beside them. */
static uint64_t burst(uint64_t at_ns, uint32_t n, bool is_new)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t full = at_ns / (10 * S) * (10 * S) + 10 * S, length = full - at_ns;
		window_add(at_ns, length - below(2) * below(1000000), is_new && i == 0);
		at_ns = full + below(3) * below(1000000);
		if (below(50) == 0) /* the clock is set back, or forward */
			at_ns = below(2) ? at_ns + below(600) * S : at_ns - below(3000) * (S + 1);
	}
	return at_ns;
}

void history_make(void)
{
	uint64_t at = BEGIN + below_ns(DAY);
	bool is_new = false;

	n_windows = n_runs = 0;
	while (at < BEGIN + N_DAYS * DAY) {
		bool dense = at > BEGIN + (N_DAYS - 3) * DAY && below(3) == 0;
		at = burst(at, 1 + below(dense ? 500 : 25), is_new);
		is_new = below(6) == 0;
		if (is_new)
			run_end();
		at += below(4) ? below_ns(4 * HOUR) : below_ns(DAY + HOUR);
	}
	run_end();
	runs[n_runs - 1].is_killed = true; /* what is not rolled up remains so */
}

/* --- the store --- */
static uint32_t text(struct sp_profile *p, const char *format, uint32_t n)
{
	char name[32];

	snprintf(name, sizeof(name), format, n); /* NOLINT */
	return (uint32_t)sp_profile_add_string(p, name);
}

static uint32_t frame_of(struct sp_profile *p, uint32_t n)
{
	uint32_t library = n / N_FUNCTIONS, i = n % N_FUNCTIONS;
	struct sp_file file = {.kind = SP_FILE_ELF, .name = text(p, "lib%u.so", library), .tag = library + 1};
	struct sp_func func = {.name = text(p, "function_%u", n), .start = 0x1000 * (i + 1), .size = 16};
	struct sp_frame frame = {.offset = func.start};

	if (library % 2) {
		file.build_id_len = 20;
		memset(file.build_id, (int)library + 1, 20);
	}
	func.file = frame.file = (uint32_t)sp_profile_add_file(p, &file);
	uint32_t number = (uint32_t)sp_profile_add_frame(p, &frame);
	sp_profile_frame(p, number)->func = (uint32_t)sp_profile_add_func(p, &func);
	return number;
}

static int add_row(struct sp_profile *p, const struct row *row)
{
	uint32_t frames[MAX_FRAMES];
	struct sp_stack stack = {.stack_class = SP_CLASS_COMPLETE, .n_frames = row->n_frames, .frames = frames};
	struct sp_process process = {.pid = 100 + row->process, .comm = text(p, "prog%u", row->process), .start_ns = 7};
	struct sp_key key = {.comm = process.comm, .recipe = (uint32_t)sp_profile_add_string(p, "cpu")};
	int64_t values[2] = {row->n, row->n * CPU_OF_SAMPLE};

	for (uint32_t k = 0; k < row->n_frames; k++)
		frames[k] = frame_of(p, row->frames[k]);
	key.process = (uint32_t)sp_profile_add_process(p, &process);
	return sp_profile_add(p, (uint32_t)sp_profile_add_key(p, &key), (uint32_t)sp_profile_add_stack(p, &stack), 0,
			      values);
}

static int store_window(struct sp_store *s, const struct window *w)
{
	struct sp_store_window at = {.wall_ns = w->wall_ns,
				     .boot_ns = w->wall_ns - BEGIN + S,
				     .duration_ns = w->duration_ns,
				     .rate_millihertz = 19000,
				     .n_cpus = 2,
				     .n_lost = w->n_lost,
				     .source = "cpu"};
	struct sp_profile *p = NULL;
	int r = sp_profile_new(&p);

	r = r < 0 ? r : sp_profile_add_value_type(p, "samples", "count");
	r = r < 0 ? r : sp_profile_add_value_type(p, "cpu", "nanoseconds");
	for (uint32_t i = 0; i < w->n_rows && r >= 0; i++)
		r = add_row(p, &w->rows[i]);
	r = r < 0 ? r : sp_store_add(s, &at, p);
	sp_profile_free(p);
	return r;
}

/* In a child, so that it can be killed. */
static int write_run(size_t from, const struct run *run)
{
	struct sp_store_options o = {.retain_s = {2 * 86400, 14 * 86400, 400 * 86400}};
	struct sp_store *s = NULL;
	int r = sp_store_open(place, &o, &s);

	for (size_t i = from; i < run->end && r >= 0; i++)
		r = store_window(s, &windows[i]);
	if (r < 0)
		fprintf(stderr, "the store: %s\n", sp_error_text(r));
	if (!run->is_killed)
		sp_store_close(s);
	return r < 0;
}

void store_write(void)
{
	for (size_t i = 0; i < n_runs; i++) {
		int how = 0;
		pid_t pid = fork();
		if (pid == 0)
			_exit(write_run(i == 0 ? 0 : runs[i - 1].end, &runs[i]));
		assert_true(pid > 0 && waitpid(pid, &how, 0) == pid);
		assert_int_equal(how, 0);
	}
}

static bool has_file(uint64_t wall_ns, const char *resolution)
{
	time_t t = (time_t)(wall_ns / S);
	char path[128], day[16];
	struct tm tm;

	strftime(day, sizeof(day), "%Y-%m-%d", gmtime_r(&t, &tm));
	snprintf(path, sizeof(path), "%s/%s.%s.db", place, day, resolution);
	return access(path, F_OK) == 0;
}

/* When the record begins that has the window: its own, its minute's, its hour's. */

void record_make(void)
{
	uint64_t length = 0, last = 0;

	free(record_ns);
	record_ns = calloc(n_windows, sizeof(*record_ns));
	assert_non_null(record_ns);
	for (size_t i = 0; i < n_windows; i++) {
		const struct window *w = &windows[i], *before = i > 0 ? w - 1 : w;
		if (i == 0 || w->wall_ns / DAY != last)
			length = has_file(w->wall_ns, "10s") ? 0 : has_file(w->wall_ns, "1m") ? 60 * S : HOUR;
		last = w->wall_ns / DAY;
		bool same = i > 0 && length > 0 && w->generation == before->generation &&
			    w->wall_ns / length == before->wall_ns / length;
		record_ns[i] = same ? record_ns[i - 1] : w->wall_ns;
	}
}

/* --- expected results --- */
static bool is_before(const struct row *row, uint32_t k, uint32_t each)
{
	for (uint32_t i = 0; i < k; i++)
		if (row->frames[i] / each == row->frames[k] / each)
			return true;
	return false;
}

static void sum_row(struct sums *s, const struct row *row)
{
	s->n += row->n;
	s->of_process[row->process] += row->n;
	s->library[0][row->n_frames > 0 ? row->frames[0] / N_FUNCTIONS : N_LIBRARIES] += row->n;
	if (row->n_frames == 0)
		s->library[1][N_LIBRARIES] += row->n;
	else
		s->function[0][row->frames[0]] += row->n;
	for (uint32_t k = 0; k < row->n_frames; k++) {
		s->library[1][row->frames[k] / N_FUNCTIONS] += is_before(row, k, N_FUNCTIONS) ? 0 : row->n;
		s->function[1][row->frames[k]] += is_before(row, k, 1) ? 0 : row->n;
	}
}

struct sums sums_of(uint64_t from_ns, uint64_t to_ns)
{
	bool is_long = to_ns - from_ns >= 20 * HOUR;
	uint64_t from = is_long ? (from_ns + HOUR - 1) / HOUR * HOUR : from_ns;
	uint64_t to = is_long ? (to_ns + HOUR - 1) / HOUR * HOUR : to_ns;
	struct sums s = {0};

	for (size_t i = 0; i < n_windows; i++) {
		const struct window *w = &windows[i];
		if (record_ns[i] < from || record_ns[i] >= to)
			continue;
		s.from_ns = s.to_ns == 0 ? w->wall_ns : SP_MIN(s.from_ns, w->wall_ns);
		s.to_ns = SP_MAX(s.to_ns, w->wall_ns + w->duration_ns);
		s.covered_ns += w->duration_ns;
		s.n_lost += w->n_lost;
		for (uint32_t k = 0; k < w->n_rows; k++)
			sum_row(&s, &w->rows[k]);
	}
	return s;
}

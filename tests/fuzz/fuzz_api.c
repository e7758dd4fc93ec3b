/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_api.c: any bytes as a request of the agent's API: a route, and the parameters behind the question mark, which
 * are answered from a small store. The first byte says which route.
 *
 * The answer has one of the documented states; its body is one JSON value in valid UTF-8, whose brackets match, and of
 * an error says in a sentence why. Every eighth request is answered alike again, and then what one user alone may see
 * is asked for, too, which is of the same state, or refused; another eighth asks for that alone.
 */
#include "agent/answer/api.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sqlite.h"
#include "base/time.h"
#include "directory.h"
#include "profile/profile.h"
#include "sqlite_memory.h"

#include <string.h>

/* Three answers: each reads the days' files anew, and has a point for each of `width`. */
const struct fuzz_cost fuzz_cost = {4 << 20, 4000, 300000, 50000};

enum { AGAIN_EVERY = 8 }; /* what is not answered alike is so for many a request */

static const uint64_t begin_ns = 1763755200 * SP_NS_PER_S;
static struct sp_store *written, *store; /* who answers has it open for reading, beside who writes it */

static uint32_t frame_of(struct sp_profile *p, const char *library, const char *function)
{
	uint32_t name = (uint32_t)sp_profile_add_string(p, function);
	struct sp_file file = {.kind = SP_FILE_ELF, .name = (uint32_t)sp_profile_add_string(p, library)};
	uint32_t f = (uint32_t)sp_profile_add_file(p, &file);
	struct sp_func func = {.name = name, .file = f, .start = 16 * name, .size = 16};
	uint32_t number = (uint32_t)sp_profile_add_frame(p, &(struct sp_frame){.file = f, .offset = func.start});

	sp_profile_frame(p, number)->func = (uint32_t)sp_profile_add_func(p, &func);
	return number;
}

static void add_row(struct sp_profile *p, uint32_t uid, const char *function)
{
	uint32_t frames[2] = {frame_of(p, "liba.so", function), frame_of(p, "app", "main")};
	struct sp_process process = {.pid = uid + 2, .uid = uid, .comm = (uint32_t)sp_profile_add_string(p, "app")};
	struct sp_key key = {.process = (uint32_t)sp_profile_add_process(p, &process),
			     .comm = process.comm,
			     .recipe = (uint32_t)sp_profile_add_string(p, "cpu")};
	struct sp_stack stack = {.n_frames = 2, .frames = frames};
	const int64_t values[2] = {10, 100000000};

	require(sp_profile_add(p, (uint32_t)sp_profile_add_key(p, &key), (uint32_t)sp_profile_add_stack(p, &stack), 0,
			       values) == 0);
}

static void add_window(uint64_t at_s)
{
	struct sp_store_window w = {.wall_ns = begin_ns + at_s * SP_NS_PER_S,
				    .boot_ns = (1 + at_s) * SP_NS_PER_S,
				    .duration_ns = 10 * SP_NS_PER_S,
				    .rate_millihertz = 100000,
				    .n_cpus = 1,
				    .source = "cpu"};
	struct sp_profile *p = NULL;

	require(sp_profile_new(&p) == 0 && sp_profile_add_value_type(p, "samples", "count") == 0);
	require(sp_profile_add_value_type(p, "cpu", "nanoseconds") == 0);
	add_row(p, 0, "a\"<\xff>");
	add_row(p, 0, "b");
	add_row(p, 1, "c");
	require(sp_store_add(written, &w, p) == 0);
	sp_profile_free(p);
}

static void end(void)
{
	sp_store_close(store);
	sp_store_close(written);
}

static void begin(void)
{
	require(sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) == SQLITE_OK); /* no locks */
	fuzz_sqlite_memory();
	require(sp_store_open(fuzz_directory(), &(struct sp_store_options){0}, &written) == 0);
	add_window(0);
	add_window(600);
	add_window(610);
	require(sp_store_open(fuzz_directory(), &(struct sp_store_options){.read_only = true}, &store) == 0);
	require(atexit(end) == 0);
}

/* --- JSON --- */
static const char *end_of_string(const char *at)
{
	for (; *at != '"'; at++) {
		require((uint8_t)*at >= ' ');
		if (*at == '\\')
			require(*++at != '\0');
	}
	return at;
}

static void check_utf8(const char *text)
{
	for (const uint8_t *c = (const uint8_t *)text; *c; c++) {
		int n = *c < 0x80                 ? 0
			: *c >= 0xc2 && *c < 0xe0 ? 1
			: *c >= 0xe0 && *c < 0xf0 ? 2
			: *c >= 0xf0 && *c < 0xf5 ? 3
						  : -1;
		require(n >= 0);
		for (; n > 0; n--)
			require((*++c & 0xc0) == 0x80);
	}
}

static void check_json(const char *text, size_t size)
{
	char open[64];
	size_t depth = 0;

	require(strlen(text) == size && *text == '{');
	check_utf8(text);
	for (const char *c = text; *c; c++) {
		if (*c == '"') {
			c = end_of_string(c + 1);
		} else if (*c == '{' || *c == '[') {
			require(depth < sizeof(open));
			open[depth++] = *c;
		} else if (*c == '}' || *c == ']') {
			require(depth > 0 && open[--depth] == (*c == '}' ? '{' : '['));
			require(depth > 0 || c[1 + strspn(c + 1, "\n")] == '\0');
		}
	}
	require(depth == 0);
}

static char *ask(const char *path, const char *query, bool own_only, int *ret_status, size_t *ret_n)
{
	struct sp_api a = {.store = store, .now_ns = begin_ns + 620 * SP_NS_PER_S, .own_only = own_only, .uid = 1};
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_n);
	bool is_file;

	require(out && sp_api_answer(&a, path, query, out, ret_status, &is_file) == 0 && fclose(out) == 0);
	sp_error_clear();
	return text;
}

static int ask_and_check(const char *path, const char *query, bool own_only)
{
	size_t n;
	int status = 0;
	char *text = ask(path, query, own_only, &status, &n);

	require(status == 200 || status == 400 || status == 404 || (own_only && status == 403));
	require(status == 200 || strncmp(text, "{\"error\":\"", 10) == 0);
	check_json(text, n);
	free(text);
	return status;
}

static void ask_all_ways(const char *path, const char *query)
{
	size_t n, n_again;
	int status = 0, status_again = 0, status_own;
	char *once = ask(path, query, false, &status, &n), *again = ask(path, query, false, &status_again, &n_again);

	require(status == status_again && n == n_again && memcmp(once, again, n) == 0);
	free(once);
	free(again);
	require(ask_and_check(path, query, false) == status);
	status_own = ask_and_check(path, query, true);
	require(status_own == 403 || status_own == status || status_own == 404);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	static const char *const routes[] = {"overview",  "flame",     "events",     "diff", "matrix",
					     "libraries", "functions", "processes",  "live", "cgroups",
					     "x",         "flamerows", "containers", "users"};
	static unsigned n_runs;
	char path[64], *query;
	unsigned nth = n_runs++;

	if (!store)
		begin();
	if (size < 1 || size > SP_API_MAX_QUERY + 2)
		return 0;
	fuzz_sqlite_watched = nth % AGAIN_EVERY == 0;
	snprintf(path, sizeof(path), "/api/v1/%s", routes[data[0] % SP_COUNT(routes)]);
	query = strndup((const char *)data + 1, size - 1);
	if (nth % AGAIN_EVERY == 0)
		ask_all_ways(path, query);
	else
		(void)ask_and_check(path, query, nth % AGAIN_EVERY == 4);
	free(query);
	return 0;
}

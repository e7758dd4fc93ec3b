/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fill.c: a store of windows whose rows are given: `fill DIRECTORY <ROWS`.
 *
 * A line is `TIME PID COMM UID CGROUP STACK N`, with spaces between: seconds since 1970; frames from the root to the
 * leaf as NAME@LIBRARY with semicolons between, those of [kernel] last, and #BUILD-ID behind a library's name where it
 * has one; so many samples of 10 ms. Lines of one time are one window of 10 s; times rise. A line `gap FROM TO REASON`
 * is an event, and so is `event TIME KIND SUBJECT TEXT`.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/time.h"
#include "profile/profile.h"
#include "profile/window.h"
#include "store/store.h"

enum { MAX_FRAMES = 64, MAX_WORD = 256 };

static struct sp_profile *profile;
static struct sp_store *store;

static uint32_t must(int64_t number)
{
	if (number >= 0)
		return (uint32_t)number;
	fprintf(stderr, "fill: %s\n", sp_error_text((int)number));
	exit(1);
}

static uint32_t add_library(const char *name)
{
	struct sp_file f = {.kind = strcmp(name, "[kernel]") == 0 ? SP_FILE_KERNEL : SP_FILE_ELF};
	char path[MAX_WORD + 16], alone[MAX_WORD];
	const char *id = strchr(name, '#');

	snprintf(alone, sizeof(alone), "%.*s", (int)strcspn(name, "#"), name);
	name = alone;
	for (; id != NULL && f.build_id_len < SP_BUILD_ID_MAX &&
	       sscanf(id + 1, "%2hhx", &f.build_id[f.build_id_len]) == 1;
	     id += 2)
		f.build_id_len++;

	f.name = must(sp_profile_add_string(profile, name));
	snprintf(path, sizeof(path), "/usr/lib/%s", name);
	f.path = f.kind == SP_FILE_ELF ? must(sp_profile_add_string(profile, path)) : 0;
	f.tag = f.name;
	return must(sp_profile_add_file(profile, &f));
}

static uint32_t add_frame(char *word)
{
	char *at = strrchr(word, '@');

	if (at == NULL)
		must(-EINVAL);
	*at = '\0';
	bool is_kernel = strcmp(at + 1, "[kernel]") == 0;
	struct sp_func func = {.file = add_library(at + 1)};
	func.name = func.linkage_name = must(sp_profile_add_string(profile, word));
	func.start = func.vaddr = 16 * (sp_hash_bytes(word, strlen(word), 0) >> 36); /* the same in each store */
	func.size = 16;
	struct sp_frame f = {.file = func.file, .offset = func.start, .flags = is_kernel ? SP_FRAMEF_KERNEL : 0};
	uint32_t number = must(sp_profile_add_frame(profile, &f));
	sp_profile_frame(profile, number)->func = must(sp_profile_add_func(profile, &func));
	return number;
}

static void add_row(uint32_t key, char *stack, int64_t n)
{
	uint32_t frames[MAX_FRAMES], at = MAX_FRAMES, n_kernel = 0;
	int64_t values[2] = {n, n * 10000000};

	for (char *word, *rest = stack; (word = strsep(&rest, ";")) != NULL && at > 0;) {
		frames[--at] = add_frame(word);
		n_kernel += (sp_profile_frame(profile, frames[at])->flags & SP_FRAMEF_KERNEL) != 0;
	}
	struct sp_stack kernel = {.n_frames = n_kernel, .frames = frames + at};
	struct sp_stack user = {.n_frames = MAX_FRAMES - at - n_kernel, .frames = frames + at + n_kernel};
	uint32_t k = n_kernel > 0 ? must(sp_profile_add_stack(profile, &kernel)) : 0;
	must(sp_profile_add(profile, key, must(sp_profile_add_stack(profile, &user)), k, values));
}

static void add_window(uint64_t time_s)
{
	struct sp_store_window w = {.wall_ns = time_s * SP_NS_PER_S,
				    .boot_ns = time_s * SP_NS_PER_S,
				    .duration_ns = 10 * SP_NS_PER_S,
				    .rate_millihertz = 100000,
				    .n_cpus = 1,
				    .source = "cpu"};

	must(sp_store_add(store, &w, profile));
	sp_profile_clear_rows(profile);
}

static void add_event(uint64_t from_s, uint64_t to_s, const char *kind, const char *subject, const char *text)
{
	struct sp_store_event e = {.from_ns = from_s * SP_NS_PER_S,
				   .to_ns = to_s * SP_NS_PER_S,
				   .kind = kind,
				   .subject = subject,
				   .text = text,
				   .data = ""};

	must(sp_store_event_add(store, &e));
}

static void add_line(uint64_t *time_s, const char *line)
{
	char comm[MAX_WORD], cgroup[MAX_WORD], stack[4096];
	uint64_t at, to;
	uint32_t pid, uid;
	int64_t n;

	if (sscanf(line, "gap %" SCNu64 " %" SCNu64 " %255s", &at, &to, comm) == 3) {
		add_event(at, to, "gap", comm, comm);
		return;
	}
	if (sscanf(line, "event %" SCNu64 " %255s %255s %4095[^\n]", &at, comm, cgroup, stack) == 4) {
		add_event(at, at, comm, cgroup, stack);
		return;
	}
	if (sscanf(line, "%" SCNu64 " %" SCNu32 " %255s %" SCNu32 " %255s %4095s %" SCNd64, &at, &pid, comm, &uid,
		   cgroup, stack, &n) != 7)
		must(sp_fail_said(-EINVAL, "not a row: %s", line));
	if (*time_s != 0 && at != *time_s)
		add_window(*time_s);
	*time_s = at;
	struct sp_process process = {.pid = pid, .ns_pid = pid, .uid = uid, .exec_id = pid, .exe = add_library(comm)};
	process.comm = must(sp_profile_add_string(profile, comm));
	process.cgroup_path = must(sp_profile_add_string(profile, cgroup));
	struct sp_key key = {.process = must(sp_profile_add_process(profile, &process)), .comm = process.comm};
	key.recipe = must(sp_profile_add_string(profile, "cpu"));
	add_row(must(sp_profile_add_key(profile, &key)), stack, n);
}

int main(int argc, char **argv)
{
	struct sp_store_options o = {0};
	uint64_t time_s = 0;
	char line[8192];

	if (argc != 2) {
		fputs("fill DIRECTORY <ROWS\n", stderr);
		return 2;
	}
	must(sp_profile_new(&profile));
	must(sp_profile_add_value_type(profile, "samples", "count"));
	must(sp_profile_add_value_type(profile, "cpu", "nanoseconds"));
	must(sp_store_open(argv[1], &o, &store));
	while (fgets(line, sizeof(line), stdin) != NULL)
		add_line(&time_s, line);
	if (time_s != 0)
		add_window(time_s);
	sp_store_close(store);
	sp_profile_free(profile);
	return 0;
}

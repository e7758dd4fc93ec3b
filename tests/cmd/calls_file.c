/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls-file: files of calls for the scripts here, without the command line of soprof.
 *   calls-file prepare FILE site|object[-process|-thread] LIBRARY...   makes or continues it
 *   calls-file rows FILE                             its rows: library function calls caller site offset
 *   calls-file sums FILE                             calls of each function: function calls
 *   calls-file processes FILE                        calls of each process: pid name program calls tid
 *   calls-file marks FILE                            functions whose address was seen to be taken
 *   calls-file functions FILE                        all: library function offset, 1 if its address was taken
 *   calls-file counters FILE                         name value
 *   calls-file time FILE                             programs that start from now on time their calls
 *   calls-file times FILE                            of each function: function, calls, timed, ns of all together
 *   calls-file tear FILE                             as if a program had been killed while it wrote its first row
 *   calls-file untimed FILE                          functions that are not timed
 */
#include "base/error.h"
#include "link/file.h"
#include "link/format.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail(int r)
{
	fprintf(stderr, "calls-file: %s\n", sp_error_text(r));
	return 1;
}

static const char *path_of(const struct sp_calls_snapshot *s, uint32_t library)
{
	return library == SP_CALLS_NONE ? "-" : s->libraries[library].path;
}

static void print_rows(const struct sp_calls_snapshot *s)
{
	for (size_t i = 0; i < s->n_arcs; i++) {
		const struct sp_calls_arc *a = &s->arcs[i];
		const struct sp_calls_callee *f = &s->callees[a->callee];
		printf("%s\t%s\t%" PRIu64 "\t%s\t%s\t0x%" PRIx64 "\t0x%" PRIx64 "\n", path_of(s, f->library), f->name,
		       a->n_calls, path_of(s, a->caller), path_of(s, a->site_library), a->site_offset, f->offset);
	}
}

static int print_sums(const struct sp_calls_snapshot *s)
{
	uint64_t *sums = calloc(s->n_callees + 1, sizeof(*sums));

	if (sums == NULL)
		return 1;
	for (size_t i = 0; i < s->n_arcs; i++)
		sums[s->arcs[i].callee] += s->arcs[i].n_calls;
	for (size_t i = 0; i < s->n_callees; i++)
		if (sums[i] > 0)
			printf("%s %" PRIu64 "\n", s->callees[i].name, sums[i]);
	free(sums);
	return 0;
}

static int print_processes(const struct sp_calls_snapshot *s)
{
	uint64_t *sums = calloc(s->n_whos + 1, sizeof(*sums));

	if (sums == NULL)
		return 1;
	for (size_t i = 0; i < s->n_arcs; i++)
		sums[s->arcs[i].who == SP_CALLS_NONE ? s->n_whos : s->arcs[i].who] += s->arcs[i].n_calls;
	for (size_t i = 0; i < s->n_whos; i++)
		if (sums[i] > 0)
			printf("%" PRIu32 " %s %s %" PRIu64 " %" PRIu32 "\n", s->whos[i].pid, s->whos[i].name,
			       path_of(s, s->whos[i].program), sums[i], s->whos[i].tid);
	if (sums[s->n_whos] > 0)
		printf("none %" PRIu64 "\n", sums[s->n_whos]);
	free(sums);
	return 0;
}

static int print_times(const struct sp_calls_snapshot *s)
{
	struct {
		uint64_t calls, timed, ns;
	} *sums = calloc(s->n_callees + 1, sizeof(*sums));

	if (sums == NULL)
		return 1;
	for (size_t i = 0; i < s->n_arcs; i++)
		sums[s->arcs[i].callee].calls += s->arcs[i].n_calls;
	for (size_t i = 0; i < s->n_times; i++) {
		const struct sp_calls_time *t = &s->times[i];
		*(t->high_ns ? &sums[t->callee].timed : &sums[t->callee].ns) += t->n;
	}
	for (size_t i = 0; i < s->n_callees; i++)
		printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", s->callees[i].name, sums[i].calls, sums[i].timed,
		       sums[i].ns);
	free(sums);
	return 0;
}

static int time_calls(const char *path)
{
	uint64_t hz;
	int r = sp_calls_ticks(&hz);

	if (r == 0)
		r = sp_calls_time(path, hz);
	return r < 0 ? fail(r) : 0;
}

static int tear(const char *path)
{
	struct sp_calls_block blocks[SP_CALLS_MAX_BLOCKS];
	int fd = open(path, O_RDWR | O_CLOEXEC);
	bool done = false;

	if (fd < 0 || pread(fd, blocks, sizeof(blocks), SP_CALLS_PAGE) != sizeof(blocks))
		return 1;
	for (size_t i = 0; i < SP_CALLS_MAX_BLOCKS && !done; i++)
		if (blocks[i].state == SP_CALLS_READY && blocks[i].kind == SP_CALLS_ROW)
			done = pwrite(fd, &(uint32_t){SP_CALLS_FREE}, sizeof(uint32_t), (off_t)blocks[i].offset) ==
			       sizeof(uint32_t);
	close(fd);
	return !done;
}

static void print_untimed(const struct sp_calls_snapshot *s)
{
	for (size_t i = 0; i < s->n_callees; i++)
		if (s->callees[i].untimed)
			printf("%s\n", s->callees[i].name);
}

static void print_marks(const struct sp_calls_snapshot *s)
{
	for (size_t i = 0; i < s->n_callees; i++)
		if (s->callees[i].address_taken)
			printf("%s\n", s->callees[i].name);
}

static void print_functions(const struct sp_calls_snapshot *s)
{
	for (size_t i = 0; i < s->n_callees; i++) {
		const struct sp_calls_callee *f = &s->callees[i];
		printf("%s\t%s\t0x%" PRIx64 "\t%d\n", path_of(s, f->library), f->name, f->offset, f->address_taken);
	}
}

static void print_counters(const struct sp_calls_snapshot *s)
{
	static const char *const names[] = {"processes", "folded",    "no_room", "no_block",
					    "lost",      "uncounted", "again",   "untimed"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		printf("%s %" PRIu64 "\n", names[i], s->counters[i]);
	printf("torn %" PRIu64 "\nlibraries %zu\narcs %zu\n", s->n_torn, s->n_libraries, s->n_arcs);
}

int main(int argc, char **argv)
{
	struct sp_calls_snapshot s = {0};
	bool made;
	int r;

	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "prepare") == 0 && argc > 4) {
		const struct sp_calls_what what = {.libraries = (const char *const *)argv + 4,
						   .n_libraries = (size_t)argc - 4,
						   .depth = strncmp(argv[3], "site", 4) == 0 ? SP_CALLS_BY_SITE
											     : SP_CALLS_BY_OBJECT,
						   .apart = strstr(argv[3], "-thread") != NULL    ? SP_CALLS_BY_THREAD
							    : strstr(argv[3], "-process") != NULL ? SP_CALLS_BY_PROCESS
												  : SP_CALLS_TOGETHER};
		r = sp_calls_prepare(argv[2], &what, &made);
		return r < 0 ? fail(r) : 0;
	}
	if (strcmp(argv[1], "time") == 0)
		return time_calls(argv[2]);
	if (strcmp(argv[1], "tear") == 0)
		return tear(argv[2]);
	r = sp_calls_read(argv[2], &s);
	if (r < 0)
		return fail(r);
	if (strcmp(argv[1], "rows") == 0)
		print_rows(&s);
	else if (strcmp(argv[1], "sums") == 0)
		r = print_sums(&s);
	else if (strcmp(argv[1], "processes") == 0)
		r = print_processes(&s);
	else if (strcmp(argv[1], "marks") == 0)
		print_marks(&s);
	else if (strcmp(argv[1], "functions") == 0)
		print_functions(&s);
	else if (strcmp(argv[1], "times") == 0)
		r = print_times(&s);
	else if (strcmp(argv[1], "untimed") == 0)
		print_untimed(&s);
	else
		print_counters(&s);
	sp_calls_done(&s);
	return r;
}

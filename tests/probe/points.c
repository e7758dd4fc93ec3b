/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * points.c: prints where a file's functions would be probed, for tests and for people.
 *
 *     points [inner] [returns] [nop5] [arguments=MASK] FILE [GLOB | 0xADDRESS]...
 *
 * A line each: place, function (both in the file), cost, bytes pushed, "loops" or "-", names. Then one of counts.
 */
#include "base/error.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "probe/point.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool take_word(struct sp_probe_what *what, const char *word)
{
	if (strcmp(word, "inner") == 0)
		what->inner = true;
	else if (strcmp(word, "returns") == 0)
		what->returns = true;
	else if (strcmp(word, "nop5") == 0)
		what->nop5_is_fast = true;
	else if (strncmp(word, "arguments=", 10) == 0)
		what->arguments = (uint8_t)strtoul(word + 10, NULL, 0);
	else
		return false;
	return true;
}

static void print_point(const struct sp_probe_point *p)
{
	static const char *const costs[] = {"emulated", "nop5", "stepped"};
	printf("%" PRIx64 " %" PRIx64 " %s %u %s", p->offset, p->function, costs[p->cost], p->pushed,
	       p->loops ? "loops" : "-");
	for (uint32_t i = 0; i < p->n_names; i++)
		printf(" %s", p->names[i]);
	putchar('\n');
}

static void print_set(const struct sp_probe_set *s)
{
	for (size_t i = 0; i < s->n; i++)
		print_point(&s->points[i]);
	printf("functions %zu points %zu emulated %zu nop5 %zu stepped %zu moved %zu loops %zu aliases %zu ifuncs %zu "
	       "unsure "
	       "%zu refused",
	       s->n_functions, s->n, s->n_cost[0], s->n_cost[1], s->n_cost[2], s->n_moved, s->n_loops, s->n_aliases,
	       s->n_ifuncs, s->n_ifuncs_unsure);
	for (unsigned i = 0; i < SP_PROBE_N_REFUSALS; i++)
		printf(" %zu", s->refused[i]);
	putchar('\n');
}

static int find(const char *path, const struct sp_probe_what *what, struct sp_probe_set *set)
{
	struct sp_elf *e;
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : sp_elf_open_fd(fd, &e);
	if (r < 0)
		return sp_fail(r, "open %s", path);
	r = sp_probe_points(e, what, set);
	sp_elf_close(e);
	return r;
}

int main(int argc, char **argv)
{
	struct sp_probe_what what = {0};
	struct sp_probe_set set;
	const char *globs[64];
	uint64_t addresses[64];
	int i = 1;
	while (i < argc && take_word(&what, argv[i]))
		i++;
	if (i == argc || argc - i > 64)
		return 2;
	const char *path = argv[i++];
	for (; i < argc; i++) {
		if (strncmp(argv[i], "0x", 2) == 0)
			addresses[what.n_addresses++] = strtoull(argv[i], NULL, 16);
		else
			globs[what.n_globs++] = argv[i];
	}
	what.globs = globs;
	what.addresses = addresses;
	int r = find(path, &what, &set);
	if (r < 0) {
		fprintf(stderr, "%s\n", sp_error_text(r));
		return 1;
	}
	print_set(&set);
	sp_probe_set_done(&set);
	return 0;
}

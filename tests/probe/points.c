/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * points.c: prints where a file's functions would be probed, and its marks for probes, for tests and for people.
 *
 *     points [inner] [returns] [nop5] [arguments=MASK] FILE [GLOB | 0xADDRESS]...
 *     points usdt FILE
 *
 * A line each: place, function (both in the file), cost, bytes pushed, "loops" or "-", names. Then those that are
 * refused, with the reason, and a line of counts.
 */
#include "base/error.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "probe/point.h"
#include "probe/usdt.h"

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
	for (size_t i = 0; i < s->n_left_out; i++)
		printf("%" PRIx64 " %" PRIx64 " refused %s\n", s->left_out[i].function, s->left_out[i].function,
		       sp_probe_refusal_text(s->left_out[i].why));
	printf("functions %zu points %zu emulated %zu nop5 %zu stepped %zu moved %zu loops %zu aliases %zu ifuncs %zu "
	       "unsure "
	       "%zu refused",
	       s->n_functions, s->n, s->n_cost[0], s->n_cost[1], s->n_cost[2], s->n_moved, s->n_loops, s->n_aliases,
	       s->n_ifuncs, s->n_ifuncs_unsure);
	for (unsigned i = 0; i < SP_PROBE_N_REFUSALS; i++)
		printf(" %zu", s->refused[i]);
	putchar('\n');
}

static int print_marks(struct sp_elf *e)
{
	struct sp_usdts u;
	int r = sp_usdt_find(e, &u);
	if (r < 0)
		return r;
	for (size_t i = 0; i < u.n; i++)
		printf("%" PRIx64 " %" PRIx64 " %s %s %s\n", u.at[i].offset, u.at[i].semaphore, u.at[i].provider,
		       u.at[i].name, u.at[i].arguments);
	printf("marks %zu bad %zu\n", u.n, u.n_bad);
	sp_usdts_done(&u);
	return 0;
}

static int show(const char *path, const struct sp_probe_what *what, bool marks)
{
	struct sp_probe_set set;
	struct sp_elf *e;
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : sp_elf_open_fd(fd, &e);
	if (r < 0)
		return sp_fail(r, "open %s", path);
	r = marks ? print_marks(e) : sp_probe_points(e, what, &set);
	sp_elf_close(e);
	if (r < 0 || marks)
		return r;
	print_set(&set);
	sp_probe_set_done(&set);
	return 0;
}

int main(int argc, char **argv)
{
	struct sp_probe_what what = {0};
	bool marks = argc > 1 && strcmp(argv[1], "usdt") == 0;
	const char *globs[64];
	uint64_t addresses[64];
	int i = marks ? 2 : 1;
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
	int r = show(path, &what, marks);
	if (r < 0)
		fprintf(stderr, "%s\n", sp_error_text(r));
	return r < 0;
}

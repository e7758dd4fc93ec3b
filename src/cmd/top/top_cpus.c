/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/top/top_cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

enum { MAX_CPUS = 8192, CHUNK = 1 << 16, MAX_BYTES = 4 << 20 };

void sp_top_cpus_open(struct sp_top_cpus *c)
{
	*c = (struct sp_top_cpus){.fd = open("/proc/stat", O_RDONLY | O_CLOEXEC)};
}

void sp_top_cpus_done(struct sp_top_cpus *c)
{
	if (c->fd >= 0)
		close(c->fd);
	free(c->cpus);
	free(c->before);
	*c = (struct sp_top_cpus){.fd = -1};
}

/* The CPU's share since the reading before, which is replaced; false: there was none. */
static bool cpu_advance(struct sp_top_cpus *c, uint32_t number, const struct sp_top_cpu_time *now,
			struct sp_top_cpu *ret_cpu)
{
	struct sp_top_cpu_time *before = &c->before[number];
	uint64_t all = now->all - before->all;
	bool is_known =
	    before->all && now->all > before->all && now->programs >= before->programs && now->kernel >= before->kernel;

	if (is_known)
		*ret_cpu = (struct sp_top_cpu){.number = number,
					       .programs = (double)(now->programs - before->programs) / (double)all,
					       .kernel = (double)(now->kernel - before->kernel) / (double)all};
	*before = *now;
	return is_known;
}

/* "cpu3 user nice system idle iowait irq softirq steal guest guest_nice": the last two are in the first two, too. */
static bool line_parse(const char *line, uint32_t *ret_number, struct sp_top_cpu_time *ret_time)
{
	uint64_t programs, nice, kernel, idle, iowait = 0, irq = 0, softirq = 0, steal = 0;

	if (sscanf(line,
		   "cpu%" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64,
		   ret_number, &programs, &nice, &kernel, &idle, &iowait, &irq, &softirq, &steal) < 5)
		return false;
	*ret_time = (struct sp_top_cpu_time){.programs = programs + nice, .kernel = kernel + irq + softirq};
	ret_time->all = ret_time->programs + ret_time->kernel + idle + iowait + steal;
	return *ret_number < MAX_CPUS;
}

void sp_top_cpus_read(struct sp_top_cpus *c, const char *text)
{
	c->n = 0;
	for (const char *line = strstr(text, "\ncpu"); line; line = strstr(line + 1, "\ncpu")) {
		struct sp_top_cpu_time now;
		uint32_t number;

		if (!line_parse(line + 1, &number, &now))
			continue;
		if (sp_grow(&c->before, &c->before_capacity, (size_t)number + 1, sizeof(*c->before)) < 0 ||
		    sp_grow(&c->cpus, &c->capacity, c->n + 1, sizeof(*c->cpus)) < 0)
			return;
		for (; c->n_before <= number; c->n_before++)
			c->before[c->n_before] = (struct sp_top_cpu_time){0};
		c->n += cpu_advance(c, number, &now, &c->cpus[c->n]);
	}
}

void sp_top_cpus_take(struct sp_top_cpus *c)
{
	SP_FREE char *text = NULL;
	size_t capacity = 0, n = 0;
	ssize_t got = 1;

	while (c->fd >= 0 && got > 0 && n < MAX_BYTES) {
		if (sp_grow(&text, &capacity, n + CHUNK + 1, 1) < 0)
			return;
		got = pread(c->fd, text + n, CHUNK, (off_t)n);
		n += got > 0 ? (size_t)got : 0;
	}
	if (!n)
		return;
	text[n] = '\0';
	sp_top_cpus_read(c, text);
}

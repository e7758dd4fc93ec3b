/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pidns.c: a session inside a pid namespace. The user gives and sees the numbers that our /proc shows, while the kernel
 * half's filters use those of the first namespace.
 */
#include "base/error.h"
#include "base/mem.h"
#include "capture/kernel.h"
#include "capture/priv.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_NAMESPACE = 0xEFFFFFFC, MAX_PAIRS = 1 << 22 /* PID_MAX_LIMIT */ };

static struct bpf_program *program_find(const struct sp_capture *c, const char *name)
{
	return bpf_object__find_program_by_name(c->recipe.object, name);
}

void sp_pidns_choose(struct sp_capture *c)
{
	struct stat own;

	c->in_pid_ns = !stat("/proc/self/ns/pid", &own) && own.st_ino != FIRST_NAMESPACE;
	bpf_program__set_autoload(program_find(c, "sp_own_pid_ns"), c->in_pid_ns);
	bpf_program__set_autoload(program_find(c, "sp_tell_pids"), c->in_pid_ns);
}

/* How many levels our own namespace lies below that of /proc: NSpid has our number in each of these. */
static uint64_t levels_up(void)
{
	SP_FCLOSE FILE *f = fopen("/proc/self/status", "re");
	char line[1024];
	uint64_t n = 0;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "NSpid:", 6))
			for (char *tab = line; (tab = strchr(tab, '\t')); tab++)
				n++;
	return n ? n - 1 : 0;
}

int sp_pidns_check(struct sp_capture *c)
{
	uint64_t up = c->in_pid_ns ? levels_up() : 0;
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &up, .ctx_size_in = sizeof(up));

	if (!c->in_pid_ns)
		return 0;
	if (bpf_prog_test_run_opts(bpf_program__fd(program_find(c, "sp_own_pid_ns")), &run) || !run.retval)
		return sp_fail_said(-EOPNOTSUPP, "cannot tell which pid namespace /proc is of");
	c->in_pid_ns = run.retval > 1; /* else /proc shows the first namespace */
	return 0;
}

/* --- numbers --- */
static int pair_add(struct sp_capture *c, const struct sp_pid_pair *pair)
{
	if (c->pid_pairs.n_number >= MAX_PAIRS)
		return sp_fail_said(-E2BIG, "too many processes in this pid namespace");
	return sp_numbers_set(&c->pid_pairs, &pair->shown, sizeof(pair->shown), pair->number);
}

/* Reads pairs from the iterator, whose output comes in pieces that may end anywhere. */
static int pairs_read(struct sp_capture *c, int fd)
{
	struct sp_pid_pair pairs[256];
	size_t have = 0;
	ssize_t n;
	int r = 0;

	while (r >= 0 && ((n = read(fd, (char *)pairs + have, sizeof(pairs) - have)) > 0 ||
			  (n < 0 && (errno == EAGAIN || errno == EINTR)))) {
		size_t whole, i;

		have += n > 0 ? (size_t)n : 0;
		whole = have / sizeof(*pairs);
		for (i = 0; r >= 0 && i < whole; i++)
			r = pair_add(c, &pairs[i]);
		have -= whole * sizeof(*pairs);
		memmove(pairs, pairs + whole, have);
	}
	return r < 0 ? r : n < 0 ? -errno : 0;
}

static int pairs_renew(struct sp_capture *c)
{
	struct bpf_link *link = bpf_program__attach_iter(program_find(c, "sp_tell_pids"), NULL);
	int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -errno, r = fd;

	sp_numbers_done(&c->pid_pairs);
	c->pid_pairs = (struct sp_numbers){0};
	if (fd >= 0)
		r = sp_numbers_init(&c->pid_pairs);
	if (r >= 0)
		r = pairs_read(c, fd);
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return r < 0 ? sp_fail(r, "list the processes of this pid namespace") : 0;
}

/* One pass reads all numbers, so that numbers which are given together need only one. */
int sp_pidns_number(struct sp_capture *c, uint32_t shown, uint32_t *ret_number)
{
	uint32_t number = c->pid_pairs.bytes ? sp_numbers_find(&c->pid_pairs, &shown, sizeof(shown)) : 0;
	int r = 0;

	if (!c->in_pid_ns) {
		*ret_number = shown;
		return 0;
	}
	if (!number) {
		r = pairs_renew(c);
		number = r < 0 ? 0 : sp_numbers_find(&c->pid_pairs, &shown, sizeof(shown));
	}
	if (!number)
		return r < 0 ? r : sp_fail_said(-ESRCH, "there is no process %u", shown);
	*ret_number = number;
	return 0;
}

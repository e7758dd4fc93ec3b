/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cost.c: what a command costs, seen from outside of it.
 *
 *   cost FILE PREFIX CMD...           runs CMD; writes to FILE, as `name value` lines: wall_s and cpu_s (user + system
 * of CMD and all that it starts), bpf_ns and bpf_runs (run time and runs of its BPF programs whose names begin with
 * PREFIX), first_ms (from before the execve to the first run of such a program); and for each of these a line `program
 * NAME NS RUNS`; exits as CMD does
 *   cost --first FILE PREFIX CMD...   the same, but ends CMD by SIGINT after that first run
 *
 * The kernel keeps the run times only while somebody asks for them (BPF_ENABLE_STATS): this does. A program is CMD's if
 * CMD's process holds a descriptor of it, so that others may run the same tool meanwhile; it is held open here, so that
 * its counts outlive CMD. Processes that CMD leaves behind are waited for (as subreaper), so that their time counts.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_HELD = 256, MAX_LOOKS = 100, POLL_NS = 300000, POLL_RARELY_NS = 5000000 };

struct held {
	uint32_t id;
	int fd;
	char name[BPF_OBJ_NAME_LEN];
	int n_looks; /* in which it was not CMD's: a loader gets its descriptor a moment after the program has its id */
	bool ours;
};
struct cost {
	const char *file, *prefix;
	pid_t pid;
	struct held held[MAX_HELD];
	int n;
	uint32_t last_id; /* ids rise: what was loaded before is not looked at again */
	double began, first_ms;
	uint64_t bpf_ns, bpf_runs;
};

static int bpf(int cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void enable_stats(void)
{
	union bpf_attr attr = {.enable_stats.type = BPF_STATS_RUN_TIME};

	if (bpf(BPF_ENABLE_STATS, &attr) < 0) {
		perror("cost: BPF_ENABLE_STATS");
		exit(1);
	}
}

static bool info_of(int fd, struct bpf_prog_info *info)
{
	union bpf_attr attr = {.info = {.bpf_fd = (uint32_t)fd, .info_len = sizeof(*info)}};

	memset(info, 0, sizeof(*info));
	attr.info.info = (uint64_t)(uintptr_t)info;
	return bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) == 0;
}

static void hold_add(struct cost *c, uint32_t id, int fd, const char *name)
{
	struct held *h = &c->held[c->n++];

	*h = (struct held){.id = id, .fd = fd};
	memcpy(h->name, name, sizeof(h->name));
}

static void hold(struct cost *c, uint32_t id)
{
	union bpf_attr attr = {.prog_id = id};
	struct bpf_prog_info info;
	int fd = bpf(BPF_PROG_GET_FD_BY_ID, &attr);

	if (fd < 0)
		return;
	if (c->n < MAX_HELD && info_of(fd, &info) && strncmp(info.name, c->prefix, strlen(c->prefix)) == 0)
		hold_add(c, id, fd, info.name);
	else
		close(fd);
}

/* Programs that were loaded since the last look; `take` = false only moves on. */
static void look(struct cost *c, bool take)
{
	union bpf_attr attr = {.start_id = c->last_id};

	while (bpf(BPF_PROG_GET_NEXT_ID, &attr) == 0) {
		c->last_id = attr.next_id;
		if (take)
			hold(c, attr.next_id);
		attr = (union bpf_attr){.start_id = c->last_id};
	}
}

static bool is_program(int dir, const char *name, uint32_t id)
{
	FILE *f = NULL;
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	unsigned int found;
	char line[128];
	bool is = false;

	if (fd < 0 || !(f = fdopen(fd, "r")))
		return false;
	while (!is && fgets(line, sizeof(line), f))
		is = sscanf(line, "prog_id: %u", &found) == 1 && found == id;
	fclose(f);
	return is;
}

static bool holds(pid_t pid, uint32_t id)
{
	char path[64];
	struct dirent *e;
	DIR *d;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	d = opendir(path);
	while (d && !found && (e = readdir(d)))
		found = is_program(dirfd(d), e->d_name, id);
	if (d)
		closedir(d);
	return found;
}

/* Tells CMD's programs from those that others loaded meanwhile, and lets the latter go. */
static void sort_out(struct cost *c)
{
	int n = 0;

	for (int i = 0; i < c->n; i++) {
		struct held *h = &c->held[i];

		h->ours = h->ours || holds(c->pid, h->id);
		if (h->ours || h->n_looks++ < MAX_LOOKS)
			c->held[n++] = *h;
		else
			close(h->fd);
	}
	c->n = n;
}

static void sum(struct cost *c)
{
	struct bpf_prog_info info;

	c->bpf_ns = c->bpf_runs = 0;
	for (int i = 0; i < c->n; i++) {
		if (!c->held[i].ours || !info_of(c->held[i].fd, &info))
			continue;
		c->bpf_ns += info.run_time_ns;
		c->bpf_runs += info.run_cnt;
	}
}

/* Until CMD has ended; its status. */
static int follow(struct cost *c, bool only_first)
{
	int status;

	while (waitpid(c->pid, &status, WNOHANG) == 0) {
		nanosleep(&(struct timespec){.tv_nsec = c->first_ms > 0 ? POLL_RARELY_NS : POLL_NS}, NULL);
		look(c, true);
		sort_out(c);
		if (c->first_ms > 0)
			continue;
		sum(c);
		if (!c->bpf_runs)
			continue;
		c->first_ms = now_ms() - c->began;
		if (only_first)
			kill(c->pid, SIGINT);
	}
	return status;
}

static void programs_tell(const struct cost *c, FILE *f)
{
	struct bpf_prog_info info;

	for (int i = 0; i < c->n; i++)
		if (c->held[i].ours && info_of(c->held[i].fd, &info))
			fprintf(f, "program %s %llu %llu\n", *c->held[i].name ? c->held[i].name : "-",
				(unsigned long long)info.run_time_ns, (unsigned long long)info.run_cnt);
}

static void tell(struct cost *c, double wall_ms)
{
	struct rusage u;
	FILE *f;

	while (wait(NULL) > 0 || errno == EINTR)
		;
	getrusage(RUSAGE_CHILDREN, &u);
	sum(c);
	f = fopen(c->file, "w");
	if (!f) {
		perror(c->file);
		exit(1);
	}
	fprintf(f, "wall_s %.6f\ncpu_s %.6f\nbpf_ns %llu\nbpf_runs %llu\nfirst_ms %.3f\n", wall_ms / 1e3,
		(double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		    (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6,
		(unsigned long long)c->bpf_ns, (unsigned long long)c->bpf_runs, c->first_ms);
	programs_tell(c, f);
	fclose(f);
}

static int cost(struct cost *c, char **command, bool only_first)
{
	int status;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a benchmark that is ended leaves nothing behind */
	enable_stats();
	look(c, false);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	c->began = now_ms();
	c->pid = fork();
	if (c->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	status = follow(c, only_first);
	tell(c, now_ms() - c->began);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	static struct cost c;
	bool only_first = argc > 1 && strcmp(argv[1], "--first") == 0;

	argv += only_first;
	argc -= only_first;
	if (argc < 4) {
		fputs("usage: cost [--first] FILE PREFIX COMMAND...\n", stderr);
		return 2;
	}
	c.file = argv[1];
	c.prefix = argv[2];
	return cost(&c, argv + 3, only_first);
}

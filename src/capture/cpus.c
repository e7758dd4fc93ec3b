/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpus.c: CPUs that come, or come back, while a session runs. The event of a CPU that goes offline stays dead, and perf
 * does not report that. But the kernel sends a message for each CPU that comes or goes to those who listen to its
 * device events (netlink(7), NETLINK_KOBJECT_UEVENT), also for one that was away for a moment only. Who may not listen
 * (the packaged service may open sockets of AF_UNIX alone) looks once a second which are there; of a moment between two
 * looks he does not know, but for a suspension, which takes all CPUs but one offline and back.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/priv.h"
#include "proc/process.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOK_AGAIN_NS SP_NS_PER_S
#define SUSPENDED_NS (SP_NS_PER_S / 10)
enum { KERNEL_GROUP = 1 };

/*
 * Other devices come and go all the time (containers' network devices): only messages that begin with "onli" or "offl"
 * wake us.
 */
static void filter(int socket)
{
	static struct sock_filter program[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 'o' << 24 | 'n' << 16 | 'l' << 8 | 'i', 1, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 'o' << 24 | 'f' << 16 | 'f' << 8 | 'l', 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog p = {.len = SP_COUNT(program), .filter = program};

	setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &p, sizeof(p)); /* it only saves wake-ups */
}

/* At least so long, and longer only if we were held up between the two clocks. */
static uint64_t suspended_ns(void)
{
	uint64_t awake = sp_time_ns(CLOCK_MONOTONIC);

	return sp_time_ns(CLOCK_BOOTTIME) - awake;
}

void sp_cpus_begin(struct sp_capture *c)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP};

	sp_cpus_done(c);
	c->online.suspended_ns = suspended_ns();
	if (sp_process_cpus_online(&c->online.cpus, &c->online.n) < 0)
		sp_error_clear();
	c->uevents = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
	if (c->uevents >= 0 && bind(c->uevents, (struct sockaddr *)&address, sizeof(address)) < 0) {
		close(c->uevents);
		c->uevents = -1;
	}
	if (c->uevents >= 0)
		filter(c->uevents);
}

void sp_cpus_done(struct sp_capture *c)
{
	if (c->uevents >= 0)
		close(c->uevents);
	c->uevents = -1;
	free(sp_take_ptr(c->online.cpus));
	c->online.n = 0;
}

static bool is_wanted(const struct sp_capture *c, unsigned cpu)
{
	size_t i;

	for (i = 0; i < c->o.n_cpus && !c->o.all_cpus; i++)
		if (c->o.cpus[i] == cpu)
			return true;
	return c->o.all_cpus;
}

/* A message begins with ACTION@PATH and a NUL. */
static bool is_about(const char *text, const char *action, unsigned *ret_cpu)
{
	static const char prefix[] = "@/devices/system/cpu/cpu";
	const char *number = text + strlen(action) + strlen(prefix);
	char *end;
	unsigned long cpu;

	if (strncmp(text, action, strlen(action)) || strncmp(text + strlen(action), prefix, strlen(prefix)))
		return false;
	cpu = strtoul(number, &end, 10);
	*ret_cpu = (unsigned)cpu;
	return end != number && !*end && cpu <= UINT32_MAX;
}

static void tell(const struct sp_capture *c, unsigned cpu, bool is_online)
{
	if (c->o.cpu_changed)
		c->o.cpu_changed(c->o.cpu_changed_arg, cpu, is_online);
}

static void gone(struct sp_capture *c, unsigned cpu)
{
	if (is_wanted(c, cpu))
		tell(c, cpu, false);
}

static void attach(struct sp_capture *c, unsigned cpu)
{
	/* The CPU may have gone again: the samples of the others are worth more than an error. */
	if (c->o.recipes[0]->ground->attach_cpu(&c->recipe, &c->o, cpu) < 0) {
		sp_error_clear();
		c->stats.n_unsampled_cpus++;
	}
}

static void came(struct sp_capture *c, unsigned cpu)
{
	if (!is_wanted(c, cpu))
		return;
	tell(c, cpu, true);
	attach(c, cpu);
}

/* Calls for each of `all` that is not among the others; both are in order. */
static void each_new(struct sp_capture *c, const uint32_t *all, size_t n, const uint32_t *others, size_t n_others,
		     void (*each)(struct sp_capture *c, unsigned cpu))
{
	for (size_t i = 0, k = 0; i < n; i++) {
		while (k < n_others && others[k] < all[i])
			k++;
		if (k == n_others || others[k] != all[i])
			each(c, all[i]);
	}
}

/* An event that is alive is replaced, too: who was only frozen (suspend-to-idle) loses nothing by it. */
static void attach_all(struct sp_capture *c)
{
	for (size_t i = 0; i < c->online.n; i++)
		if (is_wanted(c, c->online.cpus[i]))
			attach(c, c->online.cpus[i]);
}

static void look(struct sp_capture *c)
{
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC), suspended;
	uint32_t *cpus, *before = c->online.cpus;
	size_t n, n_before = c->online.n;

	if (!before || c->is_closed || now < c->online.again_ns)
		return;
	c->online.again_ns = now + LOOK_AGAIN_NS;
	if (sp_process_cpus_online(&cpus, &n) < 0) {
		sp_error_clear();
		return;
	}
	c->online.cpus = cpus;
	c->online.n = n;
	each_new(c, before, n_before, cpus, n, gone);
	each_new(c, cpus, n, before, n_before, came);
	suspended = suspended_ns();
	if ((int64_t)(suspended - c->online.suspended_ns) > (int64_t)SUSPENDED_NS)
		attach_all(c);
	c->online.suspended_ns = suspended;
	free(before);
}

void sp_cpus_update(struct sp_capture *c)
{
	char text[4096];
	unsigned cpu;

	if (c->uevents < 0)
		look(c);
	while (c->uevents >= 0 && !c->is_closed) {
		struct sockaddr_nl from = {0};
		socklen_t size = sizeof(from);
		ssize_t n = recvfrom(c->uevents, text, sizeof(text) - 1, 0, (struct sockaddr *)&from, &size);

		if (n < 0 && errno != EINTR && errno != ENOBUFS)
			return;
		if (n <= 0 || from.nl_pid != 0) /* not from the kernel */
			continue;
		text[n] = 0;
		if (is_about(text, "offline", &cpu))
			gone(c, cpu);
		else if (is_about(text, "online", &cpu))
			came(c, cpu);
	}
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpus.c: CPUs that come, or come back, while a session runs. The event of a CPU that goes is dead for good, and nobody
 * says so; the kernel announces a CPU that comes to whoever listens to its device events (netlink(7),
 * NETLINK_KOBJECT_UEVENT), also one that was away for a moment only.
 */
#include "base/error.h"
#include "capture/priv.h"
#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { KERNEL_GROUP = 1 };

/* Without it (a sandbox that has no netlink) the CPUs stay those of the beginning. */
void sp_cpus_begin(struct sp_capture *c)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP};

	c->uevents = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
	if (c->uevents >= 0 && bind(c->uevents, (struct sockaddr *)&address, sizeof(address)) < 0) {
		close(c->uevents);
		c->uevents = -1;
	}
}

void sp_cpus_done(struct sp_capture *c)
{
	if (c->uevents >= 0)
		close(c->uevents);
	c->uevents = -1;
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
static bool is_online(const char *text, unsigned *ret_cpu)
{
	static const char prefix[] = "online@/devices/system/cpu/cpu";
	char *end;
	unsigned long cpu;

	if (strncmp(text, prefix, strlen(prefix)) != 0)
		return false;
	cpu = strtoul(text + strlen(prefix), &end, 10);
	*ret_cpu = (unsigned)cpu;
	return end != text + strlen(prefix) && !*end && cpu <= UINT32_MAX;
}

static void take(struct sp_capture *c, const char *text)
{
	unsigned cpu;

	if (!is_online(text, &cpu) || !is_wanted(c, cpu))
		return;
	/* It may have gone again: what is sampled elsewhere is worth more than an error. */
	if (c->o.recipe->attach_cpu(&c->recipe, &c->o, cpu) < 0) {
		sp_error_clear();
		c->stats.n_unsampled_cpus++;
	} else {
		c->stats.n_new_cpus++;
	}
}

void sp_cpus_turn(struct sp_capture *c)
{
	char text[4096];

	while (c->uevents >= 0) {
		struct sockaddr_nl from = {0};
		socklen_t size = sizeof(from);
		ssize_t n = recvfrom(c->uevents, text, sizeof(text) - 1, 0, (struct sockaddr *)&from, &size);

		if (n < 0 && errno != EINTR && errno != ENOBUFS)
			return;
		if (n <= 0 || from.nl_pid != 0) /* not of the kernel */
			continue;
		text[n] = 0;
		take(c, text);
	}
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * notify.h: reports the agent's state to the service manager: the protocol of sd_notify(3), datagrams to
 * $NOTIFY_SOCKET.
 *
 * Without that variable (no systemd, or not Type=notify) every function does nothing. A message that cannot be sent is
 * dropped; the manager has timeouts of its own. WATCHDOG_USEC and WATCHDOG_PID say how often it expects WATCHDOG=1; the
 * main loop sends it, so that it stops if the loop does. All variables are removed from the environment, so that no
 * child reports in our name. One thread.
 */
#ifndef SP_AGENT_DAEMON_NOTIFY_H
#define SP_AGENT_DAEMON_NOTIFY_H

#include <stddef.h>
#include <stdint.h>

struct sp_notify {
	int fd;                 /* -1 = no manager */
	uint64_t watchdog_ns;   /* 0 = no watchdog */
	uint64_t alive_sent_ns; /* CLOCK_MONOTONIC: last WATCHDOG=1 */
};

/*
 * Returns listening sockets that the manager opened (sd_listen_fds(3)), at most max, and one of sock_diag(7), or -1;
 * others are closed. To be called once, before other descriptors are opened.
 */
size_t sp_notify_sockets(int *ret_fds, size_t max, int *ret_peers);

/* 0, also without a manager; or a negative errno for an invalid address. */
int sp_notify_open(struct sp_notify *n);
void sp_notify_close(struct sp_notify *n);

void sp_notify_ready(struct sp_notify *n); /* also after a reload */
void sp_notify_reloading(struct sp_notify *n);
void sp_notify_stopping(struct sp_notify *n);
void sp_notify_status(struct sp_notify *n, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Called on each run of the loop; sends after a third of the watchdog's time. */
void sp_notify_alive(struct sp_notify *n);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * notify.h: tell the service manager how we are: the protocol of sd_notify(3), by a datagram to $NOTIFY_SOCKET.
 *
 * Without that variable (no systemd, no Type=notify) every call does nothing. What cannot be sent is lost: the manager
 * has its own ideas of a service that is silent. WATCHDOG_USEC and WATCHDOG_PID say how often it wants a sign of life;
 * the caller gives it from where work is really done. Both variables are taken out of the environment, so that no child
 * speaks for us. One thread.
 */
#ifndef SP_AGENT_DAEMON_NOTIFY_H
#define SP_AGENT_DAEMON_NOTIFY_H

#include <stddef.h>
#include <stdint.h>

struct sp_notify {
	int fd;               /* -1 = nobody wants to know */
	uint64_t watchdog_ns; /* 0 = no watchdog */
	uint64_t fed_ns;      /* when it was fed last, CLOCK_MONOTONIC */
};

/*
 * Listening sockets that the manager made for us (sd_listen_fds(3)); at most max, the others are closed. Called once,
 * at the beginning: descriptors are taken as they were inherited.
 */
size_t sp_notify_sockets(int *ret_fds, size_t max);

/* Not connected is no error; 0 or a negative errno for an address that makes no sense. */
int sp_notify_open(struct sp_notify *n);
void sp_notify_close(struct sp_notify *n);

void sp_notify_ready(struct sp_notify *n); /* also: reloaded */
void sp_notify_reloading(struct sp_notify *n);
void sp_notify_stopping(struct sp_notify *n);
void sp_notify_status(struct sp_notify *n, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The main loop has got on: fed when a third of the watchdog's time is over, else nothing is sent. */
void sp_notify_alive(struct sp_notify *n);

#endif

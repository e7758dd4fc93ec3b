/* SPDX-License-Identifier: GPL-2.0-or-later */
/* watches.c: what takes part in the loop beside sampling, and those among it that serve all users of the machine. */
#include "agent/daemon/loop_priv.h"
#include "base/error.h"
#include "base/time.h"
#include <errno.h>
#include <sys/epoll.h>

int sp_agent_watch(struct sp_agent *a, const struct sp_agent_watch *watch)
{
	if (a->n_watches >= SP_AGENT_MAX_WATCHES)
		return sp_fail(-E2BIG, "watch a descriptor");
	a->watches[a->n_watches++] = *watch;
	return watch->fd >= 0 ? sp_loop_watch_fd(a, watch->fd) : 0;
}

static int watch_timeout_ms(const struct sp_agent_watch *w)
{
	return w->timeout_ms ? w->timeout_ms(w->arg) : -1;
}

static bool is_resting(const struct sp_agent *a, const struct sp_agent_watch *w)
{
	return a->pace.rest_until_ns && w->serves_all;
}

int sp_watches_timeout_ms(const struct sp_agent *a, int ms)
{
	size_t i;

	for (i = 0; i < a->n_watches; i++)
		if (!is_resting(a, &a->watches[i]))
			ms = sp_ms_sooner(ms, watch_timeout_ms(&a->watches[i]));
	return ms;
}

static bool is_ready(const struct sp_agent_watch *w, const struct epoll_event *events, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (w->fd >= 0 && events[i].data.fd == w->fd)
			return true;
	return watch_timeout_ms(w) == 0;
}

/* Whether those that serve all are polled. */
static void poll_all(const struct sp_agent *a, bool are)
{
	size_t i;

	for (i = 0; i < a->n_watches; i++) {
		struct epoll_event e = {.events = are ? EPOLLIN : 0, .data.fd = a->watches[i].fd};

		if (a->watches[i].serves_all && e.data.fd >= 0)
			epoll_ctl(a->epoll, EPOLL_CTL_MOD, e.data.fd, &e);
	}
}

/* The CPU time that it took; no clock is read where nobody is ready, as in most turns. */
static uint64_t serve(const struct sp_agent *a, bool serves_all, const struct epoll_event *events, int n)
{
	uint64_t began_ns = 0;
	size_t i;

	for (i = 0; i < a->n_watches; i++) {
		if (a->watches[i].serves_all != serves_all || !is_ready(&a->watches[i], events, n))
			continue;
		began_ns = began_ns ? began_ns : sp_time_ns(CLOCK_THREAD_CPUTIME_ID);
		a->watches[i].ready(a->watches[i].arg);
	}
	return began_ns ? sp_time_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns : 0;
}

/* What they use is not for sampling: it must not lower the rate. */
void sp_watches_serve(struct sp_agent *a, const struct epoll_event *events, int n)
{
	uint64_t now_ns = sp_time_ns(CLOCK_MONOTONIC), used_ns;

	a->status.service_ns += serve(a, false, events, n);
	if (a->is_stopping || a->pace.rest_until_ns > now_ns)
		return;
	if (a->pace.rest_until_ns) {
		a->pace.rest_until_ns = 0;
		poll_all(a, true); /* and what is ready comes with the next turn */
	}
	used_ns = serve(a, true, events, n);
	a->status.service_ns += used_ns;
	if (sp_pace_rest(&a->pace, now_ns, used_ns)) {
		a->status.n_rests++;
		poll_all(a, false);
	}
}

/* While the last windows get names and are stored nobody is answered: questions without end would take their time. */
void sp_watches_serve_nobody(struct sp_agent *a)
{
	size_t i, n = 0;

	for (i = 0; i < a->n_watches; i++) {
		if (!a->watches[i].serves_all)
			a->watches[n++] = a->watches[i];
		else if (a->watches[i].fd >= 0)
			epoll_ctl(a->epoll, EPOLL_CTL_DEL, a->watches[i].fd, NULL);
	}
	a->n_watches = n;
	a->pace.rest_until_ns = 0;
	for (i = 0; i < a->n_samplers; i++)
		a->samplers[i].current = (struct sp_agent_asked){0};
}

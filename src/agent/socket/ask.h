/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ask.h: ask the running agent over its socket, and the words in which that is done.
 *
 * A connection is one request, one line `soprof1 WHAT name=value ...` (values percent-encoded), and one answer: a line
 * `ok name=value ...` or `error errno=N text=...`, then bytes until the connection ends: of a query a profile in
 * pprof's form, of status and events one line of words each. What the user may not see is not in the answer:
 * `users=own` in its first line says so. Answers are checked like any foreign file: the socket may be anybody's.
 * 0 or a negative errno with sp_error_text(); -ENOENT and -ECONNREFUSED: no agent listens there (then the files of the
 * store can be asked, store.h). Waits for the agent's answer, at most as long as timeout_ms of silence. No state.
 */
#ifndef SP_AGENT_SOCKET_ASK_H
#define SP_AGENT_SOCKET_ASK_H

#include "store/totals.h"
#include <stdbool.h>

struct sp_profile;

#define SP_AGENT_SOCKET "/run/soprof/agent.sock"
#define SP_AGENT_STORE "/var/lib/soprof"
#define SP_AGENT_CONFIG "/etc/soprof/agent.yaml"

/* NULL socket: SP_AGENT_SOCKET. */
struct sp_ask {
	const char *socket;
	int timeout_ms; /* 0 = a minute */
	bool own_only;  /* the answers so far: of the user's own processes only */
};

/*
 * As sp_store_query(), with the window that is not in the store yet where the range ends now or later. The profile is
 * new; q->all_users is what is wanted, a->own_only what was given.
 */
int sp_ask_query(struct sp_ask *a, const struct sp_store_query *q, struct sp_profile **ret_profile,
		 struct sp_store_answer *ret_answer);
int sp_ask_events(struct sp_ask *a, uint64_t from_ns, uint64_t to_ns,
		  int (*each)(void *arg, const struct sp_store_event *e), void *arg);
/* As sp_store_totals(), with the window that is not in the store yet; -EACCES for those who may not see all users. */
int sp_ask_totals(struct sp_ask *a, const struct sp_store_query *q, bool by_function,
		  int (*each)(void *arg, const struct sp_store_total *t), void *arg,
		  struct sp_store_answer *ret_answer);
/* What the agent says of itself, name by name. */
int sp_ask_status(struct sp_ask *a, int (*each)(void *arg, const char *name, const char *value), void *arg);

#endif

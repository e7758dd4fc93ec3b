/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ask.h: sends requests to the running agent over its socket.
 *
 * A connection carries one request, a line `soprof1 WHAT name=value ...` (values percent-encoded), and one answer: a
 * line `ok name=value ...` or `error errno=N text=...`, then bytes until the connection ends: a profile as pprof for a
 * query, lines of words for status and events. `users=own` in the first line says that rows of other users were left
 * out. The answer is untrusted, because any program may listen at the path. 0 or a negative errno with sp_error_text();
 * -ENOENT and -ECONNREFUSED: no agent listens there (the store's files may still be read, store.h). Blocks, at most
 * timeout_ms without a byte. No state.
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
	bool own_only;  /* the last answer: only the user's own processes */
};

/*
 * As sp_store_query(), with the current window if the range reaches now. The profile is new. q->all_users is a wish;
 * a->own_only says what was granted.
 */
int sp_ask_query(struct sp_ask *a, const struct sp_store_query *q, struct sp_profile **ret_profile,
		 struct sp_store_answer *ret_answer);
int sp_ask_events(struct sp_ask *a, uint64_t from_ns, uint64_t to_ns,
		  int (*each)(void *arg, const struct sp_store_event *e), void *arg);
/* As sp_store_totals(), with the current window; -EACCES for users who may not see all. */
int sp_ask_totals(struct sp_ask *a, const struct sp_store_query *q, bool by_function,
		  int (*each)(void *arg, const struct sp_store_total *t), void *arg,
		  struct sp_store_answer *ret_answer);
/* Name by name. */
int sp_ask_status(struct sp_ask *a, int (*each)(void *arg, const char *name, const char *value), void *arg);

#endif

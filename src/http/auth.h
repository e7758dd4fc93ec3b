/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * auth.h: users and their passwords. Private to src/http.
 *
 * A hash of bcrypt is meant to take long, and so is not computed here but by `verify` of the configuration (http.h),
 * one at a time; the requests that came with the same name and password wait for it together, others are told to come
 * again. After a wrong one it is half a second until the next is looked at, so that guessing costs the machine little.
 * Of those that were right a keyed digest is kept (SipHash-2-4, Aumasson and Bernstein 2012, twice, with keys of this
 * process), never the password. A name that does not exist takes as long as one that does. One thread.
 */
#ifndef SP_HTTP_AUTH_H
#define SP_HTTP_AUTH_H

#include "http/gate.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_web_config;

enum { SP_AUTH_KNOWN = 32 };
struct sp_auth_digest {
	uint64_t half[2];
};
struct sp_auth {
	uint64_t key[4];
	struct sp_auth_digest known[SP_AUTH_KNOWN], asked; /* asked: what is being looked at */
	size_t n_known, at;
	bool is_asking;
	uint64_t next_ns; /* CLOCK_MONOTONIC: no password is looked at before */
};

uint64_t sp_auth_sip(const uint64_t key[2], const char *text, size_t n);
int sp_auth_init(struct sp_auth *a);
void sp_auth_forget(struct sp_auth *a); /* other users: nobody is known, and what is being looked at does not count */

enum sp_auth_says { SP_AUTH_KNOWN_GOOD, SP_AUTH_WAIT, SP_AUTH_ASK, SP_AUTH_BUSY };
/*
 * WAIT: the same is being looked at. ASK: this has to be looked at: ret_hash is what the password is to be compared
 * with; sp_auth_answered() says what came of it. BUSY: come again.
 */
enum sp_auth_says sp_auth_look(struct sp_auth *a, const struct sp_web_config *web, const struct sp_http_credentials *c,
			       const char **ret_hash);
/* Whether those who wait are let in. */
bool sp_auth_answered(struct sp_auth *a, bool is_right);

#endif

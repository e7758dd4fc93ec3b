/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * auth.h: users and their passwords. Private to src/http.
 *
 * bcrypt is slow on purpose, so another process compares hashes: the configuration's `verify` (http.h), one at a time.
 * Requests with the same name and password share a comparison; others get SP_AUTH_BUSY. Who gave a wrong password, by
 * his client (peer.h), waits for half a second, and four times as long after each further one; others need not.
 * All wrong passwords together may take two seconds of a CPU, and a 512th of one in the long run: more than anyone
 * reaches as one client. Of right passwords only a keyed digest is kept (SipHash-2-4, Aumasson and Bernstein 2012,
 * twice, with keys of this process). Unknown names take as long as known ones. One thread.
 */
#ifndef SP_HTTP_AUTH_H
#define SP_HTTP_AUTH_H

#include "http/gate.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_web_config;

enum { SP_AUTH_KNOWN = 32, SP_AUTH_TRIED = 64 };
struct sp_auth_digest {
	uint64_t half[2];
};
struct sp_auth_tried {
	uint64_t client;                    /* sp_peer_client() */
	uint64_t not_before_ns, forgive_ns; /* CLOCK_MONOTONIC: he waits until; as if it had not been, from then on */
	uint64_t pause_ns;
};
struct sp_auth {
	uint64_t key[4];
	struct sp_auth_digest known[SP_AUTH_KNOWN], verifying; /* verifying: the one that `verify` compares now */
	size_t n_known, next_known;
	bool is_verifying;
	uint64_t client, began_ns; /* of that comparison */
	struct sp_auth_tried tried[SP_AUTH_TRIED];
	uint64_t paid_ns; /* CLOCK_MONOTONIC: when wrong passwords will have taken no more than their share */
};

uint64_t sp_auth_siphash(const uint64_t key[2], const char *text, size_t n);
int sp_auth_init(struct sp_auth *a);
void sp_auth_forget(struct sp_auth *a); /* users have changed: forgets digests, and voids a running comparison */

enum sp_auth_verdict { SP_AUTH_KNOWN_GOOD, SP_AUTH_WAIT, SP_AUTH_VERIFY, SP_AUTH_BUSY };
/*
 * WAIT: the same credentials are being compared. VERIFY: the caller compares the password with ret_hash, and reports by
 * sp_auth_verified(). BUSY: another comparison runs, or there were wrong passwords just now.
 */
enum sp_auth_verdict sp_auth_check(struct sp_auth *a, const struct sp_web_config *web, uint64_t client,
				   const struct sp_http_credentials *c, const char **ret_hash);
/* True: the requests that waited are allowed. */
bool sp_auth_verified(struct sp_auth *a, bool is_right);
void sp_auth_unverified(struct sp_auth *a); /* instead: the comparison has not begun, which is nobody's fault */

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * push.h: sends a store's windows as profiles, one for each service and interval: to Pyroscope (POST /ingest, pprof) or
 * by OTLP (POST /v1development/profiles, gzip'd protobuf; in development, as that signal is).
 *
 * How far a server has got is kept in a file beside the store, written after each answer: after an outage it goes on
 * there, as long as the store reaches back. A server of which there is no such file begins with the last ten minutes.
 * What it takes is the store's sums; an answer that did not come is asked for again, so a profile may be there twice
 * if the server took it all the same. A profile that the server says is wrong (400, 413, 422) is counted, and not sent
 * again; with any other answer sending stops. Addresses have no user and no password: headers may, which come from
 * a file. Negative errno with sp_error_text(). Not thread-safe.
 */
#ifndef SP_AGENT_EXPORT_PUSH_H
#define SP_AGENT_EXPORT_PUSH_H

#include "agent/config.h"
#include "view/interchange/otlp.h"

enum { SP_PUSH_URL_MAX = 1000, SP_PUSH_HEADERS = 16, SP_PUSH_WHY = 120 };
/* Whether it is http[s]://HOST[:PORT][/PATH]; else -EINVAL. */
int sp_push_url_check(const char *url);

struct sp_push {
	enum sp_receiver kind;      /* not a fleet */
	const char *url, *ca_file;  /* ca_file: NULL = the system's */
	const char *store, *host;   /* store: its directory */
	const char *const *headers; /* "NAME: VALUE" */
	const struct sp_otlp_attribute *labels;
	const char *const *sources;
	size_t n_headers, n_labels, n_sources;
	uint32_t resolution_s; /* 10, 60 or 3600 */
	unsigned timeout_ms;   /* of one request */
	void (*slow)(const char *url,
		     unsigned seconds); /* called once, in the midst of a request that takes long; NULL = not */
};
struct sp_push_sent {
	uint64_t n_profiles, n_samples, n_bytes; /* that were taken */
	uint64_t n_refused;                      /* samples */
	char why_refused[SP_PUSH_WHY];           /* the last time */
	uint64_t n_left_out;                     /* windows of the store that could not be read */
	uint64_t later_s;                        /* if it failed: the server wants no more before; 0 = any time */
	uint64_t to_ns;                          /* the end of the last interval that it has; 0 = none */
};
/* What was sent before a failure is in *ret_sent, too. */
int sp_push_send(const struct sp_push *p, struct sp_push_sent *ret_sent);

#endif

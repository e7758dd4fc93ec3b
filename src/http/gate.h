/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gate.h: what a request may look like before anything else is looked at. Pure functions of strings from anybody.
 *
 * Host: a page of another site can make the browser ask us under its own name (DNS rebinding), so names are compared
 * with a list, exactly; ports are not (an ssh tunnel has another one, and a foreign page cannot choose the name by
 * it). An address as Host cannot be rebound, but only those that we listen on are ours. Origin and Sec-Fetch-Site
 * say that a page of another site asks: refused, but for links to pages. No state, no memory; reentrant.
 */
#ifndef SP_HTTP_GATE_H
#define SP_HTTP_GATE_H

#include <stdbool.h>
#include <stddef.h>

enum { SP_HTTP_NAME_MAX = 256, SP_HTTP_CREDENTIALS_MAX = 512 };

/* "name:port", "[::1]:port", either without a port → the name in lower case, without brackets; false: it is neither. */
bool sp_http_host_name(const char *host, char ret_name[SP_HTTP_NAME_MAX]);

/* What the browser says about who asks; any may be NULL. */
struct sp_http_origin {
	const char *host, *origin, *site, *mode;
};
/* is_page: see http.h. */
bool sp_http_origin_allowed(const struct sp_http_origin *o, bool is_page);

/* Equal, in a time that does not depend on where they differ. */
bool sp_http_is_secret(const char *given, const char *secret);

/* The value of Authorization: `Bearer TOKEN`, or `Basic`, USER:PASSWORD in base 64. */
struct sp_http_credentials {
	char text[SP_HTTP_CREDENTIALS_MAX];  /* what follows points into it */
	const char *token, *user, *password; /* NULL = not given */
};
/* False: it is neither, or too long. */
bool sp_http_credentials(const char *authorization, struct sp_http_credentials *ret_credentials);

/* Whether the value of Accept-Encoding takes the coding: named, and not with q=0. */
bool sp_http_coding_accepted(const char *accept_encoding, const char *coding);

#endif

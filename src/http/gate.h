/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gate.h: checks a request's Host, Origin, Authorization and Accept-Encoding. All input is untrusted.
 *
 * Host: a page of another site can make the browser send requests to us under that site's name (DNS rebinding), so the
 * name must be in a list. Ports are not compared, since an ssh tunnel has another one. Addresses are accepted only if
 * we listen on them. Origin and Sec-Fetch-Site: requests by pages of other sites are refused, except links to pages.
 * No state, no memory; reentrant.
 */
#ifndef SP_HTTP_GATE_H
#define SP_HTTP_GATE_H

#include <stdbool.h>
#include <stddef.h>

enum { SP_HTTP_NAME_MAX = 256, SP_HTTP_CREDENTIALS_MAX = 512 };

/* "name:port", "[::1]:port", either without a port → the name in lower case, without brackets. False: neither. */
bool sp_http_host_name(const char *host, char ret_name[SP_HTTP_NAME_MAX]);

/* The browser's headers Host, Origin, Sec-Fetch-Site, Sec-Fetch-Mode; NULL = not sent. */
struct sp_http_origin {
	const char *host, *origin, *site, *mode;
};
/* is_page: of struct sp_http_route. */
bool sp_http_origin_allowed(const struct sp_http_origin *o, bool is_page);

/* Compares in a time that does not depend on where they differ. */
bool sp_http_secret_equals(const char *given, const char *secret);

/* The value of Authorization: `Bearer TOKEN`, or `Basic` and USER:PASSWORD in base 64. */
struct sp_http_credentials {
	char text[SP_HTTP_CREDENTIALS_MAX];  /* the others point into it */
	const char *token, *user, *password; /* NULL = not given */
};
/* False: neither form, or too long. */
bool sp_http_credentials(const char *authorization, struct sp_http_credentials *ret_credentials);

/* Whether Accept-Encoding names the coding without q=0. */
bool sp_http_coding_accepted(const char *accept_encoding, const char *coding);

#endif

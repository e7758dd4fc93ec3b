/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tls.h: what of gnutls we ask ourselves: whether certificate and key are good, and whether a client's is. Private.
 *
 * libmicrohttpd makes the connections with gnutls; it does not say what is wrong with a certificate, and leaves looking
 * at clients' to us. gnutls is loaded by the first call here (it is there already where libmicrohttpd is): only where
 * TLS is configured. -ELIBACC: it is not there; -EINVAL: what is wrong, in sp_error_text(). One thread.
 */
#ifndef SP_HTTP_TLS_H
#define SP_HTTP_TLS_H

#include "http/web_config.h"

/* Whether the files of c go together, and can be used. */
int sp_tls_check(const struct sp_web_config *c);
enum { SP_TLS_PRIORITIES = 128 };
/* gnutls's words for the versions. */
void sp_tls_priorities(const struct sp_web_config *c, char ret_text[SP_TLS_PRIORITIES]);
/* session: a gnutls_session_t. Whether the client may go on, by its certificate. */
bool sp_tls_client_allowed(const struct sp_web_config *c, void *session);

#endif

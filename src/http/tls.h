/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tls.h: checks our certificate and key, and clients' certificates, with gnutls. Private to src/http.
 *
 * libmicrohttpd uses gnutls, but does not say what is wrong with a certificate, and does not verify clients. gnutls is
 * loaded with the first call, so only if TLS is configured. -ELIBACC: not installed; -EINVAL: what is wrong is in
 * sp_error_text(). One thread.
 */
#ifndef SP_HTTP_TLS_H
#define SP_HTTP_TLS_H

#include "http/web_config.h"

/* Whether c's files fit together and can be used. */
int sp_tls_check(const struct sp_web_config *c);
enum { SP_TLS_PRIORITIES = 128 };
/* The TLS versions as a priority string of gnutls. */
void sp_tls_priorities(const struct sp_web_config *c, char ret_text[SP_TLS_PRIORITIES]);
/* session: a gnutls_session_t. */
bool sp_tls_client_allowed(const struct sp_web_config *c, void *session);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* authorize.c: checks a request's client certificate, token, or user and password. */
#include "base/error.h"
#include "http/priv.h"
#include "http/tls.h"

#include <errno.h>
#include <string.h>

/* The result is kept for the connection, because the check is slow. */
bool sp_request_check_certificate(struct sp_http_request *q)
{
	const struct sp_web_config *web = q->http->config.web;
	const union MHD_ConnectionInfo *tls;

	if (!web || web->client_cert == SP_WEB_NO_CERT || q->connection->is_allowed)
		return true;
	tls = sp_mhd.get_connection_info(q->connection->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	q->connection->is_allowed = tls && tls->tls_session && sp_tls_client_allowed(web, tls->tls_session);
	if (!q->connection->is_allowed)
		sp_http_say(q, 403, "This needs a client's certificate that is signed by whom the agent trusts.\n");
	return q->connection->is_allowed;
}

static bool has_users(const struct sp_http *h)
{
	return h->config.web && h->config.web->n_users > 0;
}

/* Called when a client goes that waited for a password's comparison. */
static void cancel_wait(void *request)
{
	struct sp_http_request *q = request, **at = &q->http->wait_password;

	while (*at && *at != q)
		at = &(*at)->next;
	if (*at)
		*at = q->next;
}

/* Until sp_http_verified(). */
static bool wait_for_password(struct sp_http_request *q)
{
	q->next = q->http->wait_password;
	q->http->wait_password = q;
	sp_http_defer(q, cancel_wait, q);
	return false;
}

static bool is_user_allowed(struct sp_http_request *q, const struct sp_http_credentials *c)
{
	const struct sp_http_config *config = &q->http->config;
	const char *hash = NULL;
	int r;

	switch (sp_auth_check(&q->http->auth, config->web, q->connection->client, c, &hash)) {
	case SP_AUTH_KNOWN_GOOD:
		sp_connection_authorize(q->http, q->connection);
		return true;
	case SP_AUTH_WAIT:
		return wait_for_password(q);
	case SP_AUTH_VERIFY:
		r = config->verify ? config->verify(config->arg, hash, c->password) : -ENOSYS;
		if (r == 0)
			return wait_for_password(q);
		sp_auth_unverified(&q->http->auth);
		sp_http_say(q, 503, "No password can be looked at: %s\n", sp_error_text(r));
		sp_error_clear();
		return false;
	case SP_AUTH_BUSY:
		break;
	}
	sp_http_say(q, 429, "Another password is being looked at, or there were wrong ones just now.\n");
	return false;
}

static bool are_credentials_allowed(struct sp_http_request *q, const struct sp_http_credentials *c)
{
	const char *token = q->http->config.token;

	/* Some clients can only do basic authentication, so the token is accepted as password, too. */
	if (token && sp_http_secret_equals(c->token ? c->token : c->password, token)) {
		sp_connection_authorize(q->http, q->connection);
		return true;
	}
	if (has_users(q->http) && c->user)
		return is_user_allowed(q, c);
	sp_http_say(q, 401, "This is not the agent's token; `soprof open` tells it.\n");
	return false;
}

bool sp_request_authorize(struct sp_http_request *q, bool is_open)
{
	const char *authorization = sp_http_header(q, "Authorization");
	struct sp_http_credentials c;
	bool is_allowed;

	if (is_open && !has_users(q->http))
		return true;
	if (!authorization || !sp_http_credentials(authorization, &c)) {
		sp_http_say(
		    q, 401,
		    "This needs the agent's token, as `Authorization: Bearer TOKEN`; `soprof open` tells it%s.\n",
		    has_users(q->http) ? "; or a user's name and password" : "");
		return false;
	}
	is_allowed = are_credentials_allowed(q, &c);
	explicit_bzero(&c, sizeof(c));
	return is_allowed;
}

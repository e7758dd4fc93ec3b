/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/tls.h"

#include "base/error.h"
#include "base/library.h"
#include "base/mem.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>

#define FUNCTIONS(X)                                                                                                   \
	X(certificate_allocate_credentials)                                                                            \
	X(certificate_free_credentials)                                                                                \
	X(certificate_set_x509_key_mem)                                                                                \
	X(certificate_set_x509_trust_mem)                                                                              \
	X(certificate_verify_peers2)                                                                                   \
	X(strerror)

static struct {
#define MEMBER(name) __typeof__(gnutls_##name) *name;
	FUNCTIONS(MEMBER)
} tls;

static const struct sp_library_function functions[] = {
#define NAME(name) {"gnutls_" #name, offsetof(__typeof__(tls), name)},
    FUNCTIONS(NAME)};

static int load_gnutls(void)
{
	static const char *const sonames[] = {"libgnutls.so.30", NULL};

	return sp_library_load("TLS", "libgnutls30", sonames, functions, SP_COUNT(functions), &tls);
}

static gnutls_datum_t make_datum(char *text)
{
	return (gnutls_datum_t){.data = (unsigned char *)text, .size = text ? (unsigned)strlen(text) : 0};
}

static int check_files(const struct sp_web_config *c, gnutls_certificate_credentials_t credentials)
{
	gnutls_datum_t cert = make_datum(c->cert), key = make_datum(c->key), ca = make_datum(c->ca);
	int r = tls.certificate_set_x509_key_mem(credentials, &cert, &key, GNUTLS_X509_FMT_PEM);

	if (r < 0)
		return sp_fail_said(-EINVAL, "the web configuration's cert_file and key_file cannot be used: %s",
				    tls.strerror(r));
	r = c->ca ? tls.certificate_set_x509_trust_mem(credentials, &ca, GNUTLS_X509_FMT_PEM) : 1;
	if (r < 1)
		return sp_fail_said(-EINVAL, "the web configuration's client_ca_file cannot be used: %s",
				    r < 0 ? tls.strerror(r) : "there is no certificate in it");
	return 0;
}

int sp_tls_check(const struct sp_web_config *c)
{
	gnutls_certificate_credentials_t credentials;
	int r = c->has_tls ? load_gnutls() : 0;

	if (r < 0 || !c->has_tls)
		return r;
	if (tls.certificate_allocate_credentials(&credentials) < 0)
		return sp_fail(-ENOMEM, "TLS");
	r = check_files(c, credentials);
	tls.certificate_free_credentials(credentials);
	return r;
}

void sp_tls_priorities(const struct sp_web_config *c, char ret_text[SP_TLS_PRIORITIES])
{
	static const char *const versions[] = {":+VERS-TLS1.0", ":+VERS-TLS1.1", ":+VERS-TLS1.2", ":+VERS-TLS1.3"};
	size_t n = (size_t)snprintf(ret_text, SP_TLS_PRIORITIES, "NORMAL:-VERS-ALL");

	for (int i = (int)c->max_version; i >= (int)c->min_version; i--)
		n += (size_t)snprintf(ret_text + n, SP_TLS_PRIORITIES - n, "%s", versions[i]);
}

bool sp_tls_client_allowed(const struct sp_web_config *c, void *session)
{
	unsigned status = 0;
	int r;

	if (c->client_cert == SP_WEB_NO_CERT)
		return true;
	r = tls.certificate_verify_peers2(session, &status);
	if (r == GNUTLS_E_NO_CERTIFICATE_FOUND)
		return c->client_cert == SP_WEB_CERT_IF_GIVEN;
	return r == 0 && !status;
}

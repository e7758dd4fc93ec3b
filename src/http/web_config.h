/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * web_config.h: the file of TLS, users and headers, in the format of Prometheus's exporters (--web.config.file).
 *
 *   tls_server_config:   cert_file, key_file, client_auth_type, client_ca_file, min_version, max_version
 *   basic_auth_users:    USER: HASH, of bcrypt, as htpasswd -B makes it
 *   http_server_config:  headers: NAME: VALUE of four names; http2: accepted without effect
 *
 * (github.com/prometheus/exporter-toolkit, docs/web-configuration.md.) Files in it are relative to its own directory,
 * and are read at once. Refused is what would have no effect (cipher_suites), and what base/yaml.h refuses. 0 or a
 * negative errno with `FILE:LINE:COLUMN: what` in sp_error_text(). The struct owns its strings; constant once made.
 */
#ifndef SP_HTTP_WEB_CONFIG_H
#define SP_HTTP_WEB_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

enum { SP_WEB_MAX_BYTES = 256 << 10, SP_WEB_MAX_USERS = 64, SP_WEB_MAX_HEADERS = 8, SP_WEB_MAX_COST = 14 };
enum sp_web_client_cert { SP_WEB_NO_CERT, SP_WEB_CERT_IF_GIVEN, SP_WEB_CERT_REQUIRED };
enum sp_web_tls { SP_WEB_TLS10, SP_WEB_TLS11, SP_WEB_TLS12, SP_WEB_TLS13 };

struct sp_web_pair {
	char *name, *value;
};
struct sp_web_config {
	bool has_tls;
	char *cert, *key, *ca; /* contents of the files: PEM; ca NULL = none */
	char *files[3];        /* their paths; NULL = none */
	enum sp_web_client_cert client_cert;
	enum sp_web_tls min_version, max_version;
	struct sp_web_pair users[SP_WEB_MAX_USERS]; /* value: the hash */
	size_t n_users;
	struct sp_web_pair headers[SP_WEB_MAX_HEADERS];
	size_t n_headers;
};

int sp_web_config_read(const char *path, struct sp_web_config **ret_config);
/* text: n bytes of the file `path`, NUL behind it; with_files false: does not read the files that it names (tests). */
int sp_web_config_parse(const char *path, const char *text, size_t n, bool with_files,
			struct sp_web_config **ret_config);
void sp_web_config_free(struct sp_web_config *c);
bool sp_web_config_equal(const struct sp_web_config *a, const struct sp_web_config *b); /* NULL: none */

#endif

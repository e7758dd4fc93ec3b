/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/web_config.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/yaml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_FILE_BYTES = 1 << 20 };

/* What is being read, and where the values stand that are judged in the end. */
struct web_file {
	const char *name;
	struct sp_web_config *c;
	char *cert_file, *key_file, *ca_file;
	yaml_mark_t cert_mark, key_mark, ca_mark, tls_mark;
};

static int copy_text(const char *text, char **ret_text)
{
	free(*ret_text);
	*ret_text = strdup(text);
	return *ret_text ? 0 : -ENOMEM;
}

static int add_pair(const char *name, const char *value, struct sp_web_pair *pairs, size_t *n)
{
	struct sp_web_pair *pair = &pairs[(*n)++];
	int r = copy_text(name, &pair->name);

	return r == 0 ? copy_text(value, &pair->value) : r;
}

/* --- tls_server_config --- */
static int take_file_name(struct sp_yaml *y, char **ret_name, yaml_mark_t *ret_mark)
{
	int r = sp_yaml_check_text(y, "a value");

	*ret_mark = y->event.start_mark;
	if (r == 0 && !*sp_yaml_text(y))
		return SP_YAML_FAIL(y, *ret_mark, "a file without a name");
	return r == 0 ? copy_text(sp_yaml_text(y), ret_name) : r;
}

static int take_cert(struct sp_yaml *y, void *arg)
{
	struct web_file *f = arg;

	return take_file_name(y, &f->cert_file, &f->cert_mark);
}

static int take_private_key(struct sp_yaml *y, void *arg)
{
	struct web_file *f = arg;

	return take_file_name(y, &f->key_file, &f->key_mark);
}

static int take_client_ca(struct sp_yaml *y, void *arg)
{
	struct web_file *f = arg;

	return take_file_name(y, &f->ca_file, &f->ca_mark);
}

static int take_client_auth(struct sp_yaml *y, void *arg)
{
	static const char *const words[] = {"NoClientCert", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert",
					    NULL};
	int choice = 0, r = sp_yaml_choice(y, words,
					   "NoClientCert, VerifyClientCertIfGiven, RequireAndVerifyClientCert "
					   "(others believe any certificate)",
					   &choice);

	((struct web_file *)arg)->c->client_cert = (enum sp_web_client_cert)choice;
	return r;
}

static int take_version(struct sp_yaml *y, enum sp_web_tls *ret_version)
{
	static const char *const words[] = {"TLS10", "TLS11", "TLS12", "TLS13", NULL};
	int choice = 0, r = sp_yaml_choice(y, words, "TLS10, TLS11, TLS12, TLS13", &choice);

	*ret_version = (enum sp_web_tls)choice;
	return r;
}

static int take_min_version(struct sp_yaml *y, void *arg)
{
	return take_version(y, &((struct web_file *)arg)->c->min_version);
}

static int take_max_version(struct sp_yaml *y, void *arg)
{
	return take_version(y, &((struct web_file *)arg)->c->max_version);
}

static const struct sp_yaml_key tls_keys[] = {
    {"cert_file", take_cert},
    {"key_file", take_private_key},
    {"client_ca_file", take_client_ca},
    {"client_auth_type", take_client_auth},
    {"min_version", take_min_version},
    {"max_version", take_max_version},
    {0},
};

static int take_tls(struct sp_yaml *y, void *arg)
{
	struct web_file *f = arg;
	int r;

	f->tls_mark = y->key_at;
	r = sp_yaml_keys(y, "tls_server_config", tls_keys, f);
	f->c->has_tls = y->key_at.index != f->tls_mark.index; /* a key was there */
	return r;
}

/* --- basic_auth_users --- */
/* $2y$10$ and 53 characters of bcrypt's own base 64. Each step of the cost doubles the time of a comparison. */
static bool is_bcrypt(const char *hash)
{
	static const char digits[] = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

	return strlen(hash) == 60 && hash[0] == '$' && hash[1] == '2' && strchr("aby", hash[2]) && hash[3] == '$' &&
	       strspn(hash + 4, "0123456789") == 2 && hash[6] == '$' && strspn(hash + 7, digits) == 53;
}

static int take_user(struct sp_yaml *y, const char *name, void *arg)
{
	struct sp_web_config *c = ((struct web_file *)arg)->c;
	int r = sp_yaml_check_text(y, "a value");

	if (r < 0)
		return r;
	if (!*name || strchr(name, ':'))
		return SP_YAML_FAIL(y, y->key_at, "'%s' cannot be a user's name", name);
	if (!is_bcrypt(sp_yaml_text(y)))
		return SP_YAML_FAIL(y, y->event.start_mark, "%s: not a hash of bcrypt, as htpasswd -nB makes it", name);
	if (strtol(sp_yaml_text(y) + 4, NULL, 10) > SP_WEB_MAX_COST)
		return SP_YAML_FAIL(y, y->event.start_mark,
				    "%s: a cost of more than %d would take seconds for each try", name,
				    SP_WEB_MAX_COST);
	if (c->n_users == SP_WEB_MAX_USERS)
		return SP_YAML_FAIL(y, y->key_at, "more than %d users", SP_WEB_MAX_USERS);
	return add_pair(name, sp_yaml_text(y), c->users, &c->n_users);
}

static int take_users(struct sp_yaml *y, void *arg)
{
	return sp_yaml_pairs(y, "basic_auth_users", take_user, arg);
}

/* --- http_server_config --- */
static const char *const header_names[] = {"X-Frame-Options", "X-Content-Type-Options", "X-XSS-Protection",
					   "Strict-Transport-Security"};

static int take_header(struct sp_yaml *y, const char *name, void *arg)
{
	struct sp_web_config *c = ((struct web_file *)arg)->c;
	int r = sp_yaml_check_text(y, "a value");
	size_t i = 0;

	while (i < SP_COUNT(header_names) && strcasecmp(header_names[i], name) != 0)
		i++;
	if (r == 0 && i == SP_COUNT(header_names))
		return SP_YAML_FAIL(y, y->key_at, "%s cannot be set; there are %s, %s, %s, %s", name, header_names[0],
				    header_names[1], header_names[2], header_names[3]);
	for (size_t k = 0; r == 0 && k < c->n_headers; k++)
		if (!strcasecmp(c->headers[k].name, name))
			return SP_YAML_FAIL(y, y->key_at, "%s is there twice", name);
	for (const char *at = r == 0 ? sp_yaml_text(y) : ""; *at; at++)
		if (*at < ' ' || *at > '~')
			return SP_YAML_FAIL(y, y->event.start_mark, "a character that cannot be in a header");
	if (r < 0 || sp_yaml_is_null(y))
		return r;
	return add_pair(name, sp_yaml_text(y), c->headers, &c->n_headers);
}

static int take_headers(struct sp_yaml *y, void *arg)
{
	return sp_yaml_pairs(y, "headers", take_header, arg);
}

static int take_http2(struct sp_yaml *y, void *arg)
{
	static const char *const words[] = {"false", "true", NULL};
	int choice;

	(void)arg;
	return sp_yaml_choice(y, words, "true, false", &choice);
}

static int take_server(struct sp_yaml *y, void *arg)
{
	static const struct sp_yaml_key keys[] = {{"headers", take_headers}, {"http2", take_http2}, {0}};

	return sp_yaml_keys(y, "http_server_config", keys, arg);
}

/* --- the whole file --- */
static int take_file(struct sp_yaml *y, void *arg)
{
	static const struct sp_yaml_key keys[] = {{"tls_server_config", take_tls},
						  {"basic_auth_users", take_users},
						  {"http_server_config", take_server},
						  {0}};

	return sp_yaml_keys(y, "the file", keys, arg);
}

/* Relative to the directory of the configuration. */
static int read_named_file(struct web_file *f, const char *name, yaml_mark_t mark, char **ret_path, char **ret_text)
{
	const char *slash = name[0] == '/' ? NULL : strrchr(f->name, '/');
	int r;

	if (asprintf(ret_path, "%.*s%s", slash ? (int)(slash + 1 - f->name) : 0, f->name, name) < 0) {
		*ret_path = NULL;
		return -ENOMEM;
	}
	r = sp_text_read_config(*ret_path, MAX_FILE_BYTES, ret_text, NULL);
	return r < 0 ? SP_YAML_FAIL(f, mark, "%s", sp_error_text(r)) : 0;
}

static int check_tls(const struct web_file *f)
{
	const struct sp_web_config *c = f->c;

	if (!c->has_tls)
		return 0;
	if (!f->cert_file || !f->key_file)
		return SP_YAML_FAIL(f, f->tls_mark, "TLS needs cert_file and key_file");
	if (c->client_cert != SP_WEB_NO_CERT && !f->ca_file)
		return SP_YAML_FAIL(f, f->tls_mark, "client_auth_type needs client_ca_file");
	if (c->client_cert == SP_WEB_NO_CERT && f->ca_file)
		return SP_YAML_FAIL(f, f->ca_mark,
				    "client_ca_file without a client_auth_type that asks for certificates");
	if (c->min_version > c->max_version)
		return SP_YAML_FAIL(f, f->tls_mark, "min_version is above max_version");
	return 0;
}

static int read_tls_files(struct web_file *f)
{
	struct sp_web_config *c = f->c;
	int r = read_named_file(f, f->cert_file, f->cert_mark, &c->files[0], &c->cert);

	if (r == 0)
		r = read_named_file(f, f->key_file, f->key_mark, &c->files[1], &c->key);
	return r == 0 && f->ca_file ? read_named_file(f, f->ca_file, f->ca_mark, &c->files[2], &c->ca) : r;
}

int sp_web_config_parse(const char *path, const char *text, size_t n, bool with_files,
			struct sp_web_config **ret_config)
{
	struct web_file f = {.name = path, .c = calloc(1, sizeof(*f.c))};
	int r = -ENOMEM;

	if (f.c) {
		f.c->min_version = SP_WEB_TLS12;
		f.c->max_version = SP_WEB_TLS13;
		r = sp_yaml_read(path, text, n, take_file, &f);
	}
	if (r == 0)
		r = check_tls(&f);
	if (r == 0 && with_files && f.c->has_tls)
		r = read_tls_files(&f);
	free(f.cert_file);
	free(f.key_file);
	free(f.ca_file);
	if (r < 0)
		sp_web_config_free(f.c);
	else
		*ret_config = f.c;
	return r;
}

int sp_web_config_read(const char *path, struct sp_web_config **ret_config)
{
	char *text SP_FREE = NULL;
	size_t n = 0;
	int r = sp_text_read_config(path, SP_WEB_MAX_BYTES, &text, &n);

	return r < 0 ? sp_fail(r, "cannot read the web configuration")
		     : sp_web_config_parse(path, text, n, true, ret_config);
}

static void free_secret(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

void sp_web_config_free(struct sp_web_config *c)
{
	if (!c)
		return;
	free(c->cert);
	free_secret(c->key);
	free(c->ca);
	for (size_t i = 0; i < SP_COUNT(c->files); i++)
		free(c->files[i]);
	for (size_t i = 0; i < c->n_users; i++) {
		free(c->users[i].name);
		free_secret(c->users[i].value);
	}
	for (size_t i = 0; i < c->n_headers; i++) {
		free(c->headers[i].name);
		free(c->headers[i].value);
	}
	free(c);
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool are_same_pairs(const struct sp_web_pair *a, const struct sp_web_pair *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_same_text(a[i].name, b[i].name) || !is_same_text(a[i].value, b[i].value))
			return false;
	return true;
}

bool sp_web_config_equal(const struct sp_web_config *a, const struct sp_web_config *b)
{
	if (!a || !b)
		return a == b;
	return a->has_tls == b->has_tls && is_same_text(a->cert, b->cert) && is_same_text(a->key, b->key) &&
	       is_same_text(a->ca, b->ca) && a->client_cert == b->client_cert && a->min_version == b->min_version &&
	       a->max_version == b->max_version && a->n_users == b->n_users &&
	       are_same_pairs(a->users, b->users, a->n_users) && a->n_headers == b->n_headers &&
	       are_same_pairs(a->headers, b->headers, a->n_headers);
}

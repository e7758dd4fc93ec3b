/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/web_config.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

enum { MAX_FILE_BYTES = 1 << 20 };

struct web_file {
	const char *name;
	yaml_document_t document;
	struct sp_web_config *c;
	char *cert_file, *key_file, *ca_file;
	yaml_mark_t cert_mark, key_mark, ca_mark, tls_mark;
	bool with_files;
};

#define FAIL_AT(f, mark, format, ...)                                                                                  \
	sp_fail_said(-EINVAL, "%s:%zu:%zu: " format, (f)->name, (mark).line + 1, (mark).column + 1, ##__VA_ARGS__)

/* --- nodes --- */
static yaml_node_t *get_node(struct web_file *f, int number)
{
	return yaml_document_get_node(&f->document, number);
}

static bool is_null(const yaml_node_t *n)
{
	return n->type == YAML_SCALAR_NODE && n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       (!n->data.scalar.length || !strcmp((const char *)n->data.scalar.value, "null"));
}

static const char *text_of(const yaml_node_t *n)
{
	return (const char *)n->data.scalar.value;
}

static int check_text(const struct web_file *f, const yaml_node_t *n)
{
	if (n->type != YAML_SCALAR_NODE)
		return FAIL_AT(f, n->start_mark, "expected a value");
	if (strlen(text_of(n)) != n->data.scalar.length)
		return FAIL_AT(f, n->start_mark, "a NUL byte in a value");
	return 0;
}

static int copy_text(const yaml_node_t *n, char **ret_text)
{
	free(*ret_text);
	*ret_text = strdup(text_of(n));
	return *ret_text ? 0 : -ENOMEM;
}

typedef int parse_pair(struct web_file *f, const yaml_node_t *key, yaml_node_t *value);

/* Calls `take` for each pair of a mapping; a key that is there twice is an error. */
static int each_pair(struct web_file *f, const yaml_node_t *n, const char *what, parse_pair *parse)
{
	int r = 0;

	if (is_null(n))
		return 0;
	if (n->type != YAML_MAPPING_NODE)
		return FAIL_AT(f, n->start_mark, "%s: expected lines of NAME: VALUE", what);
	for (yaml_node_pair_t *p = n->data.mapping.pairs.start; r == 0 && p < n->data.mapping.pairs.top; p++) {
		const yaml_node_t *key = get_node(f, p->key);
		r = check_text(f, key);
		for (yaml_node_pair_t *q = n->data.mapping.pairs.start; r == 0 && q < p; q++)
			if (!strcmp(text_of(get_node(f, q->key)), text_of(key)))
				r = FAIL_AT(f, key->start_mark, "%s is there twice", text_of(key));
		if (r == 0)
			r = parse(f, key, get_node(f, p->value));
	}
	return r;
}

static int parse_choice(struct web_file *f, const yaml_node_t *value, const char *const *words, const char *wanted,
			int *ret)
{
	int r = check_text(f, value);

	for (int i = 0; r == 0 && words[i]; i++)
		if (!strcmp(words[i], text_of(value))) {
			*ret = i;
			return 0;
		}
	return r < 0 ? r : FAIL_AT(f, value->start_mark, "'%s' is none of %s", text_of(value), wanted);
}

/* --- tls_server_config --- */
static int parse_client_auth(struct web_file *f, yaml_node_t *value)
{
	static const char *const words[] = {"NoClientCert", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert",
					    NULL};
	int choice = 0;
	int r = parse_choice(
	    f, value, words,
	    "NoClientCert, VerifyClientCertIfGiven, RequireAndVerifyClientCert (others believe any certificate)",
	    &choice);

	f->c->client_cert = (enum sp_web_client_cert)choice;
	return r;
}

static int parse_version(struct web_file *f, yaml_node_t *value, enum sp_web_tls *ret_version)
{
	static const char *const words[] = {"TLS10", "TLS11", "TLS12", "TLS13", NULL};
	int choice = 0, r = parse_choice(f, value, words, "TLS10, TLS11, TLS12, TLS13", &choice);

	*ret_version = (enum sp_web_tls)choice;
	return r;
}

static int parse_file_name(struct web_file *f, yaml_node_t *value, char **ret_name, yaml_mark_t *ret_mark)
{
	int r = check_text(f, value);

	*ret_mark = value->start_mark;
	if (r == 0 && !*text_of(value))
		return FAIL_AT(f, value->start_mark, "a file without a name");
	return r == 0 ? copy_text(value, ret_name) : r;
}

static int parse_tls_pair(struct web_file *f, const yaml_node_t *key, yaml_node_t *value)
{
	const char *name = text_of(key);

	f->c->has_tls = true;
	if (!strcmp(name, "cert_file"))
		return parse_file_name(f, value, &f->cert_file, &f->cert_mark);
	if (!strcmp(name, "key_file"))
		return parse_file_name(f, value, &f->key_file, &f->key_mark);
	if (!strcmp(name, "client_ca_file"))
		return parse_file_name(f, value, &f->ca_file, &f->ca_mark);
	if (!strcmp(name, "client_auth_type"))
		return parse_client_auth(f, value);
	if (!strcmp(name, "min_version"))
		return parse_version(f, value, &f->c->min_version);
	if (!strcmp(name, "max_version"))
		return parse_version(f, value, &f->c->max_version);
	return FAIL_AT(f, key->start_mark,
		       "%s: there are cert_file, key_file, client_ca_file, client_auth_type, min_version, "
		       "max_version",
		       name);
}

/* --- basic_auth_users --- */
/* $2y$10$ and 53 characters of bcrypt's own base 64. Each step of the cost doubles the time of a comparison. */
static bool is_bcrypt(const char *hash)
{
	static const char digits[] = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

	return strlen(hash) == 60 && hash[0] == '$' && hash[1] == '2' && strchr("aby", hash[2]) && hash[3] == '$' &&
	       strspn(hash + 4, "0123456789") == 2 && hash[6] == '$' && strspn(hash + 7, digits) == 53;
}

static int parse_user(struct web_file *f, const yaml_node_t *key, yaml_node_t *value)
{
	struct sp_web_config *c = f->c;
	int r = check_text(f, value);

	if (r < 0)
		return r;
	if (!*text_of(key) || strchr(text_of(key), ':'))
		return FAIL_AT(f, key->start_mark, "'%s' cannot be a user's name", text_of(key));
	if (!is_bcrypt(text_of(value)))
		return FAIL_AT(f, value->start_mark, "%s: not a hash of bcrypt, as htpasswd -nB makes it",
			       text_of(key));
	if (strtol(text_of(value) + 4, NULL, 10) > SP_WEB_MAX_COST)
		return FAIL_AT(f, value->start_mark, "%s: a cost of more than %d would take seconds for each try",
			       text_of(key), SP_WEB_MAX_COST);
	if (c->n_users == SP_WEB_MAX_USERS)
		return FAIL_AT(f, key->start_mark, "more than %d users", SP_WEB_MAX_USERS);
	c->n_users++;
	r = copy_text(key, &c->users[c->n_users - 1].name);
	return r == 0 ? copy_text(value, &c->users[c->n_users - 1].value) : r;
}

/* --- http_server_config --- */
static int parse_header(struct web_file *f, const yaml_node_t *key, yaml_node_t *value)
{
	static const char *const names[] = {"X-Frame-Options", "X-Content-Type-Options", "X-XSS-Protection",
					    "Strict-Transport-Security"};
	struct sp_web_config *c = f->c;
	int r = check_text(f, value);
	size_t i = 0;

	while (i < SP_COUNT(names) && strcasecmp(names[i], text_of(key)) != 0)
		i++;
	if (r == 0 && i == SP_COUNT(names))
		return FAIL_AT(f, key->start_mark, "%s cannot be set; there are %s, %s, %s, %s", text_of(key), names[0],
			       names[1], names[2], names[3]);
	for (const char *at = r == 0 ? text_of(value) : ""; *at; at++)
		if (*at < ' ' || *at > '~')
			return FAIL_AT(f, value->start_mark, "a character that cannot be in a header");
	if (r < 0 || is_null(value))
		return r;
	c->n_headers++;
	r = copy_text(key, &c->headers[c->n_headers - 1].name);
	return r == 0 ? copy_text(value, &c->headers[c->n_headers - 1].value) : r;
}

static int parse_server_pair(struct web_file *f, const yaml_node_t *key, yaml_node_t *value)
{
	static const char *const words[] = {"false", "true", NULL};
	int choice;

	if (!strcmp(text_of(key), "headers"))
		return each_pair(f, value, "headers", parse_header);
	if (!strcmp(text_of(key), "http2"))
		return parse_choice(f, value, words, "true, false", &choice);
	return FAIL_AT(f, key->start_mark, "%s: there are headers and http2", text_of(key));
}

/* --- the whole file --- */
static int parse_section(struct web_file *f, const yaml_node_t *key, yaml_node_t *value)
{
	if (!strcmp(text_of(key), "tls_server_config")) {
		f->tls_mark = key->start_mark;
		return each_pair(f, value, "tls_server_config", parse_tls_pair);
	}
	if (!strcmp(text_of(key), "basic_auth_users"))
		return each_pair(f, value, "basic_auth_users", parse_user);
	if (!strcmp(text_of(key), "http_server_config"))
		return each_pair(f, value, "http_server_config", parse_server_pair);
	return FAIL_AT(f, key->start_mark, "%s: there are tls_server_config, basic_auth_users, http_server_config",
		       text_of(key));
}

/* Relative to the directory of the configuration. */
static int read_named_file(struct web_file *f, const char *name, yaml_mark_t mark, char **ret_text)
{
	const char *slash = name[0] == '/' ? NULL : strrchr(f->name, '/');
	char *path SP_FREE = NULL;
	int r;

	if (asprintf(&path, "%.*s%s", slash ? (int)(slash + 1 - f->name) : 0, f->name, name) < 0)
		return -ENOMEM;
	r = sp_text_read(path, MAX_FILE_BYTES, ret_text, NULL);
	return r < 0 ? FAIL_AT(f, mark, "%s", sp_error_text(r)) : 0;
}

static int finish_tls(struct web_file *f)
{
	struct sp_web_config *c = f->c;
	int r = 0;

	if (!f->cert_file || !f->key_file)
		return FAIL_AT(f, f->tls_mark, "TLS needs cert_file and key_file");
	if (c->client_cert != SP_WEB_NO_CERT && !f->ca_file)
		return FAIL_AT(f, f->tls_mark, "client_auth_type needs client_ca_file");
	if (c->client_cert == SP_WEB_NO_CERT && f->ca_file)
		return FAIL_AT(f, f->ca_mark, "client_ca_file without a client_auth_type that asks for certificates");
	if (c->min_version > c->max_version)
		return FAIL_AT(f, f->tls_mark, "min_version is above max_version");
	if (!f->with_files)
		return 0;
	r = read_named_file(f, f->cert_file, f->cert_mark, &c->cert);
	if (r == 0)
		r = read_named_file(f, f->key_file, f->key_mark, &c->key);
	return r == 0 && f->ca_file ? read_named_file(f, f->ca_file, f->ca_mark, &c->ca) : r;
}

static int parse_document(struct web_file *f)
{
	yaml_node_t *root = yaml_document_get_root_node(&f->document);
	int r = root ? each_pair(f, root, "the file", parse_section) : 0;

	return r == 0 && f->c->has_tls ? finish_tls(f) : r;
}

static int fail_yaml(const struct web_file *f, const yaml_parser_t *y)
{
	if (y->error == YAML_MEMORY_ERROR)
		return sp_fail(-ENOMEM, "%s", f->name);
	if (y->error == YAML_READER_ERROR)
		return sp_fail_said(-EINVAL, "%s: byte %zu: %s", f->name, y->problem_offset, y->problem);
	return FAIL_AT(f, y->problem_mark, "%s%s%s", y->problem ? y->problem : "no YAML", y->context ? " " : "",
		       y->context ? y->context : "");
}

static int expect_end(struct web_file *f, yaml_parser_t *y)
{
	yaml_document_t second;
	yaml_node_t *root;
	int r;

	if (!yaml_parser_load(y, &second))
		return fail_yaml(f, y);
	root = yaml_document_get_root_node(&second);
	r = root ? FAIL_AT(f, root->start_mark, "a second document") : 0;
	yaml_document_delete(&second);
	return r;
}

static int load_document(struct web_file *f, const char *text, size_t n)
{
	yaml_parser_t y;
	int r;

	if (!yaml_parser_initialize(&y))
		return sp_fail(-ENOMEM, "%s", f->name);
	yaml_parser_set_input_string(&y, (const unsigned char *)text, n);
	if (yaml_parser_load(&y, &f->document)) {
		r = parse_document(f);
		yaml_document_delete(&f->document);
		if (r == 0)
			r = expect_end(f, &y);
	} else {
		r = fail_yaml(f, &y);
	}
	yaml_parser_delete(&y);
	return r;
}

int sp_web_config_parse(const char *path, const char *text, size_t n, bool with_files,
			struct sp_web_config **ret_config)
{
	struct web_file f = {.name = path, .with_files = with_files, .c = calloc(1, sizeof(*f.c))};
	int r = -ENOMEM;

	if (f.c) {
		f.c->min_version = SP_WEB_TLS12;
		f.c->max_version = SP_WEB_TLS13;
		r = load_document(&f, text, n);
	}
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
	int r = sp_text_read(path, SP_WEB_MAX_BYTES, &text, &n);

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

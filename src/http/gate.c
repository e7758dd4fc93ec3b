/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/gate.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_port(const char *text)
{
	size_t n = strspn(text, "0123456789");

	return n > 0 && n <= 5 && !text[n] && strtoul(text, NULL, 10) <= 65535;
}

/* Lower case; a dot at the end, as of an absolute DNS name, is dropped. */
static bool copy_name(const char *from, size_t n, const char *allowed, char ret_name[SP_HTTP_NAME_MAX])
{
	if (n > 1 && from[n - 1] == '.')
		n--;
	if (!n || n >= SP_HTTP_NAME_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)from[i]) && !strchr(allowed, from[i]))
			return false;
		ret_name[i] = (char)tolower((unsigned char)from[i]);
	}
	ret_name[n] = '\0';
	return true;
}

bool sp_http_host_name(const char *host, char ret_name[SP_HTTP_NAME_MAX])
{
	const char *end, *begin = host;
	bool is_ip6 = *host == '[';

	if (is_ip6)
		begin++;
	end = is_ip6 ? strchr(begin, ']') : strchrnul(begin, ':');
	if (!end || !copy_name(begin, (size_t)(end - begin), is_ip6 ? ":." : "-._", ret_name))
		return false;
	if (is_ip6 && !strchr(ret_name, ':'))
		return false;
	end += is_ip6;
	return !*end || (*end == ':' && is_port(end + 1));
}

bool sp_http_origin_allowed(const struct sp_http_origin *o, bool is_page)
{
	const char *at = o->origin;

	if (at) {
		if (!strncmp(at, "http://", 7) || !strncmp(at, "https://", 8))
			at = strstr(at, "://") + 3;
		if (at == o->origin || !o->host || strcasecmp(at, o->host) != 0)
			return false;
	}
	if (!o->site || !strcmp(o->site, "same-origin") || !strcmp(o->site, "none"))
		return true;
	return is_page && o->mode && !strcmp(o->mode, "navigate");
}

bool sp_http_secret_equals(const char *given, const char *secret)
{
	size_t n = strlen(secret), n_given = strlen(given);
	unsigned char differs = 0;

	for (size_t i = 0; i < n; i++)
		differs |= (unsigned char)(secret[i] ^ given[i < n_given ? i : n_given]);
	return !differs && n_given == n && n > 0;
}

static int base64_value(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* RFC 4648 to text; a NUL byte in it is an error. */
static bool decode_base64(const char *from, char *to, size_t size)
{
	uint32_t bits = 0;
	size_t n = 0, n_bits = 0;

	for (; *from && *from != '='; from++) {
		int value = base64_value(*from);
		if (value < 0)
			return false;
		bits = bits << 6 | (uint32_t)value;
		n_bits += 6;
		if (n_bits < 8)
			continue;
		n_bits -= 8;
		to[n] = (char)(bits >> n_bits & 0xff);
		if (!to[n++] || n == size)
			return false;
	}
	to[n] = '\0';
	return !from[strspn(from, "=")];
}

bool sp_http_credentials(const char *authorization, struct sp_http_credentials *ret_credentials)
{
	struct sp_http_credentials *c = ret_credentials;
	char *colon;

	*c = (struct sp_http_credentials){0};
	if (!strncasecmp(authorization, "Bearer ", 7)) {
		c->token = c->text;
		return (size_t)snprintf(c->text, sizeof(c->text), "%s", authorization + 7) < sizeof(c->text);
	}
	if (strncasecmp(authorization, "Basic ", 6) != 0 || !decode_base64(authorization + 6, c->text, sizeof(c->text)))
		return false;
	colon = strchr(c->text, ':');
	if (!colon)
		return false;
	*colon = '\0';
	c->user = c->text;
	c->password = colon + 1;
	return true;
}

/* "q=0", "q=0.000" of RFC 9110, 12.5.3. */
static bool has_zero_quality(const char *parameters, size_t n)
{
	const char *q = memmem(parameters, n, "q=", 2);
	size_t left = q ? n - (size_t)(q + 2 - parameters) : 0;

	for (size_t i = 0; i < left; i++)
		if (!strchr("0. \t", q[2 + i]))
			return false;
	return q && left > 0;
}

bool sp_http_coding_accepted(const char *accept_encoding, const char *coding)
{
	size_t len = strlen(coding);

	while (*accept_encoding) {
		const char *word = accept_encoding + strspn(accept_encoding, " \t,");
		size_t n = strcspn(word, ","), name = strcspn(word, ",; \t");
		if (name == len && !strncasecmp(word, coding, len))
			return !has_zero_quality(word + name, n - name);
		accept_encoding = word + n;
	}
	return false;
}

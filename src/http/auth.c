/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/auth.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "http/web_config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define FIRST_PAUSE_NS (SP_NS_PER_S / 2)
#define MAX_PAUSE_NS (256 * SP_NS_PER_S)
#define FORGIVE_NS (600 * SP_NS_PER_S)
enum { PAUSE_GROWS = 4 };
/* Of wrong passwords. By the clock, which on a busy machine says more than was used: no more than of a cost of 12. */
#define MAX_TOOK_NS (SP_NS_PER_S / 4)
#define SHARE UINT64_C(512) /* so much time pays for a comparison's */
#define BURST_NS (2 * SP_NS_PER_S * SHARE)
/* A valid hash of an unknown password. Names that do not exist are compared with it. */
#define UNKNOWN_USER_HASH "$2y$10$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZabcde"

/* --- SipHash-2-4 --- */
static uint64_t rotate_left(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static void mix_sip(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotate_left(v[1], 13) ^ v[0];
	v[0] = rotate_left(v[0], 32);
	v[2] += v[3];
	v[3] = rotate_left(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate_left(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate_left(v[1], 17) ^ v[2];
	v[2] = rotate_left(v[2], 32);
}

static void add_sip_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	mix_sip(v);
	mix_sip(v);
	v[0] ^= word;
}

uint64_t sp_auth_siphash(const uint64_t key[2], const char *text, size_t n)
{
	uint64_t v[4] = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
			 key[1] ^ 0x7465646279746573};
	uint64_t word = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		word |= (uint64_t)(unsigned char)text[i] << 8 * (i % 8);
		if (i % 8 == 7) {
			add_sip_word(v, word);
			word = 0;
		}
	}
	add_sip_word(v, word | (uint64_t)(n & 0xff) << 56);
	v[2] ^= 0xff;
	for (i = 0; i < 4; i++)
		mix_sip(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* --- users --- */
int sp_auth_init(struct sp_auth *a)
{
	*a = (struct sp_auth){0};
	return getrandom(a->key, sizeof(a->key), 0) == sizeof(a->key) ? 0 : sp_fail(-EIO, "make a key");
}

void sp_auth_forget(struct sp_auth *a)
{
	a->n_known = a->next_known = 0;
	a->verifying = (struct sp_auth_digest){{0}};
}

static const char *find_hash(const struct sp_web_config *web, const char *user)
{
	for (size_t i = 0; i < web->n_users; i++)
		if (!strcmp(web->users[i].name, user))
			return web->users[i].value;
	return UNKNOWN_USER_HASH;
}

static struct sp_auth_digest digest_credentials(const struct sp_auth *a, const struct sp_http_credentials *c,
						const char *hash)
{
	char text[SP_HTTP_CREDENTIALS_MAX + 128];
	int n = snprintf(text, sizeof(text), "%s%c%s%c%s", c->user, 0, c->password, 0, hash);
	struct sp_auth_digest d = {
	    {sp_auth_siphash(a->key, text, (size_t)n), sp_auth_siphash(a->key + 2, text, (size_t)n)}};

	explicit_bzero(text, sizeof(text));
	return d;
}

static bool is_same_digest(const struct sp_auth_digest *x, const struct sp_auth_digest *y)
{
	return ((x->half[0] ^ y->half[0]) | (x->half[1] ^ y->half[1])) == 0;
}

/* --- wrong passwords --- */
/* His entry; else a free one, or that of whose pause is the shortest. */
static struct sp_auth_tried *tried_of(struct sp_auth *a, uint64_t client)
{
	struct sp_auth_tried *best = &a->tried[0];

	for (size_t i = 0; i < SP_AUTH_TRIED; i++) {
		if (a->tried[i].pause_ns && a->tried[i].client == client)
			return &a->tried[i];
		if (a->tried[i].not_before_ns < best->not_before_ns)
			best = &a->tried[i];
	}
	return best;
}

static bool must_wait(struct sp_auth *a, uint64_t client, uint64_t now)
{
	const struct sp_auth_tried *t = tried_of(a, client);

	return (t->client == client && now < t->not_before_ns) || a->paid_ns > now + BURST_NS;
}

static void count_wrong(struct sp_auth *a, uint64_t now)
{
	struct sp_auth_tried *t = tried_of(a, a->client);
	bool is_again = t->client == a->client && now < t->forgive_ns;

	t->client = a->client;
	t->pause_ns = is_again ? SP_MIN(PAUSE_GROWS * t->pause_ns, MAX_PAUSE_NS) : FIRST_PAUSE_NS;
	t->not_before_ns = now + t->pause_ns;
	t->forgive_ns = t->not_before_ns + FORGIVE_NS;
	a->paid_ns = SP_MAX(a->paid_ns, now) + SHARE * SP_MIN(now - a->began_ns, MAX_TOOK_NS);
}

static void forgive(struct sp_auth *a)
{
	struct sp_auth_tried *t = tried_of(a, a->client);

	if (t->client == a->client)
		*t = (struct sp_auth_tried){0};
}

/* --- comparisons --- */
enum sp_auth_verdict sp_auth_check(struct sp_auth *a, const struct sp_web_config *web, uint64_t client,
				   const struct sp_http_credentials *c, const char **ret_hash)
{
	const char *hash = find_hash(web, c->user);
	struct sp_auth_digest d = digest_credentials(a, c, hash);
	uint64_t now = sp_time_ns(CLOCK_MONOTONIC);

	for (size_t i = 0; i < a->n_known; i++)
		if (is_same_digest(&a->known[i], &d))
			return SP_AUTH_KNOWN_GOOD;
	if (a->is_verifying)
		return is_same_digest(&a->verifying, &d) ? SP_AUTH_WAIT : SP_AUTH_BUSY;
	if (must_wait(a, client, now))
		return SP_AUTH_BUSY;
	a->is_verifying = true;
	a->verifying = d;
	a->client = client;
	a->began_ns = now;
	*ret_hash = hash;
	return SP_AUTH_VERIFY;
}

void sp_auth_unverified(struct sp_auth *a)
{
	a->is_verifying = false;
	a->verifying = (struct sp_auth_digest){{0}};
}

bool sp_auth_verified(struct sp_auth *a, bool is_right)
{
	bool is_current = a->verifying.half[0] | a->verifying.half[1]; /* no: the users have changed meanwhile */

	if (!is_right)
		count_wrong(a, sp_time_ns(CLOCK_MONOTONIC));
	if (is_right && is_current) {
		a->known[a->next_known++ % SP_AUTH_KNOWN] = a->verifying;
		a->n_known = SP_MIN(a->n_known + 1, (size_t)SP_AUTH_KNOWN);
		forgive(a);
	}
	sp_auth_unverified(a);
	return is_right && is_current;
}

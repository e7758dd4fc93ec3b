/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/handshakes.h"
#include "base/mem.h"
#include "base/time.h"

enum { CLIENT_PPM = 1000000 / 512, STRANGERS_PPM = 1000000 / 256 };
#define CLIENT_BURST_NS ((int64_t)SP_NS_PER_S / 2)
#define STRANGERS_BURST_NS (4 * CLIENT_BURST_NS)

/* Nobody waits for longer than four minutes. */
static const struct sp_bucket_size of_client = {
    .gain_ppm = CLIENT_PPM, .burst_ns = CLIENT_BURST_NS, .debt_ns = CLIENT_BURST_NS};
static const struct sp_bucket_size of_strangers = {
    .gain_ppm = STRANGERS_PPM, .burst_ns = STRANGERS_BURST_NS, .debt_ns = CLIENT_BURST_NS};

void sp_handshakes_init(struct sp_handshakes *s, uint64_t now_ns)
{
	*s = (struct sp_handshakes){.clients.size = of_client, .strangers = {STRANGERS_BURST_NS, now_ns}};
}

static bool is_known(const struct sp_handshakes *s, uint64_t client)
{
	for (size_t i = 0; i < SP_MIN(s->n_known, (size_t)SP_HANDSHAKES_KNOWN); i++)
		if (s->known[i] == client)
			return true;
	return false;
}

bool sp_handshakes_may(const struct sp_handshakes *s, uint64_t client, uint64_t now_ns)
{
	return !sp_share_is_used_up(&s->clients, client, now_ns) &&
	       (is_known(s, client) || sp_bucket_left(&s->strangers, &of_strangers, now_ns) > 0);
}

void sp_handshakes_know(struct sp_handshakes *s, uint64_t client)
{
	if (!is_known(s, client))
		s->known[s->n_known++ % SP_HANDSHAKES_KNOWN] = client;
}

void sp_handshakes_took(struct sp_handshakes *s, const uint64_t *clients, size_t n, uint64_t now_ns, uint64_t cpu_ns)
{
	for (size_t i = 0; i < n; i++) {
		sp_share_take(&s->clients, clients[i], now_ns, (int64_t)(cpu_ns / n));
		if (!is_known(s, clients[i]))
			sp_bucket_take(&s->strangers, &of_strangers, now_ns, (int64_t)(cpu_ns / n));
	}
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/share.h"
#include "base/mem.h"
#include "base/time.h"

static int64_t left_at(const struct sp_shares *s, const struct sp_share *u, uint64_t now_ns)
{
	double earned = (double)(now_ns - SP_MIN(u->at_ns, now_ns)) * (double)s->max_cpu_ppm / 1e6;

	return earned > (double)(s->burst_ns - u->left_ns) ? s->burst_ns : u->left_ns + (int64_t)earned;
}

static struct sp_share *fullest(struct sp_shares *s, uint64_t now_ns)
{
	struct sp_share *best = &s->users[0];

	for (size_t i = 1; i < s->n; i++)
		if (left_at(s, &s->users[i], now_ns) > left_at(s, best, now_ns))
			best = &s->users[i];
	return best;
}

static struct sp_share *user_of(struct sp_shares *s, uid_t uid, uint64_t now_ns)
{
	struct sp_share *u;

	for (size_t i = 0; i < s->n; i++)
		if (s->users[i].uid == uid)
			return &s->users[i];
	u = s->n < SP_SHARE_USERS ? &s->users[s->n++] : fullest(s, now_ns);
	*u = (struct sp_share){.uid = uid, .left_ns = s->burst_ns, .at_ns = now_ns};
	return u;
}

void sp_share_take(struct sp_shares *s, uid_t uid, uint64_t now_ns, int64_t cpu_ns)
{
	struct sp_share *u = user_of(s, uid, now_ns);

	u->left_ns = SP_MIN(left_at(s, u, now_ns) - cpu_ns, s->burst_ns);
	u->left_ns = s->debt_ns ? SP_MAX(u->left_ns, -s->debt_ns) : u->left_ns;
	u->at_ns = now_ns;
}

bool sp_share_is_used_up(const struct sp_shares *s, uid_t uid, uint64_t now_ns)
{
	for (size_t i = 0; s->max_cpu_ppm && i < s->n; i++)
		if (s->users[i].uid == uid)
			return left_at(s, &s->users[i], now_ns) <= 0;
	return false;
}

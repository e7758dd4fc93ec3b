/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/share.h"
#include "base/mem.h"

void sp_share_limit(struct sp_shares *s, uint64_t max_cpu_ppm, unsigned part, int64_t burst_ns)
{
	s->size.gain_ppm = max_cpu_ppm ? SP_MAX(max_cpu_ppm / part, 1) : 0;
	s->size.burst_ns = burst_ns;
}

static struct sp_share *fullest(struct sp_shares *s, uint64_t now_ns)
{
	struct sp_share *best = &s->users[0];

	for (size_t i = 1; i < s->n; i++)
		if (sp_bucket_left(&s->users[i].left, &s->size, now_ns) > sp_bucket_left(&best->left, &s->size, now_ns))
			best = &s->users[i];
	return best;
}

static struct sp_share *user_of(struct sp_shares *s, uint64_t who, uint64_t now_ns)
{
	struct sp_share *u;

	for (size_t i = 0; i < s->n; i++)
		if (s->users[i].who == who)
			return &s->users[i];
	u = s->n < SP_SHARE_USERS ? &s->users[s->n++] : fullest(s, now_ns);
	*u = (struct sp_share){.who = who, .left = {s->size.burst_ns, now_ns}};
	return u;
}

void sp_share_take(struct sp_shares *s, uint64_t who, uint64_t now_ns, int64_t cpu_ns)
{
	sp_bucket_take(&user_of(s, who, now_ns)->left, &s->size, now_ns, cpu_ns);
}

bool sp_share_is_used_up(const struct sp_shares *s, uint64_t who, uint64_t now_ns)
{
	for (size_t i = 0; s->size.gain_ppm && i < s->n; i++)
		if (s->users[i].who == who)
			return sp_bucket_left(&s->users[i].left, &s->size, now_ns) <= 0;
	return false;
}

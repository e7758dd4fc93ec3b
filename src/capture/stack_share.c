/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/stack_share.h"
#include "base/mem.h"
#include "capture/priv.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BITS = 1 << 20, WORD_BITS = 64, MOST_KNOWN = BITS / 8, GIVEN_BACK = 4 };

int sp_stack_share_init(struct sp_stack_share *s, uint64_t n_nodes, uint64_t interval_ns)
{
	*s = (struct sp_stack_share){.n_nodes = n_nodes, .interval_ns = interval_ns};
	s->known = n_nodes ? calloc(BITS / WORD_BITS, sizeof(*s->known)) : NULL;
	return n_nodes && !s->known ? -ENOMEM : 0;
}

void sp_stack_share_done(struct sp_stack_share *s)
{
	free(sp_take_ptr(s->known));
}

/* Who has all of his share, and had no stack folded, is forgotten. Drains are some ms early or late. */
void sp_stack_share_renew(struct sp_stack_share *s, uint64_t now_ns)
{
	uint64_t back = (s->n_nodes + GIVEN_BACK - 1) / GIVEN_BACK;
	size_t n = 0;

	if (!s->n_nodes || now_ns - s->began_ns < s->interval_ns / 10 * 9)
		return;
	for (size_t i = 0; i < s->n; i++) {
		struct sp_stack_share_user u = s->users[i];

		u.n_nodes -= SP_MIN(u.n_nodes, back);
		if (u.n_nodes || u.n_folded)
			s->users[n++] = u;
	}
	s->n = n;
	s->began_ns = now_ns;
	if (s->n_known > MOST_KNOWN) {
		memset(s->known, 0, BITS / WORD_BITS * sizeof(*s->known));
		s->n_known = 0;
	}
}

static struct sp_stack_share_user *user_of(struct sp_stack_share *s, uint32_t uid)
{
	size_t i = 0;

	while (i < s->n && s->users[i].uid != uid)
		i++;
	if (i == SP_STACK_SHARE_USERS)
		return &s->users[i - 1];
	if (i == s->n)
		s->users[s->n++] = (struct sp_stack_share_user){.uid = uid};
	return &s->users[i];
}

/* From the root on. Counts the nodes that are new; is_taken: and they are known from now on. */
static uint64_t count_new(struct sp_stack_share *s, uint32_t uid, const struct sp_walked *walked, bool is_taken)
{
	uint64_t hash = uid * UINT64_C(0x9e3779b97f4a7c15) + 1, n = 0;

	for (uint32_t i = walked->n; i-- > 0;) {
		uint64_t *word, bit;

		if (walked->n > SP_MAX_FRAMES && i >= SP_MAX_FRAMES - SP_ROOT_FRAMES && i < walked->n - SP_ROOT_FRAMES)
			i = SP_MAX_FRAMES - SP_ROOT_FRAMES - 1; /* the middle is left out */
		hash = (hash ^ walked->words[sp_frame_slot(i)]) * UINT64_C(0xbf58476d1ce4e5b9);
		hash ^= hash >> 29;
		word = &s->known[hash % BITS / WORD_BITS];
		bit = UINT64_C(1) << hash % WORD_BITS;
		n += !(*word & bit);
		if (is_taken) {
			s->n_known += !(*word & bit);
			*word |= bit;
		}
	}
	return n;
}

bool sp_stack_share_take(struct sp_stack_share *s, uint32_t uid, const struct sp_walked *walked)
{
	struct sp_stack_share_user *user;
	uint64_t n;

	if (!s->n_nodes)
		return true;
	user = user_of(s, uid);
	n = count_new(s, uid, walked, false);
	if (user->n_nodes + n > s->n_nodes) {
		user->n_folded++;
		return false;
	}
	user->n_nodes += n;
	count_new(s, uid, walked, true);
	return true;
}

int sp_stack_share_fold(struct sp_capture *c, const struct sp_walked *walked, uint32_t *ret_frames, uint32_t *ret_n)
{
	uint32_t files[SP_STACK_SHARE_LIBRARIES], n = 0, kept = SP_MIN(walked->n, SP_MAX_FRAMES);
	int64_t number = sp_drain_frame(c, walked->words[0]);

	for (uint32_t i = 0; i < kept && n < SP_STACK_SHARE_LIBRARIES && number >= 0; i++) {
		int64_t file = sp_drain_file(c, walked->words[i]);
		uint32_t k = 0;

		while (k < n && files[k] != file)
			k++;
		if (file < 0)
			return (int)file;
		if (k == n)
			files[n++] = (uint32_t)file;
	}
	for (uint32_t i = 0; i <= n && number >= 0; i++) {
		ret_frames[i] = (uint32_t)number;
		number = i < n ? sp_drain_gap(c, files[i], SP_STACK_SHARE_NAME) : 0;
	}
	*ret_n = n + 1;
	return (int)SP_MIN(number, 0);
}

void sp_stack_share_stats(const struct sp_stack_share *s, struct sp_capture_stats *stats)
{
	uint64_t most = 0;

	stats->n_folded = stats->n_folded_users = 0;
	for (size_t i = 0; i < s->n; i++) {
		stats->n_folded += s->users[i].n_folded;
		stats->n_folded_users += s->users[i].n_folded > 0;
		if (s->users[i].n_folded > most) {
			most = s->users[i].n_folded;
			stats->folded_uid = s->users[i].uid;
		}
	}
}

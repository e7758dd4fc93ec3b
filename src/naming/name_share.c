/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "naming/name_share.h"
#include <string.h>

static struct sp_name_share_user *user_of(struct sp_name_share *s, uint32_t uid)
{
	size_t i = 0;

	while (i < s->n && s->users[i].uid != uid)
		i++;
	if (i == SP_NAME_SHARE_USERS)
		return &s->users[i - 1];
	if (i == s->n)
		s->users[s->n++] = (struct sp_name_share_user){.uid = uid};
	return &s->users[i];
}

static void take(struct sp_name_share *s, struct sp_name_share_user *user, char *name)
{
	size_t len = name ? strlen(name) : 0, above = len > SP_NAME_CUT ? len - SP_NAME_CUT : 0;

	if (user->bytes + above <= s->bytes) {
		user->bytes += above;
		return;
	}
	sp_name_shorten(name, SP_NAME_CUT);
	s->n_cut_users += !user->is_cut;
	s->n_cut++;
	s->last_uid = user->uid;
	user->is_cut = true;
}

void sp_name_share_take(struct sp_name_share *s, uint32_t uid, struct sp_name *names, size_t n)
{
	struct sp_name_share_user *user = s->bytes ? user_of(s, uid) : NULL;

	for (size_t i = 0; user && i < n; i++) {
		take(s, user, names[i].name);
		take(s, user, names[i].linkage_name);
	}
}

/* Whose names were cut is remembered: he is counted and told once. */
void sp_name_share_renew(struct sp_name_share *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->users[i].is_cut)
			s->users[n++] = (struct sp_name_share_user){.uid = s->users[i].uid, .is_cut = true};
	}
	s->n = n;
}

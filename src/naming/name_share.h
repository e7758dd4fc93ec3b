/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * name_share.h: how many bytes each user's long names of functions may take in a profile.
 *
 * For profiles that last: who has thousands of names of 512 bytes must not fill them, since a full profile is replaced
 * by a fresh one, for which all names of all users are looked up again. Names of up to SP_NAME_CUT bytes are free, of
 * longer ones the bytes above that are taken from the share of the user in whose process the file was met. A name for
 * which too little is left is cut to SP_NAME_CUT bytes (sp_name_shorten()): what differed still differs. With a fresh
 * profile all have their whole share again. Users beyond SP_NAME_SHARE_USERS count as one. One thread; nothing fails.
 */
#ifndef SP_NAMING_NAME_SHARE_H
#define SP_NAMING_NAME_SHARE_H

#include "symbol/names.h"

enum { SP_NAME_CUT = 64, SP_NAME_SHARE_USERS = 64 };

struct sp_name_share {
	uint64_t bytes; /* of each user; 0 = no limit */
	size_t n;
	struct sp_name_share_user {
		uint32_t uid;
		bool is_cut;    /* now, or in an earlier profile */
		uint64_t bytes; /* taken */
	} users[SP_NAME_SHARE_USERS];
	/* Since the start: names that were cut; users who had some; whose the last was. */
	uint64_t n_cut;
	unsigned n_cut_users;
	uint32_t last_uid;
};

/* Cuts those names of a user's functions that exceed his share; the others are taken from it. */
void sp_name_share_take(struct sp_name_share *s, uint32_t uid, struct sp_name *names, size_t n);
void sp_name_share_renew(struct sp_name_share *s);

#endif

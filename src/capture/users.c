/* SPDX-License-Identifier: GPL-2.0-or-later */
/* users.c: users whose new files are not looked at for now: here, in the kernel half, and in the profile. */
#include "capture/users.h"
#include "base/mem.h"
#include "capture/priv.h"
#include "profile/profile.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>

static bool is_noted(const struct sp_capture *c, uint32_t uid)
{
	size_t i = 0;

	while (i < c->over.n && c->over.uids[i] != uid)
		i++;
	return i < c->over.n;
}

/* Beyond the map's room his files go on to be announced, and to be refused one by one. */
static void note_over(struct sp_capture *c, uint32_t uid)
{
	uint32_t one = 1;

	if (is_noted(c, uid) || c->over.n == SP_COUNT(c->over.uids) ||
	    bpf_map_update_elem(c->over.fd, &uid, &one, BPF_ANY))
		return;
	c->over.uids[c->over.n++] = uid;
	sp_files_cancel(c, uid);
}

static void look_over(struct sp_capture *c, uint32_t uid)
{
	if (c->o.users->is_over(c->o.users->arg, uid))
		note_over(c, uid);
}

bool sp_users_may_look(struct sp_capture *c, uint32_t uid)
{
	const struct sp_capture_users *u = c->o.users;

	if (!u || u->may_look(u->arg, uid))
		return true;
	look_over(c, uid);
	return false;
}

void sp_users_looked(struct sp_capture *c, uint32_t uid, int r, uint64_t cpu_ns)
{
	const struct sp_capture_users *u = c->o.users;

	if (u && r == -ECANCELED) {
		u->taken_back(u->arg, uid);
	} else if (u) {
		u->looked(u->arg, uid, cpu_ns);
		look_over(c, uid);
	}
}

void sp_users_parsed(const struct sp_capture *c, uint32_t uid, uint64_t cpu_ns)
{
	if (c->o.users)
		c->o.users->parsed(c->o.users->arg, uid, cpu_ns);
}

static int64_t add_file(struct sp_capture *c, const struct sp_file_key *key)
{
	struct sp_file file = {.kind = SP_FILE_ELF, .tag = c->stats.n_files + 1};
	int64_t name = sp_profile_add_string(c->profile, SP_OVER_NAME), note;
	char text[128];

	snprintf(text, sizeof(text), "new files of user %u, who has used up the CPU time for them", (unsigned)key->ino);
	note = sp_profile_add_string(c->profile, text);
	if (name < 0 || note < 0)
		return name < 0 ? name : note;
	file.name = (uint32_t)name;
	file.note = (uint32_t)note;
	return sp_profile_add_file(c->profile, &file);
}

int64_t sp_users_file(struct sp_capture *c, uint32_t uid)
{
	struct sp_file_key key = {.ino = uid, .dev = SP_DEV_OVER};
	int64_t number = sp_numbers_find(&c->file_keys, &key, sizeof(key));
	int r;

	if (number)
		return number;
	number = add_file(c, &key);
	if (number < 0)
		return number;
	r = sp_grow(&c->known, &c->n_known, (size_t)number + 1, sizeof(*c->known));
	if (r < 0)
		return r;
	c->known[number].fd = -1;
	c->known[number].user = uid;
	c->stats.n_files++;
	r = sp_numbers_set(&c->file_keys, &key, sizeof(key), (uint32_t)number);
	return r < 0 ? r : number;
}

void sp_users_begin_drain(struct sp_capture *c)
{
	const struct sp_capture_users *u = c->o.users;
	size_t i, n = 0;

	for (i = 0; i < c->over.n; i++)
		if (u->is_over(u->arg, c->over.uids[i]))
			c->over.uids[n++] = c->over.uids[i];
		else
			bpf_map_delete_elem(c->over.fd, &c->over.uids[i]);
	c->over.n = n;
}

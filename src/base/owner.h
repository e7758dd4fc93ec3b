/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * owner.h: gives a directory of ours, and the files that we have made in it, to another user.
 *
 * For a process that has begun as root and goes on as somebody else. A directory is given away only if it is root's, if
 * nobody else can write to it, and if all in it bears a name of ours; in one that is the new owner's already, root's
 * files of such a name are. What is given is a regular file with one name, by its descriptor, and no symbolic link
 * is followed on the way: nobody can lead us to anything else. Directories below stay as they are. 0 or a negative
 * errno with sp_error_text().
 */
#ifndef SP_BASE_OWNER_H
#define SP_BASE_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

struct sp_new_owner {
	uid_t uid;
	gid_t gid;
	bool (*is_ours)(void *arg, const char *name);
	void *arg;
};

/* -ENOENT: it is not there. -EPERM: it is not ours to give, and the text says why. check_only: changes nothing. */
int sp_owner_change(const char *directory, const struct sp_new_owner *to, bool check_only);

#endif

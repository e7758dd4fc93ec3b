/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * groups.h: the groups of profile/totals.h with their names, for the views csv and json.
 *
 * Strings are raw: the writer encodes them. NULL means not applicable: no name for frames of no library, no build id
 * for the kernel, no pid except for processes. Strings belong to the profile or to the struct sp_group, and are valid
 * as long as both. sp_groups_new() returns 0 or a negative errno (-EINVAL: no such value). With o->all_values
 * the groups are those of join.h, in its order, those without anything of the value as well. Only reads the profile;
 * reentrant. Private to the views.
 */
#ifndef SP_VIEW_TABLES_GROUPS_H
#define SP_VIEW_TABLES_GROUPS_H

#include "profile/totals.h"
#include "view/tables/join.h"
#include "view/view.h"

struct sp_groups {
	const struct sp_profile *p;
	enum sp_total_by by;
	struct sp_totals totals;
	struct sp_joined joined;    /* with all values: its groups are the rows, one by one; else without any */
	size_t n_shown, n_left_out; /* by the limit */
	int64_t self_left_out;
};
/* What a group, or all that the limit left out (then without a total), has of one of joined's values. */
struct sp_amount {
	int64_t self, total;
};

struct sp_group {
	const struct sp_total *total;
	const char *name;
	const char *library, *path, *package; /* of the group's library, or of a process's executable */
	const char *package_version;
	const char *build_id;        /* hex */
	bool has_pid, has_functions; /* whether pid, total->n_functions are valid */
	uint32_t pid;
	char text[64], library_text[32], build_id_text[2 * SP_BUILD_ID_MAX + 1]; /* buffers for the above */
};

int sp_groups_new(const struct sp_profile *p, const struct sp_view_options *o, struct sp_groups *ret_groups);
void sp_groups_done(struct sp_groups *g);
/* The group number i, below n_shown, by falling self. */
void sp_groups_get(const struct sp_groups *g, size_t i, struct sp_group *ret_group);
struct sp_amount sp_groups_amount(const struct sp_groups *g, size_t i, size_t value);
struct sp_amount sp_groups_left_out(const struct sp_groups *g, size_t value);

#endif

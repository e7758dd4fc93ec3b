/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * names.h: what the rows of a fleet's tables name becomes parts of a profile: files, frames, stacks, who, hosts.
 *
 * Rows are given in this order, since each refers to the kind before by its id. What refers to an id that was not
 * given is without it, and counted. Of files those with one kind, build id, name and path are one, as in a store's
 * answer. The rows are foreign: lengths and numbers are checked by the reader (bytes.h) and the profile.
 * 0 or a negative errno. Private to src/fleet. Not thread-safe.
 */
#ifndef SP_FLEET_NAMES_H
#define SP_FLEET_NAMES_H

#include "fleet/bytes.h"

struct sp_profile;
struct sp_fleet_names;

int sp_fleet_names_new(struct sp_profile *p, const char *source, struct sp_fleet_names **ret_names);
void sp_fleet_names_free(struct sp_fleet_names *n);

int sp_fleet_names_file(struct sp_fleet_names *n, struct sp_row_reader *row);
int sp_fleet_names_frame(struct sp_fleet_names *n, struct sp_row_reader *row);
int sp_fleet_names_stack(struct sp_fleet_names *n, struct sp_row_reader *row);
int sp_fleet_names_who(struct sp_fleet_names *n, struct sp_row_reader *row);
int sp_fleet_names_host(struct sp_fleet_names *n, struct sp_row_reader *row);

struct sp_fleet_stacks { /* numbers of the profile */
	uint32_t user, kernel;
};
struct sp_fleet_stacks sp_fleet_names_stacks(struct sp_fleet_names *n, uint64_t id);
/* A stack of which, if it is cut, only the leaf and some frames at the root are known: [shortened] is between them. */
struct sp_fleet_rare {
	uint64_t leaf; /* a frame's id */
	bool in_kernel, is_cut;
	uint32_t n_above_kernel; /* so many of the frames above the leaf are the kernel's */
	uint16_t stack_class, reason;
};
/* above: an array of the ids of these frames is read from there. */
int sp_fleet_names_rare(struct sp_fleet_names *n, const struct sp_fleet_rare *rare, struct sp_row_reader *above,
			struct sp_fleet_stacks *ret_stacks);
/* The profile's key of who it is, in a slice, on a host (0 = not told); or a negative errno. */
int64_t sp_fleet_names_key(struct sp_fleet_names *n, uint64_t id, uint32_t slice, uint64_t host);
/* How often something was asked for that was not given. */
uint64_t sp_fleet_names_unknown(const struct sp_fleet_names *n);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgroup.h: control groups of version 2: id to path and back.
 *
 * The kernel half names a cgroup by the 64-bit id that bpf_get_current_cgroup_id() gives; name_to_handle_at(2) tells it
 * for a directory of the cgroup2 file system, which is looked for in /proc/self/mountinfo (/sys/fs/cgroup, or
 * /sys/fs/cgroup/unified beside version 1). Paths begin with "/" at that mount's top. A cgroup that has been removed
 * has no path any more. Errors are negative errno with sp_error_text(): -ENOENT no such cgroup, -EOPNOTSUPP no cgroup2
 * file system here. At most 65,536 cgroups, 32 levels and paths of 4,095 bytes are walked; what lies beyond is counted.
 * The table belongs to the caller; not thread-safe.
 */
#ifndef SP_PROC_CGROUP_H
#define SP_PROC_CGROUP_H

#include <stddef.h>
#include <stdint.h>

struct sp_cgroups;

/*
 * The id of a cgroup and its level (the top is 0), as bpf_get_current_ancestor_cgroup_id() counts. The path begins at
 * the mount's top, with or without the mount point before it. -EOPNOTSUPP also inside a cgroup namespace, where the
 * level of its top cannot be known.
 */
int sp_cgroup_id(const char *path, uint64_t *ret_id, uint32_t *ret_level);

/*
 * The path of a cgroup by its id, as a process that is in it tells; no privileges needed. -ENOENT: it is not in it (any
 * more), or the process has gone.
 */
int sp_cgroup_path(uint32_t pid, uint64_t id, char *ret_path, size_t size);

/* All cgroups that are there now. */
int sp_cgroups_new(struct sp_cgroups **ret_cgroups);
void sp_cgroups_free(struct sp_cgroups *c);
/* The path of an id, or "" if there is none. Lives as long as the table. */
const char *sp_cgroups_path(const struct sp_cgroups *c, uint64_t id);
/* Cgroups that were not walked because of the limits or because they could not be read. */
uint64_t sp_cgroups_n_left_out(const struct sp_cgroups *c);

#endif

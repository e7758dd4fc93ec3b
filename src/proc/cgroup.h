/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgroup.h: control groups of version 2: from id to path and back.
 *
 * The kernel half identifies a cgroup by the 64-bit id of bpf_get_current_cgroup_id(); name_to_handle_at(2) gives it
 * for a directory of the cgroup2 file system, which is found in /proc/self/mountinfo (/sys/fs/cgroup, or
 * /sys/fs/cgroup/unified beside version 1). Paths begin with "/" at the top of that mount. A removed cgroup has no
 * path. Errors: negative errno with sp_error_text(); -ENOENT: no such cgroup; -EOPNOTSUPP: no cgroup2 file system. At
 * most 65,536 cgroups, 32 levels and paths of 4,095 bytes are read. The table is the caller's; not thread-safe.
 */
#ifndef SP_PROC_CGROUP_H
#define SP_PROC_CGROUP_H

#include <stddef.h>
#include <stdint.h>

struct sp_cgroups;

/*
 * The id of a cgroup and its level (the top is 0), as bpf_get_current_ancestor_cgroup_id() counts. path: from the top
 * of the mount, with or without the mount point. -EOPNOTSUPP also inside a cgroup namespace, where the level of its top
 * is not known.
 */
int sp_cgroup_id(const char *path, uint64_t *ret_id, uint32_t *ret_level);

/*
 * The path of a cgroup by its id, from /proc of a process in it; needs no privileges. -ENOENT: the process is not (or
 * no longer) in it, or has ended.
 */
int sp_cgroup_path(uint32_t pid, uint64_t id, char *ret_path, size_t size);

/* Reads all cgroups. Those beyond a limit (32 levels, 65,536 cgroups) have no path: show their ids. */
int sp_cgroups_new(struct sp_cgroups **ret_cgroups);
/*
 * The same in parts, of which each looks at n directory entries at most: 1: there is more; 0: that is all. ids: those
 * only (NULL = all), without memory for others, of which anybody may have made many, and until they are found.
 */
int sp_cgroups_begin(const uint64_t *ids, size_t n_ids, struct sp_cgroups **ret_cgroups);
int sp_cgroups_go_on(struct sp_cgroups *c, size_t n);
void sp_cgroups_free(struct sp_cgroups *c);
/* The path of an id, or "". Valid as long as the table. */
const char *sp_cgroups_path(const struct sp_cgroups *c, uint64_t id);

#endif

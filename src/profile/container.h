/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * container.h: which container a process is in, as the path of its cgroup tells.
 *
 * There is no such thing as a container in the kernel; runtimes name cgroups after theirs, and that is what is read:
 * docker, podman, containerd, CRI-O and Kubernetes put an id of 64 hex digits into the last part of a name, of which
 * the first 12 are taken, as their own lists show; LXC and systemd-nspawn (and libvirt) put the container's name there.
 * Of nested ones it is the innermost; a runtime's monitor (conmon) is in none. Anybody who may make a cgroup may give
 * it such a name: this is a label, nothing to trust. Names are at most 255 bytes. No state.
 * Sources: the cgroup drivers of runc and crun, lxc.container.conf(5), systemd-nspawn(1), systemd.unit(5).
 */
#ifndef SP_PROFILE_CONTAINER_H
#define SP_PROFILE_CONTAINER_H

#include <stddef.h>
#include <stdint.h>

struct sp_profile;

/* -ENOENT: in none. -ENAMETOOLONG: it does not fit. */
int sp_container_of(const char *cgroup, char *ret_name, size_t size);
/* Sets the path of a process's cgroup, and the container that it tells. */
int sp_profile_set_cgroup(struct sp_profile *p, uint32_t process, const char *path);

#endif

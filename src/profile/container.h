/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * container.h: the container that a process is in, read from the path of its cgroup.
 *
 * The kernel knows no containers; runtimes name cgroups after theirs. docker, podman, containerd, CRI-O and Kubernetes
 * end a path component with an id of 64 hex digits, of which the first 12 are taken, as in their own lists; LXC,
 * systemd-nspawn and libvirt put the container's name there. Of nested containers the innermost is given; a runtime's
 * monitor (conmon) is in none. Anyone who may make a cgroup may give it such a name: this is a label, not a security
 * boundary. Names are at most 255 bytes. No state.
 * Sources: the cgroup drivers of runc and crun, lxc.container.conf(5), systemd-nspawn(1), systemd.unit(5).
 */
#ifndef SP_PROFILE_CONTAINER_H
#define SP_PROFILE_CONTAINER_H

#include <stddef.h>
#include <stdint.h>

struct sp_profile;

/* -ENOENT: in no container. -ENAMETOOLONG: the name does not fit. */
int sp_container_of(const char *cgroup, char *ret_name, size_t size);
/* Sets a process's cgroup path and its container. */
int sp_profile_set_cgroup(struct sp_profile *p, uint32_t process, const char *path);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mounts.h: what an opener finds out about mounts and mappings before it opens a file. Private to src/worker.
 *
 * mounts.c tells the type of a file system as this or another process sees it, and opens mount points; trust.c decides
 * by that whether a file is opened, and remembers mounts that it has allowed; served.c looks at what was opened; maps.c
 * reads /proc/PID/maps. Of these only served.c reads more than /proc, which never hangs. The caller owns texts. 0 or a
 * negative errno.
 */
#ifndef SP_WORKER_MOUNTS_H
#define SP_WORKER_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* mounts.c: types of file systems, as this process or that one sees them; -ENOENT when neither does. */
enum { SP_MOUNT_TYPE = 32 };
bool sp_type_may_hang(const char *type);
bool sp_unlisted_may_hang(int fd); /* a file of a mount that is in no list */
int sp_mount_type(pid_t pid, uint64_t mount_id, char ret_type[SP_MOUNT_TYPE]);
int sp_device_type(pid_t pid, uint32_t dev, char ret_type[SP_MOUNT_TYPE]);
int sp_overlay_type(pid_t pid, uint64_t mount_id, char ret_type[SP_MOUNT_TYPE]); /* of a layer */
/* Whether it, or what is mounted there, is in the process's list of mounts or in ours. */
bool sp_mount_is_seen(pid_t pid, uint64_t mount_id, bool *ret_by_us);
/* trust.c. A key of zeros: the caller does not know it, and takes whatever is mapped there. */
struct sp_file_key;
struct sp_open_request;
struct statx;
bool sp_open_has_key(const struct sp_file_key *k);
/*
 * 0, or -EACCES: what fd (O_PATH) leads to may never answer, or nobody can tell. -EXDEV: nobody can tell of the
 * overlay, but the file below it may be opened. The descriptor keeps the mount from being another.
 */
int sp_open_trusted(const struct sp_open_request *q, int fd, const struct statx *st);
/* maps.c: the path of what a process has mapped at this address, as it shows it; NULL = none, or hidden. Free it. */
char *sp_maps_path(pid_t pid, uint64_t address);
/* The path of the first executable mapping of a file with this name, and where it is; NULL = none. Free it. */
char *sp_maps_named(pid_t pid, const char *name, uint64_t *ret_start, uint64_t *ret_end);
/* Whether there is executable memory without a file, or of a file that was deleted. */
bool sp_maps_has_made_code(pid_t pid);
int sp_mount_open(uint32_t dev, unsigned *position); /* the next mount point of a device, from *position 0 on */
int sp_mount_open_root(uint32_t dev);                /* our root, if it is no mount point and of this device */

/* served.c: 0: what is open may be handed out; -ENOEXEC: it is no ELF file, nor what else is read; else refused. */
struct sp_job_message;
int sp_opener_check(const struct sp_job_message *m, int fd);

#endif

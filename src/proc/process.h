/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process.h: small facts about processes, CPUs and settings of this machine.
 *
 * From /proc and /sys, read with limits, and from getpwuid(3), which may be slow (nsswitch.conf): ask once for each
 * uid. Process numbers are those of the pid namespace of /proc. Errors: negative errno with the path in the error
 * chain. No state; thread-safe.
 */
#ifndef SP_PROC_PROCESS_H
#define SP_PROC_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The process of the thread tid; tid itself for the leader. -ESRCH: no such thread; -EACCES: it exists, but /proc hides
 * it (hidepid).
 */
int sp_process_tgid(uint32_t tid, uint32_t *ret_tgid);

/* The process of a pidfd, by its number in our /proc, which may be of another pid namespace. */
int sp_process_of_pidfd(int pidfd, uint32_t *ret_pid);

/* Its start by CLOCK_BOOTTIME, rounded to clock ticks; 0 = no such process. */
uint64_t sp_process_start_ns(uint32_t pid);

/* The CPUs that are online, ascending. Free *ret_cpus. */
int sp_process_cpus_online(uint32_t **ret_cpus, size_t *ret_n);

/* A user's name, or the uid in digits if there is none; cut at size. */
void sp_process_user_name(uint32_t uid, char *ret_name, size_t size);

/* A setting under /proc/sys/kernel: "perf_event_paranoid", "kptr_restrict" ... -ENOENT: not in this kernel. */
int sp_process_setting(const char *name, int *ret_value);

/* Whether a seccomp filter is installed; false also if that is unknown. */
bool sp_process_is_filtered(void);
/* Whether this is not the initial user namespace, so that capabilities are not the machine's. */
bool sp_process_is_in_user_namespace(void);
/* Whether it is not the first pid namespace, so that the kernel's numbers of processes are not those of kill(2). */
bool sp_process_is_in_pid_namespace(void);

#endif

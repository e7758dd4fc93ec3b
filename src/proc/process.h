/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process.h: small questions about processes, CPUs and settings of this machine.
 *
 * All come from /proc and /sys, read with a bound, and from getpwuid(3), which may ask whatever nsswitch.conf names and
 * so may be slow: ask for each uid once. Numbers of processes are those of the pid namespace that /proc shows. Errors
 * are negative errno with the path in the error chain. No state of its own; thread-safe.
 */
#ifndef SP_PROC_PROCESS_H
#define SP_PROC_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The process that the thread tid belongs to: tid itself, if it is the leader's or a process is meant. -ESRCH: there is
 * none; -EACCES: there is one, but /proc hides it (hidepid).
 */
int sp_process_tgid(uint32_t tid, uint32_t *ret_tgid);

/* The number of the process that a pidfd is of, as our /proc shows it, which may be another namespace's. */
int sp_process_of_pidfd(int pidfd, uint32_t *ret_pid);

/* When it began, by CLOCK_BOOTTIME, in whole clock ticks; 0 = there is none. */
uint64_t sp_process_start_ns(uint32_t pid);

/* The CPUs that are online, rising. Free *ret_cpus. */
int sp_process_cpus_online(uint32_t **ret_cpus, size_t *ret_n);

/* The name of a user, or the number in digits where there is none; cut at size. */
void sp_process_user_name(uint32_t uid, char *ret_name, size_t size);

/* Settings under /proc/sys/kernel: "perf_event_paranoid", "kptr_restrict" ... -ENOENT: this kernel has no such one. */
int sp_process_setting(const char *name, int *ret_value);

/* Whether a seccomp filter may refuse us system calls; false, too, where /proc does not tell. */
bool sp_process_is_filtered(void);
/* Whether our user namespace is not the first one: its capabilities are not the machine's. */
bool sp_process_is_in_user_namespace(void);

#endif

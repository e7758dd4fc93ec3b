/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dpkg_log.h: which version of a package a replaced file came from, by dpkg's log and the time of its replacement.
 *
 * dpkg's database has only the current version. Its log has the time when it began to unpack another one over it
 * ("upgrade NAME:ARCH OLD NEW") and when that was done ("status unpacked NAME:ARCH NEW"), in local time and whole
 * seconds; a file unlinked between the two was of OLD. The logs of this month and the last are read. -ENOENT: not in
 * the log, or ambiguous; no other errors. No state; thread-safe as localtime(3).
 */
#ifndef SP_PROC_DPKG_LOG_H
#define SP_PROC_DPKG_LOG_H

#include <stdint.h>

enum { SP_DPKG_VERSION_BYTES = 256 };

/* path: the log, NULL = /var/log/dpkg.log; last month's is path.1. arch: "amd64". */
int sp_dpkg_log_replaced(const char *path, const char *name, const char *arch, uint64_t at_ns,
			 char ret_version[SP_DPKG_VERSION_BYTES]);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dpkg_log.h: which version of a package it was whose file dpkg replaced at a time.
 *
 * dpkg's database knows the version of now only. Its log says when it began to unpack another one over it ("upgrade
 * NAME:ARCH OLD NEW") and when that was done ("status unpacked NAME:ARCH NEW"), in local time and whole seconds; a file
 * that lost its name between the two was of OLD. The log of this month and of the one before it are read. What they do
 * not tell, or two ways, is not known: -ENOENT. Other errors: none. No state; thread-safe as localtime is.
 */
#ifndef SP_PROC_DPKG_LOG_H
#define SP_PROC_DPKG_LOG_H

#include <stdint.h>

enum { SP_DPKG_VERSION_BYTES = 256 };

/* path: of the log, NULL = /var/log/dpkg.log; the one before it is path.1. arch: "amd64". */
int sp_dpkg_log_replaced(const char *path, const char *name, const char *arch, uint64_t at_ns,
			 char ret_version[SP_DPKG_VERSION_BYTES]);

#endif

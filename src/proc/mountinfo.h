/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mountinfo.h: parses a line of /proc/PID/mountinfo: ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG...] - TYPE SOURCE
 * OPTIONS (proc_pid_mountinfo(5)).
 *
 * In root and mount point the kernel writes space, tab, newline and backslash as \ooo; the mount point is decoded. The
 * strings point into the given text, which is changed. No errors but false; no state; thread-safe.
 */
#ifndef SP_PROC_MOUNTINFO_H
#define SP_PROC_MOUNTINFO_H

#include <stdbool.h>
#include <stdint.h>

struct sp_mount_line {
	uint64_t id;
	uint32_t dev; /* as the kernel has it: major << 20 | minor */
	char *root, *point, *type;
	char *options; /* of the file system, not of this mount; NULL = none */
};

/* text: one line, with its newline or without. False: not a line of mountinfo. */
bool sp_mountinfo_parse(char *text, struct sp_mount_line *ret_line);

/* Decodes \ooo in place; a backslash before anything else stays. */
void sp_mountinfo_unescape(char *text);

#endif

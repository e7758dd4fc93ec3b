/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rpm_header.h: the header of an rpm package, as in rpm's database. Private to rpm.c.
 *
 * A header is an index of {tag, type, offset, count}, big-endian, and data behind it. The struct refers to the
 * caller's bytes, which are untrusted: every offset, count and string is checked when it is used; -EBADMSG. Format:
 * "Package File Format" in rpm's manual, without the lead and magic of package files. No state; thread-safe.
 */
#ifndef SP_PROC_RPM_HEADER_H
#define SP_PROC_RPM_HEADER_H

#include <stddef.h>
#include <stdint.h>

struct sp_rpm_header {
	const uint8_t *index, *data;
	size_t n_entries, data_bytes;
};
int sp_rpm_header_open(const void *bytes, size_t size, struct sp_rpm_header *ret_header);

struct sp_rpm_owner {
	const char *name, *version, *release, *arch; /* in the header; arch may be "" */
	uint32_t epoch;                              /* 0 = none */
};
int sp_rpm_header_owner(const struct sp_rpm_header *h, struct sp_rpm_owner *ret_owner);

struct sp_rpm_file {
	const char *dir, *base; /* "/usr/lib64/", "libz.so.1" */
	uint8_t state;          /* 0 = there; replaced, not installed ... */
};
/* The file number i of the package. */
int sp_rpm_header_file(const struct sp_rpm_header *h, uint32_t i, struct sp_rpm_file *ret_file);

#endif

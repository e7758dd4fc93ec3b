/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rpm_header.h: an rpm package's header, as the database holds it. Private to rpm.c.
 *
 * A header is rpm's record of a package: an index of {tag, type, offset, count}, big-endian, and the data behind it. It
 * borrows its bytes, which may say anything: every offset, count and string is checked where it is used, -EBADMSG.
 * Format: "Package File Format" of rpm's manual, without the lead and magic that a file has. No state; thread-safe.
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

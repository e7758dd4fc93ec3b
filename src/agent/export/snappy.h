/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snappy.h: compresses to a snappy block, for remote write.
 *
 * Literals, and copies from less than 64 KiB before, found by a hash of four bytes: enough for messages in which the
 * same names occur again and again. The output is a new buffer, which the caller frees. -ENOMEM; -E2BIG: more than 4
 * GiB. No state; reentrant. Source: google/snappy, format_description.txt.
 */
#ifndef SP_AGENT_EXPORT_SNAPPY_H
#define SP_AGENT_EXPORT_SNAPPY_H

#include <stddef.h>

int sp_snappy_pack(const void *bytes, size_t n, void **ret_block, size_t *ret_n);

#endif

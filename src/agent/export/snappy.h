/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snappy.h: bytes into a snappy block, as remote write wants its messages.
 *
 * Literals and copies of what stands less than 64 KiB before, found by a hash of four bytes: enough for messages in
 * which the same names come again and again. The output is a new buffer, the caller's to free. -ENOMEM, -E2BIG: more
 * than 4 GiB. No state; reentrant. Source: google/snappy, format_description.txt.
 */
#ifndef SP_AGENT_EXPORT_SNAPPY_H
#define SP_AGENT_EXPORT_SNAPPY_H

#include <stddef.h>

int sp_snappy_pack(const void *bytes, size_t n, void **ret_block, size_t *ret_n);

#endif

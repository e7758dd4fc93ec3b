/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * io.h: reads and writes all bytes that are asked for, however the kernel cuts them and whatever signals come.
 *
 * Positions are absolute, so that the descriptor's own does not matter; sp_write_all() writes there. 0 or a negative
 * errno, without words for the chain, since callers know what they read: -ENODATA: the file ends before. No state;
 * thread-safe.
 */
#ifndef SP_BASE_IO_H
#define SP_BASE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int sp_read_at(int fd, void *bytes, size_t size, uint64_t at);
/* As far as the file goes: the number of bytes. */
ssize_t sp_read_most_at(int fd, void *bytes, size_t size, uint64_t at);
int sp_write_at(int fd, const void *bytes, size_t size, uint64_t at);
int sp_write_all(int fd, const void *bytes, size_t size);

#endif

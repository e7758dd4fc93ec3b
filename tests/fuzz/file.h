/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file.h: an input as a file, for what reads a descriptor.
 *
 * There is one, in memory, for all inputs: to make and remove one is much of what a small input takes. Whoever gets it
 * may read it until the next input comes, from its beginning or by positions, and does not close it. What does not work
 * aborts.
 */
#ifndef TESTS_FUZZ_FILE_H
#define TESTS_FUZZ_FILE_H

#include "require.h"

#include <sys/mman.h>
#include <unistd.h>

static inline int fuzz_file(const void *data, size_t size)
{
	static int fd = -1;
	static size_t last;

	if (fd < 0)
		fd = memfd_create("input", MFD_CLOEXEC);
	require(fd >= 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	require(size >= last || ftruncate(fd, (off_t)size) == 0);
	require(lseek(fd, 0, SEEK_SET) == 0);
	last = size;
	return fd;
}

#endif

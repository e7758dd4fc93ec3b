/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * directory.h: a directory of a fuzzer's own, for what it must give by a path.
 *
 * In memory where that can be had, since a disk would be most of what an input takes. It is made by the first call, and
 * removed with all that is in it when the fuzzer ends; after a finding it stays. One for each process.
 */
#ifndef TESTS_FUZZ_DIRECTORY_H
#define TESTS_FUZZ_DIRECTORY_H

#include "require.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

static char fuzz_directory_path[64];

static inline int fuzz_directory_remove(const char *path, const struct stat *s, int type, struct FTW *at)
{
	(void)s;
	(void)type;
	(void)at;
	return remove(path);
}

static inline void fuzz_directory_end(void)
{
	(void)nftw(fuzz_directory_path, fuzz_directory_remove, 8, FTW_DEPTH | FTW_PHYS);
}

static inline const char *fuzz_directory(void)
{
	if (!*fuzz_directory_path) {
		snprintf(fuzz_directory_path, sizeof(fuzz_directory_path), "%s/soprof-fuzz-XXXXXX",
			 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
		require(mkdtemp(fuzz_directory_path));
		require(atexit(fuzz_directory_end) == 0);
	}
	return fuzz_directory_path;
}

static inline void fuzz_directory_write(const char *name, const void *bytes, size_t size)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", fuzz_directory(), name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	require(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

#endif

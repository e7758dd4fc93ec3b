/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/io.h"

#include <errno.h>
#include <unistd.h>

ssize_t sp_read_most_at(int fd, void *bytes, size_t size, uint64_t at)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(fd, (char *)bytes + done, size - done, (off_t)(at + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int sp_read_at(int fd, void *bytes, size_t size, uint64_t at)
{
	ssize_t n = sp_read_most_at(fd, bytes, size, at);

	if (n < 0)
		return (int)n;
	return (size_t)n < size ? -ENODATA : 0;
}

/* To a place, or, where there is none, to the descriptor's own. */
static int write_whole(int fd, const char *bytes, size_t size, const uint64_t *at)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = at ? pwrite(fd, bytes + done, size - done, (off_t)(*at + done))
			       : write(fd, bytes + done, size - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		done += (size_t)n;
	}
	return 0;
}

int sp_write_at(int fd, const void *bytes, size_t size, uint64_t at)
{
	return write_whole(fd, bytes, size, &at);
}

int sp_write_all(int fd, const void *bytes, size_t size)
{
	return write_whole(fd, bytes, size, NULL);
}

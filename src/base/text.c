/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/text.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { STEP_BYTES = 4096 };

static int (*open_other)(void *arg, const char *path);
static void *other_arg;

void sp_text_open_by(int (*open_file)(void *arg, const char *path), void *arg)
{
	open_other = open_file;
	other_arg = arg;
}

static int text_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : fd;
}

static int config_open(const char *path)
{
	int r = text_open(path), fd = r == -EACCES && open_other ? open_other(other_arg, path) : r;

	return fd < 0 ? r : fd;
}

/* Reads to the end, or to one byte more than is allowed. */
static int text_read_fd(int fd, size_t max_bytes, char **text, size_t *ret_len)
{
	size_t len = 0, capacity = 0;

	while (len <= max_bytes) {
		int r = sp_grow(text, &capacity, len + STEP_BYTES + 1, 1);
		if (r < 0)
			return r;
		ssize_t n = read(fd, *text + len, capacity - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	(*text)[len] = '\0';
	*ret_len = len;
	return len > max_bytes ? -EFBIG : 0;
}

/* Takes the descriptor. */
static int text_read_opened(const char *path, int opened, size_t max_bytes, char **ret_text, size_t *ret_len)
{
	SP_FREE char *text = NULL;
	size_t len = 0;

	SP_CLOSE int fd = opened;
	if (fd < 0)
		return sp_fail(fd, "open %s", path);
	int r = text_read_fd(fd, max_bytes, &text, &len);
	if (r < 0)
		return sp_fail(r, "read %s", path);
	*ret_text = sp_take_ptr(text);
	if (ret_len)
		*ret_len = len;
	return 0;
}

int sp_text_read(const char *path, size_t max_bytes, char **ret_text, size_t *ret_len)
{
	return text_read_opened(path, text_open(path), max_bytes, ret_text, ret_len);
}

int sp_text_read_config(const char *path, size_t max_bytes, char **ret_text, size_t *ret_len)
{
	return text_read_opened(path, config_open(path), max_bytes, ret_text, ret_len);
}

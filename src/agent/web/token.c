/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token.c: the token for HTTP, in a file beside the agent's socket. */
#include "agent/socket/ask.h"
#include "agent/socket/server.h"
#include "agent/web/page.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKEN_BYTES = 32 };

void sp_token_path(const char *socket, char *ret_path, size_t size)
{
	size_t n;

	socket = *socket ? socket : SP_AGENT_SOCKET;
	n = strlen(socket);
	if (n > 5 && !strcmp(socket + n - 5, ".sock"))
		n -= 5;
	snprintf(ret_path, size, "%.*s.token", (int)n, socket);
}

static bool is_token(const char *text)
{
	return strspn(text, "0123456789abcdef") == SP_TOKEN_TEXT - 1 &&
	       (text[SP_TOKEN_TEXT - 1] == '\n' || !text[SP_TOKEN_TEXT - 1]);
}

static int read_token(int fd, const char *path, char ret_token[SP_TOKEN_TEXT])
{
	char text[SP_TOKEN_TEXT + 2] = "";

	if (read(fd, text, sizeof(text) - 1) < 0)
		return sp_fail(-errno, "read %s", path);
	if (!is_token(text))
		return sp_fail_said(-EBADMSG, "%s holds no token", path);
	memcpy(ret_token, text, SP_TOKEN_TEXT - 1);
	ret_token[SP_TOKEN_TEXT - 1] = '\0';
	return 0;
}

int sp_token_read(const char *path, char ret_token[SP_TOKEN_TEXT])
{
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return fd < 0 ? sp_fail(-errno, "open %s", path) : read_token(fd, path, ret_token);
}

/* Else another user may have put it there, and know it. */
static bool is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 027);
}

static bool read_old(const char *path, char ret_token[SP_TOKEN_TEXT])
{
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool is_valid = fd >= 0 && is_ours(fd) && read_token(fd, path, ret_token) == 0;

	if (!is_valid)
		sp_error_clear();
	return is_valid;
}

/* Only root and members of the group can do that; else the file is for our own user only. */
static int give_to_group(int fd, const char *group)
{
	struct group *g = *group ? getgrnam(group) : NULL;
	bool is_given = g && fchown(fd, (uid_t)-1, g->gr_gid) == 0;

	return fchmod(fd, is_given ? 0640 : 0600) < 0 ? -errno : 0;
}

static int write_new(const char *path, const char *group, const char *token)
{
	SP_CLOSE int fd = -1;
	int r = sp_server_directory(path);

	if (r < 0)
		return r;
	if (unlink(path) && errno != ENOENT)
		return sp_fail(-errno, "remove %s", path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return sp_fail(-errno, "make %s", path);
	r = dprintf(fd, "%s\n", token) == SP_TOKEN_TEXT ? give_to_group(fd, group) : -EIO;
	return r < 0 ? sp_fail(r, "write %s", path) : 0;
}

int sp_token_make(const char *path, const char *group, char ret_token[SP_TOKEN_TEXT])
{
	uint8_t bytes[TOKEN_BYTES];
	char token[SP_TOKEN_TEXT];
	int r;

	if (read_old(path, ret_token))
		return 0;
	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return sp_fail(-EIO, "make a token");
	sp_hex(bytes, sizeof(bytes), token);
	r = write_new(path, group, token);
	if (r == 0)
		memcpy(ret_token, token, sizeof(token));
	return r;
}

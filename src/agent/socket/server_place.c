/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server_place.c: the socket's place in the file system. */
#include "agent/socket/server_priv.h"
#include "base/error.h"
#include "base/mem.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 128 };

/* Removes the socket of an agent that was killed; one with a listener is an error. */
static int remove_stale_socket(const struct sockaddr_un *a)
{
	struct stat st;

	if (lstat(a->sun_path, &st))
		return errno == ENOENT ? 0 : sp_fail(-errno, "%s", a->sun_path);
	if (!S_ISSOCK(st.st_mode))
		return sp_fail_said(-EEXIST, "%s is there already, and is no socket", a->sun_path);
	SP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return sp_fail(-errno, "make a socket");
	if (connect(fd, (const struct sockaddr *)a, sizeof(*a)) == 0 || errno == EAGAIN)
		return sp_fail_said(-EADDRINUSE, "another agent answers at %s", a->sun_path);
	return unlink(a->sun_path) && errno != ENOENT ? sp_fail(-errno, "remove %s", a->sun_path) : 0;
}

int sp_server_directory(const char *path)
{
	char *directory SP_FREE = strdup(path);
	char *slash = directory ? strrchr(directory, '/') : NULL;

	if (!slash || slash == directory)
		return slash ? 0 : -ENOMEM;
	*slash = '\0';
	if (mkdir(directory, 0755) < 0)
		return errno == EEXIST ? 0 : sp_fail(-errno, "make %s", directory);
	/* Any user may connect, whatever the umask is. */
	return chmod(directory, 0755) < 0 ? sp_fail(-errno, "%s", directory) : 0;
}

int sp_server_listen(struct sp_server *s)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int r = sp_server_directory(s->path);

	memcpy(a.sun_path, s->path, SP_MIN(strlen(s->path), sizeof(a.sun_path) - 1));
	if (r >= 0)
		r = remove_stale_socket(&a);
	if (r < 0)
		return r;
	s->listen = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listen < 0 || bind(s->listen, (struct sockaddr *)&a, sizeof(a)) < 0)
		return sp_fail(-errno, "make the socket %s", s->path);
	s->is_ours = true;
	/* Any user may connect: rights follow from SO_PEERCRED. */
	if (chmod(s->path, 0666) < 0 || listen(s->listen, BACKLOG) < 0)
		return sp_fail(-errno, "listen at %s", s->path);
	return 0;
}

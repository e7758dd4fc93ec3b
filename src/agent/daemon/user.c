/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/daemon/user.h"
#include "agent/daemon/loop_priv.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/owner.h"
#include "base/text.h"
#include "store/store.h"
#include "worker/broker.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_GROUPS = 1024 };

static char words[PATH_MAX + 256];

/* A directory that the user has to write to. */
struct place {
	char path[PATH_MAX];
	struct sp_new_owner owner;
	const char *name; /* of the socket */
	int given;        /* 0: it is his already, or can be given to him; -ENOENT; or why not */
};

/* --- what is ours in a directory --- */
static bool is_of_store(void *arg, const char *name)
{
	(void)arg;
	return sp_store_is_own_name(name);
}

/* The socket's name and the token's, which differ after the last dot. */
static bool is_of_socket(void *arg, const char *name)
{
	const char *socket = ((const struct place *)arg)->name;
	size_t n = strlen(socket);

	n -= n > 5 && strcmp(socket + n - 5, ".sock") == 0 ? 5 : 0;
	return strcmp(name, socket) == 0 || (strncmp(name, socket, n) == 0 && strcmp(name + n, ".token") == 0);
}

/* Another agent that has it open could not go on. */
static bool is_in_use(const char *store)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char path[PATH_MAX + 8];
	SP_CLOSE int fd = -1;

	snprintf(path, sizeof(path), "%s/lock", store);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static void place_look(struct place *p, const struct passwd *user, const char *path, size_t len)
{
	snprintf(p->path, sizeof(p->path), "%.*s", (int)SP_MAX(len, 1), path);
	p->owner.uid = user->pw_uid;
	p->owner.gid = user->pw_gid;
	p->owner.arg = p;
	p->given = sp_owner_change(p->path, &p->owner, true);
	sp_error_clear();
}

/* --- what he can do --- */
/* Of a directory that is not there the nearest one above: what is made below it is his. */
static int check_way(const char *path)
{
	char above[PATH_MAX];
	char *slash;

	snprintf(above, sizeof(above), "%s", path);
	while ((slash = strrchr(above, '/')) && slash != above) {
		*slash = '\0';
		if (faccessat(AT_FDCWD, above, X_OK, AT_EACCESS) == 0)
			return 0;
		if (errno != ENOENT)
			return sp_fail(-errno, "reach %s", above);
	}
	return 0;
}

static int check_place(const struct place *p)
{
	int r = *p->path ? check_way(p->path) : 0;

	if (r < 0 || !*p->path || p->given == 0 || p->given == -ENOENT)
		return r;
	return faccessat(AT_FDCWD, p->path, W_OK | X_OK, AT_EACCESS) < 0 ? sp_fail(-errno, "write to %s", p->path) : 0;
}

/* A file that root may read, and that the library behind an address must open by itself. */
static int check_readable(const char *path)
{
	bool is_refused = path && faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) < 0 && errno == EACCES;

	return is_refused ? sp_fail(-EACCES, "read %s", path) : 0;
}

static int check_ca_files(const struct sp_agent_config *c)
{
	int r = check_readable(c->alert_targets.ca_file);

	for (size_t i = 0; r == 0 && i < c->n_alerts; i++)
		r = check_readable(c->alerts[i].to.ca_file);
	for (size_t i = 0; r == 0 && i < c->n_remotes; i++)
		r = check_readable(c->remotes[i].ca_file);
	return r;
}

static int check_all(const struct sp_agent_config *c, const struct place *store, const struct place *run)
{
	int r = check_place(store);

	if (r == 0)
		r = check_place(run);
	if (r == 0)
		r = check_ca_files(c);
	if (r == 0 && faccessat(AT_FDCWD, "/proc/self/exe", X_OK, AT_EACCESS) < 0)
		r = sp_fail(-errno, "execute this program");
	return r;
}

/* By becoming him for as long as that takes. -EUCLEAN: the way back failed. */
static int check_as(const struct passwd *user, const struct sp_agent_config *c, const struct place *store,
		    const struct place *run)
{
	gid_t groups[MAX_GROUPS], gid = getegid();
	int n = getgroups(MAX_GROUPS, groups), r;

	if (n < 0)
		return sp_fail(-errno, "read our groups");
	r = initgroups(user->pw_name, user->pw_gid) < 0 || setegid(user->pw_gid) < 0 || seteuid(user->pw_uid) < 0
		? sp_fail(-errno, "be used")
		: check_all(c, store, run);
	if (seteuid(0) < 0 || setegid(gid) < 0 || setgroups((size_t)n, groups) < 0)
		return r < 0 && geteuid() == 0 && errno == EPERM ? r : sp_fail(-EUCLEAN, "become root again");
	return r;
}

/* --- the change --- */
static int give(const struct place *p)
{
	return *p->path && p->given == 0 ? sp_owner_change(p->path, &p->owner, false) : 0;
}

static int become(const struct passwd *user, const struct place *store, const struct place *run)
{
	int r = give(store);

	if (r == 0)
		r = give(run);
	if (r == 0)
		r = sp_privileges_become(user->pw_name, user->pw_uid, user->pw_gid);
	if (r < 0)
		return r;
	/* where unwind tables and names are kept, and what programs find that alerts run: as in the service */
	setenv("HOME", user->pw_dir, 1);
	setenv("USER", user->pw_name, 1);
	setenv("LOGNAME", user->pw_name, 1);
	unsetenv("XDG_CACHE_HOME");
	snprintf(words, sizeof(words), "runs as user %s", user->pw_name);
	return 0;
}

int sp_agent_user_become(const struct sp_agent_config *c)
{
	struct place store = {.owner.is_ours = is_of_store}, run = {.owner.is_ours = is_of_socket};
	const struct passwd *user = geteuid() == 0 ? getpwnam(SP_AGENT_USER) : NULL;
	const char *slash = strrchr(c->socket, '/');
	int r;

	if (geteuid() != 0)
		return 0;
	if (!user || user->pw_uid == 0) {
		snprintf(words, sizeof(words), "runs as root, without privileges: there is no user %s", SP_AGENT_USER);
		return 0;
	}
	if (is_in_use(c->store))
		return 0; /* which is an error to come */
	place_look(&store, user, c->store, strlen(c->store));
	run.name = slash ? slash + 1 : "";
	if (slash)
		place_look(&run, user, c->socket, (size_t)(slash - c->socket));
	r = check_as(user, c, &store, &run);
	if (r == 0)
		return become(user, &store, &run);
	if (r == -EUCLEAN)
		return r;
	snprintf(words, sizeof(words), "runs as root, without privileges: user %s cannot %s", user->pw_name,
		 sp_error_text(r));
	sp_error_clear();
	return 0;
}

const char *sp_agent_user_words(void)
{
	return words;
}

/* --- files of the configuration --- */
/* As the broker knows it, wherever that is. */
static int absolute(const char *path, char ret_path[PATH_MAX])
{
	char *here SP_FREE = path[0] == '/' ? NULL : getcwd(NULL, 0);
	int n = path[0] == '/' ? snprintf(ret_path, PATH_MAX, "%s", path)
		: here         ? snprintf(ret_path, PATH_MAX, "%s/%s", here, path)
			       : -1;

	return n < 0 ? -errno : n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static int open_kept(void *broker, const char *path)
{
	char whole[PATH_MAX];
	int r = absolute(path, whole);

	r = r < 0 ? r : sp_broker_file(broker, whole);
	sp_error_clear();
	return r;
}

int sp_agent_keep_file(struct sp_agent *a, const char *path)
{
	char whole[PATH_MAX];
	int r = path && a->env.broker && geteuid() != 0 ? absolute(path, whole) : 1;

	if (r != 0)
		return r > 0 ? 0 : sp_fail(r, "%s", path);
	sp_text_open_by(open_kept, a->env.broker);
	return sp_broker_keep_file(a->env.broker, whole);
}

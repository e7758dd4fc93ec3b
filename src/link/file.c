/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "link/file.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/state.h"
#include "base/text.h"
#include "link/blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

bool sp_calls_is(const void *bytes, size_t len)
{
	return len >= sizeof(SP_CALLS_MAGIC) && memcmp(bytes, SP_CALLS_MAGIC, sizeof(SP_CALLS_MAGIC)) == 0;
}

/* --- where it is --- */
static int check_name(const char *name)
{
	size_t len = strlen(name);

	if (strcmp(name, SP_CALLS_ALL) == 0)
		return sp_fail(-EINVAL, "\"" SP_CALLS_ALL "\" is all libraries: no other beside it");
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7f || name[i] == '/' || name[i] == ',')
			len = 0;
	if (len == 0 || len > NAME_MAX || name[0] == '.')
		return sp_fail(-EINVAL, "\"%s\" is not the name of a library", name);
	return 0;
}

static int check_glob(const char *glob)
{
	size_t len = strlen(glob);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)glob[i] < ' ' || glob[i] == 0x7f || glob[i] == ',' ||
		    (glob[i] == '[' && glob[i + 1] != '\0' && strchr(":.=", glob[i + 1])))
			return sp_fail(-EINVAL, "\"%s\" is not a glob of functions", glob);
	return len > 0 ? 0 : sp_fail_said(-EINVAL, "a glob of functions is empty");
}

/* With commas between, and room for them. */
static int calls_file_join_words(const char *const *words, size_t n, size_t room, const char *what, char **ret_list)
{
	size_t len = 1;

	for (size_t i = 0; i < n; i++)
		len += strlen(words[i]) + 1;
	if (len > room)
		return sp_fail_said(-EINVAL, "too many %s", what);
	char *list = malloc(len), *at = list;
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		at = mempcpy(at, words[i], strlen(words[i]));
		if (i + 1 < n)
			*at++ = ',';
	}
	*at = '\0';
	*ret_list = list;
	return 0;
}

struct lists {
	char *libraries, *functions;
};

static void lists_done(struct lists *l)
{
	free(l->libraries);
	free(l->functions);
}

static int lists_make(const struct sp_calls_what *w, struct lists *l)
{
	bool all = w->n_libraries == 1 && strcmp(w->libraries[0], SP_CALLS_ALL) == 0;
	int r = w->n_libraries > 0 ? 0 : sp_fail(-EINVAL, "no library");

	for (size_t i = 0; i < w->n_libraries && r == 0; i++)
		r = all ? 0 : check_name(w->libraries[i]);
	for (size_t i = 0; i < w->n_functions && r == 0; i++)
		r = check_glob(w->functions[i]);
	if (r == 0)
		r = calls_file_join_words(w->libraries, w->n_libraries, SP_CALLS_TARGETS, "libraries", &l->libraries);
	return r == 0 ? calls_file_join_words(w->functions, w->n_functions, SP_CALLS_GLOBS, "functions", &l->functions)
		      : r;
}

static int default_directory(char **ret_directory)
{
	SP_FREE char *path = NULL;
	int r = sp_state_path("/calls", &path);

	if (r == -ENOENT)
		return sp_fail_said(r, "no directory to keep calls in: $HOME is not set");
	if (r >= 0)
		r = sp_state_make(path);
	if (r >= 0)
		*ret_directory = sp_take_ptr(path);
	return r;
}

/* As mkdir(1) makes one, but for the group: each user may keep files of his own there, which are 0600 themselves. */
static int named_directory(const char *path)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return sp_fail(-errno, "make the directory %s", path);
	return 0;
}

static uint64_t hash_of(uint64_t h, const char *list)
{
	for (; *list != '\0'; list++)
		h = (h ^ (unsigned char)*list) * 0x100000001b3ULL;
	return h;
}

/* A long list is cut and ends in a hash of all of it, as where functions are picked; all libraries have a plain name.
 */
static int file_name(const struct lists *l, const char *tag, const char *user, char **ret_name)
{
	const int room = NAME_MAX - 80;
	const char *list = strcmp(l->libraries, SP_CALLS_ALL) == 0 ? "all" : l->libraries;
	char hash[24] = "";

	if (strlen(list) > (size_t)room || *l->functions != '\0')
		snprintf(hash, sizeof(hash), "-%016llx",
			 (unsigned long long)hash_of(hash_of(0xcbf29ce484222325ULL, list), l->functions));
	return asprintf(ret_name, "%.*s%s%s%s.profile", room, list, hash, tag, user) < 0 ? -ENOMEM : 0;
}

static int calls_file_path_of(const char *directory, const char *tag, const struct lists *l, char **ret_path)
{
	SP_FREE char *made = NULL, *whole = NULL, *name = NULL, *path = NULL;
	char user[16] = "";
	struct stat st;
	int r = !directory ? default_directory(&made) : named_directory(directory);

	if (r < 0)
		return r;
	whole = realpath(directory ? directory : made, NULL);
	if (!whole)
		return sp_fail(-errno, "open %s", directory ? directory : made);
	for (unsigned tries = 0; tries < 2; tries++) {
		free(sp_take_ptr(name));
		free(sp_take_ptr(path));
		r = file_name(l, tag, user, &name);
		if (r < 0 || asprintf(&path, "%s/%s", whole, name) < 0)
			return -ENOMEM;
		if (lstat(path, &st) < 0 || st.st_uid == geteuid())
			break;
		snprintf(user, sizeof(user), ".%u", (unsigned)geteuid());
	}
	*ret_path = sp_take_ptr(path);
	return 0;
}

int sp_calls_path(const char *directory, const char *tag, const struct sp_calls_what *what, char **ret_path)
{
	struct lists l = {0};
	int r = lists_make(what, &l);

	if (r == 0)
		r = calls_file_path_of(directory, tag, &l, ret_path);
	lists_done(&l);
	return r;
}

/* --- a new file --- */
/* Numbers of CPUs that may ever run here are below this. */
static int n_possible_cpus(uint32_t *ret_n)
{
	SP_FREE char *text = NULL;
	int r = sp_text_read("/sys/devices/system/cpu/possible", 4096, &text, NULL);

	if (r < 0)
		return r;
	const char *last = text + strcspn(text, "\n");
	while (last > text && last[-1] >= '0' && last[-1] <= '9')
		last--;
	unsigned long n = strtoul(last, NULL, 10);
	if (n + 2 > SP_CALLS_MAX_SLOTS)
		return sp_fail_said(-ERANGE, "more CPUs than a file of calls has room for");
	*ret_n = (uint32_t)n + 1;
	return 0;
}

struct layout {
	struct sp_calls_header header;
	struct sp_calls_block blocks[SP_CALLS_MAX_BLOCKS];
};
_Static_assert(sizeof(struct layout) == SP_CALLS_LEAST, "what a program looks for");

static void add_index(struct layout *l)
{
	for (unsigned level = 0; level < 4; level++) {
		l->header.index[level] = l->header.used_bytes;
		l->blocks[l->header.n_blocks++] = (struct sp_calls_block){.state = SP_CALLS_READY,
									  .kind = SP_CALLS_INDEX,
									  .level = (uint8_t)level,
									  .offset = l->header.used_bytes};
		l->header.used_bytes += sp_calls_block_bytes(SP_CALLS_INDEX, level, 0);
	}
}

static void add_blocks(struct layout *l, unsigned kind, unsigned n)
{
	uint64_t bytes = sp_calls_block_bytes(kind, 0, l->header.n_slots);

	l->header.cursors[kind] = l->header.n_blocks << 32;
	for (unsigned i = 0; i < n; i++) {
		l->blocks[l->header.n_blocks++] = (struct sp_calls_block){
		    .state = SP_CALLS_READY, .kind = (uint8_t)kind, .offset = l->header.used_bytes};
		l->header.used_bytes += bytes;
	}
}

static void calls_file_set_layout(struct layout *l, const struct lists *lists, const struct sp_calls_what *what,
				  uint32_t n_cpus)
{
	struct sp_calls_header *h = &l->header;
	bool all = strcmp(lists->libraries, SP_CALLS_ALL) == 0;
	unsigned times = all ? SP_CALLS_ALL_TIMES : 1;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*h = (struct sp_calls_header){.version = SP_CALLS_VERSION,
				      .header_bytes = sizeof(*h),
				      .n_slots = n_cpus + 1,
				      .depth = what->depth,
				      .apart = what->apart,
				      .used_bytes = sizeof(*l),
				      .created_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec};
	memcpy(h->magic, SP_CALLS_MAGIC, sizeof(h->magic));
	memcpy(h->targets, lists->libraries, strlen(lists->libraries));
	memcpy(h->functions, lists->functions, strlen(lists->functions));
	uint64_t most = 256 * sp_calls_block_bytes(SP_CALLS_ROW, 0, h->n_slots);
	h->size_bytes =
	    SP_MAX(most, (uint64_t)32 << 20) * (all || what->apart != SP_CALLS_TOGETHER ? SP_CALLS_ALL_TIMES : 1);
	add_index(l);
	add_blocks(l, SP_CALLS_OBJECT, 2 * times);
	add_blocks(l, SP_CALLS_FUNCTION, 3 * times);
	add_blocks(l, SP_CALLS_NAME, 2 * times);
	add_blocks(l, SP_CALLS_PROCESS, sp_calls_spare_processes(what->apart));
	add_blocks(l, SP_CALLS_ROW, sp_calls_spare_rows(all, h->n_slots));
}

/* On a file system that never overwrites in place, room that was taken would not be room for the next write. */
static void write_in_place(int fd)
{
	int flags = 0;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_NOCOW_FL) == 0) {
		flags |= FS_NOCOW_FL;
		(void)ioctl(fd, FS_IOC_SETFLAGS, &flags); /* only such file systems know it */
	}
}

static int calls_file_write_header(int fd, const struct layout *l)
{
	struct rlimit limit;
	int r;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < l->header.size_bytes)
		return sp_fail_said(-EFBIG, "the limit of file sizes (ulimit -f) is below its %llu bytes",
				    (unsigned long long)l->header.size_bytes);
	write_in_place(fd);
	if (ftruncate(fd, (off_t)l->header.size_bytes) < 0)
		return -errno;
	r = -posix_fallocate(fd, 0, (off_t)l->header.used_bytes);
	if (r < 0)
		return r;
	ssize_t n = pwrite(fd, l, sizeof(*l), 0);
	return n == (ssize_t)sizeof(*l) ? 0 : n < 0 ? -errno : -ENOSPC;
}

static int make_file(const char *path, const struct layout *l)
{
	SP_FREE char *temporary = NULL;

	if (asprintf(&temporary, "%s.new-%ld", path, (long)getpid()) < 0)
		return -ENOMEM;
	SP_CLOSE int fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return sp_fail(-errno, "make %s", path);
	int r = fchmod(fd, 0600) < 0 ? -errno : calls_file_write_header(fd, l);
	if (r == 0 && link(temporary, path) < 0)
		r = -errno;
	unlink(temporary);
	return r == 0 ? 0 : sp_fail(r, "make %s", path);
}

/* --- one that is there --- */
static int check_header(const struct sp_calls_header *h, const struct stat *st)
{
	if (!sp_calls_is(h->magic, sizeof(h->magic)))
		return sp_fail_said(-EBADMSG, "not a file of calls");
	if (h->version != SP_CALLS_VERSION)
		return sp_fail_said(-EPROTONOSUPPORT, "version %u, and this soprof writes %u: move it away", h->version,
				    (unsigned)SP_CALLS_VERSION);
	if (h->header_bytes != sizeof(*h) || h->size_bytes != (uint64_t)st->st_size || h->n_slots < 2 ||
	    h->n_slots > SP_CALLS_MAX_SLOTS || h->targets[SP_CALLS_TARGETS - 1] != '\0' ||
	    h->functions[SP_CALLS_GLOBS - 1] != '\0')
		return sp_fail_said(-EBADMSG, "damaged: its header and its size do not agree");
	return 0;
}

static int check_same(const struct sp_calls_header *h, const struct sp_calls_header *wanted)
{
	if (strcmp(h->targets, wanted->targets) != 0)
		return sp_fail_said(-EEXIST, "it counts calls of %s", h->targets);
	if (strcmp(h->functions, wanted->functions) != 0)
		return sp_fail_said(-EEXIST, "it counts %s of %s", *h->functions ? h->functions : "all functions",
				    h->targets);
	if (h->n_slots < wanted->n_slots)
		return sp_fail_said(-EEXIST, "it was made on a machine with fewer CPUs: move it away");
	return 0;
}

static int write_word(int fd, const void *word, size_t len, size_t offset)
{
	ssize_t n = pwrite(fd, word, len, (off_t)offset);

	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EIO;
}

static int continue_file(int fd, const struct layout *l)
{
	struct sp_calls_header h;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 07777) != 0600)
		return sp_fail_said(-EPERM, "it is not a file that only you can read and write");
	ssize_t n = pread(fd, &h, sizeof(h), 0);
	if (n < 0)
		return -errno;
	if (n < (ssize_t)sizeof(h))
		return sp_fail_said(-EBADMSG, "not a file of calls");
	int r = check_header(&h, &st);
	if (r == 0)
		r = check_same(&h, &l->header);
	if (r == 0)
		r = write_word(fd, &l->header.depth, sizeof(h.depth), offsetof(struct sp_calls_header, depth));
	return r == 0 ? write_word(fd, &l->header.apart, sizeof(h.apart), offsetof(struct sp_calls_header, apart)) : r;
}

int sp_calls_time(const char *path, uint64_t ticks_hz)
{
	struct sp_calls_header h;
	SP_CLOSE int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return sp_fail(-errno, "open %s", path);
	ssize_t n = pread(fd, &h, sizeof(h), 0);
	if (n == (ssize_t)sizeof(h)) {
		uint64_t times[] = {h.ticks_hz, ticks_hz > 0},
			 apart = ticks_hz > h.ticks_hz ? ticks_hz - h.ticks_hz : h.ticks_hz - ticks_hz;
		if (ticks_hz > 0 && apart > ticks_hz / 1000)
			times[0] = ticks_hz;
		n = pwrite(fd, times, sizeof(times), offsetof(struct sp_calls_header, ticks_hz));
		n = n == (ssize_t)sizeof(times) ? (ssize_t)sizeof(h) : n;
	}
	return n == (ssize_t)sizeof(h) ? 0 : sp_fail(n < 0 ? -errno : -EIO, "%s", path);
}

static int layout_make(const struct sp_calls_what *what, struct layout *l)
{
	struct lists lists = {0};
	uint32_t n_cpus = 0;
	int r = lists_make(what, &lists);

	if (r == 0)
		r = n_possible_cpus(&n_cpus);
	if (r == 0)
		calls_file_set_layout(l, &lists, what, n_cpus);
	lists_done(&lists);
	return r;
}

int sp_calls_prepare(const char *path, const struct sp_calls_what *what, bool *ret_made)
{
	SP_FREE struct layout *l = calloc(1, sizeof(*l));
	int r = l ? layout_make(what, l) : -ENOMEM;

	if (r < 0)
		return r;
	for (unsigned tries = 0; tries < 10; tries++) {
		SP_CLOSE int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd < 0 && errno != ENOENT)
			return sp_fail(-errno, "open %s", path);
		*ret_made = fd < 0;
		r = fd < 0 ? make_file(path, l) : continue_file(fd, l);
		if (fd >= 0 && r < 0)
			return sp_fail(r, "%s", path);
		if (r != -EEXIST) /* made by another process just now */
			return r;
		sp_error_clear();
	}
	return sp_fail(r, "make %s", path);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table cache: what is stored comes back, what must not be trusted does not, the size stays bounded. */
#include "unwind/cache.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "test.h"
#include "unwind/priv.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct place {
	char dir[48], top[32];
	struct sp_blob *blob;
	struct sp_cache *cache;
	struct sp_cache_key key;
};

static struct sp_blob *blob_of(const char *path)
{
	struct sp_elf *e = NULL;
	struct sp_blob *b = NULL;
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(sp_elf_open_fd(fd, &e), 0);
	assert_int_equal(sp_blob_build(e, &b), 0);
	sp_elf_close(e);
	assert_true(b->build_id_len > 0);
	return b;
}

static void setup(struct place *p, uint64_t max_bytes)
{
	*p = (struct place){.top = "/tmp/soprof-cache.XXXXXX"};
	assert_non_null(mkdtemp(p->top));
	snprintf(p->dir, sizeof(p->dir), "%s/a/b", p->top);
	p->blob = blob_of("/bin/true");
	p->key = (struct sp_cache_key){.build_id = p->blob->build_id,
				       .build_id_len = p->blob->build_id_len,
				       .state = {.dev = makedev(8, 1),
						 .ino = 4711,
						 .mtime_ns = UINT64_C(1000000000000000000),
						 .ctime_ns = UINT64_C(1700000000123456789),
						 .opened_ns = UINT64_C(1700000009000000000)},
				       .file_size = 12345,
				       .uid = 0,
				       .mode = 0100755};
	assert_int_equal(sp_cache_open(p->dir, max_bytes, &p->cache), 0);
}

/* Removes what is in a directory, and it. Directories deeper than those that setup makes are not there. */
static void remove_dir(const char *path)
{
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(path);
}

static void teardown(struct place *p)
{
	char middle[64];
	snprintf(middle, sizeof(middle), "%s/a", p->top);
	sp_cache_close(p->cache);
	free(p->blob);
	remove_dir(p->dir);
	remove_dir(middle);
	remove_dir(p->top);
}

static void entry_path(const struct place *p, const struct sp_cache_key *key, char *path, size_t size)
{
	const struct sp_file_state *s = &key->state;
	const uint64_t state[] = {s->dev, s->ino, s->mtime_ns, s->ctime_ns, key->build_id_len ? 0 : s->sample};
	int n = snprintf(path, size, "%s/%s", p->dir, key->build_id_len ? "" : "state");
	for (size_t i = 0; i < key->build_id_len; i++)
		n += snprintf(path + n, size - (size_t)n, "%02x", key->build_id[i]);
	n += snprintf(path + n, size - (size_t)n, "-");
	for (size_t i = 0; i < sizeof(state); i++)
		n += snprintf(path + n, size - (size_t)n, "%02x", ((const uint8_t *)state)[i]);
	snprintf(path + n, size - (size_t)n, "-%llu", (unsigned long long)key->file_size);
}

static bool has(struct place *p, const struct sp_cache_key *key)
{
	struct sp_blob *b = NULL;
	if (sp_cache_get(p->cache, key, &b) < 0)
		return false;
	assert_int_equal(b->bytes, p->blob->bytes);
	assert_memory_equal(b, p->blob, b->bytes);
	free(b);
	return true;
}

static void stored_comes_back(void **state)
{
	struct place p;
	struct stat st;
	char path[320];
	setup(&p, 0);
	assert_false(has(&p, &p.key));
	sp_cache_put(p.cache, &p.key, p.blob);
	assert_true(has(&p, &p.key));
	struct sp_cache_key other = p.key;
	other.file_size++;
	assert_false(has(&p, &other));
	entry_path(&p, &p.key, path, sizeof(path));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(p.dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	struct sp_cache_stats s = sp_cache_stats(p.cache);
	assert_true(s.n_hits == 1 && s.n_misses == 2 && s.n_stored == 1 && s.n_damaged == 0 && s.n_refused == 0);
	teardown(&p);
}

/* It finds what is there, and changes nothing: neither times nor files. */
static void looking_leaves_no_trace(void **state)
{
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	struct place p;
	struct stat st;
	char path[320];
	assert_int_equal(sp_cache_look("/nonexistent/soprof", &(struct sp_cache_key){.mode = 02}), -EACCES);
	setup(&p, 0);
	entry_path(&p, &p.key, path, sizeof(path));
	assert_int_equal(sp_cache_look(p.dir, &p.key), -ENOENT);
	sp_cache_put(p.cache, &p.key, p.blob);
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	assert_int_equal(sp_cache_look(p.dir, &p.key), 0);
	assert_true(stat(path, &st) == 0 && st.st_mtime == 1000);
	struct sp_cache_key other = p.key;
	other.mode |= 02;
	assert_int_equal(sp_cache_look(p.dir, &other), -EACCES);
	assert_int_equal(truncate(path, 200), 0);
	assert_int_equal(sp_cache_look(p.dir, &p.key), -EBADMSG);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(sp_cache_look("/nonexistent/soprof", &p.key), -ENOENT);
	assert_int_not_equal(access("/nonexistent", F_OK), 0);
	teardown(&p);
}

static void only_trusted_files(void **state)
{
	struct place p;
	setup(&p, 0);
	struct sp_cache_key foreign = p.key, writable = p.key, nameless = p.key, own = p.key;
	foreign.uid = 4242;
	writable.mode = 0100775;
	nameless.build_id_len = 0;
	nameless.state.ctime_ns = 0;
	own.uid = geteuid();
	sp_cache_put(p.cache, &foreign, p.blob);
	sp_cache_put(p.cache, &writable, p.blob);
	sp_cache_put(p.cache, &nameless, p.blob);
	assert_int_equal(sp_cache_stats(p.cache).n_refused, 3);
	assert_false(has(&p, &p.key)); /* none of them poisoned the entry */
	sp_cache_put(p.cache, &own, p.blob);
	assert_true(has(&p, &own));
	assert_false(has(&p, &foreign)); /* nor do they get the good one */
	assert_false(has(&p, &writable));
	uint8_t lie[20] = {1, 2, 3};
	struct sp_cache_key false_id = p.key;
	false_id.build_id = lie; /* a table that says another build id than the file */
	sp_cache_put(p.cache, &false_id, p.blob);
	assert_false(has(&p, &false_id));
	assert_int_equal(sp_cache_stats(p.cache).n_not_stored, 1);
	teardown(&p);
}

/* A table, and what its file is known by, without a build id. */
static void set_up_nameless(struct place *p, uint64_t max_bytes)
{
	setup(p, max_bytes);
	p->blob->build_id_len = 0;
	memset(p->blob->build_id, 0, sizeof(p->blob->build_id));
	p->blob->check = sp_blob_hash(p->blob);
	p->key.build_id_len = 0;
	p->key.state.sample = 0xfeedface;
}

static void known_by_their_state(void **state)
{
	struct place p;
	char path[320];
	set_up_nameless(&p, 0);
	assert_int_equal(sp_cache_look(p.dir, &p.key), -ENOENT);
	sp_cache_put(p.cache, &p.key, p.blob);
	assert_true(has(&p, &p.key));
	assert_int_equal(sp_cache_look(p.dir, &p.key), 0);
	entry_path(&p, &p.key, path, sizeof(path));
	assert_int_equal(access(path, F_OK), 0);
	struct sp_cache_key other[6];
	for (size_t i = 0; i < SP_COUNT(other); i++)
		other[i] = p.key;
	other[0].state.ino++;
	other[1].state.mtime_ns++;
	other[2].state.ctime_ns++;
	other[3].state.sample++;
	other[4].file_size++;
	other[5].mode |= 020;
	for (size_t i = 0; i < SP_COUNT(other); i++)
		assert_false(has(&p, &other[i]));
	/* The same file, met later, and through an overlay that counts its layers. */
	struct sp_cache_key same = p.key;
	same.state.opened_ns += 1000000;
	same.state.ino |= UINT64_C(3) << 60;
	assert_true(has(&p, &same));
	/* Neither may a file take it that says its state as a build id, nor does that one's table come to this file. */
	const uint64_t words[] = {p.key.state.dev, p.key.state.ino, p.key.state.mtime_ns, p.key.state.ctime_ns,
				  p.key.state.sample};
	struct sp_cache_key forged = p.key;
	forged.build_id = (const uint8_t *)words;
	forged.build_id_len = sizeof(words);
	assert_false(has(&p, &forged));
	assert_int_equal(unlink(path), 0);
	sp_cache_put(p.cache, &forged, p.blob);
	assert_false(has(&p, &p.key));
	teardown(&p);
}

/* A container's root may copy build id, size and times into a file of his, but for the time of its last change. */
static void build_id_is_no_proof(void **state)
{
	struct place p;
	setup(&p, 0);
	struct sp_cache_key forged = p.key;
	forged.state.ctime_ns++;
	sp_cache_put(p.cache, &forged, p.blob);
	assert_false(has(&p, &p.key));
	sp_cache_put(p.cache, &p.key, p.blob);
	assert_true(has(&p, &p.key));
	assert_true(has(&p, &forged));
	assert_true(sp_entries_is_same(&p.key, &p.key));
	assert_false(sp_entries_is_same(&p.key, &forged));
	/* An image that somebody has made may have any time, but is on a disk of its own. */
	struct sp_cache_key image = p.key;
	image.state.dev = makedev(7, 0);
	assert_false(has(&p, &image));
	/* Each container sees another device, of no disk. */
	struct sp_cache_key one = p.key, two = p.key;
	one.state.dev = makedev(0, 51);
	two.state.dev = makedev(0, 52);
	sp_cache_put(p.cache, &one, p.blob);
	assert_true(has(&p, &two));
	assert_true(sp_entries_is_same(&one, &two));
	assert_false(sp_entries_is_same(&one, &image));
	two.uid = 4242; /* has none, so that it has not the same one */
	assert_false(sp_entries_is_same(&two, &two));
	teardown(&p);
}

/* Names of earlier versions, whose entries any file could take. */
static void unsure_are_removed(void **state)
{
	const char *const names[] = {"00112233-12345", "state-0011223344556677-12345", "notes", "00112233-abc"};
	struct place p;
	setup(&p, 0);
	SP_CLOSE int dir = open(p.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < SP_COUNT(names); i++) {
		SP_CLOSE int fd = openat(dir, names[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
	}
	sp_cache_put(p.cache, &p.key, p.blob);
	for (size_t i = 0; i < SP_COUNT(names); i++)
		assert_int_equal(faccessat(dir, names[i], F_OK, 0), i < 2 ? -1 : 0);
	assert_true(has(&p, &p.key));
	teardown(&p);
}

/* What has just been changed may be changed again without another ctime. */
static void unsettled_have_none(void **state)
{
	struct place p;
	set_up_nameless(&p, 0);
	const uint64_t before = p.key.state.opened_ns;
	p.key.state.opened_ns = p.key.state.ctime_ns + UINT64_C(2900000000);
	sp_cache_put(p.cache, &p.key, p.blob);
	assert_int_equal(sp_cache_look(p.dir, &p.key), -EAGAIN);
	p.key.state.opened_ns = p.key.state.ctime_ns - 1; /* the clock was set back */
	sp_cache_put(p.cache, &p.key, p.blob);
	assert_int_equal(sp_cache_look(p.dir, &p.key), -EAGAIN);
	assert_int_equal(sp_cache_stats(p.cache).n_refused, 2);
	p.key.state.opened_ns = before;
	assert_int_equal(sp_cache_look(p.dir, &p.key), -ENOENT);
	p.key.state.ctime_ns = 0; /* not known */
	assert_int_equal(sp_cache_look(p.dir, &p.key), -EAGAIN);
	teardown(&p);
}

/* Entries of both kinds count, and go when they are the oldest. */
static void nameless_are_evicted(void **state)
{
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	struct place p;
	char path[320];
	set_up_nameless(&p, 0);
	sp_cache_close(p.cache);
	assert_int_equal(sp_cache_open(p.dir, p.blob->bytes * 2, &p.cache), 0);
	sp_cache_put(p.cache, &p.key, p.blob);
	entry_path(&p, &p.key, path, sizeof(path));
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	p.key.state.sample++;
	sp_cache_put(p.cache, &p.key, p.blob);
	p.key.state.sample++;
	sp_cache_put(p.cache, &p.key, p.blob);
	assert_int_equal(access(path, F_OK), -1);
	assert_true(has(&p, &p.key));
	teardown(&p);
}

static void damaged_is_removed(void **state)
{
	struct place p;
	char path[320];
	setup(&p, 0);
	entry_path(&p, &p.key, path, sizeof(path));
	for (int damage = 0; damage < 4; damage++) {
		sp_cache_put(p.cache, &p.key, p.blob);
		SP_CLOSE int fd = open(path, O_RDWR | O_CLOEXEC);
		assert_true(fd >= 0);
		if (damage == 0) /* a byte */
			assert_int_equal(pwrite(fd, "\xa5", 1, (off_t)p.blob->bytes / 2), 1);
		if (damage == 1) /* cut */
			assert_int_equal(ftruncate(fd, 100), 0);
		if (damage == 2) /* another version */
			assert_int_equal(pwrite(fd, "\xff", 1, offsetof(struct sp_blob, version)), 1);
		if (damage == 3) /* empty: what a crash may leave */
			assert_int_equal(ftruncate(fd, 0), 0);
		assert_false(has(&p, &p.key));
		assert_int_equal(access(path, F_OK), -1);
		assert_int_equal(sp_cache_stats(p.cache).n_damaged, damage + 1);
	}
	teardown(&p);
}

static void links_are_not_followed(void **state)
{
	struct place p;
	char path[320], target[128], link[128];
	struct sp_cache *c = NULL;
	setup(&p, 0);
	entry_path(&p, &p.key, path, sizeof(path));
	snprintf(target, sizeof(target), "%s/target", p.top);
	SP_CLOSE int fd = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, p.blob, p.blob->bytes), p.blob->bytes);
	assert_int_equal(symlink(target, path), 0);
	assert_false(has(&p, &p.key));
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(target, F_OK), 0);
	snprintf(link, sizeof(link), "%s/link", p.top);
	assert_int_equal(symlink(p.dir, link), 0);
	assert_true(sp_cache_open(link, 0, &c) < 0);
	teardown(&p);
}

static void open_directories_are_refused(void **state)
{
	struct place p;
	struct sp_cache *c = NULL;
	setup(&p, 0);
	assert_int_equal(chmod(p.dir, 0770), 0);
	assert_int_equal(sp_cache_open(p.dir, 0, &c), -EPERM);
	assert_int_equal(chmod(p.dir, 0700), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(p.dir, 4242, 4242), 0);
		assert_int_equal(sp_cache_open(p.dir, 0, &c), -EPERM);
	}
	teardown(&p);
}

/* Room for ten: the eleventh drives out the two that were not read for longest, one more than is needed. */
static void size_is_bounded(void **state)
{
	struct place p;
	char path[320];
	struct stat st;
	setup(&p, 0);
	sp_cache_close(p.cache);
	assert_int_equal(sp_cache_open(p.dir, p.blob->bytes * 10, &p.cache), 0);
	struct sp_cache_key key = p.key;
	for (int i = 0; i < 10; i++) {
		struct timespec old = {.tv_sec = time(NULL) - (20 - i) * 24 * 3600};
		key.file_size = (uint64_t)i;
		sp_cache_put(p.cache, &key, p.blob);
		entry_path(&p, &key, path, sizeof(path));
		assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){old, old}, 0), 0);
	}
	assert_int_equal(sp_cache_stats(p.cache).n_evicted, 0);
	key.file_size = 0;
	assert_true(has(&p, &key)); /* renews its time */
	entry_path(&p, &key, path, sizeof(path));
	assert_int_equal(stat(path, &st), 0);
	assert_true(time(NULL) - st.st_mtime < 60);
	key.file_size = 10;
	sp_cache_put(p.cache, &key, p.blob);
	assert_int_equal(sp_cache_stats(p.cache).n_evicted, 2);
	for (int i = 0; i <= 10; i++) {
		key.file_size = (uint64_t)i;
		assert_int_equal(has(&p, &key), i != 1 && i != 2);
	}
	teardown(&p);
}

/* In a child, whose files may not grow: as on a full disk. */
static void full_disk_is_no_error(void **state)
{
	struct place p;
	int status;
	setup(&p, 0);
	pid_t pid = fork();
	if (pid == 0) {
		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 100, .rlim_max = 100});
		sp_cache_put(p.cache, &p.key, p.blob);
		struct sp_cache_stats s = sp_cache_stats(p.cache);
		_exit(s.n_stored == 0 && s.n_not_stored == 1 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_false(has(&p, &p.key));
	DIR *d = opendir(p.dir); /* nothing half-written is left */
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		assert_true(strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0);
	closedir(d);
	teardown(&p);
}

static void default_places(void **state)
{
	SP_FREE char *path = NULL;
	assert_int_equal(unsetenv("CACHE_DIRECTORY"), 0);
	assert_int_equal(sp_cache_default_dir(&path), 0);
	if (geteuid() == 0)
		assert_string_equal(path, "/var/cache/soprof/unwind");
	else
		assert_non_null(strstr(path, "/soprof/unwind"));
	free(sp_take_ptr(path));
	assert_int_equal(setenv("CACHE_DIRECTORY", "/somewhere/else", 1), 0);
	assert_int_equal(sp_cache_default_dir(&path), 0);
	assert_string_equal(path, "/somewhere/else/unwind");
	assert_int_equal(unsetenv("CACHE_DIRECTORY"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(stored_comes_back),      cmocka_unit_test(looking_leaves_no_trace),
	    cmocka_unit_test(only_trusted_files),     cmocka_unit_test(damaged_is_removed),
	    cmocka_unit_test(links_are_not_followed), cmocka_unit_test(open_directories_are_refused),
	    cmocka_unit_test(size_is_bounded),        cmocka_unit_test(full_disk_is_no_error),
	    cmocka_unit_test(default_places),         cmocka_unit_test(known_by_their_state),
	    cmocka_unit_test(build_id_is_no_proof),   cmocka_unit_test(unsure_are_removed),
	    cmocka_unit_test(unsettled_have_none),    cmocka_unit_test(nameless_are_evicted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

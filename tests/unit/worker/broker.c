/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process without any capability gets from its broker, and what it does not: BPF arrays, perf events, one output
 * that was told before, files that only root may read. (Workers by the broker: parser_by_broker.c.) Each test is a
 * process of its own, since what is given up does not come back.
 */
#include "worker/broker.h"
#include "base/error.h"
#include "base/mem.h"
#include "tool.h"
#include "worker/priv.h"
#include <bpf/bpf.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static char dir[] = "/tmp/soprof-broker-XXXXXX", path[64];

static int own_event(void)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_period = 1000000};
	return (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool becomes; /* another user */

/* Runs in a child, whose exit code it becomes. */
static void in_child(int (*body)(struct sp_broker *b))
{
	int status;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct sp_broker *b;
		int r = becomes ? sp_privileges_become("nobody", 65534, 65534) : 0;
		r = r < 0 ? r : sp_broker_new(&b);
		if (r < 0)
			_exit(99);
		r = body(b);
		sp_broker_free(b);
		_exit(r);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("status %x", status);
}

#define EXPECT(condition)                                                                                              \
	do                                                                                                             \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "line %d: not %s (%s)\n", __LINE__, #condition, strerror(errno));              \
			return 1;                                                                                      \
		}                                                                                                      \
	while (0)

static bool may_do_nothing(void)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {{0}};
	syscall(SYS_capget, &h, d);
	return !d[0].permitted && !d[1].permitted && !d[0].effective && !d[1].effective;
}

static int arrays_and_events(struct sp_broker *b)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_period = 1000000};
	uint64_t count = 0;
	EXPECT(sp_privileges_drop(b) == 0);
	EXPECT(may_do_nothing());
	EXPECT(bpf_map_create(BPF_MAP_TYPE_ARRAY, "x", 4, 8, 1, NULL) < 0);
	EXPECT(own_event() < 0);
	int array = sp_broker_array(b, 4096);
	EXPECT(array >= 0);
	char *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, array, 0);
	EXPECT(mapped != MAP_FAILED);
	mapped[4095] = 1;
	EXPECT(sp_broker_array(b, 0) == -EINVAL);
	EXPECT(sp_broker_array(b, ~0u) == -EINVAL);
	int event = sp_broker_event(b, &attr, 0);
	EXPECT(event >= 0);
	EXPECT(fcntl(event, F_GETFD) == FD_CLOEXEC);
	EXPECT(read(event, &count, sizeof(count)) == sizeof(count));
	EXPECT(sp_broker_event(b, &attr, 100000) < 0);
	EXPECT(strstr(sp_error_text(-EINVAL), "open a perf event"));
	return 0;
}

static int count_files(void)
{
	int n = -2;
	DIR *d = opendir(dir);
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static int output_in_place(struct sp_broker *b)
{
	struct stat st;
	int fd = sp_broker_output(b, path, 0640);
	EXPECT(fd >= 0);
	EXPECT(sp_privileges_drop(b) == 0);
	EXPECT(stat(path, &st) < 0 && errno == ENOENT);
	EXPECT(write(fd, "text", 4) == 4);
	EXPECT(sp_broker_put_in_place(b) == 0);
	EXPECT(stat(path, &st) == 0 && st.st_size == 4 && (st.st_mode & 07777) == 0640);
	EXPECT(sp_broker_put_in_place(b) == -ENOENT);
	EXPECT(sp_broker_output(b, path, 0640) == -EPERM);
	EXPECT(count_files() == 1);
	return 0;
}

static int no_output_afterwards(struct sp_broker *b)
{
	EXPECT(sp_privileges_drop(b) == 0);
	EXPECT(sp_broker_output(b, path, 0644) == -EPERM);
	EXPECT(sp_broker_put_in_place(b) == -ENOENT);
	return 0;
}

static int output_left(struct sp_broker *b)
{
	EXPECT(sp_broker_output(b, path, 0644) >= 0);
	EXPECT(count_files() == 2); /* that of the test before, and the new one */
	return 0;
}

/* --- files, for a process that was root's --- */
static const char *in_dir(const char *name)
{
	static char whole[8][96];
	static unsigned n;
	char *at = whole[n++ % SP_COUNT(whole)];
	snprintf(at, sizeof(whole[0]), "%s/%s", dir, name);
	return at;
}

static bool make_secret(const char *name)
{
	SP_CLOSE int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd >= 0 && write(fd, "text", 4) == 4;
}

static int files_of_root(struct sp_broker *b)
{
	static const char *const kept[] = {"secret", "none", "his/secret", "directory", "link", "sticky/secret"};
	char bytes[8] = "";
	for (size_t i = 0; i < SP_COUNT(kept); i++)
		EXPECT(sp_broker_keep_file(b, in_dir(kept[i])) == 0);
	EXPECT(sp_broker_keep_file(b, "secret") == -EINVAL);
	EXPECT(sp_broker_file(b, in_dir("secret")) == -EPERM); /* we may ourselves */
	EXPECT(sp_privileges_drop(b) == 0);
	EXPECT(may_do_nothing());
	EXPECT(open(in_dir("secret"), O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
	SP_CLOSE int fd = sp_broker_file(b, in_dir("secret"));
	EXPECT(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC && read(fd, bytes, sizeof(bytes)) == 4);
	EXPECT(strcmp(bytes, "text") == 0 && write(fd, "x", 1) < 0);
	SP_CLOSE int linked = sp_broker_file(b, in_dir("link")); /* as root has led it */
	EXPECT(linked >= 0);
	SP_CLOSE int sticky = sp_broker_file(b, in_dir("sticky/secret"));
	EXPECT(sticky >= 0);
	EXPECT(sp_broker_file(b, in_dir("other")) == -EPERM);
	EXPECT(sp_broker_file(b, in_dir("his/../secret")) == -EPERM);
	EXPECT(sp_broker_file(b, in_dir("none")) == -ENOENT);
	EXPECT(sp_broker_file(b, in_dir("his/secret")) == -EPERM);
	EXPECT(sp_broker_file(b, in_dir("directory")) == -EPERM);
	EXPECT(sp_broker_keep_file(b, in_dir("other")) == -EPERM);
	return 0;
}

/* An own name that is replaced later, by what is nobody else's to read. */
static int files_in_the_way(struct sp_broker *b)
{
	EXPECT(sp_broker_keep_file(b, in_dir("his/link")) == 0);
	EXPECT(sp_broker_keep_file(b, in_dir("sticky/link")) == 0);
	EXPECT(sp_privileges_drop(b) == 0);
	EXPECT(symlink(in_dir("secret"), in_dir("his/link")) == 0);
	EXPECT(symlink(in_dir("secret"), in_dir("sticky/link")) == 0);
	EXPECT(sp_broker_file(b, in_dir("his/link")) == -EPERM);
	EXPECT(sp_broker_file(b, in_dir("sticky/link")) == -EPERM);
	return 0;
}

static void test_files(void **state)
{
	assert_true(chmod(dir, 0755) == 0 && make_secret("secret") && make_secret("other"));
	assert_true(mkdir(in_dir("directory"), 0755) == 0 && symlink(in_dir("secret"), in_dir("link")) == 0);
	assert_true(mkdir(in_dir("his"), 0755) == 0 && make_secret("his/secret"));
	assert_true(mkdir(in_dir("sticky"), 0755) == 0 && make_secret("sticky/secret"));
	assert_true(chown(in_dir("his"), 65534, 65534) == 0 && chmod(in_dir("sticky"), 01777) == 0);
	becomes = true;
	in_child(files_of_root);
	in_child(files_in_the_way);
	becomes = false;
}

static void test_arrays_and_events(void **state)
{
	in_child(arrays_and_events);
}

static void test_output(void **state)
{
	in_child(output_in_place);
	in_child(no_output_afterwards);
	in_child(output_left);
	assert_int_equal(count_files(), 1);
}

static int take_away(const char *at, const struct stat *st, int type, struct FTW *walk)
{
	(void)st, (void)type, (void)walk;
	return remove(at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    CLEAN_TEST(test_arrays_and_events),
	    CLEAN_TEST(test_output),
	    CLEAN_TEST(test_files),
	};
	if (geteuid() != 0) {
		puts("needs root");
		return 77;
	}
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/out", dir);
	int r = cmocka_run_group_tests(tests, NULL, NULL);
	nftw(dir, take_away, 8, FTW_DEPTH | FTW_PHYS);
	return r;
}

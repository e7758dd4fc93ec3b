/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process without any capability gets from its broker, and what it does not: BPF arrays, perf events, one output
 * that was told before. (Workers by the broker: parser_by_broker.c.) Each test is a process of its own, since what is
 * given up does not come back.
 */
#include "worker/broker.h"
#include "base/error.h"
#include "base/mem.h"
#include "tool.h"
#include "worker/priv.h"
#include <bpf/bpf.h>
#include <fcntl.h>
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

/* Runs in a child, whose exit code it becomes. */
static void in_child(int (*body)(struct sp_broker *b))
{
	int status;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct sp_broker *b;
		int r = sp_broker_new(&b);
		r = r < 0 ? 99 : body(b);
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

static void test_arrays_and_events(void **state)
{
	(void)state;
	in_child(arrays_and_events);
}

static void test_output(void **state)
{
	(void)state;
	in_child(output_in_place);
	in_child(no_output_afterwards);
	in_child(output_left);
	assert_int_equal(count_files(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    CLEAN_TEST(test_arrays_and_events),
	    CLEAN_TEST(test_output),
	};
	if (geteuid() != 0) {
		puts("needs root");
		return 77;
	}
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/out", dir);
	int r = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	rmdir(dir);
	return r;
}

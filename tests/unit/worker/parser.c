/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parser processes: what they answer equals direct calls, and what goes wrong in one costs one file. The parser is
 * compiled into this test with hooks (hooked_parser.h).
 */
#include "base/error.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "hooked_parser.h"
#include "proc/usage.h"
#include "tool.h"
#include "worker/jobs_names.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Files to ask about. */
static const char *const libraries[] = {"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libz.so.1",
					"/lib/x86_64-linux-gnu/libelf.so.1", "/proc/self/exe"};

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static int file_with(const char *text)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, text, strlen(text), 0), strlen(text));
	return fd;
}

struct answer {
	int n, r;
	char error[200];
	struct sp_identify_result id;
	struct sp_blob *blob;
	struct sp_name *names;
	size_t n_names;
};

static void note(struct answer *a, int r)
{
	a->n++;
	a->r = r;
	snprintf(a->error, sizeof(a->error), "%s", r < 0 ? sp_error_text(r) : "");
}

static void identified(void *arg, struct sp_identify_result *id)
{
	struct answer *a = arg;
	note(a, id->r);
	a->id = *id;
}

static void built(void *arg, int r, struct sp_blob *blob)
{
	struct answer *a = arg;
	note(a, r);
	a->blob = blob;
}

static void named(void *arg, int r, struct sp_name *names, size_t n, const char *warning)
{
	struct answer *a = arg;
	assert_null(warning);
	note(a, r);
	a->names = names;
	a->n_names = n;
}

static struct sp_broker *broker; /* see parser_by_broker.c */

static struct sp_workers *workers(unsigned deadline_ms)
{
	struct sp_workers *w;
	struct sp_workers_options o = {.broker = broker, .n_parsers = 1, .deadline_ms = deadline_ms};
	assert_int_equal(sp_workers_new(&o, &w), 0);
	return w;
}

static void ask(struct sp_workers *w, int fd, struct answer *a)
{
	memset(a, 0, sizeof(*a));
	assert_int_equal(sp_workers_identify(w, fd, identified, a), 0);
}

static void answer_done(struct answer *a)
{
	free(a->id.soname);
	free(a->blob);
	if (a->names)
		sp_names_done(a->names, a->n_names);
	free(a->names);
}

static void check_identity(const struct answer *a, int fd)
{
	struct sp_elf *e;
	uint8_t id[32];
	char *soname = NULL;
	assert_int_equal(a->n, 1);
	assert_int_equal(a->r, 0);
	assert_int_equal(sp_elf_open_fd(fd, &e), 0);
	int n = sp_elf_build_id(e, id, sizeof(id));
	assert_int_equal(a->id.build_id_len, n < 0 ? 0 : n);
	assert_memory_equal(a->id.build_id, id, a->id.build_id_len);
	if (sp_elf_soname(e, &soname) == 0)
		assert_string_equal(a->id.soname, soname);
	else
		assert_null(a->id.soname);
	free(soname);
	sp_elf_close(e);
}

static void test_identity(void **state)
{
	struct sp_workers *w = workers(0);
	int fds[SP_COUNT(libraries)];
	struct answer a[SP_COUNT(libraries)];
	for (size_t i = 0; i < SP_COUNT(libraries); i++)
		ask(w, fds[i] = open_file(libraries[i]), &a[i]);
	assert_int_equal(sp_workers_outstanding(w), SP_COUNT(libraries));
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	for (size_t i = 0; i < SP_COUNT(libraries); i++) {
		check_identity(&a[i], fds[i]);
		answer_done(&a[i]);
		close(fds[i]);
	}
	sp_workers_free(w);
}

/* A file whose note names the package "seed", and here another of as many letters. */
static int noted_file(const char *name)
{
	char bytes[4096];
	SP_CLOSE int seed = open_file(SP_SOURCE_ROOT "/tests/fuzz/corpus/fuzz_elf/noted");
	ssize_t size = read(seed, bytes, sizeof(bytes));
	char *at = size > 0 ? memmem(bytes, (size_t)size, "\"seed\"", 6) : NULL;
	int fd = memfd_create("test", MFD_CLOEXEC);
	assert_non_null(at);
	memcpy(at + 1, name, 4);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, (size_t)size, 0), size);
	return fd;
}

static void test_package(void **state)
{
	static const struct {
		const char *written, *name, *version;
		int r;
	} wants[] = {
	    {"zlib", "zlib", "1", 0}, {"a\nb ", "", "", 0}, {"evil", "", "", -EBADMSG}, {"long", "", "", -EBADMSG}};
	struct sp_workers *w = workers(0);
	for (size_t i = 0; i < SP_COUNT(wants); i++) {
		struct answer a;
		int fd = noted_file(wants[i].written);
		ask(w, fd, &a);
		assert_int_equal(sp_workers_wait(w, 60000), 0);
		assert_int_equal(a.r, wants[i].r);
		assert_string_equal(a.id.package.name, wants[i].name);
		assert_string_equal(a.id.package.version, wants[i].version);
		answer_done(&a);
		close(fd);
	}
	sp_workers_free(w);
}

static void test_blob(void **state)
{
	struct sp_workers *w = workers(0);
	for (size_t i = 0; i < SP_COUNT(libraries); i++) {
		struct answer a = {0};
		int fd = open_file(libraries[i]);
		assert_int_equal(sp_workers_build(w, fd, built, &a), 0);
		assert_int_equal(sp_workers_wait(w, 60000), 0);
		assert_string_equal(a.error, "");
		struct sp_elf *e;
		struct sp_blob *direct;
		assert_int_equal(sp_elf_open_fd(fd, &e), 0);
		assert_int_equal(sp_blob_build(e, &direct), 0);
		assert_int_equal(a.blob->bytes, direct->bytes);
		assert_memory_equal(a.blob, direct, direct->bytes);
		assert_true(direct->n_rows > 10);
		sp_elf_close(e);
		free(direct);
		answer_done(&a);
		close(fd);
	}
	sp_workers_free(w);
}

/* Good, bad, good, all sent at once: the bad one alone fails, and says why. */
static void check_costs_one(const char *text, unsigned deadline_ms, int r, const char *error)
{
	struct sp_workers *w = workers(deadline_ms);
	int good = open_file(libraries[0]), bad = file_with(text);
	struct answer a[3];
	ask(w, good, &a[0]);
	ask(w, bad, &a[1]);
	ask(w, good, &a[2]);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	assert_int_equal(a[1].n, 1);
	assert_string_equal(a[1].error, error);
	assert_int_equal(a[1].r, r);
	check_identity(&a[0], good);
	check_identity(&a[2], good);
	struct sp_workers_stats s;
	sp_workers_stats(w, &s);
	assert_int_equal(s.n_crashed, r == -EIO && !strstr(error, "before"));
	assert_string_equal(s.crashed, s.n_crashed ? error : "");
	assert_int_equal(s.n_late, r == -ETIMEDOUT);
	assert_true(s.peak_bytes > 100000 && s.cpu_ns > 10000);
	for (unsigned i = 0; i < 3; i++)
		answer_done(&a[i]);
	close(good);
	close(bad);
	sp_workers_free(w);
}

/* Parsers that came one after the other have not had their memory at one time. */
static void test_peak(void **state)
{
	enum { N = 16 };
	struct sp_workers *w = workers(100);
	struct sp_workers_stats s;
	uint64_t first = 0;
	int bad = file_with("hang");

	for (unsigned i = 0; i < N; i++) {
		struct answer a;
		ask(w, bad, &a);
		assert_int_equal(sp_workers_wait(w, 60000), 0);
		assert_true(a.r < 0);
		answer_done(&a);
		sp_workers_stats(w, &s);
		first = i ? first : s.peak_bytes;
	}
	assert_int_equal(s.n_late, N);
	assert_true(first > 100000 && s.peak_bytes >= first);
	assert_true(s.peak_bytes < N / 2 * first); /* the first may have been killed before it had all its memory */
	close(bad);
	sp_workers_free(w);
}

static void test_crash(void **state)
{
#if defined(__SANITIZE_ADDRESS__) && !defined(WITH_BROKER) /* whose report of the crash is what the filter stops */
	check_costs_one("crash", 0, -EIO, "parser crashed (signal 31)");
#else
	check_costs_one("crash", 0, -EIO, "parser crashed (signal 11)");
	check_costs_one("abort", 0, -EIO, "parser crashed (signal 31)");
#endif
}

static void test_leave(void **state)
{
	check_costs_one("leave", 0, -EIO, "parser ended before it answered");
}

static void test_hang(void **state)
{
	double start = now_ms();
	check_costs_one("hang", 2000, -ETIMEDOUT, "parser took over 2 s");
	assert_true(now_ms() - start >= 2000);
}

/* It ends long before the deadline, and not before it has used what it may. */
static void test_spent(void **state)
{
	struct sp_workers *w;
	struct sp_workers_options o = {.broker = broker, .n_parsers = 1, .deadline_ms = 60000, .max_cpu_ms = 300};
	struct sp_workers_stats s;
	struct answer a;
	int fd = file_with("hang");
	assert_int_equal(sp_workers_new(&o, &w), 0);
	ask(w, fd, &a);
	assert_int_equal(sp_workers_wait(w, 50000), 0);
	assert_int_equal(a.r, -ETIMEDOUT);
	assert_string_equal(a.error, "parser took over 300 ms of CPU time");
	sp_workers_stats(w, &s);
	assert_true(s.parsers_ns >= 300000000);
	assert_string_equal(s.late, "/memfd:test (deleted): parser took over 300 ms of CPU time");
	answer_done(&a);
	close(fd);
	sp_workers_free(w);
}

/* Where others have the CPUs a parser is given longer, but only as long as it gets on. */
static void test_starved(void **state)
{
	const uint64_t deadline_ns = 20000000000; /* none of it is waited for */
	struct sp_workers *w = workers(20000);
	struct answer a;
	int fd = file_with("hang");
	ask(w, fd, &a);
	assert_int_equal(sp_workers_dispatch(w), 0);
	struct sp_worker *p = w->pools[SP_ROLE_PARSER].processes;
	assert_non_null(p);
	while (sp_usage_cpu_ns((uint32_t)p->pid) - p->begin_cpu_ns < deadline_ns / 500)
		usleep(1000);
	kill(p->pid, SIGSTOP);
	sp_pool_tick(w, SP_ROLE_PARSER, p->since_ns + deadline_ns); /* as if so long were over */
	assert_int_equal(p->jobs.n, 1);
	sp_pool_tick(w, SP_ROLE_PARSER, p->since_ns + 2 * deadline_ns - 1);
	assert_int_equal(p->jobs.n, 1);
	sp_pool_tick(w, SP_ROLE_PARSER, p->since_ns + 2 * deadline_ns);
	assert_int_equal(p->jobs.n, 0);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	assert_int_equal(a.r, -ETIMEDOUT);
	answer_done(&a);
	close(fd);
	sp_workers_free(w);
}

static void test_no_elf(void **state)
{
	struct sp_elf *e;
	int fd = file_with("plain text");
	sp_error_clear();
	int r = sp_elf_open_fd(fd, &e);
	assert_true(r < 0);
	char *error = strdup(sp_error_text(r));
	close(fd);
	check_costs_one("plain text", 0, r, error);
	free(error);
}

static void test_sandbox(void **state)
{
	static const char *const forbidden[] = {"stat", "socket", "ptrace", "kill", "exec", "fork", "code", "memfd"};
	for (size_t i = 0; i < SP_COUNT(forbidden); i++)
		check_costs_one(forbidden[i], 0, -EIO, "parser crashed (signal 31)");
	/* libdw looks for more files: there are none, and it goes on */
	check_costs_one("open", 0, -ENOEXEC, "not an ELF file: too short");
}

static void check_text(pid_t pid, const char *name, const char *line)
{
	char path[64], text[4096];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	int fd = open_file(path);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = 0;
	if (!strstr(text, line))
		fail_msg("no %s in %s", line, text);
	close(fd);
}

static void check_status(pid_t pid, const char *line)
{
	check_text(pid, "status", line);
}

static void check_descriptors(pid_t pid)
{
	char path[64];
	unsigned n = 0;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	assert_int_equal(n, 4); /* /dev/null three times, and the socket */
}

static void test_privileges(void **state)
{
	struct baseline *b = *state;
	struct sp_workers *w = workers(0);
	struct answer a;
	int fd = open_file(libraries[0]);
	ask(w, fd, &a);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	unsigned n;
	pid_t pid = children(&n);
	assert_int_equal(n, b->n_children + 1);
	check_status(pid, "\nCapPrm:\t0000000000000000\n");
	check_status(pid, "\nCapEff:\t0000000000000000\n");
	check_status(pid, "\nNoNewPrivs:\t1\n");
	check_status(pid, "\nSeccomp:\t2\n");
	check_text(pid, "oom_score_adj", "1000\n");
	if (geteuid() == 0) {
		check_status(pid, "\nUid:\t65534\t65534\t65534\t65534\n");
		check_status(pid, "\nGid:\t65534\t65534\t65534\t65534\n");
		check_status(pid, "\nGroups:\t \n");
		check_descriptors(pid);
	}
	answer_done(&a);
	close(fd);
	sp_workers_free(w);
}

static void check_build(const char *text, int r, const char *error)
{
	struct sp_workers *w = workers(0);
	struct answer a = {0}, after = {0};
	int bad = file_with(text), good = open_file(libraries[1]);
	assert_int_equal(sp_workers_build(w, bad, built, &a), 0);
	assert_int_equal(sp_workers_build(w, good, built, &after), 0);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	assert_string_equal(a.error, error);
	assert_int_equal(a.r, r);
	assert_null(a.blob);
	assert_int_equal(after.r, 0);
	answer_done(&after);
	close(good);
	close(bad);
	sp_workers_free(w);
}

static void test_lies(void **state)
{
	check_build("blob", -EBADMSG, "parser failed: its answer makes no sense");
	check_build("huge", -EFBIG, "hand back 314572800 bytes: File too large");
#ifndef __SANITIZE_ADDRESS__
	check_build("memory", -ENOMEM, "Cannot allocate memory");
#endif
}

static void test_many(void **state)
{
	struct sp_workers *w = workers(0);
	static struct answer a[150];
	int fd = open_file(libraries[0]);
	double start = now_ms();
	for (size_t i = 0; i < SP_COUNT(a); i++)
		ask(w, fd, &a[i]);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	printf("150 identities: %.1f ms\n", now_ms() - start);
	for (size_t i = 0; i < SP_COUNT(a); i++) {
		check_identity(&a[i], fd);
		answer_done(&a[i]);
	}
	struct sp_workers_stats s;
	sp_workers_stats(w, &s);
	printf("CPU %.1f ms, peak %llu KiB\n", (double)s.cpu_ns / 1e6, (unsigned long long)s.peak_bytes / 1024);
	close(fd);
	sp_workers_free(w);
}

static void test_idle(void **state)
{
	struct baseline *b = *state;
	struct sp_workers *w = workers(0);
	struct answer a;
	unsigned n;
	int fd = open_file(libraries[0]);
	ask(w, fd, &a);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	answer_done(&a);
	children(&n);
	assert_int_equal(n, b->n_children + 1);
	for (double start = now_ms(); n > b->n_children && now_ms() - start < 10000; children(&n)) {
		usleep(50000);
		assert_int_equal(sp_workers_dispatch(w), 0);
	}
	assert_int_equal(n, b->n_children);
	ask(w, fd, &a); /* and it begins anew */
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	check_identity(&a, fd);
	answer_done(&a);
	close(fd);
	sp_workers_free(w);
}

static void test_cancel(void **state)
{
	struct sp_workers *w = workers(0);
	struct answer a[20];
	int fd = file_with("hang");
	for (size_t i = 0; i < SP_COUNT(a); i++)
		ask(w, fd, &a[i]);
	sp_workers_free(w);
	for (size_t i = 0; i < SP_COUNT(a); i++) {
		assert_int_equal(a[i].n, 1);
		assert_int_equal(a[i].r, -ECANCELED);
	}
	close(fd);
}

#ifndef WITH_BROKER /* whose workers are ours, not those of the process that this test forks */
/* Alive and not a zombie that nobody has waited for yet. */
static bool runs(pid_t pid)
{
	char path[64], state = 'Z';
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	(void)!fscanf(f, "%*d (%*[^)]) %c", &state);
	fclose(f);
	return state != 'Z' && state != 'X';
}

static pid_t only_child_of(pid_t pid)
{
	char path[64];
	int child = 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	(void)!fscanf(f, "%d", &child);
	fclose(f);
	return child;
}

/* The parent is killed while the parser is deep in a file: it does not outlive him. */
static void test_orphan(void **state)
{
	int fd = file_with("hang");
	pid_t parser = 0, parent = fork();
	if (parent == 0) {
		struct answer a;
		struct sp_workers *w = workers(0);
		ask(w, fd, &a);
		sp_workers_wait(w, 60000);
		_exit(0);
	}
	for (double start = now_ms(); !parser && now_ms() - start < 5000; usleep(10000))
		parser = only_child_of(parent);
	assert_true(parser > 0);
	usleep(300000);
	assert_true(runs(parser));
	kill(parent, SIGKILL);
	waitpid(parent, NULL, 0);
	for (double start = now_ms(); runs(parser) && now_ms() - start < 15000;)
		usleep(10000);
	assert_false(runs(parser));
	close(fd);
}

#endif

static void test_arguments(void **state)
{
	struct sp_workers *w = workers(0);
	struct answer a = {0};
	uint64_t wrong[] = {2, 1};
	int fd = open_file(libraries[0]);
	assert_int_equal(sp_workers_names(w, fd, -1, wrong, 2, named, &a), -EINVAL);
	assert_int_equal(sp_workers_identify(w, -1, identified, &a), -EBADF);
	assert_int_equal(sp_workers_names(w, fd, -1, NULL, 0, named, &a), 0);
	assert_int_equal(sp_workers_wait(w, 60000), 0);
	assert_int_equal(a.n, 1);
	assert_int_equal(a.r, 0);
	answer_done(&a);
	close(fd);
	sp_workers_free(w);
}

int main(int argc, char **argv)
{
	sp_worker_main(argc, argv);
	const struct CMUnitTest tests[] = {
	    CLEAN_TEST(test_identity),  CLEAN_TEST(test_package),    CLEAN_TEST(test_blob),
	    CLEAN_TEST(test_crash),     CLEAN_TEST(test_leave),      CLEAN_TEST(test_hang),
	    CLEAN_TEST(test_starved),   CLEAN_TEST(test_spent),      CLEAN_TEST(test_no_elf),
	    CLEAN_TEST(test_sandbox),   CLEAN_TEST(test_privileges), CLEAN_TEST(test_lies),
	    CLEAN_TEST(test_many),      CLEAN_TEST(test_idle),       CLEAN_TEST(test_cancel),
	    CLEAN_TEST(test_arguments), CLEAN_TEST(test_peak),
#ifndef WITH_BROKER
	    CLEAN_TEST(test_orphan),
#endif
	};
#ifdef WITH_BROKER
	broker = start_broker();
#endif
	int r = cmocka_run_group_tests(tests, NULL, NULL);
	sp_broker_free(broker);
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fixture.c: see fixture.h. */
#include "fixture.h"

#include "base/mem.h"
#include "bpf/wire.h"
#include "test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

enum file {
	F_KERNEL,
	F_EXT4,
	F_OPENSSL,
	F_CRYPTO,
	F_LIBC,
	F_JAVA,
	F_JIT1,
	F_JIT2,
	F_HOSTILE,
	F_STRIPPED,
	N_FILES_USED
};

struct builder {
	struct sp_profile *p;
	uint32_t files[N_FILES_USED];
};

#define HOSTILE_COMM "e;v\nil\x1b[ 9"
#define HOSTILE_NAME "f;\"g'<&>\n\x1b[31m\xe2\x80\xae\xff\\x41 77"

static uint32_t ok(int64_t number)
{
	assert_true(number >= 0);
	return (uint32_t)number;
}

static uint32_t str(struct builder *b, const char *s)
{
	return ok(sp_profile_add_string(b->p, s));
}

static void file(struct builder *b, enum file which, int kind, const char *name, const char *path, uint8_t id)
{
	struct sp_file f = {.kind = (uint8_t)kind, .tag = which + 1, .name = str(b, name), .path = str(b, path)};

	if (id) {
		f.build_id_len = 20;
		for (int i = 0; i < 20; i++)
			f.build_id[i] = (uint8_t)(id + 7 * i);
	}
	b->files[which] = ok(sp_profile_add_file(b->p, &f));
}

static void files(struct builder *b)
{
	file(b, F_KERNEL, SP_FILE_KERNEL, "[kernel]", "", 0);
	file(b, F_EXT4, SP_FILE_KERNEL, "[ext4]", "", 0);
	file(b, F_OPENSSL, SP_FILE_ELF, "openssl", "/usr/bin/openssl", 0x11);
	file(b, F_CRYPTO, SP_FILE_ELF, "libcrypto.so.3", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", 0x22);
	file(b, F_LIBC, SP_FILE_ELF, "libc.so.6", "/usr/lib/x86_64-linux-gnu/libc.so.6", 0x33);
	file(b, F_JAVA, SP_FILE_ELF, "libjvm.so", "/opt/jdk/lib/server/libjvm.so", 0x44);
	file(b, F_JIT1, SP_FILE_ANON, "[anon]", "", 0);
	file(b, F_JIT2, SP_FILE_ANON, "[anon]", "", 0);
	file(b, F_HOSTILE, SP_FILE_ELF, "lib\n\x1b]0;x\x07.so", "/tmp/a b;\xfe/lib\n\x1b]0;x\x07.so", 0x55);
	file(b, F_STRIPPED, SP_FILE_ELF, "libwith-a-very-long-name-that-no-column-holds.so.2024.1", "", 0);
	sp_profile_file(b->p, b->files[F_JIT1])->bias = 0x7f0000000000;
	sp_profile_file(b->p, b->files[F_JIT2])->bias = 0x7f0000000000;
	sp_profile_file(b->p, b->files[F_STRIPPED])->note = str(b, "parser failed: \x1bsection header out of range");
	sp_profile_file(b->p, b->files[F_CRYPTO])->package = str(b, "libssl3");
	sp_profile_file(b->p, b->files[F_OPENSSL])->package = str(b, "openssl");
	sp_profile_file(b->p, b->files[F_LIBC])->package = str(b, "libc6");
	sp_profile_file(b->p, b->files[F_LIBC])->package_version = str(b, "2.36-9+deb12u10");
}

/* A frame at `at` bytes into the function that starts at `start` of the file (its code is mapped 0x1000 higher). */
static uint32_t frame(struct builder *b, enum file which, const char *name, uint64_t start, uint64_t at, unsigned flags)
{
	enum file of = which == F_EXT4 ? F_KERNEL : which; /* a module's frame lies in the kernel, its function not */
	bool kernel = of == F_KERNEL, anon = which == F_JIT1 || which == F_JIT2;
	struct sp_func f = {.file = b->files[which], .name = str(b, name), .start = start, .size = 0x100};
	struct sp_frame fr = {
	    .file = b->files[of], .offset = start + at, .flags = flags | (kernel ? SP_FRAMEF_KERNEL : 0)};

	f.vaddr = kernel ? start : anon ? start + 0x7f0000000000 : start + 0x1000;
	f.is_range = strchr(name, '+') != NULL;
	f.linkage_name = f.is_range ? 0 : f.name;
	if (!strncmp(name, "std::", 5))
		f.linkage_name = str(b, "_ZNSt6vectorIiSaIiEE9push_backERKi");
	fr.func = ok(sp_profile_add_func(b->p, &f));
	return ok(sp_profile_add_frame(b->p, &fr));
}

static uint32_t stack(struct builder *b, int stack_class, int reason, uint32_t n, const uint32_t *frames)
{
	struct sp_stack s = {(uint16_t)stack_class, (uint16_t)reason, n, frames};

	return ok(sp_profile_add_stack(b->p, &s));
}
#define STACK(b, stack_class, reason, ...)                                                                             \
	stack(b, stack_class, reason, SP_COUNT(((uint32_t[]){__VA_ARGS__})), (uint32_t[]){__VA_ARGS__})
#define WHOLE(b, ...) STACK(b, SP_CLASS_COMPLETE, SP_STOP_COMPLETE, __VA_ARGS__)

static uint32_t key(struct builder *b, uint32_t pid, uint32_t uid, uint32_t exe, const char *leader, const char *comm)
{
	struct sp_process process = {.pid = pid,
				     .ns_pid = pid,
				     .uid = uid,
				     .exe = exe,
				     .comm = str(b, leader),
				     .start_ns = pid * 1000ULL,
				     .cgroup = 4 + uid,
				     .cgroup_path = str(b, uid ? "/user.slice/user-1000.slice" : "/system.slice")};
	struct sp_key k = {
	    .process = ok(sp_profile_add_process(b->p, &process)), .comm = str(b, comm), .recipe = str(b, "cpu")};

	return ok(sp_profile_add_key(b->p, &k));
}

static void row(struct builder *b, uint32_t key, uint32_t user, uint32_t kernel, int64_t n)
{
	int64_t values[] = {n, n * FIXTURE_PERIOD_NS};

	assert_int_equal(sp_profile_add(b->p, key, user, kernel, values), 0);
}

static uint32_t read_in_kernel(struct builder *b)
{
	return WHOLE(b, frame(b, F_KERNEL, "copy_to_user", 0xffffffff81400000, 0x18, 0),
		     frame(b, F_EXT4, "ext4_file_read_iter", 0xffffffffc0a00040, 0x2b, 0),
		     frame(b, F_KERNEL, "vfs_read", 0xffffffff812a1000, 0x9a, 0),
		     frame(b, F_KERNEL, "do_syscall_64", 0xffffffff81c00000, 0x3a, 0),
		     frame(b, F_KERNEL, "entry_SYSCALL_64_after_hwframe", 0xffffffff81e00080, 0x6d, 0));
}

static uint32_t exit_in_kernel(struct builder *b)
{
	return WHOLE(b, frame(b, F_KERNEL, "unmap_page_range", 0xffffffff81270000, 0x10, 0),
		     frame(b, F_KERNEL, "do_exit", 0xffffffff81080000, 0x20, 0));
}

/* The way down to _start, with a leaf that is given, at two places of one function. */
static uint32_t hashing(struct builder *b, uint64_t at)
{
	return WHOLE(
	    b, frame(b, F_CRYPTO, "libcrypto.so.3+0x29eb40", 0x29db40, at, 0),
	    frame(b, F_CRYPTO, "EVP_DigestUpdate", 0x1a0000, 0x33, 0), frame(b, F_OPENSSL, "main", 0x4000, 0x99, 0),
	    frame(b, F_LIBC, "__libc_start_main", 0x27000, 0x84, 0), frame(b, F_OPENSSL, "_start", 0x5000, 0x20, 0));
}

static void ordinary_rows(struct builder *b)
{
	uint32_t a = key(b, 100, 0, b->files[F_OPENSSL], "openssl", "openssl");
	uint32_t other = key(b, 101, 1000, b->files[F_OPENSSL], "openssl", "openssl");
	uint32_t reader =
	    WHOLE(b, frame(b, F_LIBC, "read", 0xf0000, 0x0c, 0), frame(b, F_OPENSSL, "main", 0x4000, 0x20, 0),
		  frame(b, F_OPENSSL, "_start", 0x5000, 0x20, 0));

	row(b, a, hashing(b, 0x10), 0, 50);
	row(b, a, hashing(b, 0x44), 0, 6); /* looks the same without -v */
	row(b, other, hashing(b, 0x10), 0, 30);
	row(b, a, reader, read_in_kernel(b), 20);
	row(b, other, reader, stack(b, SP_CLASS_CUT, SP_STOP_COMPLETE, 0, NULL), 2);
}

static void incomplete_rows(struct builder *b)
{
	uint32_t kworker = key(b, 7, 0, 0, "kworker/0:1", "kworker/0:1-eve");
	uint32_t java = key(b, 300, 1000, b->files[F_JAVA], "java", "C2 Compiler");
	uint32_t java2 = key(b, 301, 1000, b->files[F_JAVA], "java", "C2 Compiler");

	sp_profile_file(b->p, b->files[F_JIT1])->process = sp_profile_key(b->p, java)->process;
	sp_profile_file(b->p, b->files[F_JIT2])->process = sp_profile_key(b->p, java2)->process;
	uint32_t jvm = frame(b, F_JAVA, "JavaMain", 0x900000, 0x70, 0);
	uint32_t jit1 = frame(b, F_JIT1, "[anon]+0x7f0000000100", 0x100, 0, SP_FRAMEF_GUESSED);
	uint32_t jit2 = frame(b, F_JIT2, "[anon]+0x7f0000000100", 0x100, 0, SP_FRAMEF_GUESSED);
	uint32_t deep =
	    frame(b, F_STRIPPED, "libwith-a-very-long-name-that-no-column-holds.so.2024.1+0x2000", 0x1000, 4, 0);

	row(b, kworker, 0, WHOLE(b, frame(b, F_KERNEL, "worker_thread", 0xffffffff810b0000, 0x50, 0)), 5);
	row(b, java, STACK(b, SP_CLASS_GUESSED, SP_STOP_COMPLETE, jit1, jvm), 0, 7);
	row(b, java2, STACK(b, SP_CLASS_GUESSED, SP_STOP_COMPLETE, jit2, jvm), 0, 1);
	row(b, java, STACK(b, SP_CLASS_CUT, SP_STOP_REGISTER, deep, jvm), 0, 4);
	row(b, java, stack(b, SP_CLASS_CUT, SP_STOP_BUSY, 0, NULL), exit_in_kernel(b), 2);
	row(b, java, stack(b, SP_CLASS_ABSENT, SP_STOP_GONE, 0, NULL), exit_in_kernel(b), 3);
	row(b, java, stack(b, SP_CLASS_ABSENT, SP_STOP_GONE, 0, NULL), 0, 1);
}

static void odd_rows(struct builder *b)
{
	uint32_t fibo = key(b, 400, 1000, b->files[F_OPENSSL], "fib", "fib");
	uint32_t hostile = key(b, 500, 1000, b->files[F_HOSTILE], HOSTILE_COMM, HOSTILE_COMM);
	uint32_t fib = frame(b, F_OPENSSL, "fib(unsigned int)", 0x6000, 0x31, 0);
	uint32_t start = frame(b, F_OPENSSL, "_start", 0x5000, 0x20, 0);
	uint32_t vector =
	    frame(b, F_OPENSSL, "std::vector<int, std::allocator<int> >::push_back(int const&)", 0x7000, 2, 0);

	row(b, fibo, WHOLE(b, fib, fib, fib, fib, fib, fib, start), 0, 9);
	row(b, fibo, WHOLE(b, vector, fib, fib, start), 0, 8);
	row(b, hostile,
	    WHOLE(b, frame(b, F_HOSTILE, HOSTILE_NAME, 0x2000, 1, 0), frame(b, F_HOSTILE, " -", 0x3000, 1, 0)), 0, 15);
}

struct sp_profile *fixture_profile(void)
{
	struct builder b = {0};
	struct sp_profile_info *info;

	assert_int_equal(sp_profile_new(&b.p), 0);
	assert_true(sp_profile_add_value_type(b.p, "samples", "count") >= 0);
	assert_true(sp_profile_add_value_type(b.p, "cpu", "nanoseconds") >= 0);
	files(&b);
	ordinary_rows(&b);
	incomplete_rows(&b);
	odd_rows(&b);
	info = sp_profile_info(b.p);
	info->duration_ns = 2000000000;
	info->time_ns = 1700000000123456789;
	info->period = FIXTURE_PERIOD_NS;
	info->period_type = (struct sp_value_type){str(&b, "cpu"), str(&b, "nanoseconds")};
	return b.p;
}

char *fixture_render(const struct sp_view *view, const struct sp_profile *p, const struct sp_view_options *o,
		     size_t *ret_len)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(view->write(p, o, out), 0);
	assert_int_equal(fclose(out), 0);
	if (ret_len)
		*ret_len = len;
	return text;
}

static char *slurp(const char *path)
{
	FILE *in SP_FCLOSE = fopen(path, "re");
	char *text = NULL;
	size_t n = 0;

	if (!in || getdelim(&text, &n, '\0', in) >= 0)
		return text;
	free(text);
	return strdup("");
}

static void regenerate(const char *path, const char *text)
{
	FILE *out = fopen(path, "we");

	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static void say_first_difference(const char *name, const char *expected, const char *got)
{
	unsigned int line = 1;
	const char *e = expected, *g = got;

	for (size_t i = 0; expected[i] && expected[i] == got[i]; i++)
		if (expected[i] == '\n') {
			line++;
			e = expected + i + 1;
			g = got + i + 1;
		}
	fail_msg("%s, line %u:\nexpected: %.*s\ngot:      %.*s\n", name, line, (int)strcspn(e, "\n"), e,
		 (int)strcspn(g, "\n"), g);
}

void fixture_compare(const char *name, const char *text)
{
	char path[4096];
	char *expected SP_FREE = NULL;

	snprintf(path, sizeof(path), SP_TEST_DATA "/view/%s", name);
	if (getenv("SP_UPDATE_GOLDEN")) {
		regenerate(path, text);
		return;
	}
	expected = slurp(path);
	if (!expected)
		fail_msg("%s: %s", path, strerror(errno));
	if (strcmp(expected, text))
		say_first_difference(name, expected, text);
}

void fixture_golden(const char *name, const struct sp_view *view, const struct sp_view_options *o)
{
	struct sp_profile *p = fixture_profile();
	char *text SP_FREE = fixture_render(view, p, o, NULL);

	if (!o->colour)
		fixture_harmless(text);
	fixture_compare(name, text);
	sp_profile_free(p);
}

void fixture_harmless(const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
		assert_true(*at == '\n' || *at >= 0x20);
		assert_int_not_equal(*at, 0x7f);
		/* U+202E, the right-to-left override of the fixture, and the lone bytes that are no UTF-8 */
		assert_false(at[0] == 0xe2 && at[1] == 0x80 && at[2] == 0xae);
		assert_true(*at != 0xff && *at != 0xfe);
	}
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int fixture_run(char *const argv[], const char *stdin_path, char **ret_out)
{
	extern char **environ;
	char path[] = "/tmp/soprof-test-XXXXXX";
	int fd SP_CLOSE = mkstemp(path), r;
	posix_spawn_file_actions_t actions;
	pid_t pid;

	assert_true(fd >= 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, stdin_path ? stdin_path : "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, fd, 1);
	posix_spawn_file_actions_adddup2(&actions, fd, 2);
	r = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	r = r ? -1 : wait_for(pid);
	*ret_out = slurp(path);
	unlink(path);
	return r;
}

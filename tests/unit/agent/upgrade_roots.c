/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * upgrade_roots.c: upgrades of real, sampled processes: a library is replaced and its program started again, on the
 * host or in another root; and what is none: another build at the same path in another root (pivot_root, overlay,
 * chroot), and another directory. Detected in samples, and compared in a store. Root only.
 */
#include "agent/upgrade/upgrade.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "capture/lasting.h"
#include "profile/profile.h"
#include "profile/window.h"
#include "recipe/recipe.h"
#include "store/store.h"
#include "test.h"
#include "worker/worker.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "plt"
#define LIBRARY "libplt.so"
/* A full hour, so that windows and slices are the same in every run. */
#define T0 (UINT64_C(1700006400) * SP_NS_PER_S)
enum { HZ = 199, SAMPLES = 15 };

struct fixture {
	char base[64], place[80]; /* place: directory of program and library, on the host and in each root */
	struct sp_capture *c;
	struct sp_profile *p;
	struct sp_workers *w;
	struct sp_store *store;
	struct sp_upgrades u;
	uint32_t own;
	unsigned cpus[512];
	uint64_t n_windows, from_ns; /* of the comparison: after the existing windows */
	char found[512];
};

/* --- files and roots --- */
static char *path_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *path_of(const char *format, ...)
{
	static char paths[8][512];
	static unsigned next;
	char *path = paths[next++ % SP_COUNT(paths)];
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(paths[0]), format, args);
	va_end(args);
	return path;
}

static void directories_make(const char *path)
{
	char at[512];

	snprintf(at, sizeof(at), "%s", path);
	for (char *slash = strchr(at + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		assert_true(mkdir(at, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	assert_true(mkdir(at, 0755) == 0 || errno == EEXIST);
}

/* build: unless it is 0, the build id is changed */
static void copy(const char *name, const char *to, uint8_t build)
{
	static const uint8_t note[] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};
	int in = open(path_of("%s/plain/%s", SP_VICTIMS, name), O_RDONLY | O_CLOEXEC), out;
	SP_FREE uint8_t *bytes = malloc(1 << 20);
	ssize_t n = bytes ? read(in, bytes, 1 << 20) : -1;
	uint8_t *at = n > 0 ? memmem(bytes, (size_t)n, note, sizeof(note)) : NULL;

	assert_true(n > 0 && n < 1 << 20 && at);
	memset(at + sizeof(note), build, build ? 20 : 0);
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	assert_true(out >= 0);
	assert_int_equal(write(out, bytes, (size_t)n), n);
	close(in);
	close(out);
}

/* As package managers do it. */
static void library_put(const char *directory, uint8_t build)
{
	char *new = path_of("%s/" LIBRARY ".new", directory);

	copy(LIBRARY, new, build);
	assert_int_equal(rename(new, path_of("%s/" LIBRARY, directory)), 0);
}

static void program_put(const char *directory, uint8_t build)
{
	directories_make(directory);
	copy(PROGRAM, path_of("%s/" PROGRAM, directory), 0);
	library_put(directory, build);
}

/* A root with the host's libraries, and the program at the same path with this build of its library. */
static char *root_make(const struct fixture *f, const char *name, uint8_t build)
{
	char *root = strdup(path_of("%s/%s", f->base, name));

	directories_make(path_of("%s/usr", root));
	assert_int_equal(mount("/usr", path_of("%s/usr", root), NULL, MS_BIND, NULL), 0);
	assert_int_equal(symlink("usr/lib", path_of("%s/lib", root)), 0);
	assert_int_equal(symlink("usr/lib64", path_of("%s/lib64", root)), 0);
	program_put(path_of("%s%s", root, f->place), build);
	return root;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

/* --- how it is run --- */
enum how { ON_HOST, ELSEWHERE, IN_CHROOT, IN_PIVOTED, IN_OVERLAY };

static int enter(const struct fixture *f, enum how how, const char *root)
{
	char *lower = path_of("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", root, f->base, f->base);
	const char *top = how == IN_OVERLAY ? path_of("%s/merged", f->base) : root;

	if (how <= ELSEWHERE)
		return 0;
	if (how == IN_CHROOT)
		return chroot(root) || chdir("/");
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -1;
	if (how == IN_OVERLAY &&
	    (mount("overlay", top, "overlay", 0, lower) || mount("/usr", path_of("%s/usr", top), NULL, MS_BIND, NULL)))
		return -1;
	if (how == IN_PIVOTED && mount(root, root, NULL, MS_BIND | MS_REC, NULL))
		return -1;
	return chdir(top) || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) || chdir("/");
}

/* Not into a plain chroot, whose root is no mount point. */
static bool can_enter(void)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static pid_t start(const struct fixture *f, enum how how, const char *root)
{
	/* without /proc ld.so does not know the program's directory */
	char *library = path_of("LD_LIBRARY_PATH=%s%s", f->place, how == ELSEWHERE ? "/other" : "");
	char *program = path_of("%s/" PROGRAM, f->place);
	pid_t pid = fork();

	if (pid)
		return pid;
	alarm(60);
	if (enter(f, how, root))
		_exit(126);
	execve(program, (char *[]){program, (char[]){"60"}, NULL}, (char *[]){library, NULL});
	_exit(127);
}

/* --- sampling --- */
static bool begin(struct fixture *f)
{
	long n = sysconf(_SC_NPROCESSORS_CONF), i;
	struct sp_capture_options o;

	for (i = 0; i < n && i < (long)SP_COUNT(f->cpus); i++)
		f->cpus[i] = (unsigned)i;
	f->own = (uint32_t)getpid();
	o = (struct sp_capture_options){.recipes = {&sp_recipe_cpu},
					.cpus = f->cpus,
					.n_cpus = (size_t)i,
					.filter = SP_TARGETS_TGID,
					.targets = &f->own,
					.n_targets = 1,
					.follow = true,
					.user = true,
					.no_seek = true,
					.drain_ns = 10 * SP_NS_PER_S,
					.cache = "",
					.frequency_hz = HZ};
	assert_int_equal(sp_profile_new(&f->p), 0);
	assert_int_equal(sp_workers_new(&(struct sp_workers_options){0}, &f->w), 0);
	if (sp_capture_new(&o, f->p, f->w, &f->c) < 0) {
		print_message("skip: %s\n", sp_error_text(-EPERM));
		return false;
	}
	assert_int_equal(sp_capture_start(f->c), 0);
	snprintf(f->base, sizeof(f->base), "/tmp/soprof-roots-XXXXXX");
	assert_non_null(mkdtemp(f->base));
	snprintf(f->place, sizeof(f->place), "%s/app", f->base);
	for (i = 0; i < 3; i++)
		directories_make(path_of("%s/%s", f->base, (const char *[]){"upper", "work", "merged"}[i]));
	program_put(f->place, 1);
	directories_make(path_of("%s/other", f->place));
	library_put(path_of("%s/other", f->place), 8);
	assert_int_equal(sp_store_open(path_of("%s/store", f->base), &(struct sp_store_options){0}, &f->store), 0);
	assert_int_equal(sp_upgrades_init(&f->u), 0);
	return true;
}

static void end(struct fixture *f, const char *const *roots, size_t n)
{
	sp_upgrades_done(&f->u);
	sp_store_close(f->store);
	sp_workers_free(f->w);
	sp_capture_free(f->c);
	sp_profile_free(f->p);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(umount(path_of("%s/usr", roots[i])), 0);
	assert_int_equal(nftw(f->base, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* Samples of the process in a library with a build id. */
static int64_t n_of_library(const struct sp_profile *p, pid_t pid, uint8_t build)
{
	int64_t n = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		struct sp_stack stack = sp_profile_stack(p, row->user);
		const struct sp_file *f =
		    sp_profile_file(p, stack.n_frames ? sp_profile_frame(p, stack.frames[0])->file : 0);

		if (sp_profile_process(p, sp_profile_key(p, row->key)->process)->pid == (uint32_t)pid &&
		    f->build_id_len == 20 && f->build_id[0] == build && f->build_id[19] == build)
			n += row->values[0];
	}
	return n;
}

/* As an event loop does, for a moment. */
static void step(struct fixture *f)
{
	int fds[SP_CAPTURE_MAX_FDS];
	size_t n = sp_capture_fds(f->c, fds);
	struct pollfd polled[SP_CAPTURE_MAX_FDS];

	for (size_t i = 0; i < n; i++)
		polled[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	poll(polled, n, 20);
	assert_int_equal(sp_capture_step(f->c), 0);
}

/* A window of the program with this build of its library; returns the number of new upgrades. */
static int run(struct fixture *f, enum how how, const char *root, uint8_t build)
{
	uint64_t end = sp_time_ns(CLOCK_MONOTONIC) + 30 * SP_NS_PER_S;
	struct sp_store_window w = {.wall_ns = T0 + f->n_windows++ * 10 * SP_NS_PER_S,
				    .duration_ns = 10 * SP_NS_PER_S,
				    .rate_millihertz = HZ * 1000,
				    .n_cpus = 1,
				    .source = "cpu"};
	pid_t pid = start(f, how, root);
	int status, n;

	while (n_of_library(f->p, pid, build) < SAMPLES || sp_capture_is_waiting(f->c) ||
	       sp_capture_is_identifying(f->c)) {
		if (waitpid(pid, &status, WNOHANG) == pid || sp_time_ns(CLOCK_MONOTONIC) > end)
			fail_msg("the program (%d) is sampled in build %d of its library", (int)how, build);
		step(f);
		assert_int_equal(sp_capture_drain(f->c), 0);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	while (sp_capture_is_waiting(f->c) || sp_workers_outstanding(f->w))
		step(f);
	assert_int_equal(sp_capture_drain(f->c), 0);
	n = sp_upgrades_check_window(&f->u, f->p, w.wall_ns);
	assert_int_equal(sp_store_add(f->store, &w, f->p), 0);
	sp_profile_clear_rows(f->p);
	return n;
}

/* --- comparison --- */
static int take(void *arg, const struct sp_store_event *e)
{
	struct fixture *f = arg;
	size_t n = strlen(f->found);

	if (!strcmp(e->kind, "upgrade"))
		snprintf(f->found + n, sizeof(f->found) - n, "%s;", e->text);
	return 0;
}

/* Compares windows before this one with those from it on, as the agent does later. */
static const char *compared(struct fixture *f, uint64_t window)
{
	uint64_t at = T0 + window * 10 * SP_NS_PER_S;
	struct sp_upgrade_comparison q = {
	    .from_ns = at - SP_NS_PER_S, .to_ns = at - 2 * SP_NS_PER_S, .span_ns = 600 * SP_NS_PER_S};

	f->found[0] = '\0';
	assert_int_equal(sp_upgrade_compare(f->store, &q, take, f), 0);
	print_message("%s\n", f->found);
	return f->found;
}

static void another_root_or_directory_is_no_upgrade(void **state)
{
	struct fixture f = {0};
	const char *roots[4];

	if (geteuid() || !can_enter() || !begin(&f)) {
		print_message("skip: not root\n");
		skip();
	}
	char *first = root_make(&f, "first", 2), *second = root_make(&f, "second", 3);
	char *layer = root_make(&f, "layer", 4), *plain = root_make(&f, "plain", 5);

	assert_int_equal(run(&f, ON_HOST, "", 1), 0);
	assert_int_equal(run(&f, IN_PIVOTED, first, 2), 0);
	assert_int_equal(run(&f, IN_PIVOTED, second, 3), 0);
	assert_int_equal(run(&f, IN_OVERLAY, layer, 4), 0);
	assert_int_equal(run(&f, IN_CHROOT, plain, 5), 0);
	assert_int_equal(run(&f, ELSEWHERE, "", 8), 0);
	assert_int_equal(f.u.n_jobs, 0);
	assert_int_equal(run(&f, ON_HOST, "", 1), 0);
	assert_string_equal(compared(&f, 1), "");

	library_put(f.place, 6);
	assert_int_equal(run(&f, ON_HOST, "", 6), 1);
	assert_int_equal(f.u.n_jobs, 1);
	assert_non_null(
	    strstr(compared(&f, 7), LIBRARY ": build id 010101010101 -> build id 060606060606, in " PROGRAM));

	library_put(path_of("%s%s", first, f.place), 7);
	assert_int_equal(run(&f, IN_PIVOTED, first, 7), 1);
	assert_non_null(
	    strstr(compared(&f, 8), LIBRARY ": build id 020202020202 -> build id 070707070707, in " PROGRAM));
	roots[0] = first, roots[1] = second, roots[2] = layer, roots[3] = plain;
	end(&f, roots, SP_COUNT(roots));
	free(first);
	free(second);
	free(layer);
	free(plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(another_root_or_directory_is_no_upgrade)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

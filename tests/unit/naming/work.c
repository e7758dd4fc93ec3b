/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Naming, driven step by step as by a loop: of this program's own functions, by real workers. */
#include "naming/work.h"
#include "base/error.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "naming/naming.h"
#include "own_program.h"
#include "profile/profile.h"
#include "test.h"
#include "worker/worker.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEADLINE_MS = 120000 };

__attribute__((noipa)) int work_test_first(int x);
__attribute__((noipa)) int work_test_second(int x);
__attribute__((noipa)) int work_test_first(int x)
{
	return x * 3 + 1;
}

__attribute__((noipa)) int work_test_second(int x)
{
	return x * 5 + 1;
}

struct fixture {
	struct sp_workers *workers;
	struct sp_profile *profile;
	struct sp_naming naming;
	struct sp_elf *elf;
	int fd; /* elf's */
	uint32_t file;
};

static int own_base(struct dl_phdr_info *info, size_t size, void *base)
{
	*(uint64_t *)base = info->dlpi_addr;
	return 1; /* the program is the first */
}

static uint64_t offset_of(const struct fixture *x, int (*function)(int))
{
	uint64_t base = 0, vaddr;

	dl_iterate_phdr(own_base, &base);
	vaddr = (uint64_t)(uintptr_t)function - base;
	for (size_t i = 0; i < sp_elf_n_segments(x->elf); i++) {
		const struct sp_elf_segment *s = sp_elf_segment(x->elf, i);

		if (vaddr >= s->vaddr && vaddr < s->vaddr + s->file_size)
			return vaddr - s->vaddr + s->offset;
	}
	fail_msg("the function lies in no segment");
	return 0;
}

static uint32_t add_frame(struct fixture *x, uint64_t offset)
{
	int64_t n = sp_profile_add_frame(x->profile, &(struct sp_frame){.offset = offset, .file = x->file});

	assert_true(n > 0);
	return (uint32_t)n;
}

static const char *name_of(const struct fixture *x, uint32_t frame)
{
	const struct sp_func *f = sp_profile_func(x->profile, sp_profile_frame(x->profile, frame)->func);

	return sp_profile_string(x->profile, f->name);
}

static void begin(struct fixture *x)
{
	assert_int_equal(sp_profile_new(&x->profile), 0);
	x->file = own_program_add(x->profile, &x->fd, &x->elf);
	assert_int_equal(sp_workers_new(&(struct sp_workers_options){.n_parsers = 1}, &x->workers), 0);
	x->naming = (struct sp_naming){
	    .workers = x->workers, .profile = x->profile, .by_path = true, .no_fetch = true, .cache = ""};
}

static void end(struct fixture *x)
{
	sp_naming_done(&x->naming);
	sp_workers_free(x->workers);
	sp_profile_free(x->profile);
	sp_elf_close(x->elf);
	close(x->fd);
}

/* As a loop does: how often it came round. */
static unsigned go_on(struct fixture *x)
{
	struct pollfd fd = {.fd = sp_workers_fd(x->workers), .events = POLLIN};
	unsigned n = 0;
	int r;

	for (; (r = sp_naming_step(&x->naming)) > 0; n++) {
		int ms = sp_workers_timeout_ms(x->workers);

		assert_true(poll(&fd, 1, ms < 0 ? DEADLINE_MS : ms) > 0 || ms >= 0);
		assert_int_equal(sp_workers_dispatch(x->workers), 0);
	}
	assert_int_equal(r, 0);
	return n;
}

/* It never waits by itself; the profile may grow meanwhile; and what is known is not asked for again. */
static void test_goes_on(void **state)
{
	struct fixture x;
	uint32_t first, second;

	begin(&x);
	first = add_frame(&x, offset_of(&x, work_test_first) + 1);
	sp_naming_start(&x.naming);
	assert_int_equal(sp_naming_step(&x.naming), 1);
	assert_int_equal(sp_naming_step(&x.naming), 1); /* nothing has come */
	assert_int_equal(sp_profile_frame(x.profile, first)->func, 0);
	for (uint64_t i = 0; i < 3000; i++)
		add_frame(&x, (UINT64_C(1) << 40) + i);
	second = add_frame(&x, offset_of(&x, work_test_second) + 1);
	assert_true(go_on(&x) >= 3); /* the file was opened, looked at, and written down */
	assert_string_equal(name_of(&x, first), "work_test_first");
	assert_int_equal(sp_profile_frame(x.profile, second)->func, 0);
	assert_int_equal(x.naming.stats.n_private, 1);
	sp_naming_start(&x.naming);
	assert_int_equal(go_on(&x), 0);
	assert_string_equal(name_of(&x, second), "work_test_second");
	end(&x);
}

static void is_ended(struct fixture *x, uint32_t frame)
{
	const char *note = sp_profile_string(x->profile, sp_profile_file(x->profile, x->file)->note);

	assert_string_equal(note, "ended before it was named");
	assert_non_null(strstr(name_of(x, frame), "+0x"));
}

/* Who wants nothing more need not wait; the answer that comes later is nobody's, and the next question gets its own. */
static void test_is_over(void **state)
{
	for (unsigned n_answers = 0; n_answers < 4; n_answers++) {
		struct fixture x;
		uint32_t first, second;

		(void)state;
		begin(&x);
		first = add_frame(&x, offset_of(&x, work_test_first) + 1);
		sp_naming_start(&x.naming);
		assert_int_equal(sp_naming_step(&x.naming), 1);
		for (unsigned i = 0; i < n_answers; i++) {
			assert_int_equal(sp_workers_wait(x.workers, DEADLINE_MS), 0);
			if (sp_naming_step(&x.naming) == 0)
				break;
		}
		if (sp_profile_frame(x.profile, first)->func) { /* by then it was named */
			end(&x);
			continue;
		}
		x.naming.is_over = true;
		assert_int_equal(sp_naming_step(&x.naming), 0);
		is_ended(&x, first);
		x.naming.is_over = false;
		second = add_frame(&x, offset_of(&x, work_test_second) + 1);
		sp_naming_start(&x.naming);
		go_on(&x);
		assert_string_equal(name_of(&x, second), "work_test_second");
		end(&x);
	}
}

/* Naming goes before the answer comes, or the workers before naming. */
static void test_goes_first(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		struct fixture x;

		(void)state;
		begin(&x);
		add_frame(&x, offset_of(&x, work_test_first) + 1);
		sp_naming_start(&x.naming);
		assert_int_equal(sp_naming_step(&x.naming), 1);
		if (i) {
			sp_naming_done(&x.naming);
			assert_int_equal(sp_workers_wait(x.workers, DEADLINE_MS), 0);
		} else {
			sp_workers_free(sp_take_ptr(x.workers));
		}
		end(&x);
	}
}

static int pass_on(struct sp_naming *n, int r)
{
	return r;
}

static int push_too_many(struct sp_naming *n, int r)
{
	for (int i = 0; i < 2 * SP_NAMING_STEPS; i++)
		sp_naming_then(n, pass_on);
	return r;
}

static void too_many_steps_are_an_error(void **state)
{
	struct fixture x = {0};
	const struct sp_name_question q = {.file = 1};

	begin(&x);
	assert_int_equal(sp_naming_begin(&x.naming, &q, push_too_many), 0);
	assert_int_equal(sp_naming_wait(&x.naming), -ELOOP);
	assert_int_equal(sp_naming_end(&x.naming), -ELOOP);
	sp_error_clear();
	end(&x);
}

static void ask_kernel(struct fixture *x, FILE *kallsyms)
{
	x->naming.kallsyms = kallsyms;
	sp_naming_start(&x->naming);
	go_on(x);
}

/* A table of the kernel that failed is asked for again after a while, not at once; its frames wait for it meanwhile. */
static void test_kernel_again(void **state)
{
	struct sp_file file = {.kind = SP_FILE_KERNEL};
	FILE *broken SP_FCLOSE = fopen("/", "re"), *good SP_FCLOSE = tmpfile();
	struct fixture x;
	uint32_t frame;

	(void)state;
	assert_true(broken && good);
	fputs("ffffffff81000000 T first\nffffffff81001000 T second\n", good);
	assert_int_equal(fflush(good), 0);
	begin(&x);
	x.naming.keeps_kernel = true;
	file.name = (uint32_t)sp_profile_add_string(x.profile, "[kernel]");
	x.file = (uint32_t)sp_profile_add_file(x.profile, &file);
	frame = add_frame(&x, 0xffffffff81000020);
	ask_kernel(&x, broken);
	assert_int_equal(x.naming.stats.n_kernel, 1);
	assert_non_null(strstr(x.naming.kernel_failure, strerror(EISDIR)));
	ask_kernel(&x, good);
	ask_kernel(&x, good);
	assert_int_equal(x.naming.stats.n_kernel, 1);
	assert_int_equal(sp_profile_frame(x.profile, frame)->func, 0);
	x.naming.kernel_ns -= 21000000000; /* as if they had passed */
	ask_kernel(&x, broken);
	ask_kernel(&x, broken);
	assert_int_equal(x.naming.stats.n_kernel, 2);
	x.naming.kernel_ns -= 21000000000; /* the next time after twice as long */
	for (unsigned i = 0; i < 4; i++)
		ask_kernel(&x, good);
	assert_int_equal(x.naming.stats.n_kernel, 2);
	x.naming.kernel_ns -= 21000000000;
	for (unsigned i = 0; i < 8; i++)
		ask_kernel(&x, good);
	assert_int_equal(x.naming.stats.n_kernel, 3);
	assert_string_equal(x.naming.kernel_failure, "");
	assert_string_equal(name_of(&x, frame), "first");
	end(&x);
}

/* One that is hidden is not: the frames get no names. */
static void test_kernel_hidden(void **state)
{
	struct sp_file file = {.kind = SP_FILE_KERNEL};
	FILE *hidden SP_FCLOSE = tmpfile();
	struct fixture x;
	uint32_t frame;

	(void)state;
	assert_non_null(hidden);
	fputs("0000000000000000 T first\n", hidden);
	assert_int_equal(fflush(hidden), 0);
	begin(&x);
	x.naming.keeps_kernel = true;
	file.name = (uint32_t)sp_profile_add_string(x.profile, "[kernel]");
	x.file = (uint32_t)sp_profile_add_file(x.profile, &file);
	frame = add_frame(&x, 0xffffffff81000020);
	ask_kernel(&x, hidden);
	assert_non_null(strstr(x.naming.kernel_failure, "kptr_restrict"));
	assert_true(sp_profile_frame(x.profile, frame)->func != 0);
	end(&x);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_goes_on),       cmocka_unit_test(test_is_over),
	    cmocka_unit_test(test_goes_first),    cmocka_unit_test(test_kernel_again),
	    cmocka_unit_test(test_kernel_hidden), cmocka_unit_test(too_many_steps_are_an_error),
	};

	sp_worker_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile made by hand, a resolver that answers its questions from a list, and what the frames are called afterwards.
 */
#include "base/error.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "symbol/symbol.h"
#include "test.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIB, BROKEN, KERNEL, VDSO, ANON, OTHER, N_FILES };

struct fixture {
	struct sp_profile *profile;
	uint32_t files[N_FILES];
	char kallsyms[40];
	unsigned n_calls, n_asked;
	bool fail_all;
};

static uint32_t string(struct fixture *x, const char *s)
{
	int64_t n = sp_profile_add_string(x->profile, s);
	assert_true(n >= 0);
	return (uint32_t)n;
}

static void add_file(struct fixture *x, int i, int kind, const char *name, const char *path)
{
	const struct sp_file f = {.kind = (uint8_t)kind,
				  .name = string(x, name),
				  .path = string(x, path),
				  .tag = (uint64_t)i,
				  .bias = kind == SP_FILE_ANON ? 0x7f0000000000 : 0};
	int64_t n = sp_profile_add_file(x->profile, &f);
	assert_true(n > 0);
	x->files[i] = (uint32_t)n;
}

static uint32_t add_frame(struct fixture *x, uint32_t file, uint64_t offset, uint32_t flags)
{
	const struct sp_frame f = {.offset = offset, .file = file, .flags = flags};
	int64_t n = sp_profile_add_frame(x->profile, &f);
	assert_true(n > 0);
	return (uint32_t)n;
}

static const char kernel_symbols[] = "ffffffff81000000 T do_syscall_64\nffffffff81000100 D end_of_it\n"
				     "ffffffffc0200000 t ext4_read\t[ext4]\nffffffffc0300000 t bpf_prog_1_x\t[bpf]\n"
				     "ffffffffc0400000 r rodata\n";

static int set_up(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));
	assert_int_equal(sp_profile_new(&x->profile), 0);
	add_file(x, LIB, SP_FILE_ELF, "libx.so.1", "/lib/libx.so.1.2");
	add_file(x, BROKEN, SP_FILE_ELF, "", "/opt/broken.so");
	add_file(x, KERNEL, SP_FILE_KERNEL, "[kernel]", "");
	add_file(x, VDSO, SP_FILE_VDSO, "[vdso]", "");
	add_file(x, ANON, SP_FILE_ANON, "whatever", "");
	add_file(x, OTHER, SP_FILE_OTHER, "mapping", "");
	snprintf(x->kallsyms, sizeof(x->kallsyms), "/tmp/soprof-apply-XXXXXX");
	int fd = mkstemp(x->kallsyms);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, kernel_symbols, sizeof(kernel_symbols) - 1), sizeof(kernel_symbols) - 1);
	close(fd);
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *x = *state;
	sp_profile_free(x->profile);
	unlink(x->kallsyms);
	free(x);
	return 0;
}

/*
 * Offsets below 0x100 have a name, below 0x200 a range, 0x800 begins one, the others below 0x840 lie in gaps up to the
 * next multiple of 0x40, the others have nothing, but 0x1000, where a gap begins; segments are 0x1000 higher.
 */
static int resolve(void *arg, uint32_t file, const uint64_t *offsets, size_t n, struct sp_name *names)
{
	struct fixture *x = arg;
	x->n_calls++;
	if (file == x->files[BROKEN] || x->fail_all)
		return sp_fail_said(-EIO, "parser failed");
	if (file == x->files[ANON] && offsets[0] >= 0x100)
		return sp_fail_said(-ENOENT, "no map");
	for (size_t i = 0; i < n; i++) {
		assert_true(!i || offsets[i - 1] < offsets[i]);
		assert_null(names[i].name);
		uint64_t start = offsets[i] & ~0x3full;
		if (offsets[i] < 0x100) {
			names[i].name = strdup("name()");
			names[i].linkage_name = strdup("_Z4namev");
		}
		names[i].is_gap = offsets[i] >= 0x200 && offsets[i] != 0x800;
		if (offsets[i] < 0x840 || offsets[i] == 0x1000)
			names[i].size = 0x40;
		else
			start = offsets[i], names[i].is_gap = false;
		names[i].start = start;
		names[i].vaddr = 0x1000 + start;
	}
	return 0;
}

struct resolver {
	int (*resolve)(void *arg, uint32_t file, const uint64_t *offsets, size_t n, struct sp_name *names);
	int (*kernel)(void *arg, const uint64_t *addresses, size_t n, struct sp_name *names);
};

static void answer_all(struct fixture *x, struct sp_namer *namer, const struct resolver *by)
{
	struct sp_name_question q;
	assert_int_equal(sp_namer_begin(namer, x->profile), 0);
	while (sp_namer_next(namer, &q) > 0) {
		int r = q.file == x->files[KERNEL] ? by->kernel(x, q.offsets, q.n, q.names)
						   : by->resolve(x, q.file, q.offsets, q.n, q.names);
		assert_int_equal(sp_namer_answer(namer, r), 0);
	}
	assert_null(namer->round);
}

static int by_kallsyms(void *arg, const uint64_t *addresses, size_t n, struct sp_name *names)
{
	FILE *kallsyms SP_FCLOSE = fopen(((struct fixture *)arg)->kallsyms, "re");
	assert_non_null(kallsyms);
	return sp_symbol_kernel(kallsyms, addresses, n, names);
}

static void apply(struct fixture *x)
{
	struct sp_namer namer = {0};
	answer_all(x, &namer, &(struct resolver){.resolve = resolve, .kernel = by_kallsyms});
	sp_namer_done(&namer);
	for (uint32_t i = 1; i < sp_profile_n_frames(x->profile); i++)
		assert_int_not_equal(sp_profile_frame(x->profile, i)->func, 0);
}

static const struct sp_func *func_of(const struct fixture *x, uint32_t frame)
{
	return sp_profile_func(x->profile, sp_profile_frame(x->profile, frame)->func);
}

static void expect(const struct fixture *x, uint32_t frame, const char *name, bool is_range)
{
	const struct sp_func *f = func_of(x, frame);
	assert_string_equal(sp_profile_string(x->profile, f->name), name);
	assert_int_equal(f->is_range, is_range);
	if (is_range)
		assert_int_equal(f->linkage_name, 0);
}

static void test_elf(void **state)
{
	struct fixture *x = *state;
	uint32_t named = add_frame(x, x->files[LIB], 0x85, 0);
	uint32_t flagged = add_frame(x, x->files[LIB], 0x85, SP_FRAMEF_GUESSED);
	uint32_t same = add_frame(x, x->files[LIB], 0x86, 0);
	uint32_t range = add_frame(x, x->files[LIB], 0x1c3, 0);
	uint32_t gap = add_frame(x, x->files[LIB], 0x777, 0);
	uint32_t end_of_gap = add_frame(x, x->files[LIB], 0x77f, 0); /* another gap begins behind it */
	uint32_t nothing = add_frame(x, x->files[LIB], 0x987, 0);
	uint32_t before_gap = add_frame(x, x->files[LIB], 0xfff, 0);
	uint32_t made_up = add_frame(x, x->files[LIB], 0x7ff, 0); /* the return address is a function's start */
	uint32_t vdso = add_frame(x, x->files[VDSO], 0x10, 0);
	apply(x);
	assert_int_equal(x->n_calls, 3); /* once more for what may be made up */
	expect(x, named, "name()", false);
	assert_string_equal(sp_profile_string(x->profile, func_of(x, named)->linkage_name), "_Z4namev");
	assert_int_equal(func_of(x, named)->start, 0x80);
	assert_int_equal(func_of(x, named)->vaddr, 0x1080);
	assert_int_equal(func_of(x, named)->size, 0x40);
	assert_int_equal(func_of(x, named)->file, x->files[LIB]);
	assert_ptr_equal(func_of(x, named), func_of(x, flagged));
	assert_ptr_equal(func_of(x, named), func_of(x, same));
	expect(x, range, "libx.so.1+0x11c0", true);
	assert_int_equal(func_of(x, range)->size, 0x40);
	expect(x, gap, "libx.so.1+0x1740", true);
	assert_ptr_equal(func_of(x, gap), func_of(x, end_of_gap));
	expect(x, nothing, "libx.so.1+0x1987", true);
	assert_int_equal(func_of(x, nothing)->start, 0x987);
	expect(x, before_gap, "libx.so.1+0x1fff", true);
	expect(x, made_up, "libx.so.1+0x1800", true);
	expect(x, vdso, "name()", false);
}

static void test_failure_costs_one_file(void **state)
{
	struct fixture *x = *state;
	uint32_t lost = add_frame(x, x->files[BROKEN], 0x85, 0), kept = add_frame(x, x->files[LIB], 0x85, 0);
	apply(x);
	expect(x, lost, "broken.so+0x85", true);
	expect(x, kept, "name()", false);
	const struct sp_file *f = sp_profile_file(x->profile, x->files[BROKEN]);
	assert_string_equal(sp_profile_string(x->profile, f->note), "parser failed");
	assert_int_equal(sp_profile_file(x->profile, x->files[LIB])->note, 0);
}

static void test_kernel(void **state)
{
	struct fixture *x = *state;
	uint32_t core = add_frame(x, x->files[KERNEL], 0xffffffff81000020, SP_FRAMEF_KERNEL);
	uint32_t cut = add_frame(x, x->files[KERNEL], 0x0fffffff81000021, SP_FRAMEF_KERNEL);
	uint32_t module = add_frame(x, x->files[KERNEL], 0xffffffffc0200123, SP_FRAMEF_KERNEL);
	uint32_t bpf = add_frame(x, x->files[KERNEL], 0xffffffffc0300001, SP_FRAMEF_KERNEL);
	uint32_t unknown = add_frame(x, x->files[KERNEL], 0xffffffffc0400001, SP_FRAMEF_KERNEL);
	apply(x);
	expect(x, core, "do_syscall_64", false);
	assert_ptr_equal(func_of(x, core), func_of(x, cut));
	assert_int_equal(func_of(x, core)->file, x->files[KERNEL]);
	assert_int_equal(func_of(x, core)->size, 0x100);
	expect(x, module, "ext4_read", false);
	const struct sp_file *f = sp_profile_file(x->profile, func_of(x, module)->file);
	assert_string_equal(sp_profile_string(x->profile, f->name), "[ext4]");
	assert_int_equal(f->kind, SP_FILE_KERNEL);
	f = sp_profile_file(x->profile, func_of(x, bpf)->file);
	assert_string_equal(sp_profile_string(x->profile, f->name), "[bpf]");
	expect(x, unknown, "[kernel]", true);
	assert_int_equal(sp_profile_frame(x->profile, module)->file, x->files[KERNEL]);
}

/* Functions of 0x100 bytes, by the table's words: the third in a module, the fourth a BPF program. */
static int kernel(void *arg, const uint64_t *addresses, size_t n, struct sp_name *names)
{
	static const char *const texts[] = {"first", "second", "third\t[ext4]", "fourth\t[bpf]"};
	struct fixture *x = arg;
	x->n_calls++;
	x->n_asked += n;
	for (size_t i = 0; i < n; i++) {
		uint64_t number = (addresses[i] - 0xffffffff81000000) >> 8;
		assert_true(!i || addresses[i - 1] < addresses[i]);
		names[i].start = addresses[i];
		if (number >= SP_COUNT(texts))
			continue;
		names[i].name = strdup(texts[number]);
		names[i].start = names[i].from = names[i].vaddr = addresses[i] & ~0xffull;
		names[i].size = 0x100;
		names[i].to = names[i].from + names[i].size;
	}
	return 0;
}

static int resolve_with_spans(void *arg, uint32_t file, const uint64_t *offsets, size_t n, struct sp_name *names)
{
	struct fixture *x = arg;
	int r = resolve(arg, file, offsets, n, names);
	x->n_asked += n;
	for (size_t i = 0; r == 0 && i < n; i++) {
		names[i].from = names[i].size ? names[i].start : 0;
		names[i].to = names[i].size ? names[i].start + names[i].size : 0;
	}
	return r;
}

static void again(struct fixture *x, struct sp_namer *namer, unsigned n_asked)
{
	x->n_asked = 0;
	answer_all(x, namer, &(struct resolver){.resolve = resolve_with_spans, .kernel = kernel});
	if (x->n_asked != n_asked)
		fail_msg("%u offsets were asked for, not %u", x->n_asked, n_asked);
	for (uint32_t i = 1; i < sp_profile_n_frames(x->profile); i++)
		assert_true(sp_profile_frame(x->profile, i)->func);
}

/* Two long names that differ at their end only. */
static int resolve_long(void *arg, uint32_t file, const uint64_t *offsets, size_t n, struct sp_name *names)
{
	(void)arg, (void)file;
	for (size_t i = 0; i < n; i++) {
		struct sp_name *m = &names[i];

		m->name = malloc(2001);
		memset(m->name, 'n', 2000);
		m->name[1999] = (char)('a' + i);
		m->name[2000] = '\0';
		m->start = offsets[i];
		m->size = 1;
	}
	return 0;
}

static void test_long_names(void **state)
{
	struct fixture *x = *state;
	struct sp_namer namer = {.shortens_names = true};
	uint32_t frames[2] = {add_frame(x, x->files[LIB], 0x41, 0), add_frame(x, x->files[LIB], 0x42, 0)};
	const char *names[2];

	answer_all(x, &namer, &(struct resolver){.resolve = resolve_long});
	for (int i = 0; i < 2; i++) {
		names[i] = sp_profile_string(x->profile, func_of(x, frames[i])->name);
		assert_true(strlen(names[i]) <= SP_NAME_SHORT);
		assert_non_null(strstr(names[i], "nnn...#"));
	}
	assert_string_not_equal(names[0], names[1]);
	sp_namer_done(&namer);
}

/* Only new frames are looked at, and only those are asked for that lie in no function that is known. */
static void test_namer(void **state)
{
	struct fixture *x = *state;
	struct sp_namer namer = {0};
	uint32_t a = add_frame(x, x->files[LIB], 0x41, 0), range = add_frame(x, x->files[LIB], 0x140, 0);
	again(x, &namer, 2);
	expect(x, a, "name()", false);
	again(x, &namer, 0);
	uint32_t b = add_frame(x, x->files[LIB], 0x7f, 0), c = add_frame(x, x->files[LIB], 0x80, 0);
	uint32_t range2 = add_frame(x, x->files[LIB], 0x17f, 0), other = add_frame(x, x->files[VDSO], 0x41, 0);
	again(x, &namer, 2);
	assert_int_equal(sp_profile_frame(x->profile, b)->func, sp_profile_frame(x->profile, a)->func);
	assert_int_not_equal(sp_profile_frame(x->profile, c)->func, sp_profile_frame(x->profile, a)->func);
	assert_int_equal(sp_profile_frame(x->profile, range2)->func, sp_profile_frame(x->profile, range)->func);
	assert_int_not_equal(sp_profile_frame(x->profile, other)->func, sp_profile_frame(x->profile, a)->func);
	sp_namer_done(&namer);
}

static unsigned n_not_now;

static int not_now(void *arg, uint32_t file, const uint64_t *offsets, size_t n, struct sp_name *names)
{
	struct fixture *x = arg;
	if (file != x->files[LIB])
		return resolve_with_spans(arg, file, offsets, n, names);
	n_not_now += (unsigned)n;
	return -EAGAIN;
}

/* What is put off stays without a function, and is asked for again with what is new. */
static void test_namer_later(void **state)
{
	struct fixture *x = *state;
	struct sp_namer namer = {0};
	const struct resolver later = {.resolve = not_now, .kernel = kernel};
	uint32_t a = add_frame(x, x->files[LIB], 0x41, 0), other = add_frame(x, x->files[VDSO], 0x41, 0);
	answer_all(x, &namer, &later);
	uint32_t b = add_frame(x, x->files[LIB], 0x140, 0);
	answer_all(x, &namer, &later);
	assert_int_equal(namer.n_later, 2);
	assert_int_equal(namer.n_later_files, 1);
	assert_int_equal(sp_profile_frame(x->profile, a)->func, 0);
	assert_int_equal(sp_profile_frame(x->profile, b)->func, 0);
	assert_true(sp_profile_frame(x->profile, other)->func);
	assert_int_equal(sp_profile_file(x->profile, x->files[LIB])->note, 0);
	answer_all(x, &namer, &later); /* it was in vain, so it rests */
	again(x, &namer, 2);
	expect(x, a, "name()", false);
	assert_int_equal(namer.n_later, 0);
	assert_int_equal(namer.n_later_files, 0);
	again(x, &namer, 0);
	sp_namer_done(&namer);
}

/* What is put off again and again is asked for less and less often; what is new of the same file is, at once. */
static void test_namer_rests(void **state)
{
	static const unsigned asked[] = {1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0};
	struct fixture *x = *state;
	struct sp_namer namer = {0};
	const struct resolver later = {.resolve = not_now, .kernel = kernel};
	uint32_t a = add_frame(x, x->files[LIB], 0x41, 0), i;
	for (i = 0; i < SP_COUNT(asked); i++) {
		n_not_now = 0;
		answer_all(x, &namer, &later);
		assert_int_equal(n_not_now, asked[i]);
		assert_int_equal(namer.n_later, 1);
		assert_int_equal(namer.n_later_files, 1);
	}
	add_frame(x, x->files[LIB], 0x140, 0);
	n_not_now = 0;
	answer_all(x, &namer, &later);
	assert_int_equal(n_not_now, 1);
	assert_int_equal(namer.n_later, 2);
	assert_int_equal(namer.n_later_files, 1);
	for (; !sp_profile_frame(x->profile, a)->func && i < 20; i++)
		answer_all(x, &namer, &(struct resolver){.resolve = resolve_with_spans, .kernel = kernel});
	assert_int_equal(i, SP_COUNT(asked) + 2);
	assert_int_equal(namer.n_later, 0);
	add_frame(x, x->files[LIB], 0x241, 0);
	for (i = 0; i < 2; i++) { /* it begins anew */
		n_not_now = 0;
		answer_all(x, &namer, &later);
		assert_int_equal(n_not_now, 1);
	}
	sp_namer_done(&namer);
}

/* A gap whose last byte is the caller of the function behind: the rest of the gap says nothing about that byte. */
static void test_namer_made_up(void **state)
{
	struct fixture *x = *state;
	struct sp_namer namer = {0};
	uint32_t gap = add_frame(x, x->files[LIB], 0x7c1, 0);
	again(x, &namer, 1);
	expect(x, gap, "libx.so.1+0x17c0", true);
	uint32_t caller = add_frame(x, x->files[LIB], 0x7ff, 0), in_gap = add_frame(x, x->files[LIB], 0x7fe, 0);
	again(x, &namer, 2); /* 0x7ff, and then 0x800, where a function begins */
	expect(x, caller, "libx.so.1+0x1800", true);
	expect(x, in_gap, "libx.so.1+0x17c0", true);
	sp_namer_done(&namer);
}

static void test_namer_kernel(void **state)
{
	struct fixture *x = *state;
	struct sp_namer namer = {0};
	uint32_t core = add_frame(x, x->files[KERNEL], 0xffffffff81000020, SP_FRAMEF_KERNEL);
	uint32_t module = add_frame(x, x->files[KERNEL], 0xffffffff81000220, SP_FRAMEF_KERNEL);
	uint32_t bpf = add_frame(x, x->files[KERNEL], 0xffffffff81000320, SP_FRAMEF_KERNEL);
	uint32_t none = add_frame(x, x->files[KERNEL], 0xffffffff81000420, SP_FRAMEF_KERNEL);
	again(x, &namer, 4);
	expect(x, core, "first", false);
	expect(x, module, "third", false);
	assert_string_equal(sp_profile_string(x->profile, sp_profile_file(x->profile, func_of(x, module)->file)->name),
			    "[ext4]");
	expect(x, bpf, "fourth", false);
	expect(x, none, "[kernel]", true);
	uint32_t core2 = add_frame(x, x->files[KERNEL], 0xffffffff810000ff, SP_FRAMEF_KERNEL);
	uint32_t module2 = add_frame(x, x->files[KERNEL], 0xffffffff81000221, SP_FRAMEF_KERNEL);
	again(x, &namer, 0);
	assert_ptr_equal(func_of(x, core2), func_of(x, core));
	assert_ptr_equal(func_of(x, module2), func_of(x, module));
	add_frame(x, x->files[KERNEL], 0xffffffff81000321, SP_FRAMEF_KERNEL);
	again(x, &namer, 1); /* another program may have the address by now */
	sp_namer_done(&namer);
}

static void test_hidden_kernel(void **state)
{
	struct fixture *x = *state;
	FILE *f = fopen(x->kallsyms, "w");
	fputs("0000000000000000 T do_syscall_64\n", f);
	assert_int_equal(fclose(f), 0);
	uint32_t core = add_frame(x, x->files[KERNEL], 0xffffffff81000020, SP_FRAMEF_KERNEL);
	apply(x);
	expect(x, core, "[kernel]", true);
	const char *note = sp_profile_string(x->profile, sp_profile_file(x->profile, x->files[KERNEL])->note);
	assert_non_null(strstr(note, "kptr_restrict"));
}

static void test_other_frames(void **state)
{
	struct fixture *x = *state;
	uint32_t anon = add_frame(x, x->files[ANON], 0x123, 0), other = add_frame(x, x->files[OTHER], 0x44, 0);
	uint32_t none = add_frame(x, 0, 0x55, 0), none_either = add_frame(x, 0, 0x66, 0);
	apply(x);
	expect(x, anon, "[anon]+0x7f0000000123", true);
	assert_int_equal(func_of(x, anon)->vaddr, 0x7f0000000123);
	expect(x, other, "mapping+0x44", true);
	expect(x, none, "[unknown]", true);
	assert_ptr_equal(func_of(x, none), func_of(x, none_either));
	assert_int_equal(x->n_calls, 1); /* for the map of what was made */
	assert_int_equal(sp_profile_file(x->profile, x->files[ANON])->note, 0);
}

/* Code made at run time that its program has a name for; a map that cannot be read is told. */
static void test_made(void **state)
{
	struct fixture *x = *state;
	uint32_t made = add_frame(x, x->files[ANON], 0x23, 0);
	apply(x);
	expect(x, made, "name()", false);
	x->fail_all = true;
	uint32_t unread = add_frame(x, x->files[ANON], 0x77, 0);
	apply(x);
	expect(x, unread, "[anon]+0x7f0000000077", true);
	assert_string_equal(sp_profile_string(x->profile, sp_profile_file(x->profile, x->files[ANON])->note),
			    "parser failed");
}

static void test_late_and_again(void **state)
{
	struct fixture *x = *state;
	uint32_t first = add_frame(x, x->files[LIB], 0x85, 0);
	apply(x);
	apply(x);
	assert_int_equal(x->n_calls, 1);
	uint32_t later = add_frame(x, x->files[LIB], 0x87, 0);
	x->fail_all = true;
	apply(x);
	assert_int_equal(x->n_calls, 2);
	expect(x, first, "name()", false);
	expect(x, later, "libx.so.1+0x87", true);
}

/* More frames may come before an answer; and who asked may go before it comes. */
static void test_answer_comes_late(void **state)
{
	struct fixture *x = *state;
	struct sp_namer namer = {0};
	struct sp_name_question q, next;
	uint32_t first = add_frame(x, x->files[LIB], 0x41, 0);
	assert_int_equal(sp_namer_begin(&namer, x->profile), 0);
	assert_int_equal(sp_namer_next(&namer, &q), 1);
	for (uint32_t i = 0; i < 3000; i++) /* their places in memory change */
		add_frame(x, x->files[LIB], 0x10000 + i, 0);
	uint32_t since = add_frame(x, x->files[LIB], 0x42, 0);
	assert_int_equal(resolve_with_spans(x, q.file, q.offsets, q.n, q.names), 0);
	assert_int_equal(sp_namer_answer(&namer, 0), 0);
	assert_int_equal(sp_namer_next(&namer, &next), 0);
	expect(x, first, "name()", false);
	assert_int_equal(sp_profile_frame(x->profile, since)->func, 0);
	again(x, &namer, 6000); /* each of the 3000, and what is right behind it */
	assert_ptr_equal(func_of(x, since), func_of(x, first));
	add_frame(x, x->files[LIB], 0x140, 0);
	assert_int_equal(sp_namer_begin(&namer, x->profile), 0);
	assert_int_equal(sp_namer_next(&namer, &q), 1);
	q.names[0].name = strdup("freed by the namer");
	sp_namer_done(&namer);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_elf),
	    TEST(test_failure_costs_one_file),
	    TEST(test_kernel),
	    TEST(test_hidden_kernel),
	    TEST(test_long_names),
	    TEST(test_namer),
	    TEST(test_namer_later),
	    TEST(test_namer_rests),
	    TEST(test_namer_made_up),
	    TEST(test_namer_kernel),
	    TEST(test_other_frames),
	    TEST(test_late_and_again),
	    TEST(test_answer_comes_late),
	    TEST(test_made),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

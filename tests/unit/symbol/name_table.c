/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of names: they say what the file says, and nothing when they are damaged. */
#include "symbol/name_table.h"
#include "base/mem.h"
#include "base/search.h"
#include "elf/x86_64/sigreturn.h"
#include "symbol/name_table_priv.h"
#include "symbol/priv.h"
#include "table.h"
#include "test.h"
#include <elf.h>
#include <inttypes.h>
#include <sys/auxv.h>

enum { N_OFFSETS = 4000 };

static struct sp_elf *open_elf(const char *path)
{
	struct sp_elf *e = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC); /* held until the end */
	if (fd < 0 || sp_elf_open_fd(fd, &e) < 0)
		return NULL;
	return e;
}

static size_t choose(const struct sp_elf *e, uint64_t *offsets)
{
	size_t n = 0;
	for (size_t i = 0; n < N_OFFSETS; i = (i + 1) % sp_elf_n_segments(e)) {
		const struct sp_elf_segment *g = sp_elf_segment(e, i);
		for (int k = 0; k < (g->executable ? 50 : 5) && n < N_OFFSETS; k++)
			offsets[n++] =
			    g->file_size ? g->offset + (uint64_t)random() % g->file_size : (uint64_t)random();
	}
	qsort(offsets, n, sizeof(*offsets), sp_compare_u64);
	return n;
}

static void compare(const char *path)
{
	struct sp_elf *e = open_elf(path);
	struct sp_name_table_head head, read;
	uint64_t offsets[N_OFFSETS];
	if (!e) {
		print_message("skip: %s is not here\n", path);
		return;
	}
	int fd = table_make(e, NULL, &head);
	assert_true(fd >= 0);
	assert_int_equal(sp_name_table_open(fd, &read), 0);
	assert_memory_equal(&read, &head, sizeof(head));
	struct sp_name_table t = table_of(fd, &head);
	assert_int_equal(table_differs(e, NULL, &t, offsets, choose(e, offsets)), 0);
	close(fd);
	sp_elf_close(e);
}

static void same_as_the_file(void **state)
{
	compare("/proc/self/exe"); /* has a symbol table */
	compare("/lib/x86_64-linux-gnu/libc.so.6");
	compare("/lib/x86_64-linux-gnu/libstdc++.so.6");
	compare("/bin/true");
}

/* --- what signal handlers return to --- */

enum { N_SIGRETURN = 3 };

/* Its first byte in code, by the instructions that the kernel asks for: mov $15, %eax or %rax; syscall. */
static uint64_t sigreturn_in(struct sp_elf *e, size_t *ret_bytes)
{
	/* not constant: gold puts constants into the segment of the code, where they are taken for it */
	static uint8_t wide[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static uint8_t narrow[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
	for (size_t i = 0; i < sp_elf_n_segments(e); i++) {
		const struct sp_elf_segment *g = sp_elf_segment(e, i);
		SP_FREE void *bytes = NULL;
		if (!g->executable || sp_elf_read(e, g->offset, g->file_size, &bytes) < 0)
			continue;
		const uint8_t *at = memmem(bytes, g->file_size, wide, sizeof(wide));
		*ret_bytes = at ? sizeof(wide) : sizeof(narrow);
		if (!at)
			at = memmem(bytes, g->file_size, narrow, sizeof(narrow));
		if (at)
			return g->offset + (uint64_t)(at - (const uint8_t *)bytes);
	}
	return 0;
}

static void check_sigreturn(const char *path)
{
	struct sp_elf *e = open_elf(path);
	struct sp_name_table_head head;
	struct sp_name names[N_SIGRETURN];
	size_t bytes;
	if (!e) {
		print_message("skip: %s is not here\n", path);
		return;
	}
	uint64_t at = sigreturn_in(e, &bytes);
	assert_true(at > 0);
	const uint64_t offsets[N_SIGRETURN] = {at - 1, at, at + bytes - 2};
	assert_int_equal(sp_names_find(e, sp_function_walk, offsets, N_SIGRETURN, names), 0);
	for (int i = 0; i < N_SIGRETURN; i++) {
		assert_string_equal(names[i].name, "__restore_rt");
		assert_int_equal(names[i].start, at - 1);
		assert_int_equal(names[i].size, bytes + 1);
	}
	sp_names_done(names, N_SIGRETURN);
	int fd = table_make(e, NULL, &head);
	struct sp_name_table t = table_of(fd, &head);
	const uint64_t around[] = {at - 2, at - 1, at, at + bytes - 1, at + bytes};
	assert_int_equal(table_differs(e, NULL, &t, around, SP_COUNT(around)), 0);
	close(fd);
	sp_elf_close(e);
}

static const volatile uint8_t like_sigreturn[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};

/* Bytes of data that are those of its code have no name. */
static void data_are_no_sigreturn(void **state)
{
	const Elf64_Phdr *headers = (const void *)getauxval(AT_PHDR);
	struct sp_elf *e = open_elf("/proc/self/exe");
	uint64_t base = (uint64_t)headers - headers->p_vaddr, offset, start, size;

	assert_int_equal(headers->p_type, PT_PHDR);
	assert_int_equal(sp_elf_offset_of(e, (uint64_t)like_sigreturn - base, &offset), 0);
	assert_false(sp_sigreturn_at(&(struct sp_sigreturn_window){.elf = e}, offset, &start, &size));
	sp_elf_close(e);
}

static uint64_t reads_made(void)
{
	FILE *f = fopen("/proc/self/io", "re");
	char line[64];
	uint64_t n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) && sscanf(line, "syscr: %" SCNu64, &n) != 1)
		;
	fclose(f);
	return n;
}

/* Small functions, of which there are thousands, lie side by side. */
static void code_is_read_by_windows(void **state)
{
	struct sp_name_table_head head;
	struct sp_elf *e = open_elf("/lib/x86_64-linux-gnu/libc.so.6");
	uint64_t code_bytes = 0, before = reads_made();

	close(table_make(e, NULL, &head));
	for (size_t i = 0; i < sp_elf_n_segments(e); i++)
		code_bytes += sp_elf_segment(e, i)->executable ? sp_elf_segment(e, i)->file_size : 0;
	assert_in_range(reads_made() - before, 1, 2 * code_bytes / 4096);
	sp_elf_close(e);
}

/* It has one name: stripped (the byte before it is in its FDE), without FDE, with a symbol that begins behind, Go's. */
static void one_name_for_sigreturn(void **state)
{
	check_sigreturn("/lib/x86_64-linux-gnu/libc.so.6");
	check_sigreturn("/lib/ld-musl-x86_64.so.1");
	check_sigreturn(SP_VICTIMS "/static/signals");
	check_sigreturn("/usr/bin/go");
	check_sigreturn("/sbin/ldconfig");
}

/* --- made by hand --- */

static const struct sp_span by_hand[] = {
    {.at = 0},
    {.at = 0x100, .start = 0x100, .size = 0x40, .vaddr = 0x1100, .name = "one", .name_len = 3},
    {.at = 0x140, .start = 0x140, .size = 0x20, .vaddr = 0x1140, .is_gap = true},
    {.at = 0x160, .start = 0x80, .size = 0x200, .vaddr = 0x1080},
    {.at = 0x180,
     .start = 0x180,
     .size = 0x10,
     .vaddr = 0x99,
     .name = "two()",
     .name_len = 5,
     .linkage = "_Z3twov",
     .linkage_len = 7},
    {.at = 0x190},
};

/* The first `size` bytes of spans, in a table; or why there is none. */
static int write_bytes(const uint8_t *bytes, size_t size, struct sp_name_table_head *head)
{
	int from = memfd_create("spans", MFD_CLOEXEC), to = memfd_create("table", MFD_CLOEXEC);
	*head = (struct sp_name_table_head){.file_size = 77};
	assert_int_equal(write(from, bytes, size), size);
	int r = sp_name_table_write(from, size, to, head);
	close(from);
	if (r < 0)
		close(to);
	return r < 0 ? r : to;
}

static size_t hand_bytes(uint8_t *bytes)
{
	struct sp_span_state state = {0};
	size_t n = 0;
	for (size_t i = 0; i < SP_COUNT(by_hand); i++)
		n += sp_span_put(&state, &by_hand[i], bytes + n);
	return n;
}

static void answers(void **state)
{
	uint8_t bytes[SP_COUNT(by_hand) * SP_SPAN_MAX_BYTES];
	const uint64_t offsets[] = {0, 0x100, 0x13f, 0x140, 0x160, 0x17f, 0x18f, 0x190, UINT64_MAX - 1};
	struct sp_name names[SP_COUNT(offsets)];
	struct sp_name_table_head head;
	int fd = write_bytes(bytes, hand_bytes(bytes), &head);
	assert_true(fd >= 0 && head.n_spans == SP_COUNT(by_hand) && head.n_blocks == 1);
	struct sp_name_table t = table_of(fd, &head);
	assert_int_equal(sp_name_table_find(&t, offsets, SP_COUNT(offsets), names), 0);
	assert_true(!names[0].size && names[0].start == 0);
	assert_string_equal(names[1].name, "one");
	assert_true(names[2].start == 0x100 && names[2].vaddr == 0x1100 && names[2].to == 0x140);
	assert_true(names[3].is_gap && names[3].size == 0x20 && !names[3].name);
	assert_true(names[4].start == 0x80 && names[4].size == 0x200 && names[4].from == 0x160);
	assert_true(names[5].vaddr == 0x1080 && !names[5].is_gap);
	assert_string_equal(names[6].linkage_name, "_Z3twov");
	assert_true(names[6].vaddr == 0x99);
	assert_true(!names[7].size && names[7].start == 0x190 && !names[8].size);
	sp_names_done(names, SP_COUNT(offsets));
	assert_int_equal(sp_name_table_find(&t, offsets, 0, names), 0);
	close(fd);
}

/* What a parser may say that nobody may believe. */
static void nonsense_is_refused(void **state)
{
	static const struct sp_span bad[][2] = {
	    {{.at = 5}},                                                           /* does not begin at 0 */
	    {{.at = 0}, {.at = 0}},                                                /* twice */
	    {{.at = 0}, {.at = 8, .start = 8, .size = UINT64_MAX, .vaddr = 8}},    /* beyond the end */
	    {{.at = 0}, {.at = 8, .start = 0, .size = 8, .vaddr = 8}},             /* does not hold its own beginning */
	    {{.at = 0}, {.at = 8, .start = 9, .size = 8, .vaddr = 8}},             /* begins behind it */
	    {{.at = 0}, {.at = 8, .start = 8, .size = 8, .name = "", .vaddr = 8}}, /* an empty name */
	    {{.at = 0}, {.at = 8, .start = 8, .size = 8, .name = "x\0y", .name_len = 3}},
	    {{.at = 0}, {.at = 8, .start = 8, .size = 8, .name = "x", .name_len = 1, .is_gap = true}},
	    {{.at = 0}, {.at = 8, .start = 8, .size = 8, .linkage = "x", .linkage_len = 1}},
	    {{.at = 0}, {.at = 8, .start = 8, .size = 8}}, /* and what is behind it? */
	    {{.at = 0, .start = 0, .size = 8}, {.at = 9}}, /* a hole */
	};
	uint8_t bytes[2 * SP_SPAN_MAX_BYTES];
	struct sp_name_table_head head;
	for (size_t i = 0; i < SP_COUNT(bad); i++) {
		struct sp_span_state put = {0};
		size_t n = 0;
		for (size_t k = 0; k < 2 && (!k || bad[i][k].at || bad[i][k].size || i == 1); k++)
			n += sp_span_put(&put, &bad[i][k], bytes + n);
		if (write_bytes(bytes, n, &head) != -EBADMSG)
			fail_msg("number %zu was taken", i);
	}
	size_t n = hand_bytes(bytes);
	assert_int_equal(write_bytes(bytes, 0, &head), -EBADMSG);
	for (size_t cut = 1; cut < n; cut++) {
		int fd = write_bytes(bytes, cut, &head);
		assert_true(fd >= 0 || fd == -EBADMSG);
		if (fd >= 0)
			close(fd);
	}
}

/* --- damage --- */

static int64_t look_at_all(int fd, const uint64_t *offsets, struct sp_name *names)
{
	struct sp_name_table_head head;
	int r = sp_name_table_open(fd, &head);
	if (r < 0)
		return r;
	struct sp_name_table t = table_of(fd, &head);
	return sp_name_table_find(&t, offsets, N_OFFSETS, names);
}

/* Each byte in turn is another: what is answered then is right, or nothing. */
static void turned_bytes_are_noticed(void **state)
{
	struct sp_elf *e = open_elf("/lib/x86_64-linux-gnu/libc.so.6");
	uint64_t offsets[N_OFFSETS];
	struct sp_name names[N_OFFSETS];
	struct sp_name_table_head head;
	choose(e, offsets);
	int fd = table_make(e, NULL, &head);
	assert_true(fd >= 0 && head.n_blocks > 3);
	uint64_t step = head.bytes / 1500 + 1;
	for (uint64_t at = 0; at < head.bytes; at += at < sizeof(head) || at >= head.index_at ? 1 : step) {
		uint8_t was, is;
		assert_int_equal(pread(fd, &was, 1, (off_t)at), 1);
		is = was ^ (uint8_t)(1 << random() % 8);
		assert_int_equal(pwrite(fd, &is, 1, (off_t)at), 1);
		if (look_at_all(fd, offsets, names) != -EBADMSG)
			fail_msg("byte %" PRIu64 " of %" PRIu64 " was not missed", at, head.bytes);
		assert_int_equal(pwrite(fd, &was, 1, (off_t)at), 1);
	}
	assert_int_equal(look_at_all(fd, offsets, names), 0);
	sp_names_done(names, N_OFFSETS);
	for (uint64_t cut = 1; cut < head.bytes; cut += head.bytes / 50) {
		assert_int_equal(ftruncate(fd, (off_t)(head.bytes - cut)), 0);
		assert_int_equal(look_at_all(fd, offsets, names), -EBADMSG);
	}
	close(fd);
	sp_elf_close(e);
}

/* --- the kernel --- */

static int span_out(void *arg, const struct sp_span *span)
{
	return table_span(arg, span);
}

static int kernel_table(const char *text, struct sp_name_table_head *head)
{
	struct table_out o = {.out = tmpfile()};
	int from = memfd_create("kallsyms", MFD_CLOEXEC), to = memfd_create("table", MFD_CLOEXEC);
	*head = (struct sp_name_table_head){0};
	assert_int_equal(write(from, text, strlen(text)), strlen(text));
	int r = sp_kallsyms_walk(from, span_out, &o);
	fflush(o.out);
	r = r < 0 ? r : sp_name_table_write(fileno(o.out), (uint64_t)ftell(o.out), to, head);
	fclose(o.out);
	close(from);
	return r < 0 ? r : to;
}

static const char kernel_symbols[] = "ffffffff81000100 t b\nffffffff81000000 t __a\nffffffff81000000 T a\n"
				     "ffffffff81000100 D data\nffffffff81000200 D more\nnonsense\n"
				     "ffffffff81000300 T alone\nffffffff82000000 t _RNvC6_123foo3bar\n"
				     "ffffffffc0200000 t ext4_read\t[ext4]\nffffffffc0200010 r rodata\t[ext4]\n";

static void kernel_is_as_kallsyms_says(void **state)
{
	struct sp_kernel_symbol real[600] = {{0}};
	uint64_t addresses[SP_COUNT(real)];
	struct sp_name ours[SP_COUNT(real)];
	struct sp_name_table_head head;
	for (size_t i = 0; i < SP_COUNT(real); i++)
		addresses[i] = real[i].address = i < 300   ? 0xffffffff80fffff0 + 4 * i
						 : i < 500 ? 0xffffffff810ff000 + 0x10 * i
						 : i < 550 ? 0xffffffff82000000 + (i - 500)
							   : 0xffffffffc01ffff0 + (i - 550);
	FILE *f = fmemopen((void *)kernel_symbols, sizeof(kernel_symbols) - 1, "r");
	assert_int_equal(sp_kallsyms_find(f, real, SP_COUNT(real)), 0);
	fclose(f);
	int fd = kernel_table(kernel_symbols, &head);
	assert_true(fd >= 0);
	struct sp_name_table t = table_of(fd, &head);
	assert_int_equal(sp_name_table_find(&t, addresses, SP_COUNT(real), ours), 0);
	for (size_t i = 0; i < SP_COUNT(real); i++) {
		char whole[128];
		const char *linkage = ours[i].linkage_name ? ours[i].linkage_name : ours[i].name;
		snprintf(whole, sizeof(whole), "%s%s%s", real[i].name ? real[i].name : "", real[i].module ? "\t" : "",
			 real[i].module ? real[i].module : "");
		if (strcmp(whole, linkage ? linkage : "") != 0 || (real[i].name && real[i].size != ours[i].size))
			fail_msg("%#" PRIx64 ": %s, not %s", addresses[i], linkage, whole);
	}
	assert_string_equal(ours[510].name, "123foo::bar");
	sp_names_done(ours, SP_COUNT(ours));
	sp_kallsyms_done(real, SP_COUNT(real));
	close(fd);
	assert_int_equal(kernel_table("0000000000000000 T a\n0000000000000000 T b\n", &head), -EPERM);
	assert_int_equal(kernel_table("", &head), -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(same_as_the_file),           cmocka_unit_test(answers),
	    cmocka_unit_test(nonsense_is_refused),        cmocka_unit_test(turned_bytes_are_noticed),
	    cmocka_unit_test(kernel_is_as_kallsyms_says), cmocka_unit_test(one_name_for_sigreturn),
	    cmocka_unit_test(data_are_no_sigreturn),      cmocka_unit_test(code_is_read_by_windows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel names from a made-up file, and from the running kernel beside a slow search of the same file. */
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "symbol/names.h"
#include "symbol/priv.h"
#include "symbol/symbol.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char symbols[] = "0000000000000000 A per_cpu_start\n"
			      "ffffffff81000000 T _stext\n"
			      "ffffffff81000000 T _text\n"
			      "ffffffff81000100 t local_at\n"
			      "ffffffff81000100 W weak_at\n"
			      "ffffffff81000100 T __global_at\n"
			      "ffffffff81000100 D data_at\n"
			      "ffffffff81000200 t last_function\n"
			      "ffffffff81000280 D some_data\n"
			      "ffffffffc0200010 t ext4_two\t[ext4]\n"
			      "ffffffffc0200000 t ext4_one\t[ext4]\n"
			      "ffffffffc0300000 t bpf_prog_6deef7357e7b4530_sd_fw\t[bpf]\n"
			      "no symbol at all\n"
			      "ffffffffc0300100\n"
			      "ffffffff81000180 T \n"
			      "ffffffff81000010 T early\n";

static char *write_file(const char *text, const char *more)
{
	char *path = strdup("/tmp/soprof-kallsyms-XXXXXX");
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	FILE *f = fdopen(fd, "w");
	fputs(text, f);
	fputs(more, f);
	assert_int_equal(fclose(f), 0);
	return path;
}

static void expect(const struct sp_kernel_symbol *k, const char *name, const char *module, uint64_t start,
		   uint64_t size)
{
	assert_string_equal(k->name ? k->name : "", name);
	assert_string_equal(k->module ? k->module : "", module);
	assert_int_equal(k->name ? k->start : 0, start);
	assert_int_equal(k->size, size);
}

static int find(const char *path, struct sp_kernel_symbol *names, size_t n)
{
	FILE *f SP_FCLOSE = fopen(path, "re");
	assert_non_null(f);
	return sp_kallsyms_find(f, names, n);
}

static void test_fixture(void **state)
{
	static const uint64_t at[] = {
	    0x1000,
	    0xffffffff80ffffff,
	    0xffffffff81000000,
	    0xffffffff8100000f,
	    0xffffffff81000013,
	    0xffffffff81000013,
	    0xffffffff810001ff,
	    0xffffffff8100027f,
	    0xffffffff81000280,
	    0xffffffffc0200000,
	    0xffffffffc0200011,
	    0xffffffffc03000ff,
	    0xffffffffc0300100,
	};
	char *path SP_FREE = write_file(symbols, "");
	struct sp_kernel_symbol k[SP_COUNT(at)] = {0};
	for (size_t i = 0; i < SP_COUNT(at); i++)
		k[i].address = at[i];
	assert_int_equal(find(path, k, SP_COUNT(at)), 0);
	expect(&k[0], "", "", 0, 0);
	expect(&k[1], "", "", 0, 0);
	expect(&k[2], "_text", "", 0xffffffff81000000, 0x10);
	expect(&k[3], "_text", "", 0xffffffff81000000, 0x10);
	expect(&k[4], "early", "", 0xffffffff81000010, 0xf0);
	expect(&k[5], "early", "", 0xffffffff81000010, 0xf0);
	expect(&k[6], "weak_at", "", 0xffffffff81000100, 0x100);
	expect(&k[7], "last_function", "", 0xffffffff81000200, 0x80);
	expect(&k[8], "", "", 0, 0);
	expect(&k[9], "ext4_one", "[ext4]", 0xffffffffc0200000, 0x10);
	expect(&k[10], "ext4_two", "[ext4]", 0xffffffffc0200010, 0xffff0);
	expect(&k[11], "bpf_prog_6deef7357e7b4530_sd_fw", "[bpf]", 0xffffffffc0300000, 1 << 20);
	expect(&k[12], "bpf_prog_6deef7357e7b4530_sd_fw", "[bpf]", 0xffffffffc0300000, 1 << 20);
	sp_kallsyms_done(k, SP_COUNT(at));
	unlink(path);
}

/* The end of a line that is too long is not taken for a line of its own. */
static void test_long_line(void **state)
{
	char more[3000];
	memset(more, 'x', sizeof(more));
	memcpy(more, "ffffffff81000300 T ", 19);
	memcpy(more + 1023, "ffffffff81000301 T wrong", 24);
	memcpy(more + sizeof(more) - 2, "\n", 2);
	char *path SP_FREE = write_file(symbols, more);
	struct sp_kernel_symbol k = {.address = 0xffffffff81000304};
	assert_int_equal(find(path, &k, 1), 0);
	assert_int_equal(k.start, 0xffffffff81000300);
	assert_memory_equal(k.name, "xxxx", 4);
	sp_kallsyms_done(&k, 1);
	unlink(path);
}

/* Nor that of one that is longer than what is read at once, of which nothing is taken. */
static void test_longest_line(void **state)
{
	enum { AT = 64 << 10, BYTES = AT + 1000 };
	char *more SP_FREE = malloc(BYTES + 1);
	assert_non_null(more);
	memset(more, 'x', BYTES);
	memcpy(more, "ffffffff81000300 T ", 19);
	memcpy(more + AT, "ffffffff81000301 T wrong", 24);
	memcpy(more + BYTES - 1, "\n", 2);
	char *path SP_FREE = write_file(symbols, more);
	struct sp_kernel_symbol k = {.address = 0xffffffff81000304};
	assert_int_equal(find(path, &k, 1), 0);
	assert_null(k.name);
	unlink(path);
	more[AT - 1] = '\n'; /* now it is a line of its own, and the last one, without an end */
	more[AT + 24] = 0;
	path = (free(path), write_file(symbols, more));
	assert_int_equal(find(path, &k, 1), 0);
	assert_string_equal(k.name, "wrong");
	sp_kallsyms_done(&k, 1);
	unlink(path);
}

static void test_hidden(void **state)
{
	char *path SP_FREE = write_file("0000000000000000 T _stext\n0000000000000000 t foo\t[bar]\n", "");
	struct sp_kernel_symbol k = {.address = 0xffffffff81000304};
	int r = find(path, &k, 1);
	assert_int_equal(r, -EPERM);
	assert_non_null(strstr(sp_error_text(r), "kptr_restrict"));
	sp_error_clear();
	assert_null(k.name);
	unlink(path);
}

/* --- what the kernel says of an address --- */
static void test_text(void **state)
{
	static const struct {
		const char *text, *name;
		uint64_t start, size;
	} known[] = {
	    {"schedule+0x10/0x80", "schedule", 0xffffffff81000010, 0x80},
	    {"ext4_two+0x0/0x20 [ext4]", "ext4_two\t[ext4]", 0xffffffff81000020, 0x20},
	    {"__do_sys_newfstatat+0x1f/0x20", "__do_sys_newfstatat", 0xffffffff81000001, 0x20},
	};
	static const char *const doubtful[] = {
	    "",
	    "0xffffffff81000020",
	    "name+0x80/0x80",
	    "name+0x1/0x200000",
	    "__do_sys_getpid+0x1/0x20",
	    "__pi_memcpy+0x1/0x20",
	    "common_interrupt_return+0x1/0x20",
	    "bpf_prog_6deef7357e7b4530_sd_fw+0x1/0x20",
	};
	for (size_t i = 0; i < SP_COUNT(known); i++) {
		struct sp_name m = {0};
		assert_int_equal(sp_symbol_kernel_text(0xffffffff81000020, known[i].text, &m), 0);
		assert_string_equal(m.name, known[i].name);
		assert_int_equal(m.start, known[i].start);
		assert_int_equal(m.size, known[i].size);
		sp_names_done(&m, 1);
	}
	for (size_t i = 0; i < SP_COUNT(doubtful); i++) {
		struct sp_name m = {0};
		assert_int_equal(sp_symbol_kernel_text(0xffffffff81000020, doubtful[i], &m), 1);
		assert_null(m.name);
	}
}

/* --- the running kernel --- */

struct symbol {
	uint64_t address;
	char type, name[600];
	char module[80];
};

/* Both searches read one copy: symbols come and go with modules and BPF programs, those of other tests among them. */
static char *copy_real(void)
{
	FILE *from SP_FCLOSE = fopen("/proc/kallsyms", "re");
	assert_non_null(from);
	char *path = write_file("", "");
	FILE *to = fopen(path, "we");
	assert_non_null(to);
	char block[1 << 16];
	for (size_t n; (n = fread(block, 1, sizeof(block), from)) > 0;)
		assert_int_equal(fwrite(block, 1, n, to), n);
	assert_false(ferror(from));
	assert_int_equal(fclose(to), 0);
	return path;
}

static size_t read_real(const char *path, struct symbol **ret_symbols)
{
	FILE *f SP_FCLOSE = fopen(path, "re");
	struct symbol *s = NULL;
	size_t n = 0, capacity = 0;
	char line[2000];
	while (f && fgets(line, sizeof(line), f)) {
		if (n == capacity)
			s = realloc(s, (capacity = capacity ? capacity * 2 : 1024) * sizeof(*s));
		assert_non_null(s);
		s[n].module[0] = 0;
		if (sscanf(line, "%" SCNx64 " %c %599s %79s", &s[n].address, &s[n].type, s[n].name, s[n].module) >= 3)
			n++;
	}
	*ret_symbols = s;
	return n;
}

static bool is_text(const struct symbol *s)
{
	return strchr("tTwW", s->type) != NULL;
}

/* The name found is one of those that stand at the latest address up to the one asked for. */
static void check_real(const struct symbol *s, size_t n, const struct sp_kernel_symbol *k)
{
	uint64_t floor = 0, next = UINT64_MAX;
	bool found = false;
	for (size_t i = 0; i < n; i++)
		if (s[i].address <= k->address)
			floor = SP_MAX(floor, s[i].address);
		else
			next = SP_MIN(next, s[i].address);
	assert_int_equal(k->start, floor);
	assert_int_equal(k->size, SP_MIN(next - floor, 1u << 20));
	for (size_t i = 0; i < n; i++)
		if (s[i].address == floor && is_text(&s[i]) && !strcmp(s[i].name, k->name))
			found |= strcmp(s[i].module, k->module ? k->module : "") == 0;
	assert_true(found);
}

SP_ORDER_BY(by_address, struct sp_kernel_symbol, address);

static void test_running_kernel(void **state)
{
	char *path SP_FREE = copy_real();
	struct symbol *s SP_FREE = NULL;
	size_t n = read_real(path, &s), n_asked = 0;
	struct sp_kernel_symbol *k SP_FREE = calloc(400, sizeof(*k));
	for (size_t i = 0; i < n && n_asked < 400; i += n / 400 + 1)
		if (is_text(&s[i]) && s[i].address)
			k[n_asked++].address = s[i].address + 1;
	if (!n_asked) {
		unlink(path);
		printf("skip: /proc/kallsyms hides its addresses\n");
		skip();
	}
	qsort(k, n_asked, sizeof(*k), by_address);
	assert_int_equal(find(path, k, n_asked), 0);
	unlink(path);
	for (size_t i = 0; i < n_asked; i++)
		check_real(s, n, &k[i]);
	print_message("%zu of %zu kernel symbols\n", n_asked, n);
	sp_kallsyms_done(k, n_asked);
}

/* As a service manager gives it: taken from standard input, where nothing of it is left. */
static void test_given(void **state)
{
	struct stat null, given;
	int mine = dup(STDIN_FILENO), fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	(void)state;
	assert_true(fd >= 0 && stat("/dev/null", &null) == 0);
	assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	lseek(fd, 3, SEEK_SET); /* of the open file that both are */
	FILE *f SP_FCLOSE = sp_kallsyms_open();
	int r = fstat(STDIN_FILENO, &given);
	dup2(mine, STDIN_FILENO);
	close(mine);
	assert_non_null(f);
	assert_int_equal(r, 0);
	assert_int_equal(given.st_rdev, null.st_rdev);
	assert_int_equal(lseek(fileno(f), 0, SEEK_CUR), 3);
	close(fd);
	FILE *own SP_FCLOSE = sp_kallsyms_open(); /* nobody gave it */
	assert_non_null(own);
	assert_int_equal(lseek(fileno(own), 0, SEEK_CUR), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fixture), cmocka_unit_test(test_long_line), cmocka_unit_test(test_longest_line),
	    cmocka_unit_test(test_hidden),  cmocka_unit_test(test_text),      cmocka_unit_test(test_running_kernel),
	    cmocka_unit_test(test_given),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

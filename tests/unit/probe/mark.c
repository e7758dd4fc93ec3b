/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments of marks: operands as the assembler has them, those of installed programs, and what is none. */
#include "probe/mark.h"
#include "base/error.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "probe/usdt.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>
#include <unistd.h>

#define AT(r) offsetof(struct user_regs_struct, r)
#define NONE SP_MARK_NO_REGISTER
enum { SIGNED = SP_MARK_SIGNED, MEMORY = SP_MARK_IN_MEMORY };

static const struct good {
	const char *text;
	struct sp_mark_argument a;
} good[] = {
    {"-4@%edi", {.base = AT(rdi), .index = NONE, .bits = 32, .flags = SIGNED}},
    {"8@%r15", {.base = AT(r15), .index = NONE, .bits = 64}},
    {"1@%r8b", {.base = AT(r8), .index = NONE, .bits = 8}},
    {"-2@%r10w", {.base = AT(r10), .index = NONE, .bits = 16, .flags = SIGNED}},
    {"4@%r11d", {.base = AT(r11), .index = NONE, .bits = 32}},
    {"1@%ah", {.base = AT(rax), .index = NONE, .bits = 8, .from = 8}},
    {"-1@%bh", {.base = AT(rbx), .index = NONE, .bits = 8, .from = 8, .flags = SIGNED}},
    {"1@%ch", {.base = AT(rcx), .index = NONE, .bits = 8, .from = 8}},
    {"1@%dh", {.base = AT(rdx), .index = NONE, .bits = 8, .from = 8}},
    {"1@%spl", {.base = AT(rsp), .index = NONE, .bits = 8}},
    {"2@%rbp", {.base = AT(rbp), .index = NONE, .bits = 16}}, /* a part of it */
    {"8@$5", {.add = 5, .base = NONE, .index = NONE, .bits = 64}},
    {"-4@$-2147483648", {.add = (sp_u64)INT32_MIN, .base = NONE, .index = NONE, .bits = 32, .flags = SIGNED}},
    {"8@$18446744073709551615", {.add = ~0ULL, .base = NONE, .index = NONE, .bits = 64}},
    {"8@$0xff", {.add = 255, .base = NONE, .index = NONE, .bits = 64}},
    {"8@-24(%rbp)", {.add = -24ULL, .base = AT(rbp), .index = NONE, .bits = 64, .flags = MEMORY}},
    {"-4@(%rsi)", {.base = AT(rsi), .index = NONE, .bits = 32, .flags = MEMORY | SIGNED}},
    {"8@8(%rax,%rbx,4)", {.add = 8, .base = AT(rax), .index = AT(rbx), .scale = 2, .bits = 64, .flags = MEMORY}},
    {"8@(%rcx,%rdx)", {.base = AT(rcx), .index = AT(rdx), .bits = 64, .flags = MEMORY}},
    {"8@16(,%r9,8)", {.add = 16, .base = NONE, .index = AT(r9), .scale = 3, .bits = 64, .flags = MEMORY}},
    {"-4@40+list(%rip)=-8192", {.add = -8192ULL, .base = AT(rip), .index = NONE, .bits = 32, .flags = MEMORY | SIGNED}},
    {"4@4198400", {.add = 4198400, .base = NONE, .index = NONE, .bits = 32, .flags = MEMORY}},
};

static void all_places(void **state)
{
	struct sp_mark_said said;
	for (size_t i = 0; i < SP_COUNT(good); i++) {
		assert_int_equal(sp_mark_parse(good[i].text, &said), 0);
		assert_int_equal(said.n, 1);
		assert_null(said.why_not[0]);
		if (memcmp(&said.mark.argument[0], &good[i].a, sizeof(good[i].a)) != 0)
			fail_msg("%s", good[i].text);
	}
	assert_int_equal(sp_mark_parse("", &said), 0);
	assert_int_equal(said.n, 0);
	assert_int_equal(sp_mark_parse("  8@%rdi  -4@$3 ", &said), 0);
	assert_int_equal(said.n, 2);
	assert_int_equal(said.mark.argument[1].add, 3);
	assert_int_equal(sp_mark_parse("1@$1 1@$2 1@$3 1@$4 1@$5 1@$6 1@$7 1@$8 1@$9 1@$10 1@$11 1@$12", &said), 0);
	assert_int_equal(said.n, 12);
	assert_int_equal(said.mark.argument[11].add, 12);
}

static void what_cannot_be_read(void **state)
{
	static const char *const texts[] = {"8f@%xmm0", "-8f@(%rax)", "8@%xmm3", "4@counter(%rip)", "4@-8+x(%rip)",
					    "8@$name",  "4@.L12",     "8@_x",    "8@%fs:-8"};
	struct sp_mark_said said;
	for (size_t i = 0; i < SP_COUNT(texts); i++) {
		char text[64];
		snprintf(text, sizeof(text), "%s 4@%%eax", texts[i]);
		assert_int_equal(sp_mark_parse(text, &said), 0);
		assert_int_equal(said.n, 2);
		assert_non_null(said.why_not[0]);
		assert_null(said.why_not[1]);
	}
}

static void what_makes_no_sense(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
	    {"%rdi", "its size is none of"},
	    {"3@%rdi", "its size is none of"},
	    {"16@%rdi", "its size is none of"},
	    {"--4@%edi", "its size is none of"},
	    {"4%edi", "there is no @"},
	    {"4@", "no register, no number"},
	    {"4@%qax", "no such register"},
	    {"4@%", "no such register"},
	    {"4@%rip", "no such register"},
	    {"8@%eax", "wider than its register"},
	    {"2@%ah", "wider than its register"},
	    {"8@$", "it is no number"},
	    {"8@$18446744073709551616", "it is no number"},
	    {"8@$-9223372036854775809", "it is no number"},
	    {"8@$5x", "something stands behind it"},
	    {"8@-24(%rbp", "a bracket is not closed"},
	    {"8@-24(%rbp))", "something stands behind it"},
	    {"8@-(%rbp)", "no register, no number"},
	    {"8@x(%rip)=", "its distance is no number"},
	    {"8@x(%rip)=5x", "something stands behind it"},
	    {"8@()", "no register has the address"},
	    {"8@(%eax)", "no register of 64 bits has the address"},
	    {"8@(%rax,%ebx)", "no register of 64 bits is the index"},
	    {"8@(%rax,%rsp)", "no register of 64 bits is the index"},
	    {"8@(%rax,,4)", "no register of 64 bits is the index"},
	    {"8@8(%rax,%rbx,3)", "the scale is none of"},
	    {"8@8(%rax,%rbx,16)", "the scale is none of"},
	    {"8@8(%rax,%rbx,4294967297)", "the scale is none of"},
	    {"1@$1 1@$2 1@$3 1@$4 1@$5 1@$6 1@$7 1@$8 1@$9 1@$10 1@$11 1@$12 1@$13", "more than twelve"},
	    {"8@%rdi 8@QWORD PTR [rbp-8]", "arg2, 'PTR': its size"},
	};
	struct sp_mark_said said;
	char many[1600];
	for (size_t i = 0; i < SP_COUNT(bad); i++) {
		int r = sp_mark_parse(bad[i].text, &said);
		if (r != -EBADMSG || !strstr(sp_error_text(r), bad[i].why))
			fail_msg("%s: %s", bad[i].text, r < 0 ? sp_error_text(r) : "taken");
		sp_error_clear();
	}
	for (size_t i = 0; i < 200; i++)
		memcpy(many + 5 * i, "1@$1 ", 6);
	assert_int_equal(sp_mark_parse(many, &said), -EBADMSG);
	sp_error_clear();
	memset(many, '9', sizeof(many) - 1); /* what is shown of it has an end */
	many[sizeof(many) - 1] = '\0';
	assert_true(strlen(sp_error_text(sp_mark_parse(many, &said))) < 120);
	sp_error_clear();
}

/* What compilers write: all is understood, and as many arguments as there are words. */
static size_t marks_check(const char *path)
{
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct sp_usdts u = {0};
	struct sp_mark_said said;
	struct sp_elf *e = NULL;
	size_t n = 0;
	if (fd < 0 || sp_elf_open_fd(fd, &e) < 0 || sp_usdt_find(e, &u) < 0)
		sp_error_clear();
	for (; n < u.n; n++) {
		unsigned words = 0;
		for (const char *at = u.at[n].arguments; *at; at += strcspn(at, " "), at += strspn(at, " "))
			words++;
		if (sp_mark_parse(u.at[n].arguments, &said) < 0)
			fail_msg("%s: %s: %s", path, u.at[n].name, u.at[n].arguments);
		assert_int_equal(said.n, words);
		for (unsigned i = 0; i < said.n; i++)
			assert_true(!said.why_not[i] || strstr(said.why_not[i], "symbol")); /* as NBuffers(%rip) */
	}
	sp_usdts_done(&u);
	sp_elf_close(e);
	return n;
}

static void installed_programs(void **state)
{
	size_t n = marks_check("/usr/bin/python3") + marks_check("/usr/lib/x86_64-linux-gnu/libstdc++.so.6") +
		   marks_check("/usr/lib/postgresql/15/bin/postgres");
	if (n)
		return;
	puts("skip: no installed program has marks");
	skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_places),
	    cmocka_unit_test(what_cannot_be_read),
	    cmocka_unit_test(what_makes_no_sense),
	    cmocka_unit_test(installed_programs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small tables of Go 1.16, 1.18 and 1.20 (made by tests/fuzz/make-seeds): functions, names, rows; then damaged ones. */
#include "elf/go.h"
#include "base/mem.h"
#include "bpf/wire.h"
#include "elf/elf.h"
#include "go_image.h"
#include "test.h"
#include "unwind/build.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static const char *const tables[] = {"go-1.16", "go-1.18", "go-1.20"};

struct table {
	uint8_t bytes[4096];
	size_t n;
};

static void load(const char *name, struct table *t)
{
	char path[512];
	snprintf(path, sizeof(path), SP_SOURCE_ROOT "/tests/fuzz/corpus/fuzz_go/%s", name);
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, t->bytes, sizeof(t->bytes));
	assert_true(n > 0);
	t->n = (size_t)n;
}

static struct sp_elf *image_of(const struct table *t, uint8_t **ret_bytes)
{
	size_t size = 0;
	struct sp_elf *e = NULL;
	*ret_bytes = go_image(t->bytes, t->n, &size);
	assert_int_equal(sp_elf_open_bytes(*ret_bytes, size, &e), 0);
	return e;
}

static void check_func(const struct sp_go *g, uint64_t at, const char *name, uint64_t start, enum sp_go_kind kind)
{
	struct sp_go_func f;
	assert_true(sp_go_find(g, at, &f));
	assert_string_equal(f.name, name);
	assert_int_equal(f.start, start);
	assert_int_equal(f.kind, kind);
}

static void check_rule(const struct sp_blob *b, uint64_t vaddr, int cfa, int reg, int off, int ra)
{
	const struct sp_rule *r = sp_blob_find(b, vaddr - GO_IMAGE_TEXT + GO_IMAGE_CODE);
	assert_int_equal(r->cfa, cfa);
	if (cfa == SP_CFA_ROOT)
		return;
	assert_int_equal(r->reg, reg);
	assert_int_equal(r->off, off);
	assert_int_equal(r->ra, ra);
}

static void check_rows(struct sp_elf *e)
{
	SP_FREE struct sp_blob *b = NULL;
	assert_int_equal(sp_blob_build(e, &b), 0);
	assert_int_equal(b->flags & SP_BLOB_NO_EH_FRAME, 0);
	check_rule(b, 0x1000, SP_CFA_REG, 7, 8, SP_RA_CFA);
	check_rule(b, 0x1004, SP_CFA_REG, 7, 32, SP_RA_CFA);
	check_rule(b, 0x1018, SP_CFA_REG, 7, 8, SP_RA_CFA);
	check_rule(b, 0x1041, SP_CFA_ROOT, 0, 0, 0);
	check_rule(b, 0x1060, SP_CFA_REG, 6, 16, SP_RA_SWITCH);
	/* where a handler returns to, and the byte before */
	check_rule(b, 0x1080, SP_CFA_DEREF, 7, 160, SP_RA_SP | SP_RULE_SIGNAL);
	check_rule(b, 0x107f, SP_CFA_DEREF, 7, 160, SP_RA_SP | SP_RULE_SIGNAL);
}

static void test_tables(void **state)
{
	for (size_t i = 0; i < SP_COUNT(tables); i++) {
		struct table t;
		SP_FREE uint8_t *bytes = NULL;
		struct sp_go *g = NULL;
		struct sp_go_func f;
		load(tables[i], &t);
		struct sp_elf *e = image_of(&t, &bytes);
		assert_int_equal(sp_go_open(e, &g), 0);
		assert_int_equal(sp_go_n_funcs(g), 5);
		check_func(g, 0x1000, "main.f", 0x1000, SP_GO_PLAIN);
		check_func(g, 0x101d, "main.f", 0x1000, SP_GO_PLAIN);
		check_func(g, 0x1020, "main.g", 0x1020, SP_GO_PLAIN);
		check_func(g, 0x1041, "runtime.goexit", 0x1040, SP_GO_ROOT);
		check_func(g, 0x1061, "runtime.systemstack", 0x1060, SP_GO_SWITCH);
		check_func(g, 0x1080, "runtime.sigreturn", 0x1080, SP_GO_SIGNAL);
		assert_false(sp_go_find(g, 0x101e, &f)); /* padding */
		assert_false(sp_go_find(g, 0xfff, &f));
		assert_false(sp_go_find(g, 0x10a0, &f));
		check_rows(e);
		sp_go_close(g);
		sp_elf_close(e);
	}
}

/* Cut anywhere, and with any byte changed: an error or less to say, never anything outside it. */
static void test_damage(void **state)
{
	for (size_t i = 0; i < SP_COUNT(tables); i++) {
		struct table whole;
		load(tables[i], &whole);
		for (size_t k = 0; k < 2 * whole.n; k++) {
			struct table t = whole;
			SP_FREE uint8_t *bytes = NULL;
			SP_FREE struct sp_blob *b = NULL;
			if (k < whole.n)
				t.n = k;
			else
				t.bytes[k - whole.n] ^= 0x81;
			struct sp_elf *e = image_of(&t, &bytes);
			assert_int_equal(sp_blob_build(e, &b), 0);
			assert_int_equal(sp_blob_validate(b, b->bytes), 0);
			sp_elf_close(e);
		}
	}
}

static void test_refused(void **state)
{
	struct table t;
	SP_FREE uint8_t *bytes = NULL;
	struct sp_go *g = NULL;
	load("go-1.20", &t);
	t.bytes[0] = 0xef; /* of a Go to come */
	struct sp_elf *e = image_of(&t, &bytes);
	assert_int_equal(sp_go_open(e, &g), -EOPNOTSUPP);
	sp_elf_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tables),
	    cmocka_unit_test(test_damage),
	    cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

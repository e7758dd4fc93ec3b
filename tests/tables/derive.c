/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * derive.c: what is derived from the instructions of ELF files, measured and compared with .eh_frame.
 *   table-derive FILE...              a line for each: code without an FDE, how much of it has rows now, time
 *   table-derive --compare FILE...    all code is followed as if no FDE covered it, and every rule compared with the
 *                                     FDEs': exit code 1 if one differs
 *   table-derive --show FILE...       as --compare, and every place that differs
 */
#include "unwind/x86_64/derive.h"
#include "base/error.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "unwind/build.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct tally {
	uint64_t n_covered; /* bytes with a rule by FDE that has a caller */
	uint64_t n_derived, n_equal, n_other_way, n_unequal;
	uint64_t n_fp_equal, n_fp_lost, n_fp_unequal;
	uint64_t n_places; /* runs of unequal bytes */
};

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int open_file(const char *path, struct sp_elf **ret_elf)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC); /* held until the end */
	return fd < 0 ? -errno : sp_elf_open_fd(fd, ret_elf);
}

static int stat_file(struct sp_elf *e, const char *path)
{
	SP_FREE struct sp_blob *b = NULL;
	double start = now_ms();
	int r = sp_blob_build(e, &b);
	double ms = now_ms() - start;
	if (r < 0)
		return r;
	printf("%-44s %8lu bytes without FDE, %5.1f %% derived, %6u functions, %6u rows of %7u%s; %.1f ms\n", path,
	       (unsigned long)b->uncovered_bytes,
	       100.0 * (double)b->derived_bytes / (double)SP_MAX(b->uncovered_bytes, 1UL), b->n_derived_functions,
	       b->n_derived_rows, b->n_rows, b->flags & SP_BLOB_DERIVED_PART ? ", CUT" : "", ms);
	return 0;
}

/* --- comparison --- */

static bool is_followed(const struct sp_rule *r)
{
	return (r->cfa == SP_CFA_REG || r->cfa == SP_CFA_DEREF || r->cfa == SP_CFA_PLT) && !(r->ra & SP_RULE_DERIVED);
}

static bool compare_fp(struct tally *t, const struct sp_rule *fde, const struct sp_rule *own, uint64_t n)
{
	if (own->fp == SP_FP_LOST)
		t->n_fp_lost += fde->fp != SP_FP_LOST ? n : 0;
	else if (fde->fp == own->fp && fde->fp_off == own->fp_off)
		t->n_fp_equal += n;
	else if (own->fp == SP_FP_SAME || (own->fp == SP_FP_CFA && fde->fp == SP_FP_SAME))
		t->n_fp_equal += n; /* both in the register and saved */
	else if (own->cfa == fde->cfa && own->reg == fde->reg && fde->fp == SP_FP_CFA && own->fp == SP_FP_CFA) {
		t->n_fp_unequal += n;
		return true;
	}
	return false;
}

/* Whether these n bytes differ. */
static bool compare_rule(struct tally *t, const struct sp_rule *fde, const struct sp_rule *own, uint64_t n)
{
	t->n_covered += n;
	if (own->cfa == SP_CFA_NONE)
		return false;
	t->n_derived += n;
	bool fp_differs = compare_fp(t, fde, own, n);
	if (own->cfa == fde->cfa && own->reg == fde->reg && own->off == fde->off &&
	    (own->cfa != SP_CFA_DEREF || own->add == fde->add)) {
		t->n_equal += n;
		return fp_differs;
	}
	if (own->cfa != fde->cfa || own->reg != fde->reg) { /* counted from elsewhere: no telling which is right */
		t->n_other_way += n;
		return false;
	}
	t->n_unequal += n;
	return true;
}

static void show(struct sp_elf *e, uint64_t from, uint64_t to, const struct sp_rule *fde, const struct sp_rule *own)
{
	uint64_t a = 0, b = 0;
	sp_elf_vaddr_of(e, from, &a);
	sp_elf_vaddr_of(e, to, &b);
	printf("  %#lx to %#lx: by FDE r%u%+d, rbp %u%+d; derived r%u%+d, rbp %u%+d\n", (unsigned long)a,
	       (unsigned long)b, fde->reg, fde->off, fde->fp, fde->fp_off, own->reg, own->off, own->fp, own->fp_off);
}

static void compare_row(struct sp_elf *e, const struct sp_blob *b, struct tally *t, uint64_t from, uint64_t to,
			const struct sp_rule *own, bool loud)
{
	bool was = false;
	for (uint64_t at = from; at < to; at++) { /* byte by byte: simple, and quick enough for a test */
		const struct sp_rule *fde = sp_blob_find(b, at);
		bool differs = is_followed(fde) && compare_rule(t, fde, own, 1);
		if (differs && !was) {
			t->n_places++;
			if (loud)
				show(e, at, to, fde, own);
		}
		was = differs;
	}
}

static int compare_file(struct sp_elf *e, const char *path, bool loud, uint64_t *n_unequal)
{
	SP_FREE struct sp_blob *b = NULL;
	struct sp_derived d;
	struct tally t = {0};
	int r = sp_blob_build(e, &b);
	double start = now_ms();
	if (r == 0)
		r = sp_derive(e, NULL, 0, UINT64_MAX, &d);
	if (r < 0)
		return r;
	double ms = now_ms() - start;
	for (size_t i = 0; i + 1 < d.n_rows; i++)
		compare_row(e, b, &t, d.rows[i].offset, d.rows[i + 1].offset, &d.rules[d.rows[i].rule], loud);
	printf("%-44s %5.1f %% of the code derived; CFA: %lu bytes equal, %lu by another register, %lu unequal in %lu "
	       "places; rbp: %lu equal, %lu lost, %lu unequal; %u refused, %lu steps%s, %.1f ms\n",
	       path, 100.0 * (double)d.derived_bytes / (double)SP_MAX(d.code_bytes, 1UL), (unsigned long)t.n_equal,
	       (unsigned long)t.n_other_way, (unsigned long)t.n_unequal, (unsigned long)t.n_places,
	       (unsigned long)t.n_fp_equal, (unsigned long)t.n_fp_lost, (unsigned long)t.n_fp_unequal, d.n_refused,
	       (unsigned long)d.n_steps, d.cut ? ", CUT" : "", ms);
	*n_unequal += t.n_unequal + t.n_fp_unequal;
	sp_derived_done(&d);
	return 0;
}

int main(int argc, char **argv)
{
	bool loud = argc > 1 && !strcmp(argv[1], "--show"),
	     compare = loud || (argc > 1 && !strcmp(argv[1], "--compare"));
	uint64_t n_unequal = 0;
	int failed = 0;
	for (int i = 1 + compare; i < argc; i++) {
		struct sp_elf *e;
		int r = open_file(argv[i], &e);
		if (r == 0) {
			r = compare ? compare_file(e, argv[i], loud, &n_unequal) : stat_file(e, argv[i]);
			sp_elf_close(e);
		}
		if (r < 0)
			fprintf(stderr, "table-derive: %s: %s\n", argv[i], sp_error_text(r));
		failed |= r < 0;
	}
	return failed || n_unequal;
}

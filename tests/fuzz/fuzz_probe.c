/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_probe.c: any bytes as a file whose functions are to be probed.
 *
 * Each point lies in an executable segment, not far behind its function, in ascending order, and has one of the names
 * that it says; counts add up; marks lie in the file. Asked again in the other ways, too.
 */
#include "base/error.h"
#include "elf/elf.h"
#include "probe/mark.h"
#include "probe/point.h"
#include "probe/usdt.h"
#include "require.h"
#include <string.h>

enum { MAX_BYTES = 1 << 15 };

static void check_point(const struct sp_elf *e, const struct sp_probe_point *p)
{
	require(sp_elf_code_at(e, p->offset) && sp_elf_code_at(e, p->function));
	require(p->offset >= p->function && p->offset - p->function < 128 && p->cost < SP_PROBE_N_COSTS);
	require(p->name == (p->n_names ? p->names[0] : NULL));
	for (uint32_t i = 0; i < p->n_names; i++)
		require(*p->names[i] != '\0');
}

static void check_points(struct sp_elf *e, const struct sp_probe_what *what)
{
	struct sp_probe_set s;
	size_t n = 0;
	if (sp_probe_points(e, what, &s) < 0) {
		sp_error_clear();
		return;
	}
	for (size_t i = 0; i < s.n; i++) {
		check_point(e, &s.points[i]);
		require(i == 0 || s.points[i].offset > s.points[i - 1].offset);
		require(!what->returns || s.points[i].pushed == 0);
	}
	for (unsigned i = 0; i < SP_PROBE_N_REFUSALS; i++)
		n += s.refused[i];
	require(s.n > 0 && s.n + n == s.n_functions && s.n_left_out <= n);
	sp_probe_set_done(&s);
}

/* What is said is all there is: sizes, registers within those that are saved. */
static void check_arguments(const char *text)
{
	struct sp_mark_said said;
	if (sp_mark_parse(text, &said) < 0) {
		sp_error_clear();
		return;
	}
	require(said.n <= SP_N_ARGUMENTS && (said.n > 0) == (text[strspn(text, " ")] != '\0'));
	for (unsigned i = 0; i < said.n; i++) {
		const struct sp_mark_argument *a = &said.mark.argument[i];
		require(a->bits == 8 || a->bits == 16 || a->bits == 32 || a->bits == 64);
		require(a->base == SP_MARK_NO_REGISTER || (a->base < 168 && a->base % 8 == 0));
		require(a->index == SP_MARK_NO_REGISTER || (a->index < 168 && a->index % 8 == 0));
		require(a->scale < 4 && (a->from == 0 || (a->from == 8 && a->bits == 8)));
	}
}

static void check_marks(struct sp_elf *e, size_t size)
{
	struct sp_usdts u;
	if (sp_usdt_find(e, &u) < 0) {
		sp_error_clear();
		return;
	}
	for (size_t i = 0; i < u.n; i++) {
		require(u.at[i].offset < size && u.at[i].semaphore < size && *u.at[i].provider && *u.at[i].name);
		check_arguments(u.at[i].arguments);
	}
	sp_usdts_done(&u);
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	static const char *const globs[] = {"*e*"};
	struct sp_elf *e;
	char text[128] = "";
	memcpy(text, data, size < sizeof(text) ? size : sizeof(text) - 1);
	check_arguments(text);
	if (size > MAX_BYTES || sp_elf_open_bytes(data, size, &e) < 0) {
		sp_error_clear();
		return 0;
	}
	check_points(e, &(struct sp_probe_what){.inner = true});
	check_points(e, &(struct sp_probe_what){.globs = globs, .n_globs = 1, .returns = true, .arguments = 1});
	check_marks(e, size);
	sp_elf_close(e);
	return 0;
}

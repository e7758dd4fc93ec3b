/* SPDX-License-Identifier: GPL-2.0-or-later */
/* framed.c: which places of framed_code.s are in functions that keep a frame pointer, and hostile bytes. */
#include "unwind/x86_64/framed.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "test.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

extern const char framed_table[], framed_pushed[], framed_inside[], framed_call[], framed_last[], framed_return[],
    framed_leaves[], framed_never_call[], framed_number[], framed_number_call[], framed_late[], framed_late_call[],
    framed_late_end[], framed_short[], framed_short_return[], framed_twice[], framed_twice_behind[],
    framed_twice_second[], framed_twice_call[], framed_pushes[], framed_calls[], framed_jumps_back[], framed_mixed[],
    framed_mixed_call[], framed_first_call[], framed_bare[], framed_bare_return[], framed_open_call[],
    framed_out_call[], framed_cold_call[], framed_away_call[];

enum { CALL_LAST = 4 }; /* the last byte of a call, as callers are recorded */

/* In the order of the file. */
static const struct {
	const char *at;
	int is_told;
} cases[] = {
    {framed_table, 1},
    {framed_pushed, 1},
    {framed_inside, 1},
    {framed_inside + 1, 0}, /* no instruction */
    {framed_call, 1},
    {framed_call + CALL_LAST, 1},
    {framed_last, 1},
    {framed_return, 1},
    {framed_leaves, 1},
    {framed_never_call + CALL_LAST, 1},
    {framed_number_call + CALL_LAST, 0},
    {framed_late, 1},
    {framed_late_call + CALL_LAST, 1},
    {framed_late_end, 1},
    {framed_short, 1},
    {framed_short_return, 1},
    {framed_twice, 1},
    {framed_twice_behind, 1},
    {framed_twice_second, 1},
    {framed_twice_call + CALL_LAST, 1},
    {framed_pushes, 0},
    {framed_calls + CALL_LAST, 0},
    {framed_jumps_back, 0},
    {framed_mixed, 0},
    {framed_mixed_call + CALL_LAST, 0},
    {framed_first_call + CALL_LAST, 1},
    {framed_bare, 0},
    {framed_bare_return, 0},
    {framed_open_call + CALL_LAST, 0},
    {framed_out_call + CALL_LAST, 0},
    {framed_cold_call + CALL_LAST, 0},
    {framed_away_call + CALL_LAST, 0},
};

static struct sp_elf *open_self(int *ret_fd)
{
	struct sp_elf *e = NULL;

	*ret_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(sp_elf_open_fd(*ret_fd, &e), 0);
	return e;
}

static void by_code(void **state)
{
	uint64_t places[SP_COUNT(cases)];
	bool told[SP_COUNT(cases)];
	int fd;
	struct sp_elf *e = open_self(&fd);
	uint64_t bias = getauxval(AT_ENTRY) - sp_elf_entry(e);

	for (size_t i = 0; i < SP_COUNT(cases); i++)
		assert_int_equal(sp_elf_offset_of(e, (uint64_t)(uintptr_t)cases[i].at - bias, &places[i]), 0);
	assert_int_equal(sp_framed(e, NULL, 0, places, SP_COUNT(cases), told), 0);
	for (size_t i = 0; i < SP_COUNT(cases); i++)
		if (told[i] != cases[i].is_told)
			fail_msg("case %zu: %s", i, told[i] ? "told" : "not told");
	sp_elf_close(e);
	close(fd);
}

static void starts(void **state)
{
	static const struct {
		const char *at;
		bool is_start;
	} asked[] = {
	    {framed_table, true}, {framed_pushed, false}, {framed_return, false}, {framed_number, false},
	    {framed_late, true},  {framed_short, true},   {framed_pushes, false}, {framed_mixed, false},
	};
	uint64_t places[SP_COUNT(asked)];
	bool is_start[SP_COUNT(asked)];
	int fd;
	struct sp_elf *e = open_self(&fd);
	uint64_t bias = getauxval(AT_ENTRY) - sp_elf_entry(e);

	for (size_t i = 0; i < SP_COUNT(asked); i++)
		assert_int_equal(sp_elf_offset_of(e, (uint64_t)(uintptr_t)asked[i].at - bias, &places[i]), 0);
	assert_int_equal(sp_framed_starts(e, NULL, 0, places, SP_COUNT(asked), is_start), 0);
	for (size_t i = 0; i < SP_COUNT(asked); i++)
		if (is_start[i] != asked[i].is_start)
			fail_msg("start %zu: %s", i, is_start[i] ? "one" : "none");
	sp_elf_close(e);
	close(fd);
}

/* One place alone is judged as it is among others; and not across code that has an FDE. */
static void alone(void **state)
{
	int fd;
	struct sp_elf *e = open_self(&fd);
	uint64_t bias = getauxval(AT_ENTRY) - sp_elf_entry(e), place, start;
	bool told;

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		assert_int_equal(sp_elf_offset_of(e, (uint64_t)(uintptr_t)cases[i].at - bias, &place), 0);
		assert_int_equal(sp_framed(e, NULL, 0, &place, 1, &told), 0);
		assert_int_equal(told, cases[i].is_told);
	}
	assert_int_equal(sp_elf_offset_of(e, (uint64_t)(uintptr_t)framed_table - bias, &start), 0);
	assert_int_equal(sp_elf_offset_of(e, (uint64_t)(uintptr_t)framed_call - bias, &place), 0);
	assert_int_equal(sp_framed(e, &(struct sp_code_span){start, start + 1}, 1, &place, 1, &told), 0);
	assert_false(told);
	place = UINT64_MAX - 1;
	assert_int_equal(sp_framed(e, NULL, 0, &place, 1, &told), 0);
	assert_false(told);
	sp_elf_close(e);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(by_code), cmocka_unit_test(starts),
					   cmocka_unit_test(alone)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verify.c: frame pointers are verified where verify_code.s keeps them, and the file says nothing itself. */
#include "unwind/verify.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "test.h"
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

extern const char verify_first[], verify_second[], verify_frame[], verify_pushed[], verify_call[], verify_last[],
    verify_return[], verify_register[], verify_other[], verify_covered[];

/* In the order of the file. At the last byte of a call, as callers are recorded, and at instructions, as leaves are. */
static const struct {
	const char *at;
	bool is_unread, is_verified;
} cases[] = {
    {verify_first, false, true},        {verify_first, true, true},
    {verify_second, false, true},       {verify_second, true, false},
    {verify_frame, false, false},       {verify_frame, true, false}, /* of a function that is only believed by rows */
    {verify_pushed, false, false},      {verify_pushed, true, false},
    {verify_call, false, true},         {verify_call, true, false},
    {verify_call + 4, false, true},     {verify_last, false, true},
    {verify_last, true, false},         {verify_return, false, false},
    {verify_return, true, false},       {verify_register, true, false}, /* of one that is not believed */
    {verify_other + 4, false, false},   {verify_covered, true, false},
    {verify_covered + 4, false, false},
};

static size_t places_of(struct sp_elf *e, uint64_t *places, uint64_t *verified)
{
	uint64_t bias = getauxval(AT_ENTRY) - sp_elf_entry(e);
	size_t n = 0;

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		assert_int_equal(sp_elf_offset_of(e, (uint64_t)(uintptr_t)cases[i].at - bias, &places[i]), 0);
		places[i] = sp_verify_place(places[i], cases[i].is_unread);
		if (cases[i].is_verified)
			verified[n++] = places[i];
	}
	return n;
}

static struct sp_elf *open_self(int *ret_fd)
{
	struct sp_elf *e = NULL;

	*ret_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(sp_elf_open_fd(*ret_fd, &e), 0);
	return e;
}

static void by_code(void **state)
{
	uint64_t places[SP_COUNT(cases)], verified[SP_COUNT(cases)];
	int fd;
	struct sp_elf *e = open_self(&fd);
	size_t n = places_of(e, places, verified), n_found;

	assert_int_equal(sp_verify(e, places, SP_COUNT(places), &n_found), 0);
	assert_int_equal(n_found, n);
	assert_memory_equal(places, verified, n * sizeof(*places));
	assert_int_equal(sp_verify(e, places, 0, &n_found), 0);
	assert_int_equal(n_found, 0);
	places[0] = UINT64_MAX - 1; /* no file has such a place */
	assert_int_equal(sp_verify(e, places, 1, &n_found), 0);
	assert_int_equal(n_found, 0);
	sp_elf_close(e);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(by_code)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

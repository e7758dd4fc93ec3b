/* SPDX-License-Identifier: GPL-2.0-or-later */
/* snappy.c: blocks are unpacked by a reader of the format's description; tests/full/prometheus.sh has real readers. */
#include "agent/export/snappy.h"
#include "test.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t number(const uint8_t **at, size_t n_bytes)
{
	size_t value = 0;

	for (size_t i = 0; i < n_bytes; i++)
		value |= (size_t) * (*at)++ << 8 * i;
	return value;
}

static uint8_t *unpack(const uint8_t *at, size_t n, size_t *ret_n)
{
	const uint8_t *end = at + n;
	size_t size = 0, done = 0;
	unsigned shift = 0;
	uint8_t *to;

	do
		size |= (size_t)(*at & 0x7f) << shift;
	while (shift += 7, *at++ & 0x80);
	to = malloc(size + 1);
	while (at < end) {
		uint8_t tag = *at++;
		size_t length = tag >> 2, distance = 0;

		assert_true((tag & 3) == 0 || (tag & 3) == 2);
		if ((tag & 3) == 2)
			distance = number(&at, 2);
		else if (length >= 60)
			length = number(&at, length - 59);
		length++;
		assert_true(length <= size - done && ((tag & 3) == 0 || (distance && distance <= done)));
		for (size_t i = 0; i < length; i++, done++)
			to[done] = distance ? to[done - distance] : *at++;
	}
	assert_ptr_equal(at, end);
	assert_int_equal(done, size);
	*ret_n = size;
	return to;
}

/* Returns the size of the block. */
static size_t check(const void *bytes, size_t n)
{
	void *block;
	size_t packed, back_n;
	uint8_t *back;

	assert_int_equal(sp_snappy_pack(bytes, n, &block, &packed), 0);
	back = unpack(block, packed, &back_n);
	assert_int_equal(back_n, n);
	assert_memory_equal(back, bytes, n);
	free(back);
	free(block);
	return packed;
}

static void test_lengths(void **state)
{
	static uint8_t bytes[300000];

	srandom(3);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)random();
	for (size_t n = 0; n < 700; n++)
		check(bytes, n);
	for (size_t n = 65530; n < 65545; n++)
		check(bytes, n);
	assert_true(check(bytes, sizeof(bytes)) < sizeof(bytes) + sizeof(bytes) / 1000);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(random() % 3); /* many short copies */
	assert_true(check(bytes, sizeof(bytes)) < sizeof(bytes));
	memset(bytes, 7, sizeof(bytes));
	for (size_t n = 0; n < 700; n++)
		check(bytes, n);
	assert_true(check(bytes, sizeof(bytes)) < sizeof(bytes) / 15);
}

static void test_names(void **state)
{
	char *text = malloc(1 << 20);
	size_t n = 0;

	for (int i = 0; n < 500000; i++)
		n += (size_t)snprintf(text + n, 200,
				      "__name__soprof_library_self_cpu_seconds_total library libthing%d.so.%d",
				      i * 7919 % 2000, i % 9);
	assert_true(check(text, n) < n / 4);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_lengths), cmocka_unit_test(test_names)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

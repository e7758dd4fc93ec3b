/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/intern.h"
#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void equal_bytes_equal_number(void **state)
{
	struct sp_intern *t;
	size_t len;

	assert_int_equal(sp_intern_new(&t), 0);
	assert_int_equal(sp_intern_add(t, "", 0), 0);
	assert_int_equal(sp_intern_add(t, NULL, 0), 0);
	assert_int_equal(sp_intern_add(t, "a\0b", 3), 1);
	assert_int_equal(sp_intern_add(t, "a\0c", 3), 2);
	assert_int_equal(sp_intern_add(t, "a", 1), 3);
	assert_int_equal(sp_intern_add(t, "a\0", 2), 4);
	assert_int_equal(sp_intern_add(t, "a\0b", 3), 1);
	assert_int_equal(sp_intern_find(t, "a\0c", 3), 2);
	assert_int_equal(sp_intern_find(t, "a\0d", 3), -ENOENT);
	assert_memory_equal(sp_intern_get(t, 1, &len), "a\0b", 4); /* with the NUL behind */
	assert_int_equal(len, 3);
	assert_int_equal(sp_intern_count(t), 5);
	sp_intern_free(t);
	sp_intern_free(NULL);
}

enum { N = 200000 };

/* Name i: i in decimal, i % 40 times over, so that all lengths and all tails of the hash occur. */
static size_t name(char *buffer, size_t size, unsigned int i)
{
	size_t n = 0;

	for (unsigned int k = 0; k <= i % 40; k++)
		n += (size_t)snprintf(buffer + n, size - n, "%u.", i);
	return n;
}

static void many_names_keep_their_numbers_and_places(void **state)
{
	const void **places = calloc(N, sizeof(*places));
	struct sp_intern *t;
	char buffer[512];

	assert_non_null(places);
	assert_int_equal(sp_intern_new(&t), 0);
	for (unsigned int i = 0; i < N; i++) {
		assert_int_equal(sp_intern_add(t, buffer, name(buffer, sizeof(buffer), i)), i);
		places[i] = sp_intern_get(t, i, NULL);
		assert_int_equal((uintptr_t)places[i] % 8, 0);
	}
	for (unsigned int i = 0; i < N; i++) {
		size_t len, want = name(buffer, sizeof(buffer), i);
		assert_int_equal(sp_intern_find(t, buffer, want), i);
		assert_ptr_equal(sp_intern_get(t, i, &len), places[i]);
		assert_int_equal(len, want);
		assert_memory_equal(places[i], buffer, len);
	}
	assert_int_equal(sp_intern_count(t), N);
	sp_intern_free(t);
	free(places);
}

static void an_entry_larger_than_a_chunk(void **state)
{
	size_t len = 5 << 20, got;
	char *big = malloc(len);
	struct sp_intern *t;

	assert_non_null(big);
	memset(big, 'x', len);
	assert_int_equal(sp_intern_new(&t), 0);
	assert_int_equal(sp_intern_add(t, "small", 5), 0);
	assert_int_equal(sp_intern_add(t, big, len), 1);
	assert_int_equal(sp_intern_add(t, big, len - 1), 2);
	assert_int_equal(sp_intern_add(t, "after", 5), 3);
	assert_int_equal(memcmp(sp_intern_get(t, 1, &got), big, len), 0);
	assert_int_equal(got, len);
	assert_string_equal(sp_intern_get(t, 0, NULL), "small");
	sp_intern_free(t);
	free(big);
}

/* Counted, not timed: 2^20 similar inputs into 2^20 buckets leave 1/e of them empty when the hash is as good as random.
 */
static void similar_bytes_spread(void **state)
{
	enum { BITS = 20 };
	uint8_t *used = calloc(1, 1 << BITS);
	uint32_t n_used = 0;

	assert_non_null(used);
	for (uint32_t i = 0; i < 1 << BITS; i++) {
		uint32_t words[] = {i & 0xff, 7, i >> 8};
		uint8_t *bucket = &used[sp_hash_bytes(words, sizeof(words), 0) >> (64 - BITS)];
		n_used += *bucket == 0;
		*bucket = 1;
	}
	assert_in_range(n_used, 0.63 * (1 << BITS), 0.634 * (1 << BITS));
	free(used);
}

static void the_hash_depends_on_length_and_seed(void **state)
{
	static const char zeros[64];

	for (size_t a = 0; a < sizeof(zeros); a++) {
		for (size_t b = 0; b < a; b++)
			assert_true(sp_hash_bytes(zeros, a, 1) != sp_hash_bytes(zeros, b, 1));
		assert_true(sp_hash_bytes(zeros, a, 1) != sp_hash_bytes(zeros, a, 2));
	}
}

/* What stands beside a number stays with it, and begins as 0. */
static void an_array_beside_has_an_element_each(void **state)
{
	struct sp_intern *t;
	uint64_t *beside = NULL;
	size_t capacity = 0;
	bool is_new;

	assert_int_equal(sp_intern_new(&t), 0);
	for (uint32_t i = 0; i < 2000; i++) {
		uint32_t key = i % 1000;
		int64_t n = sp_intern_add_to(t, &key, sizeof(key), &beside, &capacity, sizeof(*beside), &is_new);
		assert_int_equal(n, key);
		assert_int_equal(is_new, i < 1000);
		assert_int_equal(beside[n], i < 1000 ? 0 : key + 1);
		beside[n] = key + 1;
	}
	assert_int_equal(sp_intern_count(t), 1000);
	assert_true(capacity >= 1000);
	sp_intern_free(t);
	free(beside);
}

static void a_small_table_takes_little(void **state)
{
	struct sp_intern *t;

	assert_int_equal(sp_intern_new(&t), 0);
	assert_int_equal(sp_intern_add(t, "a", 1), 0);
	assert_true(sp_intern_memory_bytes(t) < 2000);
	sp_intern_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_array_beside_has_an_element_each),
	    cmocka_unit_test(equal_bytes_equal_number),
	    cmocka_unit_test(many_names_keep_their_numbers_and_places),
	    cmocka_unit_test(an_entry_larger_than_a_chunk),
	    cmocka_unit_test(a_small_table_takes_little),
	    cmocka_unit_test(similar_bytes_spread),
	    cmocka_unit_test(the_hash_depends_on_length_and_seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/write/dict_builder_sum.h"

#include "base/sum.h"
#include "store/write/dict_builder_priv.h"

#include <stdlib.h>
#include <string.h>

static bool contains_library(const uint32_t *list, uint32_t n, uint32_t library)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i] == library)
			return true;
	return false;
}

static inline void add_values(int64_t *accounts, const struct sp_row *row, uint32_t n_values, uint32_t library,
			      int what)
{
	for (uint32_t v = 0; v < n_values; v++)
		sp_saturating_add(&accounts[2 * ((size_t)library * n_values + v) + (size_t)what], row->values[v]);
}

/* Adds a row, given its lists. A row without frames is counted for file 0. */
static inline void add_row(const struct sp_dict_builder *builder, const struct sp_row *row, size_t user_at,
			   size_t kernel_at, uint32_t n_values, int64_t *accounts)
{
	const uint32_t *user = sp_items_words(&builder->memo.libraries) + user_at,
		       *kernel = sp_items_words(&builder->memo.libraries) + kernel_at;
	uint32_t n_user = *user++, n_kernel = row->kernel == 0 ? 0 : *kernel;

	kernel++;
	add_values(accounts, row, n_values, n_kernel > 0 ? kernel[0] : n_user > 0 ? user[0] : 0, 0);
	if (n_kernel + n_user == 0)
		add_values(accounts, row, n_values, 0, 1);
	for (uint32_t i = 0; i < n_user; i++)
		add_values(accounts, row, n_values, user[i], 1);
	for (uint32_t i = 0; i < n_kernel; i++)
		if (!contains_library(user, n_user, kernel[i]))
			add_values(accounts, row, n_values, kernel[i], 1);
}

static int find_and_add_row(struct sp_dict_builder *builder, const struct sp_profile *p, const struct sp_row *row,
			    uint32_t n_values, int64_t *accounts)
{
	int64_t user = sp_dict_builder_find_libraries(builder, p, row->user);
	int64_t kernel = user < 0 || row->kernel == 0 ? user : sp_dict_builder_find_libraries(builder, p, row->kernel);

	if (kernel >= 0)
		add_row(builder, row, (size_t)user, (size_t)kernel, n_values, accounts);
	return kernel < 0 ? (int)kernel : 0;
}

void sp_dict_builder_done_sums(struct sp_dict_builder *builder)
{
	free(builder->sums.accounts.data);
	free(builder->sums.deferred.data);
}

void sp_dict_builder_begin_sums(struct sp_dict_builder *builder)
{
	struct sp_row_sums *s = &builder->sums;

	if (s->accounts.n > 0)
		memset(s->accounts.data, 0, s->accounts.n * sizeof(int64_t));
	s->deferred.n = s->n_rows = 0;
	s->sum = 0;
	s->are_multiples = true;
}

/* Are the values of this row the same non-negative multiples of the first as before? */
static bool is_multiple(struct sp_row_sums *s, const struct sp_row *row, uint32_t n_values)
{
	int64_t first = row->values[0], product;

	s->factors[0] = 1;
	if (first < 0)
		return false;
	for (uint32_t v = 1; v < n_values; v++) {
		if (s->n_rows == 0)
			s->factors[v] = first == 0 ? 0 : row->values[v] / first;
		if (row->values[v] < 0 || __builtin_mul_overflow(first, s->factors[v], &product) ||
		    product != row->values[v])
			return false;
	}
	return !__builtin_add_overflow(s->sum, first, &s->sum);
}

/* Rows with unknown lists are deferred: listing them now would add marks that no row of this window has. */
void sp_dict_builder_sum_row(struct sp_dict_builder *builder, const struct sp_row *row, uint32_t n_values)
{
	struct sp_row_sums *s = &builder->sums;

	if (!s->are_multiples)
		return;
	uint32_t user = sp_memo_of_stack(builder, row->user).libraries,
		 kernel = sp_memo_of_stack(builder, row->kernel).libraries;
	bool known = user != 0 && (kernel != 0 || row->kernel == 0);
	size_t n_accounts = 2 * (size_t)builder->next[SP_FILES];
	s->are_multiples =
	    is_multiple(s, row, n_values) &&
	    (s->accounts.n >= n_accounts || sp_items_reserve(&s->accounts, n_accounts, sizeof(int64_t)) == 0) &&
	    (known || sp_items_reserve(&s->deferred, s->deferred.n + 1, sizeof(uint32_t)) == 0);
	if (s->are_multiples && known)
		add_row(builder, row, user, kernel, 1, s->accounts.data);
	else if (s->are_multiples)
		sp_items_words(&s->deferred)[s->deferred.n - 1] = s->n_rows;
	s->n_rows++;
}

/* Multiplies the sums by the factors; are_multiples() excluded overflow. */
static int add_sums(struct sp_dict_builder *builder, const struct sp_profile *p, uint32_t n_values, int64_t *accounts)
{
	struct sp_row_sums *s = &builder->sums;
	const int64_t *sums = s->accounts.data;
	int r = 0;

	for (size_t i = 0; i < s->deferred.n && r == 0; i++)
		r = find_and_add_row(builder, p, sp_profile_row(p, sp_items_words(&s->deferred)[i]), 1,
				     s->accounts.data);
	s->deferred.n = 0;
	s->are_multiples = r == 0; /* after an error some rows are counted already */
	for (size_t i = 0; i < s->accounts.n && r == 0; i++)
		for (uint32_t v = 0; v < n_values && sums[i] != 0; v++)
			sp_saturating_add(&accounts[2 * (i / 2 * n_values + v) + i % 2], sums[i] * s->factors[v]);
	return r;
}

static bool are_multiples(const struct sp_row_sums *s, uint32_t n_values)
{
	int64_t product;
	bool small = s->are_multiples && s->n_rows > 0;

	for (uint32_t v = 0; v < n_values && small; v++)
		small = !__builtin_mul_overflow(s->sum, s->factors[v], &product);
	return small;
}

int sp_dict_builder_sum_libraries(struct sp_dict_builder *builder, const struct sp_profile *p,
				  struct sp_items *accounts)
{
	uint32_t n_rows = sp_profile_n_rows(p), n_values = sp_profile_n_value_types(p);
	int r = sp_items_reserve(accounts, 2 * (size_t)builder->next[SP_FILES] * n_values, sizeof(int64_t));

	if (r == 0 && are_multiples(&builder->sums, n_values))
		return add_sums(builder, p, n_values, accounts->data);
	for (uint32_t i = 0; i < n_rows && r == 0; i++)
		r = find_and_add_row(builder, p, sp_profile_row(p, i), n_values, accounts->data);
	return r;
}

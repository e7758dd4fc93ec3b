/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parse.h: strict parsing of numbers, durations and lists of numbers.
 *
 * The whole text must match: no spaces, signs or rest. Each function returns 0; -EINVAL when the text is not of the
 * form; -ERANGE when it is, but out of range; lists also -ENOMEM. Nothing is added to the error chain: the caller
 * knows which option it was. No state, thread-safe.
 */
#ifndef SP_BASE_PARSE_H
#define SP_BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Digits from *text on, which is moved behind them; whatever follows. */
int sp_parse_digits(const char **text, uint64_t *ret_number);

/* A decimal number from min to max. */
int sp_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret_number);

/* A duration: a decimal number with at most 9 decimals, and ns, us, ms, s, m, h or d; without a unit: seconds. */
int sp_parse_duration(const char *text, uint64_t *ret_ns);

/*
 * "0-3,5": numbers and ranges, each at most max, in the order given; "" is an empty list. The form of the kernel's CPU
 * lists. Free *ret_numbers. More than n_max numbers: -ERANGE.
 */
int sp_parse_list(const char *text, uint32_t max, size_t n_max, uint32_t **ret_numbers, size_t *ret_n);

/* The value of a lower-case hex digit; -1: not one. */
int sp_hex_digit(char c);

/* Decodes %XX in place (except %00); as_in_forms: '+' becomes a space. -EINVAL: a % without two digits. */
int sp_percent_decode(char *text, bool as_in_forms);

#endif

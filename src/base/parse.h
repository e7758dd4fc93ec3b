/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parse.h: numbers, sizes, durations and lists of numbers from text, strictly.
 *
 * The whole text must be the thing: no leading or trailing space, sign or rest. Each returns 0, -EINVAL when the text
 * is not such a thing, -ERANGE when it is one but too big or too small for what was asked; lists -ENOMEM too.
 * Nothing is said to the error chain: the caller knows which option it was. No state, thread-safe.
 */
#ifndef SP_BASE_PARSE_H
#define SP_BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A decimal number from min to max. */
int sp_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret_number);

/* Bytes: a number, and K, M, G or T (powers of 1024; "KiB", "KB", "k" and so on are the same). */
int sp_parse_size(const char *text, uint64_t *ret_bytes);

/* A duration: a decimal number with at most 9 decimals, and ns, us, ms, s, m, h or d; without a unit: seconds. */
int sp_parse_duration(const char *text, uint64_t *ret_ns);

/*
 * "0-3,5": numbers and ranges, each at most max, as the kernel writes CPU lists and as options take PIDs. In the order
 * written; "" is no number. Free *ret_numbers. More than n_max numbers are -ERANGE.
 */
int sp_parse_list(const char *text, uint32_t max, size_t n_max, uint32_t **ret_numbers, size_t *ret_n);

/* What a lower-case hex digit is worth; -1: it is none. */
int sp_hex_digit(char c);

/* In place: %XX becomes its byte (a NUL may not); as in forms: '+' becomes a space. -EINVAL: no two digits behind a %.
 */
int sp_percent_decode(char *text, bool as_in_forms);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * value.h: what a view shows, in words that stand above it: "cpu: 1.65 s in 163 samples; other values: samples".
 *
 * The value by the name that the profile has for it (and --value takes), how much there is of it, by how many samples,
 * if these are counted and are not the value itself, and what else the profile holds. Names are encoded as for a
 * terminal. No state.
 */
#ifndef SP_VIEW_VALUE_H
#define SP_VIEW_VALUE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sp_profile;
struct sp_view;

void sp_value_put(const struct sp_profile *p, uint32_t value, int64_t all, int64_t n_samples, FILE *out);
/* The same of all rows, as a new string; NULL = no memory. */
char *sp_value_text(const struct sp_profile *p, uint32_t value);
/* What the view shows where nobody chose a value: the profile's default; but bcc's layouts count samples of a time. */
uint32_t sp_value_default(const struct sp_profile *p, const struct sp_view *view);
/* Whether the value is not the number of samples, and these are counted. */
bool sp_value_has_samples(const struct sp_profile *p, uint32_t value);

#endif

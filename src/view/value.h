/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * value.h: a description of the value shown, as in "cpu: 1.65 s in 163 samples; other values: samples".
 *
 * It has the value's name in the profile (as for --value), its sum, the number of samples, if the profile has it and
 * it is not the value itself, and the names of the other values. Names are encoded for a terminal. No state; no
 * errors but NULL.
 */
#ifndef SP_VIEW_VALUE_H
#define SP_VIEW_VALUE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sp_profile;
struct sp_view;

void sp_value_put(const struct sp_profile *p, uint32_t value, int64_t all, int64_t n_samples, FILE *out);
/* The same for all rows, as a new string; NULL: out of memory. */
char *sp_value_text(const struct sp_profile *p, uint32_t value);
/* For pictures, in words; all: where one chooses among several costs, what each is: "cpu: 1.65 s, offcpu: 3.20 s". */
char *sp_value_caption(const struct sp_profile *p, uint32_t value, bool all);
/* The name for those who need not type it, as a new string: "live bytes". Names of a system's events stay. */
char *sp_value_words(const char *name);
/* The value that a view shows by default: the profile's; bcc's layouts (text, folded) show samples instead of CPU time.
 */
uint32_t sp_value_default(const struct sp_profile *p, const struct sp_view *view);
/* Whether it has the waits of threads in it: offcpu, wall, locks. Their stacks end in the kernel's scheduler. */
bool sp_value_has_waits(const struct sp_profile *p, uint32_t value);
/* Whether the profile has the number of samples as another value. */
bool sp_value_has_samples(const struct sp_profile *p, uint32_t value);
/*
 * Whether it is of several events: samples, and what each event costs. Then a table has a column for each cost, unless
 * one is chosen. Counted calls are no such profile: their time is that of samples beside them.
 */
bool sp_value_has_several(const struct sp_profile *p);

#endif

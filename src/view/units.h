/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * units.h: values and shares as a person reads them.
 *
 * All values of a column are shown in one unit, chosen for the largest of them: nanoseconds as ns, us, ms or s, bytes
 * as B, KiB, MiB or GiB; anything else as it is. Private to the views; no state, no errors.
 */
#ifndef SP_VIEW_UNITS_H
#define SP_VIEW_UNITS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sp_unit {
	const char *name; /* "ms"; "" for counts */
	double scale;     /* what one of it is in the profile's unit */
	int decimals;
};

struct sp_unit sp_unit_for(const char *profile_unit, uint64_t largest);
/* The value without the unit's name, right-justified in `width` columns. */
void sp_unit_put(struct sp_unit unit, int64_t value, int width, FILE *out);
/* "12.3 ms", "30.1 MiB", "7": the value in the unit that suits it alone. */
void sp_unit_write(const char *profile_unit, uint64_t value, char *ret_text, size_t size);
/* 0 if there is nothing to have a share of. */
double sp_percent(int64_t value, int64_t of);
/* Right-justified; with colour red from 10 % on, yellow from 1 %. */
void sp_percent_put(double percent, int width, bool colour, FILE *out);

#endif

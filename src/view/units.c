/* SPDX-License-Identifier: GPL-2.0-or-later */
/* units.c: see units.h. */
#include "view/units.h"

#include "base/mem.h"

#include <string.h>

static const struct {
	const char *profile_unit;
	uint64_t from; /* for a largest value from here on */
	struct sp_unit unit;
} units[] = {
    {"nanoseconds", 1000000000, {"s", 1e9, 2}},    {"nanoseconds", 1000000, {"ms", 1e6, 1}},
    {"nanoseconds", 1000, {"us", 1e3, 1}},         {"nanoseconds", 0, {"ns", 1, 0}},
    {"bytes", 1ULL << 30, {"GiB", 1ULL << 30, 2}}, {"bytes", 1ULL << 20, {"MiB", 1ULL << 20, 1}},
    {"bytes", 1ULL << 10, {"KiB", 1ULL << 10, 1}}, {"bytes", 0, {"B", 1, 0}},
};

struct sp_unit sp_unit_for(const char *profile_unit, uint64_t largest)
{
	for (size_t i = 0; i < SP_COUNT(units); i++)
		if (!strcmp(units[i].profile_unit, profile_unit) && largest >= units[i].from)
			return units[i].unit;
	return (struct sp_unit){"", 1, 0};
}

void sp_unit_put(struct sp_unit unit, int64_t value, int width, FILE *out)
{
	if (unit.scale > 1)
		fprintf(out, "%*.*f", width, unit.decimals, (double)value / unit.scale);
	else
		fprintf(out, "%*lld", width, (long long)value);
}

void sp_unit_write(const char *profile_unit, uint64_t value, char *ret_text, size_t size)
{
	struct sp_unit unit = sp_unit_for(profile_unit, value);
	const char *gap = *unit.name ? " " : "";

	snprintf(ret_text, size, "%.*f%s%s", unit.decimals, (double)value / unit.scale, gap, unit.name);
}

double sp_percent(int64_t value, int64_t of)
{
	return of ? 100.0 * (double)value / (double)of : 0;
}

void sp_percent_put(double percent, int width, bool colour, FILE *out)
{
	const char *begin = percent >= 10 ? "\033[31m" : percent >= 1 ? "\033[33m" : "";
	bool is_coloured = colour && *begin;

	fprintf(out, "%s%*.2f%s", is_coloured ? begin : "", width, percent, is_coloured ? "\033[0m" : "");
}

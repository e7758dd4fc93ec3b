/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/values.h"

#include <string.h>

uint32_t sp_profile_default_value(const struct sp_profile *p)
{
	uint32_t n = sp_profile_n_value_types(p), name = sp_profile_info(p)->default_type;

	for (uint32_t i = 0; name != 0 && i < n; i++)
		if (sp_profile_value_type(p, i)->name == name)
			return i;
	return n > 0 ? n - 1 : 0;
}

int sp_profile_find_value(const struct sp_profile *p, const char *name, const char *unit)
{
	for (uint32_t i = 0; i < sp_profile_n_value_types(p); i++) {
		const struct sp_value_type *type = sp_profile_value_type(p, i);
		if ((!name || strcmp(sp_profile_string(p, type->name), name) == 0) &&
		    (!unit || strcmp(sp_profile_string(p, type->unit), unit) == 0))
			return (int)i;
	}
	return -1;
}

uint32_t sp_profile_samples_value(const struct sp_profile *p)
{
	int value = sp_profile_find_value(p, "samples", NULL);

	return value < 0 ? 0 : (uint32_t)value;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* values.c: see values.h. */
#include "profile/values.h"

uint32_t sp_profile_default_value(const struct sp_profile *p)
{
	uint32_t n = sp_profile_n_value_types(p), name = sp_profile_info(p)->default_type;

	for (uint32_t i = 0; name != 0 && i < n; i++)
		if (sp_profile_value_type(p, i)->name == name)
			return i;
	return n > 0 ? n - 1 : 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * values.h: finds one of a profile's values.
 *
 * Values have the numbers of sp_profile_value_type(). The default value is pprof's: the one that the profile's info
 * names as its default_type; if there is none of that name, the last. Only reads the profile; no errors; reentrant.
 */
#ifndef SP_PROFILE_VALUES_H
#define SP_PROFILE_VALUES_H

#include "profile/profile.h"

/* 0 for a profile without values. */
uint32_t sp_profile_default_value(const struct sp_profile *p);
/* The first value of this name and unit; NULL: any. -1: there is none. */
int sp_profile_find_value(const struct sp_profile *p, const char *name, const char *unit);
/* The value "samples"; where there is none, the first. */
uint32_t sp_profile_samples_value(const struct sp_profile *p);

#endif

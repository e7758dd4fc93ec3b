/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * values.h: which of a profile's values is shown where nobody chose one.
 *
 * As pprof has it: the one that the profile's info names as its default_type; where it names none that there is, the
 * last. The number is that of sp_profile_value_type(); 0 for a profile without values. Only reads the profile; no
 * errors; reentrant.
 */
#ifndef SP_PROFILE_VALUES_H
#define SP_PROFILE_VALUES_H

#include "profile/profile.h"

uint32_t sp_profile_default_value(const struct sp_profile *p);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "link/file.h"

#include <string.h>

bool sp_calls_is(const void *bytes, size_t len)
{
	return len >= sizeof(SP_CALLS_MAGIC) && memcmp(bytes, SP_CALLS_MAGIC, sizeof(SP_CALLS_MAGIC)) == 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/mhd.h"

#include "base/library.h"
#include "base/mem.h"

#include <stdbool.h>

struct sp_mhd sp_mhd;

static const struct sp_library_function functions[] = {
#define NAME(name) {"MHD_" #name, offsetof(struct sp_mhd, name)},
    SP_MHD_FUNCTIONS(NAME)};

int sp_mhd_load(void)
{
	static const char *const sonames[] = {"libmicrohttpd.so.12", NULL};
	static bool is_loaded;
	int r = 0;

	if (!is_loaded)
		r = sp_library_load("HTTP", "libmicrohttpd12", sonames, functions, SP_COUNT(functions), &sp_mhd);
	is_loaded = r == 0;
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/mhd.h"

#include "base/library.h"
#include "base/mem.h"

struct sp_mhd sp_mhd;

static const struct sp_library_function functions[] = {
#define NAME(name) {"MHD_" #name, offsetof(struct sp_mhd, name)},
    SP_MHD_FUNCTIONS(NAME)};

int sp_mhd_load(void)
{
	static const char *const sonames[] = {"libmicrohttpd.so.12", NULL};

	return sp_library_load("HTTP", "libmicrohttpd12", sonames, functions, SP_COUNT(functions), &sp_mhd);
}

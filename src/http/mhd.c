/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/mhd.h"

#include "base/error.h"
#include "base/mem.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>

struct sp_mhd sp_mhd;

static const struct {
	const char *name;
	size_t offset;
} functions[] = {
#define NAME(name) {"MHD_" #name, offsetof(struct sp_mhd, name)},
    SP_MHD_FUNCTIONS(NAME)};

int sp_mhd_load(void)
{
	static bool is_loaded;
	void *library = is_loaded ? NULL : dlopen("libmicrohttpd.so.12", RTLD_NOW);

	if (is_loaded)
		return 0;
	if (!library)
		return sp_fail_said(-ELIBACC, "HTTP needs libmicrohttpd12: %s", dlerror());
	for (size_t i = 0; i < SP_COUNT(functions); i++) {
		void *function = dlsym(library, functions[i].name);
		if (!function)
			return sp_fail_said(-ELIBACC, "libmicrohttpd12: %s", dlerror());
		*(void **)((char *)&sp_mhd + functions[i].offset) = function;
	}
	is_loaded = true;
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/library.h"

#include "base/error.h"

#include <dlfcn.h>
#include <errno.h>

int sp_library_load(const char *purpose, const char *package, const char *const *sonames,
		    const struct sp_library_function *functions, size_t n, void *into)
{
	void *library = NULL;

	if (*(void **)((char *)into + functions[n - 1].offset))
		return 0;
	for (; !library && *sonames; sonames++)
		library = dlopen(*sonames, RTLD_LAZY);
	if (!library)
		return sp_fail_said(-ELIBACC, "%s needs %s: %s", purpose, package, dlerror());
	for (size_t i = 0; i < n; i++) {
		void *function = dlsym(library, functions[i].name);
		if (!function)
			return sp_fail_said(-ELIBACC, "%s: %s", package, dlerror());
		*(void **)((char *)into + functions[i].offset) = function;
	}
	return 0;
}

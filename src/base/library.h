/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * library.h: loads a library at run time, and finds its functions.
 *
 * For libraries that few runs need, or that only one process may have. A library stays loaded. -ELIBACC with
 * dlopen(3)'s words: it is not installed, or lacks a function. Not thread-safe.
 */
#ifndef SP_BASE_LIBRARY_H
#define SP_BASE_LIBRARY_H

#include <stddef.h>

struct sp_library_function {
	const char *name;
	size_t offset; /* of the pointer to it, in the caller's struct */
};

/*
 * purpose, package: for the error, "PURPOSE needs PACKAGE". sonames: any of them will do; NULL ends them. into: zeros
 * before the first call; once it has the last function, nothing more is done.
 */
int sp_library_load(const char *purpose, const char *package, const char *const *sonames,
		    const struct sp_library_function *functions, size_t n, void *into);

#endif

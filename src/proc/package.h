/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * package.h: which Debian package owns a file.
 *
 * For many paths at once: the file lists of all packages are read once, line by line. Directories merged into /usr
 * are the same as those in /usr (/lib and /usr/lib ...), and diversions are followed (dpkg-divert(8)). The version is
 * that of the package installed now, not of a file that was replaced or deleted since. A machine without dpkg has no
 * packages, which is not an error.
 * Errors: negative errno with sp_error_text(). Lines over 16 KiB, and those with a NUL in them, are left out and
 * counted; no file is read beyond 1 GiB. The result is the caller's; no state; thread-safe.
 */
#ifndef SP_PROC_PACKAGE_H
#define SP_PROC_PACKAGE_H

#include <stddef.h>
#include <stdint.h>

struct sp_package {          /* "": not known */
	const char *name;    /* "libc6" */
	const char *version; /* "2.36-9+deb12u10" */
	const char *arch;    /* "amd64", "all" */
};

struct sp_packages;

/* Finds the packages of the paths. dpkg_dir: NULL = /var/lib/dpkg. */
int sp_packages_find(const char *dpkg_dir, const char *const *paths, size_t n_paths, struct sp_packages **ret_packages);
void sp_packages_free(struct sp_packages *p);

/* The package of paths[i]. Lives as long as the answer. */
struct sp_package sp_packages_get(const struct sp_packages *p, size_t i);
/* The path without /usr before /lib, /bin ...: /usr/lib/x and /lib/x are one file. Points into path. */
const char *sp_path_canonical(const char *path);
/* File lists that could not be read, and lines that were left out. */
uint64_t sp_packages_n_skipped(const struct sp_packages *p);

#endif

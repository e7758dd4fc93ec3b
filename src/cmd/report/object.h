/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * object.h: finds the ELF file that a profile without names belongs to: the library of LD_PROFILE's, the program of
 * gmon.out's.
 *
 * A library is searched by name where ld.so searches (LD_LIBRARY_PATH, then the usual directories), and accepted only
 * if its code has the profile's range. A program, or a library elsewhere, has to be given. Only headers are read here;
 * workers read names. The caller sets the struct to zero except for what he wants. 0 or a negative errno with
 * sp_error_text(); -EINVAL: the given file was not profiled.
 */
#ifndef SP_CMD_REPORT_OBJECT_H
#define SP_CMD_REPORT_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

struct sp_profile;
struct sp_read_object;

struct sp_profiled_file {
	const char *given; /* path; NULL: look for it */
	bool found;        /* out */
};

/* sp_read_options' object(); arg is a struct sp_profiled_file. */
int sp_object_find(void *object, const char *library, uint64_t low, uint64_t high, struct sp_read_object *ret);

/* Names all frames that have none, from the files at the profile's paths that have its build ids. */
int sp_object_names(struct sp_profile *p);

#endif

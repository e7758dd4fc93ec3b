/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * object.h: the ELF file that a profile without names is of: LD_PROFILE's of a library, gmon.out of a program.
 *
 * A library is looked for by its name where ld.so looks (LD_LIBRARY_PATH, then the usual directories), and is the one
 * only if its code has the range that the profile tells; a program, or a library that lies elsewhere, has to be given.
 * Only headers are read here; names come from the workers. The struct is the caller's, zeroed but for what he wants.
 * 0 or a negative errno with sp_error_text(); -EINVAL: what was given is not what was profiled.
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

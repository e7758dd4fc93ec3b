/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * identity.h: which numbers of a profile mean the same library and the same function, and what a library is called.
 *
 * Files of one kind and build id are one file (copies, hard links, mount namespaces), whatever their paths; the one
 * with the lowest number represents all. A file without a build id is only itself. The kernel with all its modules is
 * one library, but a module's functions stay in the module's file. Functions of one name in one file are one
 * function, even at several addresses (static functions, clones). A frame without a name has function 0; a frame of
 * no known file belongs to the file of its function, else to library 0. By path: files without build ids are one,
 * too, if kind, name and path are equal, as for the JIT code of all processes.
 * The arrays belong to the struct and describe the profile as it was then. Errors: -ENOMEM. Only reads the profile;
 * reentrant.
 */
#ifndef SP_PROFILE_IDENTITY_H
#define SP_PROFILE_IDENTITY_H

#include "profile/profile.h"

struct sp_identity {
	uint32_t *files;       /* by file: its representative; kernel modules are files of their own */
	uint32_t *funcs;       /* by function: its representative; 0 = no name */
	uint32_t *library_of;  /* by frame: its library, as a representative file; 0 = not known */
	uint32_t *function_of; /* by frame: its function, a representative; 0 = no name */
	uint32_t kernel;       /* the representative of the kernel and its modules; 0 = not in the profile */
	uint32_t samples; /* index of the value "samples"; UINT32_MAX = there is none, and each row is one sample */
};

int sp_identity_new(const struct sp_profile *p, struct sp_identity *ret_identity);
int sp_identity_new_by_path(const struct sp_profile *p, struct sp_identity *ret_identity);
void sp_identity_done(struct sp_identity *i);

/* The library of a file: its representative, the kernel's for modules. */
uint32_t sp_identity_library(const struct sp_profile *p, const struct sp_identity *i, uint32_t file);
/* The file of the frame's function: the module's for one of a kernel module; the frame's library if that is all that is
 * known. */
uint32_t sp_identity_function_file(const struct sp_profile *p, const struct sp_identity *i, uint32_t frame);
/* The library's name for people: the file's name, else the last component of its path, else "[unknown]". */
const char *sp_library_name(const struct sp_profile *p, uint32_t file);
/* The number of samples in a row. */
int64_t sp_identity_samples(const struct sp_identity *i, const struct sp_row *row);
/* The same for one value: 0 in rows where that is 0, because they are of another event. */
int64_t sp_identity_samples_with(const struct sp_identity *i, const struct sp_row *row, uint32_t value);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * identity.h: which numbers of a profile stand for one library and for one function, and what a library is called.
 *
 * Files of one kind with one build id are the same file (copies, hard links, mount namespaces), whatever their paths;
 * the one with the lowest number stands for all. Without a build id a file is only itself. The kernel with all of its
 * modules is one library; the functions of a module still lie in the module's file. Functions of one name in the same
 * file are one function, though they stand at several places (static functions, clones). A frame without a name has
 * function 0; one of no known file lies in the file of its function, and without that in library 0. By path: files
 * without build ids are one, too, if they have one kind, name and path: the JIT code of all processes.
 * The arrays belong to the struct, and hold for the profile as it was. 0 or -ENOMEM. Only reads the profile; reentrant.
 */
#ifndef SP_PROFILE_IDENTITY_H
#define SP_PROFILE_IDENTITY_H

#include "profile/profile.h"

struct sp_identity {
	uint32_t *files;       /* by file: the file that stands for it; modules are files of their own */
	uint32_t *funcs;       /* by function: the function that stands for it; 0 for one without a name */
	uint32_t *library_of;  /* by frame: the file that stands for its library, 0 = not known */
	uint32_t *function_of; /* by frame: the function that stands for it, 0 = no name */
	uint32_t kernel;       /* the file that stands for the kernel and its modules; 0 = the profile has none */
	uint32_t samples;      /* the value named "samples"; UINT32_MAX = there is none: each row is a sample */
};

int sp_identity_new(const struct sp_profile *p, struct sp_identity *ret_identity);
int sp_identity_new_by_path(const struct sp_profile *p, struct sp_identity *ret_identity);
void sp_identity_done(struct sp_identity *i);

/* The file that stands for the library in which the file lies: as files[], and the kernel for its modules. */
uint32_t sp_identity_library(const struct sp_profile *p, const struct sp_identity *i, uint32_t file);
/* In which file the frame's function lies: its library, where that is all that is known; kernel modules are files. */
uint32_t sp_identity_home(const struct sp_profile *p, const struct sp_identity *i, uint32_t frame);
/* What a person calls the file's library: its name, else the last part of its path, else "[unknown]". */
const char *sp_library_name(const struct sp_profile *p, uint32_t file);
/* The samples that the row stands for. */
int64_t sp_identity_samples(const struct sp_identity *i, const struct sp_row *row);
/* Those of them that have some of the value: of one event, where a profile holds several. */
int64_t sp_identity_samples_with(const struct sp_identity *i, const struct sp_row *row, uint32_t value);

#endif

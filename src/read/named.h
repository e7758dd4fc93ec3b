/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * named.h: frames and rows of profiles that know functions by name and file, and write stacks from the root.
 *
 * LIBRARY+0xHEX is taken for a function that is known by its range. Frames at the leaf's end that are in the kernel's
 * files become the kernel stack. 0 or a number of the profile, or a negative errno. Private to the layer. No state.
 */
#ifndef SP_READ_NAMED_H
#define SP_READ_NAMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_profile;

struct sp_read_named {
	const char *name;           /* "": not known */
	const char *file;           /* the library's or program's path or name, the script's; "" = not known */
	const char *source;         /* "" = not known */
	uint32_t in;                /* the library's number in the profile, in place of `file`; 0: by that */
	uint32_t flags;             /* SP_FRAMEF_*, beside those that follow from the file */
	uint32_t source_line, line; /* of the function's first line, and of the instruction; 0 = not known */
};
int64_t sp_read_named_frame(struct sp_profile *p, const struct sp_read_named *named);

/* Two words of our own views in place of half a stack. */
#define SP_READ_MISSED_USER "[Missed User Stack]"
#define SP_READ_MISSED_KERNEL "[Missed Kernel Stack]"
struct sp_read_path {
	const uint32_t *frames; /* root first, or leaf first */
	size_t n;
	bool leaf_first;
	bool missed_user, missed_kernel, is_cut;
	bool is_guessed; /* some of the frames are likely, not known */
};
/* Adds the values to the row of this key and these frames. */
int sp_read_path_add(struct sp_profile *p, uint32_t key, const struct sp_read_path *path, const int64_t *values);
/* The key of a thread of this name in a process; pid 0, "": not known. */
int64_t sp_read_thread(struct sp_profile *p, uint32_t pid, const char *process, const char *thread);

#endif

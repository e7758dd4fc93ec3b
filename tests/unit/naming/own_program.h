/* SPDX-License-Identifier: GPL-2.0-or-later */
/* own_program.h: this test's own program as a file of a profile, for what is named or verified by a real parser. */
#ifndef OWN_PROGRAM_H
#define OWN_PROGRAM_H

#include "elf/elf.h"
#include "profile/profile.h"
#include "test.h"
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

/* The file's number. Descriptor and ELF file are the caller's, to be closed. */
static uint32_t own_program_add(struct sp_profile *p, int *ret_fd, struct sp_elf **ret_elf)
{
	char path[PATH_MAX] = "";
	struct sp_file file = {.kind = SP_FILE_ELF, .tag = 1};
	int r;

	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(sp_elf_open_fd(*ret_fd, ret_elf), 0);
	r = sp_elf_build_id(*ret_elf, file.build_id, sizeof(file.build_id));
	assert_true(r > 0);
	file.build_id_len = (uint8_t)r;
	file.name = file.path = (uint32_t)sp_profile_add_string(p, path);
	return (uint32_t)sp_profile_add_file(p, &file);
}

#endif

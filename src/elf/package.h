/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * package.h: the ELF package note, which says for which package a file was built.
 *
 * Format: systemd's "Package Metadata for Executable Files": a note of owner "FDO" and type 0xcafe1a7e, with one flat
 * JSON object, padded with zeros. Four of its keys are read. The text is untrusted: the object must be well-formed
 * JSON without nested arrays or objects, none of the four keys may occur twice, and their values must be printable
 * ASCII without spaces or escapes, as all package managers write them; else -EBADMSG. -EFBIG over a limit. Allocates
 * nothing; no state.
 */
#ifndef SP_ELF_PACKAGE_H
#define SP_ELF_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>

enum { SP_PACKAGE_NOTE_BYTES = 4096 };

struct sp_elf;

struct sp_elf_package { /* "" for a missing key; the name is always there */
	char name[128], version[128];
	char arch[32]; /* "x86_64", "amd64" */
	char type[16]; /* "rpm", "deb" */
};

/* The first valid note; -ENOENT: there is none. */
int sp_elf_package(struct sp_elf *e, struct sp_elf_package *ret_package);

/* Parses the content of a note. */
int sp_elf_package_scan(const char *text, size_t len, struct sp_elf_package *ret_package);
/* Whether all strings are NUL-terminated and have allowed characters only: for results of a parser process. */
bool sp_elf_package_valid(const struct sp_elf_package *p);

#endif

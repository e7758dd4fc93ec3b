/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * package.h: the package that a file says it was built for: the ELF package note.
 *
 * Format: systemd's "Package Metadata for Executable Files": a note of owner "FDO" and type 0xcafe1a7e, whose content
 * is one flat JSON object, padded with zeros. Of its keys four are read. The text is what anyone may have written into
 * a file: the object has to be well-formed JSON, without arrays or objects inside and without a key of the four
 * twice, and their values are printable ASCII without spaces or escapes, as all package managers write them; else
 * -EBADMSG, -EFBIG over a cap. Nothing is allocated; no state.
 */
#ifndef SP_ELF_PACKAGE_H
#define SP_ELF_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>

enum { SP_PACKAGE_NOTE_BYTES = 4096 };

struct sp_elf;

struct sp_elf_package { /* "" for what it does not say; the name is always there */
	char name[128], version[128];
	char arch[32]; /* "x86_64", "amd64" */
	char type[16]; /* "rpm", "deb" */
};

/* The first note that makes sense; -ENOENT when there is none. */
int sp_elf_package(struct sp_elf *e, struct sp_elf_package *ret_package);

/* The content of a note. */
int sp_elf_package_scan(const char *text, size_t len, struct sp_elf_package *ret_package);
/* Whether all strings end, and hold nothing but what may be in them: for who gets one from a parser. */
bool sp_elf_package_valid(const struct sp_elf_package *p);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_package.c: any bytes as an ELF package note, and as rpm's header of a package.
 *
 * What is taken of a note is valid, stands in it as it is, and is taken again with space around it; what a header says
 * lies in it.
 */
#include "elf/package.h"
#include "proc/rpm_header.h"
#include "require.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void stands_in(const uint8_t *data, size_t size, const char *word)
{
	require(!*word || memmem(data, size, word, strlen(word)));
}

static void note(const uint8_t *data, size_t size)
{
	struct sp_elf_package p, again;
	char spaced[SP_PACKAGE_NOTE_BYTES];
	if (sp_elf_package_scan((const char *)data, size, &p) < 0)
		return;
	require(sp_elf_package_valid(&p) && p.name[0]);
	stands_in(data, size, p.name);
	stands_in(data, size, p.version);
	stands_in(data, size, p.arch);
	stands_in(data, size, p.type);
	if (size + 1 > sizeof(spaced))
		return;
	spaced[0] = '\n';
	memcpy(spaced + 1, data, size);
	require(sp_elf_package_scan(spaced, size + 1, &again) == 0 && memcmp(&p, &again, sizeof(p)) == 0);
}

/* The string ends inside of the bytes. */
static void lies_in(const uint8_t *data, size_t size, const char *word)
{
	const uint8_t *at = (const uint8_t *)word;
	require(!*word || (at >= data && at < data + size && strlen(word) < size - (size_t)(at - data)));
}

static void header(const uint8_t *data, size_t size)
{
	struct sp_rpm_header h;
	struct sp_rpm_owner o;
	struct sp_rpm_file f;
	if (sp_rpm_header_open(data, size, &h) < 0)
		return;
	if (sp_rpm_header_owner(&h, &o) == 0) {
		require(o.name[0]);
		lies_in(data, size, o.name);
		lies_in(data, size, o.version);
		lies_in(data, size, o.release);
		lies_in(data, size, o.arch);
	}
	for (uint32_t i = 0; i < 8 && sp_rpm_header_file(&h, i, &f) == 0; i++) {
		lies_in(data, size, f.dir);
		lies_in(data, size, f.base);
	}
	(void)sp_rpm_header_file(&h, UINT32_MAX, &f);
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	note(data, size);
	header(data, size);
	return 0;
}

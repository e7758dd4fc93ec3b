/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor_file.h: `soprof doctor --file`: the identity, unwind table and names of one ELF file.
 *
 * doctor_file.c asks workers, the only processes that parse the file; doctor_file_print.c prints. The user named the
 * file, so we open it ourselves, unless it is a pipe or a device. doctor_file.c fills and frees the struct; strings
 * are encoded when printed.
 */
#ifndef SP_CMD_DOCTOR_DOCTOR_FILE_H
#define SP_CMD_DOCTOR_DOCTOR_FILE_H

#include "base/entries.h"
#include "elf/debug.h"
#include "elf/package.h"
#include "symbol/count.h"
#include "unwind/survey.h"
#include <stdio.h>

struct sp_doctor_file {
	const char *given; /* as the user wrote it */
	char *path;        /* where it is */
	uint64_t size;
	struct sp_file_state state;
	uint32_t uid, mode;
	uint8_t build_id[32];
	uint32_t build_id_len;
	char *soname;                    /* NULL = none */
	struct sp_elf_package note;      /* as the file says */
	char *package, *package_version; /* as a database says; NULL = no database knows it */
	struct sp_blob *blob;
	struct sp_blob_survey survey;
	struct sp_symbol_counts counts;
	struct sp_elf_debug debug;
	char *debug_path; /* of its separate debug file; NULL = none */
	char *debug_note; /* why one that is there cannot be used; NULL = nothing */
	uint64_t n_debug; /* symbols of it */
	int cache;        /* sp_cache_look() */
	char *cache_dir;  /* NULL = none */
	int names_cache;  /* sp_entries_peek(): the table of its functions' names */
};

/* Asks for all of it. 0, or a negative errno with sp_error_text() that names the file. */
int sp_doctor_file_read(const char *path, const char *debug_dirs, struct sp_doctor_file *ret_file);
void sp_doctor_file_done(struct sp_doctor_file *f);

int sp_doctor_file_print(const struct sp_doctor_file *f, unsigned width, bool colour, FILE *out);
int sp_doctor_file_print_json(const struct sp_doctor_file *f, FILE *out);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* frame.c: names of frames, and where they are. */
#include "view/priv.h"

#include "base/encode.h"
#include "profile/profile.h"

#include <inttypes.h>
#include <string.h>

uint32_t sp_view_library(const struct sp_profile *p, uint32_t frame)
{
	const struct sp_frame *f = sp_profile_frame(p, frame);

	if (f->func && sp_profile_file(p, f->file)->kind == SP_FILE_KERNEL)
		return sp_profile_func(p, f->func)->file;
	return f->file;
}

void sp_view_put_library(const struct sp_profile *p, uint32_t file, FILE *out)
{
	const struct sp_file *f = sp_profile_file(p, file);

	if (f->kind == SP_FILE_ANON && f->process)
		fprintf(out, "[anon:%" PRIu32 "]", sp_profile_process(p, f->process)->pid);
	else
		sp_encode(out, SP_ENCODE_TERMINAL, sp_profile_string(p, f->name));
}

void sp_view_put_in_library(const struct sp_profile *p, uint32_t file, uint64_t offset, FILE *out)
{
	const char *name = sp_profile_string(p, sp_profile_file(p, file)->name);
	bool bare = *name != '[';

	if (!*name)
		return;
	fputs(bare ? " [" : " ", out);
	sp_view_put_library(p, file, out);
	if (offset)
		fprintf(out, "+0x%" PRIx64, offset);
	fputs(bare ? "]" : "", out);
}

char *sp_view_path(const struct sp_profile *p, uint32_t file)
{
	static const char suffix[] = " (deleted)";
	const struct sp_file *f = sp_profile_file(p, file);
	const char *path = sp_profile_string(p, f->path ? f->path : f->name);
	size_t n = strlen(path), m = strlen(suffix);
	bool says_so = !f->deleted || (n > m && !strcmp(path + n - m, suffix));
	char *text = NULL;

	return asprintf(&text, "%s%s", path, says_so ? "" : suffix) < 0 ? NULL : text;
}

bool sp_view_is_place(const struct sp_profile *p, const char *name, uint32_t file)
{
	const char *library = sp_profile_string(p, sp_profile_file(p, file)->name);
	size_t n = strlen(library);

	return !strncmp(name, library, n) && !strncmp(name + n, "+0x", 3);
}

void sp_view_put_name(const struct sp_profile *p, uint32_t frame, int encoding, FILE *out)
{
	const struct sp_frame *f = sp_profile_frame(p, frame);
	const char *name = sp_profile_string(p, sp_profile_func(p, f->func)->name);

	if (f->func && *name) {
		sp_encode(out, encoding, name);
		return;
	}
	name = sp_profile_string(p, sp_profile_file(p, f->file)->name);
	sp_encode(out, encoding, *name ? name : "[unknown]");
	/* The store keeps no addresses of the kernel. */
	if (f->offset || sp_profile_file(p, f->file)->kind != SP_FILE_KERNEL)
		fprintf(out, "+0x%" PRIx64, f->offset);
}

uint64_t sp_view_address(const struct sp_profile *p, uint32_t frame)
{
	const struct sp_frame *f = sp_profile_frame(p, frame);
	const struct sp_func *func = sp_profile_func(p, f->func);
	const struct sp_file *file = sp_profile_file(p, f->file);

	if (file->kind == SP_FILE_ANON)
		return file->bias + f->offset;
	return f->func && func->vaddr ? func->vaddr + (f->offset - func->start) : f->offset;
}

bool sp_view_distance(const struct sp_profile *p, uint32_t frame, uint64_t *ret_distance)
{
	const struct sp_frame *f = sp_profile_frame(p, frame);
	const struct sp_func *func = sp_profile_func(p, f->func);
	bool is_place = func->is_range && !func->size && f->offset == func->start;

	if (!f->func || is_place || f->offset < func->start || !(func->start || func->vaddr || func->size))
		return false;
	*ret_distance = f->offset - func->start;
	return true;
}

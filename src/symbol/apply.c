/* SPDX-License-Identifier: GPL-2.0-or-later */
/* apply.c: give every frame of a profile its function, file by file. */
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "symbol/priv.h"
#include "symbol/symbol.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LABEL = 512 };

struct open_frame {
	uint32_t file, frame;
	uint64_t offset; /* of a kernel frame: the whole address */
};

/* The frames of one file, sorted by offset, and the distinct offsets among them. */
struct job {
	struct sp_profile *profile;
	uint32_t file;
	const struct open_frame *frames;
	size_t n_frames;
	uint64_t *offsets;
	size_t n_offsets;
};

/* --- what a frame is called when nothing has a name ------------------------------------------------------------- */

static const char *label_of(const struct sp_profile *p, uint32_t number)
{
	const struct sp_file *f = sp_profile_file(p, number);
	if (f->kind == SP_FILE_ANON)
		return "[anon]";
	const char *name = sp_profile_string(p, f->name), *path = sp_profile_string(p, f->path);
	const char *slash = strrchr(path, '/');
	if (*name)
		return name;
	if (slash && slash[1])
		return slash + 1;
	return *path ? path : "[unknown]";
}

/* file+0xADDRESS, or only "[unknown]" where there is no file to be relative to. */
static int64_t range_name(struct sp_profile *p, uint32_t file, uint64_t vaddr)
{
	char text[MAX_LABEL];
	if (!file)
		return sp_profile_add_string(p, "[unknown]");
	snprintf(text, sizeof(text), "%.480s+0x%" PRIx64, label_of(p, file), vaddr);
	return sp_profile_add_string(p, text);
}

static int64_t add_range(struct sp_profile *p, uint32_t file, uint64_t start, uint64_t size, uint64_t vaddr)
{
	int64_t name = range_name(p, file, vaddr);
	if (name < 0)
		return name;
	if (!file) /* one function for all of them */
		start = vaddr = 0;
	const struct sp_func f = {
	    .name = (uint32_t)name, .file = file, .is_range = true, .start = start, .size = size, .vaddr = vaddr};
	return sp_profile_add_func(p, &f);
}

static int64_t add_named(struct sp_profile *p, uint32_t file, const struct sp_name *m)
{
	int64_t name = sp_profile_add_string(p, m->name);
	int64_t linkage = sp_profile_add_string(p, m->linkage_name ? m->linkage_name : m->name);
	if (name < 0 || linkage < 0)
		return name < 0 ? name : linkage;
	const struct sp_func f = {.name = (uint32_t)name,
				  .linkage_name = (uint32_t)linkage,
				  .file = file,
				  .start = m->start,
				  .size = m->size,
				  .vaddr = m->vaddr};
	return sp_profile_add_func(p, &f);
}

/* --- from answers to frames ------------------------------------------------------------------------------------- */

static int64_t add_func(const struct job *j, uint64_t offset, const struct sp_name *m)
{
	struct sp_profile *p = j->profile;
	if (m && m->name && *m->name)
		return add_named(p, j->file, m);
	if (m && m->size)
		return add_range(p, j->file, m->start, m->size, m->vaddr ? m->vaddr : m->start);
	uint64_t bias = sp_profile_file(p, j->file)->kind == SP_FILE_ANON ? sp_profile_file(p, j->file)->bias : 0;
	return add_range(p, j->file, offset, 0, m && m->vaddr ? m->vaddr : bias + offset);
}

/* funcs[i] belongs to offsets[i]. */
static void set_funcs(const struct job *j, const uint32_t *funcs)
{
	size_t at = 0;
	for (size_t i = 0; i < j->n_frames; i++) {
		while (j->offsets[at] != j->frames[i].offset)
			at++;
		sp_profile_frame(j->profile, j->frames[i].frame)->func = funcs[at];
	}
}

static int apply_names(const struct job *j, const struct sp_name *names)
{
	uint32_t *funcs SP_FREE = calloc(j->n_offsets, sizeof(*funcs));
	if (!funcs)
		return -ENOMEM;
	for (size_t i = 0; i < j->n_offsets; i++) {
		int64_t func = add_func(j, j->offsets[i], names ? &names[i] : NULL);
		if (func < 0)
			return (int)func;
		funcs[i] = (uint32_t)func;
	}
	set_funcs(j, funcs);
	return 0;
}

/* Failures cost names only; why, stands in the file's note. Who could not open it has said why: this is a consequence.
 */
static int note_failure(const struct job *j, int r)
{
	bool is_noted = sp_profile_file(j->profile, j->file)->note;
	int64_t note = is_noted ? 0 : sp_profile_add_string(j->profile, sp_error_text(r));
	sp_error_clear();
	if (is_noted)
		return 0;
	if (note < 0)
		return (int)note;
	sp_profile_file(j->profile, j->file)->note = (uint32_t)note;
	return 0;
}

/* --- ELF files -------------------------------------------------------------------------------------------------- */

/*
 * A caller's offset is its return address less one. Where no function holds it but one begins right behind, no call led
 * there: somebody put the function's start where a return address is wanted (makecontext), and it is that function. A
 * gap that merely begins behind another is no such function.
 */
static bool may_be_made_up(const struct sp_name *m, uint64_t offset)
{
	return !m->size || (m->is_gap && m->size - (offset - m->start) == 1);
}

static bool begins_at(const struct sp_name *m, uint64_t offset)
{
	return m->size && m->start == offset && !m->is_gap;
}

static int name_made_up(const struct job *j, const struct sp_resolver *resolver, struct sp_name *names)
{
	uint64_t *behind SP_FREE = calloc(j->n_offsets, sizeof(*behind));
	struct sp_name *found SP_FREE = calloc(j->n_offsets, sizeof(*found));
	size_t n = 0, k = 0;
	if (!behind || !found)
		return -ENOMEM;
	for (size_t i = 0; i < j->n_offsets; i++)
		if (may_be_made_up(&names[i], j->offsets[i]))
			behind[n++] = j->offsets[i] + 1;
	if (!n || resolver->resolve(resolver->arg, j->file, behind, n, found)) {
		sp_error_clear();
		return 0;
	}
	for (size_t i = 0; i < j->n_offsets; i++) {
		if (!may_be_made_up(&names[i], j->offsets[i]))
			continue;
		if (begins_at(&found[k], behind[k])) {
			names[i] = found[k];
			found[k] = (struct sp_name){0};
		}
		k++;
	}
	sp_names_done(found, n);
	return 0;
}

static int apply_elf(const struct job *j, const struct sp_resolver *resolver)
{
	struct sp_name *names SP_FREE = calloc(j->n_offsets, sizeof(*names));
	if (!names)
		return -ENOMEM;
	int r = resolver->resolve(resolver->arg, j->file, j->offsets, j->n_offsets, names);
	int noted = r ? note_failure(j, r) : name_made_up(j, resolver, names);
	int applied = apply_names(j, r ? NULL : names);
	sp_names_done(names, j->n_offsets);
	return noted ? noted : applied;
}

/* Code that a program made while it ran: named where the program wrote down what it made, which few do. */
static int apply_made(const struct job *j, const struct sp_resolver *resolver)
{
	struct sp_name *names SP_FREE = calloc(j->n_offsets, sizeof(*names));
	if (!names)
		return -ENOMEM;
	int r = resolver->resolve(resolver->arg, j->file, j->offsets, j->n_offsets, names), noted = 0;
	if (r == -ENOENT)
		sp_error_clear();
	else if (r)
		noted = note_failure(j, r);
	int applied = apply_names(j, r ? NULL : names);
	sp_names_done(names, j->n_offsets);
	return noted ? noted : applied;
}

/* --- the kernel ------------------------------------------------------------------------------------------------- */

static int64_t module_file(const struct job *j, const char *module)
{
	if (!module)
		return j->file;
	int64_t name = sp_profile_add_string(j->profile, module);
	if (name < 0)
		return name;
	const uint64_t tag = sp_hash_bytes(module, strlen(module), 0) | 1ull << 63;
	const struct sp_file f = {.kind = SP_FILE_KERNEL, .name = (uint32_t)name, .tag = tag};
	return sp_profile_add_file(j->profile, &f);
}

static int64_t add_kernel_func(const struct job *j, const struct sp_kernel_name *k)
{
	int64_t file = k->name ? module_file(j, k->module) : j->file;
	if (file < 0)
		return file;
	if (!k->name)
		return add_range(j->profile, (uint32_t)file, k->address, 0, k->address);
	char *name SP_FREE = sp_demangle(k->name); /* Rust modules */
	if (!name)
		return -ENOMEM;
	const struct sp_name m = {
	    .name = name, .linkage_name = k->name, .start = k->start, .size = k->size, .vaddr = k->start};
	return add_named(j->profile, (uint32_t)file, &m);
}

/* A function of the kernel that has its name already, so that the file need not be read for it again. */
struct known {
	uint64_t start, end;
	uint32_t func;
};

/* Programs of BPF come and go, and others take their addresses. */
static bool is_lasting(const struct sp_profile *p, const struct sp_func *f)
{
	const struct sp_file *file = sp_profile_file(p, f->file);
	return file->kind == SP_FILE_KERNEL && !f->is_range && f->size &&
	       strcmp(sp_profile_string(p, file->name), "[bpf]") != 0;
}

static int by_start(const void *a, const void *b)
{
	const struct known *x = a, *y = b;
	return (x->start > y->start) - (x->start < y->start);
}

static int collect_known(const struct sp_profile *p, struct known **ret_known, size_t *ret_n)
{
	uint32_t n_funcs = sp_profile_n_funcs(p);
	struct known *known = calloc(n_funcs, sizeof(*known));
	size_t n = 0;
	if (!known)
		return -ENOMEM;
	for (uint32_t i = 1; i < n_funcs; i++) {
		const struct sp_func *f = sp_profile_func(p, i);
		if (is_lasting(p, f))
			known[n++] = (struct known){f->start, f->start + f->size, i};
	}
	qsort(known, n, sizeof(*known), by_start);
	*ret_known = known;
	*ret_n = n;
	return 0;
}

/* 0 = not known. */
static uint32_t find_known(const struct known *known, size_t n, uint64_t address)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (known[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < known[low - 1].end ? known[low - 1].func : 0;
}

static int read_names(FILE *kallsyms, struct sp_kernel_name *names, size_t n)
{
	FILE *ours SP_FCLOSE = kallsyms ? NULL : fopen("/proc/kallsyms", "re");
	if (!kallsyms && !ours)
		return sp_fail(-errno, "open /proc/kallsyms");
	if (kallsyms)
		rewind(kallsyms);
	return sp_kallsyms_find(kallsyms ? kallsyms : ours, names, n);
}

/* funcs[i] of offsets[i] is made where it is 0. */
static int add_kernel_funcs(const struct job *j, const struct sp_kernel_name *names, uint32_t *funcs)
{
	for (size_t i = 0, k = 0; i < j->n_offsets; i++) {
		int64_t func = funcs[i] ? 0 : add_kernel_func(j, &names[k++]);
		if (func < 0)
			return (int)func;
		funcs[i] = funcs[i] ? funcs[i] : (uint32_t)func;
	}
	set_funcs(j, funcs);
	return 0;
}

static int apply_kernel(const struct job *j, FILE *kallsyms)
{
	struct sp_kernel_name *names SP_FREE = calloc(j->n_offsets, sizeof(*names));
	uint32_t *funcs SP_FREE = calloc(j->n_offsets, sizeof(*funcs));
	struct known *known SP_FREE = NULL;
	size_t n_known = 0, n = 0;
	if (!names || !funcs || collect_known(j->profile, &known, &n_known) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < j->n_offsets; i++) {
		funcs[i] = find_known(known, n_known, j->offsets[i]);
		if (!funcs[i])
			names[n++].address = j->offsets[i];
	}
	int r = n ? read_names(kallsyms, names, n) : 0;
	int noted = r ? note_failure(j, r) : 0;
	int applied = add_kernel_funcs(j, names, funcs);
	sp_kallsyms_done(names, n);
	return noted ? noted : applied;
}

/* --- the profile ------------------------------------------------------------------------------------------------ */

static int by_file(const void *a, const void *b)
{
	const struct open_frame *x = a, *y = b;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

/* A frame word keeps 60 bits of a kernel address; kernel addresses have all high bits set. */
static uint64_t whole_address(uint64_t address)
{
	return address >> 59 & 1 ? address | 0xfull << 60 : address;
}

static int collect(const struct sp_profile *p, struct open_frame **ret_frames, size_t *ret_n)
{
	uint32_t n_frames = sp_profile_n_frames(p);
	struct open_frame *frames = calloc(n_frames, sizeof(*frames));
	size_t n = 0;
	if (!frames)
		return -ENOMEM;
	for (uint32_t i = 1; i < n_frames; i++) {
		const struct sp_frame *f = sp_profile_frame(p, i);
		bool kernel = sp_profile_file(p, f->file)->kind == SP_FILE_KERNEL;
		if (!f->func)
			frames[n++] = (struct open_frame){f->file, i, kernel ? whole_address(f->offset) : f->offset};
	}
	qsort(frames, n, sizeof(*frames), by_file);
	*ret_frames = frames;
	*ret_n = n;
	return 0;
}

static int apply_job(struct job *j, const struct sp_resolver *resolver, FILE *kallsyms)
{
	uint64_t *offsets SP_FREE = calloc(j->n_frames, sizeof(*offsets));
	if (!offsets)
		return -ENOMEM;
	j->offsets = offsets;
	for (size_t i = 0; i < j->n_frames; i++)
		if (!i || j->frames[i].offset != j->frames[i - 1].offset)
			offsets[j->n_offsets++] = j->frames[i].offset;
	uint8_t kind = sp_profile_file(j->profile, j->file)->kind;
	if (j->file && kind == SP_FILE_KERNEL)
		return apply_kernel(j, kallsyms);
	if (j->file && resolver && (kind == SP_FILE_ELF || kind == SP_FILE_VDSO))
		return apply_elf(j, resolver);
	if (j->file && resolver && kind == SP_FILE_ANON)
		return apply_made(j, resolver);
	return apply_names(j, NULL);
}

int sp_symbol_apply(struct sp_profile *p, const struct sp_resolver *resolver, FILE *kallsyms)
{
	struct open_frame *frames SP_FREE = NULL;
	size_t n = 0;
	int r = collect(p, &frames, &n);
	for (size_t i = 0, end; !r && i < n; i = end) {
		for (end = i + 1; end < n && frames[end].file == frames[i].file;)
			end++;
		struct job j = {.profile = p, .file = frames[i].file, .frames = frames + i, .n_frames = end - i};
		r = apply_job(&j, resolver, kallsyms);
	}
	return r ? sp_fail(r, "name the frames") : 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* apply.c: give every frame of a profile its function, file by file. */
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "profile/identity.h"
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
	struct sp_known *known; /* NULL: nobody will ask again */
	uint32_t file;
	const struct open_frame *frames;
	size_t n_frames;
	uint64_t *offsets;
	size_t n_offsets;
};

/* --- what a frame is called when nothing has a name --- */

static const char *label_of(const struct sp_profile *p, uint32_t file)
{
	return sp_profile_file(p, file)->kind == SP_FILE_ANON ? "[anon]" : sp_library_name(p, file);
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

/* --- from answers to frames --- */

static int64_t apply_add_func(const struct job *j, uint64_t offset, const struct sp_name *m)
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

/* The last byte of a gap may turn out to be no part of it (see below). */
static int know(const struct job *j, size_t i, const struct sp_name *m, uint32_t func)
{
	if (!j->known || !m || j->offsets[i] < m->from || j->offsets[i] >= m->to)
		return 0;
	return sp_known_add(j->known, j->file, m->from, m->to - m->is_gap, func);
}

static int apply_names(const struct job *j, const struct sp_name *names)
{
	uint32_t *funcs SP_FREE = calloc(j->n_offsets, sizeof(*funcs));
	if (!funcs)
		return -ENOMEM;
	for (size_t i = 0; i < j->n_offsets; i++) {
		const struct sp_name *m = names ? &names[i] : NULL;
		int64_t func = apply_add_func(j, j->offsets[i], m);
		int r = func < 0 ? (int)func : know(j, i, m, (uint32_t)func);
		if (r < 0)
			return r;
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

/* --- ELF files --- */

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

/* Of a namer's: it will ask again. */
static bool is_put_off(const struct job *j, int r)
{
	return r == -EAGAIN && j->known;
}

static int apply_elf(const struct job *j, const struct sp_resolver *resolver)
{
	struct sp_name *names SP_FREE = calloc(j->n_offsets, sizeof(*names));
	if (!names)
		return -ENOMEM;
	int r = resolver->resolve(resolver->arg, j->file, j->offsets, j->n_offsets, names);
	if (is_put_off(j, r))
		return r;
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
	if (is_put_off(j, r))
		return r;
	if (r == -ENOENT)
		sp_error_clear();
	else if (r)
		noted = note_failure(j, r);
	int applied = apply_names(j, r ? NULL : names);
	sp_names_done(names, j->n_offsets);
	return noted ? noted : applied;
}

/* --- the kernel --- */

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

static int apply_kernel_names(const struct job *j, const struct sp_kernel_name *names)
{
	uint32_t *funcs SP_FREE = calloc(j->n_offsets, sizeof(*funcs));
	if (!funcs)
		return -ENOMEM;
	for (size_t i = 0; i < j->n_offsets; i++) {
		int64_t func = add_kernel_func(j, &names[i]);
		if (func < 0)
			return (int)func;
		funcs[i] = (uint32_t)func;
	}
	set_funcs(j, funcs);
	return 0;
}

static int kernel_names(FILE *kallsyms, struct sp_kernel_name *names, size_t n)
{
	FILE *ours SP_FCLOSE = kallsyms ? NULL : fopen("/proc/kallsyms", "re");
	if (!kallsyms && !ours)
		return sp_fail(-errno, "open /proc/kallsyms");
	if (kallsyms)
		rewind(kallsyms);
	return sp_kallsyms_find(kallsyms ? kallsyms : ours, names, n);
}

/* As the resolver has them: a name may be followed by a tab and its module. Cuts the name. */
static int64_t add_told_kernel_func(const struct job *j, uint64_t address, struct sp_name *m)
{
	char *tab = m->name ? strchr(m->name, '\t') : NULL;
	if (!m->name)
		return add_range(j->profile, j->file, address, 0, address);
	if (tab)
		*tab = 0;
	int64_t file = module_file(j, tab ? tab + 1 : NULL);
	return file < 0 ? file : add_named(j->profile, (uint32_t)file, m);
}

/* Programs of BPF come and go, and others take their addresses. */
static bool is_lasting(const struct job *j, int64_t func)
{
	const struct sp_func *f = sp_profile_func(j->profile, (uint32_t)func);
	return strcmp(sp_profile_string(j->profile, sp_profile_file(j->profile, f->file)->name), "[bpf]") != 0;
}

static int apply_told_kernel_names(const struct job *j, struct sp_name *names)
{
	uint32_t *funcs SP_FREE = calloc(j->n_offsets, sizeof(*funcs));
	if (!funcs)
		return -ENOMEM;
	for (size_t i = 0; i < j->n_offsets; i++) {
		int64_t func = add_told_kernel_func(j, j->offsets[i], &names[i]);
		int r = func < 0 ? (int)func : is_lasting(j, func) ? know(j, i, &names[i], (uint32_t)func) : 0;
		if (r < 0)
			return r;
		funcs[i] = (uint32_t)func;
	}
	set_funcs(j, funcs);
	return 0;
}

static int apply_kernel_by(const struct job *j, const struct sp_resolver *resolver)
{
	struct sp_name *names SP_FREE = calloc(j->n_offsets, sizeof(*names));
	if (!names)
		return -ENOMEM;
	int r = resolver->kernel(resolver->arg, j->offsets, j->n_offsets, names);
	int noted = r ? note_failure(j, r) : 0;
	int applied = apply_told_kernel_names(j, names);
	sp_names_done(names, j->n_offsets);
	return noted ? noted : applied;
}

static int apply_kernel(const struct job *j, FILE *kallsyms)
{
	struct sp_kernel_name *names SP_FREE = calloc(j->n_offsets, sizeof(*names));
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < j->n_offsets; i++)
		names[i].address = j->offsets[i];
	int r = kernel_names(kallsyms, names, j->n_offsets);
	int noted = r ? note_failure(j, r) : 0;
	int applied = apply_kernel_names(j, names);
	sp_kallsyms_done(names, j->n_offsets);
	return noted ? noted : applied;
}

/* --- the profile --- */

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

static uint64_t offset_of(const struct sp_profile *p, const struct sp_frame *f)
{
	bool kernel = sp_profile_file(p, f->file)->kind == SP_FILE_KERNEL;
	return kernel ? whole_address(f->offset) : f->offset;
}

static void collect_one(const struct sp_profile *p, const struct sp_known *known, uint32_t frame,
			struct open_frame *frames, size_t *n)
{
	struct sp_frame *f = sp_profile_frame(p, frame);
	uint64_t offset = offset_of(p, f);
	if (!f->func && known)
		f->func = sp_known_find(known, f->file, offset);
	if (!f->func)
		frames[(*n)++] = (struct open_frame){f->file, frame, offset};
}

/* Of the new frames, and those that wait, those that have no function yet, and do not lie in one that is known. */
static int collect(const struct sp_profile *p, const struct sp_namer *namer, struct open_frame **ret_frames,
		   size_t *ret_n)
{
	uint32_t n_frames = sp_profile_n_frames(p), first = SP_MAX(namer->n_frames, 1);
	struct open_frame *frames = calloc(n_frames - first + namer->n_later + 1, sizeof(*frames));
	size_t n = 0;
	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; i < namer->n_later; i++)
		collect_one(p, namer->known, namer->later[i], frames, &n);
	for (uint32_t i = first; i < n_frames; i++)
		collect_one(p, namer->known, i, frames, &n);
	if (n)
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
		return resolver && resolver->kernel ? apply_kernel_by(j, resolver) : apply_kernel(j, kallsyms);
	if (j->file && resolver && (kind == SP_FILE_ELF || kind == SP_FILE_VDSO))
		return apply_elf(j, resolver);
	if (j->file && resolver && kind == SP_FILE_ANON)
		return apply_made(j, resolver);
	return apply_names(j, NULL);
}

/* There is room for them: never more than were collected. */
static void put_off(struct sp_namer *namer, const struct job *j)
{
	sp_error_clear();
	for (size_t i = 0; i < j->n_frames; i++)
		namer->later[namer->n_later++] = j->frames[i].frame;
	namer->n_later_files++;
}

static int apply_from(struct sp_profile *p, struct sp_namer *namer, const struct sp_resolver *resolver, FILE *kallsyms)
{
	struct open_frame *frames SP_FREE = NULL;
	size_t n = 0;
	int r = collect(p, namer, &frames, &n);
	if (r == 0)
		r = sp_grow(&namer->later, &namer->later_capacity, namer->known ? n : 0, sizeof(*namer->later));
	if (r == 0)
		namer->n_later = namer->n_later_files = 0;
	for (size_t i = 0, end; !r && i < n; i = end) {
		for (end = i + 1; end < n && frames[end].file == frames[i].file;)
			end++;
		struct job j = {.profile = p,
				.known = namer->known,
				.file = frames[i].file,
				.frames = frames + i,
				.n_frames = end - i};
		r = apply_job(&j, resolver, kallsyms);
		if (is_put_off(&j, r)) {
			put_off(namer, &j);
			r = 0;
		}
	}
	return r ? sp_fail(r, "name the frames") : 0;
}

int sp_symbol_apply(struct sp_profile *p, const struct sp_resolver *resolver, FILE *kallsyms)
{
	struct sp_namer all = {0};
	return apply_from(p, &all, resolver, kallsyms);
}

/* --- again and again --- */

int sp_namer_apply(struct sp_namer *n, struct sp_profile *p, const struct sp_resolver *resolver)
{
	int r = n->known ? 0 : sp_known_new(&n->known);
	uint32_t n_frames = sp_profile_n_frames(p); /* it may grow meanwhile */
	if (r == 0)
		r = apply_from(p, n, resolver, NULL);
	if (r == 0)
		n->n_frames = n_frames;
	return r;
}

void sp_namer_done(struct sp_namer *n)
{
	sp_known_free(n->known);
	free(n->later);
	*n = (struct sp_namer){0};
}

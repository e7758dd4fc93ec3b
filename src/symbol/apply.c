/* SPDX-License-Identifier: GPL-2.0-or-later */
/* apply.c: give every frame of a profile its function, file by file. */
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "profile/identity.h"
#include "profile/profile.h"
#include "symbol/frame_place.h"
#include "symbol/priv.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LABEL = 512 };

/* The frames of one file, sorted by offset, the distinct offsets among them, and what they are called. */
struct job {
	struct sp_profile *profile;
	struct sp_known *known;
	uint32_t file;
	bool shortens_names;
	const struct sp_frame_place *frames;
	size_t n_frames;
	uint64_t *offsets;
	size_t n_offsets;
	struct sp_name *names;
	/* A second question about the same file: what begins at offset + 1 of some frames? NULL: not asked. */
	uint64_t *behind;
	size_t n_behind;
	struct sp_name *found;
};

/* One round of naming: the frames that were new when it began. */
struct sp_namer_round {
	struct sp_frame_place *frames;
	size_t n, at; /* the first frame that no job has taken yet */
	uint32_t n_frames;
	size_t n_waited, n_again; /* frames that were put off before; and were so again */
	struct job job;
};

static uint8_t kind_of(const struct job *j)
{
	return sp_profile_file(j->profile, j->file)->kind;
}

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

static int64_t add_name(const struct job *j, const char *name)
{
	SP_FREE char *text = NULL;

	if (!j->shortens_names || strlen(name) <= SP_NAME_SHORT)
		return sp_profile_add_string(j->profile, name);
	text = strdup(name);
	if (!text)
		return -ENOMEM;
	sp_name_shorten(text, SP_NAME_SHORT);
	return sp_profile_add_string(j->profile, text);
}

static int64_t add_named(const struct job *j, uint32_t file, const struct sp_name *m)
{
	struct sp_profile *p = j->profile;
	int64_t name = add_name(j, m->name);
	int64_t linkage = add_name(j, m->linkage_name ? m->linkage_name : m->name);
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
	if (m->name && *m->name)
		return add_named(j, j->file, m);
	if (m->size)
		return add_range(p, j->file, m->start, m->size, m->vaddr ? m->vaddr : m->start);
	uint64_t bias = kind_of(j) == SP_FILE_ANON ? sp_profile_file(p, j->file)->bias : 0;
	return add_range(p, j->file, offset, 0, m->vaddr ? m->vaddr : bias + offset);
}

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

/*
 * One function for all of them: names are read by those who may not know where the kernel lies, and the kernel hides
 * the symbols that an offset could count from.
 */
static int64_t add_unnamed_kernel(const struct job *j)
{
	int64_t name = sp_profile_add_string(j->profile, label_of(j->profile, j->file));
	const struct sp_func f = {.name = (uint32_t)SP_MAX(name, 0), .file = j->file, .is_range = true};
	return name < 0 ? name : sp_profile_add_func(j->profile, &f);
}

/* A kernel name may be followed by a tab and its module; it is cut at the tab. */
static int64_t add_kernel_func(const struct job *j, struct sp_name *m)
{
	char *tab = m->name ? strchr(m->name, '\t') : NULL;
	if (!m->name)
		return add_unnamed_kernel(j);
	if (tab)
		*tab = 0;
	int64_t file = module_file(j, tab ? tab + 1 : NULL);
	return file < 0 ? file : add_named(j, (uint32_t)file, m);
}

/* BPF programs are unloaded and others get their addresses, so their names are not kept for later frames. */
static bool is_lasting(const struct job *j, int64_t func)
{
	const struct sp_func *f = sp_profile_func(j->profile, (uint32_t)func);
	return kind_of(j) != SP_FILE_KERNEL ||
	       strcmp(sp_profile_string(j->profile, sp_profile_file(j->profile, f->file)->name), "[bpf]") != 0;
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

/* The last byte of a gap is left out: the second question (below) may find another answer for it. */
static int know(const struct job *j, size_t i, const struct sp_name *m, uint32_t func)
{
	if (j->offsets[i] < m->from || j->offsets[i] >= m->to)
		return 0;
	return sp_known_add(j->known, j->file, m->from, m->to - m->is_gap, func);
}

static int apply(const struct job *j)
{
	uint32_t *funcs SP_FREE = calloc(j->n_offsets, sizeof(*funcs));
	if (!funcs)
		return -ENOMEM;
	for (size_t i = 0; i < j->n_offsets; i++) {
		struct sp_name *m = &j->names[i];
		bool is_kernel = kind_of(j) == SP_FILE_KERNEL;
		int64_t func = is_kernel ? add_kernel_func(j, m) : apply_add_func(j, j->offsets[i], m);
		int r = func < 0 ? (int)func : is_lasting(j, func) ? know(j, i, m, (uint32_t)func) : 0;
		if (r < 0)
			return r;
		funcs[i] = (uint32_t)func;
	}
	set_funcs(j, funcs);
	return 0;
}

/*
 * A failure costs names only; the file's note says why. An earlier note (the file could not be opened) is the cause and
 * stays. Most programs that make code publish no names for it, which is worth no note.
 */
static int note_failure(const struct job *j, int r)
{
	bool is_noted = sp_profile_file(j->profile, j->file)->note || (kind_of(j) == SP_FILE_ANON && r == -ENOENT);
	int64_t note = is_noted ? 0 : sp_profile_add_string(j->profile, sp_error_text(r));
	sp_error_clear();
	sp_names_done(j->names, j->n_offsets);
	if (is_noted)
		return 0;
	if (note < 0)
		return (int)note;
	sp_profile_file(j->profile, j->file)->note = (uint32_t)note;
	return 0;
}

/* --- what is only behind an offset --- */

/*
 * A caller's offset is its return address less one. If no function holds that offset but one begins right behind it, no
 * call led there: makecontext, for one, puts a function's start on the stack as a return address. Then the frame is in
 * that function. A gap that begins there does not count.
 */
static bool may_be_made_up(const struct sp_name *m, uint64_t offset)
{
	return !m->size || (m->is_gap && m->size - (offset - m->start) == 1);
}

static bool begins_at(const struct sp_name *m, uint64_t offset)
{
	return m->size && m->start == offset && !m->is_gap;
}

/* Prepares the second question; behind stays NULL if there is none. */
static int look_behind(struct job *j)
{
	uint64_t *behind SP_FREE = calloc(j->n_offsets, sizeof(*behind));
	size_t n = 0;
	if (!behind)
		return -ENOMEM;
	for (size_t i = 0; i < j->n_offsets; i++)
		if (may_be_made_up(&j->names[i], j->offsets[i]))
			behind[n++] = j->offsets[i] + 1;
	if (!n)
		return 0;
	j->found = calloc(n, sizeof(*j->found));
	if (!j->found)
		return -ENOMEM;
	j->n_behind = n;
	j->behind = sp_take_ptr(behind);
	return 0;
}

static void take_behind(struct job *j)
{
	for (size_t i = 0, k = 0; i < j->n_offsets; i++) {
		if (!may_be_made_up(&j->names[i], j->offsets[i]))
			continue;
		if (begins_at(&j->found[k], j->behind[k])) {
			j->names[i] = j->found[k];
			j->found[k] = (struct sp_name){0};
		}
		k++;
	}
}

/* --- the profile --- */

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
			struct sp_frame_place *frames, size_t *n)
{
	struct sp_frame *f = sp_profile_frame(p, frame);
	uint64_t offset = offset_of(p, f);
	if (!f->func && known)
		f->func = sp_known_find(known, f->file, offset);
	if (!f->func)
		frames[(*n)++] = (struct sp_frame_place){f->file, frame, offset};
}

/* Collects the frames, new or put off, that have no function and do not lie in a known one. */
static int collect(const struct sp_profile *p, const struct sp_namer *namer, struct sp_namer_round *o)
{
	uint32_t n_frames = sp_profile_n_frames(p), first = SP_MAX(namer->n_frames, 1);
	size_t n_waited = namer->n_rests ? 0 : namer->n_later;
	o->frames = calloc(n_frames - first + n_waited + 1, sizeof(*o->frames));
	if (!o->frames)
		return -ENOMEM;
	for (size_t i = 0; i < n_waited; i++)
		collect_one(p, namer->known, namer->later[i], o->frames, &o->n);
	for (uint32_t i = first; i < n_frames; i++)
		collect_one(p, namer->known, i, o->frames, &o->n);
	sp_frame_places_sort(o->frames, o->n);
	o->n_frames = n_frames; /* more may come before the last answer */
	o->n_waited = n_waited;
	return 0;
}

static void job_done(struct job *j)
{
	if (j->names)
		sp_names_done(j->names, j->n_offsets);
	if (j->found)
		sp_names_done(j->found, j->n_behind);
	free(j->offsets);
	free(j->names);
	free(j->behind);
	free(j->found);
	*j = (struct job){0};
}

/* The job of the next file. */
static int job_begin(struct sp_namer *n)
{
	struct sp_namer_round *o = n->round;
	struct job *j = &o->job;
	size_t end = o->at + 1;
	while (end < o->n && o->frames[end].file == o->frames[o->at].file)
		end++;
	*j = (struct job){.profile = n->profile,
			  .known = n->known,
			  .file = o->frames[o->at].file,
			  .shortens_names = n->shortens_names,
			  .frames = o->frames + o->at,
			  .n_frames = end - o->at};
	o->at = end;
	j->offsets = calloc(j->n_frames, sizeof(*j->offsets));
	j->names = calloc(j->n_frames, sizeof(*j->names));
	if (!j->offsets || !j->names)
		return -ENOMEM;
	for (size_t i = 0; i < j->n_frames; i++)
		if (!i || j->frames[i].offset != j->frames[i - 1].offset)
			j->offsets[j->n_offsets++] = j->frames[i].offset;
	return 0;
}

/* For other kinds of file nobody knows more than the profile itself. */
static bool is_question(const struct job *j)
{
	uint8_t kind = kind_of(j);
	return kind == SP_FILE_ELF || kind == SP_FILE_VDSO || kind == SP_FILE_ANON || kind == SP_FILE_KERNEL;
}

static struct sp_name_question question_of(const struct job *j)
{
	if (j->behind)
		return (struct sp_name_question){j->file, j->behind, j->n_behind, j->found};
	return (struct sp_name_question){j->file, j->offsets, j->n_offsets, j->names};
}

/* n->later has room: no more frames are put off than were collected. */
static void put_off(struct sp_namer *n, const struct job *j)
{
	sp_error_clear();
	for (size_t i = 0; i < j->n_frames; i++) {
		n->later[n->n_later++] = j->frames[i].frame;
		n->round->n_again += j->frames[i].frame < n->n_frames;
	}
	n->n_later_files += !n->is_later[j->file];
	n->is_later[j->file] = true;
}

/* --- question by question --- */

static void round_free(struct sp_namer *n)
{
	if (!n->round)
		return;
	job_done(&n->round->job);
	free(n->round->frames);
	free(sp_take_ptr(n->round));
}

/* Room for what is put off in this round, beside what stays so. */
static int later_begin(struct sp_namer *n)
{
	size_t n_stay = n->n_rests ? n->n_later : 0;
	int r = sp_grow(&n->is_later, &n->n_is_later, sp_profile_n_files(n->profile), sizeof(*n->is_later));
	r = r < 0 ? r : sp_grow(&n->later, &n->later_capacity, n_stay + n->round->n, sizeof(*n->later));
	if (r < 0 || n->n_rests)
		return r;
	n->n_later = n->n_later_files = 0;
	memset(n->is_later, 0, n->n_is_later);
	return 0;
}

/* What a budget lets through is as much when it is asked for less often, but costs less. */
static void later_end(struct sp_namer *n)
{
	const struct sp_namer_round *o = n->round;
	bool in_vain = o->n_waited && o->n_again * 8 >= o->n_waited * 7;
	if (n->n_rests)
		n->n_rests--;
	else
		n->n_rests = n->rest = in_vain ? SP_MIN(SP_MAX(2 * n->rest, 1), SP_NAMER_MAX_REST) : 0;
}

int sp_namer_begin(struct sp_namer *n, struct sp_profile *p)
{
	round_free(n);
	n->profile = p;
	n->round = calloc(1, sizeof(*n->round));
	int r = !n->round ? -ENOMEM : n->known ? 0 : sp_known_new(&n->known);
	if (r == 0)
		r = collect(p, n, n->round);
	if (r == 0)
		r = later_begin(n);
	return r < 0 ? sp_fail(r, "name the frames") : 0;
}

int sp_namer_next(struct sp_namer *n, struct sp_name_question *ret_question)
{
	struct sp_namer_round *o = n->round;
	bool is_asked = o->job.behind;
	int r = 0;
	while (r == 0 && !is_asked && o->at < o->n) {
		r = job_begin(n);
		is_asked = r == 0 && is_question(&o->job);
		if (r == 0 && !is_asked)
			r = apply(&o->job);
		if (!is_asked)
			job_done(&o->job);
	}
	if (is_asked) {
		*ret_question = question_of(&o->job);
		return 1;
	}
	if (r == 0) {
		n->n_frames = o->n_frames;
		later_end(n);
	}
	round_free(n);
	return r < 0 ? sp_fail(r, "name the frames") : 0;
}

int sp_namer_answer(struct sp_namer *n, int answer)
{
	struct job *j = &n->round->job;
	bool is_file = kind_of(j) == SP_FILE_ELF || kind_of(j) == SP_FILE_VDSO, is_second = j->behind;
	int r = 0;
	if (is_second && answer == 0)
		take_behind(j);
	else if (is_second)
		sp_error_clear();
	else if (answer == -EAGAIN)
		put_off(n, j);
	else if (answer < 0)
		r = note_failure(j, answer);
	else if (is_file)
		r = look_behind(j);
	if (r == 0 && j->behind && !is_second)
		return 0;
	if (r == 0 && (is_second || answer != -EAGAIN))
		r = apply(j);
	job_done(j);
	return r < 0 ? sp_fail(r, "name the frames") : 0;
}

void sp_namer_done(struct sp_namer *n)
{
	round_free(n);
	sp_known_free(n->known);
	free(n->later);
	free(n->is_later);
	*n = (struct sp_namer){0};
}

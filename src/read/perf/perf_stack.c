/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "read/perf/perf_stack.h"

#include "base/encode.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/parse.h"
#include "profile/profile.h"
#include "read/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Larger user addresses are a process's: no file is so long, and no library is mapped so low. */
#define FILE_OFFSETS (UINT64_C(1) << 40)
enum { UNKNOWN_NAME_MAX = 512, NEIGHBOURS = 256 }; /* NEIGHBOURS: frames searched for the library of one without */

struct line {
	uint64_t address;       /* as in the text: inlined frames are recognised by it */
	uint64_t offset, start; /* offset in the file, and the function's start, 0 if not known */
	uint32_t name;          /* string; 0 = unknown */
	uint32_t file, of;      /* of the frame, of its function */
	uint32_t frame;         /* 0: the library comes from a neighbouring frame */
	bool is_kernel;
};

struct halves {
	uint32_t user, kernel;
};

struct sp_perf_stacks {
	struct sp_profile *p;
	struct sp_intern *line_texts, *stack_lines, *functions; /* {file, name} */
	struct line *lines;
	size_t line_capacity;
	struct halves *stacks;
	size_t stack_capacity;
	uint64_t *starts; /* of functions */
	size_t start_capacity;
	uint32_t *scratch;
	size_t scratch_capacity;
	char *text;
	size_t text_capacity;
};

int sp_perf_stacks_new(struct sp_profile *p, struct sp_perf_stacks **ret_stacks)
{
	struct sp_perf_stacks *s = calloc(1, sizeof(*s));

	if (!s || sp_intern_new(&s->line_texts) < 0 || sp_intern_new(&s->stack_lines) < 0 ||
	    sp_intern_new(&s->functions) < 0) {
		sp_perf_stacks_free(s);
		return -ENOMEM;
	}
	s->p = p;
	*ret_stacks = s;
	return 0;
}

void sp_perf_stacks_free(struct sp_perf_stacks *s)
{
	if (!s)
		return;
	sp_intern_free(s->line_texts);
	sp_intern_free(s->stack_lines);
	sp_intern_free(s->functions);
	free(s->lines);
	free(s->stacks);
	free(s->starts);
	free(s->scratch);
	free(s->text);
	free(s);
}

/* --- names --- */
static bool is_escaped(const char *at)
{
	return at[0] == '\\' && at[1] == 'x' && sp_hex_digit(at[2]) >= 0 && sp_hex_digit(at[3]) >= 0;
}

/* Undoes \xNN; `only`: of these bytes alone. */
static void perf_stack_unescape(char *text, const char *only)
{
	char *to = text;

	for (const char *at = text; *at; to++) {
		char byte = is_escaped(at) ? (char)(sp_hex_digit(at[2]) << 4 | sp_hex_digit(at[3])) : 0;
		bool undo = byte && (!only || strchr(only, byte));

		*to = undo ? byte : *at;
		at += undo ? 4 : 1;
	}
	*to = 0;
}

/*
 * view/perf.c writes names as in folded text, with more spaces encoded, and `#`. A name that it would not have written
 * this way is another program's, and kept as it is.
 */
static bool is_our_own(char *text, const char *decoded)
{
	char *again SP_FREE = sp_encoded(SP_ENCODE_FOLDED, decoded);

	if (!again)
		return false;
	perf_stack_unescape(text, " #");
	perf_stack_unescape(again, " #");
	return !strcmp(text, again);
}

int64_t sp_perf_name(struct sp_profile *p, struct sp_perf_text text)
{
	if (!text.s || !text.n || !memmem(text.s, text.n, "\\x", 2))
		return sp_profile_add_bytes(p, text.s, text.n);
	char *decoded SP_FREE = strndup(text.s, text.n), *copy SP_FREE = strndup(text.s, text.n);
	if (!decoded || !copy)
		return -ENOMEM;
	perf_stack_unescape(decoded, NULL);
	if (is_our_own(copy, decoded))
		return sp_profile_add_string(p, decoded);
	return sp_profile_add_bytes(p, text.s, text.n);
}

/* How perf writes an unknown symbol: "[unknown]", or the address again. */
static bool is_unknown(const struct sp_perf_frame *f)
{
	static const char word[] = "[unknown]";
	char address[24];
	size_t n = (size_t)snprintf(address, sizeof(address), "0x%" PRIx64, f->address);

	if (f->symbol.n == sizeof(word) - 1 && sp_perf_begins(f->symbol, word))
		return true;
	return !f->symbol.n || (f->symbol.n == n && !f->has_symbol_offset && sp_perf_begins(f->symbol, address));
}

/* --- libraries --- */
static bool is_kernel_address(uint64_t address)
{
	bool is_vsyscall = address >> 12 == 0xffffffffff600;

	return address >= SP_PERF_KERNEL_START && !is_vsyscall;
}

/* perf shows each BPF program as a library; here all are in one module, as in /proc/kallsyms. */
static int64_t bpf_file(struct sp_profile *p)
{
	int64_t name = sp_profile_add_string(p, "[bpf]");
	struct sp_file f = {.kind = SP_FILE_KERNEL, .name = (uint32_t)name, .tag = sp_hash_bytes("[bpf]", 5, 0)};

	return name < 0 ? name : sp_profile_add_file(p, &f);
}

static int64_t whole_kernel(struct sp_profile *p)
{
	return sp_read_file(p, "[kernel.kallsyms]", NULL, 0);
}

/* The library of a function in the kernel: the kernel itself, or a module. */
static int64_t kernel_file(struct sp_perf_stacks *s, const char *path)
{
	int64_t file;

	if (!strncmp(path, "bpf_", 4) || !strcmp(path, "[bpf]"))
		return bpf_file(s->p);
	if (!strcmp(path, "[unknown]") || (*path != '[' && !strstr(path, ".ko"))) /* vmlinux, kcore */
		return whole_kernel(s->p);
	file = sp_read_file(s->p, path, NULL, 0);
	if (file < 0 || sp_profile_file(s->p, (uint32_t)file)->kind == SP_FILE_KERNEL)
		return file;
	return whole_kernel(s->p);
}

/* All kernel frames lie in one file, the kernel; their functions are in the modules. */
static int place_in(struct sp_perf_stacks *s, uint32_t file, struct line *l)
{
	int64_t kernel = 0;

	l->is_kernel = sp_profile_file(s->p, file)->kind == SP_FILE_KERNEL;
	if (l->is_kernel)
		kernel = whole_kernel(s->p);
	l->of = file;
	l->file = l->is_kernel ? (uint32_t)kernel : file;
	return kernel < 0 ? (int)kernel : 0;
}

/* perf calls JIT code by the name of its perf map: it is the memory without a file of that process. */
static int64_t user_file(struct sp_perf_stacks *s, const char *path)
{
	const char *slash = strrchr(path, '/');
	char anonymous[32];
	unsigned int pid;
	int end = 0;

	if (slash && sscanf(slash, "/perf-%9u.map%n", &pid, &end) == 1 && end && !slash[end]) {
		snprintf(anonymous, sizeof(anonymous), "[anon:%u]", pid);
		path = anonymous;
	}
	return strcmp(path, "[unknown]") != 0 ? sp_read_file(s->p, path, NULL, 0) : 0;
}

static int find_library(struct sp_perf_stacks *s, struct sp_perf_text library, struct line *l)
{
	int64_t name = sp_perf_name(s->p, library), file;
	char *path SP_FREE = name < 0 ? NULL : strdup(sp_profile_string(s->p, (uint32_t)name));

	if (!path)
		return -ENOMEM;
	file = is_kernel_address(l->address) ? kernel_file(s, path) : user_file(s, path);
	if (file < 0)
		return (int)file;
	return place_in(s, (uint32_t)file, l);
}

/* --- functions and frames --- */
/* The symbol table has C names as they are; perf demangles others. */
static bool is_linkage_name(const char *name)
{
	return !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$@")];
}

/* LIBRARY+0xADDRESS; without a library, one function for all. */
static int64_t unknown_func(struct sp_perf_stacks *s, const struct line *l)
{
	const char *library = sp_profile_string(s->p, sp_profile_file(s->p, l->of)->name);
	struct sp_func f = {.file = l->of, .is_range = true};
	char text[UNKNOWN_NAME_MAX];
	int64_t name;

	if (l->of) {
		f.start = f.vaddr = l->offset;
		snprintf(text, sizeof(text), "%.480s+0x%" PRIx64, library, l->offset);
	}
	name = sp_profile_add_string(s->p, l->of ? text : "[unknown]");
	f.name = (uint32_t)name;
	return name < 0 ? name : sp_profile_add_func(s->p, &f);
}

/* Whether the name is LIBRARY+0xADDRESS, as our own view calls a function known by its range only. */
static bool is_range_of(const struct sp_perf_stacks *s, const struct line *l, const char *name)
{
	const char *library = sp_profile_string(s->p, sp_profile_file(s->p, l->of)->name);
	uint64_t offset;
	size_t n = sp_read_range(name, &offset);

	return n && l->of && strlen(library) == n && !strncmp(name, library, n);
}

static int64_t perf_stack_add_func(struct sp_perf_stacks *s, const struct line *l)
{
	const char *name = sp_profile_string(s->p, l->name);
	struct sp_func f = {.name = l->name, .file = l->of, .start = l->start, .vaddr = l->start};

	if (!l->name)
		return unknown_func(s, l);
	f.is_range = is_range_of(s, l, name);
	if (!f.is_range && is_linkage_name(name))
		f.linkage_name = l->name;
	return sp_profile_add_func(s->p, &f);
}

/*
 * Some versions of perf print addresses in the process instead of the file, sometimes in some lines only. They differ
 * from process to process, so all lines of a function get the start of its first line: it stays one function, and its
 * frames stay equal.
 */
static int settle_start(struct sp_perf_stacks *s, struct line *l)
{
	const uint32_t identity[] = {l->of, l->name};
	bool is_new;
	int64_t number = sp_intern_add_to(s->functions, identity, sizeof(identity), &s->starts, &s->start_capacity,
					  sizeof(*s->starts), &is_new);

	if (number < 0)
		return (int)number;
	if (is_new)
		s->starts[number] = l->start;
	if (l->start >= FILE_OFFSETS && !l->is_kernel) {
		l->offset = l->offset - l->start + s->starts[number];
		l->start = s->starts[number];
	}
	return 0;
}

/* Needs the line's library. */
static int perf_stack_add_frame(struct sp_perf_stacks *s, struct line *l)
{
	int r = l->name && l->start && l->of ? settle_start(s, l) : 0;
	int64_t func = r < 0 ? r : perf_stack_add_func(s, l);
	struct sp_frame f = {.offset = l->offset, .file = l->file, .func = func < 0 ? 0 : (uint32_t)func};
	int64_t frame = func < 0 ? func : sp_read_frame(s->p, &f, true);

	l->frame = (uint32_t)frame;
	return frame < 0 ? (int)frame : 0;
}

/* --- lines --- */
static int make_line(struct sp_perf_stacks *s, const struct sp_perf_frame *f, struct line *l)
{
	int64_t name = is_unknown(f) ? 0 : sp_perf_name(s->p, f->symbol);
	int r;

	if (name < 0)
		return (int)name;
	*l = (struct line){.address = f->address, .offset = f->address, .name = (uint32_t)name};
	l->is_kernel = is_kernel_address(f->address);
	if (f->has_library_offset && !l->is_kernel)
		l->offset = f->library_offset;
	if (f->has_symbol_offset && f->symbol_offset <= l->offset)
		l->start = l->offset - f->symbol_offset;
	if (!f->has_library)
		return 0;
	r = find_library(s, f->library, l);
	return r < 0 ? r : perf_stack_add_frame(s, l);
}

static int perf_stack_add_line(struct sp_perf_stacks *s, struct sp_perf_text text, uint32_t number)
{
	int r = sp_grow(&s->lines, &s->line_capacity, (size_t)number + 1, sizeof(*s->lines));
	struct sp_perf_frame f;

	if (r < 0)
		return r;
	return sp_perf_frame_parse(text, &f) ? make_line(s, &f, &s->lines[number]) : -EBADMSG;
}

/* Memory without a file belongs to a process, but perf does not say so: the pid is put into its name. */
static int name_process(struct sp_perf_stacks *s, struct sp_perf_text *text, uint32_t pid)
{
	static const char anonymous[] = "(//anon)";
	size_t n = sizeof(anonymous) - 1, room = text->n + 32;
	int r;

	if (!pid || text->n < n || memcmp(text->s + text->n - n, anonymous, n) != 0)
		return 0;
	r = sp_grow(&s->text, &s->text_capacity, room, 1);
	if (r < 0)
		return r;
	memcpy(s->text, text->s, text->n - n);
	n = text->n - n;
	n += (size_t)snprintf(s->text + n, room - n, "([anon:%" PRIu32 "])", pid);
	*text = (struct sp_perf_text){s->text, n};
	return 0;
}

int64_t sp_perf_stacks_line(struct sp_perf_stacks *s, struct sp_perf_text line, uint32_t pid)
{
	uint32_t known = sp_intern_count(s->line_texts);
	struct sp_perf_text text = sp_perf_trim(line);
	struct sp_perf_frame f;
	int64_t number;
	int r = name_process(s, &text, pid);

	if (r < 0)
		return r;
	number = sp_intern_find(s->line_texts, text.s, text.n);
	if (number >= 0)
		return number;
	if (!sp_perf_frame_parse(text, &f))
		return -EBADMSG; /* not interned, so it gets no number */
	number = sp_intern_add(s->line_texts, text.s, text.n);
	if (number < 0)
		return number;
	r = number == known ? perf_stack_add_line(s, text, known) : 0;
	return r < 0 ? r : number;
}

/* --- stacks --- */
/*
 * The nearest line in this direction with a library; SIZE_MAX: none, or (at_address) none before the address changes.
 */
static size_t neighbour(const struct sp_perf_stacks *s, const uint32_t *lines, size_t n, size_t i, int step,
			bool at_address)
{
	uint64_t address = s->lines[lines[i]].address;

	for (size_t j = i + (size_t)step, k = 0; j < n && k < NEIGHBOURS; j += (size_t)step, k++) {
		const struct line *l = &s->lines[lines[j]]; /* j wraps around below 0 */

		if (at_address && l->address != address)
			return SIZE_MAX;
		if (l->frame)
			return j;
	}
	return SIZE_MAX;
}

/* A line with the same address and a library, else the libraries on both sides if they are the same. */
static const struct line *perf_stack_library_of(const struct sp_perf_stacks *s, const uint32_t *lines, size_t n,
						size_t i)
{
	size_t caller = neighbour(s, lines, n, i, 1, true), callee;

	if (caller == SIZE_MAX)
		caller = neighbour(s, lines, n, i, -1, true);
	if (caller != SIZE_MAX)
		return &s->lines[lines[caller]];
	caller = neighbour(s, lines, n, i, 1, false);
	callee = neighbour(s, lines, n, i, -1, false);
	if (caller == SIZE_MAX || callee == SIZE_MAX || s->lines[lines[caller]].of != s->lines[lines[callee]].of)
		return NULL;
	return &s->lines[lines[caller]];
}

static int64_t perf_stack_frame_of(struct sp_perf_stacks *s, const uint32_t *lines, size_t n, size_t i)
{
	struct line l = s->lines[lines[i]];
	const struct line *other;
	int64_t file = 0;
	int r;

	if (l.frame)
		return l.frame;
	other = perf_stack_library_of(s, lines, n, i);
	if (other && other->is_kernel == l.is_kernel)
		file = other->of;
	else if (l.is_kernel)
		file = whole_kernel(s->p);
	r = file < 0 ? (int)file : place_in(s, (uint32_t)file, &l);
	if (r >= 0)
		r = perf_stack_add_frame(s, &l);
	return r < 0 ? r : (int64_t)l.frame;
}

/* The lines from `from` up to `to`; no lines are stack 0. */
static int64_t add_half(struct sp_perf_stacks *s, const uint32_t *frames, size_t from, size_t to)
{
	struct sp_stack half = {.n_frames = (uint32_t)(to - from), .frames = frames + from};

	return to > from ? sp_profile_add_stack(s->p, &half) : 0;
}

static int make_stack(struct sp_perf_stacks *s, const uint32_t *lines, size_t n, struct halves *ret_halves)
{
	size_t n_kernel = 0;
	int64_t user, kernel;
	int r = sp_grow(&s->scratch, &s->scratch_capacity, n + 1, sizeof(*s->scratch));

	if (r < 0)
		return r;
	while (n_kernel < n && s->lines[lines[n_kernel]].is_kernel)
		n_kernel++;
	for (size_t i = 0; i < n; i++) {
		int64_t frame = perf_stack_frame_of(s, lines, n, i);

		if (frame < 0)
			return (int)frame;
		s->scratch[i] = (uint32_t)frame;
	}
	kernel = add_half(s, s->scratch, 0, n_kernel);
	user = add_half(s, s->scratch, n_kernel, n);
	if (kernel < 0 || user < 0)
		return -ENOMEM;
	*ret_halves = (struct halves){(uint32_t)user, (uint32_t)kernel};
	return 0;
}

int64_t sp_perf_stacks_add(struct sp_perf_stacks *s, const uint32_t *lines, size_t n)
{
	uint32_t known = sp_intern_count(s->stack_lines);
	int64_t number = sp_intern_add(s->stack_lines, lines, n * sizeof(*lines));
	int r;

	if (number < known)
		return number;
	r = sp_grow(&s->stacks, &s->stack_capacity, (size_t)number + 1, sizeof(*s->stacks));
	if (r >= 0)
		r = make_stack(s, lines, n, &s->stacks[number]);
	return r < 0 ? r : number;
}

void sp_perf_stacks_get(const struct sp_perf_stacks *s, uint32_t stack, uint32_t *ret_user, uint32_t *ret_kernel)
{
	*ret_user = s->stacks[stack].user;
	*ret_kernel = s->stacks[stack].kernel;
}

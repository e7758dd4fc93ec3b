/* SPDX-License-Identifier: GPL-2.0-or-later */
/* go.c: Go's .gopclntab. */
#include "elf/go.h"

#include "base/cursor.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/search.h"
#include "elf/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAGIC_16 = 0xfffffffa,
	MAGIC_18 = 0xfffffff0,
	MAGIC_20 = 0xfffffff1,
	MAX_STACK = 1 << 30,
	MAX_NAME = 32768,
	MAX_RELOCATIONS = 64 << 20,
	FLAG_TOP = 1, /* flag of a function, since Go 1.17: it is the outermost frame */
};

struct sp_go {
	uint8_t *bytes;
	size_t size;
	bool wide; /* the table has addresses: before Go 1.18 */
	uint8_t quantum;
	uint64_t text; /* starts in the table are relative to this */
	uint64_t names, names_end, pcs, funcs;
	size_t n_funcs;
	unsigned flag_at; /* position of the flags in a function's record */
};

static struct sp_cursor at(const struct sp_go *g, uint64_t position)
{
	struct sp_cursor c = sp_cursor_on(g->bytes, g->size);
	sp_cursor_seek(&c, position > g->size ? g->size + 1 : (size_t)position);
	return c;
}

static int find_section(const struct sp_elf *e, struct sp_elf_section *ret_section)
{
	int r = sp_elf_section(e, ".gopclntab", ret_section);
	return r < 0 ? sp_elf_section(e, ".data.rel.ro.gopclntab", ret_section) : r;
}

/* A pointer that the linker leaves to the dynamic linker: the addend of this address's relocation, or 0. */
static uint64_t relocated(struct sp_elf *e, uint64_t vaddr)
{
	struct sp_elf_section s;
	SP_FREE Elf64_Rela *rela = NULL;
	if (sp_elf_section(e, ".rela.dyn", &s) < 0 && sp_elf_section(e, ".rela", &s) < 0)
		return 0;
	if (s.size > MAX_RELOCATIONS || sp_elf_read(e, s.offset, (size_t)s.size, (void **)&rela) < 0)
		return 0;
	for (size_t i = 0; i < s.size / sizeof(*rela); i++)
		if (rela[i].r_offset == vaddr && ELF64_R_TYPE(rela[i].r_info) == SP_MACHINE_RELATIVE)
			return (uint64_t)rela[i].r_addend;
	return 0;
}

/* The header: 8 bytes, then numbers of 8 bytes each. */
static int read_header(struct sp_go *g, struct sp_elf *e, const struct sp_elf_section *s)
{
	struct sp_cursor c = at(g, 0);
	uint32_t magic = sp_cursor_u32(&c);
	if (magic != MAGIC_16 && magic != MAGIC_18 && magic != MAGIC_20)
		return c.bad || magic >> 8 != 0xffffff ? -EBADMSG : -EOPNOTSUPP;
	sp_cursor_skip(&c, 2);
	g->quantum = sp_cursor_u8(&c);
	if (sp_cursor_u8(&c) != 8 || g->quantum != 1)
		return -EBADMSG;
	uint64_t n = sp_cursor_u64(&c);
	sp_cursor_u64(&c); /* files */
	g->wide = magic == MAGIC_16;
	g->flag_at = magic == MAGIC_18 ? 37 : 41;
	if (!g->wide) {
		uint64_t where = s->addr + c.at;
		g->text = sp_cursor_u64(&c);
		g->text = g->text ? g->text : relocated(e, where);
	}
	g->names = sp_cursor_u64(&c);
	g->names_end = sp_cursor_u64(&c); /* the start of the next part */
	sp_cursor_u64(&c);
	g->pcs = sp_cursor_u64(&c);
	g->funcs = sp_cursor_u64(&c);
	if (c.bad || n > SP_GO_MAX_FUNCS || (!g->wide && !g->text))
		return -EBADMSG;
	g->n_funcs = (size_t)n;
	bool fits = g->names <= g->names_end && g->names_end <= g->size && g->pcs <= g->size && g->funcs <= g->size &&
		    (n + 1) * (g->wide ? 16 : 8) <= g->size - g->funcs + (g->wide ? 8 : 4);
	return fits ? 0 : -EBADMSG;
}

int sp_go_open(struct sp_elf *e, struct sp_go **ret_go)
{
	struct sp_elf_section s;
	void *bytes;
	if (find_section(e, &s) < 0 || s.type == SHT_NOBITS || !s.size)
		return -ENOENT;
	if (s.size > SP_GO_MAX_BYTES)
		return -EFBIG;
	struct sp_go *g = calloc(1, sizeof(*g));
	int r = g ? sp_elf_read(e, s.offset, (size_t)s.size, &bytes) : -ENOMEM;
	if (r == 0) {
		g->bytes = bytes;
		g->size = (size_t)s.size;
		r = read_header(g, e, &s);
	}
	if (r < 0) {
		sp_go_close(g);
		return r;
	}
	*ret_go = g;
	return 0;
}

void sp_go_close(struct sp_go *g)
{
	if (!g)
		return;
	free(g->bytes);
	free(g);
}

size_t sp_go_n_funcs(const struct sp_go *g)
{
	return g->n_funcs;
}

/* The start of function i; for i = n, the end of the last function. */
static uint64_t start_of(const struct sp_go *g, size_t i)
{
	struct sp_cursor c = at(g, g->funcs + i * (g->wide ? 16 : 8));
	return g->wide ? sp_cursor_u64(&c) : g->text + sp_cursor_u32(&c);
}

static uint64_t record_of(const struct sp_go *g, size_t i)
{
	struct sp_cursor c = at(g, g->funcs + i * (g->wide ? 16 : 8) + (g->wide ? 8 : 4));
	return g->funcs + (g->wide ? sp_cursor_u64(&c) : sp_cursor_u32(&c));
}

static const char *name_at(const struct sp_go *g, uint64_t position)
{
	if (position >= g->names_end - g->names)
		return NULL;
	const char *name = (const char *)g->bytes + g->names + position;
	size_t room = SP_MIN(g->names_end - g->names - position, (uint64_t)MAX_NAME);
	return *name && memchr(name, 0, room) ? name : NULL;
}

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

/*
 * Kinds of the runtime's own functions. rt0_go and mstart begin a thread. goexit is what a goroutine's first function
 * returns to. mcall and morestack leave the goroutine's stack and are the first function on the scheduler's.
 * systemstack and asmcgocall switch to the thread's stack and back; so do the clocks, to ask the vDSO.
 */
static enum sp_go_kind kind_of(const char *name, uint8_t flags)
{
	static const char *const roots[] = {"runtime.goexit",   "runtime.rt0_go",           "runtime.mstart",
					    "runtime.mcall",    "runtime.morestack",        "_rt0_amd64",
					    "_rt0_amd64_linux", "runtime.morestack_noctxt", NULL};
	static const char *const switches[] = {"runtime.systemstack", "runtime.asmcgocall", "runtime.nanotime1",
					       "runtime.walltime",    "time.now",           NULL};
	static const char *const signals[] = {"runtime.sigreturn", "runtime.sigreturn__sigaction", NULL};
	static const char *const injected[] = {"runtime.asyncPreempt", "runtime.sigpanic0", NULL};
	if (strncmp(name, "runtime.", 8) != 0 && strncmp(name, "_rt0_", 5) != 0 && strcmp(name, "time.now") != 0)
		return SP_GO_PLAIN;
	if (is_one_of(name, switches))
		return SP_GO_SWITCH;
	if (is_one_of(name, signals))
		return SP_GO_SIGNAL;
	if (is_one_of(name, injected))
		return SP_GO_INJECTED;
	bool is_handler =
	    strcmp(name, "runtime.sigtramp") == 0; /* outermost to Go, but its caller is the interrupted code */
	return is_one_of(name, roots) || ((flags & FLAG_TOP) && !is_handler) ? SP_GO_ROOT : SP_GO_PLAIN;
}

bool sp_go_func(const struct sp_go *g, size_t i, struct sp_go_func *ret_func)
{
	if (i >= g->n_funcs)
		return false;
	struct sp_go_func f = {.start = start_of(g, i), .end = start_of(g, i + 1)};
	uint64_t record = record_of(g, i);
	struct sp_cursor c = at(g, record + (g->wide ? 8 : 4));
	f.name = name_at(g, sp_cursor_u32(&c));
	sp_cursor_skip(&c, 8);
	f.pcsp = sp_cursor_u32(&c);
	struct sp_cursor flags = at(g, record + g->flag_at);
	uint8_t flag = sp_cursor_u8(&flags);
	if (c.bad || flags.bad || !f.name || f.end <= f.start)
		return false;
	f.kind = kind_of(f.name, flag);
	f.is_planted = f.kind == SP_GO_SIGNAL || strcmp(f.name, "runtime.systemstack_switch") == 0;
	*ret_func = f;
	return true;
}

static int note_end(void *arg, uint64_t start, uint64_t end, uint64_t bytes)
{
	(void)start;
	(void)bytes;
	*(uint64_t *)arg = end;
	return 0;
}

uint64_t sp_go_code_end(const struct sp_go *g, const struct sp_go_func *f)
{
	uint64_t end = f->start;
	return sp_go_walk_stack(g, f, note_end, &end) == 0 && end > f->start ? end : f->end;
}

bool sp_go_find(const struct sp_go *g, uint64_t vaddr, struct sp_go_func *ret_func)
{
	size_t n = SP_N_WHILE(g->n_funcs, i, start_of(g, i) <= vaddr);
	struct sp_go_func f;
	if (!n || !sp_go_func(g, n - 1, &f))
		return false;
	f.end = sp_go_code_end(g, &f);
	if (vaddr < f.start || vaddr >= f.end)
		return false;
	*ret_func = f;
	return true;
}

/* Decodes zigzag: the lowest bit is the sign. */
static int64_t signed_of(uint64_t n)
{
	return (int64_t)(n >> 1) ^ -(int64_t)(n & 1);
}

int sp_go_walk_stack(const struct sp_go *g, const struct sp_go_func *f,
		     int (*cb)(void *arg, uint64_t start, uint64_t end, uint64_t bytes), void *arg)
{
	struct sp_cursor c = at(g, f->pcsp ? g->pcs + f->pcsp : UINT64_MAX);
	int64_t bytes = -1;
	uint64_t pc = f->start;
	while (pc < f->end) {
		uint64_t step = sp_cursor_uleb(&c);
		if (c.bad)
			return -EBADMSG;
		if (!step && pc != f->start)
			return 0;
		bytes += signed_of(step & UINT32_MAX);
		uint64_t end = pc + (sp_cursor_uleb(&c) & UINT32_MAX) * g->quantum;
		if (c.bad || (bytes < 0 && bytes != -8) || bytes > MAX_STACK || end <= pc)
			return -EBADMSG;
		int r = cb(arg, pc, SP_MIN(end, f->end), bytes < 0 ? SP_GO_POPPED : (uint64_t)bytes);
		if (r)
			return r;
		pc = end;
	}
	return 0;
}

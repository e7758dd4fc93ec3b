/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gmon.c: counted calls as gprof's own files: gmon.out, and a stub of an ELF file that has the functions' names, since
 * libraries have no .symtab for gprof to read, and callers outside are in none of them.
 *
 * In the stub .text has a place and no bytes; the library called most has its own addresses, others follow, then one
 * symbol for each caller outside and for each function without an address. Counts in gmon.out are narrow, but gprof
 * adds up records that are alike: an arc is written in pieces of 32 bits, the time of a function in pieces of 16 bits,
 * in a histogram of the function's first two bytes. Without time there is one empty histogram, because gprof divides by
 * its rate. Formats: GNU gprof's manual, "Profiling Data File Format"; elf(5).
 */
#include "view/calls/calls.h"

#include "base/error.h"
#include "base/machine.h"
#include "base/mem.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_HISTOGRAM, TAG_ARC, GMON_VERSION = 1 };
#define MAX_SPAN (1ULL << 32) /* of a library; functions further from its beginning are placed like callers outside */
#define MAX_REAL (1ULL << 46) /* the library called most keeps its addresses if they are below */
enum { MAX_RECORDS = 1 << 24 };
#define OUTSIDE_BYTES 16 /* room for each caller outside */
#define LIBRARY_ALIGN (1ULL << 16)

/* --- the stub's layout --- */
struct places {
	uint64_t *at; /* by node */
	uint64_t low, high;
};

/* Places the targets from `first` on that are in one library; *next: where the next library may begin. */
static size_t place_library(const struct sp_call_graph *g, size_t first, uint64_t *next, struct places *where)
{
	uint64_t begin = 0, last = 0, base;
	size_t end = first;

	for (; end < g->n_nodes && g->nodes[end].is_target && g->nodes[end].library == g->nodes[first].library; end++)
		if (!begin && g->nodes[end].address)
			begin = g->nodes[end].address;
	base = first || begin > MAX_REAL ? SP_MAX(*next, LIBRARY_ALIGN) : begin;
	for (size_t i = first; i < end; i++) {
		uint64_t far = g->nodes[i].address - begin;

		if (!begin || !g->nodes[i].address || far > MAX_SPAN || (last && base + far < last + 2))
			continue;
		last = where->at[i] = base + far;
	}
	*next = (SP_MAX(last, *next) + 2 * LIBRARY_ALIGN) & ~(LIBRARY_ALIGN - 1);
	return end;
}

static int places_new(const struct sp_call_graph *g, struct places *ret)
{
	struct places where = {.at = calloc(g->n_nodes + 1, sizeof(*where.at))};
	uint64_t next = 0;

	if (!where.at)
		return -ENOMEM;
	for (size_t i = 0; i < g->n_nodes && g->nodes[i].is_target;)
		i = place_library(g, i, &next, &where);
	next = SP_MAX(next, LIBRARY_ALIGN);
	for (size_t i = 0; i < g->n_nodes; i++)
		if (!where.at[i]) {
			where.at[i] = next;
			next += OUTSIDE_BYTES;
		}
	where.high = next;
	where.low = next;
	for (size_t i = 0; i < g->n_nodes; i++)
		where.low = SP_MIN(where.low, where.at[i] & ~1ULL);
	*ret = where;
	return 0;
}

/* --- gmon.out --- */
static void put_le(FILE *out, uint64_t value, int n_bytes)
{
	for (int i = 0; i < n_bytes; i++)
		fputc((int)(value >> 8 * i & 0xff), out);
}

static void put_histogram(FILE *out, uint64_t at, uint32_t rate_hz, uint16_t ticks)
{
	static const char dimension[15] = "seconds";

	fputc(TAG_HISTOGRAM, out);
	put_le(out, at & ~1ULL, 8);
	put_le(out, (at & ~1ULL) + 2, 8);
	put_le(out, 1, 4);
	put_le(out, rate_hz, 4);
	fwrite(dimension, 1, sizeof(dimension), out);
	fputc('s', out);
	put_le(out, ticks, 2);
}

static void put_arc(FILE *out, uint64_t from, uint64_t to, uint32_t calls)
{
	fputc(TAG_ARC, out);
	put_le(out, from, 8);
	put_le(out, to, 8);
	put_le(out, calls, 4);
}

/* So many calls or ticks would fill any disk; no machine has counted them. */
static int check_size(const struct sp_call_graph *g)
{
	uint64_t n = 0;

	for (size_t i = 0; i < g->n_nodes; i++)
		n += (uint64_t)g->nodes[i].ticks / UINT16_MAX;
	for (size_t i = 0; i < g->n_arcs; i++)
		n += (uint64_t)g->arcs[i].calls / UINT32_MAX;
	return n < MAX_RECORDS ? 0 : sp_fail_said(-EFBIG, "too many calls for a gmon.out");
}

static void put_records(const struct sp_call_graph *g, const struct places *where, FILE *out)
{
	fputs("gmon", out);
	put_le(out, GMON_VERSION, 4);
	put_le(out, 0, 8);
	put_le(out, 0, 4);
	if (!g->ticks)
		put_histogram(out, where->low, g->rate_hz, 0);
	for (size_t i = 0; i < g->n_nodes; i++)
		for (int64_t left = g->nodes[i].ticks; left > 0; left -= UINT16_MAX)
			put_histogram(out, where->at[i], g->rate_hz, (uint16_t)SP_MIN(left, UINT16_MAX));
	for (size_t i = 0; i < g->n_arcs; i++)
		for (int64_t left = g->arcs[i].calls; left > 0; left -= UINT32_MAX)
			put_arc(out, where->at[g->arcs[i].from], where->at[g->arcs[i].to],
				(uint32_t)SP_MIN(left, UINT32_MAX));
}

/* --- the stub --- */
enum { SECTION_NONE, SECTION_TEXT, SECTION_SYMTAB, SECTION_STRTAB, SECTION_NAMES, N_SECTIONS };
static const char section_names[] = "\0.text\0.symtab\0.strtab\0.shstrtab";
enum { NAME_TEXT = 1, NAME_SYMTAB = 7, NAME_STRTAB = 15, NAME_NAMES = 23 };

static uint64_t size_of(const struct sp_call_graph *g, const struct places *where, size_t node)
{
	uint64_t size = g->nodes[node].size, room = where->high - where->at[node];

	if (node + 1 < g->n_nodes && where->at[node + 1] > where->at[node])
		room = where->at[node + 1] - where->at[node];
	return size && g->nodes[node].is_target ? SP_MIN(size, room) : SP_MIN(room, OUTSIDE_BYTES);
}

static void put_symbols(const struct sp_call_graph *g, const struct places *where, FILE *out)
{
	Elf64_Sym symbol = {0};
	uint64_t name = 1;

	fwrite(&symbol, sizeof(symbol), 1, out);
	for (size_t i = 0; i < g->n_nodes; i++) {
		symbol = (Elf64_Sym){.st_name = (Elf64_Word)name,
				     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				     .st_shndx = SECTION_TEXT,
				     .st_value = where->at[i],
				     .st_size = size_of(g, where, i)};
		fwrite(&symbol, sizeof(symbol), 1, out);
		name += strlen(g->nodes[i].name) + 1;
	}
}

static void put_sections(const struct places *where, uint64_t symbols_bytes, uint64_t strings_bytes, FILE *out)
{
	uint64_t symbols_at = sizeof(Elf64_Ehdr) + N_SECTIONS * sizeof(Elf64_Shdr);
	const Elf64_Shdr sections[N_SECTIONS] = {
	    [SECTION_TEXT] = {.sh_name = NAME_TEXT,
			      .sh_type = SHT_NOBITS,
			      .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			      .sh_addr = where->low,
			      .sh_offset = symbols_at,
			      .sh_size = where->high - where->low,
			      .sh_addralign = 1},
	    [SECTION_SYMTAB] = {.sh_name = NAME_SYMTAB,
				.sh_type = SHT_SYMTAB,
				.sh_offset = symbols_at,
				.sh_size = symbols_bytes,
				.sh_link = SECTION_STRTAB,
				.sh_info = 1,
				.sh_addralign = 8,
				.sh_entsize = sizeof(Elf64_Sym)},
	    [SECTION_STRTAB] = {.sh_name = NAME_STRTAB,
				.sh_type = SHT_STRTAB,
				.sh_offset = symbols_at + symbols_bytes,
				.sh_size = strings_bytes,
				.sh_addralign = 1},
	    [SECTION_NAMES] = {.sh_name = NAME_NAMES,
			       .sh_type = SHT_STRTAB,
			       .sh_offset = symbols_at + symbols_bytes + strings_bytes,
			       .sh_size = sizeof(section_names),
			       .sh_addralign = 1},
	};

	fwrite(sections, sizeof(sections), 1, out);
}

static void put_header(FILE *out)
{
	const Elf64_Ehdr header = {
	    .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT, ELFOSABI_SYSV},
	    .e_type = ET_DYN,
	    .e_machine = SP_MACHINE_ELF,
	    .e_version = EV_CURRENT,
	    .e_shoff = sizeof(Elf64_Ehdr),
	    .e_ehsize = sizeof(Elf64_Ehdr),
	    .e_shentsize = sizeof(Elf64_Shdr),
	    .e_shnum = N_SECTIONS,
	    .e_shstrndx = SECTION_NAMES,
	};

	fwrite(&header, sizeof(header), 1, out);
}

static int put_stub(const struct sp_call_graph *g, const struct places *where, FILE *out)
{
	uint64_t strings_bytes = 1;

	for (size_t i = 0; i < g->n_nodes; i++)
		strings_bytes += strlen(g->nodes[i].name) + 1;
	if (strings_bytes > UINT32_MAX)
		return -EFBIG;
	put_header(out);
	put_sections(where, (g->n_nodes + 1) * sizeof(Elf64_Sym), strings_bytes, out);
	put_symbols(g, where, out);
	fputc(0, out);
	for (size_t i = 0; i < g->n_nodes; i++)
		fwrite(g->nodes[i].name, 1, strlen(g->nodes[i].name) + 1, out);
	fwrite(section_names, 1, sizeof(section_names), out);
	return 0;
}

/* --- the two files --- */
static int write_one(const struct sp_profile *p, const struct sp_view_options *o, bool stub, FILE *out)
{
	struct sp_call_graph g = {0};
	struct places where = {0};
	int r = sp_call_graph_new(p, o, &g);

	if (r >= 0)
		r = places_new(&g, &where);
	if (r >= 0 && !stub)
		r = check_size(&g);
	if (r >= 0 && stub)
		r = put_stub(&g, &where, out);
	else if (r >= 0)
		put_records(&g, &where, out);
	free(where.at);
	sp_call_graph_done(&g);
	return r;
}

static int gmon_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	return write_one(p, o, false, out);
}

static int stub_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out)
{
	return write_one(p, o, true, out);
}

const struct sp_view sp_view_gmon = {
    .name = "gmon",
    .suffix = ".gmon",
    .mime = "application/octet-stream",
    .summary = "counted calls for gprof: gmon.out and a stub to read it by",
    .binary = true,
    .calls = true,
    .write = gmon_write,
    .beside = ".stub",
    .write_beside = stub_write,
};

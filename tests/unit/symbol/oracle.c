/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oracle.c: parse readelf's output, and search it without any cleverness. */
#include "oracle.h"
#include "base/mem.h"
#include "tool.h"
#include <inttypes.h>
#include <string.h>

static void *add(void *array_pointer, size_t *n, size_t size)
{
	void **array = array_pointer;
	if ((*n & (*n - 1)) == 0) {
		*array = realloc(*array, (*n ? *n * 2 : 1) * size);
		if (!*array)
			abort();
	}
	return (char *)*array + (*n)++ * size;
}

static size_t split(char *line, char **words, size_t max)
{
	size_t n = 0;
	char *save = NULL;
	for (char *w = strtok_r(line, " \t\n", &save); w && n < max; w = strtok_r(NULL, " \t\n", &save))
		words[n++] = w;
	return n;
}

static uint64_t hex(const char *s)
{
	return strtoull(s, NULL, 16);
}

/* `  [ 1] .interp PROGBITS ADDR OFF SIZE ES [FLG] LK INF AL` */
static void parse_section(struct oracle *o, char *line)
{
	char *words[12], *rest = strchr(line, ']');
	struct oracle_range *r = add(&o->sections, &o->n_sections, sizeof(*r));
	*r = (struct oracle_range){0};
	if (!rest)
		abort();
	size_t n = split(rest + 1, words, 12);
	if (n == 10 && strchr(words[6], 'A') && strchr(words[6], 'X'))
		*r = (struct oracle_range){hex(words[3]), hex(words[2]), hex(words[4])};
}

/* `  LOAD OFF VADDR PADDR FILESZ MEMSZ R E ALIGN` */
static void parse_segment(struct oracle *o, char *line)
{
	char *words[12];
	size_t n = split(line, words, 12);
	bool code =
	    n >= 8 && (strchr(words[6], 'E') || (strcmp(words[7], "E") == 0) || (n > 8 && !strcmp(words[8], "E")));
	if (n < 8 || strcmp(words[0], "LOAD") != 0 || !code)
		return;
	struct oracle_range *r = add(&o->segments, &o->n_segments, sizeof(*r));
	*r = (struct oracle_range){hex(words[1]), hex(words[2]), hex(words[4])};
}

/* `   NUM: VALUE SIZE TYPE BIND VIS NDX NAME [(VERSION)]` */
static void parse_symbol(struct oracle *o, int table, char *line)
{
	char *words[10];
	size_t n = split(line, words, 10);
	if (n < 8 || !strchr(words[0], ':') || table < 0)
		return;
	bool code = !strcmp(words[3], "FUNC") || !strcmp(words[3], "IFUNC");
	bool label = !strcmp(words[3], "NOTYPE");
	unsigned section = (unsigned)strtoul(words[6], NULL, 10);
	if ((!code && !label) || !section || (label && (*words[7] == '.' || *words[7] == '$')))
		return;
	char *version = strchr(words[7], '@');
	if (version && version != words[7])
		*version = 0;
	struct oracle_symbol *s = add(&o->symbols[table], &o->n_symbols[table], sizeof(*s));
	int bind = !strcmp(words[4], "LOCAL") ? 0 : !strcmp(words[4], "WEAK") ? 1 : 2;
	*s = (struct oracle_symbol){hex(words[1]), strtoull(words[2], NULL, 0), bind, section, strdup(words[7])};
}

/* `OFFSET LENGTH CIE FDE cie=CIE pc=START..END`, in virtual addresses */
static void parse_fde(struct oracle *o, char *line)
{
	char *pc = strstr(line, " pc="), *dots = pc ? strstr(pc, "..") : NULL;
	if (!strstr(line, " FDE ") || !dots)
		return;
	uint64_t start = hex(pc + 4);
	struct oracle_range *r = add(&o->fdes, &o->n_fdes, sizeof(*r));
	*r = (struct oracle_range){0, start, hex(dots + 2) - start};
}

static bool parse(struct oracle *o, const char *option, const char *path)
{
	FILE *f SP_FCLOSE = TOOL_RUN(NULL, "readelf", "-W", option, path);
	char *line SP_FREE = NULL;
	size_t size = 0;
	int table = -1;
	if (!f)
		return false;
	while (getline(&line, &size, f) > 0) {
		if (strstr(line, "Symbol table '"))
			table = strstr(line, "'.symtab'") ? 0 : strstr(line, "'.dynsym'") ? 1 : -1;
		if (!strcmp(option, "-s"))
			parse_symbol(o, table, line);
		else if (!strcmp(option, "-S") && line[2] == '[' && line[3] != 'N')
			parse_section(o, line);
		else if (!strcmp(option, "-l"))
			parse_segment(o, line);
		else if (option[1] == '-')
			parse_fde(o, line);
	}
	return true;
}

struct oracle *oracle_new(const char *path, bool with_fdes)
{
	struct oracle *o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	bool ok = parse(o, "-S", path) && parse(o, "-l", path) && parse(o, "-s", path);
	if (ok && with_fdes)
		ok = parse(o, "--debug-dump=frames,no-follow-links", path);
	if (ok)
		return o;
	oracle_free(o);
	return NULL;
}

void oracle_free(struct oracle *o)
{
	if (!o)
		return;
	for (int table = 0; table < 2; table++) {
		for (size_t i = 0; i < o->n_symbols[table]; i++)
			free(o->symbols[table][i].name);
		free(o->symbols[table]);
	}
	free(o->segments);
	free(o->sections);
	free(o->fdes);
	free(o);
}

uint64_t oracle_offset(const struct oracle *o, uint64_t vaddr)
{
	for (size_t i = 0; i < o->n_segments; i++)
		if (vaddr >= o->segments[i].vaddr && vaddr - o->segments[i].vaddr < o->segments[i].size)
			return vaddr - o->segments[i].vaddr + o->segments[i].offset;
	return UINT64_MAX;
}

static uint64_t vaddr_of(const struct oracle *o, uint64_t offset)
{
	for (size_t i = 0; i < o->n_segments; i++)
		if (offset >= o->segments[i].offset && offset - o->segments[i].offset < o->segments[i].size)
			return offset - o->segments[i].offset + o->segments[i].vaddr;
	return UINT64_MAX;
}

static const struct oracle_range *home(const struct oracle *o, const struct oracle_symbol *s)
{
	if (s->section >= o->n_sections)
		return NULL;
	const struct oracle_range *r = &o->sections[s->section];
	return s->vaddr >= r->vaddr && s->vaddr - r->vaddr < r->size ? r : NULL;
}

/* Exported before local, few underscores, global before weak, short, by bytes: a number and a name say it all. */
static int compare(const struct oracle_symbol *a, const struct oracle_symbol *b)
{
	int d = (b->bind > 0) - (a->bind > 0);
	if (!d)
		d = (int)strspn(a->name, "_") - (int)strspn(b->name, "_");
	if (!d)
		d = b->bind - a->bind;
	if (!d)
		d = (int)strlen(a->name) - (int)strlen(b->name);
	return d ? d : strcmp(a->name, b->name);
}

static const struct oracle_symbol *find_sized(const struct oracle *o, int table, uint64_t at)
{
	const struct oracle_symbol *best = NULL;
	for (size_t i = 0; i < o->n_symbols[table]; i++) {
		const struct oracle_symbol *s = &o->symbols[table][i];
		if (at < s->vaddr || at - s->vaddr >= s->size || !home(o, s))
			continue;
		if (!best || s->vaddr > best->vaddr || (s->vaddr == best->vaddr && compare(s, best) < 0))
			best = s;
	}
	return best;
}

static const struct oracle_symbol *find_open(const struct oracle *o, uint64_t at, uint64_t *ret_size)
{
	uint64_t floor = 0, next = UINT64_MAX;
	const struct oracle_symbol *best = NULL;
	for (size_t i = 0; i < o->n_symbols[0]; i++) {
		const struct oracle_symbol *s = &o->symbols[0][i];
		if (!home(o, s))
			continue;
		if (s->vaddr <= at)
			floor = SP_MAX(floor, s->vaddr);
		else
			next = SP_MIN(next, s->vaddr);
	}
	for (size_t i = 0; i < o->n_symbols[0]; i++) {
		const struct oracle_symbol *s = &o->symbols[0][i];
		if (s->vaddr == floor && !s->size && home(o, s) && (!best || compare(s, best) < 0))
			best = s;
	}
	if (!best)
		return NULL;
	uint64_t end = SP_MIN(next, home(o, best)->vaddr + home(o, best)->size);
	*ret_size = end - floor;
	return at < end ? best : NULL;
}

static struct oracle_answer answer(uint64_t offset, uint64_t at, const char *name, uint64_t start, uint64_t size)
{
	return (struct oracle_answer){name, offset - (at - start), start, size, false};
}

/* An edge pushes the gap's side on which it lies. */
static void push(struct oracle_range *gap, uint64_t at, uint64_t edge)
{
	uint64_t end = gap->vaddr + gap->size;
	if (edge <= at)
		gap->vaddr = SP_MAX(gap->vaddr, edge);
	else
		end = SP_MIN(end, edge);
	gap->size = end - gap->vaddr;
}

static void push_ranges(struct oracle_range *gap, uint64_t at, const struct oracle_range *ranges, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!ranges[i].size)
			continue;
		push(gap, at, ranges[i].vaddr);
		push(gap, at, ranges[i].vaddr + ranges[i].size);
	}
}

static struct oracle_answer find_gap(const struct oracle *o, unsigned tables, uint64_t offset, uint64_t at)
{
	struct oracle_range gap = {0};
	for (size_t i = 0; i < o->n_segments && !gap.size; i++)
		if (at >= o->segments[i].vaddr && at - o->segments[i].vaddr < o->segments[i].size)
			gap = o->segments[i];
	if (!gap.size)
		return answer(offset, at, NULL, at, 0);
	if (!o->sections_hidden)
		push_ranges(&gap, at, o->sections, o->n_sections);
	if (tables & 4)
		push_ranges(&gap, at, o->fdes, o->n_fdes);
	for (int table = 0; table < 2; table++)
		for (size_t i = 0; i < o->n_symbols[table]; i++) {
			const struct oracle_symbol *s = &o->symbols[table][i];
			if (!home(o, s))
				continue;
			push(&gap, at, s->vaddr);
			push(&gap, at, s->vaddr + s->size);
		}
	struct oracle_answer found = answer(offset, at, NULL, gap.vaddr, gap.size);
	found.is_gap = true;
	return found;
}

struct oracle_answer oracle_find(const struct oracle *o, unsigned tables, uint64_t offset)
{
	uint64_t at = vaddr_of(o, offset), size = 0;
	for (int table = 0; table < 2; table++) {
		if (!(tables & 1u << table))
			continue;
		const struct oracle_symbol *s = find_sized(o, table, at);
		if (s)
			return answer(offset, at, s->name, s->vaddr, s->size);
		s = table == 0 ? find_open(o, at, &size) : NULL;
		if (s)
			return answer(offset, at, s->name, s->vaddr, size);
	}
	const struct oracle_range *best = NULL;
	for (size_t i = 0; tables & 4 && i < o->n_fdes; i++)
		if (at >= o->fdes[i].vaddr && at - o->fdes[i].vaddr < o->fdes[i].size &&
		    (!best || o->fdes[i].vaddr > best->vaddr))
			best = &o->fdes[i];
	return best ? answer(offset, at, NULL, best->vaddr, best->size) : find_gap(o, tables, offset, at);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_pair.c: which files of two profiles are one library. Union-find: files that are certainly the same are united
 * first, then classes that are left over on one side, by weaker and weaker criteria.
 */
#include "base/intern.h"
#include "base/mem.h"
#include "profile/priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
	const struct sp_profile *p;
	const struct sp_file *file;
	uint32_t number, side;
	uint32_t up; /* parent in the union-find forest; a class's root has itself */
};

struct pairing {
	struct item *items;
	size_t n, capacity;
	uint8_t *sides; /* by root of a class: bits of the sides that have a file of it */
};

/* A criterion: writes what must be equal in two items; nothing if it is not known. */
typedef void criterion(const struct item *item, FILE *out);

enum scope {
	ALL_CLASSES, /* all classes equal by the criterion are united */
	ONE_SIDED,   /* classes on one side only are united with such classes of the other side */
	SINGLE_PAIR, /* the same, if there is only one on either side */
	TO_ANY,      /* classes on one side only join any class of the other side: an upgrade under way */
};

static uint32_t class_root(struct pairing *m, uint32_t i)
{
	while (m->items[i].up != i) {
		m->items[i].up = m->items[m->items[i].up].up;
		i = m->items[i].up;
	}
	return i;
}

static void classes_unite(struct pairing *m, uint32_t a, uint32_t b)
{
	a = class_root(m, a);
	b = class_root(m, b);
	m->items[SP_MAX(a, b)].up = SP_MIN(a, b);
	m->sides[SP_MIN(a, b)] |= m->sides[SP_MAX(a, b)];
}

/* --- criteria --- */
static bool item_has_file(const struct item *item)
{
	return item->file->kind == SP_FILE_ELF || item->file->kind == SP_FILE_OTHER;
}

static const char *item_string(const struct item *item, uint32_t string)
{
	return sp_profile_string(item->p, string);
}

static void write_build_id(const struct item *item, FILE *out)
{
	if (item->file->build_id_len > 0 && item_has_file(item))
		fwrite(item->file->build_id, 1, item->file->build_id_len, out);
}

/* The kernel, its modules, the vDSO and code without a file are known by name. */
static void write_special_name(const struct item *item, FILE *out)
{
	if (!item_has_file(item))
		fprintf(out, "%u%s", item->file->kind, item_string(item, item->file->name));
}

static void write_path(const struct item *item, FILE *out)
{
	if (item_has_file(item))
		fputs(item_string(item, item->file->path), out);
}

static void write_name(const struct item *item, FILE *out)
{
	if (item_has_file(item))
		fputs(item_string(item, item->file->name), out);
}

static void write_stem(const struct item *item, FILE *out)
{
	const char *name = item_string(item, item->file->name), *so = strstr(name, ".so");

	if (item_has_file(item) && so)
		fwrite(name, 1, (size_t)(so - name), out);
}

/* --- uniting --- */
struct found {
	uint32_t item[2], n[2]; /* by side: one of them + 1, and how many */
};

struct table {
	struct sp_intern *words;
	struct found *found; /* by number of the words */
	size_t capacity;
	uint32_t *number_of; /* by item: of its words + 1, 0 = it has none or takes no part */
};

static int criterion_intern(struct table *t, criterion *write, const struct item *item, uint32_t *ret_number)
{
	SP_FREE char *bytes = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&bytes, &len);

	if (!out)
		return -ENOMEM;
	write(item, out);
	if (fclose(out) != 0)
		return -ENOMEM;
	int64_t number =
	    len == 0 ? -1 : sp_intern_add_to(t->words, bytes, len, &t->found, &t->capacity, sizeof(*t->found), NULL);
	*ret_number = (uint32_t)(number + 1);
	return len == 0 || number >= 0 ? 0 : (int)number;
}

static bool item_is_one_sided(struct pairing *m, uint32_t i)
{
	return m->sides[class_root(m, i)] != 3;
}

static int criterion_index(struct pairing *m, struct table *t, criterion *write, enum scope scope)
{
	int r = 0;

	for (uint32_t i = 0; i < m->n && r == 0; i++) {
		const struct item *item = &m->items[i];
		if ((scope == ONE_SIDED || scope == SINGLE_PAIR) && !item_is_one_sided(m, i))
			continue;
		r = criterion_intern(t, write, item, &t->number_of[i]);
		if (r < 0 || t->number_of[i] == 0)
			continue;
		struct found *f = &t->found[t->number_of[i] - 1];
		f->item[item->side] = i + 1;
		f->n[item->side]++;
	}
	return r;
}

static void index_unite(struct pairing *m, const struct table *t, enum scope scope)
{
	for (uint32_t i = 0; i < m->n; i++) {
		if (t->number_of[i] == 0)
			continue;
		const struct found *f = &t->found[t->number_of[i] - 1];
		uint32_t side = m->items[i].side, other = f->item[1 - side], own = f->item[side];
		if (scope == ALL_CLASSES)
			classes_unite(m, i, own - 1);
		if (other == 0 || (scope == SINGLE_PAIR && (f->n[0] != 1 || f->n[1] != 1)))
			continue;
		/* several files of one side may match one of the other: all of them are one library */
		if (scope != TO_ANY || item_is_one_sided(m, i))
			classes_unite(m, i, other - 1);
	}
}

static int criterion_unite(struct pairing *m, criterion *write, enum scope scope)
{
	struct table t = {.number_of = calloc(m->n + 1, sizeof(*t.number_of))};
	int r = t.number_of && sp_intern_new(&t.words) == 0 ? criterion_index(m, &t, write, scope) : -ENOMEM;

	if (r == 0)
		index_unite(m, &t, scope);
	sp_intern_free(t.words);
	free(t.found);
	free(t.number_of);
	return r;
}

/* --- the whole --- */
static void stack_files_mark(const struct sp_profile *p, const struct sp_identity *same, uint32_t number, bool *met)
{
	struct sp_stack s = sp_profile_stack(p, number);

	for (uint32_t i = 0; i < s.n_frames; i++) {
		const struct sp_frame *frame = sp_profile_frame(p, s.frames[i]);
		met[same->files[frame->file]] = true;
		met[same->files[sp_profile_func(p, frame->func)->file]] = true;
	}
}

/* Takes only the files of the rows' frames, or of these frames' functions. */
static int pairing_items_add(struct pairing *m, const struct sp_profile *p, const struct sp_identity *same,
			     uint32_t side)
{
	SP_FREE bool *met = calloc(sp_profile_n_files(p), sizeof(*met));
	int r = !met ? -ENOMEM : 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(p) && r == 0; i++) {
		stack_files_mark(p, same, sp_profile_row(p, i)->user, met);
		stack_files_mark(p, same, sp_profile_row(p, i)->kernel, met);
	}
	for (uint32_t i = 1; i < sp_profile_n_files(p) && r == 0; i++) {
		if (!met[i])
			continue;
		r = sp_grow(&m->items, &m->capacity, m->n + 1, sizeof(*m->items));
		if (r == 0)
			m->items[m->n] = (struct item){
			    .p = p, .file = sp_profile_file(p, i), .number = i, .side = side, .up = (uint32_t)m->n};
		m->n += r == 0;
	}
	return r;
}

static int pairing_unite(struct pairing *m)
{
	static const struct {
		criterion *write;
		enum scope scope;
	} steps[] = {
	    {write_build_id, ALL_CLASSES}, {write_special_name, ALL_CLASSES}, {write_path, ONE_SIDED},
	    {write_name, ONE_SIDED},       {write_stem, SINGLE_PAIR},         {write_path, TO_ANY},
	};
	int r = 0;

	m->sides = calloc(m->n + 1, sizeof(*m->sides));
	if (!m->sides)
		return -ENOMEM;
	for (size_t i = 0; i < m->n; i++)
		m->sides[i] = (uint8_t)(1U << m->items[i].side);
	for (size_t i = 0; i < SP_COUNT(steps) && r == 0; i++)
		r = criterion_unite(m, steps[i].write, steps[i].scope);
	return r;
}

/* A build of a class. Interned, so without padding. */
struct build {
	uint32_t class, len;
	uint8_t id[SP_BUILD_ID_MAX];
};

/*
 * A class is upgraded if both sides have known builds, and one of these is on one side only. sides_of: by number of
 * the build.
 */
static int find_upgrades(const struct pairing *m, struct sp_pairs *pairs, struct sp_intern *builds, uint8_t *sides_of)
{
	SP_FREE uint8_t *known = calloc(pairs->n_classes + 1, sizeof(*known));

	if (!known)
		return -ENOMEM;
	for (size_t i = 0; i < m->n; i++) {
		const struct item *it = &m->items[i];
		struct build b = {.class = pairs->class_of[it->side][it->number], .len = it->file->build_id_len};
		memcpy(b.id, it->file->build_id, it->file->build_id_len);
		int64_t number = b.len > 0 ? sp_intern_add(builds, &b, sizeof(b)) : 0;
		if (number < 0)
			return (int)number;
		if (b.len == 0)
			continue;
		sides_of[number] |= (uint8_t)(1U << it->side);
		known[b.class] |= (uint8_t)(1U << it->side);
	}
	for (uint32_t i = 0; i < sp_intern_count(builds); i++) {
		const struct build *b = sp_intern_get(builds, i, NULL);
		pairs->upgraded[b->class] |= known[b->class] == 3 && sides_of[i] != 3;
	}
	return 0;
}

static int mark_upgrades(const struct pairing *m, struct sp_pairs *pairs)
{
	SP_FREE uint8_t *sides_of = calloc(m->n + 1, sizeof(*sides_of));
	struct sp_intern *builds = NULL;
	int r = !sides_of ? -ENOMEM : sp_intern_new(&builds);

	if (r == 0)
		r = find_upgrades(m, pairs, builds, sides_of);
	sp_intern_free(builds);
	return r;
}

static int pairing_classes_list(struct pairing *m, const struct sp_profile *const p[2],
				const struct sp_identity same[2], struct sp_pairs *pairs)
{
	SP_FREE uint32_t *class_of_top = calloc(m->n + 1, sizeof(*class_of_top));

	pairs->upgraded = calloc(m->n + 1, sizeof(*pairs->upgraded));
	for (int side = 0; side < 2; side++)
		pairs->class_of[side] = calloc(sp_profile_n_files(p[side]), sizeof(*pairs->class_of[side]));
	if (!class_of_top || !pairs->upgraded || !pairs->class_of[0] || !pairs->class_of[1])
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t top = class_root(m, i);
		if (class_of_top[top] == 0)
			class_of_top[top] = ++pairs->n_classes;
		pairs->class_of[m->items[i].side][m->items[i].number] = class_of_top[top];
	}
	for (int side = 0; side < 2; side++)
		for (uint32_t i = 1; i < sp_profile_n_files(p[side]); i++)
			pairs->class_of[side][i] = pairs->class_of[side][same[side].files[i]];
	return mark_upgrades(m, pairs);
}

int sp_pairs_new(const struct sp_profile *const p[2], const struct sp_identity same[2], struct sp_pairs *ret_pairs)
{
	struct pairing m = {0};
	struct sp_pairs pairs = {0};
	int r = pairing_items_add(&m, p[0], &same[0], 0);

	if (r == 0)
		r = pairing_items_add(&m, p[1], &same[1], 1);
	if (r == 0)
		r = pairing_unite(&m);
	if (r == 0)
		r = pairing_classes_list(&m, p, same, &pairs);
	if (r == 0)
		*ret_pairs = pairs;
	else
		sp_pairs_done(&pairs);
	free(m.items);
	free(m.sides);
	return r;
}

void sp_pairs_done(struct sp_pairs *pairs)
{
	free(pairs->class_of[0]);
	free(pairs->class_of[1]);
	free(pairs->upgraded);
	*pairs = (struct sp_pairs){0};
}

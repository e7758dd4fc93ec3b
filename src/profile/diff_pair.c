/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_pair.c: which files of two profiles are one library. Classes of files are united (union-find), first what is the
 * same for certain, then what is left over on one side only, by weaker and weaker likeness.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/mem.h"
#include "profile/priv.h"

struct item {
	const struct sp_profile *p;
	const struct sp_file *file;
	uint32_t number, side;
	uint32_t up; /* another item of the class; itself at the top */
};

struct pairing {
	struct item *items;
	size_t n, capacity;
	uint8_t *sides; /* by item at the top of its class: bits of the sides that it is on */
};

/* Writes what must be equal, nothing if that is not known. */
typedef void words_of(const struct item *item, FILE *out);

enum who {
	EVERYONE,  /* all classes with equal words are united */
	LEFT_OVER, /* classes on one side only are united with such classes of the other side */
	LAST_ONES, /* the same, if there is but one on either side */
	LATE,      /* classes on one side only join any class of the other side: an upgrade that is under way */
};

static uint32_t top_of(struct pairing *m, uint32_t i)
{
	while (m->items[i].up != i) {
		m->items[i].up = m->items[m->items[i].up].up;
		i = m->items[i].up;
	}
	return i;
}

static void unite(struct pairing *m, uint32_t a, uint32_t b)
{
	a = top_of(m, a);
	b = top_of(m, b);
	m->items[SP_MAX(a, b)].up = SP_MIN(a, b);
	m->sides[SP_MIN(a, b)] |= m->sides[SP_MAX(a, b)];
}

/* --- likenesses --------------------------------------------------------------------------------------------------- */
static bool is_plain(const struct item *item)
{
	return item->file->kind == SP_FILE_ELF || item->file->kind == SP_FILE_OTHER;
}

static const char *text(const struct item *item, uint32_t string)
{
	return sp_profile_string(item->p, string);
}

static void words_build_id(const struct item *item, FILE *out)
{
	if (item->file->build_id_len > 0 && is_plain(item))
		fwrite(item->file->build_id, 1, item->file->build_id_len, out);
}

/* The kernel, its modules, the vDSO and code without a file are what their names say. */
static void words_special(const struct item *item, FILE *out)
{
	if (!is_plain(item))
		fprintf(out, "%u%s", item->file->kind, text(item, item->file->name));
}

static void words_path(const struct item *item, FILE *out)
{
	if (is_plain(item))
		fputs(text(item, item->file->path), out);
}

static void words_name(const struct item *item, FILE *out)
{
	if (is_plain(item))
		fputs(text(item, item->file->name), out);
}

static void words_stem(const struct item *item, FILE *out)
{
	const char *name = text(item, item->file->name), *so = strstr(name, ".so");

	if (is_plain(item) && so != NULL)
		fwrite(name, 1, (size_t)(so - name), out);
}

/* --- uniting ------------------------------------------------------------------------------------------------------ */
struct found {
	uint32_t item[2], n[2]; /* by side: one of them + 1, and how many */
};

struct table {
	struct sp_intern *words;
	struct found *found; /* by number of the words */
	size_t capacity;
	uint32_t *number_of; /* by item: of its words + 1, 0 = it has none or takes no part */
};

static int number_words(struct table *t, words_of *write, const struct item *item, uint32_t *ret_number)
{
	SP_FREE char *bytes = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&bytes, &len);

	if (out == NULL)
		return -ENOMEM;
	write(item, out);
	if (fclose(out) != 0)
		return -ENOMEM;
	int64_t number = len == 0 ? -1 : sp_intern_add(t->words, bytes, len);
	*ret_number = (uint32_t)(number + 1);
	if (len == 0)
		return 0;
	if (number < 0)
		return (int)number;
	return sp_grow(&t->found, &t->capacity, (size_t)number + 1, sizeof(*t->found));
}

static bool is_left_over(struct pairing *m, uint32_t i)
{
	return m->sides[top_of(m, i)] != 3;
}

static int look_up(struct pairing *m, struct table *t, words_of *write, enum who who)
{
	int r = 0;

	for (uint32_t i = 0; i < m->n && r == 0; i++) {
		const struct item *item = &m->items[i];
		if ((who == LEFT_OVER || who == LAST_ONES) && !is_left_over(m, i))
			continue;
		r = number_words(t, write, item, &t->number_of[i]);
		if (r < 0 || t->number_of[i] == 0)
			continue;
		struct found *f = &t->found[t->number_of[i] - 1];
		f->item[item->side] = i + 1;
		f->n[item->side]++;
	}
	return r;
}

static void unite_found(struct pairing *m, const struct table *t, enum who who)
{
	for (uint32_t i = 0; i < m->n; i++) {
		if (t->number_of[i] == 0)
			continue;
		const struct found *f = &t->found[t->number_of[i] - 1];
		uint32_t side = m->items[i].side, other = f->item[1 - side], own = f->item[side];
		if (who == EVERYONE)
			unite(m, i, own - 1);
		if (other == 0 || (who == LAST_ONES && (f->n[0] != 1 || f->n[1] != 1)))
			continue;
		/* several of one side are left over for one of the other: all of them are one library */
		if (who != LATE || is_left_over(m, i))
			unite(m, i, other - 1);
	}
}

static int unite_by(struct pairing *m, words_of *write, enum who who)
{
	struct table t = {.number_of = calloc(m->n + 1, sizeof(*t.number_of))};
	int r = t.number_of != NULL && sp_intern_new(&t.words) == 0 ? look_up(m, &t, write, who) : -ENOMEM;

	if (r == 0)
		unite_found(m, &t, who);
	sp_intern_free(t.words);
	free(t.found);
	free(t.number_of);
	return r;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */
static void mark_stack(const struct sp_profile *p, const struct sp_identity *same, uint32_t number, bool *met)
{
	struct sp_stack s = sp_profile_stack(p, number);

	for (uint32_t i = 0; i < s.n_frames; i++) {
		const struct sp_frame *frame = sp_profile_frame(p, s.frames[i]);
		met[same->files[frame->file]] = true;
		met[same->files[sp_profile_func(p, frame->func)->file]] = true;
	}
}

/* The files in which frames of the rows or their functions lie: others have nothing to be compared. */
static int add_items(struct pairing *m, const struct sp_profile *p, const struct sp_identity *same, uint32_t side)
{
	SP_FREE bool *met = calloc(sp_profile_n_files(p), sizeof(*met));
	int r = met == NULL ? -ENOMEM : 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(p) && r == 0; i++) {
		mark_stack(p, same, sp_profile_row(p, i)->user, met);
		mark_stack(p, same, sp_profile_row(p, i)->kernel, met);
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

static int unite_all(struct pairing *m)
{
	static const struct {
		words_of *write;
		enum who who;
	} steps[] = {
	    {words_build_id, EVERYONE}, {words_special, EVERYONE}, {words_path, LEFT_OVER},
	    {words_name, LEFT_OVER},    {words_stem, LAST_ONES},   {words_path, LATE},
	};
	int r = 0;

	m->sides = calloc(m->n + 1, sizeof(*m->sides));
	if (m->sides == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < m->n; i++)
		m->sides[i] = (uint8_t)(1U << m->items[i].side);
	for (size_t i = 0; i < SP_COUNT(steps) && r == 0; i++)
		r = unite_by(m, steps[i].write, steps[i].who);
	return r;
}

/* A class's build, without padding: interned, it gives the build's number. */
struct build {
	uint32_t class, len;
	uint8_t id[SP_BUILD_ID_MAX];
};

/* Upgraded: both sides have known builds, and one of them is on one side only. sides_of: by number of the build. */
static int find_upgrades(const struct pairing *m, struct sp_pairs *pairs, struct sp_intern *builds, uint8_t *sides_of)
{
	SP_FREE uint8_t *known = calloc(pairs->n_classes + 1, sizeof(*known));

	if (known == NULL)
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
	int r = sides_of == NULL ? -ENOMEM : sp_intern_new(&builds);

	if (r == 0)
		r = find_upgrades(m, pairs, builds, sides_of);
	sp_intern_free(builds);
	return r;
}

static int hand_out(struct pairing *m, const struct sp_profile *const p[2], const struct sp_identity same[2],
		    struct sp_pairs *pairs)
{
	SP_FREE uint32_t *class_of_top = calloc(m->n + 1, sizeof(*class_of_top));

	pairs->upgraded = calloc(m->n + 1, sizeof(*pairs->upgraded));
	for (int side = 0; side < 2; side++)
		pairs->class_of[side] = calloc(sp_profile_n_files(p[side]), sizeof(*pairs->class_of[side]));
	if (class_of_top == NULL || pairs->upgraded == NULL || pairs->class_of[0] == NULL || pairs->class_of[1] == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t top = top_of(m, i);
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
	int r = add_items(&m, p[0], &same[0], 0);

	if (r == 0)
		r = add_items(&m, p[1], &same[1], 1);
	if (r == 0)
		r = unite_all(&m);
	if (r == 0)
		r = hand_out(&m, p, same, &pairs);
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

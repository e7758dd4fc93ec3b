/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/format/dict_pick.h"

#include "base/mem.h"

#include <errno.h>
#include <string.h>

/* --- begin and end --- */
static void select_frames(struct sp_dict_pick *p)
{
	const uint32_t *frames = p->d->frame_of.data;

	for (size_t i = 0; i < p->d->items[SP_NODES].n; i++)
		if (frames[i] < p->next[SP_FRAMES])
			sp_subtree_select(&p->needed[SP_FRAMES], frames[i]);
}

int sp_dict_pick_begin(struct sp_dict_pick *p, struct sp_dict_arrays *d)
{
	int r = 0;

	*p = (struct sp_dict_pick){.d = d};
	for (size_t i = 0; i < SP_N_DICT_KINDS && r == 0; i++) {
		if (i == SP_NODES)
			continue;
		p->next[i] = (uint32_t)d->items[i].n;
		d->items[i].n = 1;
		r = sp_subtree_init(&p->needed[i], p->next[i]);
	}
	if (r == 0)
		select_frames(p);
	return r;
}

void sp_dict_pick_done(struct sp_dict_pick *p)
{
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		sp_subtree_done(&p->needed[i]);
}

void sp_dict_pick_key(struct sp_dict_pick *p, uint32_t key)
{
	if (key < p->next[SP_KEYS])
		sp_subtree_select(&p->needed[SP_KEYS], key);
}

bool sp_dict_pick_lacks_keys(const struct sp_dict_pick *p)
{
	return sp_subtree_has(&p->needed[SP_KEYS], 1, p->next[SP_KEYS]);
}

/* --- chunks --- */
/* A number that is not of this chunk, nor of one before it, is invalid. */
static void select_ref(struct sp_dict_pick *p, enum sp_dict_kind kind, char *at, size_t each, size_t n)
{
	uint32_t number;

	for (size_t i = 0; i < n; i++, at += each) {
		memcpy(&number, at, sizeof(number));
		if (number < p->next[kind])
			sp_subtree_select(&p->needed[kind], number);
		else
			memset(at, 0, sizeof(number));
	}
}

/* What the items from `from` on refer to. */
static void select_refs(struct sp_dict_pick *p, enum sp_dict_kind kind, size_t from)
{
	const struct sp_items *items = &p->d->items[kind];
	size_t each = sp_dict_kind_bytes(kind);

	for (size_t i = 0; i < SP_DICT_REFS; i++)
		if (sp_dict_refs[i].kind == kind)
			select_ref(p, (enum sp_dict_kind)sp_dict_refs[i].to,
				   (char *)items->data + from * each + sp_dict_refs[i].offset, each, items->n - from);
}

static int take_structs(struct sp_dict_pick *p, const struct sp_chunk *c, enum sp_dict_kind kind)
{
	uint32_t first = c->first[kind], end = SP_MIN(p->next[kind], first + (uint32_t)c->items[kind].n);
	size_t each = sp_dict_kind_bytes(kind), from = p->d->items[kind].n, n = 0;
	const struct sp_subtree *needed = &p->needed[kind];

	if (end <= first)
		return 0;
	for (uint32_t w = first / 64; w <= end / 64; w++)
		n += sp_popcount(sp_subtree_bits(needed, w, first, end));
	char *item = sp_items_add(&p->d->items[kind], n, each);
	if (!item)
		return -ENOMEM;
	for (uint32_t w = end / 64 + 1; w-- > first / 64;)
		for (uint64_t bits = sp_subtree_bits(needed, w, first, end); bits != 0; item += each) {
			uint32_t bit = 63U - (uint32_t)__builtin_clzll(bits);
			bits ^= UINT64_C(1) << bit;
			memcpy(item, (const char *)c->items[kind].data + (w * 64 + bit - first) * each, each);
		}
	for (size_t i = from; i < from + n && kind == SP_FILES; i++) {
		struct sp_file *f = (struct sp_file *)p->d->items[kind].data + i;
		f->build_id_len = f->build_id_len > SP_BUILD_ID_MAX ? 0 : f->build_id_len;
	}
	select_refs(p, kind, from);
	return 0;
}

/* Of the chunk's string i. */
static bool is_taken(const struct sp_dict_pick *p, const struct sp_chunk *c, size_t i)
{
	uint32_t number = c->first[SP_STRINGS] + (uint32_t)i;

	return number < p->next[SP_STRINGS] && p->needed[SP_STRINGS].selected[number / 64] >> number % 64 & 1;
}

static int take_strings(struct sp_dict_pick *p, const struct sp_chunk *c)
{
	const uint32_t *lengths = c->items[SP_STRINGS].data;
	size_t n = 0, n_bytes = 0, at = p->d->bytes.n, from = c->bytes.n;

	for (size_t i = 0; i < c->items[SP_STRINGS].n; i++)
		if (is_taken(p, c, i)) {
			n++;
			n_bytes += lengths[i];
		}
	if (n_bytes > INT32_MAX - at)
		return -EBADMSG;
	char *string = sp_items_add(&p->d->bytes, n_bytes, 1);
	uint32_t *place = sp_items_add(&p->d->items[SP_STRINGS], n, sizeof(*place));
	if (!string || !place)
		return -ENOMEM;
	for (size_t i = c->items[SP_STRINGS].n; i-- > 0;) {
		from -= lengths[i];
		if (!is_taken(p, c, i))
			continue;
		memcpy(string, (const char *)c->bytes.data + from, lengths[i]);
		*place++ = (uint32_t)at;
		string += lengths[i];
		at += lengths[i];
	}
	return 0;
}

/* Whether no item is missing between this chunk and what has come. */
static bool is_adjacent(const struct sp_dict_pick *p, const struct sp_chunk *c)
{
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++) {
		size_t n = c->items[i].n, first = c->first[i];
		if (n > 0 && i != SP_NODES && (first == 0 || first + n > UINT32_MAX || first + n < p->next[i]))
			return false;
	}
	return true;
}

int sp_dict_pick_take(struct sp_dict_pick *p, const struct sp_chunk *c)
{
	static const uint8_t order[] = {SP_KEYS, SP_GROUPS, SP_FRAMES, SP_FUNCS,
					SP_FILES}; /* to what they refer later */
	int r = is_adjacent(p, c) ? 0 : -EBADMSG;

	for (size_t i = 0; i < SP_COUNT(order) && r == 0; i++)
		r = take_structs(p, c, (enum sp_dict_kind)order[i]);
	if (r == 0)
		r = take_strings(p, c);
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		if (c->items[i].n > 0)
			p->next[i] = SP_MIN(p->next[i], c->first[i]);
	return r;
}

/* --- the new numbers: the last item came first --- */
uint32_t sp_dict_pick_number(const struct sp_dict_pick *p, enum sp_dict_kind kind, uint32_t number)
{
	uint32_t at = number / 64 < p->needed[kind].n_words ? sp_subtree_find(&p->needed[kind], number) : 0;

	return at ? p->needed[kind].n - at : 0;
}

static void renumber(const struct sp_dict_pick *p, enum sp_dict_kind kind, char *at, size_t each, size_t n)
{
	uint32_t number, last = 0, last_new = 0; /* often the same file, or source */

	for (size_t i = 0; i < n; i++, at += each) {
		memcpy(&number, at, sizeof(number));
		if (number != last)
			last_new = sp_dict_pick_number(p, kind, number);
		last = number;
		memcpy(at, &last_new, sizeof(last_new));
	}
}

int sp_dict_pick_end(struct sp_dict_pick *p)
{
	struct sp_dict_arrays *d = p->d;

	for (size_t i = 0; i < SP_N_DICT_KINDS; i++) {
		if (i == SP_NODES)
			continue;
		sp_subtree_number_selected(&p->needed[i]);
		if (d->items[i].n != p->needed[i].n)
			return -EBADMSG;
	}
	for (size_t i = 0; i < SP_DICT_REFS; i++) {
		const struct sp_dict_ref *ref = &sp_dict_refs[i];
		renumber(p, (enum sp_dict_kind)ref->to, (char *)d->items[ref->kind].data + ref->offset,
			 sp_dict_kind_bytes((enum sp_dict_kind)ref->kind), d->items[ref->kind].n);
	}
	renumber(p, SP_FRAMES, d->frame_of.data, sizeof(uint32_t), d->frame_of.n);
	sp_dict_update(d);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/marks.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/recipe_ops.h"
#include "probe/mark.h"
#include "recipe/fields.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int said_of(const struct sp_usdt *x, struct sp_mark_said *ret_said)
{
	int r = sp_mark_parse(x->arguments, ret_said);

	return r < 0 ? sp_fail(r, "the arguments of %s:%s at 0x%" PRIx64, x->provider, x->name, x->offset) : 0;
}

/* --- fields --- */
/* Of arguments that differ: what all of their values fit into. */
static void field_merge(struct sp_field *f, const struct sp_mark_argument *a, const char *why_not)
{
	bool is_first = !f->size, is_signed = a->flags & SP_MARK_SIGNED;
	uint32_t size = a->bits / 8;

	if (is_first || (f->why_not && !why_not)) {
		f->size = size;
		f->is_signed = is_signed;
		f->why_not = why_not;
	} else if (!why_not && (f->size != size || f->is_signed != is_signed)) {
		f->size = 8;
		f->is_signed |= is_signed;
	}
}

/* What the kernel half reads has 64 bits, with its sign. */
static void field_finish(struct sp_field *f, unsigned number)
{
	static const char *const words[] = {[1] = "char", [2] = "short", [4] = "int", [8] = "long"};

	snprintf(f->name, sizeof(f->name), "arg%u", number);
	snprintf(f->type, sizeof(f->type), "%s%s", f->is_signed ? "" : "unsigned ", words[f->size]);
	f->from = f->why_not ? SP_FIELD_NOWHERE : SP_FIELD_ARGUMENT;
	f->offset = number;
	f->size = f->is_signed ? 8 : f->size;
}

static bool is_like(const struct sp_usdt *x, const struct sp_recipe_mark *like)
{
	return !like || (!strcmp(x->provider, like->provider) && !strcmp(x->name, like->name));
}

/* Where no place's note makes sense, the arguments that it could have cannot be used, and that is why. */
static void unclear_take(struct sp_recipe_probe *p, int r, struct sp_field *all)
{
	if (!p->unclear)
		p->unclear = strdup(sp_error_text(r));
	sp_error_clear();
	for (unsigned i = 0; i < SP_N_ARGUMENTS && p->unclear; i++)
		field_merge(&all[i], &(struct sp_mark_argument){.bits = 64}, p->unclear);
}

static void all_merge(struct sp_recipe_probe *p, const struct sp_recipe_mark *like, struct sp_field *all)
{
	struct sp_mark_said said;

	for (size_t i = 0; i < p->files.n; i++)
		for (size_t k = 0; k < p->places[i].marks.n; k++) {
			const struct sp_usdt *x = &p->places[i].marks.at[k];
			int r = is_like(x, like) ? said_of(x, &said) : -ENOENT;

			if (r < 0 && r != -ENOENT)
				unclear_take(p, r, all);
			for (unsigned n = 0; !r && n < said.n; n++)
				field_merge(&all[n], &said.mark.argument[n], said.why_not[n]);
		}
}

int sp_recipe_probe_mark_fields(struct sp_recipe_probe *p, const struct sp_recipe_mark *like,
				struct sp_fields *ret_fields)
{
	struct sp_field all[SP_N_ARGUMENTS] = {0};
	struct sp_fields fields = {0};

	free(sp_take_ptr(p->unclear));
	all_merge(p, like, all);
	for (unsigned i = 0; i < SP_N_ARGUMENTS && all[i].size; i++) {
		if (sp_grow(&fields.list, &fields.capacity, fields.n + 1, sizeof(*fields.list)) < 0) {
			sp_fields_done(&fields);
			return -ENOMEM;
		}
		field_finish(&all[i], i);
		fields.list[fields.n++] = all[i];
	}
	*ret_fields = fields;
	return 0;
}

bool sp_recipe_probe_mark_at(const struct sp_recipe_probe *p, size_t i, struct sp_recipe_mark *ret_mark)
{
	for (size_t k = 0; k < p->files.n; i -= p->places[k++].marks.n)
		if (i < p->places[k].marks.n) {
			const struct sp_usdt *x = &p->places[k].marks.at[i];

			*ret_mark = (struct sp_recipe_mark){p->files.files[k].path, x->provider, x->name, x->arguments,
							    x->offset};
			return true;
		}
	return false;
}

/* --- what the front is told --- */
void sp_recipe_marks_wanted(struct sp_recipe_point *point)
{
	struct sp_recipe_probe *p = point->probe;

	for (size_t i = 0; i < SP_N_OPS && point->slot.ops[i].kind != SP_OP_END; i++)
		if (point->slot.ops[i].kind == SP_OP_ARGUMENT)
			p->wanted |= (uint16_t)(1U << (point->slot.ops[i].imm & 15));
	if (p->wanted)
		point->slot.flags |= SP_SLOT_MARK;
}

static int mark_make(const struct sp_recipe_probe *p, const struct sp_usdt *x, struct sp_mark_place *ret_mark)
{
	struct sp_mark_place mark = {0};
	struct sp_mark_said said;
	int r = said_of(x, &said);

	for (unsigned i = 0; i < SP_N_ARGUMENTS && !r; i++) {
		if (!(p->wanted >> i & 1))
			continue;
		if (i >= said.n)
			return sp_fail_said(-EBADMSG, "%s:%s at 0x%" PRIx64 " has no arg%u: it has %u", x->provider,
					    x->name, x->offset, i, said.n);
		if (said.why_not[i])
			return sp_fail_said(-EBADMSG, "arg%u of %s:%s at 0x%" PRIx64 " cannot be read: %s", i,
					    x->provider, x->name, x->offset, said.why_not[i]);
		mark.argument[i] = said.mark.argument[i];
	}
	*ret_mark = mark;
	return r;
}

static int mark_tell(const struct sp_recipe_probe *p, uint64_t number)
{
	const void *mark = sp_intern_get(p->marks, (uint32_t)number, NULL);

	return p->front < 0 || !bpf_map_update_elem(p->front, &number, mark, BPF_ANY)
		   ? 0
		   : sp_fail(-errno, "tell a BPF program of arguments");
}

/* A user other than root has at most half of what the others leave, so that there is always room for one more. */
static int mark_room(const struct sp_recipe_probe *p, uint64_t user)
{
	size_t n = sp_intern_count(p->marks), own = 0, most;

	if (n == SP_MARKS)
		return sp_fail_said(-E2BIG, "the arguments are in more than %d different places", SP_MARKS);
	for (size_t i = 0; i < n; i++)
		own += p->mark_users[i] == user;
	most = (SP_MARKS - (n - own)) / 2;
	if (!user || own < most)
		return 0;
	return sp_fail_said(-E2BIG, "the arguments are in more than the %zu different places that one user may have",
			    most);
}

static int mark_add(struct sp_recipe_probe *p, const struct sp_mark_place *mark, uint64_t user, uint64_t *ret_number)
{
	int64_t number = mark_room(p, user);

	if (number == 0)
		number = sp_intern_add_to(p->marks, mark, sizeof(*mark), &p->mark_users, &p->mark_users_capacity,
					  sizeof(*p->mark_users), NULL);
	if (number < 0)
		return (int)number;
	p->mark_users[number] = user;
	*ret_number = (uint64_t)number;
	return mark_tell(p, *ret_number);
}

static int mark_number(struct sp_recipe_probe *p, const struct sp_mark_place *mark, uint64_t user, uint64_t *ret_number)
{
	int64_t number = p->marks ? 0 : sp_intern_new_bare(&p->marks);

	if (number < 0)
		return (int)number;
	number = sp_intern_find(p->marks, mark, sizeof(*mark));
	if (number < 0)
		return mark_add(p, mark, user, ret_number);
	*ret_number = (uint64_t)number;
	return 0;
}

int sp_recipe_marks_number(struct sp_recipe_probe *p, size_t file)
{
	struct places *places = &p->places[file];
	struct sp_mark_place mark;
	int r = 0;

	if (!p->wanted)
		return 0;
	free(places->cookies);
	places->cookies = calloc(places->marks.n + 1, sizeof(*places->cookies));
	if (!places->cookies)
		return -ENOMEM;
	for (size_t i = 0; i < places->marks.n && r >= 0; i++) {
		r = mark_make(p, &places->marks.at[i], &mark);
		if (r >= 0)
			r = mark_number(p, &mark, p->files.files[file].user, &places->cookies[i]);
	}
	return r;
}

int sp_recipe_marks_number_all(struct sp_recipe_probe *p)
{
	for (size_t i = 0; i < p->files.n; i++) {
		int r = sp_recipe_marks_number(p, i);

		if (r == -ENOMEM)
			return r;
		if (r >= 0)
			continue;
		sp_recipe_probe_note(p, p->files.files[i].path, sp_error_text(r));
		sp_error_clear();
		p->n_places -= p->places[i].n;
		p->places[i].n = 0;
	}
	return p->n_places || !p->failure ? 0 : sp_fail_said(-EINVAL, "%s", p->failure);
}

int sp_recipe_probe_front(struct sp_recipe_probe *p, int map)
{
	int r = 0;

	p->front = map;
	for (uint32_t i = 0; p->marks && i < sp_intern_count(p->marks) && r >= 0; i++)
		r = mark_tell(p, i);
	return r;
}

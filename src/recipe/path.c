/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/path.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "recipe/fields.h"
#include "recipe/types.h"
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_OFFSET = 1 << 30 };

struct path {
	struct sp_expr *e;
	struct sp_expr_node *node; /* the member or index */
	const struct sp_field *of; /* what it is of */
	const struct btf *btf;
};

static int not_so(const struct path *p, const char *why)
{
	return sp_fail_at(-EINVAL, p->e->text, p->node->at, "%s is %s: %s", p->of->name, p->of->type, why);
}

static const struct btf_type *type_of(const struct path *p, uint32_t id)
{
	int r = btf__resolve_type(p->btf, id);

	return r < 0 ? NULL : btf__type_by_id(p->btf, (uint32_t)r);
}

/* What a pointer leads to; 0: it is none, or to nothing that is known. */
static uint32_t pointee(const struct path *p)
{
	const struct btf_type *t = p->of->type_id ? type_of(p, p->of->type_id) : NULL;

	if (!p->of->type_id)
		return sp_type_of_words(p->btf, p->of->type);
	return t && btf_is_ptr(t) ? t->type : 0;
}

/* --- members --- */
struct names {
	struct sp_suggest near;
	char list[512];
	size_t used;
};

static void name_offer(void *arg, const char *name)
{
	struct names *n = arg;

	sp_suggest_offer(&n->near, name);
	if (n->used < sizeof(n->list))
		n->used +=
		    (size_t)snprintf(n->list + n->used, sizeof(n->list) - n->used, "%s%s", n->used ? ", " : "", name);
}

static int member_unknown(const struct path *p, uint32_t structure)
{
	char word[SP_SUGGEST_MAX + 1];
	struct names n = {.near.word = word};
	struct sp_field what = {.size = 0};

	sp_type_describe(p->btf, structure, &what);
	snprintf(word, sizeof(word), "%.*s", (int)SP_MIN(p->node->length, sizeof(word)), p->e->text + p->node->at);
	sp_type_members(p->btf, structure, name_offer, &n);
	if (n.near.best)
		return sp_fail_at(-EINVAL, p->e->text, p->node->at,
				  "%s has no member '%s' in this kernel; did you mean %s?", what.type, word,
				  n.near.best);
	if (n.used >= sizeof(n.list) || !n.used)
		return sp_fail_at(-EINVAL, p->e->text, p->node->at, "%s has no member '%s' in this kernel", what.type,
				  word);
	return sp_fail_at(-EINVAL, p->e->text, p->node->at, "%s has no member '%s' in this kernel; it has %s",
			  what.type, word, n.list);
}

/* A bit-field is read with the bytes that it touches. */
static int bits_take(const struct path *p, const struct sp_member *member, struct sp_field *place)
{
	place->bit = (uint8_t)(member->bit % 8);
	place->n_bits = (uint8_t)member->n_bits;
	place->size = (place->bit + member->n_bits + 7) / 8;
	return place->size <= 8 ? 0 : not_so(p, "its bits are in more than 8 bytes");
}

static int member_resolve(const struct path *p, uint32_t structure, struct sp_field *place)
{
	struct sp_member member;

	if (sp_type_member(p->btf, structure, p->e->text + p->node->at, p->node->length, &member) < 0)
		return member_unknown(p, structure);
	place->type_id = member.type;
	snprintf(place->name, sizeof(place->name), "%.*s", (int)p->node->length, p->e->text + p->node->at);
	sp_type_describe(p->btf, member.type, place);
	place->offset += member.bit / 8;
	return member.n_bits ? bits_take(p, &member, place) : 0;
}

static int arrow_resolve(const struct path *p, struct sp_field *place)
{
	uint32_t to = pointee(p);
	const struct btf_type *t = to ? type_of(p, to) : NULL;

	if (!to && p->of->from == SP_FIELD_PLACE && type_of(p, p->of->type_id) &&
	    btf_is_composite(type_of(p, p->of->type_id)))
		return not_so(p, "its members follow '.'");
	if (t && btf_is_ptr(t))
		return not_so(p, "what it points to follows [0]");
	if (!t || !btf_is_composite(t))
		return not_so(p, "no pointer to a structure whose members the kernel's types have");
	place->base = p->node->a;
	return member_resolve(p, to, place);
}

static int dot_resolve(const struct path *p, struct sp_field *place)
{
	const struct btf_type *t = p->of->from == SP_FIELD_PLACE ? type_of(p, p->of->type_id) : NULL;

	if (pointee(p))
		return not_so(p, "its members follow '->'");
	if (!t || !btf_is_composite(t))
		return not_so(p, "no structure");
	place->base = p->of->base;
	place->offset = p->of->offset;
	return member_resolve(p, p->of->type_id, place);
}

/* --- [number] --- */
static int element_take(const struct path *p, uint32_t type, uint64_t number, struct sp_field *place)
{
	int64_t size = btf__resolve_size(p->btf, type);
	uint64_t offset;

	if (size <= 0)
		return not_so(p, "the size of what it has is not known");
	if (__builtin_mul_overflow(number, (uint64_t)size, &offset) || offset > MAX_OFFSET)
		return not_so(p, "it has nothing at so high a number");
	place->offset += (uint32_t)offset;
	place->type_id = type;
	snprintf(place->name, sizeof(place->name), "%s", p->of->name);
	sp_type_describe(p->btf, type, place);
	return 0;
}

static int node_add(const struct path *p, const struct sp_expr_node *node, uint16_t *ret_number)
{
	struct sp_expr *e = p->e;

	if (e->n == SP_EXPR_NODES)
		return sp_fail_at(-EINVAL, e->text, p->node->at, "the expression has more than %d parts",
				  SP_EXPR_NODES);
	e->nodes[++e->n] = *node;
	*ret_number = e->n;
	return 0;
}

/* An element whose number is computed: its address is a sum, which becomes a part of the expression. */
static int element_compute(const struct path *p, uint32_t type, uint16_t of, struct sp_field *place)
{
	int64_t size = btf__resolve_size(p->btf, type);
	struct sp_expr_node node = {.kind = SP_EXPR_NUMBER, .at = p->node->at, .number = (uint64_t)size};
	uint16_t number = 0;
	int r = size > 0 ? node_add(p, &node, &number) : not_so(p, "the size of what it has is not known");

	node = (struct sp_expr_node){.kind = SP_EXPR_BINARY, .op = SP_EXPR_MUL, .at = node.at, .a = p->node->b};
	node.b = number;
	if (!r)
		r = node_add(p, &node, &number);
	node.op = SP_EXPR_ADD;
	node.a = of;
	node.b = number;
	return r ? r : node_add(p, &node, &place->base);
}

/* Either the number is constant, which moves the place, or it is computed. */
static int index_take(const struct path *p, uint32_t type, uint16_t base, struct sp_field *place)
{
	uint64_t number = 0;
	bool is_constant = sp_expr_constant(p->e, p->node->b, &number);
	int r = 0;

	if (number > MAX_OFFSET)
		return sp_fail_at(-EINVAL, p->e->text, p->e->nodes[p->node->b].at,
				  "there is nothing at such a number: 0, 1 ...");
	place->base = base;
	if (!is_constant)
		r = element_compute(p, type, base, place);
	return r ? r : element_take(p, type, number, place);
}

static int index_resolve(const struct path *p, struct sp_field *place)
{
	const struct btf_type *t = p->of->type_id ? type_of(p, p->of->type_id) : NULL;
	uint64_t number;

	if (t && btf_is_array(t) && p->of->from == SP_FIELD_PLACE) {
		if (btf_array(t)->nelems && sp_expr_constant(p->e, p->node->b, &number) &&
		    number >= btf_array(t)->nelems && number <= MAX_OFFSET)
			return sp_fail_at(-EINVAL, p->e->text, p->node->at, "%s has no more than %u", p->of->name,
					  btf_array(t)->nelems);
		place->offset = p->of->offset;
		return index_take(p, btf_array(t)->type, p->of->base, place);
	}
	if (!pointee(p))
		return not_so(p, "neither an array nor a pointer to what is known");
	return index_take(p, pointee(p), p->node->a, place);
}

/* --- (struct NAME *) --- */
/* The same number, as another pointer. */
static int cast_resolve(const struct path *p, struct sp_field *place)
{
	char name[48];

	if (p->of->is_text || p->of->why_not || sp_field_bits(p->of) != 64)
		return not_so(p, "no pointer");
	*place = *p->of;
	place->type_id = 0;
	place->is_string = place->is_signed = false;
	if (sscanf(p->e->text + p->node->at, "struct %47[A-Za-z0-9_]", name) != 1)
		return sp_fail_at(-EINVAL, p->e->text, p->node->at, "this is no structure's name");
	snprintf(place->type, sizeof(place->type), "struct %s *", name);
	if (sp_type_of_words(p->btf, place->type))
		return 0;
	return sp_fail_at(-EINVAL, p->e->text, p->node->at, "this kernel has no struct %s", name);
}

/* --- */
int sp_path_resolve(struct sp_expr *expr, uint16_t number, const struct sp_fields *fields)
{
	struct path p = {.e = expr, .node = &expr->nodes[number]};
	struct sp_field *place = &expr->places[expr->n_places];
	struct btf *kernel = NULL;
	int r = 0;

	p.of = expr->nodes[p.node->a].kind == SP_EXPR_NAME ? expr->nodes[p.node->a].field : NULL;
	if (!p.of)
		return sp_fail_at(-EINVAL, expr->text, p.node->at, "only a name has members");
	if (expr->n_places == SP_EXPR_PLACES)
		return sp_fail_at(-EINVAL, expr->text, p.node->at, "more than %d members", SP_EXPR_PLACES);
	if (!fields->btf)
		r = fields->types ? sp_types_load(fields->types, &kernel) : -EINVAL;
	if (r < 0)
		return sp_fail_at(r, expr->text, p.node->at, "members cannot be read here");
	p.btf = fields->btf ? fields->btf : kernel;
	*place = (struct sp_field){.from = SP_FIELD_PLACE};
	if (p.node->kind == SP_EXPR_CAST)
		r = cast_resolve(&p, place);
	else if (p.node->kind == SP_EXPR_INDEX)
		r = index_resolve(&p, place);
	else
		r = p.node->op == SP_EXPR_ARROW ? arrow_resolve(&p, place) : dot_resolve(&p, place);
	if (r < 0)
		return r;
	p.node->kind = SP_EXPR_NAME;
	p.node->field = place;
	expr->n_places++;
	return 0;
}

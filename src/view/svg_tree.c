/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/svg_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "view/view.h"

/* Filling a tree: the profile's frames are looked up once each, not once a row. */
struct filler {
	struct sp_svg_tree *t;
	const struct sp_profile *p;
	uint32_t *entities;  /* frame -> entity, or NO_NUMBER */
	uint32_t *libraries; /* file -> library, or NO_NUMBER */
	uint32_t truncated, absent, row;
	int64_t value;
};
enum { NO_NUMBER = UINT32_MAX };

static int64_t add_name(struct sp_svg_tree *t, const char *name)
{
	return sp_intern_add(t->names, name, strlen(name) + 1);
}

/* Equal build ids are one library whatever the path; without one, the path decides. */
static int64_t add_library(struct sp_svg_tree *t, const struct sp_profile *p, const struct sp_file *file)
{
	const char *name = sp_profile_string(p, file->name), *path = sp_profile_string(p, file->path);
	SP_FREE char *key = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&key, &len);
	if (!f)
		return -ENOMEM;
	if (!name[0] && strrchr(path, '/'))
		name = strrchr(path, '/') + 1;
	name = name[0] ? name : "[unknown]";
	fprintf(f, "%c%s%c", file->kind == SP_FILE_KERNEL ? 'k' : 'u', name, 0);
	if (file->build_id_len)
		fwrite(file->build_id, 1, SP_MIN(file->build_id_len, SP_BUILD_ID_MAX), f);
	else
		fprintf(f, "%c%s", 0, path);
	if (fclose(f))
		return -ENOMEM;
	int64_t library = sp_intern_add(t->library_keys, key, len);
	if (library < 0 || (size_t)library < t->libraries_capacity)
		return library;
	return sp_grow(&t->libraries, &t->libraries_capacity, (size_t)library + 1, sizeof(*t->libraries)) ?: library;
}

static int64_t library_of(struct filler *f, uint32_t file)
{
	const struct sp_file *it = sp_profile_file(f->p, file);
	if (!file || f->libraries[file] != NO_NUMBER)
		return file ? f->libraries[file] : 0;
	int64_t library = add_library(f->t, f->p, it);
	if (library < 0)
		return library;
	struct sp_svg_library *l = &f->t->libraries[library];
	l->name = (const char *)sp_intern_get(f->t->library_keys, (uint32_t)library, NULL) + 1;
	l->is_kernel = it->kind == SP_FILE_KERNEL;
	for (size_t i = 0; i < SP_MIN(it->build_id_len, sizeof(l->build_id) / 2); i++)
		snprintf(l->build_id + 2 * i, 3, "%02x", it->build_id[i]);
	f->libraries[file] = (uint32_t)library;
	return library;
}

static int64_t add_entity(struct sp_svg_tree *t, const char *name, uint32_t library, enum sp_svg_kind kind)
{
	int64_t number = add_name(t, name);
	if (number < 0)
		return number;
	struct sp_svg_entity entity = {.name = (uint32_t)number, .library = library, .kind = kind};
	return sp_intern_add(t->entity_keys, &entity, sizeof(entity));
}

static int64_t entity_of(struct filler *f, uint32_t frame)
{
	if (f->entities[frame] != NO_NUMBER)
		return f->entities[frame];
	const struct sp_frame *it = sp_profile_frame(f->p, frame);
	int64_t library = library_of(f, it->file);
	if (library < 0)
		return library;
	const char *name = it->func ? sp_profile_string(f->p, sp_profile_func(f->p, it->func)->name) : "";
	bool is_kernel = it->flags & SP_FRAMEF_KERNEL || f->t->libraries[library].is_kernel;
	bool is_guessed = it->flags & SP_FRAMEF_GUESSED;
	int64_t entity = add_entity(f->t, name[0] ? name : "[unknown]", (uint32_t)library,
				    is_kernel    ? SP_SVG_KERNEL
				    : is_guessed ? SP_SVG_GUESSED
						 : SP_SVG_USER);
	if (entity >= 0)
		f->entities[frame] = (uint32_t)entity;
	return entity;
}

/* The child of *node for this entity, made if need be, gets the row's value and becomes *node. */
static int descend(struct filler *f, int64_t entity, uint32_t *node)
{
	if (entity < 0)
		return (int)entity;
	struct sp_svg_tree *t = f->t;
	const uint32_t key[2] = {*node, (uint32_t)entity};
	int64_t number = sp_intern_add(t->node_keys, key, sizeof(key));
	if (number < 0)
		return (int)number;
	int r = sp_grow(&t->nodes, &t->nodes_capacity, (size_t)number + 1, sizeof(*t->nodes));
	if (r < 0)
		return r;
	struct sp_svg_node *child = &t->nodes[number];
	child->parent = *node == NO_NUMBER ? 0 : *node;
	child->depth = *node == NO_NUMBER ? 0 : t->nodes[*node].depth + 1;
	child->entity = (uint32_t)entity;
	*node = (uint32_t)number;
	return __builtin_add_overflow(child->value, f->value, &child->value) ? -EOVERFLOW : 0;
}

/* No sum of a library can overflow: the root's sum, which is larger, was made before. */
static void count_library(struct filler *f, int64_t entity)
{
	const struct sp_svg_entity *e = sp_intern_get(f->t->entity_keys, (uint32_t)entity, NULL);
	struct sp_svg_library *l = &f->t->libraries[e->library];
	if (l->row != f->row + 1)
		l->total += f->value;
	l->row = f->row + 1;
}

static int descend_stack(struct filler *f, uint32_t stack, uint32_t *node)
{
	struct sp_stack s = sp_profile_stack(f->p, stack);
	int r = 0;
	if (stack && s.stack_class == SP_STACK_CUT)
		r = descend(f, f->truncated, node);
	if (stack && s.stack_class == SP_STACK_ABSENT && !s.n_frames)
		r = descend(f, f->absent, node);
	for (uint32_t i = s.n_frames; i-- && r >= 0;) {
		int64_t entity = entity_of(f, s.frames[i]);
		r = descend(f, entity, node);
		if (r >= 0)
			count_library(f, entity);
	}
	return r;
}

static int add_row(struct filler *f, const struct sp_row *row, const struct sp_view_options *o)
{
	const struct sp_key *key = sp_profile_key(f->p, row->key);
	const struct sp_process *process = sp_profile_process(f->p, key->process);
	const char *comm = sp_profile_string(f->p, key->comm ? key->comm : process->comm);
	uint32_t node = 0;
	f->value = row->values[o->value];
	int r = __builtin_add_overflow(f->t->nodes[0].value, f->value, &f->t->nodes[0].value) ? -EOVERFLOW : 0;
	if (r >= 0)
		r = descend(f, add_entity(f->t, comm[0] ? comm : "[unknown]", 0, SP_SVG_PLAIN), &node);
	if (r >= 0 && !o->kernel_only)
		r = descend_stack(f, row->user, &node);
	if (r >= 0 && !o->user_only)
		r = descend_stack(f, row->kernel, &node);
	if (r >= 0)
		f->t->libraries[sp_svg_tree_entity(f->t, node)->library].self += f->value;
	return r;
}

static int add_rows(struct filler *f, const struct sp_view_options *o)
{
	for (f->row = 0; f->row < sp_profile_n_rows(f->p); f->row++) {
		const struct sp_row *row = sp_profile_row(f->p, f->row);
		f->t->n_negative += row->values[o->value] < 0;
		int r = row->values[o->value] > 0 ? add_row(f, row, o) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

static int compare_entities(const void *a, const void *b, void *arg)
{
	const struct sp_svg_tree *t = arg;
	const struct sp_svg_entity *x = sp_intern_get(t->entity_keys, *(const uint32_t *)a, NULL);
	const struct sp_svg_entity *y = sp_intern_get(t->entity_keys, *(const uint32_t *)b, NULL);
	int c = strcmp(sp_intern_get(t->names, x->name, NULL), sp_intern_get(t->names, y->name, NULL));
	const struct sp_svg_library *l = &t->libraries[x->library], *m = &t->libraries[y->library];
	if (!c && x->library != y->library)
		c = strcmp(l->name, m->name) ?: strcmp(l->build_id, m->build_id);
	if (!c && x->kind != y->kind)
		c = x->kind < y->kind ? -1 : 1;
	return c ?: (x->library > y->library) - (x->library < y->library);
}

struct ranked {
	const struct sp_svg_tree *t;
	const uint32_t *ranks; /* entity -> its place in the order */
};

/* Backwards, as each is then put in front of its siblings. */
static int compare_nodes(const void *a, const void *b, void *arg)
{
	const struct ranked *ranked = arg;
	uint32_t x = ranked->ranks[ranked->t->nodes[*(const uint32_t *)a].entity];
	uint32_t y = ranked->ranks[ranked->t->nodes[*(const uint32_t *)b].entity];
	return (y > x) - (y < x);
}

static uint32_t *numbers_upto(uint32_t n)
{
	uint32_t *numbers = calloc(n ? n : 1, sizeof(*numbers));
	for (uint32_t i = 0; numbers && i < n; i++)
		numbers[i] = i;
	return numbers;
}

static int sort(struct sp_svg_tree *t)
{
	uint32_t n_entities = sp_intern_count(t->entity_keys), n_nodes = sp_svg_tree_n_nodes(t);
	SP_FREE uint32_t *entities = numbers_upto(n_entities);
	SP_FREE uint32_t *ranks = numbers_upto(n_entities);
	SP_FREE uint32_t *nodes = numbers_upto(n_nodes);
	if (!entities || !ranks || !nodes)
		return -ENOMEM;
	qsort_r(entities, n_entities, sizeof(*entities), compare_entities, t);
	for (uint32_t i = 0; i < n_entities; i++)
		ranks[entities[i]] = i;
	qsort_r(nodes, n_nodes, sizeof(*nodes), compare_nodes, &(struct ranked){t, ranks});
	for (uint32_t i = 0; i < n_nodes; i++) {
		struct sp_svg_node *node = &t->nodes[nodes[i]];
		if (!nodes[i])
			continue; /* the root is nobody's child */
		node->next = t->nodes[node->parent].first;
		t->nodes[node->parent].first = nodes[i];
	}
	return 0;
}

static int init_tables(struct sp_svg_tree *t)
{
	int r = sp_intern_new(&t->names);
	r = r < 0 ? r : sp_intern_new(&t->library_keys);
	r = r < 0 ? r : sp_intern_new(&t->entity_keys);
	r = r < 0 ? r : sp_intern_new(&t->node_keys);
	r = r < 0 ? r : sp_grow(&t->libraries, &t->libraries_capacity, 1, sizeof(*t->libraries));
	if (r < 0)
		return r;
	t->libraries[0].name = "";
	int64_t none = sp_intern_add(t->library_keys, "", 0); /* number 0: no library */
	return none < 0 ? (int)none : 0;
}

static int fill(struct filler *f, const struct sp_view_options *o)
{
	uint32_t root = NO_NUMBER;
	int64_t truncated = add_entity(f->t, "[truncated]", 0, SP_SVG_NOTE);
	int64_t absent = add_entity(f->t, "[no user stack]", 0, SP_SVG_NOTE);
	int r = descend(f, add_entity(f->t, "all", 0, SP_SVG_PLAIN), &root);
	if (r < 0 || truncated < 0 || absent < 0)
		return r < 0 ? r : -ENOMEM;
	memset(f->entities, 0xff, sp_profile_n_frames(f->p) * sizeof(*f->entities));
	memset(f->libraries, 0xff, sp_profile_n_files(f->p) * sizeof(*f->libraries));
	f->truncated = (uint32_t)truncated;
	f->absent = (uint32_t)absent;
	r = add_rows(f, o);
	return r < 0 ? r : sort(f->t);
}

int sp_svg_tree_new(const struct sp_profile *p, const struct sp_view_options *o, struct sp_svg_tree **ret_tree)
{
	if (o->value >= sp_profile_n_value_types(p))
		return sp_fail(-EINVAL, "value %u of a profile that has %u", o->value, sp_profile_n_value_types(p));
	SP_FREE uint32_t *entities = calloc(sp_profile_n_frames(p) + 1U, sizeof(*entities));
	SP_FREE uint32_t *libraries = calloc(sp_profile_n_files(p) + 1U, sizeof(*libraries));
	struct sp_svg_tree *t = calloc(1, sizeof(*t));
	struct filler f = {.t = t, .p = p, .entities = entities, .libraries = libraries};
	int r = t && entities && libraries ? init_tables(t) : -ENOMEM;
	if (r >= 0)
		r = fill(&f, o);
	if (r < 0) {
		sp_svg_tree_free(t);
		return sp_fail(r, "merge the stacks");
	}
	*ret_tree = t;
	return 0;
}

void sp_svg_tree_free(struct sp_svg_tree *t)
{
	if (!t)
		return;
	sp_intern_free(t->names);
	sp_intern_free(t->library_keys);
	sp_intern_free(t->entity_keys);
	sp_intern_free(t->node_keys);
	free(t->libraries);
	free(t->nodes);
	free(t);
}

uint32_t sp_svg_tree_n_nodes(const struct sp_svg_tree *t)
{
	return sp_intern_count(t->node_keys);
}

uint32_t sp_svg_tree_n_libraries(const struct sp_svg_tree *t)
{
	return sp_intern_count(t->library_keys);
}

const struct sp_svg_entity *sp_svg_tree_entity(const struct sp_svg_tree *t, uint32_t node)
{
	return sp_intern_get(t->entity_keys, t->nodes[node].entity, NULL);
}

const char *sp_svg_tree_name(const struct sp_svg_tree *t, uint32_t node)
{
	return sp_intern_get(t->names, sp_svg_tree_entity(t, node)->name, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/objects.h"
#include "base/mem.h"
#include "capture/priv.h"
#include "profile/profile.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
	struct sp_count_key key;
	struct sp_count value;
};
struct sp_objects {
	struct sp_listed announced; /* struct sp_message_object, by id */
	struct sp_listed rows;      /* struct row, by key */
	struct sp_lock_place *places;
	size_t n_places, place_capacity;
};

int sp_objects_open(struct sp_capture *c)
{
	bool is_asked = c->o.objects || c->o.wakers;
	struct sp_objects *o = c->objects = is_asked ? calloc(1, sizeof(*o)) : NULL;
	int r;

	if (!o)
		return is_asked ? -ENOMEM : 0;
	r = sp_listed_init(&o->announced, sizeof(struct sp_message_object));
	return r < 0 ? r : sp_listed_init(&o->rows, sizeof(struct row));
}

void sp_objects_done(struct sp_capture *c)
{
	struct sp_objects *o = c->objects;

	if (!o)
		return;
	sp_listed_done(&o->announced);
	sp_listed_done(&o->rows);
	free(o->places);
	free(sp_take_ptr(c->objects));
}

int sp_objects_take(struct sp_capture *c, const struct sp_message_object *r)
{
	struct sp_objects *o = c->objects;

	if (!o || r->kind >= SP_N_OBJECT_KINDS)
		return -EBADMSG;
	return sp_listed_find(&o->announced, &r->id, sizeof(r->id))
		   ? 0
		   : sp_listed_add(&o->announced, &r->id, sizeof(r->id), r);
}

int sp_objects_keep(struct sp_capture *c, const struct sp_count_key *key, const struct sp_count *value)
{
	struct row *row = sp_listed_find(&c->objects->rows, key, sizeof(*key));

	if (!row)
		return sp_listed_add(&c->objects->rows, key, sizeof(*key), &(struct row){.key = *key, .value = *value});
	row->value.n += value->n;
	row->value.weight += value->weight;
	return 0;
}

int sp_objects_finish(struct sp_capture *c)
{
	struct sp_listed *rows = c->objects ? &c->objects->rows : NULL;
	int r = 0;

	for (size_t i = 0; rows && i < rows->n && !r; i++) {
		const struct row *row = (const struct row *)rows->list + i;

		r = sp_drain_add(c, &row->key, &row->value, sp_drain_user_stack(c, &row->key, row->value.n));
	}
	if (rows)
		rows->n = 0;
	return r;
}

/* --- names --- */
static const char *file_name(const struct sp_capture *c, const struct sp_message_object *object)
{
	uint32_t file = sp_numbers_find(&c->file_keys, &object->key, sizeof(object->key));
	const char *name = file ? sp_profile_string(c->profile, sp_profile_file(c->profile, file)->name) : "";

	return *name ? name : *object->name ? object->name : "[file]";
}

/* In brackets, as /proc/PID/maps has it; "" for a file's. */
static const char *kind_word(uint32_t kind)
{
	static const char *const words[SP_N_OBJECT_KINDS] = {
	    [SP_OBJECT_NONE] = "unmapped", [SP_OBJECT_HEAP] = "heap", [SP_OBJECT_STACK] = "stack",
	    [SP_OBJECT_ANON] = "anon",     [SP_OBJECT_VDSO] = "vdso", [SP_OBJECT_VVAR] = "vvar"};

	return words[kind] ? words[kind] : "";
}

static void memory_write(const struct sp_capture *c, const struct sp_message_object *object, char *ret, size_t size)
{
	const char *word = kind_word(object->kind);
	const char *part = object->kind == SP_OBJECT_CODE ? " code" : object->kind == SP_OBJECT_DATA ? " data" : "";

	if (*word)
		snprintf(ret, size, "[%s]", word);
	else
		snprintf(ret, size, "%s%s", file_name(c, object), part);
}

/* Where the object is in its file's symbol tables; false: it is in none. */
static bool place_of(const struct sp_capture *c, const struct sp_message_object *object, uint64_t *ret_vaddr)
{
	uint32_t file = sp_numbers_find(&c->file_keys, &object->key, sizeof(object->key));
	bool is_known = file < c->n_known && c->known[file].image_bytes;
	uint64_t at = object->at - object->image;

	*ret_vaddr = at;
	if (!object->image)
		return !*kind_word(object->kind);
	if (is_known)
		*ret_vaddr += c->known[file].image_vaddr;
	return object->kind == SP_OBJECT_ANON ? is_known && at < c->known[file].image_bytes : !*kind_word(object->kind);
}

/* A lock in a library is the same in all processes; one in memory without a file is its process's. */
static void lock_write(const struct sp_capture *c, const struct sp_count_key *key,
		       const struct sp_message_object *object, char *ret, size_t size)
{
	uint32_t process = sp_numbers_find(&c->process_keys, &key->process, sizeof(key->process));
	uint32_t pid = sp_profile_process(c->profile, process)->pid;
	uint64_t vaddr;

	if (place_of(c, object, &vaddr))
		snprintf(ret, size, "%s+0x%" PRIx64, file_name(c, object), vaddr);
	else
		snprintf(ret, size, "[%s:%" PRIu32 "]+0x%llx", kind_word(object->kind), pid,
			 (unsigned long long)object->at);
}

/* What the key names; a kind of memory needs no message. False: its message never came. */
static bool object_of(const struct sp_capture *c, sp_u64 id, struct sp_message_object *ret)
{
	const struct sp_message_object *announced;

	if (!(id & SP_OBJECT_HASH)) {
		*ret = (struct sp_message_object){.kind = (uint32_t)(id >> SP_OBJECT_KIND_SHIFT)};
		return ret->kind < SP_N_OBJECT_KINDS;
	}
	announced = sp_listed_find(&c->objects->announced, &id, sizeof(id));
	if (announced)
		*ret = *announced;
	return announced != NULL;
}

static int label_make(struct sp_capture *c, const char *name, const char *word, struct sp_label *ret)
{
	int64_t of = sp_profile_add_string(c->profile, name), value = sp_profile_add_string(c->profile, word);

	if (of < 0 || value < 0)
		return -ENOMEM;
	*ret = (struct sp_label){.name = (uint32_t)of, .word = (uint32_t)value};
	return 0;
}

const struct sp_lock_place *sp_capture_lock_places(const struct sp_capture *c, size_t *ret_n)
{
	*ret_n = c->objects ? c->objects->n_places : 0;
	return *ret_n ? c->objects->places : NULL;
}

/* Keeps where a lock in a file is, whose label is there. */
static int place_keep(struct sp_capture *c, const struct sp_message_object *object, const struct sp_label *label)
{
	struct sp_objects *o = c->objects;
	uint32_t file = sp_numbers_find(&c->file_keys, &object->key, sizeof(object->key));
	uint64_t vaddr;

	if (!place_of(c, object, &vaddr) || !file)
		return 0;
	return SP_APPEND(o->places, o->n_places, o->place_capacity,
			 (struct sp_lock_place){.word = label->word, .file = file, .at = vaddr});
}

static int lock_label(struct sp_capture *c, const struct sp_count_key *key, struct sp_label *ret_label)
{
	char text[2 * SP_NAME_LEN + 32] = "[unknown]";
	struct sp_message_object object;
	bool is_known = object_of(c, key->object, &object);
	int r;

	if (is_known)
		lock_write(c, key, &object, text, sizeof(text));
	r = label_make(c, "lock", text, ret_label);
	return r < 0 || !is_known ? r : place_keep(c, &object, ret_label);
}

int sp_objects_labels(struct sp_capture *c, const struct sp_count_key *key,
		      struct sp_label ret_labels[SP_OBJECT_LABELS])
{
	struct sp_message_object object;
	char text[2 * SP_NAME_LEN + 32] = "[unknown]";
	int r;

	if (!key->object || !c->objects)
		return 0;
	if (c->o.recipes[key->recipe]->about == SP_ABOUT_LOCK) {
		r = lock_label(c, key, &ret_labels[0]);
		return r < 0 ? r : 1;
	}
	if (object_of(c, key->object & ~SP_OBJECT_MAJOR, &object))
		memory_write(c, &object, text, sizeof(text));
	r = label_make(c, "memory", text, &ret_labels[0]);
	if (r < 0)
		return r;
	r = label_make(c, "fault", key->object & SP_OBJECT_MAJOR ? "major" : "minor", &ret_labels[1]);
	return r < 0 ? r : 2;
}

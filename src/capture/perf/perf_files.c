/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/mem.h"
#include "base/path.h"
#include "capture/perf/perf.h"
#include "worker/worker.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REGION_BYTES (SP_FRAME_OFFSET_MASK + 1) /* of memory without a file, under one number */

struct inode_key { /* how objects are found; of memory without a file, the size tells its regions apart */
	uint64_t ino, size;
	uint64_t dev;
};

/* --- objects --- */
static bool same_path(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

/*
 * /proc/PID/maps does not tell the generation of an inode. An object from there is taken for the one of the same path;
 * the first that knows the generation passes it on to the one that does not.
 */
static bool is_same(struct sp_mapped_object *s, const struct sp_file_key *key, const char *path)
{
	if (s->key.generation == key->generation)
		return true;
	if (!same_path(s->path, path))
		return false;
	if (key->generation == SP_OPEN_ANY_GENERATION)
		return true;
	if (s->key.generation != SP_OPEN_ANY_GENERATION)
		return false;
	s->key.generation = key->generation;
	return true;
}

static int64_t object_add(struct sp_perf *p, const struct sp_file_key *key, const char *path, uint32_t older)
{
	size_t n = SP_MAX(p->n_objects, 1);
	int r = sp_grow(&p->objects, &p->objects_capacity, n + 1, sizeof(*p->objects));
	SP_FREE char *own = path ? strdup(path) : NULL;

	if (r < 0 || (path && !own))
		return -ENOMEM;
	p->objects[n] = (struct sp_mapped_object){.key = *key, .path = sp_take_ptr(own), .older = older};
	p->n_objects = n + 1;
	return (int64_t)n;
}

static int64_t mapped_object_number(struct sp_perf *p, const struct sp_file_key *key, const char *path)
{
	struct inode_key inode = {.ino = key->ino, .size = key->size, .dev = key->dev};
	uint32_t newest = sp_numbers_find(&p->inodes, &inode, sizeof(inode)), i;
	int64_t added;
	int r;

	for (i = newest; i; i = p->objects[i].older)
		if (is_same(&p->objects[i], key, path))
			return i;
	added = object_add(p, key, path, newest);
	r = added < 0 ? (int)added : sp_numbers_set(&p->inodes, &inode, sizeof(inode), (uint32_t)added);
	return r < 0 ? r : added;
}

/* --- mappings --- */
static bool is_memory(const struct sp_perf_mmap *m)
{
	return !m->ino && !m->dev;
}

int sp_perf_mapping_add(struct sp_capture *c, struct sp_task_process *t, const struct sp_perf_mmap *m)
{
	struct sp_file_key key = {.ino = m->ino, .dev = m->dev, .generation = (uint32_t)m->generation};
	uint64_t start = m->addr, end = m->addr + m->len, shift_by = m->pgoff - start;
	int64_t object = 0;
	int r;

	if (!m->is_exec)
		return 0;
	if (is_memory(m) && !strcmp(m->path, "[vdso]")) {
		key = (struct sp_file_key){.dev = SP_DEV_VDSO};
		shift_by = -start;
		object = mapped_object_number(c->perf, &key, NULL);
	} else if (is_memory(m)) {
		shift_by = 0; /* part of a region of its process: see sp_perf_announce_memory() */
		end = SP_MIN(end, (start / REGION_BYTES + 1) * REGION_BYTES);
	} else {
		object = mapped_object_number(c->perf, &key, m->path);
	}
	if (object < 0)
		return (int)object;
	if (object && !t->exe_object && !is_memory(m))
		t->exe_object = (uint32_t)object;
	r = sp_space_own(&t->space);
	return r < 0 ? r : sp_space_map(t->space, start, end, shift_by, (uint32_t)object);
}

/* --- announcing --- */
static void name_put(const char *path, char ret_name[SP_NAME_LEN])
{
	const char *name = path ? sp_path_last(path) : "";

	memcpy(ret_name, name, SP_MIN(strlen(name), SP_NAME_LEN - 1));
}

/* The id of an object, which is announced if it is new. 0: no id is left. */
static int64_t announce(struct sp_capture *c, uint32_t number, uint32_t pid, const struct sp_map *m)
{
	struct sp_perf *p = c->perf;
	struct sp_mapped_object *s = &p->objects[number];
	struct sp_message_file record = {.type = SP_MESSAGE_FILE, .start = m->start, .end = m->end, .tgid = pid};
	int r;

	if (s->id)
		return s->id;
	if (p->last_file >= SP_MAX_FILES - 1)
		return 0;
	r = sp_grow(&p->object_of, &p->n_object_of, (size_t)p->last_file + 2, sizeof(*p->object_of));
	if (r < 0)
		return r;
	s->id = ++p->last_file;
	p->object_of[s->id] = number;
	record.id = s->id;
	record.key = s->key;
	record.pgoff = m->start + m->shift_by;
	name_put(s->path, record.name);
	r = sp_files_record(c, &record);
	return r < 0 ? r : (int64_t)p->last_file;
}

static int64_t announce_region(struct sp_capture *c, const struct sp_task_process *t, const struct sp_map *m)
{
	struct sp_file_key key = {
	    .dev = SP_DEV_ANON, .ino = t->record, .size = m->start >> SP_FRAME_ID_SHIFT, .generation = 0};
	int64_t object = mapped_object_number(c->perf, &key, NULL);

	return object < 0 ? object : announce(c, (uint32_t)object, t->pid, m);
}

int sp_perf_announce_files(struct sp_capture *c, struct sp_task_process *t)
{
	struct sp_space *s = t->space;
	size_t i;

	for (i = 0; !s->is_announced && i < s->n; i++) {
		int64_t id;

		if (!s->objects[i] || s->maps[i].word)
			continue;
		id = announce(c, s->objects[i], t->pid, &s->maps[i]);
		if (id <= 0)
			return id < 0 ? (int)id : 1;
		s->maps[i].word = SP_FRAME_FILE << SP_FRAME_KIND_SHIFT | (sp_u64)id << SP_FRAME_ID_SHIFT;
	}
	return 0;
}

static bool has_regions(const struct sp_space *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (!s->objects[i])
			return true;
	return false;
}

int sp_perf_announce_memory(struct sp_capture *c, struct sp_task_process *t)
{
	size_t i;
	int r;

	if (t->space->is_announced && (!t->space->owner || t->space->owner == t->record))
		return 0;
	if (!has_regions(t->space)) {
		t->space->is_announced = true;
		t->space->owner = 0;
		return 0;
	}
	r = sp_space_own(&t->space);
	for (i = 0; !r && i < t->space->n; i++) {
		struct sp_map *m = &t->space->maps[i];
		int64_t id;

		if (t->space->objects[i])
			continue;
		id = announce_region(c, t, m);
		if (id <= 0)
			return id < 0 ? (int)id : 1;
		m->word = SP_FRAME_ANON << SP_FRAME_KIND_SHIFT | (sp_u64)id << SP_FRAME_ID_SHIFT;
	}
	t->space->is_announced = !r;
	t->space->owner = t->record;
	return r;
}

void sp_perf_forget(struct sp_capture *c, uint32_t file_id)
{
	struct sp_perf *p = c->perf;
	uint32_t number = file_id < p->n_object_of ? p->object_of[file_id] : 0;

	if (number && p->objects[number].id == file_id)
		p->objects[number].id = 0;
}

const char *sp_perf_path(const struct sp_capture *c, uint32_t file_id)
{
	const struct sp_perf *p = c->perf;
	uint32_t number = file_id < p->n_object_of ? p->object_of[file_id] : 0;

	return number ? p->objects[number].path : NULL;
}

void sp_perf_files_done(struct sp_perf *p)
{
	size_t i;

	for (i = 1; i < p->n_objects; i++)
		free(p->objects[i].path);
	free(p->objects);
	free(p->object_of);
	sp_numbers_done(&p->inodes);
}

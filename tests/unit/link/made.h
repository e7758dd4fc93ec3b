/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made.h: a file of calls whose records are written by hand, for tests and the fuzzer.
 *
 * made_open() makes one in a temporary directory of its own, counting libmade.so by site, and maps it; records go into
 * the first block of each kind, which stands where sp_calls_prepare() puts it. made_close() removes it all.
 */
#ifndef TESTS_UNIT_LINK_MADE_H
#define TESTS_UNIT_LINK_MADE_H

#include "link/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct made {
	char directory[64], path[96];
	uint8_t *base;
	struct sp_calls_header *header;
	struct sp_calls_block *blocks;
	uint32_t n_names, n_of[SP_CALLS_KINDS];
};

static inline bool made_open(struct made *m)
{
	const struct sp_calls_what what = {.libraries = (const char *const[]){"libmade.so"},
					   .n_libraries = 1,
					   .depth = SP_CALLS_BY_SITE,
					   .apart = SP_CALLS_BY_PROCESS};
	bool is_new;

	*m = (struct made){.directory = "/tmp/soprof-made-XXXXXX"};
	if (mkdtemp(m->directory) == NULL)
		return false;
	snprintf(m->path, sizeof(m->path), "%s/made.profile", m->directory);
	if (sp_calls_prepare(m->path, &what, &is_new) < 0 || !is_new)
		return false;
	int fd = open(m->path, O_RDWR | O_CLOEXEC);
	struct sp_calls_header h;
	if (fd < 0 || pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h))
		return false;
	m->base = mmap(NULL, h.size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	m->header = (struct sp_calls_header *)m->base;
	m->blocks = (struct sp_calls_block *)(m->header + 1);
	return m->base != MAP_FAILED;
}

static inline void made_close(struct made *m)
{
	munmap(m->base, m->header->size_bytes);
	unlink(m->path);
	rmdir(m->directory);
}

static inline uint32_t made_block(const struct made *m, unsigned kind)
{
	uint32_t i = 0;

	while (i < SP_CALLS_MAX_BLOCKS && m->blocks[i].kind != kind)
		i++;
	return i;
}

/* The next record of the kind, and its id. */
static inline void *made_record(struct made *m, unsigned kind, size_t bytes, uint32_t *ret_id)
{
	uint32_t block = made_block(m, kind), place = m->n_of[kind]++;

	*ret_id = block * SP_CALLS_IDS + place;
	return m->base + m->blocks[block].offset + place * bytes;
}

/* build: the first byte of its build id; 0: it has none. */
static inline uint32_t made_object(struct made *m, const char *path, uint8_t build, uint32_t flags)
{
	uint32_t id;
	struct sp_calls_object *o = made_record(m, SP_CALLS_OBJECT, sizeof(*o), &id);

	*o = (struct sp_calls_object){.flags = flags,
				      .build_id_len = build != 0 ? 20 : 0,
				      .build_id = {build},
				      .size_bytes = build != 0 ? 0 : 1000};
	snprintf(o->path, sizeof(o->path), "%s", path);
	snprintf(o->soname, sizeof(o->soname), "%s", strrchr(path, '/') + 1);
	o->state = SP_CALLS_READY;
	return id;
}

static inline uint32_t made_process(struct made *m, uint32_t pid, uint32_t program, const char *name)
{
	uint32_t id;
	struct sp_calls_process *p = made_record(m, SP_CALLS_PROCESS, sizeof(*p), &id);

	*p = (struct sp_calls_process){.pid = pid, .program = program};
	memcpy(p->name, name, strnlen(name, sizeof(p->name) - 1));
	p->state = SP_CALLS_READY;
	return id;
}

static inline uint32_t made_function(struct made *m, uint32_t object, uint64_t offset, const char *name)
{
	uint32_t id, block = made_block(m, SP_CALLS_NAME);
	struct sp_calls_function *f = made_record(m, SP_CALLS_FUNCTION, sizeof(*f), &id);

	*f = (struct sp_calls_function){.object = object,
					.offset = offset,
					.name_len = (uint32_t)strlen(name),
					.name = m->blocks[block].offset + m->n_names};
	memcpy(m->base + f->name, name, strlen(name));
	m->n_names += (uint32_t)strlen(name) + 1;
	f->state = SP_CALLS_READY;
	return id;
}

static inline uint64_t *made_counter(const struct made *m, uint32_t row, uint32_t slot)
{
	return (uint64_t *)(m->base + m->blocks[row / SP_CALLS_IDS].offset +
			    SP_CALLS_ROWS * sizeof(struct sp_calls_row) + (size_t)slot * SP_CALLS_PAGE) +
	       row % SP_CALLS_IDS;
}

static inline uint32_t made_row(struct made *m, struct sp_calls_row row, uint64_t in_slot_0, uint64_t in_slot_1)
{
	uint32_t id;
	struct sp_calls_row *to = made_record(m, SP_CALLS_ROW, sizeof(*to), &id);

	*to = row;
	to->state = SP_CALLS_READY;
	*made_counter(m, id, 0) = in_slot_0;
	*made_counter(m, id, 1) = in_slot_1;
	return id;
}

#endif

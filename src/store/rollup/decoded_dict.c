/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/rollup/decoded_dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void sp_decoded_dict_done(struct sp_decoded_dict *m)
{
	sp_dict_free(m->dict);
	free(m->owners);
	free(m->group_of);
	free(m->file_of);
	free(m->nodes);
	*m = (struct sp_decoded_dict){0};
}

static uint32_t library_in(const struct sp_dict *d, const struct sp_dict_frame *f, uint32_t kernel)
{
	if (f->mark != SP_MARK_NONE)
		return SP_NO_LIBRARY;
	uint32_t file = f->file != 0 || f->func == 0 ? f->file : d->funcs[f->func].file;

	return d->files[file].kind == SP_FILE_KERNEL ? kernel : file;
}

static uint32_t kernel_in(const struct sp_dict *d)
{
	uint32_t kernel = 0;

	for (uint32_t i = 1; i < d->n_files; i++)
		if (d->files[i].kind == SP_FILE_KERNEL &&
		    (kernel == 0 || strcmp(sp_dict_string(d, d->files[i].name), "[kernel]") == 0))
			kernel = i;
	return kernel;
}

int sp_decoded_dict_make(const struct sp_dict *d, struct sp_decoded_dict *m)
{
	m->owners = calloc(d->n_frames, sizeof(*m->owners));
	m->group_of = calloc(d->n_keys, sizeof(*m->group_of));
	m->nodes = calloc(d->n_nodes, sizeof(*m->nodes));
	m->file_of = calloc(d->n_funcs, sizeof(*m->file_of));
	if (m->owners == NULL || m->group_of == NULL || m->nodes == NULL || m->file_of == NULL)
		return -ENOMEM;
	for (uint32_t i = 1; i < d->n_funcs; i++)
		m->file_of[i] = d->funcs[i].file;
	for (uint32_t i = 1; i < d->n_nodes; i++)
		m->nodes[i] = (struct sp_node){d->parent[i], d->frame[i]};
	uint32_t kernel = kernel_in(d);
	for (uint32_t i = 1; i < d->n_frames; i++)
		m->owners[i] = (struct sp_frame_owner){d->frames[i].func, library_in(d, &d->frames[i], kernel)};
	for (uint32_t i = 1; i < d->n_keys; i++)
		m->group_of[i] = d->keys[i].group;
	m->generation = d->generation;
	m->view = (struct sp_dict_view){.nodes = m->nodes,
					.owners = m->owners,
					.group_of = m->group_of,
					.file_of = m->file_of,
					.n_nodes = d->n_nodes,
					.n_frames = d->n_frames,
					.n_keys = d->n_keys,
					.n_groups = d->n_groups,
					.n_files = d->n_files,
					.n_funcs = d->n_funcs};
	return 0;
}

static int read_decoded(struct sp_store *s, struct sp_day_file *f, uint64_t generation, struct sp_decoded_dict *m)
{
	uint64_t from = 0;
	int r = sp_dict_new(f->day.day_s, generation, &m->dict);

	r = r < 0 ? r : sp_dict_load(s, f, m->dict, &from, UINT32_MAX);
	return r < 0 ? r : sp_decoded_dict_make(&m->dict->dict, m);
}

int sp_decoded_dict_of(struct sp_store *s, struct sp_day_file *f, uint64_t generation, struct sp_decoded_dict *m)
{
	if (s->writer->dict_builder != NULL && s->writer->generation == generation) {
		sp_decoded_dict_done(m);
		m->view = sp_dict_builder_view(s->writer->dict_builder);
		return 0;
	}
	if (m->dict != NULL && m->generation == generation)
		return 0;
	sp_decoded_dict_done(m);
	int r = read_decoded(s, f, generation, m);
	if (r < 0)
		sp_decoded_dict_done(m);
	return r;
}

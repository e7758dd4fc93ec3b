/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/rollup/decoded_dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void sp_decoded_dict_done(struct sp_decoded_dict *decoded)
{
	sp_dict_free(decoded->dict);
	free(decoded->owners);
	free(decoded->group_of);
	free(decoded->file_of);
	free(decoded->nodes);
	*decoded = (struct sp_decoded_dict){0};
}

static uint32_t find_library(const struct sp_dict *d, const struct sp_dict_frame *f, uint32_t kernel)
{
	if (f->mark != SP_MARK_NONE)
		return SP_NO_LIBRARY;
	uint32_t file = f->file != 0 || f->func == 0 ? f->file : d->funcs[f->func].file;

	return d->files[file].kind == SP_FILE_KERNEL ? kernel : file;
}

static uint32_t find_kernel_file(const struct sp_dict *d)
{
	uint32_t kernel = 0;

	for (uint32_t i = 1; i < d->n_files; i++)
		if (d->files[i].kind == SP_FILE_KERNEL &&
		    (kernel == 0 || strcmp(sp_dict_string(d, d->files[i].name), "[kernel]") == 0))
			kernel = i;
	return kernel;
}

int sp_decoded_dict_init(const struct sp_dict *d, struct sp_decoded_dict *decoded)
{
	decoded->owners = calloc(d->n_frames, sizeof(*decoded->owners));
	decoded->group_of = calloc(d->n_keys, sizeof(*decoded->group_of));
	decoded->nodes = calloc(d->n_nodes, sizeof(*decoded->nodes));
	decoded->file_of = calloc(d->n_funcs, sizeof(*decoded->file_of));
	if (!decoded->owners || !decoded->group_of || !decoded->nodes || !decoded->file_of)
		return -ENOMEM;
	for (uint32_t i = 1; i < d->n_funcs; i++)
		decoded->file_of[i] = d->funcs[i].file;
	for (uint32_t i = 1; i < d->n_nodes; i++)
		decoded->nodes[i] = (struct sp_node){d->parent[i], d->frame[i]};
	uint32_t kernel = find_kernel_file(d);
	for (uint32_t i = 1; i < d->n_frames; i++)
		decoded->owners[i] = (struct sp_frame_owner){d->frames[i].func, find_library(d, &d->frames[i], kernel)};
	for (uint32_t i = 1; i < d->n_keys; i++)
		decoded->group_of[i] = d->keys[i].group;
	decoded->generation = d->generation;
	decoded->view = (struct sp_dict_view){.nodes = decoded->nodes,
					      .owners = decoded->owners,
					      .group_of = decoded->group_of,
					      .file_of = decoded->file_of,
					      .n_nodes = d->n_nodes,
					      .n_frames = d->n_frames,
					      .n_keys = d->n_keys,
					      .n_groups = d->n_groups,
					      .n_files = d->n_files,
					      .n_funcs = d->n_funcs};
	return 0;
}

static int read_decoded(struct sp_store *s, struct sp_day_file *f, uint64_t generation, struct sp_decoded_dict *decoded)
{
	uint64_t from = 0;
	int r = sp_dict_new(f->day.day_s, generation, &decoded->dict);

	r = r < 0 ? r : sp_dict_load(s, f, decoded->dict, &from, UINT32_MAX);
	return r < 0 ? r : sp_decoded_dict_init(&decoded->dict->dict, decoded);
}

int sp_decoded_dict_get(struct sp_store *s, struct sp_day_file *f, uint64_t generation, struct sp_decoded_dict *decoded)
{
	if (s->writer->dict_builder && s->writer->generation == generation) {
		sp_decoded_dict_done(decoded);
		decoded->view = sp_dict_builder_view(s->writer->dict_builder);
		return 0;
	}
	if (decoded->dict && decoded->generation == generation)
		return 0;
	sp_decoded_dict_done(decoded);
	int r = read_decoded(s, f, generation, decoded);
	if (r < 0)
		sp_decoded_dict_done(decoded);
	return r;
}

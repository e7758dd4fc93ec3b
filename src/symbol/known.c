/* SPDX-License-Identifier: GPL-2.0-or-later */
/* known.c: spans whose function is known already, by file and offset. */
#include "base/mem.h"
#include "base/search.h"
#include "symbol/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct known_span {
	uint64_t from, to;
	uint32_t func;
};
struct known_file {
	struct known_span *spans; /* by from */
	size_t n, capacity;
};
struct sp_known {
	struct known_file *files; /* by number */
	size_t n_files;
};

int sp_known_new(struct sp_known **ret_known)
{
	*ret_known = calloc(1, sizeof(**ret_known));
	return *ret_known ? 0 : -ENOMEM;
}

void sp_known_free(struct sp_known *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->n_files; i++)
		free(k->files[i].spans);
	free(k->files);
	free(k);
}

/* How many begin at or before the offset. */
static size_t up_to(const struct known_file *f, uint64_t offset)
{
	return SP_N_UP_TO(f->spans, f->n, from, offset);
}

uint32_t sp_known_find(const struct sp_known *k, uint32_t file, uint64_t offset)
{
	if (file >= k->n_files)
		return 0;
	const struct known_file *f = &k->files[file];
	size_t i = up_to(f, offset);
	return i && offset < f->spans[i - 1].to ? f->spans[i - 1].func : 0;
}

int sp_known_add(struct sp_known *k, uint32_t file, uint64_t from, uint64_t to, uint32_t func)
{
	int r = sp_grow(&k->files, &k->n_files, (size_t)file + 1, sizeof(*k->files));
	if (r < 0)
		return r;
	struct known_file *f = &k->files[file];
	size_t i = up_to(f, from);
	/* Known already, or at odds with another span because the names' source changed: the first answer stays. */
	if (from >= to || (i && from < f->spans[i - 1].to) || (i < f->n && f->spans[i].from < to))
		return 0;
	r = sp_grow(&f->spans, &f->capacity, f->n + 1, sizeof(*f->spans));
	if (r < 0)
		return r;
	memmove(&f->spans[i + 1], &f->spans[i], (f->n - i) * sizeof(*f->spans));
	f->spans[i] = (struct known_span){from, to, func};
	f->n++;
	return 0;
}

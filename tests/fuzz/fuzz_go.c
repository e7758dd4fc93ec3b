/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_go.c: any bytes as the .gopclntab of a program.
 *
 * Whatever it says, a function ends behind its start and has a name, its ranges rise and lie in it, an address is found
 * in a function that holds it, and the rows made of it are a valid blob.
 */
#include "base/error.h"
#include "elf/elf.h"
#include "elf/go.h"
#include "go_image.h"
#include "require.h"
#include "unwind/build.h"

enum { MAX_SHOWN = 256 };

static int check_range(void *arg, uint64_t start, uint64_t end, uint64_t bytes)
{
	uint64_t *next = arg;
	require(start == *next && end > start && (bytes < 1ULL << 31 || bytes == SP_GO_POPPED));
	*next = end;
	return 0;
}

static void check_func(const struct sp_go *g, size_t i)
{
	struct sp_go_func f, found;
	if (!sp_go_func(g, i, &f))
		return;
	require(f.end > f.start && f.name && *f.name);
	uint64_t next = f.start;
	sp_go_walk_stack(g, &f, check_range, &next);
	require(next <= f.end);
	if (sp_go_find(g, f.start, &found))
		require(f.start >= found.start && f.start < found.end);
}

static void check_blob(struct sp_elf *e)
{
	struct sp_blob *blob = NULL;
	if (sp_blob_build(e, &blob) < 0)
		return;
	require(sp_blob_validate(blob, blob->bytes) == 0);
	free(blob);
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	size_t total = 0;
	uint8_t *image = go_image(data, size, &total);
	struct sp_elf *e = NULL;
	struct sp_go *g = NULL;
	require(image && sp_elf_open_bytes(image, total, &e) == 0);
	if (sp_go_open(e, &g) == 0)
		for (size_t i = 0; i < sp_go_n_funcs(g) && i < MAX_SHOWN; i++)
			check_func(g, i);
	sp_go_close(g);
	check_blob(e);
	sp_elf_close(e);
	free(image);
	sp_error_clear();
	return 0;
}

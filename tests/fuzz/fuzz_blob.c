/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_blob.c: any bytes as a table from the disk or from another process; if they are called valid, they are used.
 *
 * The size and the hash are set right, since nothing else would come past them. What is valid must answer every lookup
 * with one of its rules, whose registers exist.
 */
#include "require.h"
#include "unwind/build.h"
#include "unwind/priv.h"
#include <stdlib.h>
#include <string.h>

static void look_up(const struct sp_blob *b, uint64_t offset)
{
	const struct sp_rule *r = sp_blob_find(b, offset), *rules = sp_blob_rules(b);
	require(r >= rules && r < rules + b->n_rules);
	require(r->cfa <= SP_CFA_CHAIN && r->fp <= SP_FP_LOST);
	require(r->reg < 16 || r->cfa == SP_CFA_INDEX || r->cfa == SP_CFA_INDEX_DEREF);
	require((r->ra & SP_RULE_RA_MASK) != SP_RA_REG || (r->ra_off >= 0 && r->ra_off < 16));
}

static void use(const struct sp_blob *b)
{
	uint64_t start = (uint64_t)b->first << b->shift, bytes = (uint64_t)b->n_groups << b->shift, x = b->check | 1;
	for (int i = 0; i < 256; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		look_up(b, start + (bytes ? x % bytes : 0));
		look_up(b, x);
	}
	look_up(b, start);
	look_up(b, start - 1);
	look_up(b, start + bytes - 1);
	look_up(b, start + bytes);
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	require(sp_blob_validate(data, size) <= 0); /* as they are, at any alignment */
	if (size < sizeof(struct sp_blob))
		return 0;
	struct sp_blob *b = malloc(size);
	require(b != NULL);
	memcpy(b, data, size);
	b->magic = SP_BLOB_MAGIC;
	b->version = SP_BLOB_VERSION;
	b->bytes = size;
	b->check = sp_blob_hash(b);
	if (sp_blob_validate(b, size) == 0)
		use(b);
	free(b);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sample.c: a few bytes of a file from many places, as one number. */
#include "base/intern.h"
#include "base/mem.h"
#include "elf/priv.h"

enum { SAMPLE_BYTES = 64 << 10, MAX_SAMPLED = 16 };

static int sample_add(struct sp_elf *e, uint64_t offset, uint64_t size, uint64_t *sample)
{
	SP_FREE void *bytes = NULL;
	size_t n = SP_MIN(size, SAMPLE_BYTES);
	int r = n ? sp_elf_read(e, offset, n, &bytes) : 0;

	if (n && r == 0)
		*sample = sp_hash_bytes(bytes, n, *sample);
	return r;
}

int sp_elf_sample(struct sp_elf *e, uint64_t *ret_sample)
{
	const uint64_t tail = SP_MIN(e->size, SAMPLE_BYTES); /* where section headers and strings usually are */
	uint64_t sample = sp_hash_bytes(&e->header, sizeof(e->header), 0);
	struct sp_elf_eh_frame eh;
	int r = sample_add(e, e->size - tail, tail, &sample);

	for (size_t i = 0; r == 0 && i < SP_MIN(e->n_segments, MAX_SAMPLED); i++)
		r = sample_add(e, e->segments[i].offset, e->segments[i].file_size, &sample);
	if (r == 0 && sp_elf_eh_frame(e, &eh) == 0)
		r = sample_add(e, eh.hdr_offset, eh.hdr_size, &sample);
	if (r == 0)
		*ret_sample = sample;
	return r;
}

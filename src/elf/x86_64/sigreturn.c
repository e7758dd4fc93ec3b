/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/x86_64/sigreturn.h"
#include "base/mem.h"
#include "elf/elf.h"
#include <string.h>

size_t sp_sigreturn_before(const uint8_t *code, size_t n)
{
	static const uint8_t wide[] = {0x48, 0xc7, 0xc0}, narrow[] = {0xb8};
	size_t head = n - SP_SIGRETURN_TAIL_BYTES;

	if (n < SP_SIGRETURN_TAIL_BYTES || memcmp(code + head, SP_SIGRETURN_TAIL, SP_SIGRETURN_TAIL_BYTES))
		return 0;
	if (head >= sizeof(wide) && !memcmp(code + head - sizeof(wide), wide, sizeof(wide)))
		return SP_SIGRETURN_TAIL_BYTES + sizeof(wide);
	return head >= sizeof(narrow) && code[head - 1] == narrow[0] ? SP_SIGRETURN_TAIL_BYTES + sizeof(narrow) : 0;
}

/* NULL: not readable. */
static const uint8_t *bytes_at(struct sp_sigreturn_window *w, uint64_t start, uint64_t end, uint64_t segment_end)
{
	if (start < w->start || end > w->start + w->n) {
		w->start = start;
		w->n = (size_t)SP_MIN(segment_end - start, sizeof(w->bytes));
		if (sp_elf_read_into(w->elf, start, w->bytes, w->n) < 0) {
			w->n = 0;
			return NULL;
		}
	}
	return w->bytes + (start - w->start);
}

bool sp_sigreturn_at(struct sp_sigreturn_window *w, uint64_t offset, uint64_t *ret_start, uint64_t *ret_size)
{
	/* Only code counts, since data may have the same bytes (sp_sigreturn_before() has them itself). */
	const struct sp_elf_segment *g = sp_elf_code_at(w->elf, offset);
	if (!g)
		return false;
	uint64_t segment_end = g->offset + g->file_size;
	size_t before = (size_t)SP_MIN(offset - g->offset, (uint64_t)SP_SIGRETURN_MAX_BYTES);
	size_t n = (size_t)SP_MIN(before + 1 + SP_SIGRETURN_MAX_BYTES, segment_end - (offset - before)), size;
	const uint8_t *bytes = bytes_at(w, offset - before, offset - before + n, segment_end);

	for (size_t end = before + 1; bytes && end <= n; end++) {
		size = sp_sigreturn_before(bytes, end);
		if (!size || end - size > before + 1)
			continue;
		*ret_start = offset - before + (end - size);
		if (*ret_start)
			--*ret_start;
		*ret_size = offset - before + end - *ret_start;
		return true;
	}
	return false;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/x86_64/sigreturn.h"
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

/* Bytes of data may be the same: those that sp_sigreturn_before() compares with are. */
static bool is_code(const struct sp_elf *e, uint64_t offset)
{
	for (size_t i = 0; i < sp_elf_n_segments(e); i++) {
		const struct sp_elf_segment *g = sp_elf_segment(e, i);
		if (g->executable && offset - g->offset < g->file_size)
			return true;
	}
	return false;
}

bool sp_sigreturn_at(struct sp_elf *e, uint64_t offset, uint64_t *ret_start, uint64_t *ret_size)
{
	uint8_t bytes[2 * SP_SIGRETURN_MAX_BYTES + 1];
	size_t before = offset < SP_SIGRETURN_MAX_BYTES ? (size_t)offset : SP_SIGRETURN_MAX_BYTES;
	size_t n = before + 1 + SP_SIGRETURN_MAX_BYTES, size;

	if (!is_code(e, offset))
		return false;
	while (n > before && sp_elf_read_into(e, offset - before, bytes, n) < 0) /* the file may end there */
		n--;
	for (size_t end = before + 1; end <= n; end++) {
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

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* debug.c: debug links, and debug data packed into the file. */
#include "elf/debug.h"

#include "base/error.h"
#include "base/io.h"
#include "base/mem.h"
#include "elf/priv.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { CRC_CHUNK = 1 << 18, UNPACK_CHUNK = 1 << 20, UNPACK_MEMORY = 96 << 20 };

bool sp_debuglink_is_name(const char *name)
{
	return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strchr(name, '/');
}

static int look_at_link(struct sp_elf *e, const struct sp_elf_section *s, struct sp_elf_debug *d)
{
	SP_FREE char *bytes = NULL;
	if (s->size < 8 || s->size > SP_DEBUGLINK_MAX + 8 || s->type != SHT_PROGBITS)
		return 0;
	int r = sp_elf_read(e, s->offset, (size_t)s->size, (void **)&bytes);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	size_t len = strnlen(bytes, (size_t)s->size), crc_at = (len + 4) & ~3UL;
	if (len >= SP_DEBUGLINK_MAX || crc_at + 4 > s->size || !sp_debuglink_is_name(bytes))
		return 0;
	memcpy(d->link, bytes, len + 1);
	memcpy(&d->link_crc, bytes + crc_at, 4);
	return 0;
}

static bool has_bytes(const struct sp_elf_section *s)
{
	return s->type != SHT_NOBITS && s->size > 0;
}

static int look_at_section(struct sp_elf *e, const struct sp_elf_section *s, struct sp_elf_debug *d)
{
	if (!has_bytes(s))
		return 0;
	d->has_symtab |= s->type == SHT_SYMTAB;
	d->has_debugdata |= strcmp(s->name, ".gnu_debugdata") == 0;
	d->has_dwarf |= strcmp(s->name, ".debug_info") == 0 || strcmp(s->name, ".zdebug_info") == 0;
	return strcmp(s->name, ".gnu_debuglink") == 0 ? look_at_link(e, s, d) : 0;
}

int sp_elf_debug_look(struct sp_elf *e, struct sp_elf_debug *ret_debug)
{
	struct sp_elf_debug d = {0};
	int len = sp_elf_build_id(e, d.build_id, sizeof(d.build_id)), r = 0;
	if (len == -ENOMEM)
		return len;
	d.build_id_len = len > 0 ? (uint8_t)len : 0;
	for (size_t i = 0; i < e->n_sections && r == 0; i++)
		r = look_at_section(e, &e->sections[i], &d);
	if (r == 0)
		*ret_debug = d;
	return r;
}

int sp_elf_crc(int fd, uint32_t *ret_crc)
{
	SP_FREE uint8_t *chunk = malloc(CRC_CHUNK);
	uLong crc = crc32(0, NULL, 0);
	if (!chunk)
		return -ENOMEM;
	for (uint64_t at = 0;;) {
		ssize_t n = sp_read_most_at(fd, chunk, CRC_CHUNK, at);
		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		crc = crc32(crc, chunk, (uInt)n);
		at += (uint64_t)n;
	}
	*ret_crc = (uint32_t)crc;
	return 0;
}

/* --- .gnu_debugdata --- */

struct unpacked {
	uint8_t *bytes;
	size_t size, capacity;
};

static int error_of(lzma_ret r)
{
	return r == LZMA_MEM_ERROR ? -ENOMEM : r == LZMA_MEMLIMIT_ERROR ? -EFBIG : -EBADMSG;
}

static int unpack_some(lzma_stream *z, struct unpacked *u, bool *ret_end)
{
	if (u->size == SP_DEBUGDATA_MAX)
		return -EFBIG;
	int r = sp_grow(&u->bytes, &u->capacity, SP_MIN(u->size + UNPACK_CHUNK, (size_t)SP_DEBUGDATA_MAX), 1);
	if (r < 0)
		return r;
	size_t room = SP_MIN(u->capacity, (size_t)SP_DEBUGDATA_MAX) - u->size;
	z->next_out = u->bytes + u->size;
	z->avail_out = room;
	lzma_ret got = lzma_code(z, LZMA_FINISH);
	u->size += room - z->avail_out;
	*ret_end = got == LZMA_STREAM_END;
	return got == LZMA_OK || got == LZMA_STREAM_END ? 0 : error_of(got);
}

static int unpack(const void *packed, size_t size, struct unpacked *u)
{
	lzma_stream z = LZMA_STREAM_INIT;
	lzma_ret begun = lzma_stream_decoder(&z, UNPACK_MEMORY, 0);
	if (begun != LZMA_OK)
		return error_of(begun);
	z.next_in = packed;
	z.avail_in = size;
	bool end = false;
	int r = 0;
	while (r == 0 && !end)
		r = unpack_some(&z, u, &end);
	lzma_end(&z);
	return r;
}

int sp_elf_debugdata(struct sp_elf *e, void **ret_bytes, size_t *ret_size)
{
	struct sp_elf_section s;
	SP_FREE void *packed = NULL;
	struct unpacked u = {0};
	if (sp_elf_section(e, ".gnu_debugdata", &s) < 0 || !has_bytes(&s))
		return -ENOENT;
	if (s.size > SP_DEBUGDATA_MAX)
		return sp_fail(-EFBIG, "unpack .gnu_debugdata");
	int r = sp_elf_read(e, s.offset, (size_t)s.size, &packed);
	r = r < 0 ? r : unpack(packed, (size_t)s.size, &u);
	if (r < 0) {
		free(u.bytes);
		return sp_fail(r, "unpack .gnu_debugdata");
	}
	*ret_bytes = u.bytes;
	*ret_size = u.size;
	return 0;
}

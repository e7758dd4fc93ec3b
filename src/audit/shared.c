/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shared file as programs use it. What it says may be damaged, and may change at any moment: a child that gave up
 * its rights keeps the mapping. So every number is read once, by sp_load(), and the copy is checked before it is
 * followed.
 */
#include "audit/audit.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct sp_shared sp_shared;

enum { WINDOW_AHEAD = 512 << 10 }; /* mapped beyond what is used: address space is short in some programs */

static bool header_fits(const struct sp_calls_header *h, const struct stat *st)
{
	return sp_equal(h->magic, SP_CALLS_MAGIC, sizeof(h->magic)) && h->version == SP_CALLS_VERSION &&
	       h->header_bytes == sizeof(*h) && h->size_bytes == (uint64_t)st->st_size && h->n_slots > 1 &&
	       h->n_slots <= SP_CALLS_MAX_SLOTS && h->targets[SP_CALLS_TARGETS - 1] == '\0' &&
	       h->functions[SP_CALLS_GLOBS - 1] == '\0' &&
	       (h->depth == SP_CALLS_BY_OBJECT || h->depth == SP_CALLS_BY_SITE) && h->apart <= SP_CALLS_BY_THREAD;
}

/* Owned by us and writable by nobody else, since its contents become addresses. */
static bool file_fits(const struct stat *st, uint32_t user)
{
	return S_ISREG(st->st_mode) && (st->st_mode & 0777) == 0600 && st->st_uid == user &&
	       st->st_size >= SP_CALLS_LEAST;
}

static uint64_t page_up(uint64_t n)
{
	return (n + SP_CALLS_PAGE - 1) & ~(uint64_t)(SP_CALLS_PAGE - 1);
}

static uint64_t row_bytes(void)
{
	return page_up(sp_calls_block_bytes(SP_CALLS_ROW, 0, sp_shared.n_slots));
}

static bool share_add_window(int64_t at, uint64_t low, uint64_t high)
{
	struct sp_file_mapping *w = &sp_shared.mappings[sp_shared.n_mappings];

	if (at < 0 && at > -4096)
		return false;
	*w = (struct sp_file_mapping){low, high, (uint8_t *)at};
	sp_store(&sp_shared.n_mappings, sp_shared.n_mappings + 1);
	return true;
}

static bool open_with(int64_t fd, uint32_t user)
{
	struct sp_calls_header h;
	struct stat st;

	if (sp_sys(SYS_fstat, (uint64_t)fd, (uint64_t)&st, 0, 0, 0, 0) != 0 || !file_fits(&st, user) ||
	    sp_sys(SYS_pread64, (uint64_t)fd, (uint64_t)&h, sizeof(h), 0, 0, 0) != sizeof(h) || !header_fits(&h, &st))
		return false;
	sp_shared.n_mappings = 0;
	sp_shared.size_bytes = (uint64_t)st.st_size;
	sp_shared.n_slots = h.n_slots;
	sp_shared.depth = h.depth;
	sp_shared.apart = h.apart;
	sp_copy(sp_shared.targets, h.targets, sizeof(h.targets));
	sp_copy(sp_shared.functions, h.functions, sizeof(h.functions));
	sp_shared.all = sp_equal(h.targets, SP_CALLS_ALL, sizeof(SP_CALLS_ALL));
	sp_shared.full = false;
	uint64_t wanted =
	    h.used_bytes < sp_shared.size_bytes ? page_up(h.used_bytes + WINDOW_AHEAD) : sp_shared.size_bytes;
	wanted = wanted < sp_shared.size_bytes ? wanted : sp_shared.size_bytes;
	wanted = wanted > SP_CALLS_LEAST ? wanted : SP_CALLS_LEAST;
	return share_add_window(sp_sys(SYS_mmap, 0, wanted, PROT_READ | PROT_WRITE, MAP_SHARED, (uint64_t)fd, 0), 0,
				wanted);
}

bool sp_shared_open(const char *path, uint32_t user)
{
	int64_t fd = sp_sys(SYS_openat, (uint64_t)AT_FDCWD, (uint64_t)path,
			    O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0, 0, 0);

	if (fd < 0)
		return false;
	bool opened = open_with(fd, user);
	sp_sys(SYS_close, (uint64_t)fd, 0, 0, 0, 0, 0);
	if (!opened)
		return false;
	sp_shared.header = (struct sp_calls_header *)sp_shared.mappings[0].at;
	sp_shared.blocks = (struct sp_calls_block *)(sp_shared.header + 1);
	return true;
}

void *sp_shared_at(uint64_t offset, uint64_t bytes)
{
	uint32_t n = sp_load(&sp_shared.n_mappings);

	for (uint32_t i = 0; i < n; i++) {
		const struct sp_file_mapping *w = &sp_shared.mappings[i];
		if (offset >= w->low && offset < w->high && bytes <= w->high - offset)
			return w->at + (offset - w->low);
	}
	return NULL;
}

static struct sp_calls_block block_copy(uint32_t number)
{
	const struct sp_calls_block *b = &sp_shared.blocks[number];

	return (struct sp_calls_block){.state = sp_load(&b->state),
				       .kind = sp_load(&b->kind),
				       .level = sp_load(&b->level),
				       .offset = sp_load(&b->offset)};
}

static bool block_is_mapped(const struct sp_calls_block *b)
{
	return sp_shared_at(b->offset, sp_calls_block_bytes(b->kind, b->level, sp_shared.n_slots)) != NULL;
}

/* Where the first block begins that is not whole in a mapping, if that is before this. */
static uint64_t first_cut(uint64_t before)
{
	uint64_t n = sp_load(&sp_shared.header->n_blocks);

	for (uint32_t i = 0; i < n && i < SP_CALLS_MAX_BLOCKS; i++) {
		struct sp_calls_block b = block_copy(i);
		if (b.state == SP_CALLS_READY && b.offset < before && b.offset % SP_CALLS_PAGE == 0 &&
		    b.level < SP_CALLS_LEVELS && !block_is_mapped(&b))
			before = b.offset;
	}
	return before;
}

/*
 * More of the file, to behind `end`, without a descriptor: a second mapping of a part of a mapping, and of what
 * follows. It begins so early that a block (one that begins at `from`, too) that lies across the mapping's end is whole
 * in it.
 */
static void grow(uint64_t from, uint64_t end)
{
	uint64_t last = sp_shared.mappings[sp_shared.n_mappings - 1].high - SP_CALLS_PAGE,
		 low = first_cut(from < last ? from : last),
		 high = page_up(end + (uint64_t)WINDOW_AHEAD * (sp_shared.n_mappings + 1));
	const uint8_t *at = sp_shared_at(low, SP_CALLS_PAGE);

	high = high < sp_shared.size_bytes ? high : sp_shared.size_bytes;
	if (sp_shared.n_mappings == SP_MAPPINGS || high <= last + SP_CALLS_PAGE || !at)
		return;
	share_add_window(sp_sys(SYS_mremap, (uint64_t)at, 0, high - low, MREMAP_MAYMOVE, 0, 0), low, high);
}

void sp_shared_note(enum sp_calls_counter counter)
{
	sp_add(&sp_shared.header->counters[counter], 1);
}

/* Where the block of this kind begins, whole in a mapping; 0, where the header is: there is none. */
static uint64_t block_of(uint64_t number, unsigned kind)
{
	struct sp_calls_block b;

	if (number >= SP_CALLS_MAX_BLOCKS)
		return 0;
	b = block_copy((uint32_t)number);
	if (b.state != SP_CALLS_READY || b.kind != kind || b.level >= SP_CALLS_LEVELS || b.offset % SP_CALLS_PAGE != 0)
		return 0;
	return block_is_mapped(&b) ? b.offset : 0;
}

/* Takes pages from the disk by touching them; says so if there are none, where a write would be SIGBUS. */
static bool populate(uint64_t offset, uint64_t bytes)
{
	uint64_t at = (uint64_t)sp_shared_at(offset, bytes);

	if (at == 0) { /* several at once may have taken room */
		grow(offset, offset + bytes);
		at = (uint64_t)sp_shared_at(offset, bytes);
	}
	return at != 0 && sp_sys(SYS_madvise, at, bytes, MADV_POPULATE_WRITE, 0, 0, 0) == 0;
}

/* The number of a new block, or 0. Block 0 is of the index, from when the file was made. */
static uint32_t new_block(unsigned kind, unsigned level)
{
	struct sp_calls_header *h = sp_shared.header;
	uint64_t bytes = page_up(sp_calls_block_bytes(kind, level, sp_shared.n_slots));

	if (sp_shared.full || sp_load(&h->n_blocks) >= SP_CALLS_MAX_BLOCKS || bytes > sp_shared.size_bytes ||
	    sp_load(&h->used_bytes) > sp_shared.size_bytes - bytes) {
		sp_shared_note(SP_CALLS_N_NO_BLOCK);
		return 0;
	}
	uint64_t number = sp_add(&h->n_blocks, 1), offset = sp_add(&h->used_bytes, bytes);
	if (number >= SP_CALLS_MAX_BLOCKS || offset > sp_shared.size_bytes - bytes || !populate(offset, bytes)) {
		sp_shared.full = true;
		sp_swap(&h->used_bytes, offset + bytes, offset); /* given back, unless more was taken meanwhile */
		sp_swap(&h->n_blocks, number + 1, number);
		sp_shared_note(SP_CALLS_N_NO_BLOCK);
		return 0;
	}
	struct sp_calls_block *b = &sp_shared.blocks[number];
	sp_store(&b->kind, (uint8_t)kind);
	sp_store(&b->level, (uint8_t)level);
	sp_store(&b->offset, offset);
	sp_store(&b->state, SP_CALLS_READY);
	return (uint32_t)number;
}

/* The next block of the kind behind this one; 0: there is none. */
static uint32_t next_block(unsigned kind, uint32_t after)
{
	uint64_t n = sp_load(&sp_shared.header->n_blocks);

	for (uint32_t i = after + 1; i < n && i < SP_CALLS_MAX_BLOCKS; i++)
		if (block_of(i, kind) != 0)
			return i;
	return 0;
}

bool sp_shared_is_short(void)
{
	return next_block(SP_CALLS_ROW, (uint32_t)(sp_load(&sp_shared.header->cursors[SP_CALLS_ROW]) >> 32)) == 0;
}

/*
 * Takes n of a kind's places: in which block, where that begins, and which; false: there is no room. A cursor only goes
 * on: where somebody puts it back, not all blocks are looked through again and again.
 */
static bool share_take_places(unsigned kind, uint32_t places, uint32_t n, uint32_t *ret_block, uint64_t *ret_offset,
			      uint32_t *ret_place)
{
	uint64_t *cursor = &sp_shared.header->cursors[kind];

	for (uint32_t tries = 0, n_passed = 0; tries < 1000 && n_passed < 2 * SP_CALLS_MAX_BLOCKS; tries++) {
		uint64_t c = sp_load(cursor);
		uint32_t block = (uint32_t)(c >> 32), place = (uint32_t)c;
		uint64_t offset = block_of(block, kind);
		if (place <= places && n <= places - place && offset != 0) {
			if (!sp_swap(cursor, c, c + n))
				continue;
			*ret_block = block;
			*ret_offset = offset;
			*ret_place = place;
			return true;
		}
		uint32_t next = next_block(kind, block);
		if (next == 0)
			return false;
		n_passed += next - block;
		sp_swap(cursor, c, (uint64_t)next << 32);
	}
	return false;
}

uint32_t sp_shared_take(unsigned kind)
{
	uint32_t block, place, places = kind == SP_CALLS_OBJECT ? SP_CALLS_OBJECTS : SP_CALLS_IDS;
	uint64_t offset;

	return share_take_places(kind, places, 1, &block, &offset, &place) ? block * SP_CALLS_IDS + place : 0;
}

uint32_t sp_shared_new_level(unsigned level)
{
	return new_block(SP_CALLS_INDEX, level);
}

uint64_t sp_shared_bytes(uint64_t len, uint8_t **ret_bytes)
{
	uint32_t block, place;
	uint64_t rounded = (len + 7) & ~7ULL, offset;

	if (len == 0 || rounded > SP_CALLS_BYTES ||
	    !share_take_places(SP_CALLS_NAME, SP_CALLS_BYTES, (uint32_t)rounded, &block, &offset, &place))
		return 0;
	offset += place;
	*ret_bytes = sp_shared_at(offset, rounded);
	return *ret_bytes ? offset : 0;
}

void *sp_shared_record(uint32_t id, unsigned kind)
{
	static const uint16_t bytes[SP_CALLS_KINDS] = {[SP_CALLS_OBJECT] = sizeof(struct sp_calls_object),
						       [SP_CALLS_FUNCTION] = sizeof(struct sp_calls_function),
						       [SP_CALLS_ROW] = sizeof(struct sp_calls_row),
						       [SP_CALLS_PROCESS] = sizeof(struct sp_calls_process)};
	uint64_t offset = block_of(id / SP_CALLS_IDS, kind);
	uint32_t place = id % SP_CALLS_IDS;

	if (offset == 0 || (kind == SP_CALLS_OBJECT && place >= SP_CALLS_OBJECTS))
		return NULL;
	return sp_shared_at(offset + (uint64_t)place * bytes[kind], bytes[kind]);
}

uint64_t sp_shared_counters(uint32_t row)
{
	uint64_t offset = block_of(row / SP_CALLS_IDS, SP_CALLS_ROW),
		 at = offset != 0 ? (uint64_t)sp_shared_at(offset, row_bytes()) : 0;

	if (at == 0)
		return 0;
	return at + SP_CALLS_ROWS * sizeof(struct sp_calls_row) + SP_CALLS_PAGE + row % SP_CALLS_IDS * sizeof(uint64_t);
}

/* How many blocks of each kind there are, and how many of them are unused. */
static void count_blocks(uint32_t *ret_all, uint32_t *ret_spare)
{
	const struct sp_calls_header *h = sp_shared.header;
	uint64_t n = sp_load(&h->n_blocks);
	uint32_t current[SP_CALLS_KINDS];

	for (unsigned kind = 0; kind < SP_CALLS_KINDS; kind++) {
		current[kind] = (uint32_t)(sp_load(&h->cursors[kind]) >> 32);
		ret_all[kind] = ret_spare[kind] = 0;
	}
	for (uint32_t i = 0; i < n && i < SP_CALLS_MAX_BLOCKS; i++) {
		uint8_t kind = sp_load(&sp_shared.blocks[i].kind);
		if (kind >= SP_CALLS_KINDS || block_of(i, kind) == 0)
			continue;
		ret_all[kind]++;
		ret_spare[kind] += i > current[kind];
	}
}

/* Spare blocks of a kind. */
static uint32_t wanted_of(unsigned kind)
{
	static const uint8_t wanted[SP_CALLS_KINDS] = {
	    [SP_CALLS_OBJECT] = 1, [SP_CALLS_FUNCTION] = 2, [SP_CALLS_NAME] = 1};

	if (kind == SP_CALLS_PROCESS)
		return sp_calls_spare_processes(sp_shared.apart);
	if (kind == SP_CALLS_ROW)
		return sp_calls_spare_rows(sp_shared.all, sp_shared.n_slots);
	return wanted[kind] * (sp_shared.all ? SP_CALLS_ALL_TIMES : 1U);
}

/*
 * Makes blocks of a kind, so that a program can call all that it refers to: a function has a row for callers without
 * one of their own, and one for its caller. The next program like it uses them.
 */
static uint32_t least_of(unsigned kind)
{
	static const uint16_t places[SP_CALLS_KINDS] = {[SP_CALLS_FUNCTION] = SP_CALLS_FUNCTIONS,
							[SP_CALLS_NAME] = SP_CALLS_BYTES / 32,
							[SP_CALLS_ROW] = SP_CALLS_ROWS / 2};

	return places[kind] != 0 ? sp_shared.n_expected / places[kind] + 2 : 0;
}

void sp_shared_prepare(void)
{
	static const uint16_t places[SP_CALLS_KINDS] = {[SP_CALLS_OBJECT] = SP_CALLS_OBJECTS,
							[SP_CALLS_FUNCTION] = SP_CALLS_FUNCTIONS,
							[SP_CALLS_ROW] = SP_CALLS_ROWS};
	uint32_t all[SP_CALLS_KINDS], spares[SP_CALLS_KINDS];
	uint64_t n_records = 0, used = sp_load(&sp_shared.header->used_bytes);

	/* Others have added what we may look for; a block across a mapping's end may not have been ready when it was
	 * made. */
	if (sp_shared.mappings[sp_shared.n_mappings - 1].high < used || first_cut(used) < used)
		grow(used, used);
	count_blocks(all, spares);
	for (unsigned kind = SP_CALLS_OBJECT; kind < SP_CALLS_KINDS; kind++) {
		uint32_t n = all[kind], spare = spares[kind], wanted = wanted_of(kind), least = least_of(kind);
		if (kind != SP_CALLS_ROW && n / 4 > wanted) /* large libraries have many functions with long names */
			wanted = n / 4;
		if (spare < (wanted + 1) / 2 || n < least)
			for (; (spare < wanted || n < least) && new_block(kind, 0) != 0; spare++)
				n++;
		n_records += n * places[kind];
	}
	sp_shared_reserve(n_records);
}

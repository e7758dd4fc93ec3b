/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/format/chunk.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STRING_MAX = 1 << 24 };

/* A column: one field of the structs of a kind. */
enum coding {
	PLAIN,
	BOOL,
	DELTA,    /* difference to the item before */
	RELATIVE, /* difference to field `base` of the same item */
};
struct field {
	uint8_t kind, coding, bytes, offset, base;
};
#define FIELD(kind, type, member, coding)                                                                              \
	{                                                                                                              \
		kind, coding, sizeof(((struct type *)0)->member), offsetof(struct type, member), 0                     \
	}
#define BASED(kind, type, member, base)                                                                                \
	{                                                                                                              \
		kind, RELATIVE, sizeof(((struct type *)0)->member), offsetof(struct type, member),                     \
		    offsetof(struct type, base)                                                                        \
	}
#define BUILD_ID(nth)                                                                                                  \
	{                                                                                                              \
		SP_FILES, PLAIN, 8, offsetof(struct sp_file, build_id) + (nth)*8, 0                                    \
	}

static const struct field fields[] = {
    FIELD(SP_FILES, sp_file, kind, PLAIN),
    FIELD(SP_FILES, sp_file, build_id_len, PLAIN),
    BUILD_ID(0),
    BUILD_ID(1),
    BUILD_ID(2),
    BUILD_ID(3),
    FIELD(SP_FILES, sp_file, deleted, BOOL),
    FIELD(SP_FILES, sp_file, owner_known, BOOL),
    FIELD(SP_FILES, sp_file, name, DELTA),
    FIELD(SP_FILES, sp_file, path, DELTA),
    FIELD(SP_FILES, sp_file, package, DELTA),
    FIELD(SP_FILES, sp_file, package_version, DELTA),
    FIELD(SP_FILES, sp_file, build_id_text, PLAIN),
    FIELD(SP_FILES, sp_file, note, PLAIN),
    FIELD(SP_FUNCS, sp_func, name, DELTA),
    BASED(SP_FUNCS, sp_func, linkage_name, name),
    FIELD(SP_FUNCS, sp_func, file, DELTA),
    FIELD(SP_FUNCS, sp_func, is_range, BOOL),
    FIELD(SP_FUNCS, sp_func, start, PLAIN),
    FIELD(SP_FUNCS, sp_func, size, PLAIN),
    BASED(SP_FUNCS, sp_func, vaddr, start),
    FIELD(SP_FUNCS, sp_func, source, PLAIN),
    FIELD(SP_FUNCS, sp_func, source_line, PLAIN),
    FIELD(SP_FRAMES, sp_dict_frame, func, DELTA),
    FIELD(SP_FRAMES, sp_dict_frame, file, DELTA),
    FIELD(SP_FRAMES, sp_dict_frame, offset, PLAIN),
    FIELD(SP_FRAMES, sp_dict_frame, flags, PLAIN),
    FIELD(SP_FRAMES, sp_dict_frame, mark, PLAIN),
    FIELD(SP_FRAMES, sp_dict_frame, stack_class, PLAIN),
    FIELD(SP_FRAMES, sp_dict_frame, reason, PLAIN),
    FIELD(SP_GROUPS, sp_dict_group, exe, DELTA),
    FIELD(SP_GROUPS, sp_dict_group, uid, DELTA),
    FIELD(SP_GROUPS, sp_dict_group, comm, PLAIN),
    FIELD(SP_GROUPS, sp_dict_group, cgroup_path, DELTA),
    /* one number for both: root was added later, and records without it stay as they were */
    {SP_GROUPS, DELTA, 8, offsetof(struct sp_dict_group, container), 0},
    FIELD(SP_KEYS, sp_dict_key, group, DELTA),
    FIELD(SP_KEYS, sp_dict_key, pid, DELTA),
    BASED(SP_KEYS, sp_dict_key, ns_pid, pid),
    FIELD(SP_KEYS, sp_dict_key, exec_id, PLAIN),
    FIELD(SP_KEYS, sp_dict_key, thread, PLAIN),
    FIELD(SP_KEYS, sp_dict_key, start_ns, DELTA),
    FIELD(SP_KEYS, sp_dict_key, cgroup, DELTA),
};
_Static_assert(SP_BUILD_ID_MAX == 32, "a build id is four columns");
_Static_assert(offsetof(struct sp_dict_group, root) == offsetof(struct sp_dict_group, container) + 4, "one word");

size_t sp_dict_kind_bytes(enum sp_dict_kind kind)
{
	static const size_t bytes[SP_N_DICT_KINDS] = {
	    [SP_STRINGS] = sizeof(uint32_t),        [SP_FILES] = sizeof(struct sp_file),
	    [SP_FUNCS] = sizeof(struct sp_func),    [SP_FRAMES] = sizeof(struct sp_dict_frame),
	    [SP_NODES] = sizeof(uint32_t),          [SP_GROUPS] = sizeof(struct sp_dict_group),
	    [SP_KEYS] = sizeof(struct sp_dict_key),
	};

	return bytes[kind];
}

void sp_chunk_done(struct sp_chunk *c)
{
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		free(c->items[i].data);
	free(c->bytes.data);
	free(c->ranks.data);
	free(c->new_frames.data);
	*c = (struct sp_chunk){0};
}

void sp_chunk_clear(struct sp_chunk *c, const uint32_t first[SP_N_DICT_KINDS])
{
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		c->items[i].n = 0;
	c->bytes.n = c->ranks.n = c->new_frames.n = 0;
	c->record = NULL;
	memcpy(c->first, first, sizeof(c->first));
}

bool sp_chunk_is_empty(const struct sp_chunk *c)
{
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		if (c->items[i].n > 0)
			return false;
	return true;
}

size_t sp_chunk_memory(const struct sp_chunk *c)
{
	size_t bytes = c->bytes.capacity + (c->ranks.capacity + c->new_frames.capacity) * sizeof(uint32_t);

	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		bytes += c->items[i].capacity * sp_dict_kind_bytes((enum sp_dict_kind)i);
	return bytes;
}

size_t sp_chunk_bytes(const struct sp_chunk *c)
{
	size_t bytes = c->bytes.n + (c->ranks.n + c->new_frames.n) * sizeof(uint32_t);

	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		bytes += c->items[i].n * sp_dict_kind_bytes((enum sp_dict_kind)i);
	return bytes;
}

int sp_items_room(struct sp_items *items, size_t n, size_t each)
{
	size_t capacity = SP_MAX(n, items->capacity + items->capacity / 2);
	void *data;

	if (n <= items->capacity)
		return 0;
	data = reallocarray(items->data, capacity, each);
	if (!data)
		return -ENOMEM;
	items->data = data;
	items->capacity = capacity;
	return 0;
}

void *sp_items_add(struct sp_items *items, size_t n, size_t each)
{
	size_t at = items->n * each;

	if (sp_items_room(items, items->n + n + 1, each) < 0) /* + 1: not NULL for no items */
		return NULL;
	items->n += n;
	return (char *)items->data + at;
}

static int add_item(struct sp_chunk *c, enum sp_dict_kind kind, const void *item)
{
	size_t bytes = sp_dict_kind_bytes(kind);
	void *at = sp_items_add(&c->items[kind], 1, bytes);

	if (!at)
		return -ENOMEM;
	memcpy(at, item, bytes);
	return 0;
}

static int add_string(struct sp_chunk *c, const char *s, size_t len)
{
	uint32_t room = (uint32_t)len + 1;

	if (len > STRING_MAX)
		return -E2BIG;
	char *at = sp_items_add(&c->bytes, room, 1);
	if (!at)
		return -ENOMEM;
	memcpy(at, s, len);
	at[len] = '\0';
	int r = add_item(c, SP_STRINGS, &room);
	if (r < 0)
		c->bytes.n -= room;
	return r;
}

int sp_chunk_add_node(struct sp_chunk *c, uint32_t distance, uint32_t rank, uint32_t new_frame)
{
	uint32_t *at_rank = sp_items_add(&c->ranks, 1, sizeof(*at_rank));
	uint32_t *at_new = at_rank && (rank & 1) != 0 ? sp_items_add(&c->new_frames, 1, sizeof(*at_new)) : NULL;

	if (!at_rank || ((rank & 1) != 0 && !at_new) || add_item(c, SP_NODES, &distance) < 0) {
		c->ranks.n -= at_rank != NULL;
		c->new_frames.n -= at_new != NULL;
		return -ENOMEM;
	}
	*at_rank = rank;
	if (at_new)
		*at_new = new_frame;
	return 0;
}

int64_t sp_chunk_intern(struct sp_chunk *c, enum sp_dict_kind kind, struct sp_id_map *ids, uint32_t *next,
			const void *identity, size_t len, const void *item)
{
	uint32_t *number;
	int r = sp_id_map_find(ids, identity, len, &number);

	if (r < 0 || *number != 0)
		return r < 0 ? r : (int64_t)*number;
	r = kind == SP_STRINGS ? add_string(c, item, len) : add_item(c, kind, item);
	if (r < 0)
		return r;
	*number = (*next)++;
	sp_id_map_added(ids);
	return *number;
}

/* --- columns --- */
static uint64_t load_field(const char *item, const struct field *f)
{
	uint64_t v = 0;

	if (f->bytes == 4) /* a size that is known: no call */
		memcpy(&v, item + f->offset, 4);
	else
		memcpy(&v, item + f->offset, f->bytes); /* little-endian */
	return v;
}

static uint64_t load_base(const char *item, const struct field *f)
{
	return load_field(item, &(struct field){.bytes = f->bytes, .offset = f->base});
}

static void pack_field(const struct sp_items *items, const struct field *f, uint64_t *column, struct sp_packer *p)
{
	size_t each = sp_dict_kind_bytes((enum sp_dict_kind)f->kind);
	uint64_t before = 0;

	for (size_t i = 0; i < items->n; i++) {
		const char *item = (const char *)items->data + i * each;
		uint64_t v = load_field(item, f);
		column[i] = f->coding == DELTA      ? sp_zigzag((int64_t)(v - before))
			    : f->coding == RELATIVE ? sp_zigzag((int64_t)(v - load_base(item, f)))
						    : v;
		before = v;
	}
	sp_pack_u64(p, column, items->n);
}

/* Of sizes that are known, or it would be a call for each. */
static void store_fields(char *at, size_t each, unsigned bytes, const uint64_t *column, size_t n)
{
	for (size_t i = 0; i < n && bytes == 1; i++, at += each)
		memcpy(at, &column[i], 1); /* little-endian */
	for (size_t i = 0; i < n && bytes == 2; i++, at += each)
		memcpy(at, &column[i], 2);
	for (size_t i = 0; i < n && bytes == 4; i++, at += each)
		memcpy(at, &column[i], 4);
	for (size_t i = 0; i < n && bytes == 8; i++, at += each)
		memcpy(at, &column[i], 8);
}

static bool unpack_field(char *data, size_t n, const struct field *f, uint64_t *column, struct sp_unpacker *u)
{
	size_t each = sp_dict_kind_bytes((enum sp_dict_kind)f->kind);
	uint64_t all = 0, before = 0,
		 most = f->coding == BOOL ? 1
			: f->bytes == 8   ? UINT64_MAX
					  : (UINT64_C(1) << f->bytes * 8) - 1;

	if (f->coding != RELATIVE && sp_unpack_skip_zeros(u, n)) /* as the items are */
		return true;
	sp_unpack_u64(u, column, n);
	for (size_t i = 0; i < n && f->coding == DELTA; i++)
		before = column[i] = before + (uint64_t)sp_unzigzag(column[i]);
	for (size_t i = 0; i < n && f->coding == RELATIVE; i++)
		column[i] = load_base(data + i * each, f) + (uint64_t)sp_unzigzag(column[i]);
	for (size_t i = 0; i < n; i++)
		all |= column[i];
	store_fields(data + f->offset, each, f->bytes, column, n);
	return all <= most; /* which has all bits below its highest */
}

static size_t max_items(const struct sp_chunk *c)
{
	size_t n = 0;

	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		n = SP_MAX(n, c->items[i].n);
	return n;
}

void sp_chunk_pack(const struct sp_chunk *c, struct sp_packer *p, bool skip_keys)
{
	SP_FREE uint64_t *column = calloc(max_items(c) + 1, sizeof(*column));
	static const struct sp_items none;
	uint32_t counts[SP_N_DICT_KINDS];

	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		counts[i] = i == SP_KEYS && skip_keys ? 0 : (uint32_t)c->items[i].n;
	if (!column) {
		sp_packer_fail(p, -ENOMEM);
		return;
	}
	sp_pack_u32(p, c->first, SP_N_DICT_KINDS);
	sp_pack_u32(p, counts, SP_N_DICT_KINDS);
	sp_pack_u32(p, c->items[SP_STRINGS].data, c->items[SP_STRINGS].n);
	sp_pack_bytes(p, c->bytes.data, c->bytes.n);
	for (size_t i = 0; i < SP_COUNT(fields); i++)
		pack_field(counts[fields[i].kind] > 0 ? &c->items[fields[i].kind] : &none, &fields[i], column, p);
	sp_pack_u32(p, c->items[SP_NODES].data, c->items[SP_NODES].n);
	sp_pack_u32(p, c->ranks.data, c->ranks.n);
	sp_pack_u32(p, c->new_frames.data, c->new_frames.n);
}

/* Appends the next column of the record. */
static int unpack_u32(struct sp_items *items, struct sp_unpacker *u)
{
	size_t n = sp_unpack_length(u);
	uint32_t *at = sp_items_add(items, n, sizeof(*at));

	if (!at)
		return -ENOMEM;
	sp_unpack_u32(u, at, n);
	return u->bad ? -EBADMSG : 0;
}

/* Of these the record says how many there are twice. */
static bool is_counted(const struct sp_unpacker *u, uint32_t count)
{
	return !u->bad && sp_unpack_length(u) == count;
}

static int unpack_strings(struct sp_chunk *c, uint32_t count, struct sp_unpacker *u)
{
	size_t before = c->items[SP_STRINGS].n, sum = 0;
	int r = is_counted(u, count) ? unpack_u32(&c->items[SP_STRINGS], u) : -EBADMSG;
	size_t n = sp_unpack_length(u);
	char *at = r < 0 ? NULL : sp_items_add(&c->bytes, n, 1);

	if (!at)
		return r < 0 ? r : -ENOMEM;
	sp_unpack_bytes(u, at, n);
	const uint32_t *lengths = c->items[SP_STRINGS].data;
	for (size_t i = before; i < c->items[SP_STRINGS].n; i++) {
		if (lengths[i] == 0 || lengths[i] > n - sum ||
		    memchr(at + sum, 0, lengths[i]) != at + sum + lengths[i] - 1)
			return -EBADMSG;
		sum += lengths[i];
	}
	return u->bad || sum != n ? -EBADMSG : 0;
}

static int unpack_structs(struct sp_chunk *c, const uint32_t counts[SP_N_DICT_KINDS], struct sp_unpacker *u)
{
	size_t most = 0;
	char *at[SP_N_DICT_KINDS] = {0};

	for (size_t i = 0; i < SP_N_DICT_KINDS; i++) {
		if (i == SP_STRINGS || i == SP_NODES || (c->only_keys && i != SP_KEYS))
			continue;
		if (i == SP_KEYS && c->keys && !sp_subtree_has(c->keys, c->first[i], c->first[i] + counts[i])) {
			c->items[i].n = counts[i];
			continue;
		}
		most = SP_MAX(most, counts[i]);
		at[i] = counts[i] > u->n_symbols
			    ? NULL
			    : sp_items_add(&c->items[i], counts[i], sp_dict_kind_bytes((enum sp_dict_kind)i));
		if (!at[i])
			return counts[i] > u->n_symbols ? -EBADMSG : -ENOMEM;
		memset(at[i], 0, counts[i] * sp_dict_kind_bytes((enum sp_dict_kind)i));
	}
	SP_FREE uint64_t *column = calloc(most + 1, sizeof(*column));
	if (!column)
		return -ENOMEM;
	for (size_t i = 0; i < SP_COUNT(fields); i++) {
		const struct field *f = &fields[i];
		if (!at[f->kind])
			sp_unpack_skip(u, counts[f->kind]);
		else if (!unpack_field(at[f->kind], counts[f->kind], f, column, u))
			return -EBADMSG;
	}
	return 0;
}

static int unpack_nodes(struct sp_chunk *c, uint32_t count, struct sp_unpacker *u)
{
	size_t n_new = c->new_frames.n, n = c->ranks.n;
	int r = is_counted(u, count) ? unpack_u32(&c->items[SP_NODES], u) : -EBADMSG;

	r = r < 0 ? r : unpack_u32(&c->ranks, u);
	r = r < 0 ? r : unpack_u32(&c->new_frames, u);
	if (r < 0)
		return r;
	for (const uint32_t *ranks = c->ranks.data; n < c->ranks.n; n++)
		n_new += ranks[n] & 1;
	return c->ranks.n != c->items[SP_NODES].n || n_new != c->new_frames.n ? -EBADMSG : 0;
}

/* Keys are not compared, since chunks of hours have none. */
static bool continues_chunk(const struct sp_chunk *c, const uint32_t first[SP_N_DICT_KINDS])
{
	for (size_t i = 0; i < SP_KEYS; i++)
		if (first[i] != c->first[i] + c->items[i].n)
			return false;
	return true;
}

int sp_chunk_unpack_counts(struct sp_unpacker *u, uint32_t ret_first[SP_N_DICT_KINDS],
			   uint32_t ret_counts[SP_N_DICT_KINDS])
{
	sp_unpack_u32(u, ret_first, SP_N_DICT_KINDS);
	sp_unpack_u32(u, ret_counts, SP_N_DICT_KINDS);
	return u->bad ? -EBADMSG : 0;
}

static int unpack_keys(struct sp_chunk *c, const uint32_t counts[SP_N_DICT_KINDS], struct sp_unpacker *u)
{
	sp_unpack_skip(u, counts[SP_STRINGS]);
	sp_unpack_skip_bytes(u);
	int r = unpack_structs(c, counts, u);
	return r == 0 && u->bad ? -EBADMSG : r;
}

static int unpack_only_nodes(struct sp_chunk *c, const uint32_t counts[SP_N_DICT_KINDS], struct sp_unpacker *u)
{
	sp_unpack_skip(u, counts[SP_STRINGS]);
	sp_unpack_skip_bytes(u);
	for (size_t i = 0; i < SP_COUNT(fields); i++)
		sp_unpack_skip(u, counts[fields[i].kind]);
	for (size_t i = 0; i < SP_N_DICT_KINDS; i++)
		c->items[i].n = i == SP_NODES ? 0 : counts[i];
	return unpack_nodes(c, counts[SP_NODES], u);
}

int sp_chunk_unpack(struct sp_chunk *c, struct sp_unpacker *u)
{
	uint32_t first[SP_N_DICT_KINDS], counts[SP_N_DICT_KINDS];
	int r = sp_chunk_unpack_counts(u, first, counts);

	if (r < 0 || (!sp_chunk_is_empty(c) && !continues_chunk(c, first)))
		return -EBADMSG;
	if (sp_chunk_is_empty(c))
		memcpy(c->first, first, sizeof(first));
	if (c->only_keys)
		return unpack_keys(c, counts, u);
	if (c->only_nodes)
		return unpack_only_nodes(c, counts, u);
	r = unpack_strings(c, counts[SP_STRINGS], u);
	r = r < 0 ? r : unpack_structs(c, counts, u);
	if (c->nodes_in_record) {
		c->record = u;
		c->items[SP_NODES].n = counts[SP_NODES];
		return r == 0 && !is_counted(u, counts[SP_NODES]) ? -EBADMSG : r;
	}
	r = r < 0 || c->skip_nodes ? r : unpack_nodes(c, counts[SP_NODES], u);
	return r == 0 && u->bad ? -EBADMSG : r;
}

size_t sp_chunk_columns(const struct sp_chunk *c)
{
	return 4 + SP_COUNT(fields) + (c->skip_nodes ? 0 : 3);
}

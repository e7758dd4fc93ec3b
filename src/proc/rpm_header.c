/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/rpm_header.h"

#include <errno.h>
#include <string.h>

enum { MAX_ENTRIES = 0xffff, ENTRY_BYTES = 16, MAX_DATA_BYTES = 64 << 20 };
enum { TYPE_CHAR = 1, TYPE_INT8 = 2, TYPE_INT32 = 4, TYPE_STRING = 6, TYPE_STRING_ARRAY = 8 };
enum {
	TAG_NAME = 1000,
	TAG_VERSION = 1001,
	TAG_RELEASE = 1002,
	TAG_EPOCH = 1003,
	TAG_ARCH = 1022,
	TAG_FILESTATES = 1029,
	TAG_DIRINDEXES = 1116,
	TAG_BASENAMES = 1117,
	TAG_DIRNAMES = 1118,
};

struct entry {
	uint32_t type, count;
	const uint8_t *data;
	size_t left; /* bytes left up to the end of all data */
};

static uint32_t number_at(const uint8_t *bytes)
{
	uint32_t big;

	memcpy(&big, bytes, sizeof(big));
	return be32toh(big);
}

int sp_rpm_header_open(const void *bytes, size_t size, struct sp_rpm_header *ret_header)
{
	const uint8_t *b = bytes;

	if (size < 8)
		return -EBADMSG;
	size_t n_entries = number_at(b), data_bytes = number_at(b + 4);
	if (n_entries > MAX_ENTRIES || data_bytes > MAX_DATA_BYTES || size != 8 + n_entries * ENTRY_BYTES + data_bytes)
		return -EBADMSG;
	*ret_header = (struct sp_rpm_header){
	    .index = b + 8, .data = b + 8 + n_entries * ENTRY_BYTES, .n_entries = n_entries, .data_bytes = data_bytes};
	return 0;
}

/* The last one counts: rpm adds entries at installation behind the package's own. */
static int rpm_header_find_tag(const struct sp_rpm_header *h, uint32_t tag, struct entry *ret_entry)
{
	for (size_t i = h->n_entries; i-- > 0;) {
		const uint8_t *e = h->index + i * ENTRY_BYTES;
		uint32_t offset = number_at(e + 8);
		if (number_at(e) != tag)
			continue;
		if (offset >= h->data_bytes)
			return -EBADMSG;
		*ret_entry = (struct entry){.type = number_at(e + 4),
					    .count = number_at(e + 12),
					    .data = h->data + offset,
					    .left = h->data_bytes - offset};
		return 0;
	}
	return -ENOENT;
}

static int string_at(const struct entry *e, uint32_t i, const char **ret_string)
{
	const uint8_t *at = e->data, *end = e->data + e->left;

	if (i >= e->count)
		return -EBADMSG;
	for (;; i--) {
		const uint8_t *nul = memchr(at, 0, (size_t)(end - at));
		if (!nul)
			return -EBADMSG;
		if (i == 0)
			break;
		at = nul + 1;
	}
	*ret_string = (const char *)at;
	return 0;
}

/* Names and versions are single words in any valid package. */
static int word_of(const struct sp_rpm_header *h, uint32_t tag, const char **ret_word)
{
	struct entry e;
	int r = rpm_header_find_tag(h, tag, &e);

	if (r == 0)
		r = e.type == TYPE_STRING ? string_at(&e, 0, ret_word) : -EBADMSG;
	for (const char *c = r == 0 ? *ret_word : ""; *c != '\0'; c++)
		if (*c <= ' ' || *c > '~')
			return -EBADMSG;
	return r == 0 && strlen(*ret_word) > 255 ? -EBADMSG : r;
}

int sp_rpm_header_owner(const struct sp_rpm_header *h, struct sp_rpm_owner *ret_owner)
{
	struct sp_rpm_owner o = {.arch = ""};
	struct entry epoch;

	if (word_of(h, TAG_NAME, &o.name) < 0 || word_of(h, TAG_VERSION, &o.version) < 0 ||
	    word_of(h, TAG_RELEASE, &o.release) < 0 || o.name[0] == '\0')
		return -EBADMSG;
	int r = word_of(h, TAG_ARCH, &o.arch); /* keys (gpg-pubkey) have no architecture */
	if (r < 0 && r != -ENOENT)
		return r;
	if (rpm_header_find_tag(h, TAG_EPOCH, &epoch) == 0 && epoch.type == TYPE_INT32 && epoch.count > 0 &&
	    epoch.left >= 4)
		o.epoch = number_at(epoch.data);
	*ret_owner = o;
	return 0;
}

static int state_of(const struct sp_rpm_header *h, uint32_t i, uint8_t *ret_state)
{
	struct entry e;
	int r = rpm_header_find_tag(h, TAG_FILESTATES, &e);

	*ret_state = 0;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if ((e.type != TYPE_CHAR && e.type != TYPE_INT8) || i >= e.count || i >= e.left)
		return -EBADMSG;
	*ret_state = e.data[i];
	return 0;
}

int sp_rpm_header_file(const struct sp_rpm_header *h, uint32_t i, struct sp_rpm_file *ret_file)
{
	struct entry bases, dirs, of;
	struct sp_rpm_file f;

	if (rpm_header_find_tag(h, TAG_BASENAMES, &bases) < 0 || rpm_header_find_tag(h, TAG_DIRNAMES, &dirs) < 0 ||
	    rpm_header_find_tag(h, TAG_DIRINDEXES, &of) < 0)
		return -EBADMSG;
	if (bases.type != TYPE_STRING_ARRAY || dirs.type != TYPE_STRING_ARRAY || of.type != TYPE_INT32 ||
	    i >= of.count || i >= of.left / 4)
		return -EBADMSG;
	if (string_at(&bases, i, &f.base) < 0 || string_at(&dirs, number_at(of.data + 4 * (size_t)i), &f.dir) < 0 ||
	    state_of(h, i, &f.state) < 0)
		return -EBADMSG;
	*ret_file = f;
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/package.h"

#include "base/json_scan.h"
#include "base/mem.h"
#include "elf/priv.h"

#include <errno.h>
#include <string.h>

#define FDO_PACKAGING_METADATA 0xcafe1a7eU

/* --- the four keys --- */
static bool is_plain(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (s[i] <= ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\')
			return false;
	return true;
}

static bool is(const struct sp_json_word *w, const char *name)
{
	return w->len == strlen(name) && memcmp(w->at, name, w->len) == 0;
}

/* The field for this key's value; NULL: not one of the four keys. */
static char *place_of(const struct sp_json_word *key, struct sp_elf_package *p, size_t *ret_size)
{
	const struct {
		const char *key;
		char *value;
		size_t size;
	} places[] = {{"name", p->name, sizeof(p->name)},
		      {"version", p->version, sizeof(p->version)},
		      {"architecture", p->arch, sizeof(p->arch)},
		      {"type", p->type, sizeof(p->type)}};
	for (size_t i = 0; i < SP_COUNT(places); i++)
		if (is(key, places[i].key)) {
			*ret_size = places[i].size;
			return places[i].value;
		}
	return NULL;
}

static int package_copy_word(const struct sp_json_word *value, char *place, size_t size)
{
	if (place[0] || !is_plain(value->at, value->len))
		return -EBADMSG;
	if (value->len >= size)
		return -EFBIG;
	memcpy(place, value->at, value->len);
	return 0;
}

static int take_member(struct sp_json_text *t, struct sp_elf_package *p)
{
	struct sp_json_word key, value;
	size_t size = 0;
	if (!sp_json_take_string(t, &key) || !sp_json_take_char(t, ':'))
		return -EBADMSG;
	char *place = place_of(&key, p, &size);
	if (t->at < t->end && *t->at == '"') {
		if (!sp_json_take_string(t, &value))
			return -EBADMSG;
		return place ? package_copy_word(&value, place, size) : 0;
	}
	return !place && (sp_json_take_literal(t) || sp_json_take_number(t)) ? 0 : -EBADMSG;
}

static int take_object(struct sp_json_text *t, struct sp_elf_package *p)
{
	if (!sp_json_take_char(t, '{'))
		return -EBADMSG;
	if (sp_json_take_char(t, '}'))
		return 0;
	do {
		int r = take_member(t, p);
		if (r < 0)
			return r;
	} while (sp_json_take_char(t, ','));
	return sp_json_take_char(t, '}') ? 0 : -EBADMSG;
}

int sp_elf_package_scan(const char *text, size_t len, struct sp_elf_package *ret_package)
{
	struct sp_elf_package p = {0};
	if (len > SP_PACKAGE_NOTE_BYTES)
		return -EFBIG;
	while (len > 0 && text[len - 1] == '\0')
		len--;
	struct sp_json_text t = {.at = text, .end = text + len};
	int r = take_object(&t, &p);
	if (r < 0)
		return r;
	if (t.at != t.end || !p.name[0])
		return -EBADMSG;
	*ret_package = p;
	return 0;
}

static bool package_is_valid_text(const char *s, size_t size)
{
	size_t len = strnlen(s, size);
	return len < size && is_plain(s, len);
}

bool sp_elf_package_valid(const struct sp_elf_package *p)
{
	return package_is_valid_text(p->name, sizeof(p->name)) &&
	       package_is_valid_text(p->version, sizeof(p->version)) &&
	       package_is_valid_text(p->arch, sizeof(p->arch)) && package_is_valid_text(p->type, sizeof(p->type));
}

/* --- the note --- */
static int scan_note(void *arg, const struct sp_elf_note *n)
{
	if (n->type != FDO_PACKAGING_METADATA || n->owner_len != 4 || memcmp(n->owner, "FDO", 4) != 0)
		return 0;
	return sp_elf_package_scan((const char *)n->data, n->len, arg) == 0;
}

int sp_elf_package(struct sp_elf *e, struct sp_elf_package *ret_package)
{
	int r = sp_elf_walk_notes(e, ".note.package", scan_note, ret_package);
	return r == 0 ? -ENOENT : r < 0 ? r : 0;
}

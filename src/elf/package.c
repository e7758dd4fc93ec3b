/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/package.h"

#include "base/mem.h"
#include "elf/priv.h"

#include <errno.h>
#include <string.h>

#define FDO_PACKAGING_METADATA 0xcafe1a7eU

/* --- JSON, as much as a flat object needs --- */
struct text {
	const char *at, *end;
};
struct word { /* the text between the quotes, with its escapes */
	const char *at;
	size_t len;
};

static void skip_space(struct text *t)
{
	while (t->at < t->end && memchr(" \t\r\n", *t->at, 4))
		t->at++;
}

/* Skips this character, and space around it. */
static bool package_parse_char(struct text *t, char c)
{
	skip_space(t);
	if (t->at == t->end || *t->at != c)
		return false;
	t->at++;
	skip_space(t);
	return true;
}

static bool package_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return package_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool take_escape(struct text *t)
{
	if (t->at == t->end)
		return false;
	char c = *t->at++;
	if (c != 'u')
		return memchr("\"\\/bfnrt", c, 8) != NULL;
	for (unsigned i = 0; i < 4; i++)
		if (t->at == t->end || !is_hex(*t->at++))
			return false;
	return true;
}

static bool take_string(struct text *t, struct word *ret_word)
{
	if (t->at == t->end || *t->at++ != '"')
		return false;
	ret_word->at = t->at;
	while (t->at < t->end) {
		char c = *t->at++;
		if (c == '"') {
			ret_word->len = (size_t)(t->at - 1 - ret_word->at);
			return true;
		}
		if ((unsigned char)c < ' ' || (c == '\\' && !take_escape(t)))
			return false;
	}
	return false;
}

static bool take_digits(struct text *t)
{
	const char *from = t->at;
	while (t->at < t->end && package_is_digit(*t->at))
		t->at++;
	return t->at > from;
}

static bool take_one_of(struct text *t, const char *characters)
{
	if (t->at == t->end || !strchr(characters, *t->at))
		return false;
	t->at++;
	return true;
}

static bool take_number(struct text *t)
{
	take_one_of(t, "-");
	if (!take_one_of(t, "0") && !take_digits(t))
		return false;
	if (take_one_of(t, ".") && !take_digits(t))
		return false;
	if (!take_one_of(t, "eE"))
		return true;
	take_one_of(t, "+-");
	return take_digits(t);
}

static bool take_literal(struct text *t)
{
	static const char *const literals[] = {"true", "false", "null"};
	for (size_t i = 0; i < SP_COUNT(literals); i++) {
		size_t len = strlen(literals[i]);
		if ((size_t)(t->end - t->at) >= len && memcmp(t->at, literals[i], len) == 0) {
			t->at += len;
			return true;
		}
	}
	return false;
}

/* --- the four keys --- */
static bool is_plain(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (s[i] <= ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\')
			return false;
	return true;
}

static bool is(const struct word *w, const char *name)
{
	return w->len == strlen(name) && memcmp(w->at, name, w->len) == 0;
}

/* The field for this key's value; NULL: not one of the four keys. */
static char *place_of(const struct word *key, struct sp_elf_package *p, size_t *ret_size)
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

static int package_copy_word(const struct word *value, char *place, size_t size)
{
	if (place[0] || !is_plain(value->at, value->len))
		return -EBADMSG;
	if (value->len >= size)
		return -EFBIG;
	memcpy(place, value->at, value->len);
	return 0;
}

static int take_member(struct text *t, struct sp_elf_package *p)
{
	struct word key, value;
	size_t size = 0;
	if (!take_string(t, &key) || !package_parse_char(t, ':'))
		return -EBADMSG;
	char *place = place_of(&key, p, &size);
	if (t->at < t->end && *t->at == '"') {
		if (!take_string(t, &value))
			return -EBADMSG;
		return place ? package_copy_word(&value, place, size) : 0;
	}
	return !place && (take_literal(t) || take_number(t)) ? 0 : -EBADMSG;
}

static int take_object(struct text *t, struct sp_elf_package *p)
{
	if (!package_parse_char(t, '{'))
		return -EBADMSG;
	if (package_parse_char(t, '}'))
		return 0;
	do {
		int r = take_member(t, p);
		if (r < 0)
			return r;
	} while (package_parse_char(t, ','));
	return package_parse_char(t, '}') ? 0 : -EBADMSG;
}

int sp_elf_package_scan(const char *text, size_t len, struct sp_elf_package *ret_package)
{
	struct sp_elf_package p = {0};
	if (len > SP_PACKAGE_NOTE_BYTES)
		return -EFBIG;
	while (len > 0 && text[len - 1] == '\0')
		len--;
	struct text t = {.at = text, .end = text + len};
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

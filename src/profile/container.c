/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/container.h"

#include "base/intern.h"
#include "base/mem.h"
#include "base/parse.h"
#include "profile/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_LEN = 64, SHORT_LEN = 12, MAX_NAME = 255, MAX_PATH = 512, MARK = 20 };

/* One component of a path, without its suffix. */
struct part {
	const char *text;
	size_t len;
};

static bool part_begins_with(struct part p, const char *prefix)
{
	size_t n = strlen(prefix);

	return p.len > n && memcmp(p.text, prefix, n) == 0;
}

static bool part_equals(struct part p, const char *word)
{
	return p.len == strlen(word) && memcmp(p.text, word, p.len) == 0;
}

static struct part part_without_suffix(struct part p, const char *suffix)
{
	size_t n = strlen(suffix);

	if (p.len > n && memcmp(p.text + p.len - n, suffix, n) == 0)
		p.len -= n;
	return p;
}

static struct part part_skip(struct part p, size_t n)
{
	return (struct part){p.text + n, p.len - n};
}

static bool part_is_hex(struct part p)
{
	for (size_t i = 0; i < p.len; i++)
		if (!strchr("0123456789abcdef", p.text[i]))
			return false;
	return true;
}

/*
 * [ENGINE-]ID[.scope], or ENGINE:ID where the runtime uses another cgroup driver than the engine. conmon, the
 * engine's monitor, runs outside of the container.
 */
static bool container_id_parse(struct part p, struct part *ret)
{
	p = part_without_suffix(p, ".scope");
	if (p.len < ID_LEN || !part_is_hex(part_skip(p, p.len - ID_LEN)))
		return false;
	struct part id = part_skip(p, p.len - ID_LEN), engine = {p.text, p.len - ID_LEN};
	bool is_apart = engine.len == 0 || engine.text[engine.len - 1] == '-' || engine.text[engine.len - 1] == ':';

	if (!is_apart || part_without_suffix(engine, "conmon-").len != engine.len)
		return false;
	*ret = (struct part){id.text, SHORT_LEN};
	return true;
}

/* lxc.payload.NAME, lxc.payload/NAME, lxc/NAME; machine-NAME.scope, systemd-nspawn@NAME.service. */
static bool container_name_parse(struct part before, struct part p, struct part *ret)
{
	struct part name;

	if (part_equals(before, "lxc") || part_equals(before, "lxc.payload"))
		name = p;
	else if (part_begins_with(p, "lxc.payload."))
		name = part_skip(p, strlen("lxc.payload."));
	else if (part_equals(before, "machine.slice") && part_begins_with(p, "machine-") &&
		 part_without_suffix(p, ".scope").len < p.len)
		name = part_skip(part_without_suffix(p, ".scope"), strlen("machine-"));
	else if (part_begins_with(p, "systemd-nspawn@") && part_without_suffix(p, ".service").len < p.len)
		name = part_skip(part_without_suffix(p, ".service"), strlen("systemd-nspawn@"));
	else
		return false;
	if (name.len > MAX_NAME)
		return false;
	*ret = name;
	return true;
}

/* Undoes systemd's escapes in unit names: \xHH. */
static void container_name_unescape(struct part p, char *to)
{
	size_t i = 0;

	while (i < p.len) {
		bool escaped = i + 4 <= p.len && p.text[i] == '\\' && p.text[i + 1] == 'x' &&
			       sp_hex_digit(p.text[i + 2]) >= 0 && sp_hex_digit(p.text[i + 3]) >= 0;
		*to++ = escaped ? (char)(sp_hex_digit(p.text[i + 2]) << 4 | sp_hex_digit(p.text[i + 3])) : p.text[i];
		i += escaped ? 4 : 1;
	}
	*to = '\0';
}

int sp_container_of(const char *cgroup, char *ret_name, size_t size)
{
	struct part before = {"", 0}, found = {NULL, 0};

	for (const char *at = cgroup; *at != '\0';) {
		struct part p = {at, strcspn(at, "/")};
		if (p.len > 0 && (container_id_parse(p, &found) || container_name_parse(before, p, &found)) &&
		    found.len >= size)
			return -ENAMETOOLONG;
		if (p.len > 0)
			before = p;
		at += p.len + (at[p.len] == '/');
	}
	if (!found.text)
		return -ENOENT;
	container_name_unescape(found, ret_name);
	return 0;
}

/* Users who may make cgroups give them paths of up to 4 KB: of long ones the beginning is kept, and a hash of the
 * whole. */
static int64_t add_path(struct sp_profile *p, const char *path)
{
	size_t len = strlen(path);
	char cut[MAX_PATH + 1];

	if (len <= MAX_PATH)
		return sp_profile_add_string(p, path);
	snprintf(cut, sizeof(cut), "%.*s...#%016" PRIx64, MAX_PATH - MARK, path, sp_hash_bytes(path, len, 0));
	return sp_profile_add_string(p, cut);
}

int sp_profile_set_cgroup(struct sp_profile *p, uint32_t process, const char *path)
{
	char name[MAX_NAME + 1];
	int64_t cgroup = add_path(p, path), container = 0;

	if (cgroup >= 0 && sp_container_of(path, name, sizeof(name)) == 0)
		container = sp_profile_add_string(p, name);
	if (cgroup < 0 || container < 0)
		return -ENOMEM;
	struct sp_process *it = sp_profile_process(p, process);
	it->cgroup_path = (uint32_t)cgroup;
	it->container = (uint32_t)container;
	return 0;
}

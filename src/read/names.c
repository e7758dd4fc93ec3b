/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names.c: what foreign profiles call their files, functions and frames; see priv.h. */
#include "read/priv.h"

#include "base/encode.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/path.h"
#include "profile/profile.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool ends(const char *text, const char *with)
{
	size_t n = strlen(text), m = strlen(with);

	return n >= m && !strcmp(text + n - m, with);
}

/* --- files --- */
struct naming {
	char *path;
	char name[256]; /* "" = the path's last component */
	uint8_t kind;
	bool deleted;
	uint32_t pid; /* ANON */
};

static bool is_kernel(const char *path)
{
	return begins(path, "[kernel.kallsyms]") || begins(path, "[guest.kernel.kallsyms") || !strcmp(path, "[kernel]");
}

/* "[ext4]": perf's form of a module's name. Other names in brackets are memory of processes. */
static bool is_module(const char *path)
{
	static const char *const others[] = {"[anon]", "[heap]",     "[stack]",      "[vvar]", "[unknown]",
					     "[bpf]",  "[uprobes]",  "[sigpage]",    "[none]", "[vectors]",
					     "[vdso]", "[vsyscall]", "[vvar_vclock]"};
	size_t n = strlen(path);

	for (size_t i = 0; i < SP_COUNT(others); i++)
		if (!strcmp(path, others[i]))
			return false;
	return n > 2 && path[0] == '[' && path[n - 1] == ']' &&
	       strspn(path + 1, "abcdefghijklmnopqrstuvwxyz0123456789_-") == n - 2;
}

/* /lib/modules/6.1/kernel/fs/ext4/ext4.ko.xz becomes [ext4], perf's other form, with "_" for "-". */
static bool name_module_file(struct naming *f)
{
	const char *base = sp_path_last(f->path), *dot = strstr(base, ".ko");
	int n;

	if (!dot || dot == base || (dot[3] && dot[3] != '.'))
		return false;
	n = snprintf(f->name, sizeof(f->name), "[%.*s]", (int)SP_MIN(dot - base, (ptrdiff_t)200), base);
	for (int i = 0; i < n; i++)
		if (f->name[i] == '-')
			f->name[i] = '_';
	return true;
}

/* Memory without a file: our own exports write "[anon:PID]", perf "//anon" and "perf-PID.map". */
static bool name_anonymous(struct naming *f)
{
	const char *base = sp_path_last(f->path);
	char digits[24];
	uint64_t pid;
	bool ours = begins(f->path, "[anon:"), map = begins(base, "perf-") && ends(base, ".map");
	const char *from = ours ? f->path + 6 : base + 5;

	if (ours || map) {
		snprintf(digits, sizeof(digits), "%.*s", (int)strspn(from, "0123456789"), from);
		if (!sp_parse_number(digits, 0, UINT32_MAX, &pid))
			f->pid = (uint32_t)pid;
	}
	if (ours || map || begins(f->path, "//anon") || !strcmp(f->path, "[anon]"))
		snprintf(f->name, sizeof(f->name), "[anon]");
	return *f->name;
}

static uint8_t kind_of(struct naming *f, bool has_build_id)
{
	if (is_kernel(f->path)) {
		snprintf(f->name, sizeof(f->name), "[kernel]");
		return SP_FILE_KERNEL;
	}
	if (!strcmp(f->path, SP_READ_WAKER))
		return SP_FILE_WORDS;
	if (is_module(f->path) || name_module_file(f))
		return SP_FILE_KERNEL;
	if (!strcmp(f->path, "[vdso]") || begins(f->path, "linux-vdso.so") || begins(f->path, "linux-gate.so")) {
		snprintf(f->name, sizeof(f->name), "[vdso]");
		return SP_FILE_VDSO;
	}
	if (name_anonymous(f))
		return SP_FILE_ANON;
	if (begins(f->path, "node:")) /* a script within node: its path is its name */
		snprintf(f->name, sizeof(f->name), "%s", f->path);
	return has_build_id || *f->path == '/' || strstr(f->path, ".so") ? SP_FILE_ELF : SP_FILE_OTHER;
}

static const char deleted_suffix[] = " (deleted)";

static void undo_deleted(struct naming *f)
{
	f->deleted = ends(f->path, deleted_suffix) && strcmp(f->path, deleted_suffix) != 0;
	if (f->deleted)
		f->path[strlen(f->path) - strlen(deleted_suffix)] = 0;
}

static bool same_file(const struct sp_file *a, const struct sp_file *b)
{
	return a->build_id_text == b->build_id_text && a->name == b->name && a->path == b->path &&
	       a->process == b->process && a->deleted == b->deleted && a->build_id_len == b->build_id_len &&
	       !memcmp(a->build_id, b->build_id, a->build_id_len);
}

/*
 * A deleted file is not the one now at its path. Without a build id to tell them apart, its name must. A memfd is
 * always "deleted".
 */
static int64_t add_name(struct sp_profile *p, const struct naming *n, const struct sp_file *f)
{
	const char *name = *n->name ? n->name : sp_path_last(n->path);
	char *both SP_FREE = NULL;

	if (!n->deleted || f->build_id_len || *n->name || begins(n->path, "/memfd:"))
		return sp_profile_add_string(p, name);
	return asprintf(&both, "%s%s", name, deleted_suffix) < 0 ? -ENOMEM : sp_profile_add_string(p, both);
}

/* Names in brackets are no paths: they become the name only, as in our own profiles. */
static int64_t names_add_file(struct sp_profile *p, const struct naming *n, struct sp_file *f)
{
	bool is_path = *n->path != '[' && n->kind != SP_FILE_VDSO && n->kind != SP_FILE_ANON;
	int64_t name = add_name(p, n, f);
	int64_t path = sp_profile_add_string(p, is_path && strchr(n->path, '/') ? n->path : "");
	int64_t process = n->pid ? sp_profile_add_process(p, &(struct sp_process){.pid = n->pid}) : 0;
	int64_t file;

	if (name < 0 || path < 0 || process < 0)
		return -ENOMEM;
	f->name = (uint32_t)name;
	f->path = (uint32_t)path;
	f->process = (uint32_t)process;
	do { /* until no other file has this tag */
		file = sp_profile_add_file(p, f);
		f->tag++;
	} while (file >= 0 && !same_file(sp_profile_file(p, (uint32_t)file), f));
	return file;
}

/* f: its build id. */
static int64_t name_file(struct sp_profile *p, const char *path, struct sp_file *f)
{
	char *copy SP_FREE = strdup(path);
	struct naming n = {.path = copy};
	const char *text = sp_profile_string(p, f->build_id_text);

	if (!copy)
		return -ENOMEM;
	undo_deleted(&n);
	n.kind = kind_of(&n, f->build_id_len > 0 || *text);
	f->kind = n.kind;
	f->deleted = n.deleted;
	f->tag = sp_hash_bytes(f->build_id, f->build_id_len, sp_hash_bytes(copy, strlen(copy), n.deleted));
	if (*text)
		f->tag = sp_hash_bytes(text, strlen(text), f->tag);
	return names_add_file(p, &n, f);
}

int64_t sp_read_file(struct sp_profile *p, const char *path, const uint8_t *build_id, size_t build_id_len)
{
	struct sp_file f = {.build_id_len = (uint8_t)SP_MIN(build_id_len, (size_t)SP_BUILD_ID_MAX)};

	if (build_id_len)
		memcpy(f.build_id, build_id, f.build_id_len);
	return *path || build_id_len ? name_file(p, path, &f) : 0;
}

/* False for a build id that is not in hex (Go's own, other systems'): it is kept as text. */
static bool read_build_id(const char *text, struct sp_file *f)
{
	size_t n = 0;

	for (; text[2 * n]; n++) {
		int high = sp_hex_digit((char)tolower(text[2 * n]));
		int low = high < 0 ? -1 : sp_hex_digit((char)tolower(text[2 * n + 1]));

		if (low < 0 || n == SP_BUILD_ID_MAX)
			return false;
		f->build_id[n] = (uint8_t)(high << 4 | low);
	}
	f->build_id_len = (uint8_t)n;
	return true;
}

int64_t sp_read_mapping(struct sp_profile *p, uint32_t path, uint32_t build_id)
{
	struct sp_file f = {0};

	if (!path && !build_id)
		return 0;
	if (!read_build_id(sp_profile_string(p, build_id), &f)) {
		memset(f.build_id, 0, sizeof(f.build_id));
		f.build_id_text = build_id;
	}
	return name_file(p, sp_profile_string(p, path), &f);
}

bool sp_read_is_module(const char *path)
{
	struct naming n = {.path = (char *)(uintptr_t)path}; /* not changed */

	return !is_kernel(path) && (is_module(path) || name_module_file(&n));
}

size_t sp_read_range(const char *name, uint64_t *ret_offset)
{
	const char *plus = strrchr(name, '+');
	size_t digits = plus && plus[1] == '0' && plus[2] == 'x' ? strspn(plus + 3, "0123456789abcdef") : 0;

	if (!digits || digits > 16 || plus[3 + digits] || plus == name || begins(name, "[unknown]") ||
	    strpbrk(name, "(<") || strstr(name, "::"))
		return 0;
	*ret_offset = strtoull(plus + 3, NULL, 16);
	return (size_t)(plus - name);
}

/* --- frames --- */
int64_t sp_read_frame(struct sp_profile *p, const struct sp_frame *frame, bool has_address)
{
	bool kernel = sp_profile_file(p, frame->file)->kind == SP_FILE_KERNEL;
	struct sp_frame f = *frame;
	int64_t number;

	f.flags |= kernel ? SP_FRAMEF_KERNEL : 0;
	number = sp_profile_add_frame_variant(p, &f, has_address);
	return number == -E2BIG ? sp_fail_said(-E2BIG, "too many functions at one place of one profile") : number;
}

/* --- \xNN --- */
static void names_unescape(char *text)
{
	char *to = text;

	for (const char *at = text; *at;) {
		bool escaped = at[0] == '\\' && at[1] == 'x' && sp_hex_digit(at[2]) >= 0 && sp_hex_digit(at[3]) >= 0;

		*to++ = escaped ? (char)(sp_hex_digit(at[2]) << 4 | sp_hex_digit(at[3])) : *at;
		at += escaped ? 4 : 1;
	}
	*to = 0;
}

char *sp_read_unescape(int encoding, const char *text, size_t len)
{
	char *copy = malloc(len + 1), *decoded SP_FREE = NULL, *again SP_FREE = NULL;

	if (!copy)
		return NULL;
	memcpy(copy, text, len); /* which has no end of its own, as strndup() is checked for */
	copy[len] = '\0';
	decoded = strstr(copy, "\\x") ? strdup(copy) : NULL;
	if (!decoded)
		return copy;
	names_unescape(decoded);
	again = sp_encoded(encoding, decoded);
	if (!again || strcmp(again, copy))
		return copy;
	free(copy);
	return sp_take_ptr(decoded);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "made.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "test.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 1 << 16 };

/* --- sums
 * -------------------------------------------------------------------------------------------------------------- */
struct sums sums_new(uint32_t n_values)
{
	struct sums s = {.n_values = n_values};

	assert_int_equal(sp_intern_new(&s.texts), 0);
	return s;
}

void sums_done(struct sums *s)
{
	sp_intern_free(s->texts);
	free(s->values);
}

static void sums_add(struct sums *s, const char *text, const int64_t *values)
{
	int64_t n = sp_intern_add(s->texts, text, strlen(text));

	assert_true(n >= 0);
	assert_int_equal(sp_grow(&s->values, &s->capacity, (size_t)(n + 1) * s->n_values, sizeof(*s->values)), 0);
	for (uint32_t v = 0; v < s->n_values; v++)
		s->values[(size_t)n * s->n_values + v] += values[v];
}

static void sums_within(const struct sums *a, const struct sums *b, const char *what)
{
	for (uint32_t i = 0; i < sp_intern_count(a->texts); i++) {
		size_t len;
		const char *text = sp_intern_get(a->texts, i, &len);
		int64_t at = sp_intern_find(b->texts, text, len);
		if (at < 0)
			fail_msg("%s is not in %s", text, what);
		for (uint32_t v = 0; v < a->n_values; v++)
			if (a->values[(size_t)i * a->n_values + v] != b->values[(size_t)at * b->n_values + v])
				fail_msg("value %u of %s is %lld, in %s %lld", v, text,
					 (long long)a->values[(size_t)i * a->n_values + v], what,
					 (long long)b->values[(size_t)at * b->n_values + v]);
	}
}

void sums_equal(const struct sums *a, const struct sums *b)
{
	assert_int_equal(a->n_values, b->n_values);
	assert_true(sp_intern_count(a->texts) > 0);
	sums_within(a, b, "the second");
	sums_within(b, a, "the first");
}

/* --- names --- */
/* Where strings and items come from: a profile, or a dictionary. */
struct from {
	const struct sp_profile *p;
	const struct sp_dict *d;
	struct frame_text {
		size_t len;
		char *text;
	} * frames; /* of those met so far */
};

static struct from from_new(const struct sp_profile *p, const struct sp_dict *d)
{
	struct from from = {.p = p, .d = d};
	uint32_t n = p != NULL ? sp_profile_n_frames(p) : d->n_frames;

	from.frames = calloc(n + 1, sizeof(*from.frames));
	assert_non_null(from.frames);
	return from;
}

static void from_done(struct from *from)
{
	uint32_t n = from->p != NULL ? sp_profile_n_frames(from->p) : from->d->n_frames;

	for (uint32_t i = 0; i < n; i++)
		free(from->frames[i].text);
	free(from->frames);
}

static const char *string_of(const struct from *from, uint32_t n)
{
	return from->p != NULL ? sp_profile_string(from->p, n) : sp_dict_string(from->d, n);
}

/* Text is built by hand: printf would take most of the time of these tests. */
static size_t put_bytes(char *text, size_t n, const char *bytes, size_t len)
{
	assert_true(n + len < TEXT_MAX);
	memcpy(text + n, bytes, len);
	text[n + len] = '\0';
	return n + len;
}

static size_t put(char *text, size_t n, const char *words)
{
	return put_bytes(text, n, words, strlen(words));
}

/* Preceded by a space. */
static size_t put_number(char *text, size_t n, uint64_t number)
{
	char digits[18], *at = digits + sizeof(digits) - 1;

	for (*at = '\0'; number > 0 || *at == '\0'; number >>= 4)
		*--at = "0123456789abcdef"[number & 15];
	*--at = ' ';
	return put(text, n, at);
}

/* Like put_number(). */
static size_t put_string(char *text, size_t n, const struct from *from, uint32_t number)
{
	return put(text, put(text, n, " "), string_of(from, number));
}

static size_t put_file(char *text, size_t n, const struct from *from, uint32_t number)
{
	const struct sp_file *f = from->p != NULL ? sp_profile_file(from->p, number) : &from->d->files[number];
	char hex[2 * SP_BUILD_ID_MAX + 1];

	sp_hex(f->build_id, f->build_id_len, hex);
	n = put(text, put(text, n, " <"), hex);
	n = put_number(text, n, f->kind);
	n = put_number(text, n, f->deleted);
	n = put_number(text, n, f->owner_known);
	n = put_string(text, n, from, f->name);
	n = put_string(text, n, from, f->path);
	n = put_string(text, n, from, f->package);
	n = put_string(text, n, from, f->package_version);
	n = put_string(text, n, from, f->build_id_text);
	n = put_string(text, n, from, f->note);
	return put(text, n, ">");
}

static bool nowhere(const struct from *from, uint32_t number)
{
	const struct sp_file *f = from->p != NULL ? sp_profile_file(from->p, number) : &from->d->files[number];

	return f->kind == SP_FILE_KERNEL || f->kind == SP_FILE_ANON;
}

static size_t put_func(char *text, size_t n, const struct from *from, uint32_t number)
{
	const struct sp_func *f = from->p != NULL ? sp_profile_func(from->p, number) : &from->d->funcs[number];
	bool zero = nowhere(from, f->file);

	n = put_string(text, n, from, f->name);
	n = put_string(text, n, from, f->linkage_name);
	n = put_number(text, n, f->is_range);
	n = put_number(text, n, zero ? 0 : f->start);
	n = put_number(text, n, zero ? 0 : f->size);
	n = put_number(text, n, zero ? 0 : f->vaddr);
	n = put_string(text, n, from, f->source);
	n = put_number(text, n, f->source_line);
	return put_file(text, n, from, f->file);
}

static size_t put_new_frame(char *text, size_t n, const struct from *from, uint32_t number)
{
	const struct sp_frame *pf = from->p != NULL ? sp_profile_frame(from->p, number) : NULL;
	const struct sp_dict_frame *df = pf == NULL ? &from->d->frames[number] : NULL;
	uint32_t func = pf != NULL ? pf->func : df->func, file = pf != NULL ? pf->file : df->file;
	uint64_t offset = pf != NULL ? pf->offset : df->offset;

	n = put_number(text, put(text, n, ";"), (pf != NULL ? pf->flags : df->flags) & 0xff);
	if (func != 0)
		n = put_func(text, n, from, func);
	else
		n = put_number(text, put(text, n, " +"), nowhere(from, file) ? 0 : offset);
	return put_file(text, n, from, file);
}

static size_t put_frame(char *text, size_t n, struct from *from, uint32_t number)
{
	struct frame_text *f = &from->frames[number];

	if (f->text == NULL) {
		f->len = put_new_frame(text, n, from, number) - n;
		f->text = strdup(text + n);
		assert_non_null(f->text);
	}
	return put_bytes(text, n, f->text, f->len);
}

static size_t put_class(char *text, size_t n, bool in_kernel, uint32_t stack_class, uint32_t reason)
{
	n = put_number(text, put(text, n, in_kernel ? " kernel" : " user"), stack_class);
	return put_number(text, n, reason);
}

static size_t put_stack(char *text, size_t n, struct from *from, bool in_kernel, const struct sp_stack *s)
{
	n = put_class(text, n, in_kernel, s->stack_class, s->reason);
	for (uint32_t i = s->n_frames; i > 0; i--)
		n = put_frame(text, n, from, s->frames[i - 1]);
	return n;
}

static size_t put_group(char *text, size_t n, const struct from *from, uint32_t exe, uint32_t uid, uint32_t comm,
			uint32_t cgroup, uint32_t container, uint32_t root)
{
	n = put_file(text, n, from, exe);
	n = put_number(text, put(text, n, " uid"), uid);
	n = put_string(text, n, from, comm);
	n = put_string(text, n, from, cgroup);
	n = put_string(text, n, from, container);
	return put_string(text, n, from, root);
}

static size_t put_process(char *text, size_t n, uint32_t pid, uint32_t ns_pid, uint32_t exec_id, uint64_t start_ns,
			  uint64_t cgroup)
{
	n = put_number(text, n, pid);
	n = put_number(text, n, ns_pid);
	n = put_number(text, n, exec_id);
	n = put_number(text, n, start_ns);
	return put_number(text, n, cgroup);
}

/* --- profiles
 * ------------------------------------------------------------------------------------------------------------ */
static size_t put_key(char *text, size_t n, const struct from *from, uint32_t key, bool by_group)
{
	const struct sp_key *k = sp_profile_key(from->p, key);
	const struct sp_process *q = sp_profile_process(from->p, k->process);

	n = put_group(text, n, from, q->exe, q->uid, q->comm, q->cgroup_path, q->container, q->root);
	if (by_group)
		return n;
	n = put_process(text, n, q->pid, q->ns_pid, q->exec_id, q->start_ns, q->cgroup);
	return put_string(text, n, from, k->comm);
}

void sums_of_profile(struct sums *s, const struct sp_profile *p, bool by_group)
{
	struct from from = from_new(p, NULL);
	char *text = malloc(TEXT_MAX);

	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		struct sp_stack user = sp_profile_stack(p, row->user), kernel = sp_profile_stack(p, row->kernel);
		size_t n = put_key(text, 0, &from, row->key, by_group);
		n = put_stack(text, n, &from, false, &user);
		if (row->kernel != 0)
			n = put_stack(text, n, &from, true, &kernel);
		sums_add(s, text, row->values);
	}
	from_done(&from);
	free(text);
}

/* --- windows
 * ------------------------------------------------------------------------------------------------------------- */
static size_t put_who(char *text, size_t n, const struct from *from, uint32_t who, const struct sp_scan_window *w,
		      bool by_group)
{
	bool is_key = w->resolution == SP_RES_10S;
	const struct sp_dict_key *k = is_key ? &from->d->keys[who] : NULL;
	const struct sp_dict_group *g = &from->d->groups[is_key ? k->group : who];

	n = put_group(text, n, from, g->exe, g->uid, g->comm, g->cgroup_path, g->container, g->root);
	if (by_group)
		return n;
	n = put_process(text, n, k->pid, k->ns_pid, k->exec_id, k->start_ns, k->cgroup);
	return put_string(text, n, from, k->thread);
}

static size_t put_path(char *text, size_t n, struct from *from, uint32_t node)
{
	uint32_t path[4096], depth = 0;
	bool in_kernel = false, mixed = false;

	for (; node != 0; node = from->d->parent[node])
		path[depth++] = from->d->frame[node];
	for (; depth > 0; depth--) {
		const struct sp_dict_frame *f = &from->d->frames[path[depth - 1]];
		if (f->mark != SP_MARK_NONE) {
			in_kernel = f->mark == SP_MARK_KERNEL;
			mixed |= f->mark == SP_MARK_MIXED;
			n = put_class(text, n, in_kernel, f->stack_class, f->reason);
			continue;
		}
		if (!in_kernel && !mixed && (f->flags & SP_FRAMEF_KERNEL) != 0) {
			in_kernel = true;
			n = put_class(text, n, true, 0, 0);
		}
		n = put_frame(text, n, from, path[depth - 1]);
	}
	return n;
}

void sums_of_window(struct sums *s, const struct sp_scan_window *w, bool by_group)
{
	struct from from = from_new(NULL, w->dict);
	char *text = malloc(TEXT_MAX);

	assert_int_equal(w->n_values, s->n_values);
	for (uint32_t i = 0; i < w->n_rows; i++) {
		int64_t values[SP_MAX_VALUES];
		size_t n = put_who(text, 0, &from, w->who[i], w, by_group);
		put_path(text, n, &from, w->node[i]);
		for (uint32_t v = 0; v < w->n_values; v++)
			values[v] = w->values[v][i];
		sums_add(s, text, values);
	}
	from_done(&from);
	free(text);
}

size_t sums_of_store(struct sums *s, struct sp_store *store, int resolution, bool by_group)
{
	struct sp_scan_options o = {.to_ns = UINT64_MAX, .resolution = resolution};
	struct sp_scan_window w;
	struct sp_scan *scan;
	size_t n = 0;
	int r;

	assert_int_equal(sp_scan_open(store, &o, &scan), 0);
	for (; (r = sp_scan_next(scan, &w)) == 1; n++)
		sums_of_window(s, &w, by_group);
	assert_int_equal(r, 0);
	assert_int_equal(sp_scan_n_damaged(scan), 0);
	sp_scan_close(scan);
	return n;
}

/* --- random profiles --- */
uint64_t made_random(uint64_t *seed)
{
	uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint32_t below(uint64_t *seed, uint32_t n)
{
	return (uint32_t)(made_random(seed) % n);
}

static uint32_t word(struct sp_profile *p, const char *what, uint32_t n)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "%s%u", what, n);
	return n == 0 ? 0 : (uint32_t)sp_profile_add_string(p, text);
}

static void add_file(struct sp_profile *p, uint32_t i, uint64_t *seed)
{
	static const uint8_t kinds[] = {SP_FILE_ELF,  SP_FILE_ELF,  SP_FILE_KERNEL,
					SP_FILE_VDSO, SP_FILE_ANON, SP_FILE_OTHER};
	struct sp_file f = {
	    .kind = kinds[i % SP_COUNT(kinds)], .tag = i, .deleted = i % 3 == 0, .owner_known = i % 2 == 0};

	f.build_id_len = (uint8_t)(i % 2 != 0 ? 20 : i % 4 == 0 ? 32 : 0);
	for (int b = 0; b < f.build_id_len; b++)
		f.build_id[b] = (uint8_t)made_random(seed);
	f.name = word(p, "lib", i + 1);
	f.path = word(p, "/usr/lib/lib", i + 1);
	f.package = word(p, "package", i % 5);
	f.package_version = word(p, "1.", i % 5);
	f.build_id_text = word(p, "text", i % 7 == 0);
	f.note = word(p, "note ", i % 6);
	assert_true(sp_profile_add_file(p, &f) > 0);
}

static void add_func(struct sp_profile *p, const struct made *m, uint32_t i, uint64_t *seed)
{
	struct sp_func f = {.name = word(p, "func", i + 1),
			    .linkage_name = word(p, i % 3 == 0 ? "_Zfunc" : "func", i % 5 == 0 ? 0 : i + 1),
			    .file = 1 + below(seed, m->n_files),
			    .is_range = i % 5 == 0,
			    .start = made_random(seed) >> 40,
			    .size = below(seed, 4096),
			    .source = word(p, "source", i % 4),
			    .source_line = i % 4 * i};

	f.vaddr = f.start + (i % 2 == 0 ? 0x400000 : 0);
	assert_true(sp_profile_add_func(p, &f) > 0);
}

/* Most frames have a function; kernel frames may be in other frames' files. */
static void add_frame(struct sp_profile *p, const struct made *m, uint64_t *seed)
{
	static const uint32_t flags[] = {0, 0, 0, SP_FRAMEF_GUESSED, SP_FRAMEF_DERIVED, SP_FRAMEF_INLINED | 7u << 8};
	struct sp_frame f = {
	    .offset = made_random(seed) >> 44, .file = 1 + below(seed, m->n_files), .line = below(seed, 9)};

	f.func = below(seed, 8) == 0 ? 0 : 1 + below(seed, m->n_funcs);
	f.flags = below(seed, 3) == 0 ? SP_FRAMEF_KERNEL : flags[below(seed, SP_COUNT(flags))];
	assert_true(sp_profile_add_frame(p, &f) >= 0);
}

/* Usually user stacks have no kernel frames, and kernel stacks no user frames; but not always. */
static void add_stack(struct sp_profile *p, uint64_t *seed)
{
	uint32_t frames[64], n = below(seed, 60), kind = below(seed, 10), n_kept = 0;
	struct sp_stack s = {.stack_class = (uint16_t)(kind < 6 ? 0 : below(seed, 4)), .frames = frames};

	s.reason = (uint16_t)(s.stack_class == 0 ? 0 : below(seed, 500));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t f = below(seed, sp_profile_n_frames(p)) / (1 + below(seed, 20));
		bool kernels = (sp_profile_frame(p, f)->flags & SP_FRAMEF_KERNEL) != 0;
		if (kind == 9 || kernels == (kind % 2 != 0))
			frames[n_kept++] = f;
	}
	s.n_frames = n_kept;
	assert_true(sp_profile_add_stack(p, &s) >= 0);
}

static void add_key(struct sp_profile *p, const struct made *m, uint32_t i, uint64_t *seed)
{
	struct sp_process q = {.pid = 100 + i / 3,
			       .ns_pid = i / 3,
			       .uid = i / 3 % 4 * 1000,
			       .exe = 1 + i / 3 % m->n_files,
			       .comm = word(p, "comm", i / 3 % 6),
			       .cgroup_path = word(p, "/system.slice/", i / 3 % 5),
			       .container = i / 3 % 2 ? word(p, "container", i / 3 % 3) : 0,
			       .root = i / 3 % 2 ? 0 : word(p, "254:0 ", i / 3 % 3),
			       .exec_id = i / 3 % 2,
			       .start_ns = UINT64_C(123456789) * (i / 3),
			       .cgroup = i / 3 % 5};
	int64_t process = i == 0 ? 0 : sp_profile_add_process(p, &q);
	struct sp_key k = {.process = (uint32_t)process,
			   .comm = word(p, "thread", i % 3),
			   .recipe = word(p, "cpu", 1),
			   .slice = i % 2};

	(void)seed;
	assert_true(process >= 0);
	assert_true(sp_profile_add_key(p, &k) > 0);
}

void made_things(struct sp_profile *p, const struct made *m, uint64_t *seed)
{
	static const char *const names[] = {"samples", "cpu", "bytes", "waits", "v4", "v5", "v6", "v7"};

	for (uint32_t i = 0; i < m->n_values; i++)
		assert_int_equal(sp_profile_add_value_type(p, names[i], i == 0 ? "count" : "nanoseconds"), 0);
	for (uint32_t i = 0; i < m->n_files; i++)
		add_file(p, i, seed);
	for (uint32_t i = 0; i < m->n_funcs; i++)
		add_func(p, m, i, seed);
	for (uint32_t i = 0; i < m->n_funcs * 3; i++)
		add_frame(p, m, seed);
	for (uint32_t i = 0; i < m->n_stacks; i++)
		add_stack(p, seed);
	for (uint32_t i = 0; i < m->n_keys; i++)
		add_key(p, m, i, seed);
}

void made_rows(struct sp_profile *p, const struct made *m, uint64_t *seed)
{
	for (uint32_t i = 0; i < m->n_rows; i++) {
		int64_t values[SP_MAX_VALUES] = {1 + below(seed, 3)};
		uint32_t kernel = below(seed, 3) == 0 ? below(seed, sp_profile_n_stacks(p)) : 0;
		values[1] = values[0] * 52631578; /* like CPU time */
		values[2] = (int64_t)made_random(seed) >> 44;
		values[3] = (int64_t)(made_random(seed) >> (16 + below(seed, 48)));
		for (uint32_t v = 5; v < m->n_values; v++)
			values[v] = below(seed, 2);
		assert_int_equal(
		    sp_profile_add(p, 1 + below(seed, m->n_keys), below(seed, sp_profile_n_stacks(p)), kernel, values),
		    0);
	}
}

/* --- directories
 * ----------------------------------------------------------------------------------------------------------- */
char *made_directory(void)
{
	const char *tmp = getenv("TMPDIR");
	char *path = NULL;

	assert_true(asprintf(&path, "%s/sp-store-XXXXXX", tmp != NULL ? tmp : "/tmp") > 0);
	assert_non_null(mkdtemp(path));
	return path;
}

void made_directory_gone(char *path)
{
	DIR *dir = opendir(path);

	for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
		(void)unlinkat(dirfd(dir), e->d_name, 0);
	if (dir != NULL)
		(void)closedir(dir);
	assert_int_equal(rmdir(path), 0);
	free(path);
}

/* --- a store
 * ------------------------------------------------------------------------------------------------------------
 */
struct sp_store *made_store(const char *path, const struct sp_store_options *o)
{
	struct sp_store *s = NULL;
	int r = sp_store_open(path, o, &s);

	if (r < 0)
		fail_msg("%s", sp_error_text(r));
	return s;
}

void made_add(struct sp_store *s, uint64_t wall_ns, const struct sp_profile *p, const char *source)
{
	struct sp_store_window w = {.wall_ns = wall_ns,
				    .boot_ns = wall_ns / 7,
				    .duration_ns = 9 * SP_NS_PER_S,
				    .rate_millihertz = 19000,
				    .n_cpus = 2,
				    .n_lost = 3,
				    .source = source};
	int r = sp_store_add(s, &w, p);

	if (r < 0)
		fail_msg("%s", sp_error_text(r));
}

struct sp_profile *made_profile(void)
{
	struct sp_profile *p;

	assert_int_equal(sp_profile_new(&p), 0);
	return p;
}

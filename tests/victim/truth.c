/* SPDX-License-Identifier: GPL-2.0-or-later */
/* truth.c: reads truth and names files; frames to words. */
#include "check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int find_word(const struct truth *t, const char *text)
{
	for (int i = 0; i < t->n_words; i++) {
		if (strcmp(t->words[i].text, text) == 0)
			return i;
	}
	return FOREIGN;
}

static int add_word(struct truth *t, const char *text)
{
	int i = find_word(t, text);

	if (i != FOREIGN)
		return i;
	if (t->n_words == MAX_WORDS) {
		fprintf(stderr, "check: more than %d functions in a truth\n", MAX_WORDS);
		exit(2);
	}
	snprintf(t->words[t->n_words].text, sizeof(t->words[0].text), "%s", text);
	return t->n_words++;
}

/* `X`, `X@`, `@`, `*@` */
static struct call caller_of(struct truth *t, char *text)
{
	struct call c = {.caller = FROM_ROOT};
	size_t len = strlen(text);

	c.through = text[len - 1] == '@';
	if (c.through)
		text[len - 1] = '\0';
	if (strcmp(text, "*") == 0)
		c.caller = ANY;
	else if (*text)
		c.caller = add_word(t, text);
	return c;
}

static void add_call(struct truth *t, struct call call, const char *callee)
{
	call.callee = strcmp(callee, "@") == 0 ? FOREIGN : add_word(t, callee);
	if (t->n_calls == MAX_CALLS) {
		fprintf(stderr, "check: more than %d calls in a truth\n", MAX_CALLS);
		exit(2);
	}
	t->calls[t->n_calls++] = call;
}

static bool read_truth_line(struct truth *t, char *line)
{
	char *save = NULL, *what, *word, *first = NULL;
	struct call call = {0};

	line[strcspn(line, "#\n")] = '\0';
	what = strtok_r(line, " \t", &save);
	if (!what)
		return true;
	while ((word = strtok_r(NULL, " \t", &save))) {
		if (strcmp(what, "root") == 0)
			t->words[add_word(t, word)].root = true;
		else if (strcmp(what, "must") == 0)
			t->words[add_word(t, word)].must = true;
		else if (strcmp(what, "run") == 0 && first)
			t->words[add_word(t, first)].run = (int)strtol(word, NULL, 10);
		else if (strcmp(what, "call") == 0 && first)
			add_call(t, call, word);
		else if (strcmp(what, "call") == 0)
			call = caller_of(t, word);
		else if (strcmp(what, "run") != 0)
			return false;
		first = first ? first : word;
	}
	return first != NULL;
}

static void add_entry(struct truth *t, const struct entry *e)
{
	if (t->n_entries == t->room) {
		t->room = t->room ? 2 * t->room : 1024;
		t->entries = realloc(t->entries, t->room * sizeof(*t->entries));
		if (!t->entries)
			abort();
	}
	t->entries[t->n_entries++] = *e;
}

/* `FILE ADDRESS KIND NAME`: KIND is `f`, or `r` where a chain may begin; NAME to the end of the line, `-` = none. */
static bool read_name_line(struct truth *t, char *line)
{
	char *save = NULL, *file = strtok_r(line, " ", &save), *address = strtok_r(NULL, " ", &save);
	char *kind = strtok_r(NULL, " ", &save), *name = strtok_r(NULL, "\n", &save);

	if (!name)
		return false;
	add_entry(t, &(struct entry){.file = strdup(file),
				     .address = strtoull(address, NULL, 16),
				     .name = strdup(name),
				     .root = *kind == 'r'});
	return true;
}

static bool read_lines(struct truth *t, const char *path, bool (*read)(struct truth *, char *))
{
	FILE *in = fopen(path, "r");
	char *line = NULL;
	size_t size = 0;
	int number = 0;
	bool good = in != NULL;

	while (good && getline(&line, &size, in) > 0) {
		number++;
		good = read(t, line);
	}
	if (!good)
		fprintf(stderr, "check: cannot read %s, line %d\n", path, number);
	free(line);
	if (in)
		fclose(in);
	return good;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = strcmp(x->file, y->file);

	if (order)
		return order;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	/* of several names of one place the truth's own wins; see find_entry() */
	return strcmp(x->name, y->name);
}

bool truth_load(struct truth *t, const char *dir, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/../truth/%s", dir, name);
	if (!read_lines(t, path, read_truth_line))
		return false;
	snprintf(path, sizeof(path), "%s/names", dir);
	if (!read_lines(t, path, read_name_line))
		return false;
	qsort(t->entries, t->n_entries, sizeof(*t->entries), compare_entries);
	return true;
}

static bool fits(const struct call *c, int caller, bool through, int callee)
{
	if (c->callee != callee || c->through != through)
		return false;
	return c->caller == caller || (through && (c->caller == ANY || caller == FROM_CUT));
}

bool truth_calls(const struct truth *t, int caller, bool through, int callee)
{
	for (int i = 0; i < t->n_calls; i++) {
		if (fits(&t->calls[i], caller, through, callee))
			return true;
	}
	return false;
}

/* Takes <...> out, in place; not the < of operator< and of Rust's <T as Trait>. */
static void drop_template_arguments(char *s)
{
	char *to = s;
	int depth = 0;

	for (const char *p = s; *p; p++) {
		depth += *p == '<' && p > s;
		if (depth == 0)
			*to++ = *p;
		depth -= *p == '>' && depth > 0;
	}
	*to = '\0';
}

/* A function's plain name: without arguments, return type, hash, and what compilers add to pieces of functions. */
static void plain_name(const char *name, char *ret, size_t size)
{
	static const char *const ends[] = {"(", ".cold", ".part.", ".isra.", ".constprop.", "::h"};
	char *space, *end;

	snprintf(ret, size, "%s", name);
	drop_template_arguments(ret);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		end = strstr(ret, ends[i]);
		if (end && end > ret && (strcmp(ends[i], "::h") != 0 || strlen(end) == 19))
			*end = '\0';
	}
	space = strrchr(ret, ' ');
	if (space)
		memmove(ret, space + 1, strlen(space));
}

/* FILE+0xADDRESS: true if it is of that form. */
static bool split_range(const char *frame, char *file, size_t size, uint64_t *ret_address)
{
	const char *plus = strstr(frame, "+0x"), *next;
	char *end;

	while (plus && (next = strstr(plus + 1, "+0x")))
		plus = next;
	if (!plus || plus == frame)
		return false;
	*ret_address = strtoull(plus + 1, &end, 16);
	snprintf(file, size, "%.*s", (int)(plus - frame), frame);
	return *end == '\0';
}

static size_t first_entry(const struct truth *t, const char *file, uint64_t address)
{
	size_t lo = 0, hi = t->n_entries;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int order = strcmp(t->entries[mid].file, file);

		if (order < 0 || (order == 0 && t->entries[mid].address < address))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct place place_of_name(const struct truth *t, const char *name)
{
	/* where libc starts threads and contexts, and where the loader begins; the truth names none of them */
	static const char roots[] = "clone,__clone,clone3,__clone3,__start_context,_start";
	char plain[512];
	struct place p;

	plain_name(name, plain, sizeof(plain));
	p = (struct place){.word = find_word(t, plain)};
	p.root = p.word != FOREIGN ? t->words[p.word].root : word_in_list(roots, plain);
	return p;
}

static struct place place_of_range(const struct truth *t, const char *file, uint64_t address)
{
	size_t i = first_entry(t, file, 0), at = first_entry(t, file, address);
	bool known_file = i < t->n_entries && strcmp(t->entries[i].file, file) == 0;
	/* code without an FDE (stubs, assembly) begins at a multiple of 8, which an address inside of a function seldom
	 * is */
	struct place p = {.word = FOREIGN, .bare = known_file && address % 8 != 0};

	for (; at < t->n_entries && strcmp(t->entries[at].file, file) == 0 && t->entries[at].address == address; at++) {
		struct place q = place_of_name(t, t->entries[at].name);

		p.bare = false;
		p.root = p.root || q.root || t->entries[at].root;
		if (q.word != FOREIGN)
			p.word = q.word;
	}
	return p;
}

struct place truth_place(const struct truth *t, const char *frame)
{
	char file[512];
	uint64_t address;

	if (strncmp(frame, "0x", 2) == 0 || strcmp(frame, "[unknown]") == 0)
		return (struct place){.word = FOREIGN, .bare = true};
	if (split_range(frame, file, sizeof(file), &address))
		return place_of_range(t, file, address);
	return place_of_name(t, frame);
}

bool word_in_list(const char *list, const char *text)
{
	size_t len = strlen(text);

	for (const char *p = list; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
		if (strncmp(p, text, len) == 0 && (p[len] == ',' || p[len] == '\0'))
			return true;
	}
	return false;
}

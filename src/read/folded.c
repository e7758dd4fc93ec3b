/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folded.c: one line a stack, `WORD;WORD;...;LEAF COUNT`, of soprof, bcc, stackcollapse-*.pl, py-spy and so on, and
 * difffolded.pl's with two counts. folded.h detects which of these variants a text is.
 *
 * What our own view adds is undone: \xNN, the delimiter `-` between user and kernel frames, `_[k]` behind kernel
 * frames, "[Missed User Stack]". LIBRARY+0xHEX, `FUNCTION [LIBRARY]` and `[LIBRARY.so]` tell the file.
 *
 * Speed: each distinct word is parsed once, and words at the beginning of a line that equal those of the line before
 * are not even looked up (stackcollapse sorts its lines).
 */
#include "read/folded.h"

#include "base/encode.h"
#include "base/mem.h"
#include "profile/frames.h"
#include "read/input.h"
#include "read/priv.h"
#include "read/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum word_kind { PLAIN, ANNOTATED, DELIMITER, MISSED_USER, MISSED_KERNEL };
struct word {
	uint32_t user, kernel; /* the frame of this word in a user or kernel stack, 0 = not made yet */
	uint32_t key;          /* the key whose thread has this name */
	uint8_t kind;          /* enum word_kind */
	bool seen;
};
_Static_assert(sizeof(struct word) == 16, "small: there may be millions");
/* A word of the current line, with a copy of what is known of it: consecutive lines share most of their words. */
struct place {
	uint32_t start, end;
	uint64_t hash;
	struct word *word;
	enum word_kind kind;
	uint32_t frames[2]; /* word->user, word->kernel */
};
struct folded {
	struct sp_input *in;
	const struct sp_read_options *o;
	struct sp_read_result *result;
	struct sp_profile *p;
	struct sp_folded_shape shape;
	struct sp_read_table *words; /* by their text */
	char *line;                  /* the last one read */
	size_t line_capacity, line_len;
	struct place *places; /* its words */
	size_t places_capacity, n;
	uint32_t *frames;
	size_t frames_capacity;
};

/* --- words --- */
static const char kernel_name[] = "[kernel.kallsyms]";

static bool names_library(const char *name, size_t len)
{
	return *name == '/' || memmem(name, len, ".so", 3) ||
	       (len == strlen(kernel_name) && !memcmp(name, kernel_name, len));
}

/* Where the [LIBRARY] at the end of the word begins, or NULL. */
static const char *bracket_of(const char *word)
{
	size_t len = strlen(word);
	const char *open = len > 2 && word[len - 1] == ']' ? memrchr(word, '[', len) : NULL;

	if (!open || (open != word && open[-1] != ' '))
		return NULL;
	if (!strcmp(open, kernel_name) || !strcmp(open, "[kernel]") || !strcmp(open, "[vdso]"))
		return open;
	return names_library(open + 1, strlen(open) - 2) ? open : NULL;
}

/* The file that the bracket names: "[vdso]" with its brackets, "[libc.so.6]" without them. */
static int64_t file_in(struct sp_profile *p, const char *bracket)
{
	char *inside SP_FREE = NULL;

	if (!names_library(bracket + 1, strlen(bracket) - 2))
		return sp_read_file(p, bracket, NULL, 0);
	inside = strndup(bracket + 1, strlen(bracket) - 2);
	return inside ? sp_read_file(p, inside, NULL, 0) : -ENOMEM;
}

struct described {
	uint32_t file;
	size_t name_len;
	bool is_range;
	uint64_t offset;
};

static int describe(struct sp_profile *p, char *word, struct described *ret)
{
	struct described d = {.name_len = strlen(word)};
	size_t library = sp_read_range(word, &d.offset);
	const char *bracket = library ? NULL : bracket_of(word);
	int64_t file = 0;

	if (!strcmp(word, SP_WORD_WOKEN_BY)) {
		file = sp_read_file(p, SP_READ_WAKER, NULL, 0);
	} else if (library) {
		d.is_range = true;
		word[library] = 0;
		file = sp_read_file(p, word, NULL, 0);
		word[library] = '+';
	} else if (bracket) {
		file = file_in(p, bracket);
		if (bracket != word)
			d.name_len = (size_t)(bracket - word) - 1;
	}
	if (file < 0)
		return (int)file;
	d.file = (uint32_t)file;
	*ret = d;
	return 0;
}

static int64_t folded_add_func(struct sp_profile *p, const char *word, const struct described *d)
{
	int64_t name = d->name_len ? sp_profile_add_bytes(p, word, d->name_len) : sp_profile_add_string(p, "[unknown]");
	struct sp_func func = {.file = d->file, .is_range = d->is_range};

	if (name < 0)
		return name;
	func.name = (uint32_t)name;
	func.start = func.vaddr = d->is_range ? d->offset : 0;
	return sp_profile_add_func(p, &func);
}

static int64_t folded_add_frame(struct sp_profile *p, char *word, bool kernel)
{
	int64_t func, file = kernel ? sp_read_file(p, kernel_name, NULL, 0) : 0;
	struct described d = {0};
	struct sp_frame frame;
	int r = file < 0 ? (int)file : describe(p, word, &d);

	if (r < 0)
		return r;
	if (kernel && sp_profile_file(p, d.file)->kind != SP_FILE_KERNEL)
		d.file = (uint32_t)file;
	func = folded_add_func(p, word, &d);
	if (func < 0)
		return func;
	frame = (struct sp_frame){.file = kernel ? (uint32_t)file : d.file, .func = (uint32_t)func};
	frame.offset = d.is_range ? d.offset : 0;
	return sp_read_frame(p, &frame, d.is_range);
}

static bool folded_is_word(const char *text, size_t len, const char *other)
{
	return strlen(other) == len && !memcmp(text, other, len);
}

static enum word_kind kind_of(const char *text, size_t len)
{
	if (folded_is_word(text, len, "-"))
		return DELIMITER;
	if (folded_is_word(text, len, "[Missed User Stack]"))
		return MISSED_USER;
	if (folded_is_word(text, len, "[Missed Kernel Stack]"))
		return MISSED_KERNEL;
	return len > 4 && folded_is_word(text + len - 4, 4, "_[k]") ? ANNOTATED : PLAIN;
}

/* The word as a frame. */
static int64_t folded_frame_of(struct folded *f, struct word *w, bool kernel)
{
	uint32_t *memo = kernel ? &w->kernel : &w->user;
	char *word SP_FREE = NULL;
	const char *text;
	int64_t frame;
	size_t len;

	if (*memo)
		return *memo;
	text = (const char *)sp_read_table_bytes(f->words, w, &len);
	word = sp_read_unescape(SP_ENCODE_FOLDED, text, kernel && w->kind == ANNOTATED ? len - 4 : len);
	if (!word)
		return -ENOMEM;
	frame = folded_add_frame(f->p, word, kernel);
	*memo = frame < 0 ? 0 : (uint32_t)frame;
	return frame;
}

/* The word as a thread's name. */
static int64_t folded_key_of(struct folded *f, struct word *w)
{
	char *name SP_FREE = NULL;
	struct sp_key key = {0};
	int64_t comm;
	const char *text;
	size_t len;

	if (w->key)
		return w->key;
	text = (const char *)sp_read_table_bytes(f->words, w, &len);
	name = sp_read_unescape(SP_ENCODE_FOLDED, text, len);
	comm = name ? sp_profile_add_string(f->p, name) : -ENOMEM;
	if (comm < 0)
		return comm;
	key.comm = (uint32_t)comm;
	comm = sp_profile_add_key(f->p, &key);
	w->key = comm < 0 ? 0 : (uint32_t)comm;
	return comm;
}

/* --- lines --- */
static size_t common_prefix(const char *a, const char *b, size_t len)
{
	size_t n = 0;
	uint64_t x, y;

	for (; n + 8 <= len; n += 8) {
		memcpy(&x, a + n, 8);
		memcpy(&y, b + n, 8);
		if (x != y)
			break;
	}
	while (n < len && a[n] == b[n])
		n++;
	return n;
}

/* Keeps the words that this line has in common with the last one, and copies the rest; *ret_from: where that begins. */
static int keep_prefix(struct folded *f, const char *stack, size_t len, size_t *ret_from)
{
	size_t same = common_prefix(f->line, stack, SP_MIN(len, f->line_len));
	int r = sp_grow(&f->line, &f->line_capacity, len + 1, 1);

	if (r < 0)
		return r;
	/* only whole words, with their `;` */
	while (f->n && f->places[f->n - 1].end >= same)
		f->n--;
	memcpy(f->line + same, stack + same, len - same);
	f->line_len = len;
	*ret_from = f->n ? f->places[f->n - 1].end + 1 : 0;
	return 0;
}

static int folded_make_room(struct folded *f, size_t n)
{
	int r = sp_grow(&f->places, &f->places_capacity, n, sizeof(*f->places));

	return r < 0 ? r : sp_grow(&f->frames, &f->frames_capacity, n, sizeof(*f->frames));
}

static int find_words(struct folded *f, size_t first)
{
	for (size_t i = first; i < f->n; i++)
		sp_read_table_prefetch(f->words, f->places[i].hash);
	for (size_t i = first; i < f->n; i++) {
		struct place *place = &f->places[i];
		const char *text = f->line + place->start;
		size_t len = place->end - place->start;

		place->word = sp_read_table_find(f->words, place->hash, text, len);
		if (!place->word)
			return -ENOMEM;
		if (!place->word->seen)
			*place->word = (struct word){.kind = (uint8_t)kind_of(text, len), .seen = true};
		place->kind = place->word->kind;
		place->frames[0] = place->word->user;
		place->frames[1] = place->word->kernel;
	}
	return 0;
}

static int split(struct folded *f, const char *stack, size_t len)
{
	size_t at, first;
	int r = keep_prefix(f, stack, len, &at);

	first = f->n;
	while (r >= 0 && at <= len) {
		const char *word = f->line + at, *semicolon = memchr(word, ';', len - at);
		size_t n = semicolon ? (size_t)(semicolon - word) : len - at;

		if (f->n >= f->places_capacity || f->n >= f->frames_capacity)
			r = folded_make_room(f, f->n + 64);
		if (r < 0)
			return r;
		f->places[f->n++] = (struct place){
		    .start = (uint32_t)at, .end = (uint32_t)(at + n), .hash = sp_read_table_hash(f->words, word, n)};
		at += n + 1;
	}
	return r < 0 ? r : find_words(f, first);
}

static enum word_kind kind_at(const struct folded *f, size_t i)
{
	return f->places[i].kind;
}

/* Where the kernel half begins among the words [first, n); *ret_gap: number of delimiters between the halves. */
static size_t find_kernel(const struct folded *f, size_t first, size_t n, size_t *ret_gap)
{
	size_t at = n, n_delimiters = 0, delimiter = 0;

	*ret_gap = 0;
	for (size_t i = first; i < n; i++)
		if (kind_at(f, i) == DELIMITER) {
			n_delimiters++;
			delimiter = i;
		}
	if (n_delimiters == 1 && delimiter > first && delimiter + 1 < n) {
		*ret_gap = 1;
		return delimiter;
	}
	while (at > first && kind_at(f, at - 1) == ANNOTATED)
		at--;
	return at;
}

/* The stack of the words [first, n), of which the last is the leaf. */
static int64_t folded_add_stack(struct folded *f, size_t first, size_t n, bool kernel)
{
	struct sp_stack stack = {.n_frames = (uint32_t)(n - first), .frames = f->frames};

	for (size_t i = first; i < n; i++) {
		struct place *place = &f->places[i];
		int64_t frame = place->frames[kernel];

		if (!frame)
			frame = folded_frame_of(f, place->word, kernel);
		if (frame < 0)
			return frame;
		f->frames[n - 1 - i] = place->frames[kernel] = (uint32_t)frame;
	}
	return n > first ? sp_profile_add_stack(f->p, &stack) : 0;
}

static int64_t missed_stack(struct sp_profile *p)
{
	return sp_profile_add_stack(p,
				    &(struct sp_stack){.stack_class = SP_CLASS_CUT, .reason = SP_READ_REASON_UNKNOWN});
}

static int folded_add_row(struct folded *f, const int64_t *counts)
{
	bool thread = f->shape.thread_first;
	int64_t key = thread ? folded_key_of(f, f->places[0].word) : 0, user, kernel;
	size_t first = thread, n = f->n, gap = 0, at;
	bool no_user = first < n && kind_at(f, first) == MISSED_USER;
	bool no_kernel = first + no_user < n && kind_at(f, n - 1) == MISSED_KERNEL;

	if (key < 0)
		return (int)key;
	first += no_user;
	n -= no_kernel;
	at = no_user ? first : find_kernel(f, first, n, &gap);
	user = no_user ? missed_stack(f->p) : folded_add_stack(f, first, at, false);
	kernel = no_kernel && at == n ? missed_stack(f->p) : folded_add_stack(f, at + gap, n, true);
	if (user < 0 || kernel < 0)
		return user < 0 ? (int)user : (int)kernel;
	f->result->n_samples++;
	return sp_profile_add(f->p, (uint32_t)key, (uint32_t)user, (uint32_t)kernel, counts);
}

static int bad_count(struct folded *f, int r)
{
	if (r == -ERANGE)
		return sp_input_bad(f->in, f->o, f->result, "a count that does not fit");
	return sp_input_bad(f->in, f->o, f->result, "no count at the end; expected FRAME;FRAME;... %s",
			    f->shape.n_counts == 2 ? "COUNT COUNT" : "COUNT");
}

/* Cuts the counts off the line. 1; 0: a bad line, skipped; or negative. */
static int take_counts(struct folded *f, const char *line, size_t *len, int64_t *counts)
{
	for (unsigned int i = f->shape.n_counts; i-- > 0;) {
		unsigned int decimals;
		int r = sp_folded_count(line, len, f->shape.decimals, &counts[i], &decimals);

		if (r < 0)
			return bad_count(f, r);
		if (decimals && !f->shape.decimals)
			return sp_input_bad(f->in, f->o, f->result,
					    "a count with decimals, where the first lines have whole numbers");
	}
	if (memchr(line, 0, *len))
		return sp_input_bad(f->in, f->o, f->result, "a NUL byte in a line of text");
	return *len ? 1 : sp_input_bad(f->in, f->o, f->result, "a count without a stack");
}

/* Comments are only accepted before the first stack: a function's name may begin with `#`, too. */
static bool says_nothing(const struct folded *f, const char *line, size_t len)
{
	if (!f->result->n_samples && sp_folded_is_comment(line, len))
		return true;
	return !line[strspn(line, " \t\r")] && strlen(line) == len;
}

static int read_line(void *folded, char *line, size_t len)
{
	struct folded *f = folded;
	int64_t counts[SP_MAX_VALUES] = {0};
	int r;

	if (says_nothing(f, line, len))
		return 0;
	r = take_counts(f, line, &len, counts);
	if (r > 0)
		r = split(f, line, len);
	else
		return r;
	return r < 0 ? r : folded_add_row(f, counts);
}

/* --- the whole --- */
static int folded_detect_shape(struct folded *f)
{
	static const char *const units[] = {"count", "thousandths", "millionths", "billionths"};
	const uint8_t *head;
	const char *unit;
	size_t n;
	int r = sp_input_head(f->in, &head, &n);

	if (r < 0)
		return r;
	f->shape = sp_folded_detect(head, n);
	unit = units[f->shape.decimals / 3];
	if (f->shape.n_counts == 1)
		return sp_profile_add_value_type(f->p, "samples", unit);
	r = sp_profile_add_value_type(f->p, "old", unit);
	return r < 0 ? r : sp_profile_add_value_type(f->p, "new", unit);
}

static int folded_read(struct sp_input *in, const struct sp_read_options *o, struct sp_profile *into,
		       struct sp_read_result *result)
{
	struct folded f = {.in = in, .o = o, .result = result, .p = into};
	int r = sp_read_table_new(sizeof(struct word), &f.words);

	if (r >= 0)
		r = folded_detect_shape(&f);
	if (r >= 0)
		r = folded_make_room(&f, 64);
	if (r >= 0)
		r = sp_input_lines(in, o, result, read_line, &f);
	sp_read_table_free(f.words);
	free(f.line);
	free(f.places);
	free(f.frames);
	return r;
}

static int folded_recognise(const uint8_t *head, size_t n)
{
	struct sp_folded_shape s = sp_folded_detect(head, n);

	if (!n || !s.is_text)
		return 0;
	if (!s.n_lines) /* nothing but comments, or one line longer than the head */
		return n >= SP_INPUT_HEAD && !memchr(head, '\n', n) ? 2 : 0;
	if (s.n_counted == s.n_lines)
		return s.has_frames ? 50 : 20;
	return s.n_counted * 2 >= s.n_lines && s.has_frames ? 10 : 0;
}

const struct sp_reader sp_reader_folded = {
    .name = "folded",
    .summary = "one line a stack, as flamegraph.pl reads them; with two counts, as difffolded.pl writes them",
    .recognise = folded_recognise,
    .read = folded_read,
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.c: stacks as bcc's profile and our own view print them: a block for each, frames from the leaf on, then the
 * thread and how often.
 *
 *         deflate
 *         main
 *         -                gzip (4711)
 *             42
 *
 * bcc's offcputime and others print the same. Kernel frames come first; they are told apart by a delimiter line "--"
 * (-d), by "_[k]" (-a), or by a "[kernel]" behind the name (-v); without any of these all frames are taken for the
 * user's. What -v and -A add to a frame is undone.
 */
#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "profile/profile.h"
#include "read/input.h"
#include "read/named.h"
#include "read/priv.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 4, MAX_FRAMES = 1 << 16 };

struct text {
	struct sp_input *in;
	const struct sp_read_options *o;
	struct sp_read_result *result;
	struct sp_profile *p;
	struct sp_read_path path; /* of the block */
	uint32_t *frames;
	size_t capacity, n;
	int64_t key; /* of the block's thread; -1: not read yet */
};

static void block_begin(struct text *t)
{
	t->path = (struct sp_read_path){0};
	t->n = 0;
	t->key = -1;
}

/* --- frames --- */
static bool cut_end(char *word, const char *end)
{
	size_t n = strlen(word), m = strlen(end);

	if (n <= m || strcmp(word + n - m, end) != 0)
		return false;
	word[n - m] = 0;
	return true;
}

/* "name+0x12 [library+0x345] at file.c:7 (inlined)" of -v: what is behind the name. The library's name; "" = none. */
static const char *place_cut(char *word)
{
	char *open = strstr(word, " ["), *close = open ? strchr(open, ']') : NULL, *plus;

	while (cut_end(word, " (inlined)") || cut_end(word, " (guessed)") || cut_end(word, " (derived)") ||
	       cut_end(word, " (runtime)"))
		;
	if (!close || open == word || (close[1] && strncmp(close + 1, " at ", 4) != 0 && close[1] != ' '))
		return "";
	*open = *close = 0;
	plus = strstr(open + 2, "+0x");
	if (plus)
		*plus = 0;
	plus = strstr(word, "+0x");
	if (plus && plus != word && !strstr(word, ".so"))
		*plus = 0;
	return open + 2;
}

static char *without_address(char *word)
{
	size_t n = strlen(word);

	if (n > 19 && !strncmp(word, "0x", 2) && strspn(word + 2, "0123456789abcdef") == 16 && word[18] == ' ')
		return word + 19;
	return word;
}

static int frame_add(struct text *t, const char *line)
{
	SP_FREE char *word = sp_read_unescape(SP_ENCODE_TERMINAL, line, strlen(line));
	char *name = word ? without_address(word) : NULL;
	struct sp_read_named named = {.source = ""};
	int64_t frame;
	int r;

	if (!word)
		return -ENOMEM;
	named.file = cut_end(name, "_[k]") ? "[kernel]" : place_cut(name);
	named.name = name;
	frame = sp_read_named_frame(t->p, &named);
	r = frame < 0 ? (int)frame : sp_grow(&t->frames, &t->capacity, t->n + 1, sizeof(*t->frames));
	if (r >= 0)
		t->frames[t->n++] = (uint32_t)frame;
	return r;
}

/* What was before the delimiter is the kernel's, whatever it looked like. */
static int kernel_mark(struct text *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct sp_frame *f = sp_profile_frame(t->p, t->frames[i]);
		SP_FREE char *name = strdup(sp_profile_string(t->p, sp_profile_func(t->p, f->func)->name));
		struct sp_read_named named = {.name = name, .file = "[kernel]", .source = ""};
		int64_t frame;

		if (f->flags & SP_FRAMEF_KERNEL)
			continue;
		frame = name ? sp_read_named_frame(t->p, &named) : -ENOMEM;
		if (frame < 0)
			return (int)frame;
		t->frames[i] = (uint32_t)frame;
	}
	return 0;
}

/* --- lines --- */
/* "-                COMM (PID)" */
static int64_t thread_key(struct text *t, const char *line)
{
	const char *name = line + 1 + strspn(line + 1, " "), *open = strrchr(name, '(');
	SP_FREE char *comm = NULL;
	uint32_t pid;

	if (!open || (open > name && open[-1] != ' ') || strspn(open + 1, "0123456789") + 2 != strlen(open + 0))
		return -EINVAL;
	comm = sp_read_unescape(SP_ENCODE_TERMINAL, name, open > name ? (size_t)(open - name) - 1 : 0);
	pid = (uint32_t)strtoul(open + 1, NULL, 10);
	return comm ? sp_read_thread(t->p, pid, comm, comm) : -ENOMEM;
}

static int block_end(struct text *t, int64_t count)
{
	int64_t values[SP_MAX_VALUES] = {count};
	uint32_t key = (uint32_t)SP_MAX(t->key, 0);
	int r = t->path.missed_user ? kernel_mark(t) : 0;

	if (r < 0)
		return r;
	t->path.frames = t->frames;
	t->path.n = t->n;
	t->path.leaf_first = true;
	t->result->n_samples++;
	r = sp_read_path_add(t->p, key, &t->path, values);
	block_begin(t);
	return r;
}

static int word_read(struct text *t, const char *word)
{
	if (!strcmp(word, SP_READ_MISSED_USER))
		t->path.missed_user = true;
	else if (!strcmp(word, SP_READ_MISSED_KERNEL))
		t->path.missed_kernel = true;
	else if (!strncmp(word, "[cut: ", 6))
		t->path.is_cut = true;
	else if (!strcmp(word, "--"))
		return kernel_mark(t);
	else if (t->n == MAX_FRAMES)
		return sp_input_bad(t->in, t->o, t->result, "a stack of more than %d frames", MAX_FRAMES);
	else
		return frame_add(t, word);
	return 0;
}

static bool is_count(const char *word, uint64_t *ret_count)
{
	bool is = !sp_parse_number(word, 0, INT64_MAX, ret_count);

	sp_error_clear();
	return is;
}

static int line_read(void *text, char *line, size_t len)
{
	struct text *t = text;
	size_t indent = strspn(line, " ");
	uint64_t count;

	if (strlen(line) != len)
		return sp_input_bad(t->in, t->o, t->result, "a NUL byte in a line of text");
	if (!line[indent]) {
		if (t->n && t->key < 0)
			return sp_input_bad(t->in, t->o, t->result, "a stack without its thread and count");
		return 0;
	}
	if (t->key >= 0) {
		if (indent == 2 * INDENT && is_count(line + indent, &count))
			return block_end(t, (int64_t)count);
		block_begin(t);
		return sp_input_bad(t->in, t->o, t->result, "expected how often the stack above was seen");
	}
	if (indent < INDENT) /* bcc's first line */
		return t->n ? sp_input_bad(t->in, t->o, t->result, "expected a frame, or the thread of the stack above")
			    : 0;
	if (!strncmp(line + INDENT, "-  ", 3)) {
		int64_t key = thread_key(t, line + INDENT);

		if (key != -EINVAL) {
			t->key = key;
			return (int)SP_MIN(key, 0);
		}
	}
	return word_read(t, line + INDENT);
}

static int text_read(struct sp_input *in, const struct sp_read_options *o, struct sp_profile *into,
		     struct sp_read_result *result)
{
	struct text t = {.in = in, .o = o, .result = result, .p = into};
	int r = sp_profile_add_value_type(into, "samples", "count");

	block_begin(&t);
	if (r >= 0)
		r = sp_input_lines(in, o, result, line_read, &t);
	if (r >= 0 && (t.n || t.key >= 0))
		r = sp_input_bad(in, o, result, "the text ends within a stack");
	free(t.frames);
	return SP_MIN(r, 0);
}

/* A thread and a count below it: nothing else has these. */
static int text_recognise(const uint8_t *head, size_t n)
{
	static const char thread[] = "\n    -                ";
	const uint8_t *at = n ? memmem(head, n, thread, strlen(thread)) : NULL;
	const uint8_t *end = at ? memchr(at + 1, '\n', (size_t)(head + n - at) - 1) : NULL;

	return end && end[-1] == ')' && (size_t)(head + n - end) > 9 && !memcmp(end, "\n        ", 9) && isdigit(end[9])
		   ? 92
		   : 0;
}

const struct sp_reader sp_reader_text = {
    .name = "text",
    .summary = "stacks in blocks, as bcc's profile prints them",
    .recognise = text_recognise,
    .read = text_read,
};

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stacks.h"
#include "base/mem.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t stacks_number(int64_t n)
{
	assert_true(n >= 0);
	return (uint32_t)n;
}

struct sp_profile *stacks_profile(const char *name, const char *unit)
{
	struct sp_profile *p;
	assert_int_equal(sp_profile_new(&p), 0);
	if (name)
		assert_true(sp_profile_add_value_type(p, name, unit) >= 0);
	return p;
}

uint32_t stacks_file(struct sp_profile *p, const char *name, uint8_t kind, const char *build_id, uint64_t tag)
{
	struct sp_file file = {.kind = kind, .tag = tag, .name = stacks_number(sp_profile_add_string(p, name))};
	file.build_id_len = (uint8_t)strlen(build_id);
	memcpy(file.build_id, build_id, file.build_id_len);
	return stacks_number(sp_profile_add_file(p, &file));
}

uint32_t stacks_frame(struct sp_profile *p, uint32_t file, const char *name, uint32_t flags)
{
	struct sp_func func = {.name = stacks_number(sp_profile_add_string(p, name)), .file = file};
	func.start = 0x1000ULL * func.name;
	func.size = 0x100;
	struct sp_frame frame = {.offset = func.start + flags, .file = file, .flags = flags};
	uint32_t n = stacks_number(sp_profile_add_frame(p, &frame));
	sp_profile_frame(p, n)->func = stacks_number(sp_profile_add_func(p, &func));
	return n;
}

static uint32_t add_named(struct sp_profile *p, char *text)
{
	uint32_t flags = *text == '?' ? SP_FRAMEF_GUESSED : 0;
	char *library = text + (flags != 0), *name = strchr(library, '`');
	assert_non_null(name);
	*name++ = 0;
	bool is_kernel = library[0] == '[' && strncmp(library, "[anon", 5) != 0 && strcmp(library, "[vdso]") != 0;
	uint64_t tag = 5381;
	for (const char *c = library; *c; c++)
		tag = tag * 33 + (uint8_t)*c;
	char id[8];
	memcpy(id, &tag, sizeof(id));
	id[7] = 0;
	if (!library[0])
		return stacks_frame(p, 0, name, flags);
	if (strcmp(library, "[waker]") == 0)
		return stacks_frame(p, stacks_file(p, library, SP_FILE_WORDS, id, tag), name, flags);
	uint32_t file = stacks_file(p, library, is_kernel ? SP_FILE_KERNEL : SP_FILE_ELF, id, tag);
	return stacks_frame(p, file, name, flags | (is_kernel ? SP_FRAMEF_KERNEL : 0));
}

uint32_t stacks_stack(struct sp_profile *p, const uint32_t *rootward, uint32_t n, bool is_cut)
{
	uint32_t frames[STACKS_MAX_DEPTH];
	struct sp_stack stack = {.frames = frames, .n_frames = n, .reason = is_cut ? 2 : 0};
	stack.stack_class = is_cut ? SP_CLASS_CUT : SP_CLASS_COMPLETE;
	for (uint32_t i = 0; i < n; i++)
		frames[i] = rootward[n - 1 - i];
	return stacks_number(sp_profile_add_stack(p, &stack));
}

static uint32_t add_stack_text(struct sp_profile *p, char *text)
{
	uint32_t rootward[STACKS_MAX_DEPTH], n = 0;
	bool is_cut = *text == '~';
	text += is_cut;
	if (!*text)
		return 0;
	for (char *next = text, *at; (at = strsep(&next, ";"));) {
		assert_true(n < STACKS_MAX_DEPTH);
		rootward[n++] = add_named(p, at);
	}
	return stacks_stack(p, rootward, n, is_cut);
}

void stacks_row(struct sp_profile *p, const char *comm, uint32_t user, uint32_t kernel, const int64_t *values)
{
	struct sp_process process = {.comm = stacks_number(sp_profile_add_string(p, comm))};
	process.pid = process.comm + 1;
	struct sp_key key = {.process = stacks_number(sp_profile_add_process(p, &process)), .comm = process.comm};
	assert_int_equal(sp_profile_add(p, stacks_number(sp_profile_add_key(p, &key)), user, kernel, values), 0);
}

void stacks_line(struct sp_profile *p, const char *line)
{
	SP_FREE char *copy = strdup(line);
	char *next = copy;
	if (line[0] == '#') {
		char *unit = strchr(copy, '/');
		*unit++ = 0;
		assert_true(sp_profile_add_value_type(p, copy + 1, unit) >= 0);
		return;
	}
	char *numbers = strsep(&next, "\t"), *comm = strsep(&next, "\t");
	char *user = strsep(&next, "\t"), *kernel = strsep(&next, "\t");
	int64_t values[SP_MAX_VALUES] = {0};
	assert_non_null(kernel);
	for (size_t i = 0; numbers; i++)
		values[i] = strtoll(strsep(&numbers, ","), NULL, 10);
	uint32_t user_stack = add_stack_text(p, user);
	stacks_row(p, comm, user_stack, add_stack_text(p, kernel), values);
}

struct sp_profile *stacks_read(const char *path)
{
	struct sp_profile *p = stacks_profile(NULL, NULL);
	SP_FCLOSE FILE *f = fopen(path, "re");
	SP_FREE char *line = NULL;
	size_t size = 0;
	ssize_t len;
	assert_non_null(f);
	while ((len = getline(&line, &size, f)) > 0) {
		line[len - 1] = 0;
		if (line[0] != '#' && !sp_profile_n_value_types(p))
			stacks_line(p, "#samples/count");
		stacks_line(p, line);
	}
	if (!sp_profile_n_value_types(p))
		stacks_line(p, "#samples/count");
	return p;
}

/* --- what a view writes --- */

char *stacks_written(const struct sp_profile *p, const struct sp_view_options *o,
		     int (*write)(const struct sp_profile *p, const struct sp_view_options *o, FILE *out))
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	assert_non_null(f);
	assert_int_equal(write(p, o, f), 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(strlen(text), len);
	return text;
}

uint32_t stacks_count(const char *text, const char *wanted)
{
	uint32_t n = 0;
	while ((text = strstr(text, wanted))) {
		text += strlen(wanted);
		n++;
	}
	return n;
}

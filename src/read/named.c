/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "read/named.h"

#include "base/mem.h"
#include "profile/profile.h"
#include "read/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- frames --- */
static int64_t file_of(struct sp_profile *p, const struct sp_read_named *named, size_t n_library)
{
	SP_FREE char *library = NULL;

	if (named->in)
		return named->in;
	if (*named->file)
		return sp_read_file(p, named->file, NULL, 0);
	if (!n_library)
		return 0;
	library = strndup(named->name, n_library);
	return library ? sp_read_file(p, library, NULL, 0) : -ENOMEM;
}

static int64_t func_of(struct sp_profile *p, const struct sp_read_named *named, uint32_t file, bool is_range,
		       uint64_t offset)
{
	int64_t name = sp_profile_add_string(p, *named->name ? named->name : "[unknown]"),
		source = sp_profile_add_string(p, named->source);
	struct sp_func func = {.file = file, .is_range = is_range, .source_line = named->source_line};

	if (name < 0 || source < 0)
		return -ENOMEM;
	func.name = (uint32_t)name;
	func.source = (uint32_t)source;
	func.start = func.vaddr = is_range ? offset : 0;
	return sp_profile_add_func(p, &func);
}

int64_t sp_read_named_frame(struct sp_profile *p, const struct sp_read_named *named)
{
	uint64_t offset = 0;
	size_t n_library = sp_read_range(named->name, &offset);
	int64_t file = file_of(p, named, n_library), in = file, func;
	struct sp_frame frame;

	if (file < 0)
		return file;
	if (sp_profile_file(p, (uint32_t)file)->kind == SP_FILE_KERNEL) /* a module's function is the kernel's code */
		in = sp_read_file(p, "[kernel]", NULL, 0);
	func = in < 0 ? in : func_of(p, named, (uint32_t)file, n_library > 0, offset);
	if (func < 0)
		return func;
	frame = (struct sp_frame){
	    .file = (uint32_t)in, .func = (uint32_t)func, .offset = n_library ? offset : 0, .line = named->line};
	return sp_read_frame(p, &frame, n_library > 0);
}

/* --- rows --- */
/* From the root on. */
static uint32_t frame_at(const struct sp_read_path *path, size_t i)
{
	return path->frames[path->leaf_first ? path->n - 1 - i : i];
}

/* The stack of frames [from, end) of the path, turned so that the leaf is first; 0: there are none. */
static int64_t part_add(struct sp_profile *p, const struct sp_read_path *path, size_t from, size_t end, bool missed,
			uint8_t stack_class)
{
	size_t n = end - from;
	bool cut = stack_class == SP_CLASS_CUT;
	SP_FREE uint32_t *frames = n && !missed ? calloc(n, sizeof(*frames)) : NULL;
	struct sp_stack stack = {.stack_class = stack_class,
				 .reason = cut ? SP_READ_REASON_UNKNOWN : 0,
				 .n_frames = (uint32_t)n,
				 .frames = frames};

	if (missed || (cut && !n))
		stack = (struct sp_stack){.stack_class = SP_CLASS_CUT, .reason = SP_READ_REASON_UNKNOWN};
	else if (!n)
		return 0;
	else if (!frames)
		return -ENOMEM;
	for (size_t i = 0; frames && i < n; i++)
		frames[n - 1 - i] = frame_at(path, from + i);
	return sp_profile_add_stack(p, &stack);
}

int sp_read_path_add(struct sp_profile *p, uint32_t key, const struct sp_read_path *path, const int64_t *values)
{
	uint8_t is = path->is_cut ? SP_CLASS_CUT : path->is_guessed ? SP_CLASS_GUESSED : SP_CLASS_COMPLETE;
	size_t at = path->n;
	int64_t user, kernel;

	while (at && sp_profile_frame(p, frame_at(path, at - 1))->flags & SP_FRAMEF_KERNEL)
		at--;
	user = part_add(p, path, 0, at, path->missed_user, is);
	kernel = user < 0 ? user : part_add(p, path, at, path->n, path->missed_kernel, SP_CLASS_COMPLETE);
	return kernel < 0 ? (int)kernel : sp_profile_add(p, key, (uint32_t)user, (uint32_t)kernel, values);
}

int64_t sp_read_thread(struct sp_profile *p, uint32_t pid, const char *process, const char *thread)
{
	int64_t comm = sp_profile_add_string(p, thread), name = sp_profile_add_string(p, process);
	struct sp_key key = {0};
	int64_t number;

	if (comm < 0 || name < 0)
		return -ENOMEM;
	number = pid ? sp_profile_add_process(p, &(struct sp_process){.pid = pid, .comm = (uint32_t)name}) : 0;
	if (number < 0)
		return number;
	key.process = (uint32_t)number;
	key.comm = (uint32_t)comm;
	return sp_profile_add_key(p, &key);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* format.c: reads tracefs' description of a tracepoint's record, a line for each field, and finds the file. */
#include "base/error.h"
#include "base/mem.h"
#include "event/op.h"
#include "recipe/fields.h"
#include "recipe/tracepoint.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

enum { MAX_FORMAT = 1 << 20, MAX_FIELDS = 256, RECORD_BYTES = 8192 /* the most that the kernel takes */ };

/* --- a line --- */
static bool starts(const char *text, const char *word)
{
	return !strncmp(text, word, strlen(word));
}

static bool is_char(const char *type)
{
	return !strcmp(type, "char") || !strcmp(type, "const char");
}

/* How programs get it, by the type without what stands behind the name ("[16]"). */
static void field_classify(struct sp_field *f, bool is_array)
{
	f->from = SP_FIELD_RECORD;
	if (starts(f->name, "common_"))
		f->why_not = "the kernel gives it to no program";
	else if (starts(f->type, "__data_loc ") && strstr(f->type, "char[]"))
		f->from = SP_FIELD_DYNAMIC;
	else if (starts(f->type, "__data_loc ") || starts(f->type, "__rel_loc "))
		f->why_not = "it has no fixed length";
	else if (is_array && !is_char(f->type))
		f->why_not = "it is an array";
	else if (!is_array && (starts(f->type, "struct ") || starts(f->type, "union ")) && !strchr(f->type, '*'))
		f->why_not = "it is a structure";
	else if (!is_array && (!f->size || f->size > 8 || f->size & (f->size - 1)))
		f->why_not = "it is no number";
	if (f->offset + (uint64_t)f->size > RECORD_BYTES)
		f->why_not = "it is beyond what programs can read";
	f->is_text = f->from == SP_FIELD_DYNAMIC || (is_array && is_char(f->type));
	if (f->why_not)
		f->from = SP_FIELD_NOWHERE;
	if (!strcmp(f->name, "common_pid"))
		*f = (struct sp_field){.name = "common_pid",
				       .type = "int",
				       .from = SP_FIELD_BUILTIN,
				       .offset = SP_BUILTIN_TID,
				       .size = 4,
				       .is_signed = true};
}

/* "unsigned long args[6]": the name is the last word, what stands behind it goes to the type. */
static bool declaration_split(const char *words, size_t n, struct sp_field *f, bool *ret_is_array)
{
	size_t end = n, start, type;

	while (end && words[end - 1] != ' ' && !strchr("*", words[end - 1]))
		end--;
	start = end;
	while (end < n && words[end] != '[')
		end++;
	type = start;
	while (type && words[type - 1] == ' ')
		type--;
	*ret_is_array = end < n;
	if (start == end || !type || end - start >= sizeof(f->name) || type + (n - end) >= sizeof(f->type))
		return false;
	memcpy(f->name, words + start, end - start);
	memcpy(f->type, words, type);
	field_classify(f, *ret_is_array);
	memcpy(f->type + type, words + end, n - end);
	return true;
}

static int field_add(const struct sp_field *f, struct sp_fields *fields)
{
	if (sp_grow(&fields->list, &fields->capacity, fields->n + 1, sizeof(*f)) < 0)
		return -ENOMEM;
	fields->list[fields->n++] = *f;
	return 0;
}

int sp_fields_declared(const char *declarations, struct sp_fields *ret_fields)
{
	int r = 0;

	*ret_fields = (struct sp_fields){0};
	while (!r && *declarations) {
		struct sp_field f = {0};
		size_t n = strcspn(declarations, ",");
		bool is_array;

		if (!declaration_split(declarations, n, &f, &is_array) || is_array)
			r = sp_fail_at(-EINVAL, declarations, 0, "this declares no argument");
		if (!r)
			r = field_add(&f, ret_fields);
		declarations += n + strspn(declarations + n, ", ");
	}
	if (r < 0)
		sp_fields_done(ret_fields);
	return r;
}

/* Skips a field whose name or type is longer than any of the kernel's. */
static int line_take(const char *line, struct sp_fields *fields)
{
	struct sp_field f = {0};
	const char *end;
	bool is_array;
	int is_signed;

	if (sscanf(line, "ID: %u", &fields->id) == 1)
		return 0;
	while (isspace((unsigned char)*line))
		line++;
	if (!starts(line, "field:"))
		return 0;
	line += strlen("field:");
	end = strchr(line, ';');
	if (!end || sscanf(end, "; offset:%u; size:%u; signed:%d;", &f.offset, &f.size, &is_signed) != 3)
		return sp_fail_said(-EINVAL, "a format's line is not understood: %s", line);
	f.is_signed = is_signed != 0;
	if (!declaration_split(line, (size_t)(end - line), &f, &is_array) || fields->n == MAX_FIELDS)
		return 0;
	return field_add(&f, fields);
}

int sp_fields_parse(const char *format, struct sp_fields *ret_fields)
{
	SP_FREE char *copy = strdup(format);
	char *line, *rest = copy;
	int r = copy ? 0 : -ENOMEM;

	*ret_fields = (struct sp_fields){0};
	while (!r && (line = strsep(&rest, "\n")) && !starts(line, "print fmt:"))
		r = line_take(line, ret_fields);
	if (!r && !ret_fields->id)
		r = sp_fail_said(-EINVAL, "this is no format of a tracepoint");
	if (r < 0)
		sp_fields_done(ret_fields);
	return r;
}

void sp_fields_done(struct sp_fields *fields)
{
	free(fields->list);
	*fields = (struct sp_fields){0};
}

/* --- the file --- */
/* Opens tracefs without mounting it anywhere. */
static int unmounted_open(void)
{
	SP_CLOSE int fs = fsopen("tracefs", FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -1;
	fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY);
	return fd;
}

/* The directory in which the tracepoints are. */
static int events_open(void)
{
	const char *root = sp_tracepoints_root();
	int fd = root ? open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, why = errno;
	SP_CLOSE int tracefs = fd < 0 ? unmounted_open() : -1;

	if (tracefs >= 0)
		fd = openat(tracefs, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? sp_fail(-why, "read /sys/kernel/tracing/events") : fd;
}

static int format_read(int events, const char *tracepoint, char **ret_text)
{
	SP_FREE char *path = NULL, *text = malloc(MAX_FORMAT);
	SP_CLOSE int fd = -1;
	size_t n = 0;
	ssize_t got;

	if (!text || asprintf(&path, "%s/format", tracepoint) < 0)
		return -ENOMEM;
	*strchr(path, ':') = '/';
	fd = openat(events, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return sp_fail(-errno, "read %s", path);
	while ((got = read(fd, text + n, MAX_FORMAT - 1 - n)) > 0)
		n += (size_t)got;
	if (got < 0 || n == MAX_FORMAT - 1)
		return sp_fail(got < 0 ? -errno : -EFBIG, "read %s", path);
	text[n] = '\0';
	*ret_text = sp_take_ptr(text);
	return 0;
}

int sp_fields_read(const char *tracepoint, struct sp_types *types, struct sp_fields *ret_fields)
{
	SP_FREE char *text = NULL;
	SP_CLOSE int events = events_open();
	int r = events < 0 ? events : format_read(events, tracepoint, &text);

	if (!r)
		r = sp_fields_parse(text, ret_fields);
	if (!r)
		ret_fields->types = types;
	if (!r && starts(tracepoint, "syscalls:sys_"))
		sp_fields_of_call(ret_fields, starts(tracepoint, "syscalls:sys_enter_"));
	return r;
}

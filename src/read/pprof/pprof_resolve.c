/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pprof_resolve.c: builds the profile from the tables when all has been read: ids and string indexes become numbers. */
#include "read/pprof/pprof.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "profile/profile.h"
#include "read/priv.h"
#include "read/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- tables --- */
/* A string of the profile; an index outside of the table is -EBADMSG, or with keep_going "" and counted. */
static int64_t resolve_string(struct pprof *r, uint32_t index, uint64_t at, const char *what)
{
	int e;

	if (!index)
		return 0;
	if (index < r->n_strings)
		return r->strings[index];
	e = sp_input_bad_at(r->in, r->o, r->result, at, "%s: string %" PRIu32 ", of a table of %zu", what, index,
			    r->n_strings);
	return e < 0 ? e : 0;
}

static const struct pprof_entity *thing_at(const struct pprof_table *t, size_t i)
{
	return (const struct pprof_entity *)((const char *)t->items + i * t->item_bytes);
}

static int compare_things(const void *x, const void *y)
{
	const struct pprof_entity *a = x, *b = y;

	return SP_RISING(a->id, b->id) ?: SP_RISING(a->at, b->at);
}

/* By id, of equal ids the first one; most tables are sorted already. */
static int sort_table(struct pprof *r, struct pprof_table *t, const char *what)
{
	size_t n = 0;
	int e = 0;

	for (size_t i = 1; i < t->n; i++)
		if (thing_at(t, i - 1)->id >= thing_at(t, i)->id) {
			qsort(t->items, t->n, t->item_bytes, compare_things);
			break;
		}
	for (size_t i = 0; i < t->n && e >= 0; i++) {
		const struct pprof_entity *thing = thing_at(t, i);

		if (n && thing_at(t, n - 1)->id == thing->id)
			e = sp_input_bad_at(r->in, r->o, r->result, thing->at, "%s: id %" PRIu64 " a second time", what,
					    thing->id);
		else if (n++ != i)
			memcpy((char *)t->items + (n - 1) * t->item_bytes, thing, t->item_bytes);
	}
	t->n = n;
	return e;
}

/* Ids are mostly 1, 2, 3 ...: look there first. */
static void *pprof_table_find(const struct pprof_table *t, uint64_t id)
{
	if (id - 1 < t->n && thing_at(t, id - 1)->id == id)
		return (char *)t->items + (id - 1) * t->item_bytes;
	size_t at = SP_N_WHILE(t->n, i, thing_at(t, i)->id < id);
	return at < t->n && thing_at(t, at)->id == id ? (char *)t->items + at * t->item_bytes : NULL;
}

/* --- values and the profile's own fields --- */
static int add_type(struct pprof *r, const struct pprof_type *t)
{
	int64_t type = resolve_string(r, t->type, t->at, "sample type");
	int64_t unit = type < 0 ? type : resolve_string(r, t->unit, t->at, "sample type's unit");
	char *name SP_FREE = unit < 0 ? NULL : strdup(sp_profile_string(r->p, (uint32_t)type));
	char *unit_name SP_FREE = name ? strdup(sp_profile_string(r->p, (uint32_t)unit)) : NULL;

	if (unit < 0)
		return (int)unit;
	return unit_name ? sp_profile_add_value_type(r->p, name, unit_name) : -ENOMEM;
}

static int take_default(struct pprof *r)
{
	int64_t name = resolve_string(r, r->default_type, r->default_at, "default sample type");

	if (name < 0)
		return (int)name;
	sp_profile_info(r->p)->default_type = (uint32_t)name;
	return 0;
}

static int resolve_types(struct pprof *r)
{
	size_t n = SP_MIN(r->n_types, (size_t)SP_MAX_VALUES);
	int e = 0;

	if (r->result->n_samples && r->n_types != r->n_values)
		return sp_fail_said(-EBADMSG, "%s: byte %" PRIu64 ": %zu sample types, but samples with %zu values",
				    sp_input_name(r->in), sp_input_offset(r->in), r->n_types, r->n_values);
	if (r->n_types > n)
		e = sp_input_bad_at(r->in, r->o, r->result, r->types[n].at, "%zu sample types; at most %d are read",
				    r->n_types, SP_MAX_VALUES);
	for (size_t i = 0; i < n && e >= 0; i++)
		e = add_type(r, &r->types[i]);
	return e < 0 ? e : take_default(r);
}

/* Other producers may have written anything into these fields. */
static uint32_t string_or_none(const struct pprof *r, uint32_t index)
{
	return index < r->n_strings ? r->strings[index] : 0;
}

static int resolve_info(struct pprof *r)
{
	struct sp_profile_info *info = sp_profile_info(r->p);
	int64_t type = resolve_string(r, r->period_type.type, r->period_type.at, "period type");
	int64_t unit = type < 0 ? type : resolve_string(r, r->period_type.unit, r->period_type.at, "period's unit");

	if (unit < 0)
		return (int)unit;
	info->time_ns = r->time_ns > 0 ? (uint64_t)r->time_ns : 0;
	info->duration_ns = r->duration_ns > 0 ? (uint64_t)r->duration_ns : 0;
	info->period = r->period > 0 ? (uint64_t)r->period : 0;
	info->period_type = (struct sp_value_type){(uint32_t)type, (uint32_t)unit};
	info->drop_frames = string_or_none(r, r->drop_frames);
	info->keep_frames = string_or_none(r, r->keep_frames);
	info->doc_url = string_or_none(r, r->doc_url);
	return 0;
}

/* --- mappings --- */
static int resolve_mapping(struct pprof *r, struct pprof_mapping *m)
{
	int64_t filename = resolve_string(r, m->filename, m->at, "mapping's file");
	int64_t build_id = filename < 0 ? filename : resolve_string(r, m->build_id, m->at, "mapping's build id");
	const struct sp_file *f;
	int64_t file;

	if (build_id < 0)
		return (int)build_id;
	file = sp_read_mapping(r->p, (uint32_t)filename, (uint32_t)build_id);
	if (file < 0)
		return (int)file;
	f = sp_profile_file(r->p, (uint32_t)file);
	m->file = (uint32_t)file;
	m->file_name = f->name;
	m->is_kernel = f->kind == SP_FILE_KERNEL;
	return 0;
}

static int resolve_mappings(struct pprof *r)
{
	int e = sort_table(r, &r->mappings, "mapping");

	for (size_t i = 0; i < r->mappings.n && e >= 0; i++)
		e = resolve_mapping(r, (struct pprof_mapping *)r->mappings.items + i);
	return e;
}

/* By custom the first mapping is the program: set if there is only one process. */
static void name_program(struct pprof *r)
{
	const struct pprof_mapping *first = pprof_table_find(&r->mappings, r->first_mapping);

	if (first && sp_profile_n_processes(r->p) == 2 && sp_profile_file(r->p, first->file)->kind == SP_FILE_ELF)
		sp_profile_process(r->p, 1)->exe = first->file;
}

/* --- locations --- */
static const struct pprof_mapping no_mapping;

/* The offset in the file; for the kernel the address itself, as everywhere. */
static uint64_t offset_of(const struct pprof_mapping *m, uint64_t address)
{
	return m->is_kernel || address < m->start ? address : address - m->start + m->offset;
}

/* Our own exports give a kernel module as the file of its functions: the frames lie in the kernel. */
static int64_t file_of_function(struct pprof *r, const struct pprof_function *f, const struct pprof_mapping *m)
{
	int64_t name = m->is_kernel ? resolve_string(r, f->filename, f->at, "function's file") : 0;

	if (name <= 0 || !sp_read_is_module(sp_profile_string(r->p, (uint32_t)name)))
		return name < 0 ? name : m->file;
	return sp_read_file(r->p, sp_profile_string(r->p, (uint32_t)name), NULL, 0);
}

/* The source file. Our own exports, and others', write the library instead if it is unknown. */
static int64_t source_of(struct pprof *r, const struct pprof_function *f, const struct pprof_mapping *m, uint32_t file)
{
	int64_t name = resolve_string(r, f->filename, f->at, "function's file");
	const struct sp_file *library = sp_profile_file(r->p, file);

	if (name > 0 && (file != m->file || name == library->path || name == library->name ||
			 (m->filename < r->n_strings && name == r->strings[m->filename])))
		return 0;
	return name;
}

static bool is_range(struct pprof *r, const char *name, const struct pprof_mapping *m, uint64_t *ret_offset)
{
	const char *library = sp_profile_string(r->p, m->file_name);
	size_t n = sp_read_range(name, ret_offset);

	return n && strlen(library) == n && !memcmp(library, name, n);
}

/* The function of the profile; 0: it has no name. */
static int64_t pprof_resolve_function_of(struct pprof *r, const struct pprof_function *f, const struct pprof_mapping *m)
{
	int64_t name = resolve_string(r, f->name, f->at, "function's name");
	int64_t linkage = name < 0 ? name : resolve_string(r, f->system_name, f->at, "function's linkage name");
	int64_t file = linkage < 0 ? linkage : file_of_function(r, f, m);
	int64_t source = file < 0 ? file : source_of(r, f, m, (uint32_t)file);
	struct sp_func func = {.source_line = f->start_line};
	uint64_t start;

	if (source < 0)
		return source;
	if (!name && !linkage)
		return 0;
	func.file = (uint32_t)file;
	func.source = (uint32_t)source;
	func.name = (uint32_t)(name ? name : linkage);
	func.linkage_name = (uint32_t)(linkage == name ? 0 : linkage);
	func.is_range = is_range(r, sp_profile_string(r->p, func.name), m, &start);
	if (func.is_range)
		func.start = func.vaddr = start;
	return sp_profile_add_func(r->p, &func);
}

/* A frame without a function: views call it LIBRARY+0xOFFSET, and it may be named later from the library. */
static int64_t pprof_resolve_frame_of(struct pprof *r, const struct pprof_mapping *m, uint64_t address,
				      const struct pprof_function *f, uint32_t line, bool is_inlined)
{
	int64_t func = f ? pprof_resolve_function_of(r, f, m) : 0;

	if (func < 0)
		return func;
	struct sp_frame frame = {.file = m->file, .func = (uint32_t)func, .line = func ? line : 0};
	bool has_place = address || !func;

	frame.offset = has_place ? offset_of(m, address) : 0;
	frame.flags = is_inlined ? SP_FRAMEF_INLINED : 0;
	return sp_read_frame(r->p, &frame, has_place && !is_inlined);
}

/* Pseudo-frames that our own view writes for missing stacks. */
static enum pprof_special special_of(struct pprof *r, const struct pprof_location *l, const struct pprof_function *f)
{
	const char *name = f && f->name < r->n_strings ? sp_profile_string(r->p, r->strings[f->name]) : "";

	if (l->mapping || l->address || *name != '[')
		return PPROF_FRAMES;
	if (!strcmp(name, "[Missed Kernel Stack]"))
		return PPROF_MISSED_KERNEL;
	if (!strcmp(name, "[Missed User Stack]"))
		return PPROF_MISSED_USER;
	return strcmp(name, "[no stack]") ? PPROF_FRAMES : PPROF_NO_STACK;
}

static int missing(struct pprof *r, uint64_t at, const char *what, uint64_t id)
{
	return sp_input_bad_at(r->in, r->o, r->result, at, "%s id %" PRIu64 ", which there is none of", what, id);
}

static int resolve_line(struct pprof *r, struct pprof_location *l, const struct pprof_mapping *m, uint32_t line)
{
	uint64_t id = r->lines[line].function;
	bool is_inlined = line + 1 < l->first_line + l->n_lines;
	const struct pprof_function *f = id ? pprof_table_find(&r->functions, id) : NULL;
	int64_t frame;
	int e = id && !f ? missing(r, l->at, "location: function", id) : 0;

	if (e < 0)
		return e;
	if (l->n_lines == 1)
		l->special = special_of(r, l, f);
	frame = l->special == PPROF_FRAMES
		    ? pprof_resolve_frame_of(r, m, l->address, f, r->lines[line].line, is_inlined)
		    : 0;
	if (frame < 0)
		return (int)frame;
	r->lines[line].function = (uint64_t)frame;
	return 0;
}

/* A location without lines gets one, at the end of the table. */
static int add_nameless(struct pprof *r, struct pprof_location *l, const struct pprof_mapping *m)
{
	int64_t frame = pprof_resolve_frame_of(r, m, l->address, NULL, 0, false);
	int e = frame < 0 ? (int)frame : sp_grow(&r->lines, &r->lines_capacity, r->n_lines + 1, sizeof(*r->lines));

	if (e >= 0 && r->n_lines >= UINT32_MAX)
		e = -E2BIG;
	if (e < 0)
		return e;
	l->first_line = (uint32_t)r->n_lines;
	l->n_lines = 1;
	r->lines[r->n_lines++] = (struct pprof_line){.function = (uint64_t)frame};
	return 0;
}

static int resolve_location(struct pprof *r, struct pprof_location *l)
{
	const struct pprof_mapping *m = l->mapping ? pprof_table_find(&r->mappings, l->mapping) : &no_mapping;
	int e = 0;

	if (!m) {
		e = missing(r, l->at, "location: mapping", l->mapping);
		m = &no_mapping;
	}
	l->is_kernel = m->is_kernel;
	if (e >= 0 && !l->n_lines)
		return add_nameless(r, l, m);
	for (uint32_t i = 0; i < l->n_lines && e >= 0; i++)
		e = resolve_line(r, l, m, l->first_line + i);
	return e;
}

static int resolve_locations(struct pprof *r)
{
	int e = sort_table(r, &r->functions, "function");

	if (e >= 0)
		e = sort_table(r, &r->locations, "location");
	for (size_t i = 0; i < r->locations.n && e >= 0; i++)
		e = resolve_location(r, (struct pprof_location *)r->locations.items + i);
	return e;
}

/* --- samples --- */
/* A stack on its way. */
struct stack {
	uint32_t *frames;
	size_t capacity, n, n_kernel;
	bool missed_kernel, missed_user;
};

static int add_frames(struct pprof *r, struct stack *s, const struct pprof_location *l)
{
	int e = sp_grow(&s->frames, &s->capacity, s->n + l->n_lines, sizeof(*s->frames));

	if (e < 0)
		return e;
	if (l->special != PPROF_FRAMES) {
		s->missed_kernel |= l->special == PPROF_MISSED_KERNEL;
		s->missed_user |= l->special == PPROF_MISSED_USER;
		return 0;
	}
	if (l->is_kernel && s->n_kernel == s->n)
		s->n_kernel += l->n_lines;
	for (uint32_t i = 0; i < l->n_lines; i++)
		s->frames[s->n++] = (uint32_t)r->lines[l->first_line + i].function;
	return 0;
}

/* 1; 0: it refers to something that does not exist; or negative. */
static int collect_frames(struct pprof *r, struct sp_cursor c, uint64_t at, struct stack *s)
{
	int e = 0;

	s->n = s->n_kernel = 0;
	s->missed_kernel = s->missed_user = false;
	while (sp_cursor_left(&c) && e >= 0) {
		uint64_t id = sp_cursor_uleb(&c);
		const struct pprof_location *l = c.bad ? NULL : pprof_table_find(&r->locations, id);

		if (c.bad)
			return sp_input_bad_at(r->in, r->o, r->result, at, "sample: broken list of locations");
		if (!l)
			return missing(r, at, "sample: location", id);
		e = add_frames(r, s, l);
	}
	return e < 0 ? e : 1;
}

static int64_t pprof_resolve_add_stack(struct sp_profile *p, const uint32_t *frames, size_t n, bool missed,
				       int stack_class)
{
	struct sp_stack stack = {.n_frames = (uint32_t)n, .frames = frames};

	if (!n && !missed)
		return 0;
	stack.stack_class =
	    stack_class < 0 || stack_class == SP_CLASS_ABSENT ? SP_CLASS_COMPLETE : (uint16_t)stack_class;
	if (!n)
		stack.stack_class = SP_CLASS_CUT;
	if (stack.stack_class != SP_CLASS_COMPLETE)
		stack.reason = SP_READ_REASON_UNKNOWN;
	return sp_profile_add_stack(p, &stack);
}

static int pprof_resolve_add_row(struct pprof *r, const struct stack *s, const struct pprof_who *who,
				 const struct pprof_row *row)
{
	int64_t values[SP_MAX_VALUES] = {0};
	int64_t kernel = pprof_resolve_add_stack(r->p, s->frames, s->n_kernel, s->missed_kernel, -1);
	int64_t user = pprof_resolve_add_stack(r->p, s->frames + s->n_kernel, s->n - s->n_kernel, s->missed_user,
					       who->stack_class);

	if (kernel < 0 || user < 0)
		return kernel < 0 ? (int)kernel : (int)user;
	memcpy(values, row->values, r->stride * sizeof(*values));
	return sp_profile_add(r->p, who->key, (uint32_t)user, (uint32_t)kernel, values);
}

static int resolve_row(struct pprof *r, struct stack *s, const struct pprof_who *who, const struct pprof_row *row)
{
	size_t n;
	const uint8_t *bytes = sp_read_table_bytes(r->rows, row, &n);
	uint64_t stack_bytes;
	int good;

	memcpy(&stack_bytes, bytes, sizeof(stack_bytes));
	good = collect_frames(r, sp_cursor_on(bytes + PPROF_STACK_AT, stack_bytes), row->at, s);
	if (good > 0)
		return pprof_resolve_add_row(r, s, who, row);
	if (!good) { /* one sample was counted as lost when the fault was found */
		r->result->n_lost += row->n_samples - 1;
		r->result->n_samples -= row->n_samples;
	}
	return good;
}

/* Before frames are made: anonymous memory belongs to a process. */
static int resolve_people(struct pprof *r, struct pprof_who *who)
{
	struct pprof_people *people;
	int e = pprof_people_new(r, &people);

	if (e < 0)
		return e;
	for (size_t i = 0; r->rows && i < sp_read_table_count(r->rows) && e >= 0; i++) {
		const struct pprof_row *row = sp_read_table_at(r->rows, i);
		size_t n;
		const uint8_t *bytes = sp_read_table_bytes(r->rows, row, &n);
		uint64_t stack_bytes;

		memcpy(&stack_bytes, bytes, sizeof(stack_bytes));
		e = pprof_people_who(people, bytes + PPROF_STACK_AT + stack_bytes, n - PPROF_STACK_AT - stack_bytes,
				     row->at, &who[i]);
		r->result->n_labels_dropped += e < 0 ? 0 : who[i].n_dropped * row->n_samples;
	}
	pprof_people_free(people);
	return e;
}

enum { ROWS_BETWEEN = 4096 }; /* looks at memory: stacks become frames here */

static int resolve_rows(struct pprof *r, const struct pprof_who *who)
{
	struct stack s = {0};
	int e = sp_grow(&s.frames, &s.capacity, 64, sizeof(*s.frames));

	for (size_t i = 0; r->rows && i < sp_read_table_count(r->rows) && e >= 0; i++) {
		e = resolve_row(r, &s, &who[i], sp_read_table_at(r->rows, i));
		if (e >= 0 && i % ROWS_BETWEEN == 0)
			e = sp_input_check_memory(r->in);
	}
	free(s.frames);
	return e;
}

int pprof_resolve(struct pprof *r)
{
	size_t n_rows = r->rows ? sp_read_table_count(r->rows) : 0;
	struct pprof_who *who SP_FREE = calloc(n_rows + 1, sizeof(*who));
	int e = who ? 0 : -ENOMEM;

	if (e >= 0 && !r->n_strings)
		e = sp_input_bad_at(r->in, r->o, r->result, sp_input_offset(r->in),
				    "ends without a string table; expected one");
	if (e >= 0)
		e = resolve_types(r);
	if (e >= 0)
		e = resolve_info(r);
	if (e >= 0)
		e = resolve_people(r, who);
	if (e >= 0)
		e = resolve_mappings(r);
	if (e >= 0)
		e = pprof_resolve_comments(r);
	if (e >= 0)
		name_program(r);
	if (e >= 0)
		e = resolve_locations(r);
	return e < 0 ? e : resolve_rows(r, who);
}

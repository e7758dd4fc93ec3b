/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/types.h"
#include "base/error.h"
#include "base/mem.h"
#include "recipe/fields.h"
#include <bpf/btf.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NESTED = 16, MAX_WORDS = 8 };

/* --- reading --- */
int sp_types_load(struct sp_types *types, struct btf **ret_btf)
{
	if (!types->kernel)
		types->kernel = btf__load_vmlinux_btf();
	if (!types->kernel)
		return sp_fail_said(-EACCES, "the kernel's types cannot be read (/sys/kernel/btf/vmlinux): %s",
				    strerror(errno));
	*ret_btf = types->kernel;
	return 0;
}

void sp_types_done(struct sp_types *types)
{
	for (size_t i = 0; i < types->n_modules; i++)
		btf__free(types->modules[i]);
	btf__free(types->kernel);
	*types = (struct sp_types){0};
}

static const struct btf_type *resolved(const struct btf *btf, uint32_t id)
{
	int r = btf__resolve_type(btf, id);

	return r < 0 ? NULL : btf__type_by_id(btf, (uint32_t)r);
}

static const char *name_of(const struct btf *btf, uint32_t at)
{
	const char *name = btf__name_by_offset(btf, at);

	return name ? name : "";
}

/* --- arguments of tracepoints --- */
/* The functions that are made for a tracepoint have its arguments behind one of their own. */
static const struct btf_type *prototype_find(const struct btf *btf, const char *tracepoint)
{
	static const char *const prefixes[] = {"__traceiter_", "__probestub_", "__bpf_trace_"};
	char name[192];

	for (size_t i = 0; i < SP_COUNT(prefixes); i++) {
		const struct btf_type *t;
		int id;

		snprintf(name, sizeof(name), "%s%s", prefixes[i], tracepoint);
		id = btf__find_by_name_kind(btf, name, BTF_KIND_FUNC);
		t = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);
		t = t ? btf__type_by_id(btf, t->type) : NULL;
		if (t && btf_is_func_proto(t) && (btf_vlen(t) < 2 || *name_of(btf, btf_params(t)[1].name_off)))
			return t;
	}
	return NULL;
}

/* Looks for the function of a tracepoint in the modules' types. */
static struct btf *module_find(struct sp_types *types, const char *tracepoint)
{
	DIR *d = opendir("/sys/kernel/btf");
	struct btf *found = NULL;
	struct dirent *e;

	while (d && !found && types->n_modules < SP_TYPES_MODULES && (e = readdir(d))) {
		if (e->d_name[0] == '.' || !strcmp(e->d_name, "vmlinux"))
			continue;
		found = btf__load_module_btf(e->d_name, types->kernel);
		if (found && prototype_find(found, tracepoint)) {
			types->modules[types->n_modules++] = found;
		} else {
			btf__free(found);
			found = NULL;
		}
	}
	if (d)
		closedir(d);
	return found;
}

static int argument_add(struct sp_fields *fields, const struct btf_param *p)
{
	struct sp_field *f;

	if (sp_grow(&fields->list, &fields->capacity, fields->n + 1, sizeof(*f)) < 0)
		return -ENOMEM;
	f = &fields->list[fields->n];
	*f = (struct sp_field){.from = SP_FIELD_ARGUMENT, .offset = (uint32_t)fields->n, .type_id = p->type};
	snprintf(f->name, sizeof(f->name), "%s", name_of(fields->btf, p->name_off));
	sp_type_describe(fields->btf, p->type, f);
	if (f->offset >= SP_FIELD_ARGUMENTS)
		f->why_not = "programs read only the first 12 arguments";
	fields->n++;
	return 0;
}

int sp_types_arguments(struct sp_types *types, const char *tracepoint, struct sp_fields *ret_fields)
{
	struct sp_fields fields = {.types = types};
	const struct btf_type *t;
	struct btf *kernel;
	int r = sp_types_load(types, &kernel);

	if (r < 0)
		return r;
	fields.btf = prototype_find(kernel, tracepoint) ? kernel : module_find(types, tracepoint);
	t = fields.btf ? prototype_find(fields.btf, tracepoint) : NULL;
	if (!t)
		return sp_fail_said(-EINVAL, "the kernel's types do not have the arguments of the raw tracepoint %s",
				    tracepoint);
	for (uint32_t i = 1; i < btf_vlen(t) && !r; i++)
		r = argument_add(&fields, &btf_params(t)[i]);
	if (r < 0)
		sp_fields_done(&fields);
	else
		*ret_fields = fields;
	return r;
}

/* --- functions --- */
static int returned_add(struct sp_fields *fields, uint32_t type)
{
	struct sp_field f = {.name = "retval", .from = SP_FIELD_ARGUMENT, .offset = SP_FIELD_RETURNED, .type_id = type};

	if (!resolved(fields->btf, type))
		return sp_fail_said(-EINVAL, "the function returns nothing");
	if (sp_grow(&fields->list, &fields->capacity, fields->n + 1, sizeof(f)) < 0)
		return -ENOMEM;
	sp_type_describe(fields->btf, type, &f);
	fields->list[fields->n++] = f;
	return 0;
}

static const struct btf_type *function_find(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_FUNC);
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);

	return t ? btf__type_by_id(btf, t->type) : NULL;
}

/* A register's upper half may be anything where the type has 32 bits. */
int sp_types_function(struct sp_types *types, const char *function, bool returns, struct sp_fields *ret_fields)
{
	struct sp_fields fields = {.types = types};
	const struct btf_type *t;
	struct btf *kernel;
	int r = sp_types_load(types, &kernel);

	if (r < 0)
		return r;
	fields.btf = kernel;
	t = function_find(kernel, function);
	if (!t)
		return -ENOENT;
	if (returns)
		r = returned_add(&fields, t->type);
	for (uint32_t i = 0; !returns && i < btf_vlen(t) && !r; i++)
		r = argument_add(&fields, &btf_params(t)[i]);
	for (size_t i = 0; i < fields.n; i++) {
		fields.list[i].is_narrow = true;
		if (!returns && i >= SP_FIELD_RETURNED)
			fields.list[i].why_not = "programs read only the first 6 arguments";
	}
	if (r < 0)
		sp_fields_done(&fields);
	else
		*ret_fields = fields;
	return r;
}

/* --- what a type is --- */
static bool is_char(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = resolved(btf, id);

	return t && btf_is_int(t) && t->size == 1 && !strcmp(name_of(btf, t->name_off), "char");
}

/* What is longer than the words of a field have room for is cut: they are shown, and pointers are followed by type_id.
 */
static void put(char *words, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void put(char *words, size_t size, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(words, size, format, ap);
	va_end(ap);
}

/* As C writes it, as far as there is room: "const struct path *", "unsigned char[16]". */
static void words_write(const struct btf *btf, uint32_t id, char *ret_words, size_t size)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	char of[64];

	if (!t || !id) {
		put(ret_words, size, "void");
		return;
	}
	switch (btf_kind(t)) {
	case BTF_KIND_PTR:
		words_write(btf, t->type, of, sizeof(of));
		put(ret_words, size, "%s%s*", of, of[strlen(of) - 1] == '*' ? "" : " ");
		break;
	case BTF_KIND_CONST:
		words_write(btf, t->type, of, sizeof(of));
		put(ret_words, size, "const %s", of);
		break;
	case BTF_KIND_ARRAY:
		words_write(btf, btf_array(t)->type, of, sizeof(of));
		put(ret_words, size, "%s[%u]", of, btf_array(t)->nelems);
		break;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
	case BTF_KIND_FWD:
		put(ret_words, size, "%s %s",
		    btf_is_any_enum(t)                                   ? "enum"
		    : btf_is_union(t) || (btf_is_fwd(t) && btf_kflag(t)) ? "union"
									 : "struct",
		    t->name_off ? name_of(btf, t->name_off) : "{}");
		break;
	case BTF_KIND_FUNC_PROTO:
		put(ret_words, size, "function");
		break;
	case BTF_KIND_INT:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_FLOAT:
		put(ret_words, size, "%s", name_of(btf, t->name_off));
		break;
	default:
		words_write(btf, t->type, ret_words, size);
	}
}

static void array_describe(const struct btf *btf, const struct btf_array *a, struct sp_field *f)
{
	f->size = a->nelems;
	f->is_text = is_char(btf, a->type) && a->nelems;
	if (!f->is_text)
		f->why_not = "it is an array: choose one of it by [NUMBER]";
}

void sp_type_describe(const struct btf *btf, uint32_t type, struct sp_field *f)
{
	const struct btf_type *t = resolved(btf, type);

	words_write(btf, type, f->type, sizeof(f->type));
	f->size = t && (btf_is_int(t) || btf_is_any_enum(t) || btf_is_composite(t)) ? t->size : 8;
	if (!t || (btf_is_int(t) && t->size > 8)) {
		f->why_not = "it is no number";
	} else if (btf_is_int(t)) {
		f->is_signed = btf_int_encoding(t) & BTF_INT_SIGNED;
	} else if (btf_is_any_enum(t)) {
		f->is_signed = btf_kflag(t);
	} else if (btf_is_ptr(t)) {
		f->is_string = is_char(btf, t->type);
	} else if (btf_is_array(t)) {
		array_describe(btf, btf_array(t), f);
	} else {
		f->why_not = btf_is_composite(t) ? "it is a structure: choose a member of it" : "it is no number";
	}
}

uint32_t sp_type_of_words(const struct btf *btf, const char *words)
{
	char name[64];
	int id, end = 0;

	words += strncmp(words, "const ", 6) ? 0 : 6;
	if (sscanf(words, "struct %63[A-Za-z0-9_] *%n", name, &end) != 1 || !end || words[end])
		return 0;
	id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);
	return id < 0 ? 0 : (uint32_t)id;
}

/* --- members --- */
static int member_find(const struct btf *btf, const struct btf_type *t, const char *name, size_t n, unsigned depth,
		       struct sp_member *ret_member)
{
	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *of = name_of(btf, m->name_off);
		const struct btf_type *inner = *of ? NULL : resolved(btf, m->type);

		if (*of && strlen(of) == n && !strncmp(of, name, n)) {
			*ret_member = (struct sp_member){.type = m->type,
							 .bit = btf_member_bit_offset(t, i),
							 .n_bits = btf_member_bitfield_size(t, i)};
			return 0;
		}
		if (inner && btf_is_composite(inner) && depth < MAX_NESTED &&
		    !member_find(btf, inner, name, n, depth + 1, ret_member)) {
			ret_member->bit += btf_member_bit_offset(t, i);
			return 0;
		}
	}
	return -ENOENT;
}

int sp_type_member(const struct btf *btf, uint32_t structure, const char *name, size_t n, struct sp_member *ret_member)
{
	const struct btf_type *t = resolved(btf, structure);

	return t && btf_is_composite(t) ? member_find(btf, t, name, n, 0, ret_member) : -ENOENT;
}

static void members_each(const struct btf *btf, const struct btf_type *t, unsigned depth,
			 void (*each)(void *arg, const char *name), void *arg)
{
	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const struct btf_type *inner = resolved(btf, m->type);

		if (*name_of(btf, m->name_off))
			each(arg, name_of(btf, m->name_off));
		else if (inner && btf_is_composite(inner) && depth < MAX_NESTED)
			members_each(btf, inner, depth + 1, each, arg);
	}
}

void sp_type_members(const struct btf *btf, uint32_t structure, void (*each)(void *arg, const char *name), void *arg)
{
	const struct btf_type *t = resolved(btf, structure);

	if (t && btf_is_composite(t))
		members_each(btf, t, 0, each, arg);
}

/* --- constants --- */
static uint64_t constant_value(const struct btf_type *t, uint32_t i)
{
	const struct btf_enum64 *e64 = btf_enum64(t);
	int32_t small;

	if (btf_is_enum64(t))
		return (uint64_t)e64[i].val_hi32 << 32 | e64[i].val_lo32;
	small = btf_enum(t)[i].val;
	return btf_kflag(t) ? (uint64_t)(int64_t)small : (uint32_t)small;
}

static const char *constant_name(const struct btf *btf, const struct btf_type *t, uint32_t i)
{
	return name_of(btf, btf_is_enum64(t) ? btf_enum64(t)[i].name_off : btf_enum(t)[i].name_off);
}

int sp_type_constant(const struct btf *btf, const char *name, size_t n, uint64_t ret_values[2])
{
	int found = 0;

	for (uint32_t id = 1; id < btf__type_cnt(btf) && found < 2; id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);

		for (uint32_t i = 0; btf_is_any_enum(t) && i < btf_vlen(t) && found < 2; i++) {
			const char *of = constant_name(btf, t, i);

			if (strncmp(of, name, n) || of[n])
				continue;
			ret_values[found] = constant_value(t, i);
			found += !found || ret_values[0] != ret_values[1];
		}
	}
	return found;
}

void sp_type_constants(const struct btf *btf, void (*each)(void *arg, const char *name), void *arg)
{
	for (uint32_t id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);

		for (uint32_t i = 0; btf_is_any_enum(t) && i < btf_vlen(t); i++)
			each(arg, constant_name(btf, t, i));
	}
}

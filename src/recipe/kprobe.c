/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/kprobe.h"
#include "base/error.h"
#include "base/mem.h"
#include "capture/recipe_ops.h"
#include "recipe/fields.h"
#include "recipe/types.h"
#include <bpf/libbpf.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_NAME = 128 };

static const struct {
	const char *prefix;
	enum sp_at at;
} kinds[] = {{"kprobe:", SP_AT_KPROBE}, {"kretprobe:", SP_AT_KRETPROBE}, {"kret:", SP_AT_KRETPROBE}};

static enum sp_at kind_of(const char *name, const char **ret_function)
{
	for (size_t i = 0; i < SP_COUNT(kinds); i++)
		if (!strncmp(name, kinds[i].prefix, strlen(kinds[i].prefix))) {
			*ret_function = name + strlen(kinds[i].prefix);
			return kinds[i].at;
		}
	return SP_AT_NOTHING;
}

bool sp_kprobe_is(const char *name)
{
	const char *function;

	return kind_of(name, &function) != SP_AT_NOTHING;
}

bool sp_kprobes_are_here(void)
{
	return !access("/sys/bus/event_source/devices/kprobe", F_OK);
}

int sp_kprobe_point(const char *name, struct sp_recipe_point *ret_point)
{
	const char *function = "";
	enum sp_at at = kind_of(name, &function);
	size_t n = strlen(function);

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)function[i]) && !strchr("_.", function[i]))
			n = 0;
	if (!n || n >= MAX_NAME)
		return sp_fail_said(-EINVAL, "'%s' is no function of the kernel: kprobe:FUNCTION, kretprobe:FUNCTION",
				    name);
	if (!sp_kprobes_are_here())
		return sp_fail_said(-EOPNOTSUPP, "this kernel has no probes of its own functions (CONFIG_KPROBES)");
	*ret_point = (struct sp_recipe_point){
	    .at = at,
	    .where = function,
	    .slot = {.role = SP_ROLE_EVENT,
		     .flags = SP_SLOT_USER | SP_SLOT_KERNEL | SP_SLOT_PROBE | SP_SLOT_KPROBE,
		     .value = SP_NO_REG,
		     .match = SP_NO_REG,
		     .state = SP_NO_REG,
		     .times = SP_NO_REG},
	};
	return 0;
}

/* --- fields --- */
/* "ffffffff81000000 T name", and, of a module's, its name */
static bool is_symbol(const char *line, const char *function)
{
	char name[MAX_NAME];

	return sscanf(line, "%*s %*c %127s", name) == 1 && !strcmp(name, function);
}

static bool has_symbol(const char *function)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	SP_FREE char *line = NULL;
	size_t size = 0;
	bool has = false;

	while (f && !has && getline(&line, &size, f) > 0)
		has = is_symbol(line, function);
	if (f)
		fclose(f);
	return has;
}

int sp_kprobe_fields(const struct sp_recipe_point *point, struct sp_types *types, struct sp_fields *ret_fields)
{
	bool returns = point->at == SP_AT_KRETPROBE;
	int r = sp_types_function(types, point->where, returns, ret_fields);

	if (r != -ENOENT)
		return r;
	if (!has_symbol(point->where))
		return sp_fail_said(-EINVAL, "this kernel has no function %s, or it is part of its callers",
				    point->where);
	r = sp_fields_of_arguments("long arg0, long arg1, long arg2, long arg3, long arg4, long arg5, long retval",
				   ret_fields);
	for (size_t i = 0; !r && i < ret_fields->n; i++)
		if ((i == SP_FIELD_RETURNED) != returns) {
			ret_fields->list[i].from = SP_FIELD_NOWHERE;
			ret_fields->list[i].why_not = returns ? "arguments are gone when the function returns"
							      : "kretprobe: has what the function returns";
		}
	return r;
}

/* --- attaching --- */
int sp_kprobe_attach(const struct sp_recipe_point *point, struct bpf_program *program, struct bpf_link **ret_link)
{
	*ret_link = bpf_program__attach_kprobe(program, point->at == SP_AT_KRETPROBE, point->where);
	if (*ret_link)
		return 0;
	if (errno == ENOENT || errno == EINVAL || errno == EADDRNOTAVAIL)
		return sp_fail_said(-EOPNOTSUPP, "this kernel takes no probe at its function %s", point->where);
	return sp_fail(-errno, "probe the kernel's function %s", point->where);
}

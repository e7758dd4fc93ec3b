/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kprobe.h: functions of the kernel as events: kprobe:FUNCTION where it begins, kretprobe:FUNCTION where it returns.
 *
 * Expressions know the function's arguments by their names, by the kernel's types (types.h), or retval; of a function
 * that those do not have arg0 to arg5. What is left of a function that the compiler has put into its callers has no
 * probe. Errors: -EOPNOTSUPP: this kernel has no kprobes, or takes none there; -EINVAL: there is no such function. No
 * state.
 */
#ifndef SP_RECIPE_KPROBE_H
#define SP_RECIPE_KPROBE_H

#include <stdbool.h>

struct bpf_link;
struct bpf_program;
struct sp_fields;
struct sp_recipe_point;
struct sp_types;

bool sp_kprobe_is(const char *name);
bool sp_kprobes_are_here(void); /* whether this kernel has them at all */
/* The point refers to `name`, which must outlive it. */
int sp_kprobe_point(const char *name, struct sp_recipe_point *ret_point);
int sp_kprobe_fields(const struct sp_recipe_point *point, struct sp_types *types, struct sp_fields *ret_fields);
int sp_kprobe_attach(const struct sp_recipe_point *point, struct bpf_program *program, struct bpf_link **ret_link);

#endif

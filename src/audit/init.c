/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handles libraries that are opened later.
 *
 * ld.so tells auditors about them before it relocates them, and then nothing before their constructors run. So the
 * entry of their constructor in .dynamic, in memory, is replaced with a stub of ours.
 */
#include "audit/audit.h"

static struct sp_object *hooked[SP_INITS];
static uint64_t arrays[SP_INITS]; /* in place of a DT_INIT_ARRAY: one function */

extern const uint8_t sp_init_stubs[];

static bool is_writable(const struct sp_object *o, const void *at)
{
	uint64_t vaddr = (uint64_t)at - o->bias;

	for (uint32_t i = 0; i < o->n_phdrs; i++) {
		const Elf64_Phdr *p = &o->phdrs[i];
		if (p->p_type == PT_LOAD && (p->p_flags & PF_W) != 0 && vaddr >= p->p_vaddr &&
		    vaddr - p->p_vaddr < p->p_memsz)
			return true;
	}
	return false;
}

static Elf64_Dyn *dynamic_of(const struct sp_object *o, int64_t tag)
{
	for (Elf64_Dyn *d = o->dynamic; d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return d;
	return NULL;
}

static bool hook(struct sp_object *o, uint32_t number)
{
	uint64_t stub = (uint64_t)sp_init_stubs + (uint64_t)number * SP_TRAMPOLINE_BYTES - o->bias;
	Elf64_Dyn *init = dynamic_of(o, DT_INIT), *array = dynamic_of(o, DT_INIT_ARRAY),
		  *bytes = dynamic_of(o, DT_INIT_ARRAYSZ);

	if (init) {
		o->init_function = o->bias + init->d_un.d_ptr;
		init->d_un.d_ptr = stub;
		return true;
	}
	if (!array || !bytes || bytes->d_un.d_val < sizeof(uint64_t))
		return false;
	o->init_array = o->bias + array->d_un.d_ptr;
	o->n_init_array = bytes->d_un.d_val / sizeof(uint64_t);
	arrays[number] = stub + o->bias;
	array->d_un.d_ptr = (uint64_t)&arrays[number] - o->bias;
	bytes->d_un.d_val = sizeof(uint64_t);
	return true;
}

void sp_init_hook(struct sp_object *o)
{
	if (!is_writable(o, o->dynamic))
		return;
	for (uint32_t i = 0; i < SP_INITS; i++)
		if (!hooked[i]) {
			if (hook(o, i)) {
				hooked[i] = o;
				o->init = i + 1;
			}
			return;
		}
}

void sp_init_unhook(struct sp_object *o)
{
	if (o->init != 0)
		hooked[o->init - 1] = NULL;
	o->init = 0;
}

/* What the stub jumps to then; an array is run here. */
uint64_t sp_init(uint32_t number, uint64_t argc, uint64_t argv, uint64_t environment)
{
	struct sp_object *o = hooked[number];

	if (o->unpatched)
		sp_patch(o, true);
	for (uint64_t i = 0; i < o->n_init_array; i++)
		((void (*)(uint64_t, uint64_t, uint64_t))((const uint64_t *)o->init_array)[i])(argc, argv, environment);
	return o->init_function;
}

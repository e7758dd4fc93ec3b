/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lazy.c: a call that is bound anew each time: nearly all samples are below the dynamic linker's lazy resolver. */
#include "victim.h"
#include <elf.h>
#include <link.h>

static Elf64_Addr *slots[64], before[64]; /* of this program's calls by way of the PLT */
static size_t n_slots;

static void find_slots(void)
{
	const Elf64_Rela *rela = NULL;
	size_t bytes = 0;

	for (const Elf64_Dyn *d = _DYNAMIC; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_JMPREL)
			rela = (const Elf64_Rela *)d->d_un.d_ptr;
		if (d->d_tag == DT_PLTRELSZ)
			bytes = d->d_un.d_val;
	}
	for (; bytes >= sizeof(*rela) && n_slots < 64; bytes -= sizeof(*rela), rela++, n_slots++) {
		slots[n_slots] = (Elf64_Addr *)(_r_debug.r_map->l_addr + rela->r_offset);
		before[n_slots] = *slots[n_slots];
	}
}

VICTIM static unsigned caller(void)
{
	unsigned n = 0;

	for (int i = 0; i < 1000; i++) {
		for (size_t k = 0; k < n_slots; k++)
			*slots[k] = before[k];
		n += (unsigned)rand();
	}
	return n;
}

int main(int argc, char **argv)
{
	unsigned n = 0;

	find_slots();
	victim_start(argc, argv);
	while (going_on())
		n += caller();
	return n == 1;
}

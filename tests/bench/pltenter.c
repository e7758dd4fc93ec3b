/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An auditor that counts calls the way that rtld-audit(7) offers: la_x86_64_gnu_pltenter. */
#include <link.h>
#include <stddef.h>
#include <stdint.h>

static uint64_t n_calls[65536];

unsigned la_version(unsigned version)
{
	return version;
}

unsigned la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie)
{
	(void)map;
	(void)lmid;
	(void)cookie;
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

Elf64_Addr la_x86_64_gnu_pltenter(Elf64_Sym *symbol, unsigned number, uintptr_t *from, uintptr_t *to,
				  La_x86_64_regs *registers, unsigned *flags, const char *name, long *frame_bytes)
{
	(void)from;
	(void)to;
	(void)registers;
	(void)flags;
	(void)name;
	(void)frame_bytes;
	__atomic_fetch_add(&n_calls[number % 65536], 1, __ATOMIC_RELAXED);
	return symbol->st_value;
}

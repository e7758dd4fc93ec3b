/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_jit_dump.c: any bytes as the records of a jit dump.
 *
 * Whatever they say, an answer holds its address, a name is neither empty nor too long, and asking for one address
 * alone gives the same answer as asking for it among others. The first byte is the time that is asked for.
 */
#include "base/error.h"
#include "require.h"
#include "symbol/jit_names.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N_ADDRESSES = 64 };

static void check_name(const struct sp_name *m, uint64_t address)
{
	if (!m->name) {
		require(!m->size && m->start == address);
		return;
	}
	require(*m->name && strlen(m->name) < SP_NAME_MAX);
	require(address >= m->start && address - m->start < m->size);
}

static void check(int fd, uint64_t since, const uint64_t *addresses)
{
	struct sp_name names[N_ADDRESSES], alone;
	struct sp_jit_counts c, again;
	if (sp_jit_dump_find(fd, since, addresses, N_ADDRESSES, names, &c) < 0)
		return;
	require(c.n_bad <= c.n);
	for (size_t i = 0; i < N_ADDRESSES; i++)
		check_name(&names[i], addresses[i]);
	require(sp_jit_dump_find(fd, since, &addresses[9], 1, &alone, &again) == 0);
	require(alone.start == names[9].start && alone.size == names[9].size && again.n_bad == c.n_bad);
	require(!alone.name == !names[9].name && (!alone.name || !strcmp(alone.name, names[9].name)));
	sp_names_done(&alone, 1);
	sp_names_done(names, N_ADDRESSES);
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	static const uint8_t head[40] = {'D', 'T', 'i', 'J', 1, 0, 0, 0, 40};
	uint64_t addresses[N_ADDRESSES];
	int fd = memfd_create("dump", MFD_CLOEXEC);
	if (!size) {
		close(fd);
		return 0;
	}
	if (fd < 0 || write(fd, head, sizeof(head)) != sizeof(head) ||
	    write(fd, data + 1, size - 1) != (ssize_t)size - 1)
		abort();
	for (uint64_t i = 0; i < N_ADDRESSES; i++)
		addresses[i] = i < 32 ? i * 8 : 0x7f0000000000 + i * 64;
	check(fd, data[0], addresses);
	close(fd);
	sp_error_clear();
	return 0;
}

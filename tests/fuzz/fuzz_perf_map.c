/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_perf_map.c: any bytes as the perf map of a process.
 *
 * Whatever the lines say, an answer holds its address, a name is neither empty nor too long, and asking for one address
 * alone gives the same answer as asking for it among others.
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

static void check(int fd, const uint64_t *addresses)
{
	struct sp_name names[N_ADDRESSES], alone;
	struct sp_jit_counts c, again;
	if (sp_perf_map_find(fd, 0, addresses, N_ADDRESSES, names, &c) < 0)
		return;
	require(c.n_bad <= c.n);
	for (size_t i = 0; i < N_ADDRESSES; i++)
		check_name(&names[i], addresses[i]);
	if (sp_perf_map_find(fd, 0, &addresses[9], 1, &alone, &again) == 0) {
		require(alone.start == names[9].start && alone.size == names[9].size && again.n_bad == c.n_bad);
		sp_names_done(&alone, 1);
	}
	sp_names_done(names, N_ADDRESSES);
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	uint64_t addresses[N_ADDRESSES];
	int fd = memfd_create("map", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	for (uint64_t i = 0; i < N_ADDRESSES; i++)
		addresses[i] = i < 32 ? i * 8 : 0x7f0000000000 + i * 64;
	check(fd, addresses);
	close(fd);
	sp_error_clear();
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_jit_objects.c: any bytes as the memory of a process that keeps ELF objects for debuggers; the descriptor is at
 * 0.
 *
 * Whatever they say, an answer holds its address, and a name is neither too long nor without a range.
 */
#include "base/error.h"
#include "require.h"
#include "symbol/jit_names.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N_ADDRESSES = 64 };

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	uint64_t addresses[N_ADDRESSES];
	struct sp_name names[N_ADDRESSES];
	struct sp_jit_counts c;
	int fd = memfd_create("memory", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	for (uint64_t i = 0; i < N_ADDRESSES; i++)
		addresses[i] = i < 32 ? i * 8 : 0x7f0000000000 + i * 64;
	if (sp_jit_objects_find(fd, 0, addresses, N_ADDRESSES, names, &c) == 0) {
		require(c.n_bad <= c.n);
		for (size_t i = 0; i < N_ADDRESSES; i++) {
			require(names[i].size
				    ? addresses[i] >= names[i].start && addresses[i] - names[i].start < names[i].size
				    : names[i].start == addresses[i]);
			require(!names[i].name == !names[i].size);
			require(!names[i].name || strlen(names[i].name) < SP_NAME_MAX);
		}
		sp_names_done(names, N_ADDRESSES);
	}
	close(fd);
	sp_error_clear();
	return 0;
}

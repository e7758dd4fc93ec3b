/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tables.c: `tables FILE...`: how long .eh_frame of each takes to become rows: `seconds rows FDEs blob-bytes file`. */
#include "base/error.h"
#include "elf/elf.h"
#include "unwind/build.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int time_one(const char *path)
{
	struct sp_elf *e = NULL;
	struct sp_blob *blob = NULL;
	double began = now();
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -1 : sp_elf_open_fd(fd, &e);

	if (r >= 0)
		r = sp_blob_build(e, &blob);
	if (r >= 0)
		printf("%.4f %u %u %llu %s\n", now() - began, blob->n_rows, blob->n_fdes,
		       (unsigned long long)blob->bytes, path);
	else
		fprintf(stderr, "tables: %s: %s\n", path, sp_error_text(r));
	free(blob);
	sp_elf_close(e);
	if (fd >= 0)
		close(fd);
	return r;
}

int main(int argc, char **argv)
{
	int bad = argc < 2;

	for (int i = 1; i < argc; i++)
		bad |= time_one(argv[i]) < 0;
	return bad;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * blob.c: the unwind table of an ELF file, for tests/tables/compare and for measuring.
 *   table-blob FILE > BLOB        the bytes of the table
 *   table-blob --stat FILE...     a line for each: rows, rules, what could not be expressed, time to build
 */
#include "base/error.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "unwind/build.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int build(const char *path, struct sp_blob **ret_blob)
{
	struct sp_elf *e;
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int r = sp_elf_open_fd(fd, &e);
	if (r < 0)
		return r;
	r = sp_blob_build(e, ret_blob);
	sp_elf_close(e);
	return r;
}

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int stat_file(const char *path)
{
	SP_FREE struct sp_blob *b = NULL;
	double start = now_ms();
	int r = build(path, &b);
	double built = now_ms();
	if (r < 0) {
		fprintf(stderr, "table-blob: %s: %s\n", path, sp_error_text(r));
		return 1;
	}
	bool valid = sp_blob_validate(b, b->bytes) == 0;
	printf("%-48s %7u FDEs %8u rows %5u rules %9lu bytes  shift %2u  bad rows %u, lost fp %u, bad FDEs %u%s%s  "
	       "%.1f ms, validated in %.1f ms\n",
	       path, b->n_fdes, b->n_rows, b->n_rules, (unsigned long)b->bytes, b->shift, b->n_bad_rows, b->n_lost_fp,
	       b->n_bad_fdes, b->flags & SP_BLOB_PARTIAL ? " PARTIAL" : "", valid ? "" : " NOT VALID", built - start,
	       now_ms() - built);
	return !valid;
}

static int write_file(const char *path)
{
	SP_FREE struct sp_blob *b = NULL;
	int r = build(path, &b);
	if (r == 0 && sp_blob_validate(b, b->bytes) < 0)
		r = -EBADMSG;
	if (r < 0) {
		fprintf(stderr, "table-blob: %s: %s\n", path, sp_error_text(r));
		return 1;
	}
	return fwrite(b, b->bytes, 1, stdout) != 1 || fflush(stdout) != 0;
}

int main(int argc, char **argv)
{
	int failed = 0;
	if (argc == 2 && argv[1][0] != '-')
		return write_file(argv[1]);
	if (argc < 3 || strcmp(argv[1], "--stat") != 0) {
		fprintf(stderr, "usage: table-blob FILE > BLOB, or table-blob --stat FILE...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++)
		failed |= stat_file(argv[i]);
	return failed;
}

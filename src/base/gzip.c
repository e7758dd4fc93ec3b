/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/gzip.h"
#include "base/mem.h"
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16 };

int sp_gzip(const char *text, size_t n, int level, char **ret_text, size_t *ret_n)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)text, .avail_in = (uInt)n};
	char *to SP_FREE = NULL;
	size_t most;

	if (n > UINT32_MAX / 2 || deflateInit2(&z, level, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	most = deflateBound(&z, n);
	to = malloc(most);
	z.next_out = (Bytef *)to;
	z.avail_out = (uInt)most;
	if (!to || deflate(&z, Z_FINISH) != Z_STREAM_END) {
		deflateEnd(&z);
		return -ENOMEM;
	}
	*ret_n = z.total_out;
	*ret_text = sp_take_ptr(to);
	deflateEnd(&z);
	return 0;
}

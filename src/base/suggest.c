/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/suggest.h"

#include "base/mem.h"

#include <string.h>

/* Three rows of the usual table are enough: the row before last is for swapped neighbours. */
static unsigned distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
	unsigned rows[3][SP_SUGGEST_MAX + 1];

	for (size_t j = 0; j <= n_b; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= n_a; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *higher = rows[(i + 1) % 3];
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= n_b; j++) {
			unsigned best = above[j - 1] + (a[i - 1] != b[j - 1]);
			best = SP_MIN(best, above[j] + 1);
			best = SP_MIN(best, row[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = SP_MIN(best, higher[j - 2] + 1);
			row[j] = best;
		}
	}
	return rows[n_a % 3][n_b];
}

void sp_suggest_offer(struct sp_suggest *s, const char *name)
{
	size_t n_word = strlen(s->word), n_name = strlen(name);
	const char *end = strstr(s->word, ".so") ? NULL : strstr(name, ".so");
	unsigned d;

	if (end)
		n_name = (size_t)(end - name);
	if (n_word == 0 || n_word > SP_SUGGEST_MAX || n_name > SP_SUGGEST_MAX)
		return;
	d = distance(s->word, n_word, name, n_name);
	if (d * 3 > SP_MAX(n_word, n_name)) {
		if (n_word < 3 || n_word > n_name || strncmp(s->word, name, n_word) != 0)
			return;
	}
	if (!s->best || d < s->distance) {
		s->best = name;
		s->distance = d;
	}
}

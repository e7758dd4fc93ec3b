/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_others.c: any bytes as other profilers' JSON (V8's, the Firefox profiler's, speedscope's), as our own page and
 * text, as Go's text, and as callgrind's.
 *
 * The first byte says whose. What is read without an error is read the same with keep_going, without a loss, and what
 * became a profile can be written as folded text.
 */
#include "profile/profile.h"
#include "read.h"
#include "view/view.h"
#include <stdlib.h>

static const char *const formats[] = {"v8", "firefox", "speedscope", "html", "text", "go", "callgrind"};
static uint8_t format;

static int as_foreign(const uint8_t *data, size_t size, bool keep_going, struct sp_read_result *ret_result)
{
	const struct sp_view_options o = {0};
	struct sp_profile *p = NULL;
	char words[32], *text = NULL;
	size_t n = 0;
	FILE *out;
	int r;

	snprintf(words, sizeof(words), "%s: ", formats[format]);
	r = read_as(formats[format], words, data, size, keep_going, &p, ret_result);
	if (r < 0)
		return r;
	out = open_memstream(&text, &n);
	require(out && sp_view_by_name("folded")->write(p, &o, out) == 0 && fclose(out) == 0);
	sp_profile_free(p);
	free(text);
	return 0;
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	format = data[0] % 7;
	read_both_ways(as_foreign, data + 1, size - 1);
	return 0;
}

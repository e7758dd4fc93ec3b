/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/html/html_noise.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "profile/diff_judge.h"
#include "profile/identity.h"
#include "view/html/html_stacks.h"

static void put_change(const struct sp_change *c, FILE *out)
{
	if (c)
		fprintf(out, "%.6g,%.6g,%.6g", (c->high - c->low) / 2, c->factor, c->quantile);
	else
		fputs("-1,-1,-1", out);
}

void sp_html_noise_put(const struct sp_diff_row *row, FILE *out)
{
	put_change(row ? &row->self : NULL, out);
	fputc(',', out);
	put_change(row ? &row->total : NULL, out);
}

static void put_libraries(const struct sp_diff_judge *j, const struct sp_html_stacks *s, FILE *out)
{
	fputs(",\n\"libraries\":[", out);
	for (uint32_t i = 0; i < s->n_libraries; i++) {
		fputs(i ? "," : "", out);
		sp_html_noise_put(sp_diff_judge_library(j, s->files[i]), out);
	}
	fputc(']', out);
}

/* All frames of an entity are of one row: joined frames are told apart by names. */
static int put_entities(const struct sp_diff *d, const struct sp_diff_judge *j, const struct sp_html_stacks *s,
			FILE *out)
{
	SP_FREE const struct sp_diff_row **row_of = calloc(s->n_entities + 1U, sizeof(*row_of));
	struct sp_identity same;
	int r = row_of ? sp_identity_new(d->joined, &same) : -ENOMEM;

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < sp_profile_n_frames(d->joined); i++) {
		struct sp_tree_label label = {
		    .kind = SP_TREE_FRAME, .func = same.function_of[i], .library = same.library_of[i]};
		if (s->entity_of[i] < s->n_entities)
			row_of[s->entity_of[i]] = sp_diff_judge_label(j, &label);
	}
	fputs(",\n\"entities\":[", out);
	for (uint32_t i = 0; i < s->n_entities; i++) {
		fputs(i ? "," : "", out);
		sp_html_noise_put(row_of[i], out);
	}
	fputc(']', out);
	sp_identity_done(&same);
	return 0;
}

void sp_html_noise_begin(const struct sp_diff *d, const struct sp_diff_judge *j, uint32_t value, FILE *out)
{
	const struct sp_change *other = sp_diff_judge_other(j);

	fprintf(out, "\"noise\":{\"value\":%u,\"from\":\"%s\",\"other\":[%.6g,%.6g]", value,
		d->method == SP_DIFF_FROM_SLICES ? "slices" : "counts", other->factor, other->quantile);
}

int sp_html_noise_write(const struct sp_diff *d, const struct sp_html_stacks *s, FILE *out)
{
	struct sp_diff shares = *d;
	struct sp_diff_judge *j;

	shares.scale = SP_DIFF_SHARES;
	int r = sp_diff_judge_new(&shares, &j);
	if (r < 0)
		return r;
	sp_html_noise_begin(d, j, SP_DIFF_NEW, out);
	put_libraries(j, s, out);
	r = put_entities(d, j, s, out);
	fputs("},\n", out);
	sp_diff_judge_free(j);
	return r;
}

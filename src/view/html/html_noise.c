/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/html/html_noise.h"

#include "base/json.h"
#include "base/mem.h"
#include "profile/diff_significance.h"
#include "view/html/html_stacks.h"

#include <errno.h>
#include <stdlib.h>

static void html_noise_put_change(const struct sp_change *c, struct sp_json *j)
{
	sp_json_format(j, NULL, "%.6g", c ? (c->high - c->low) / 2 : -1);
	sp_json_format(j, NULL, "%.6g", c ? c->factor : -1);
	sp_json_format(j, NULL, "%.6g", c ? c->quantile : -1);
}

void sp_html_noise_put(const struct sp_diff_row *row, struct sp_json *j)
{
	html_noise_put_change(row ? &row->self : NULL, j);
	html_noise_put_change(row ? &row->total : NULL, j);
}

void sp_html_noise_put_libraries(const struct sp_significance *significance, const struct sp_html_tables *t,
				 struct sp_json *j)
{
	sp_json_array(sp_json_line(j), "libraries");
	for (uint32_t i = 0; i < t->n_libraries; i++)
		sp_html_noise_put(sp_significance_library_row(significance, t->files[i]), j);
	sp_json_end(j);
}

/* All frames of an entity have one row, since the rows of a joined profile are told apart by names, too. */
static int put_entities(const struct sp_diff *d, const struct sp_significance *significance,
			const struct sp_html_stacks *s, struct sp_json *j)
{
	SP_FREE const struct sp_diff_row **row_of = calloc(s->n_entities + 1U, sizeof(*row_of));
	const struct sp_identity *same = &s->t.same;

	if (!row_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < sp_profile_n_frames(d->joined); i++) {
		struct sp_tree_label label = {
		    .kind = SP_TREE_FRAME, .func = same->function_of[i], .library = same->library_of[i]};
		if (s->entity_of[i] < s->n_entities)
			row_of[s->entity_of[i]] = sp_significance_label_row(significance, &label);
	}
	sp_json_array(sp_json_line(j), "entities");
	for (uint32_t i = 0; i < s->n_entities; i++)
		sp_html_noise_put(row_of[i], j);
	sp_json_end(j);
	return 0;
}

void sp_html_noise_begin(const struct sp_diff *d, const struct sp_significance *significance, uint32_t value,
			 struct sp_json *j)
{
	const struct sp_change *other = sp_significance_default(significance);

	sp_json_object(j, "noise");
	sp_json_uint(j, "value", value);
	sp_json_string(j, "from", d->method == SP_DIFF_FROM_SLICES ? "slices" : "counts");
	sp_json_format(j, "other", "[%.6g,%.6g]", other->factor, other->quantile);
}

int sp_html_noise_write(const struct sp_diff *d, const struct sp_html_stacks *s, struct sp_json *j)
{
	struct sp_diff shares = *d;
	struct sp_significance *significance;

	shares.scale = SP_DIFF_SHARES;
	int r = sp_significance_new(&shares, &significance);
	if (r < 0)
		return r;
	sp_html_noise_begin(d, significance, SP_DIFF_NEW, j);
	sp_html_noise_put_libraries(significance, &s->t, j);
	r = put_entities(d, significance, s, j);
	sp_json_end(j);
	sp_json_line(j);
	sp_significance_free(significance);
	return r;
}

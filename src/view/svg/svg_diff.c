/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/svg/svg_diff.h"

#include "base/mem.h"
#include "profile/diff_significance.h"
#include "profile/profile.h"
#include "view/svg/svg_colour.h"
#include "view/svg/svg_text.h"
#include "view/value.h"
#include "view/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double share(int64_t part, int64_t whole)
{
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

double sp_svg_diff_of(const struct sp_svg_diff *d, int64_t now, int64_t old)
{
	const struct sp_tree_node *all = &d->t->tree.nodes[0];
	if (d->absolute)
		return (double)now - (double)old;
	return share(now, all->total) - share(old, all->second_total);
}

double sp_svg_diff_of_node(const struct sp_svg_diff *d, uint32_t node)
{
	const struct sp_tree_node *it = &d->t->tree.nodes[node];
	return d->t->callers ? sp_svg_diff_of(d, it->total, it->second_total)
			     : sp_svg_diff_of(d, it->self, it->second_self);
}

int sp_svg_diff_begin(struct sp_svg_diff *d, const struct sp_view_options *o)
{
	d->diff = o->has_second ? o->diff : NULL;
	return d->diff ? sp_significance_new(d->diff, &d->significance) : 0;
}

void sp_svg_diff_done(struct sp_svg_diff *d)
{
	sp_significance_free(d->significance);
}

bool sp_svg_diff_is_noise(const struct sp_svg_diff *d, uint32_t node, bool whole)
{
	const struct sp_tree_node *it = &d->t->tree.nodes[node];

	if (!d->significance || !node)
		return false;
	const struct sp_diff_row *row = sp_significance_label_row(d->significance, &d->t->tree.labels[it->label]);
	const struct sp_change *of = row && whole ? &row->total
				     : row        ? &row->self
						  : sp_significance_default(d->significance);
	return sp_significance_of_part(d->diff, of, (double)(whole ? it->second_total : it->second_self),
				       (double)(whole ? it->total : it->self))
	    .within_noise;
}

bool sp_svg_diff_is_noise_of_library(const struct sp_svg_diff *d, uint32_t library)
{
	uint32_t file = d->t->tree.libraries[library].file;
	const struct sp_diff_row *row = d->significance ? sp_significance_library_row(d->significance, file) : NULL;

	return row && row->self.within_noise;
}

uint32_t sp_svg_diff_step(const struct sp_svg_diff *d, double difference)
{
	if (!(d->largest > 0))
		return SP_SVG_STEP_MAX;
	double part = fmin(fabs(difference) / d->largest, 1);
	double steps = part * SP_SVG_STEP_MAX, size = d->significance ? ceil(steps) : round(steps);
	return (uint32_t)(SP_SVG_STEP_MAX + copysign(size, difference));
}

uint32_t sp_svg_diff_step_colour(uint32_t step, bool is_dark)
{
	double part = (double)step / SP_SVG_STEP_MAX - 1;

	return sp_svg_diff_colour(step == SP_SVG_STEP_MAX ? 0 : copysign(0.15 + 0.85 * fabs(part), part), is_dark);
}

uint32_t sp_svg_diff_step_of_node(const struct sp_svg_diff *d, uint32_t node)
{
	bool is_noise = sp_svg_diff_is_noise(d, node, d->t->callers);

	return sp_svg_diff_step(d, is_noise ? 0 : sp_svg_diff_of_node(d, node));
}

char *sp_svg_diff_text(const struct sp_svg_diff *d, double difference)
{
	double size = fabs(difference);
	SP_FREE char *number =
	    d->absolute ? sp_svg_amount((int64_t)fmin(size, 0x1p62), d->value_name, d->unit) : sp_svg_fixed(size, 2);
	SP_FREE char *text = NULL;
	if (!number)
		return NULL;
	const char *sign = !strpbrk(number, "123456789") ? "±" : difference < 0 ? "−" : "+";
	if (asprintf(&text, "%s%s%s", sign, number, d->absolute ? "" : " pp") < 0)
		return NULL;
	return sp_take_ptr(text);
}

/* The name of the value shown. A joined profile calls it "new", which says nothing, so value_name is used then. */
char *sp_svg_value_name(const struct sp_profile *p, const struct sp_view_options *o, const struct sp_value_type *type)
{
	const char *name = sp_profile_string(p, type->name);

	if (!o->has_second || strcmp(name, "new") != 0)
		return sp_value_words(name);
	if (o->value_name)
		return sp_value_words(o->value_name);
	return strdup(strcmp(sp_profile_string(p, type->unit), "count") == 0 ? "samples" : "");
}

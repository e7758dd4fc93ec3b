/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * html_noise.h: what of a difference is noise, for the data of the HTML page.
 *
 * One member of the object in html_data.h, with a comma behind it:
 *   noise  {value, from: "slices" or "counts", dispersion, spread (profile/diff.h),
 *          libraries: [half of the interval of self, of total, ... of each library],
 *          entities: the same of each function}
 * Half widths are of shares, whatever the diff's scale, as the page shows shares; -1 where the diff has no such row, or
 * several. What only the page sums up it judges by dispersion and spread.
 * d: whose joined profile the stacks are of, unfiltered. 0 or -ENOMEM; the stream's error flag is the caller's.
 */
#ifndef SP_VIEW_HTML_NOISE_H
#define SP_VIEW_HTML_NOISE_H

#include <stdio.h>

struct sp_diff;
struct sp_html_stacks;

int sp_html_noise_write(const struct sp_diff *d, const struct sp_html_stacks *s, FILE *out);

#endif

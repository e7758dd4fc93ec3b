/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * html_noise.h: what of a difference is noise, for the data of the HTML page.
 *
 * One member of the object in html_data.h, with a comma behind it:
 *   noise  {value: the column judged, from: "slices" or "counts" (profile/diff.h),
 *          other: [factor, quantile] of what has no row,
 *          libraries: [half of the interval, factor, quantile of self, the same of total, ... of each library],
 *          entities: the same of each function}
 * All are of shares, whatever the diff's scale, as the page shows shares; -1 where the diff has no such row. What only
 * the page sums up, a frame of a picture, it judges as profile/diff_significance.h does, by factor and quantile.
 * d: whose joined profile the stacks are of, unfiltered. 0 or -ENOMEM; the stream's error flag is the caller's.
 */
#ifndef SP_VIEW_HTML_HTML_NOISE_H
#define SP_VIEW_HTML_HTML_NOISE_H

#include <stdint.h>

struct sp_diff;
struct sp_significance;
struct sp_diff_row;
struct sp_html_stacks;
struct sp_json;

int sp_html_noise_write(const struct sp_diff *d, const struct sp_html_stacks *s, struct sp_json *j);

/* For an agent's answer: all before the libraries, and the six numbers of a row, which may be NULL. */
void sp_html_noise_begin(const struct sp_diff *d, const struct sp_significance *judge, uint32_t value,
			 struct sp_json *j);
void sp_html_noise_put(const struct sp_diff_row *row, struct sp_json *j);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * html_noise.h: which changes of a difference are noise, for the data of the HTML page.
 *
 * One member of the object in html_data.h, with a comma after it:
 *   noise  {value: index of the value, from: "slices" or "counts" (profile/diff.h),
 *          other: [factor, quantile] where there is no row,
 *          libraries: [half of the interval, factor, quantile of self, the same of total, ... of each library],
 *          entities: the same for each function}
 * All are of shares, whatever the diff's scale, because the page shows shares; -1 where the diff has no row. For
 * frames of a flame graph the page computes significance from factor and quantile, as profile/diff_significance.h
 * does.
 * d: its joined profile is that of the stacks, unfiltered. 0 or -ENOMEM; errors of the stream are in its error flag.
 */
#ifndef SP_VIEW_HTML_HTML_NOISE_H
#define SP_VIEW_HTML_HTML_NOISE_H

#include <stdint.h>

struct sp_diff;
struct sp_significance;
struct sp_diff_row;
struct sp_html_stacks;
struct sp_html_tables;
struct sp_json;

int sp_html_noise_write(const struct sp_diff *d, const struct sp_html_stacks *s, struct sp_json *j);

/* Parts for the agent's API: everything before the libraries; the six numbers of a row, which may be NULL; of each
 * library. */
void sp_html_noise_begin(const struct sp_diff *d, const struct sp_significance *judge, uint32_t value,
			 struct sp_json *j);
void sp_html_noise_put(const struct sp_diff_row *row, struct sp_json *j);
void sp_html_noise_put_libraries(const struct sp_significance *judge, const struct sp_html_tables *t,
				 struct sp_json *j);

#endif

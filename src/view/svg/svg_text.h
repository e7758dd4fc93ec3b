/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg_text.h: text of the flame graph: names made safe, labels that fit, values with their unit.
 *
 * Every name goes through base/encode.h's XML encoder. Widths are counted in cells of a monospaced font, East Asian
 * wide characters as two and combining ones as one, so that labels fit without measuring. Strings that are returned are
 * new (free them); NULL = memory is short.
 */
#ifndef SP_VIEW_SVG_SVG_TEXT_H
#define SP_VIEW_SVG_SVG_TEXT_H

#include <stdint.h>
#include <stdio.h>

/* Text and attributes alike. */
void sp_svg_put_text(FILE *out, const char *text);
/* With one digit after the point if it needs one, whatever the locale. */
void sp_svg_put_px(FILE *out, double px);
/* The text, or as much of it as fits into n_cells with an ellipsis; nothing when less than two cells of it were left.
 */
int sp_svg_put_label(FILE *out, const char *text, uint32_t n_cells);
uint32_t sp_svg_text_cells(const char *text); /* once encoded */

/* "1,234 samples", "1.23 s", "4.0 MiB": value of a type with this name and unit. */
char *sp_svg_amount(int64_t value, const char *name, const char *unit);
/* "1,234.5": not below 0, with at most 2 digits after a point that no locale changes. */
char *sp_svg_fixed(double value, int digits);
/* "1,234,567" */
char *sp_svg_count(uint64_t n);

#endif

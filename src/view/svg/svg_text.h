/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg_text.h: text of the flame graph: encoded names, labels cut to fit, values with units.
 *
 * Every name is encoded with base/encode.h's XML encoder. Widths are in cells of a monospaced font, East Asian wide
 * characters being two cells and combining ones none, so that labels fit without measuring. Returned strings are new
 * (free them); NULL: out of memory. No state.
 */
#ifndef SP_VIEW_SVG_SVG_TEXT_H
#define SP_VIEW_SVG_SVG_TEXT_H

#include <stdint.h>
#include <stdio.h>

/* For text and attributes. */
void sp_svg_put_text(FILE *out, const char *text);
/* At most one decimal, with a point in every locale. */
void sp_svg_put_px(FILE *out, double px);
/* The text, cut to n_cells with an ellipsis, before the offset if it is a place without a name (libz.so.1+0x2f10) and
 * there is room, else to the offset's end; nothing if less than two cells of text would be left. */
int sp_svg_put_label(FILE *out, const char *text, uint32_t n_cells);
uint32_t sp_svg_text_cells(const char *text); /* of encoded text */

/* "1,234 samples", "1.23 s", "4.0 MiB": value of a type with this name and unit. */
char *sp_svg_amount(int64_t value, const char *name, const char *unit);
/* "1,234.5": for values from 0, at most 2 decimals, with a point in every locale. */
char *sp_svg_fixed(double value, int digits);
/* "1,234,567" */
char *sp_svg_count(uint64_t n);

#endif

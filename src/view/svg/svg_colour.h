/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg_colour.h: the fill of a library's frames in the flame graph.
 *
 * A hash of the library's name up to ".so" gives hue and tone, so that a library has one colour in every graph and
 * keeps it over upgrades. The kernel and its modules have a family of their own (slate); two ranges of hue are given to
 * no library: that one, and the magenta of search matches. Hues are of equal lightness to the eye, by Björn Ottosson's
 * Oklab ("A perceptual color space for image processing", 2020), so that black text has a contrast of at least 7 to 1
 * on a light page and 5 to 1 on the dimmer fills of a dark page (WCAG 2.1's formula). Pure functions.
 */
#ifndef SP_VIEW_SVG_SVG_COLOUR_H
#define SP_VIEW_SVG_SVG_COLOUR_H

#include <stdbool.h>
#include <stdint.h>

/* 0xRRGGBB */
uint32_t sp_svg_colour(const char *library, bool is_kernel, bool is_dark);
/* Of a difference, -1 (less: blue) over 0 (neither: grey) to 1 (more: red); the same contrast as above. */
uint32_t sp_svg_diff_colour(double difference, bool is_dark);

#endif

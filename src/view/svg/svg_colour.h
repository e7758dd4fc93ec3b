/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg_colour.h: the colours of frames in the flame graph.
 *
 * A hash of the library's name up to ".so" gives hue and tone, so a library has the same colour in every graph, also
 * after upgrades. The kernel and its modules have slate colours; these hues, and the magenta of search matches, are
 * not used for libraries. Hues have equal lightness in Björn Ottosson's Oklab ("A perceptual color space for image
 * processing", 2020), so that black text has a contrast of at least 7:1 on a light page and 5:1 on the dimmed fills
 * of a dark page (WCAG 2.1). Pure functions; no errors.
 */
#ifndef SP_VIEW_SVG_SVG_COLOUR_H
#define SP_VIEW_SVG_SVG_COLOUR_H

#include <stdbool.h>
#include <stdint.h>

/* 0xRRGGBB */
uint32_t sp_svg_colour(const char *library, bool is_kernel, bool is_dark);
/* For a difference from -1 (less: blue) over 0 (grey) to 1 (more: red), with the same contrast. */
uint32_t sp_svg_diff_colour(double difference, bool is_dark);

#endif

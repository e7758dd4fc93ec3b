/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg_colour.h: the colours of frames in the flame graph.
 *
 * A hash of the library's name up to ".so" gives hue and tone, so a library has the same colour in every graph, also
 * after upgrades, unless a heavier one is too near (svg_palette.h). The kernel and its modules have slate colours;
 * these hues, and the magenta of search matches, are not used for libraries. Hues have equal lightness in Björn
 * Ottosson's Oklab ("A perceptual color space for image processing", 2020), so that black text has a contrast of at
 * least 7:1 on a light page and 5:1 on the dimmed fills of a dark page (WCAG 2.1). Pure functions; no errors.
 */
#ifndef SP_VIEW_SVG_SVG_COLOUR_H
#define SP_VIEW_SVG_SVG_COLOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_SVG_HUES = 275 };
/* The hues that libraries may have, in degrees: i is below SP_SVG_HUES. */
uint32_t sp_svg_hue(uint32_t i);
/* By a hash of so many bytes of a name. */
void sp_svg_own_hue(const char *name, size_t len, uint32_t *ret_hue, uint32_t *ret_tone);
/* How much of a library's name counts: up to ".so". */
size_t sp_svg_name_len(const char *library);
/* 0xRRGGBB; tone: 0 (pale) to 2 */
uint32_t sp_svg_hue_colour(uint32_t hue, uint32_t tone, bool is_dark);
uint32_t sp_svg_colour(const char *library, bool is_kernel, bool is_dark);
/* For a difference from -1 (less: blue) over 0 (grey) to 1 (more: red), with the same contrast. */
uint32_t sp_svg_diff_colour(double difference, bool is_dark);

#endif

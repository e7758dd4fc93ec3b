/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * svg_palette.h: the colours of one picture, by what weighs most in it.
 *
 * A library's colour follows from its name alone (svg_colour.h), and two may look alike. Of the first SP_SVG_SPREAD
 * that are added, by falling weight, one whose hue is too near to that of a heavier one gets the nearest free one.
 * Where one library is nearly all of a profile, or none is known, its functions get tints instead, numbers below
 * SP_SVG_TINTS: by package (the first part of Go's, Rust's, Java's and C++'s names), else by name; the heaviest
 * packages have a tint of their own. Names are borrowed from the profile. No memory of its own; reads only. Errors:
 * -ENOMEM, -EINVAL.
 */
#ifndef SP_VIEW_SVG_SVG_PALETTE_H
#define SP_VIEW_SVG_SVG_PALETTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_profile;
struct sp_totals;

enum { SP_SVG_SPREAD = 12, SP_SVG_TINTS = 2 * SP_SVG_SPREAD };

struct sp_svg_hue {
	const char *name;
	size_t len;
	uint32_t hue, tone; /* hue: degrees */
	int64_t self;
};
struct sp_svg_palette {
	struct sp_svg_hue libraries[SP_SVG_SPREAD], packages[SP_SVG_SPREAD];
	uint32_t n_libraries, n_packages; /* n_packages: 0 = functions have no tints */
	const char *tinted;               /* the library whose functions have tints; "" = none is known */
};

/* By the libraries' own cost in a value, as `libraries` has it (NULL: it is added up); *ret_palette starts empty. */
int sp_svg_palette_of(const struct sp_profile *p, uint32_t value, const struct sp_totals *libraries,
		      struct sp_svg_palette *ret_palette);
/* By hand, the heaviest first; the kernel has a colour of its own. */
void sp_svg_palette_add(struct sp_svg_palette *l, const char *library, bool is_kernel);
/* 0xRRGGBB, also of a library that was not added */
uint32_t sp_svg_palette_colour(const struct sp_svg_palette *l, const char *library, bool is_kernel, bool is_dark);
/* -1: it has its library's colour. library: "" = none is known */
int sp_svg_palette_tint(const struct sp_svg_palette *l, const char *library, const char *function);
uint32_t sp_svg_palette_tint_colour(const struct sp_svg_palette *l, uint32_t tint, bool is_dark);

#endif

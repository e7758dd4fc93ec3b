/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/svg/svg_colour.h"

#include <math.h>
#include <string.h>

/*
 * FNV-1a with a final mix. Do not change it: libraries would change their colours. Of 150,000 starting values this one
 * keeps the most usual libraries' colours furthest apart.
 */
static uint32_t hash_name(const char *name, size_t len)
{
	uint32_t h = 2166227807U;
	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)name[i]) * 16777619U;
	h = (h ^ h >> 15) * 0x2c1b3c6dU;
	return h ^ h >> 13;
}

static uint32_t channel(double linear)
{
	double c = linear <= 0.0031308 ? 12.92 * linear : 1.055 * pow(linear, 1 / 2.4) - 0.055;
	return (uint32_t)lround(255 * fmin(fmax(c, 0), 1));
}

/* From Oklab's lightness, chroma and hue (degrees); colours outside sRGB are clipped. */
static uint32_t oklch(double lightness, double chroma, double hue)
{
	double a = chroma * cos(hue * M_PI / 180), b = chroma * sin(hue * M_PI / 180);
	double l = pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
	double m = pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
	double s = pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
	return channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s) << 16 |
	       channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s) << 8 |
	       channel(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s);
}

size_t sp_svg_name_len(const char *library)
{
	const char *end = strstr(library, ".so");
	return end && end > library ? (size_t)(end - library) : strlen(library);
}

/* Not 215-269 (the kernel), not 315-344 (matches). */
uint32_t sp_svg_hue(uint32_t i)
{
	return i + (i >= 260 ? 85 : i >= 215 ? 55 : 0);
}

void sp_svg_own_hue(const char *name, size_t len, uint32_t *ret_hue, uint32_t *ret_tone)
{
	uint32_t h = hash_name(name, len);
	*ret_hue = sp_svg_hue(h % SP_SVG_HUES);
	*ret_tone = (h >> 16) % 3;
}

uint32_t sp_svg_hue_colour(uint32_t hue, uint32_t tone, bool is_dark)
{
	static const struct {
		double light, dark, chroma;
	} tones[] = {{0.86, 0.72, 0.085}, {0.80, 0.68, 0.125}, {0.74, 0.64, 0.105}};
	return oklch(is_dark ? tones[tone].dark : tones[tone].light, tones[tone].chroma, hue);
}

uint32_t sp_svg_colour(const char *library, bool is_kernel, bool is_dark)
{
	size_t len = sp_svg_name_len(library);
	uint32_t hue, tone, h = hash_name(library, len);
	sp_svg_own_hue(library, len, &hue, &tone);
	if (is_kernel)
		return oklch((is_dark ? 0.63 : 0.75) + 0.03 * tone, 0.014 + 0.007 * tone, 235 + h % 40);
	return sp_svg_hue_colour(hue, tone, is_dark);
}

uint32_t sp_svg_diff_colour(double difference, bool is_dark)
{
	static const double greys[] = {0.945, 0.70};
	double size = fabs(difference);
	return oklch(greys[is_dark] - (is_dark ? 0.06 : 0.205) * size, (difference < 0 ? 0.115 : 0.165) * size,
		     difference < 0 ? 248 : 27);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/svg/svg_palette.h"

#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/mem.h"
#include "base/sum.h"
#include "profile/frames.h"
#include "profile/identity.h"
#include "profile/profile.h"
#include "profile/totals.h"
#include "view/svg/svg_colour.h"

enum {
	APART = 22,      /* degrees, of two that can be told apart */
	NEARLY_ALL = 90, /* percent, of what is no kernel's */
	PALE = 0,        /* the tone of packages that have no tint of their own */
};

/* --- hues --- */
/* How far hues are from each other to the eye: greens look alike over twice as many degrees. */
static uint32_t seen_hue(uint32_t hue)
{
	enum { GREEN = 105, BLUE = 175 };
	return hue < GREEN ? hue : hue < BLUE ? GREEN + (hue - GREEN) / 2 : hue - (BLUE - GREEN) / 2;
}

static uint32_t distance(uint32_t a, uint32_t b)
{
	uint32_t whole = seen_hue(360), x = seen_hue(a), y = seen_hue(b), d = x > y ? x - y : y - x;
	return SP_MIN(d, whole - d);
}

static uint32_t nearest_taken(const struct sp_svg_hue *all, uint32_t n, uint32_t hue)
{
	uint32_t least = UINT32_MAX;
	for (uint32_t i = 0; i < n; i++)
		least = SP_MIN(least, distance(all[i].hue, hue));
	return least;
}

/* The free hue nearest to the wanted one; if there is none, the one that is furthest from those that are taken. */
static uint32_t free_hue(const struct sp_svg_hue *all, uint32_t n, uint32_t wanted)
{
	uint32_t best = wanted, best_room = 0, best_way = UINT32_MAX;
	for (uint32_t i = 0; i < SP_SVG_HUES; i++) {
		uint32_t hue = sp_svg_hue(i), room = SP_MIN(nearest_taken(all, n, hue), (uint32_t)APART);
		uint32_t way = distance(hue, wanted);
		if (room < best_room || (room == best_room && way >= best_way))
			continue;
		best = hue;
		best_room = room;
		best_way = way;
	}
	return best;
}

static void add_hue(struct sp_svg_hue *all, uint32_t *n, const char *name, size_t len, int64_t self)
{
	struct sp_svg_hue *it = &all[*n];
	if (*n == SP_SVG_SPREAD)
		return;
	*it = (struct sp_svg_hue){.name = name, .len = len, .self = self};
	sp_svg_own_hue(name, len, &it->hue, &it->tone);
	if (nearest_taken(all, *n, it->hue) < APART)
		it->hue = free_hue(all, *n, it->hue);
	(*n)++;
}

static const struct sp_svg_hue *find_hue(const struct sp_svg_hue *all, uint32_t n, const char *name, size_t len)
{
	for (uint32_t i = 0; i < n; i++)
		if (all[i].len == len && !memcmp(all[i].name, name, len))
			return &all[i];
	return NULL;
}

/* --- libraries --- */
void sp_svg_palette_add(struct sp_svg_palette *l, const char *library, bool is_kernel)
{
	size_t len = sp_svg_name_len(library);
	if (!is_kernel && !find_hue(l->libraries, l->n_libraries, library, len))
		add_hue(l->libraries, &l->n_libraries, library, len, 0);
}

uint32_t sp_svg_palette_colour(const struct sp_svg_palette *l, const char *library, bool is_kernel, bool is_dark)
{
	const struct sp_svg_hue *it =
	    is_kernel ? NULL : find_hue(l->libraries, l->n_libraries, library, sp_svg_name_len(library));
	return it ? sp_svg_hue_colour(it->hue, it->tone, is_dark) : sp_svg_colour(library, is_kernel, is_dark);
}

/* --- packages --- */
/* "net/http.(*conn).serve": net/http; "core::ptr::drop": core; "main.run": main; "sort.part.0": sort; else the whole
 * name. */
static size_t package_len(const char *name)
{
	size_t end = strcspn(name, "(<[ "), at;
	const char *colons = strstr(name, "::"), *slash = memrchr(name, '/', end);
	if (colons && colons > name && (size_t)(colons - name) < end)
		return (size_t)(colons - name);
	at = slash ? (size_t)(slash - name) : 0;
	at += strcspn(name + at, ".");
	return at > 0 && at < end && !strstr(name, "+0x") ? at : strlen(name);
}

static int palette_by_self(const void *a, const void *b)
{
	const struct sp_svg_hue *x = a, *y = b;
	size_t n = SP_MIN(x->len, y->len);
	int c = (x->self < y->self) - (x->self > y->self);
	return c ?: strncmp(x->name, y->name, n) ?: (x->len > y->len) - (x->len < y->len);
}

static int add_packages(const struct sp_profile *p, const struct sp_totals *functions, struct sp_svg_palette *l)
{
	SP_FREE struct sp_svg_hue *all = NULL;
	size_t capacity = 0;
	struct sp_intern *names = NULL;
	int64_t r = sp_intern_new(&names);
	for (size_t i = 0; i < functions->n_rows && r >= 0; i++) {
		const struct sp_total *row = &functions->rows[i];
		if (row->none || !row->id || row->self <= 0 ||
		    strcmp(row->file ? sp_library_name(p, row->file) : "", l->tinted) != 0)
			continue;
		const char *name = sp_profile_drawn_name(p, row->id);
		size_t len = package_len(name);
		r = sp_intern_add_to(names, name, len, &all, &capacity, sizeof(*all), NULL);
		if (r < 0)
			break;
		all[r].name = name;
		all[r].len = len;
		sp_saturating_add(&all[r].self, row->self);
	}
	uint32_t n = r < 0 ? 0 : sp_intern_count(names);
	if (n)
		qsort(all, n, sizeof(*all), palette_by_self);
	for (uint32_t i = 0; i < SP_MIN(n, (uint32_t)SP_SVG_SPREAD); i++)
		add_hue(l->packages, &l->n_packages, all[i].name, all[i].len, all[i].self);
	sp_intern_free(names);
	return r < 0 ? (int)r : 0;
}

int sp_svg_palette_tint(const struct sp_svg_palette *l, const char *library, const char *function)
{
	size_t len = package_len(function);
	uint32_t hue, tone;
	if (!l->n_packages || strcmp(library, l->tinted) != 0)
		return -1;
	const struct sp_svg_hue *it = find_hue(l->packages, l->n_packages, function, len);
	if (it)
		return (int)(it - l->packages);
	sp_svg_own_hue(function, len, &hue, &tone);
	return (int)(SP_SVG_SPREAD + hue * SP_SVG_SPREAD / 360);
}

uint32_t sp_svg_palette_tint_colour(const struct sp_svg_palette *l, uint32_t tint, bool is_dark)
{
	if (tint < l->n_packages)
		return sp_svg_hue_colour(l->packages[tint].hue, l->packages[tint].tone, is_dark);
	return sp_svg_hue_colour(sp_svg_hue(tint % SP_SVG_SPREAD * SP_SVG_HUES / SP_SVG_SPREAD), PALE, is_dark);
}

/* --- a profile's --- */
/* The library that is nearly all of what is no kernel's; NULL: there is none. */
static const char *find_ruler(const struct sp_profile *p, const struct sp_totals *libraries)
{
	const struct sp_total *most = NULL;
	double all = 0;
	for (size_t i = 0; i < libraries->n_rows; i++) {
		const struct sp_total *row = &libraries->rows[i];
		if (row->self <= 0 || (!row->none && sp_profile_file(p, row->id)->kind == SP_FILE_KERNEL))
			continue;
		all += (double)row->self;
		most = most ? most : row;
	}
	if (!most || (double)most->self * 100 < all * NEARLY_ALL)
		return NULL;
	return most->none ? "" : sp_library_name(p, most->id);
}

int sp_svg_palette_of(const struct sp_profile *p, uint32_t value, const struct sp_totals *libraries,
		      struct sp_svg_palette *ret_palette)
{
	struct sp_svg_palette l = {.tinted = NULL};
	struct sp_totals own = {0}, functions = {0};
	int r = libraries ? 0 : sp_totals_by(p, SP_TOTAL_BY_LIBRARY, value, &own);
	libraries = libraries ? libraries : &own;
	for (size_t i = 0; i < libraries->n_rows && r >= 0; i++)
		if (!libraries->rows[i].none)
			sp_svg_palette_add(&l, sp_library_name(p, libraries->rows[i].id),
					   sp_profile_file(p, libraries->rows[i].id)->kind == SP_FILE_KERNEL);
	l.tinted = r >= 0 ? find_ruler(p, libraries) : NULL;
	if (l.tinted)
		r = sp_totals_by(p, SP_TOTAL_BY_FUNCTION, value, &functions);
	if (r >= 0 && l.tinted)
		r = add_packages(p, &functions, &l);
	sp_totals_done(&own);
	sp_totals_done(&functions);
	*ret_palette = l;
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "naming/owners.h"
#include "base/error.h"
#include "proc/rpm.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

void (*sp_owners_warn)(const char *text);

/* warned once */
static void warn_once(bool *warned, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void warn_once(bool *warned, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (!*warned && sp_owners_warn)
		sp_owners_warn(text);
	*warned = true;
}

static int rpm_ask(const char *const *paths, size_t n_paths, struct sp_rpm **ret_rpm)
{
	static const struct sp_rpm_options machine;
	static bool warned, warned_skipped;
	int r = sp_rpm_find(&machine, paths, n_paths, ret_rpm);

	if (r == 0 && *ret_rpm && sp_rpm_n_skipped(*ret_rpm))
		warn_once(&warned_skipped, "some rpm packages are not known: %" PRIu64 " records are damaged",
			  sp_rpm_n_skipped(*ret_rpm));
	if (r == 0 || r == -ENOMEM)
		return r;
	warn_once(&warned, "rpm packages are not known: %s", sp_error_text(r));
	sp_error_clear();
	return 0;
}

static int dpkg_ask(const char *const *paths, size_t n_paths, struct sp_packages **ret_dpkg)
{
	static bool warned;
	int r = sp_packages_find(NULL, paths, n_paths, ret_dpkg);

	if (r == 0 && sp_packages_n_skipped(*ret_dpkg))
		warn_once(&warned,
			  "some packages are not known: %" PRIu64 " of dpkg's file lists, or lines, cannot be read",
			  sp_packages_n_skipped(*ret_dpkg));
	return r;
}

int sp_owners_find(const char *const *paths, size_t n_paths, struct sp_owners *ret_owners)
{
	struct sp_owners o = {0};
	int r = dpkg_ask(paths, n_paths, &o.dpkg);

	if (r == 0)
		r = rpm_ask(paths, n_paths, &o.rpm);
	if (r < 0) {
		sp_owners_done(&o);
		return r;
	}
	*ret_owners = o;
	return 0;
}

void sp_owners_done(struct sp_owners *o)
{
	sp_packages_free(o->dpkg);
	sp_rpm_free(o->rpm);
	*o = (struct sp_owners){0};
}

struct sp_package sp_owners_get(const struct sp_owners *o, size_t i)
{
	struct sp_package p = sp_packages_get(o->dpkg, i);

	return *p.name || !o->rpm ? p : sp_rpm_get(o->rpm, i);
}

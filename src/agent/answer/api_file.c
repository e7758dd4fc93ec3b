/* SPDX-License-Identifier: GPL-2.0-or-later */
/* api_file.c: the profile of a range as a file that other programs read, by one of the views. */
#include "agent/answer/api_priv.h"
#include "base/error.h"
#include "view/view.h"
#include <errno.h>

static int write_file(const struct sp_api_ask *ask, const struct sp_view *view, const struct sp_profile *p, FILE *out)
{
	struct sp_view_options o = {.title = "CPU time"};
	int r = sp_api_value(p, ask->value, &o.value);

	return r < 0 ? r : view->write(p, &o, out);
}

int sp_api_file(const struct sp_api *a, const struct sp_api_ask *ask, FILE *out)
{
	const struct sp_view *view = sp_view_by_name(ask->format ? ask->format : "pprof");
	struct sp_store_answer answer = {0};
	struct sp_profile *p = NULL;

	if (!view || view->calls)
		return sp_fail_said(-EINVAL, "format: there is no such view");
	int r = sp_api_profile(a, &ask->q, &p, &answer);
	if (r == 0 && sp_profile_n_rows(p) == 0)
		r = sp_fail_said(-ENOENT, "there are no samples in this range");
	if (r == 0)
		r = write_file(ask, view, p, out);
	sp_profile_free(p);
	return r;
}

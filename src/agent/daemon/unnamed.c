/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/daemon/unnamed.h"
#include "base/mem.h"
#include "naming/naming.h"
#include "profile/profile.h"
#include "profile/window.h"
#include <stdlib.h>
#include <string.h>

/* A row counts once per file, however many of its frames lie there. */
static void count_row(struct sp_unnamed *u, const struct sp_profile *p, uint32_t number)
{
	const struct sp_row *row = sp_profile_row(p, number);
	struct sp_stack stack = sp_profile_stack(p, row->user);

	for (uint32_t i = 0; i < stack.n_frames; i++) {
		const struct sp_frame *f = sp_profile_frame(p, stack.frames[i]);

		if (f->func || u->counted[f->file] == number + 1)
			continue;
		u->counted[f->file] = number + 1;
		u->n_samples[f->file] += (uint64_t)row->values[0];
	}
}

void sp_unnamed_count(struct sp_unnamed *u, const struct sp_profile *p)
{
	size_t n = sp_profile_n_files(p);

	if (sp_grow(&u->n_samples, &u->n_files, n, sizeof(*u->n_samples)) < 0 ||
	    sp_grow(&u->counted, &u->n_counted, n, sizeof(*u->counted)) < 0)
		return;
	memset(u->counted, 0, u->n_counted * sizeof(*u->counted));
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++)
		count_row(u, p, i);
}

/* The profile may have been renewed since the count; then it has fewer files, or they have few samples. */
void sp_unnamed_report(struct sp_unnamed *u, struct sp_naming *naming)
{
	size_t n = SP_MIN(u->n_files, sp_profile_n_files(naming->profile));

	for (size_t i = 1; i < n; i++)
		if (u->n_samples[i])
			sp_naming_met(naming, (uint32_t)i, u->n_samples[i]);
	if (u->n_files)
		memset(u->n_samples, 0, u->n_files * sizeof(*u->n_samples));
}

static bool is_unnamed(const struct sp_profile *p, const struct sp_row *row)
{
	struct sp_stack stack = sp_profile_stack(p, row->user);

	for (uint32_t i = 0; i < stack.n_frames; i++)
		if (!sp_profile_frame(p, stack.frames[i])->func)
			return true;
	return false;
}

uint64_t sp_unnamed_samples(const struct sp_profile *p, const struct sp_profile_rows *rows)
{
	size_t bytes = rows->n ? rows->bytes / rows->n : 0;
	uint64_t n = 0;

	for (size_t i = 0; i < rows->n; i++) {
		const struct sp_row *row = (const void *)((const char *)rows->rows + i * bytes);

		n += is_unnamed(p, row) ? (uint64_t)row->values[0] : 0;
	}
	return n;
}

void sp_unnamed_done(struct sp_unnamed *u)
{
	free(u->n_samples);
	free(u->counted);
	*u = (struct sp_unnamed){0};
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fixture.h: one profile with every case that a view must show, and the comparison with golden files.
 *
 * What a view prints of it lies in tests/data/view. SP_UPDATE_GOLDEN=1 in the environment makes the tests write these
 * files instead of comparing them; read the difference before committing it.
 */
#ifndef TESTS_VIEW_FIXTURE_H
#define TESTS_VIEW_FIXTURE_H

#include "profile/profile.h"
#include "view/view.h"

#include <stddef.h>

enum { FIXTURE_SAMPLES = 163 }; /* the sum of value 0 over all rows */
#define FIXTURE_PERIOD_NS 10101010

struct sp_profile *fixture_profile(void);
/* What the view writes; len may be NULL; free it. The text ends in a NUL that does not count. */
char *fixture_render(const struct sp_view *view, const struct sp_profile *p, const struct sp_view_options *o,
		     size_t *ret_len);
/* Fails the test with the first line that differs. */
void fixture_compare(const char *name, const char *text);
void fixture_golden(const char *name, const struct sp_view *view, const struct sp_view_options *o);
/* Fails the test if text holds a byte that a terminal or a log would act upon, or invalid UTF-8. */
void fixture_harmless(const char *text);
/* Runs a program with its output in *ret_out (free it). The exit code, or -1 if it is not installed. */
int fixture_run(char *const argv[], const char *stdin_path, char **ret_out);

#endif

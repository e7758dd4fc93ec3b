/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor_print.c: prints the checks as a table wrapped at the terminal's width, or as JSON.
 *
 * JSON: one object; `checks` has each check under its key. Keys may be added, never changed (soprof-doctor(1)). What
 * is not known is absent.
 */
#include "base/encode.h"
#include "base/json.h"
#include "base/mem.h"
#include "cmd/doctor/doctor.h"
#include "cmd/grid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 2, WHAT_WIDTH = 26, STATE_WIDTH = 7, WHY_COLUMN = INDENT + WHAT_WIDTH + STATE_WIDTH };

static const char *const states[] = {[SP_DOCTOR_YES] = "yes", [SP_DOCTOR_PARTLY] = "partly", [SP_DOCTOR_NO] = "no"};

/* --- text --- */
static int put_words(const char *lead, const char *raw, unsigned width, FILE *out)
{
	SP_FREE char *text = NULL, *encoded = sp_encoded(SP_ENCODE_TERMINAL, raw ? raw : "");

	if (!encoded || asprintf(&text, "%s%s", lead, encoded) < 0)
		return -ENOMEM;
	sp_terminal_wrap(text, WHY_COLUMN, width, out);
	return 0;
}

static const char *colour_of(const struct sp_doctor_check *c)
{
	static const char *const colours[] = {
	    [SP_DOCTOR_YES] = "\033[32m", [SP_DOCTOR_PARTLY] = "\033[33m", [SP_DOCTOR_NO] = "\033[31m"};

	return c->is_fact ? "" : colours[c->state];
}

/* What would help is said once for all rows that follow each other. */
static bool is_said_below(const struct sp_doctor_check *c, const struct sp_doctor_check *next)
{
	return next && next->cure && next->group == c->group && !strcmp(c->cure, next->cure);
}

static int print_check(const struct sp_doctor_check *c, const struct sp_doctor_check *next, unsigned width, bool colour,
		       FILE *out)
{
	const char *begin = colour ? colour_of(c) : "";
	int r;

	fprintf(out, "%*s%-*s%s%s%s%*s", INDENT, "", WHAT_WIDTH, c->what, begin, states[c->state],
		*begin ? "\033[0m" : "", STATE_WIDTH - (int)strlen(states[c->state]), "");
	r = put_words("", c->why, width, out);
	if (r < 0 || !c->cure || is_said_below(c, next))
		return r;
	fprintf(out, "%*s", WHY_COLUMN, "");
	return put_words("cure: ", c->cure, width, out);
}

int sp_doctor_print(const struct sp_doctor *d, unsigned width, bool colour, FILE *out)
{
	const char *group = "";
	int r = 0;

	for (size_t i = 0; r >= 0 && i < d->n_checks; i++) {
		const struct sp_doctor_check *c = &d->checks[i];
		if (strcmp(group, c->group) != 0)
			fprintf(out, "%s%s%s%s\n", i ? "\n" : "", colour ? "\033[1m" : "", c->group,
				colour ? "\033[0m" : "");
		group = c->group;
		r = print_check(c, i + 1 < d->n_checks ? c + 1 : NULL, width, colour, out);
	}
	return r;
}

/* --- JSON --- */
int sp_doctor_print_json(const struct sp_doctor *d, bool is_whole, FILE *out)
{
	struct sp_json j = {.out = out};

	sp_json_object(&j, NULL);
	sp_json_string(&j, "soprof", SP_VERSION);
	sp_json_bool(&j, "essential", is_whole);
	sp_json_object(&j, "checks");
	for (size_t i = 0; i < d->n_checks; i++) {
		const struct sp_doctor_check *c = &d->checks[i];
		sp_json_object(sp_json_line(&j), c->key);
		sp_json_string(&j, "state", states[c->state]);
		if (c->has_value)
			sp_json_int(&j, "value", c->value);
		sp_json_string(&j, "what", c->what);
		sp_json_word(&j, "why", c->why);
		sp_json_word(&j, "cure", c->cure);
		sp_json_end(&j);
	}
	sp_json_done(sp_json_line(&j));
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* value.c: see value.h. */
#include "view/value.h"

#include "base/encode.h"
#include "base/mem.h"
#include "base/sum.h"
#include "profile/profile.h"
#include "profile/values.h"
#include "view/units.h"
#include "view/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *value_name_of(const struct sp_profile *p, uint32_t value)
{
	const char *name = sp_profile_string(p, sp_profile_value_type(p, value)->name);

	return *name ? name : "value";
}

/* By its name in our profiles, other programs' and perf's. Waiting is no CPU time: samples of it are of any length. */
static bool is_cpu_time(const struct sp_profile *p, uint32_t value)
{
	const char *name = value_name_of(p, value);
	const char *unit = sp_profile_string(p, sp_profile_value_type(p, value)->unit);

	return !strcmp(unit, "nanoseconds") &&
	       (!strcmp(name, "cpu") || !strncmp(name, "cpu-clock", 9) || !strncmp(name, "task-clock", 10));
}

bool sp_value_has_waits(const struct sp_profile *p, uint32_t value)
{
	static const char *const names[] = {"offcpu", "wall", "locks"};
	bool found = false;

	for (size_t i = 0; i < SP_COUNT(names); i++)
		found = found || !strcmp(value_name_of(p, value), names[i]);
	return found && !strcmp(sp_profile_string(p, sp_profile_value_type(p, value)->unit), "nanoseconds");
}

uint32_t sp_value_default(const struct sp_profile *p, const struct sp_view *view)
{
	uint32_t value = sp_profile_default_value(p);
	int samples = sp_profile_find_value(p, "samples", NULL);
	bool is_of_bcc = !strcmp(view->name, "text") || !strcmp(view->name, "folded");

	return is_of_bcc && samples >= 0 && is_cpu_time(p, value) ? (uint32_t)samples : value;
}

bool sp_value_has_samples(const struct sp_profile *p, uint32_t value)
{
	int samples = sp_profile_find_value(p, "samples", NULL);

	return samples >= 0 && (uint32_t)samples != value;
}

bool sp_value_has_several(const struct sp_profile *p)
{
	int samples = sp_profile_find_value(p, "samples", NULL), calls = sp_profile_find_value(p, "calls", NULL);

	return samples >= 0 && calls < 0 && sp_profile_n_value_types(p) > 2;
}

/* Systems' own names have a sign in them: "sched:sched_switch", "cpu_core/cycles/". */
char *sp_value_words(const char *name)
{
	char *words = strdup(name);

	for (char *c = words; c && *c && !strpbrk(name, ":/"); c++)
		*c = *c == '_' ? ' ' : *c;
	return words;
}

static void put_name(const struct sp_profile *p, uint32_t value, bool in_words, FILE *out)
{
	const char *name = value_name_of(p, value);
	SP_FREE char *words = in_words ? sp_value_words(name) : NULL;

	sp_encode(out, SP_ENCODE_TERMINAL, words ? words : name);
}

static void put_others(const struct sp_profile *p, uint32_t value, bool in_words, FILE *out)
{
	const char *gap = "; other values: ";

	for (uint32_t i = 0; i < sp_profile_n_value_types(p); i++) {
		if (i == value)
			continue;
		fputs(gap, out);
		put_name(p, i, in_words, out);
		gap = ", ";
	}
}

static void put_amount(const struct sp_profile *p, uint32_t value, bool in_words, int64_t all, int64_t n_samples,
		       FILE *out)
{
	const char *unit = sp_profile_string(p, sp_profile_value_type(p, value)->unit);
	char amount[64];

	sp_unit_write(unit, all < 0 ? -(uint64_t)all : (uint64_t)all, amount, sizeof(amount));
	put_name(p, value, in_words, out);
	fprintf(out, ": %s%s", all < 0 ? "-" : "", amount);
	if (sp_value_has_samples(p, value))
		fprintf(out, " in %" PRId64 " sample%s", n_samples, n_samples == 1 ? "" : "s");
}

void sp_value_put(const struct sp_profile *p, uint32_t value, int64_t all, int64_t n_samples, FILE *out)
{
	put_amount(p, value, false, all, n_samples, out);
	put_others(p, value, false, out);
}

static void put_sum(const struct sp_profile *p, uint32_t value, bool in_words, FILE *out)
{
	uint32_t samples = sp_profile_samples_value(p);
	bool has_samples = sp_value_has_samples(p, value);
	int64_t all = 0, n_samples = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);

		sp_saturating_add(&all, row->values[value]);
		if (has_samples && row->values[value])
			sp_saturating_add(&n_samples, row->values[samples]);
	}
	put_amount(p, value, in_words, all, n_samples, out);
}

static char *text_end(FILE *out, char **text)
{
	if (fclose(out) == 0)
		return *text;
	free(*text);
	return NULL;
}

char *sp_value_text(const struct sp_profile *p, uint32_t value)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	put_sum(p, value, false, out);
	put_others(p, value, false, out);
	return text_end(out, &text);
}

char *sp_value_caption(const struct sp_profile *p, uint32_t value, bool all)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (!all) {
		put_sum(p, value, true, out);
		put_others(p, value, true, out);
	}
	for (uint32_t i = 0; all && i < sp_profile_n_value_types(p); i++) {
		if (!sp_value_has_samples(p, i))
			continue;
		fputs(ftell(out) > 0 ? ", " : "", out);
		put_sum(p, i, true, out);
	}
	return text_end(out, &text);
}

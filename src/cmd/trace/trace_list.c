/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace_list.c: the presets of `soprof trace`: what each tells, and whether this kernel has its events. */
#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/trace/trace.h"
#include "recipe/types.h"
#include "trace/presets.h"

#include <fnmatch.h>
#include <string.h>

static bool is_asked_for(const char *glob, const struct sp_trace_preset *preset)
{
	return !*glob || !fnmatch(glob, preset->name, 0) || sp_trace_preset_find(glob, strlen(glob)) == preset;
}

/* Whether its events and fields are here: NULL, or why not. It is made as it would be, and not loaded. */
static const char *preset_why_not(const struct sp_trace_preset *preset, struct sp_types *types)
{
	const struct sp_trace_asked asked = {
	    .by = preset->by,
	    .sum = preset->sum,
	    .hist = preset->hist,
	    .print = preset->print,
	    .tells = !preset->by && !preset->hist,
	};
	struct sp_trace_spec spec;
	int r = sp_trace_spec_make(preset->name, &asked, types, &spec);

	if (r < 0)
		return sp_error_text(r);
	sp_trace_spec_done(&spec);
	return NULL;
}

static void fields_print(const char *label, const char *expressions)
{
	if (expressions)
		printf("    %s %s\n", label, expressions);
}

static void preset_print(const struct sp_trace_preset *preset, bool with_fields, struct sp_types *types)
{
	const char *why_not = preset_why_not(preset, types);

	printf("%-12s %-4s %s%s%s%s\n", preset->name, why_not ? "no" : "yes", preset->summary, preset->also ? " (" : "",
	       preset->also ? preset->also : "", preset->also ? ")" : "");
	if (why_not)
		printf("    not here: %s\n", why_not);
	sp_error_clear();
	if (!with_fields)
		return;
	printf("    %s\n", preset->event);
	fields_print("--print", preset->print);
	fields_print("--by", preset->by);
	fields_print("--sum", preset->sum);
	fields_print("--hist", preset->hist);
}

int sp_trace_list_print(const char *glob, bool with_fields)
{
	const struct sp_trace_preset *preset;
	struct sp_types types = {0};
	size_t n = 0;

	for (size_t i = 0; (preset = sp_trace_preset_at(i)); i++)
		if (is_asked_for(glob, preset) && ++n)
			preset_print(preset, with_fields, &types);
	sp_types_done(&types);
	if (!n)
		fprintf(stderr, "soprof trace: no preset matches '%s'; soprof profile --list shows tracepoints\n",
			glob);
	return n ? SP_EXIT_OK : SP_EXIT_USAGE;
}

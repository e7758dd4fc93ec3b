/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/presets.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/suggest.h"
#include <errno.h>
#include <string.h>

static const struct sp_trace_preset *const themes[] = {sp_trace_presets_process, sp_trace_presets_file,
						       sp_trace_presets_block, sp_trace_presets_net,
						       sp_trace_presets_kernel};

const struct sp_trace_preset *sp_trace_preset_at(size_t i)
{
	for (size_t k = 0; k < SP_COUNT(themes); k++)
		for (const struct sp_trace_preset *preset = themes[k]; preset->name; preset++)
			if (!i--)
				return preset;
	return NULL;
}

/* Whether the words have this one. */
static bool has_word(const char *words, const char *name, size_t n)
{
	while (words && *words) {
		size_t length = strcspn(words, " ");

		if (length == n && !strncmp(words, name, n))
			return true;
		words += length + strspn(words + length, " ");
	}
	return false;
}

const struct sp_trace_preset *sp_trace_preset_find(const char *name, size_t n)
{
	const struct sp_trace_preset *preset;

	for (size_t i = 0; (preset = sp_trace_preset_at(i)); i++)
		if (has_word(preset->name, name, n) || has_word(preset->also, name, n))
			return preset;
	return NULL;
}

int sp_trace_preset_unknown(const char *name)
{
	const struct sp_trace_preset *preset;
	struct sp_suggest near = {.word = name};

	for (size_t i = 0; (preset = sp_trace_preset_at(i)); i++)
		sp_suggest_offer(&near, preset->name);
	if (near.best)
		return sp_fail_said(-EINVAL, "'%s' is no event that can be traced; did you mean %s?", name, near.best);
	return sp_fail_said(-EINVAL,
			    "'%s' is no event that can be traced: there are presets, which soprof trace --list shows, "
			    "tracepoints, SYSTEM:EVENT, and functions, LIBRARY:FUNCTION",
			    name);
}

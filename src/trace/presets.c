/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/presets.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "recipe/kprobe.h"
#include "trace/spec.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct sp_trace_preset *const themes[] = {sp_trace_presets_process, sp_trace_presets_file,
						       sp_trace_presets_block, sp_trace_presets_net,
						       sp_trace_presets_kernel};

/* Of two presets of one name the first needs kprobes. */
static bool is_same(const struct sp_trace_preset *a, const struct sp_trace_preset *b)
{
	return a->name && b->name && !strcmp(a->name, b->name);
}

static bool is_here(const struct sp_trace_preset *first_of_theme, const struct sp_trace_preset *preset)
{
	if (is_same(preset, preset + 1))
		return sp_kprobes_are_here();
	return preset == first_of_theme || !is_same(preset - 1, preset) || !sp_kprobes_are_here();
}

const struct sp_trace_preset *sp_trace_preset_at(size_t i)
{
	for (size_t k = 0; k < SP_COUNT(themes); k++)
		for (const struct sp_trace_preset *preset = themes[k]; preset->name; preset++)
			if (is_here(themes[k], preset) && !i--)
				return preset;
	return NULL;
}

size_t sp_trace_preset_event(const char *events, const char **ret_next)
{
	size_t n = strcspn(events, ";");

	*ret_next = events[n] ? events + n + 1 + strspn(events + n + 1, " ") : NULL;
	return n;
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

/* Behind the filter that begins at the bracket; none of our own has brackets in a text. */
static size_t filter_length(const char *filter)
{
	size_t n = 0;
	unsigned depth = 0;

	do {
		depth += filter[n] == '[';
		depth -= filter[n] == ']';
		n++;
	} while (depth && filter[n]);
	return n;
}

int sp_trace_preset_sampled(const struct sp_trace_preset *preset, char **ret_event)
{
	const char *event = preset->sampled ? preset->sampled : preset->event;
	size_t n = strcspn(event, "[{|;. ");

	if (event[n] == '[')
		n += filter_length(event + n);
	*ret_event = strndup(event, n);
	return *ret_event ? 0 : -ENOMEM;
}

/* "NAME=EXPR" in a list of expressions; NULL: it has none of this name. */
static const char *column_find(const char *list, const char *name, size_t n, size_t *ret_n)
{
	while (list && *list) {
		size_t length = sp_trace_list_length(list), from = strspn(list, " ");

		if (length > from + n && !strncmp(list + from, name, n) && list[from + n] == '=' &&
		    list[from + n + 1] != '=') {
			*ret_n = length - from;
			return list + from;
		}
		list += length;
		list += *list == ',';
	}
	return NULL;
}

static void column_put(const struct sp_trace_preset *preset, const char *text, size_t n, FILE *out)
{
	const char *const lists[] = {preset->print, preset->by, preset->sum, preset->hist};
	size_t from = SP_MIN(strspn(text, " "), n), to = n, length = n;
	const char *column = NULL;

	while (to > from && text[to - 1] == ' ')
		to--;
	for (size_t i = 0; i < SP_COUNT(lists) && !column && to > from; i++)
		column = column_find(lists[i], text + from, to - from, &length);
	fwrite(column ? column : text, 1, length, out);
}

char *sp_trace_preset_expand(const struct sp_trace_preset *preset, const char *list)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	while (out && *list) {
		size_t n = sp_trace_list_length(list);

		column_put(preset, list, n, out);
		list += n;
		if (*list)
			fputc(*list++, out);
	}
	if (out && !fclose(out))
		return text;
	free(text);
	return NULL;
}

int sp_trace_preset_unknown(const char *name)
{
	const struct sp_trace_preset *preset;
	struct sp_suggest near = {.word = name};

	if (sp_trace_preset_find(name, strlen(name)))
		return sp_fail_said(
		    -EINVAL,
		    "'%s' is a preset, and no point of a pair, as tracepoints and functions are; soprof trace "
		    "--list %s -v shows what it stands for",
		    name, name);
	for (size_t i = 0; (preset = sp_trace_preset_at(i)); i++)
		sp_suggest_offer(&near, preset->name);
	if (near.best)
		return sp_fail_said(-EINVAL, "'%s' is no event that can be traced; did you mean %s?", name, near.best);
	return sp_fail_said(-EINVAL,
			    "'%s' is no event that can be traced: there are presets, which soprof trace --list shows, "
			    "tracepoints, SYSTEM:EVENT, and functions, LIBRARY:FUNCTION",
			    name);
}

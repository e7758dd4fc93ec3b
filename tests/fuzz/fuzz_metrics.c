/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_metrics.c: any bytes as the header Accept, and as a label's value.
 *
 * Of whatever value, a label is one line that ends where its quotes do, and comes back from remote write's message as
 * what the page shows.
 */
#include "agent/export/exposition.h"
#include "require.h"
#include <string.h>

/* As the format's readers do: up to the quote that nothing escapes. */
static size_t value_length(const char *text)
{
	size_t n = 0;

	while (text[n] != '"') {
		require(text[n] && text[n] != '\n');
		require(text[n] != '\\' || (text[n + 1] && strchr("\\\"n", text[n + 1])));
		n += text[n] == '\\' ? 2 : 1;
	}
	return n;
}

static void as_label(const char *value)
{
	struct sp_expo page = {.form = SP_EXPO_OPENMETRICS, .page = value},
		       message = {.form = SP_EXPO_REMOTE, .at_ms = 1};
	struct sp_exemplar exemplar = {.value_ns = 1};
	struct sp_labels l = {.n = 0};
	char *plain = sp_label_value(value);

	require(plain && strlen(plain) <= SP_LABEL_MAX && sp_label_add(&l, "l", value) == 0);
	require(!strncmp(l.text, "l=\"", 3) && l.n == strlen(l.text) && 3 + value_length(l.text + 3) + 1 == l.n);
	sp_expo_family(&page, SP_EXPO_COUNTER, "a_seconds", "seconds", "A.");
	sp_expo_seconds(&page, l.text, 1);
	require(sp_expo_end(&page) == 0 && strstr(page.text, l.text));
	sp_expo_family(&message, SP_EXPO_GAUGE, "a", NULL, "");
	sp_expo_seconds_of(&message, l.text, 1, &exemplar);
	require(sp_expo_end(&message) == 0 && memmem(message.text, message.n, plain, strlen(plain)));
	sp_expo_done(&page);
	sp_expo_done(&message);
	free(plain);
}

const struct fuzz_cost fuzz_cost = FUZZ_COST_USUAL;

int fuzz_one(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 1);
	enum sp_expo_form form;

	require(text != NULL);
	memcpy(text, data, size);
	form = sp_expo_accepted(text);
	require(form == SP_EXPO_TEXT || form == SP_EXPO_OPENMETRICS);
	require(form == SP_EXPO_TEXT || strchr(text, '/'));
	as_label(text);
	free(text);
	return 0;
}

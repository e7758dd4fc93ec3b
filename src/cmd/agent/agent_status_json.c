/* SPDX-License-Identifier: GPL-2.0-or-later */
/* agent_status_json.c: the words in which the agent says how it is, as one JSON object; its sources are a list. */
#include "agent/socket/ask.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "cmd/agent/agent.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct text {
	char *bytes;
	size_t size;
	FILE *out;
};
struct json {
	struct text all, sources; /* what stands between the braces, and between the brackets */
};

static int text_open(struct text *t)
{
	t->out = open_memstream(&t->bytes, &t->size);
	return t->out ? 0 : -ENOMEM;
}

static int text_close(struct text *t)
{
	FILE *out = sp_take_ptr(t->out);

	return out && fclose(out) ? -ENOMEM : 0;
}

static void pair(FILE *out, const char *name, const char *value, const char *before)
{
	uint64_t n;

	fprintf(out, "%s\"", before);
	sp_encode(out, SP_ENCODE_JSON, name);
	if (sp_parse_number(value, 0, UINT64_MAX, &n) == 0) {
		fprintf(out, "\": %" PRIu64, n);
		return;
	}
	fputs("\": \"", out);
	sp_encode(out, SP_ENCODE_JSON, value);
	fputc('"', out);
}

/* What is told of a source follows its name. */
static bool is_of_source(const char *name)
{
	const char *const *words = sp_agent_status_source_words;

	while (*words && strcmp(*words, name))
		words++;
	return *words;
}

static int take(void *arg, const char *name, const char *value)
{
	struct json *j = arg;
	bool any_source = ftell(j->sources.out) > 0;

	if (!strcmp(name, "source"))
		pair(j->sources.out, "source", value, any_source ? "}, {" : "{");
	else if (any_source && is_of_source(name))
		pair(j->sources.out, name, value, ", ");
	else
		pair(j->all.out, name, value, ftell(j->all.out) ? ", " : "");
	return 0;
}

int sp_agent_status_json(const char *socket, FILE *out)
{
	struct sp_ask a = {.socket = *socket ? socket : NULL};
	struct json j = {0};
	int r = text_open(&j.all), closed;

	r = r < 0 ? r : text_open(&j.sources);
	r = r < 0 ? r : sp_ask_status(&a, take, &j);
	closed = text_close(&j.all);
	r = r < 0 ? r : closed;
	closed = text_close(&j.sources);
	r = r < 0 ? r : closed;
	if (r >= 0)
		fprintf(out, "{%s, \"sources\": [%s%s]}\n", j.all.bytes, j.sources.bytes, j.sources.size ? "}" : "");
	free(j.all.bytes);
	free(j.sources.bytes);
	return r;
}

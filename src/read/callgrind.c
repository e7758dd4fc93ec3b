/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * callgrind.c: what Valgrind's callgrind and cachegrind write, and what others write for KCachegrind (soprof itself,
 * pprof, xdebug).
 *
 * Names may be given once, with a number, and by the number from then on; one table is of object files, one of source
 * files, one of functions. A line of costs begins with its positions (a line, an address, or both), which are passed
 * over: costs are kept by function. Below `calls=` it is what the call cost. Jumps are passed over, too. Files of
 * several parts are added up. What becomes of it is in callgrind.h. In our own files a comment says what the values
 * are. Format: Valgrind's manual, "Callgrind Format Specification".
 */
#include "read/callgrind.h"

#include "base/encode.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "profile/values.h"
#include "read/input.h"
#include "read/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define VALUES "# soprof: values: "
enum kind { OBJECT, SOURCE, FUNCTION };
struct name_key {
	uint32_t kind, id;
};

struct reader {
	struct sp_input *in;
	const struct sp_read_options *o;
	struct sp_read_result *result;
	struct sp_profile *p;
	struct sp_cost_graph *graph;
	struct sp_intern *ids;
	uint32_t *names; /* by number of ids */
	size_t name_capacity;
	char *events, *values; /* the lines that name them */
	uint32_t n_positions, n_events, n_used;
	bool is_ours;
	struct sp_cost_function at, callee; /* where costs belong; callee: as far as it was named */
	bool has_function, has_object, has_source, has_callee;
	uint32_t function, called;
	int64_t calls; /* of the costs in the next line; -1: they are the function's own */
};

static int bad(struct reader *c, const char *what, const char *line)
{
	return sp_input_bad(c->in, c->o, c->result, "%s, not %.60s", what, line);
}

/* --- names --- */
/* "(7) name", "(7)", "name": 1, or as of bad(). "???": not known. */
static int name_read(struct reader *c, enum kind kind, const char *text, uint32_t *ret_name)
{
	size_t n = *text == '(' ? strspn(text + 1, "0123456789") : 0;
	struct name_key key = {kind, n && n < 10 && text[n + 1] == ')' ? (uint32_t)strtoul(text + 1, NULL, 10) : 0};
	const char *words = n && text[n + 1] == ')' ? text + n + 2 + strspn(text + n + 2, " ") : text;
	SP_FREE char *name = NULL;
	bool is_new = false;
	int64_t id, string;

	if (n >= 10)
		return bad(c, "expected a number of a name", text);
	id = words != text
		 ? sp_intern_add_to(c->ids, &key, sizeof(key), &c->names, &c->name_capacity, sizeof(*c->names), &is_new)
		 : 0;
	if (id < 0)
		return (int)id;
	if (words != text && !*words && is_new)
		return bad(c, "expected a name that was told before, or is told here", text);
	if (words != text && !*words) {
		*ret_name = c->names[id];
		return 1;
	}
	name = sp_read_unescape(SP_ENCODE_TERMINAL, words, strlen(words));
	string = !name ? -ENOMEM : strcmp(name, "???") != 0 ? sp_profile_add_string(c->p, name) : 0;
	if (string < 0)
		return -ENOMEM;
	if (words != text)
		c->names[id] = (uint32_t)string;
	*ret_name = (uint32_t)string;
	return 1;
}

static int64_t function_of(const struct reader *c, const struct sp_cost_function *f)
{
	const char *name = sp_profile_string(c->p, f->name);
	bool may_be_ours = c->is_ours && !f->object;

	return sp_cost_graph_function(c->graph, f, may_be_ours && !strcmp(name, "(all)"),
				      may_be_ours && !strcmp(name, "[no function]"));
}

static int function_begin(struct reader *c, const char *text)
{
	int r = name_read(c, FUNCTION, text, &c->at.name);
	int64_t function = r > 0 ? function_of(c, &c->at) : r;

	c->has_function = r > 0 && function >= 0;
	c->function = c->has_function ? (uint32_t)function : 0;
	return (int)SP_MIN(function, 0);
}

static int callee_begin(struct reader *c, const char *text)
{
	struct sp_cost_function f = {.object = c->has_object ? c->callee.object : c->at.object,
				     .source = c->has_source ? c->callee.source : c->at.source};
	int r = name_read(c, FUNCTION, text, &f.name);
	int64_t function = r > 0 ? function_of(c, &f) : r;

	c->has_object = c->has_source = false;
	c->has_callee = r > 0 && function >= 0;
	c->called = c->has_callee ? (uint32_t)function : 0;
	return (int)SP_MIN(function, 0);
}

/* --- the head --- */
/* "samples count, cpu nanoseconds; shown: cpu": the unit of value i, or NULL; *ret_name is changed to its own name. */
static const char *value_words(char *values, uint32_t i, const char **ret_name)
{
	char *word = values, *end, *space;

	while (word && i--)
		word = (word = strstr(word, ", ")) ? word + 2 : NULL;
	if (!word)
		return NULL;
	end = strstr(word, ", ");
	end = end ? end : word + strlen(word);
	space = memrchr(word, ' ', (size_t)(end - word));
	if (!space)
		return NULL;
	*space = *end = '\0';
	*ret_name = word;
	return space + 1;
}

static int value_add(struct reader *c, uint32_t i, const char *event, const char *shown)
{
	SP_FREE char *values = c->values ? strdup(c->values) : NULL;
	const char *name = event, *unit = values ? value_words(values, i, &name) : NULL;
	int r = sp_profile_add_value_type(c->p, name, unit ? unit : "count");

	if (r >= 0 && (!i || (shown && !strcmp(shown, name))))
		sp_profile_info(c->p)->default_type = sp_profile_value_type(c->p, i)->name;
	return r;
}

static int events_begin(struct reader *c, const char *text)
{
	char *shown = c->values ? strstr(c->values, "; shown: ") : NULL, *at, *word;
	SP_FREE char *events = strdup(text);
	int r = 0;

	if (c->events && strcmp(c->events, text) != 0)
		return bad(c, "expected the events of the parts before", text);
	if (c->events)
		return 0;
	c->events = strdup(text);
	if (shown)
		*shown = '\0';
	for (at = events; c->events && r >= 0 && (word = strsep(&at, " \t"));) {
		if (!*word)
			continue;
		if (c->n_events < SP_CALLGRIND_MAX_EVENTS)
			r = value_add(c, c->n_used++, word, shown ? shown + strlen("; shown: ") : NULL);
		c->n_events++;
	}
	if (r < 0 || !events || !c->events)
		return r < 0 ? r : -ENOMEM;
	if (!c->n_events)
		return bad(c, "expected names of events", text);
	if (c->n_events > SP_CALLGRIND_MAX_EVENTS)
		return sp_input_bad(c->in, c->o, c->result,
				    "%" PRIu32 " events, more than %d; --keep-going reads the first ones", c->n_events,
				    SP_CALLGRIND_MAX_EVENTS);
	return 0;
}

static int positions_begin(struct reader *c, const char *text)
{
	size_t n = strspn(text, " ");

	for (c->n_positions = 0; text[n]; n += strspn(text + n, " ")) {
		c->n_positions++;
		n += strcspn(text + n, " ");
	}
	return c->n_positions && c->n_positions <= 2 ? 0 : bad(c, "expected positions: line, instr, or both", text);
}

static int comment_read(struct reader *c, const char *line)
{
	if (c->values || c->events || strncmp(line, VALUES, strlen(VALUES)) != 0)
		return 0;
	c->values = strdup(line + strlen(VALUES));
	return c->values ? 0 : -ENOMEM;
}

/* --- costs --- */
static bool is_position(const char *word, size_t n)
{
	return strspn(word, "0123456789abcdefx+-*") == n;
}

static int calls_begin(struct reader *c, const char *text)
{
	char *end;

	errno = 0;
	c->calls = strtoll(text, &end, 10);
	if (end == text || errno || c->calls < 0 || (*end && *end != ' ') || !c->has_callee) {
		c->calls = -1;
		return bad(c, "expected calls of a function that cfn= named", text);
	}
	return 0;
}

/* 1: a line of positions and costs; missing costs are 0. Or as of bad(). */
static int costs_parse(struct reader *c, const char *line, int64_t *ret_costs)
{
	const char *at = line;

	for (uint32_t i = 0; i < c->n_positions; i++) {
		size_t n = strcspn(at, " ");

		if (!n || !is_position(at, n))
			return bad(c, "expected positions and costs", line);
		at += n + strspn(at + n, " ");
	}
	for (uint32_t i = 0; *at; i++) {
		int64_t cost;
		char *end;

		errno = 0;
		cost = strtoll(at, &end, 10);
		if (end == at || errno || (*end && *end != ' ') || i == c->n_events)
			return bad(c, "expected a number for each event", line);
		if (i < c->n_used)
			ret_costs[i] = cost;
		at = end + strspn(end, " ");
	}
	return 1;
}

static int costs_read(struct reader *c, const char *line)
{
	int64_t costs[SP_CALLGRIND_MAX_EVENTS] = {0}, calls = c->calls;
	int r = c->has_function && c->n_events ? costs_parse(c, line, costs)
					       : bad(c, "expected events: and fn= before costs", line);

	c->calls = -1;
	if (r <= 0)
		return r;
	c->result->n_samples++;
	if (calls >= 0)
		return sp_cost_graph_add_call(c->graph, c->function, c->called, calls, costs);
	sp_cost_graph_add_own(c->graph, c->function, costs);
	return 0;
}

/* --- lines --- */
static int pass_over(struct reader *c, const char *text)
{
	(void)c;
	(void)text;
	return 0;
}

static int object_begin(struct reader *c, const char *text)
{
	return name_read(c, OBJECT, text, &c->at.object);
}

static int source_begin(struct reader *c, const char *text)
{
	return name_read(c, SOURCE, text, &c->at.source);
}

static int callee_object(struct reader *c, const char *text)
{
	int r = name_read(c, OBJECT, text, &c->callee.object);

	c->has_object = r > 0;
	return r;
}

static int callee_source(struct reader *c, const char *text)
{
	int r = name_read(c, SOURCE, text, &c->callee.source);

	c->has_source = r > 0;
	return r;
}

/* Of jumps: only that the name has a number matters. Of a source within a function: it stays the function's. */
static int source_told(struct reader *c, const char *text)
{
	uint32_t name;

	return name_read(c, SOURCE, text, &name);
}

static int function_told(struct reader *c, const char *text)
{
	uint32_t name;

	return name_read(c, FUNCTION, text, &name);
}

static int creator_read(struct reader *c, const char *text)
{
	c->is_ours = !strncmp(text, "soprof", 6);
	return 0;
}

static int line_read(void *reader, char *line, size_t len)
{
	struct reader *c = reader;
	static const struct {
		const char *begin;
		int (*read)(struct reader *c, const char *text);
	} lines[] = {{"fn=", function_begin},   {"fl=", source_begin},
		     {"fi=", source_told},      {"fe=", source_told},
		     {"ob=", object_begin},     {"cfn=", callee_begin},
		     {"cfi=", callee_source},   {"cfl=", callee_source},
		     {"cob=", callee_object},   {"calls=", calls_begin},
		     {"jump=", pass_over},      {"jcnd=", pass_over},
		     {"jfi=", source_told},     {"jfn=", function_told},
		     {"events:", events_begin}, {"positions:", positions_begin},
		     {"creator:", creator_read}};
	size_t word;

	if (len && line[len - 1] == '\r')
		line[--len] = '\0';
	word = strcspn(line, ":=( ");
	if (strlen(line) != len)
		return bad(c, "expected text, without a NUL byte", line);
	if (*line && strchr("0123456789+-*", *line))
		return costs_read(c, line);
	for (size_t i = 0; i < SP_COUNT(lines); i++) {
		size_t n = strlen(lines[i].begin);

		if (!strncmp(line, lines[i].begin, n))
			return lines[i].read(c, line + n + strspn(line + n, " "));
	}
	if (*line == '#')
		return comment_read(c, line);
	/* version, cmd, part, desc, summary, totals ... */
	return !*line || (word && line[word] == ':') ? 0 : bad(c, "expected a line of callgrind's format", line);
}

static int callgrind_read(struct sp_input *in, const struct sp_read_options *o, struct sp_profile *into,
			  struct sp_read_result *result)
{
	struct reader c = {.in = in, .o = o, .result = result, .p = into, .n_positions = 1, .calls = -1};
	int r = sp_intern_new(&c.ids), calls = -1;

	if (r >= 0)
		r = sp_cost_graph_new(into, &c.graph);
	if (r >= 0)
		r = sp_input_lines(in, o, result, line_read, &c);
	if (r >= 0 && !c.n_events)
		r = bad(&c, "expected a line events:", "the end");
	if (r >= 0 && c.n_used && !c.is_ours && sp_profile_find_value(into, "calls", NULL) < 0)
		r = sp_profile_add_value_type(into, "calls", "count");
	if (r >= 0 && sp_profile_n_value_types(into) > c.n_used)
		calls = (int)c.n_used;
	if (r >= 0)
		r = sp_cost_graph_finish(c.graph, in, c.n_used, calls);
	sp_cost_graph_free(c.graph);
	sp_intern_free(c.ids);
	free(c.names);
	free(c.events);
	free(c.values);
	return SP_MIN(r, 0);
}

static int callgrind_recognise(const uint8_t *head, size_t n)
{
	static const char first[] = "# callgrind format\n", events[] = "\nevents:", function[] = "\nfn=";
	const uint8_t *at;

	if (n >= strlen(first) && !memcmp(head, first, strlen(first)))
		return 96;
	at = n > strlen(events) && !memcmp(head, events + 1, strlen(events) - 1) ? head
	     : n ? memmem(head, n, events, strlen(events))
		 : NULL;
	return at && memmem(at, (size_t)(head + n - at), function, strlen(function)) ? 93 : 0;
}

const struct sp_reader sp_reader_callgrind = {
    .name = "callgrind",
    .summary = "costs and calls of functions, as callgrind and cachegrind write them",
    .recognise = callgrind_recognise,
    .read = callgrind_read,
};

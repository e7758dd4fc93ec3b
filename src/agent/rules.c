/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/rules.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/time.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* No time is shorter than a window, and no threshold finer than a hundredth of a percent. */
enum { MIN_TIME_S = 10, MAX_PERCENT = 1000000, PER_PERCENT_NS = 10000000 };

struct words {
	const char *text, *at; /* at: behind the current word */
	size_t word_at;        /* offset of the current word in text */
	char word[SP_ALERT_RULE_GLOB];
	bool is_quoted;
};

static const char *const subject_names[SP_N_ALERT_RULES] = {"library",  "function", "process", "cgroup",
							    "complete", "lost",     "upgrade"};

const char *sp_alert_subject_name(enum sp_alert_subject subject)
{
	return subject_names[subject];
}

/* --- words --- */
static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int append_char(struct words *w, size_t *n, char c)
{
	if (*n + 1 == sizeof(w->word))
		return sp_fail_said(-EINVAL, "a word of more than %zu bytes", sizeof(w->word) - 1);
	w->word[(*n)++] = c;
	w->word[*n] = '\0';
	return 0;
}

/* From behind the opening quotation mark. */
static int read_quoted(struct words *w)
{
	size_t n = 0;
	int r = 0;

	w->is_quoted = true;
	for (; r == 0 && *w->at && *w->at != '"'; w->at++) {
		if (*w->at == '\\' && (w->at[1] == '"' || w->at[1] == '\\'))
			w->at++;
		r = append_char(w, &n, *w->at);
	}
	if (r == 0 && *w->at != '"')
		return sp_fail_said(-EINVAL, "a \" without its end");
	if (r == 0 && *++w->at && !is_space(*w->at))
		return sp_fail_said(-EINVAL, "no space behind the \"");
	return r;
}

/* Reads the next word; "" at the end. */
static int read_word(struct words *w)
{
	size_t n = 0;
	int r = 0;

	while (is_space(*w->at))
		w->at++;
	w->word_at = (size_t)(w->at - w->text);
	w->word[0] = '\0';
	w->is_quoted = false;
	if (*w->at == '"') {
		w->at++;
		return read_quoted(w);
	}
	for (; r == 0 && *w->at && !is_space(*w->at); w->at++)
		r = append_char(w, &n, *w->at);
	return r;
}

static bool is_end(const struct words *w)
{
	return !w->word[0] && !w->is_quoted;
}

static bool is_word(const struct words *w, const char *word)
{
	return !w->is_quoted && !strcmp(w->word, word);
}

static int fail_expected(const struct words *w, const char *what)
{
	return is_end(w) ? sp_fail_said(-EINVAL, "expected %s, and the rule ends", what)
			 : sp_fail_said(-EINVAL, "expected %s, not '%s'", what, w->word);
}

/* Requires the current word to be this one, and reads the next. */
static int expect_word(struct words *w, const char *word)
{
	return is_word(w, word) ? read_word(w) : fail_expected(w, word);
}

/* --- parts --- */
static int parse_glob(struct words *w, const char *what, char ret_glob[SP_ALERT_RULE_GLOB])
{
	if (!w->word[0])
		return fail_expected(w, what);
	memcpy(ret_glob, w->word, SP_ALERT_RULE_GLOB);
	return read_word(w);
}

/* "30%", exact to a hundred millionth. */
static int parse_percent(struct words *w, uint64_t max_percent, double *ret_threshold)
{
	char number[32];
	size_t n = strlen(w->word);
	uint64_t billionths = 0;

	if (n < 2 || n >= sizeof(number) || w->word[n - 1] != '%')
		return fail_expected(w, "a threshold such as 30%");
	memcpy(number, w->word, n - 1);
	number[n - 1] = '\0';
	if (strspn(number, "0123456789.") != n - 1 || sp_parse_duration(number, &billionths) < 0)
		return fail_expected(w, "a threshold such as 30%");
	if (billionths < PER_PERCENT_NS || billionths / SP_NS_PER_S > max_percent ||
	    (billionths / SP_NS_PER_S == max_percent && billionths % SP_NS_PER_S))
		return sp_fail_said(-EINVAL, "a threshold of 0.01%% to %llu%% is possible here, not %s",
				    (unsigned long long)max_percent, w->word);
	*ret_threshold = (double)billionths / 1e11;
	return read_word(w);
}

static int parse_time(struct words *w, uint64_t max_ns, uint64_t *ret_ns)
{
	uint64_t ns = 0;
	int r = read_word(w);

	if (r < 0)
		return r;
	if (w->is_quoted || sp_parse_duration(w->word, &ns) < 0)
		return fail_expected(w, "a time such as 30s, 5m or 1h");
	if (ns < MIN_TIME_S * SP_NS_PER_S || ns > max_ns)
		return sp_fail_said(-EINVAL, "a time of 10s to %lluh is possible here, not %s",
				    (unsigned long long)(max_ns / SP_NS_PER_S / 3600), w->word);
	*ret_ns = ns;
	return read_word(w);
}

static int parse_value(struct words *w, struct sp_alert_rule *r)
{
	static const char *const values[] = {"share", "total", "cpu"};
	bool has_total = r->subject == SP_ALERT_RULE_LIBRARY || r->subject == SP_ALERT_RULE_FUNCTION;

	for (size_t i = 0; i < SP_COUNT(values); i++) {
		if (!is_word(w, values[i]) || (i == SP_ALERT_RULE_TOTAL && !has_total))
			continue;
		r->value = (enum sp_alert_rule_value)i;
		return read_word(w);
	}
	return fail_expected(w, has_total ? "share, total or cpu" : "share or cpu");
}

static int parse_in(struct words *w, struct sp_alert_rule *r)
{
	int e = read_word(w);

	if (e < 0)
		return e;
	if (is_word(w, "process"))
		r->within = SP_ALERT_RULE_PROCESS;
	else if (is_word(w, "cgroup"))
		r->within = SP_ALERT_RULE_CGROUP;
	else
		return fail_expected(w, "process or cgroup");
	e = read_word(w);
	return e < 0 ? e
		     : parse_glob(w, r->within == SP_ALERT_RULE_PROCESS ? "the process's name" : "the cgroup",
				  r->within_glob);
}

/* `in`, `over` and `for`, in any order, each once. */
static int parse_tail(struct words *w, struct sp_alert_rule *r)
{
	bool may_in = r->subject == SP_ALERT_RULE_LIBRARY || r->subject == SP_ALERT_RULE_FUNCTION;
	int e = 0;

	while (e == 0 && !is_end(w)) {
		if (is_word(w, "over") && !r->over_ns)
			e = parse_time(w, SP_ALERT_RULE_OVER_MAX_NS, &r->over_ns);
		else if (is_word(w, "for") && !r->for_ns)
			e = parse_time(w, SP_ALERT_RULE_FOR_MAX_NS, &r->for_ns);
		else if (is_word(w, "in") && may_in && r->within == SP_N_ALERT_RULES)
			e = parse_in(w, r);
		else
			e = fail_expected(w, may_in ? "in, over or for (each once), or the end"
						    : "over or for (each once), or the end");
	}
	r->over_ns = r->over_ns ? r->over_ns : SP_ALERT_RULE_OVER_NS;
	return e;
}

/* --- rules --- */
static int parse_use(struct words *w, struct sp_alert_rule *r)
{
	int e = parse_glob(w, "a name, or a pattern of names", r->glob);

	if (e == 0)
		e = parse_value(w, r);
	if (e == 0)
		e = expect_word(w, ">");
	if (e == 0)
		e = parse_percent(w, r->value == SP_ALERT_RULE_CPU ? MAX_PERCENT : 100, &r->threshold);
	return e < 0 ? e : parse_tail(w, r);
}

static int parse_health(struct words *w, struct sp_alert_rule *r)
{
	int e;

	r->is_below = r->subject == SP_ALERT_RULE_COMPLETE;
	e = expect_word(w, r->is_below ? "<" : ">");
	if (e == 0)
		e = parse_percent(w, 100, &r->threshold);
	return e < 0 ? e : parse_tail(w, r);
}

static int parse_upgrade(struct words *w, struct sp_alert_rule *r)
{
	int e = expect_word(w, "changed");

	if (e == 0)
		e = parse_glob(w, "a library's name, or a pattern of names", r->glob);
	if (e == 0)
		e = expect_word(w, "by");
	if (e == 0)
		e = expect_word(w, ">");
	if (e == 0)
		e = parse_percent(w, MAX_PERCENT, &r->threshold);
	return e == 0 && !is_end(w) ? fail_expected(w, "the end") : e;
}

static int parse_rule(struct words *w, struct sp_alert_rule *r)
{
	size_t i = 0;
	int e = read_word(w);

	if (e < 0)
		return e;
	while (i < SP_N_ALERT_RULES && !is_word(w, subject_names[i]))
		i++;
	if (i == SP_N_ALERT_RULES)
		return fail_expected(w, "library, function, process, cgroup, complete, lost or upgrade");
	r->subject = (enum sp_alert_subject)i;
	e = read_word(w);
	if (e < 0)
		return e;
	if (r->subject <= SP_ALERT_RULE_CGROUP)
		return parse_use(w, r);
	return r->subject == SP_ALERT_RULE_UPGRADE ? parse_upgrade(w, r) : parse_health(w, r);
}

int sp_alert_rule_parse(const char *text, struct sp_alert_rule *ret_rule, size_t *ret_at)
{
	struct sp_alert_rule rule = {.within = SP_N_ALERT_RULES};
	struct words w = {.text = text, .at = text};
	int r = strlen(text) > SP_ALERT_RULE_TEXT_MAX
		    ? sp_fail_said(-EINVAL, "a rule of more than %d bytes", SP_ALERT_RULE_TEXT_MAX)
		    : parse_rule(&w, &rule);

	*ret_at = w.word_at;
	if (r == 0)
		*ret_rule = rule;
	return r;
}

double sp_alert_rule_resolve_at(const struct sp_alert_rule *r)
{
	double distance = r->threshold <= 1 && r->threshold > 0.5 && r->is_below ? 1 - r->threshold : r->threshold;

	return r->is_below ? r->threshold + distance / 10 : r->threshold - distance / 10;
}

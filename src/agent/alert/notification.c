/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/alert/notification.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIME_TEXT = 40, MAX_ENVIRONMENT = SP_NOTIFICATION_LABELS + 20 };

/* --- content --- */
/* The length of text, at most max, without a part of a character of UTF-8. */
static size_t cut_length(const char *text, size_t max)
{
	size_t n = strnlen(text, max + 1);

	if (n <= max)
		return n;
	n = max;
	while (n > max - 4 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return n;
}

size_t sp_notification_cut(const char *text, size_t len)
{
	return len > SP_NOTIFICATION_VALUE ? cut_length(text, SP_NOTIFICATION_VALUE) : len;
}

int sp_notification_label(struct sp_notification *n, const char *name, const char *value)
{
	size_t i = 0;

	while (i < n->n_labels && strcmp(n->label_names[i], name) != 0)
		i++;
	if (!*value || i < n->n_labels)
		return 0;
	if (i == SP_NOTIFICATION_LABELS)
		return -E2BIG;
	n->label_names[i] = strdup(name);
	n->label_values[i] = strndup(value, sp_notification_cut(value, strlen(value)));
	if (n->label_names[i] && n->label_values[i]) {
		n->n_labels++;
		return 0;
	}
	free(sp_take_ptr(n->label_names[i]));
	free(sp_take_ptr(n->label_values[i]));
	return -ENOMEM;
}

int sp_notification_init(struct sp_notification *n, const struct sp_alert_config *c)
{
	char host[SP_NOTIFICATION_VALUE + 1] = "";
	int r = 0;

	*n = (struct sp_notification){.name = strdup(c->name), .rule = strdup(c->text), .threshold = c->rule.threshold};
	if (gethostname(host, sizeof(host) - 1))
		host[0] = '\0';
	if (!n->name || !n->rule)
		r = -ENOMEM;
	if (r == 0)
		r = sp_notification_label(n, "alertname", c->name);
	for (size_t i = 0; r == 0 && i < c->n_labels; i++)
		r = sp_notification_label(n, c->labels[i].name, c->labels[i].value);
	if (r == 0)
		r = sp_notification_label(n, "instance", host);
	if (r < 0)
		sp_notification_done(n);
	return r;
}

int sp_notification_summary(struct sp_notification *n, const char *format, ...)
{
	char text[SP_NOTIFICATION_SUMMARY];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	free(n->summary);
	n->summary = strndup(text, cut_length(text, sizeof(text) - 4));
	return n->summary ? 0 : -ENOMEM;
}

static void put_encoded(const char *text, FILE *out)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

	for (; *text; text++)
		if (strchr(plain, *text))
			fputc(*text, out);
		else
			fprintf(out, "%%%02X", (unsigned char)*text);
}

/* What the alert is about stands there as filters. Around the range the chart shows as much time again, or an hour. */
int sp_notification_link(struct sp_notification *n, const char *page, uint64_t over_ns)
{
	static const char *const names[] = {"process", "cgroup", "library", "function"};
	uint64_t to = (n->is_over ? n->ends_ns : n->starts_ns) / SP_NS_PER_S;
	uint64_t from = (n->starts_ns - SP_MIN(over_ns, n->starts_ns)) / SP_NS_PER_S;
	size_t size = 0;
	FILE *out;

	free(sp_take_ptr(n->url));
	out = open_memstream(&n->url, &size);
	if (!out)
		return -ENOMEM;
	fprintf(out, "%s#at=%" PRIu64 "-%" PRIu64 "&to=%" PRIu64 "&span=%" PRIu64, page, from, to, to,
		SP_MAX(2 * (to - from), UINT64_C(3600)));
	for (size_t i = 0; i < n->n_labels; i++)
		for (size_t k = 0; k < SP_COUNT(names); k++)
			if (!strcmp(n->label_names[i], names[k])) {
				fprintf(out, "&%s=", names[k]);
				put_encoded(n->label_values[i], out);
			}
	return fclose(out) ? -ENOMEM : 0;
}

int sp_notification_copy(const struct sp_notification *from, struct sp_notification *ret_notification)
{
	struct sp_notification n = {.is_over = from->is_over,
				    .value = from->value,
				    .threshold = from->threshold,
				    .starts_ns = from->starts_ns,
				    .ends_ns = from->ends_ns,
				    .name = strdup(from->name),
				    .rule = strdup(from->rule),
				    .summary = strdup(from->summary ? from->summary : "")};
	int r = n.name && n.rule && n.summary ? 0 : -ENOMEM;

	if (from->url && !(n.url = strdup(from->url)))
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && i < from->n_labels; i++)
		r = sp_notification_label(&n, from->label_names[i], from->label_values[i]);
	if (r < 0)
		sp_notification_done(&n);
	else
		*ret_notification = n;
	return r;
}

void sp_notification_done(struct sp_notification *n)
{
	for (size_t i = 0; i < n->n_labels; i++) {
		free(n->label_names[i]);
		free(n->label_values[i]);
	}
	free(n->name);
	free(n->rule);
	free(n->summary);
	free(n->url);
	*n = (struct sp_notification){0};
}

bool sp_notification_is_same_alert(const struct sp_notification *a, const struct sp_notification *b)
{
	bool same = a->n_labels == b->n_labels;

	for (size_t i = 0; same && i < a->n_labels; i++)
		same = !strcmp(a->label_names[i], b->label_names[i]) && !strcmp(a->label_values[i], b->label_values[i]);
	return same;
}

/* --- JSON --- */
static void time_text(uint64_t wall_ns, char *ret_text)
{
	time_t s = (time_t)(wall_ns / SP_NS_PER_S);
	char text[24] = "1970-01-01T00:00:00";
	struct tm tm;

	if (gmtime_r(&s, &tm))
		strftime(text, sizeof(text), "%FT%T", &tm);
	snprintf(ret_text, TIME_TEXT, "%s.%03uZ", text, (unsigned)(wall_ns % SP_NS_PER_S / 1000000));
}

static void json_labels(const struct sp_notification *n, struct sp_json *j)
{
	sp_json_object(j, "labels");
	for (size_t i = 0; i < n->n_labels; i++)
		sp_json_string(j, n->label_names[i], n->label_values[i]);
	sp_json_end(j);
}

void sp_notification_json(const struct sp_notification *n, FILE *out)
{
	struct sp_json j = {.out = out};
	char starts[TIME_TEXT], ends[TIME_TEXT];

	time_text(n->starts_ns, starts);
	time_text(n->ends_ns, ends);
	sp_json_object(&j, NULL);
	sp_json_int(&j, "version", 1);
	sp_json_string(&j, "status", n->is_over ? "resolved" : "firing");
	sp_json_string(&j, "name", n->name);
	sp_json_string(&j, "rule", n->rule);
	sp_json_string(&j, "summary", n->summary);
	json_labels(n, &j);
	sp_json_format(&j, "value", "%.6g", n->value);
	sp_json_format(&j, "threshold", "%.6g", n->threshold);
	sp_json_string(&j, "startsAt", starts);
	if (n->is_over)
		sp_json_string(&j, "endsAt", ends);
	if (n->url)
		sp_json_string(&j, "url", n->url);
	sp_json_done(&j);
}

void sp_notification_alertmanager(const struct sp_notification *n, uint64_t until_ns, struct sp_json *j)
{
	char starts[TIME_TEXT], ends[TIME_TEXT];

	time_text(n->starts_ns, starts);
	time_text(n->is_over ? n->ends_ns : until_ns, ends);
	sp_json_object(j, NULL);
	json_labels(n, j);
	sp_json_object(j, "annotations");
	sp_json_string(j, "summary", n->summary);
	sp_json_string(j, "rule", n->rule);
	sp_json_format(j, "value", "\"%.6g\"", n->value);
	sp_json_end(j);
	sp_json_string(j, "startsAt", starts);
	sp_json_string(j, "endsAt", ends);
	if (n->url)
		sp_json_string(j, "generatorURL", n->url);
	sp_json_end(j);
}

/* --- environment --- */
struct environment {
	char **all;
	size_t n;
	bool failed;
};

static void put_variable(struct environment *e, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void put_variable(struct environment *e, const char *name, const char *format, ...)
{
	char *value SP_FREE = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&value, format, args) < 0)
		value = NULL;
	va_end(args);
	if (!value || e->n == MAX_ENVIRONMENT || asprintf(&e->all[e->n], "%s=%s", name, value) < 0) {
		e->failed = true;
		return;
	}
	e->n++;
}

/* What any service gets from its environment; the rest of ours is private. */
static void put_inherited_variables(struct environment *e)
{
	static const char *const names[] = {"PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER"};

	for (size_t i = 0; i < SP_COUNT(names); i++) {
		const char *value = getenv(names[i]);
		if (value)
			put_variable(e, names[i], "%s", value);
	}
}

static void put_label_variables(struct environment *e, const struct sp_notification *n)
{
	char name[SP_NOTIFICATION_VALUE + 32];

	for (size_t i = 0; i < n->n_labels; i++) {
		snprintf(name, sizeof(name), "SOPROF_ALERT_LABEL_%s", n->label_names[i]);
		put_variable(e, name, "%s", n->label_values[i]);
	}
}

char **sp_notification_environment(const struct sp_notification *n)
{
	struct environment e = {.all = calloc(MAX_ENVIRONMENT + 1, sizeof(char *))};
	char time[TIME_TEXT];

	if (!e.all)
		return NULL;
	put_inherited_variables(&e);
	put_variable(&e, "SOPROF_ALERT_STATUS", "%s", n->is_over ? "resolved" : "firing");
	put_variable(&e, "SOPROF_ALERT_NAME", "%s", n->name);
	put_variable(&e, "SOPROF_ALERT_RULE", "%s", n->rule);
	put_variable(&e, "SOPROF_ALERT_SUMMARY", "%s", n->summary);
	put_variable(&e, "SOPROF_ALERT_VALUE", "%.6g", n->value);
	put_variable(&e, "SOPROF_ALERT_THRESHOLD", "%.6g", n->threshold);
	time_text(n->starts_ns, time);
	put_variable(&e, "SOPROF_ALERT_STARTS_AT", "%s", time);
	time_text(n->ends_ns, time);
	if (n->is_over)
		put_variable(&e, "SOPROF_ALERT_ENDS_AT", "%s", time);
	put_label_variables(&e, n);
	if (!e.failed)
		return e.all;
	sp_notification_environment_free(e.all);
	return NULL;
}

void sp_notification_environment_free(char **environment)
{
	for (size_t i = 0; environment && environment[i]; i++)
		free(environment[i]);
	free(environment);
}

/* --- lines --- */
void sp_notification_write(const struct sp_notification *n, FILE *out)
{
	fputs("note", out);
	sp_line_put(out, "status", n->is_over ? "resolved" : "firing");
	sp_line_put(out, "name", n->name);
	sp_line_put(out, "rule", n->rule);
	sp_line_put_number(out, "starts", n->starts_ns);
	sp_line_put_number(out, "ends", n->ends_ns);
	sp_line_put_number(out, "value", (uint64_t)(n->value * 1e9)); /* in billionths */
	sp_line_put_number(out, "threshold", (uint64_t)(n->threshold * 1e9));
	if (n->url)
		sp_line_put(out, "url", n->url);
	fputs("\nsummary", out);
	sp_line_put(out, "text", n->summary);
	fputc('\n', out);
	for (size_t i = 0; i < n->n_labels; i++) {
		fputs("label", out);
		sp_line_put(out, "name", n->label_names[i]);
		sp_line_put(out, "value", n->label_values[i]);
		fputc('\n', out);
	}
}

static int parse_head(struct sp_notification *n, const struct sp_line *l)
{
	const char *status = sp_line_word(l, "status"), *name = sp_line_word(l, "name"),
		   *rule = sp_line_word(l, "rule"), *url = sp_line_word(l, "url");
	uint64_t value = 0, threshold = 0;
	int r = status && name && rule ? 0 : -EBADMSG;

	if (r == 0)
		r = sp_line_number(l, "starts", &n->starts_ns);
	if (r == 0)
		r = sp_line_number(l, "ends", &n->ends_ns);
	if (r == 0)
		r = sp_line_number(l, "value", &value);
	if (r == 0)
		r = sp_line_number(l, "threshold", &threshold);
	if (r < 0 || n->name)
		return r < 0 ? r : -EBADMSG;
	n->is_over = !strcmp(status, "resolved");
	n->value = (double)value / 1e9;
	n->threshold = (double)threshold / 1e9;
	n->name = strdup(name);
	n->rule = strdup(rule);
	n->summary = strdup("");
	n->url = url ? strdup(url) : NULL;
	return n->name && n->rule && n->summary && !url == !n->url ? 1 : -ENOMEM;
}

int sp_notification_read_line(struct sp_notification *n, const struct sp_line *l)
{
	const char *name = sp_line_word(l, "name"), *value = sp_line_word(l, "value");
	int r;

	if (!strcmp(l->first, "note"))
		return parse_head(n, l);
	if (n->name && !strcmp(l->first, "summary") && sp_line_word(l, "text")) {
		r = sp_notification_summary(n, "%s", sp_line_word(l, "text"));
		return r < 0 ? r : 1;
	}
	if (strcmp(l->first, "label") != 0)
		return 0;
	r = n->name && name && value ? sp_notification_label(n, name, value) : -EBADMSG;
	return r < 0 ? r : 1;
}

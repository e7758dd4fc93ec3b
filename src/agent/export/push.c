/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/export/push.h"
#include "agent/export/push_cursor.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/time.h"
#include "profile/profile.h"
#include "profile/values.h"
#include "store/intervals.h"
#include "view/interchange/otlp.h"
#include "view/interchange/pbuf.h"
#include "view/interchange/pprof.h"
#include "view/view.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* READ_S: so much is read at once, as each reading decodes the day's dictionary; and where a new server begins. */
enum { READ_S = 600, READ_INTERVALS = 60, BEGIN_S = 600 };

struct sender {
	const struct sp_push *p;
	struct sp_push_client *client;
	struct sp_push_sent *sent;
	struct sp_store *store;
	struct sp_store_span span;
	struct sp_push_cursor cursor;
	struct sp_push_at *at; /* of the source at hand */
	uint64_t length_ns, now_ns;
	struct sp_store_interval intervals[READ_INTERVALS];
};
/* What goes into one request. */
struct piece {
	struct sp_profile *profile;
	const char *service, *source;
	uint64_t from_ns, to_ns;
	uint32_t samples, cost; /* values */
	int64_t n_samples, n_cost;
	char *body;
	size_t n_body;
};

/* --- Pyroscope --- */
static void put_escaped(FILE *out, char c)
{
	fprintf(out, isalnum((unsigned char)c) || strchr("-._", c) ? "%c" : "%%%02X", (unsigned char)c);
}

/* What ends a value there, or stands around it, becomes an underscore. */
static void put_label(FILE *out, const char *name, const char *value)
{
	fprintf(out, "%s%%3D", name);
	for (; *value; value++)
		if (strchr(",{}=\"\\", *value) || (unsigned char)*value < ' ')
			fputc('_', out);
		else
			put_escaped(out, *value);
}

/* name=SERVICE{host=HOST,NAME=VALUE...}&from=...&until=... */
static int query_make(const struct sender *s, const struct piece *piece, char **ret_query)
{
	size_t n = 0;
	const char *host = s->p->host;
	FILE *out = open_memstream(ret_query, &n);

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < s->p->n_labels; i++)
		if (!strcmp(s->p->labels[i].key, "host"))
			host = s->p->labels[i].value;
	fprintf(out, "?name=%s%%7B", piece->service);
	put_label(out, "host", host);
	for (size_t i = 0; i < s->p->n_labels; i++) {
		if (!strcmp(s->p->labels[i].key, "host"))
			continue;
		fputs("%2C", out);
		put_label(out, s->p->labels[i].key, s->p->labels[i].value);
	}
	fprintf(out, "%%7D&from=%" PRIu64 "&until=%" PRIu64 "&spyName=soprof", piece->from_ns / SP_NS_PER_S,
		piece->to_ns / SP_NS_PER_S);
	return fclose(out) ? -ENOMEM : 0;
}

/* A form with one file, as Pyroscope's own clients send it. */
static int pyroscope_send(struct sender *s, struct piece *piece, char why[SP_PUSH_WHY])
{
	const struct sp_view_options options = {.value = piece->cost};
	SP_FREE char *query = NULL;
	uint64_t mark[2] = {0};
	char type[96];
	struct sp_push_message m = {.type = type};
	FILE *out = open_memstream(&piece->body, &piece->n_body);
	int r;

	if (!out || getrandom(mark, sizeof(mark), 0) != sizeof(mark)) {
		if (out)
			fclose(out);
		return sp_fail(-EIO, "make a form");
	}
	snprintf(type, sizeof(type), "multipart/form-data; boundary=soprof%016" PRIx64 "%016" PRIx64, mark[0], mark[1]);
	fprintf(out,
		"--%s\r\nContent-Disposition: form-data; name=\"profile\"; filename=\"profile.pprof\"\r\n"
		"Content-Type: application/octet-stream\r\n\r\n",
		strchr(type, '=') + 1);
	r = sp_pprof_write(piece->profile, &options, SP_GZIP_FAST, out);
	fprintf(out, "\r\n--%s--\r\n", strchr(type, '=') + 1);
	if (fclose(out) && r == 0)
		r = -ENOMEM;
	if (r == 0)
		r = query_make(s, piece, &query);
	m.query = query;
	m.body = piece->body;
	m.n_body = piece->n_body;
	return r < 0 ? r : sp_push_post(s->client, &m, why);
}

/* --- OTLP --- */
static void id_make(const struct sender *s, const struct piece *piece, uint8_t ret_id[16])
{
	SP_FREE char *text = NULL;
	uint64_t halves[2];
	int n = asprintf(&text, "%s\n%s\n%s\n%" PRIu64 "\n%" PRIu64, s->p->host, piece->source, piece->service,
			 piece->from_ns, piece->to_ns);

	for (uint64_t i = 0; i < SP_COUNT(halves); i++)
		halves[i] = n < 0 ? 0 : sp_hash_bytes(text, (size_t)n, i);
	memcpy(ret_id, halves, sizeof(halves));
	if (n < 0)
		text = NULL;
}

static int otlp_body(const struct sender *s, struct piece *piece)
{
	struct sp_otlp_attribute resource[SP_AGENT_MAX_LABELS + 2] = {{"service.name", piece->service},
								      {"host.name", s->p->host}};
	const struct sp_profile_info *info = sp_profile_info(piece->profile);
	struct sp_otlp_about about = {.resource = resource,
				      .n_resource = s->p->n_labels + 2,
				      .value = piece->samples,
				      .time_ns = info->time_ns,
				      .duration_ns = info->duration_ns,
				      .period_type = sp_profile_string(piece->profile, info->period_type.name),
				      .period_unit = sp_profile_string(piece->profile, info->period_type.unit),
				      .period = info->period};
	FILE *out = open_memstream(&piece->body, &piece->n_body);
	int r;

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < s->p->n_labels; i++)
		resource[i + 2] = s->p->labels[i];
	id_make(s, piece, about.id);
	r = sp_otlp_write(piece->profile, &about, out);
	return fclose(out) && r == 0 ? -ENOMEM : r;
}

static int otlp_send(struct sender *s, struct piece *piece, char why[SP_PUSH_WHY])
{
	struct sp_push_message m = {.query = "", .type = "application/x-protobuf", .coding = "gzip"};
	int r = otlp_body(s, piece);

	m.body = piece->body;
	m.n_body = piece->n_body;
	return r < 0 ? r : sp_push_post(s->client, &m, why);
}

/* --- a service --- */
static int values_find(struct piece *piece)
{
	uint32_t n = sp_profile_n_value_types(piece->profile);
	int samples = sp_profile_find_value(piece->profile, "samples", NULL);

	if (samples < 0 || n > 2)
		return sp_fail_said(-EOPNOTSUPP, "%s has %u values; samples and one more can be sent", piece->source,
				    n);
	piece->samples = (uint32_t)samples;
	piece->cost = n == 2 ? !piece->samples : piece->samples;
	return 0;
}

/* What a sample stands for is the mean: the rate may have changed meanwhile. */
static void info_set(struct piece *piece)
{
	struct sp_profile_info *info = sp_profile_info(piece->profile);

	for (uint32_t i = 0; i < sp_profile_n_rows(piece->profile); i++) {
		const struct sp_row *row = sp_profile_row(piece->profile, i);
		sp_saturating_add(&piece->n_samples, row->values[piece->samples]);
		sp_saturating_add(&piece->n_cost, row->values[piece->cost]);
	}
	info->time_ns = piece->from_ns;
	info->duration_ns = piece->to_ns - piece->from_ns;
	info->period_type = *sp_profile_value_type(piece->profile, piece->cost);
	info->period = piece->n_samples > 0 ? (uint64_t)SP_MAX(piece->n_cost / piece->n_samples, 1) : 1;
}

static int piece_send(struct sender *s, struct piece *piece)
{
	char why[SP_PUSH_WHY];
	int r;

	info_set(piece);
	r = s->p->kind == SP_RECEIVER_PYROSCOPE ? pyroscope_send(s, piece, why) : otlp_send(s, piece, why);
	if (r < 0)
		return r;
	if (r) {
		s->sent->n_refused += (uint64_t)piece->n_samples;
		memcpy(s->sent->why_refused, why, sizeof(why));
		return 0;
	}
	s->sent->n_profiles++;
	s->sent->n_samples += (uint64_t)piece->n_samples;
	s->sent->n_bytes += piece->n_body;
	return 0;
}

/* --- an interval --- */
static int service_send(struct sender *s, const struct sp_push_services *services, const struct sp_profile *p, size_t i,
			struct piece *piece)
{
	int r = sp_push_service_profile(services, p, i, &piece->profile);

	if (r == 0)
		r = piece_send(s, piece);
	sp_profile_free(piece->profile);
	free(piece->body);
	if (r < 0)
		return r;
	snprintf(s->at->service, sizeof(s->at->service), "%s", piece->service);
	return sp_push_cursor_keep(&s->cursor);
}

/* Services up to the one that the server took last have their share of it already. */
static int services_send(struct sender *s, const struct sp_profile *p, const struct piece *all,
			 const struct sp_push_services *services)
{
	int r = 0;

	for (size_t i = 0; i < services->n && r == 0; i++) {
		struct piece piece = *all;
		piece.service = sp_push_service_name(services, i);
		if (strcmp(piece.service, s->at->service) > 0)
			r = service_send(s, services, p, i, &piece);
	}
	return r;
}

static int interval_send(struct sender *s, const struct sp_profile *p, const struct piece *all, uint32_t slice)
{
	struct sp_push_services services;
	int r;

	if (s->at->from_ns != all->from_ns || s->at->to_ns != all->to_ns)
		*s->at->service = '\0';
	s->at->from_ns = all->from_ns;
	s->at->to_ns = all->to_ns;
	r = sp_push_services_find(p, slice, all->samples, &services);
	if (r < 0)
		return r;
	r = services_send(s, p, all, &services);
	sp_push_services_done(&services);
	return r;
}

/* The interval is done: the next one begins at its end. */
static int interval_end(struct sender *s, uint64_t to_ns, bool had_windows)
{
	s->at->from_ns = s->at->to_ns = to_ns;
	*s->at->service = '\0';
	if (had_windows)
		s->sent->to_ns = SP_MAX(s->sent->to_ns, to_ns);
	return sp_push_cursor_keep(&s->cursor);
}

static int intervals_send(struct sender *s, const struct sp_store_query *q, struct sp_profile *p)
{
	struct piece all = {.profile = p, .source = q->source};
	size_t n = sp_store_n_intervals(q, s->length_ns);
	int r = sp_profile_n_rows(p) ? values_find(&all) : 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		uint64_t begin = (q->from_ns / s->length_ns + i) * s->length_ns;
		bool has_windows = s->intervals[i].n_windows && sp_profile_n_rows(p);
		all.from_ns = SP_MAX(begin, q->from_ns);
		all.to_ns = begin + s->length_ns;
		if (has_windows)
			r = interval_send(s, p, &all, (uint32_t)i + 1);
		if (r == 0)
			r = interval_end(s, all.to_ns, has_windows);
	}
	return r;
}

/* --- a source --- */
static int range_send(struct sender *s, const char *source, uint64_t from_ns, uint64_t to_ns)
{
	struct sp_store_query q = sp_store_query_of_all(source, from_ns, to_ns);
	struct sp_store_answer answer;
	struct sp_profile *p = NULL;
	int r = sp_profile_new(&p);

	if (r == 0)
		r = sp_store_intervals(s->store, &q, s->length_ns, p, s->intervals, &answer);
	if (r == 0)
		r = intervals_send(s, &q, p);
	if (r == 0)
		s->sent->n_left_out += answer.n_damaged;
	sp_profile_free(p);
	return r;
}

/* Where it goes on: where it was, unless a clock that was wrong dated that after now. */
static uint64_t begin_of(const struct sender *s)
{
	uint64_t at = s->at->from_ns, least = s->span.first_ns / s->length_ns * s->length_ns;

	if (!at || at > s->now_ns)
		at = (s->now_ns - BEGIN_S * SP_NS_PER_S) / s->length_ns * s->length_ns;
	return SP_MAX(at, least);
}

/* An interval is whole when the store has a window behind it. A reading ends at a multiple of its length. */
static int source_send(struct sender *s, const char *source)
{
	uint64_t length = s->length_ns, end = s->span.last_ns / length * length;
	uint64_t read = SP_MAX(READ_S * SP_NS_PER_S, length);
	int r = 0;

	s->at = sp_push_cursor_of(&s->cursor, source);
	if (!s->at)
		return sp_fail_said(-E2BIG, "too many sources, or too long a name: %s", source);
	for (uint64_t at = begin_of(s), next; r == 0 && at < end; at = next) {
		next = SP_MIN((at / read + 1) * read, end);
		r = range_send(s, source, at, next);
	}
	return r;
}

/* --- all --- */
static int cursor_open(struct sender *s)
{
	SP_FREE char *path = NULL;
	SP_FREE char *target = NULL;
	uint64_t number;

	if (asprintf(&path, "%s/%s.sent", s->p->store, sp_receiver_words[s->p->kind]) < 0)
		return -ENOMEM;
	if (asprintf(&target, "%s\n%s", s->p->url, s->p->host) < 0)
		return -ENOMEM;
	number = sp_hash_bytes(target, strlen(target), 0);
	return sp_push_cursor_open(path, number, &s->cursor);
}

int sp_push_send(const struct sp_push *p, struct sp_push_sent *ret_sent)
{
	struct sp_store_options o = {.read_only = true};
	struct sender s = {.p = p,
			   .sent = ret_sent,
			   .cursor = {.fd = -1},
			   .length_ns = p->resolution_s * SP_NS_PER_S,
			   .now_ns = sp_time_ns(CLOCK_REALTIME)};
	int r;

	*ret_sent = (struct sp_push_sent){0};
	r = sp_push_open(p, &s.client);
	if (r == 0)
		r = cursor_open(&s);
	if (r == 0)
		r = sp_store_open(p->store, &o, &s.store);
	if (r == 0)
		r = sp_store_span(s.store, &s.span);
	for (size_t i = 0; r == 0 && i < p->n_sources; i++)
		r = source_send(&s, p->sources[i]);
	if (s.store)
		sp_store_close(s.store);
	sp_push_cursor_close(&s.cursor);
	if (s.client)
		ret_sent->later_s = sp_push_later_s(s.client);
	sp_push_close(s.client);
	return r;
}

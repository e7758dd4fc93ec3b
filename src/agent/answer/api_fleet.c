/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/answer/api_fleet.h"
#include "agent/answer/api_priv.h"
#include "agent/request.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/text.h"
#include "base/time.h"
#include "profile/totals.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PASSWORD = 4096 };

/* --- the server --- */
bool sp_api_fleet_is_meant(const struct sp_line *words)
{
	return sp_line_word(words, "fleet") != NULL;
}

/* Its first line. */
static int password_read(const char *path, char **ret_password)
{
	int r = path ? sp_text_read(path, MAX_PASSWORD, ret_password, NULL) : 0;

	if (r == 0 && *ret_password)
		(*ret_password)[strcspn(*ret_password, "\r\n")] = '\0';
	return r;
}

/* Who asked knows by then what is wrong; the process has a second more, to say so. */
int sp_api_fleet_open(const struct sp_line *words, uint64_t timeout_ns, struct sp_api_fleet *ret_fleet)
{
	SP_FREE char *password = NULL;
	struct sp_fleet_server s = {.url = sp_line_word(words, "fleet"), .ca_file = sp_line_word(words, "ca")};
	uint64_t ms = timeout_ns / 1000000;
	int r = password_read(sp_line_word(words, "password"), &password);

	s.password = password;
	s.timeout_ms = (unsigned)(ms > 2000 ? ms - 1000 : ms / 2 + 1);
	s.limit_s = SP_MAX(s.timeout_ms / 1000, 2U) - 1; /* so that it is the server that says so */
	if (r == 0)
		r = sp_fleet_open(&s, &ret_fleet->f);
	if (password)
		explicit_bzero(password, strlen(password));
	return r < 0 ? sp_fail_said(-EREMOTEIO, "%s", sp_error_text(r)) : 0;
}

void sp_api_fleet_close(struct sp_api_fleet *fleet)
{
	sp_fleet_close(sp_take_ptr(fleet->f));
}

/* --- requests --- */
int sp_api_fleet_take(struct sp_api_fleet *fleet, const struct sp_api_ask *ask, bool asks_for_user_by_name)
{
	if (ask->is_live)
		return sp_fail_said(-EINVAL,
				    "seconds: a fleet has what its hosts have sent, and no more: give from and to");
	if (asks_for_user_by_name)
		return sp_fail_said(-EINVAL, "user: each host has names of its own: give a number");
	sp_api_fleet_choose(fleet, ask, true);
	return 0;
}

void sp_api_fleet_choose(struct sp_api_fleet *fleet, const struct sp_api_ask *ask, bool is_new)
{
	bool is_other = !is_new && (ask->host2 || ask->label2);

	fleet->filter.host = is_other ? ask->host2 : ask->host;
	fleet->filter.label = is_other ? ask->label2 : ask->label;
}

/* Statuses of the API are about what was asked of us; it is no fault of the asker's if the server refuses us. */
static int fail_server(int r)
{
	if (r == -ENOMEM)
		return sp_fail_said(-E2BIG, "the answer wants more memory than query-memory allows: a shorter time, or "
					    "fewer hosts (host, label), would make it smaller");
	if (r == -EACCES || r == -ENOENT || r == -EIO || r == -EPROTONOSUPPORT || r == -ENOSPC || r == -EROFS)
		return sp_fail_said(-EREMOTEIO, "%s", sp_error_text(r));
	return r;
}

/* Nothing is an answer, too. */
static int note_nothing(struct sp_api_fleet *fleet)
{
	snprintf(fleet->note, sizeof(fleet->note), "%s", sp_error_text(-ENODATA));
	sp_error_clear();
	return 0;
}

int sp_api_fleet_profile(struct sp_api_fleet *fleet, const struct sp_store_query *q, struct sp_profile **ret_profile,
			 struct sp_store_answer *ret_answer)
{
	int r = sp_fleet_query(fleet->f, &fleet->filter, q, ret_profile, &fleet->answer);

	*ret_answer = fleet->answer.all;
	if (r != -ENODATA)
		return r < 0 ? fail_server(r) : 0;
	note_nothing(fleet);
	return sp_profile_new(ret_profile);
}

int sp_api_fleet_covered(struct sp_api_fleet *fleet, const struct sp_store_query *q,
			 const struct sp_fleet_slices *slices, uint64_t *ret_covered_ns)
{
	int r = sp_fleet_covered(fleet->f, &fleet->filter, q, slices, ret_covered_ns);

	return r == -ENODATA ? note_nothing(fleet) : r < 0 ? fail_server(r) : 0;
}

void sp_api_fleet_put(const struct sp_api_fleet *fleet, struct sp_json *j)
{
	sp_json_ints(j, {"hosts", (int64_t)fleet->answer.n_hosts}, {"missing", fleet->answer.n_missing},
		     {"unknown", (int64_t)fleet->answer.n_unknown});
	sp_json_word(j, "note", fleet->note);
}

/* --- hosts --- */
struct hosts {
	struct sp_json *j;
	bool by_samples;
	/* With filters: what they leave of each host. */
	const struct sp_profile *p;
	const struct sp_totals *totals;
	bool *is_told; /* by row of totals */
	int64_t whole, n_samples;
	size_t n;
};

static void labels_put(const char *labels, struct sp_json *j)
{
	char label[600];

	sp_json_array(j, "labels");
	while (*labels) {
		size_t n = strcspn(labels, "\n");
		snprintf(label, sizeof(label), "%.*s", (int)SP_MIN(n, sizeof(label) - 1), labels);
		sp_json_string(j, NULL, label);
		labels += n + (labels[n] == '\n');
	}
	sp_json_end(j);
}

/* NULL: nothing of it is left. Hosts of one name are one there: told once. */
static const struct sp_total *total_of(struct hosts *l, const char *name, bool *ret_told)
{
	for (size_t i = 0; i < l->totals->n_rows; i++) {
		if (strcmp(name, sp_total_name(l->p, SP_TOTAL_BY_HOST, &l->totals->rows[i])) != 0)
			continue;
		*ret_told = l->is_told[i];
		l->is_told[i] = true;
		return &l->totals->rows[i];
	}
	return NULL;
}

static int host_put(void *arg, const struct sp_fleet_host *h)
{
	struct hosts *l = arg;
	int64_t cost = l->by_samples ? h->n_samples : h->cost, n_samples = h->n_samples;
	bool is_told = false;

	if (l->totals) {
		const struct sp_total *t = total_of(l, h->name, &is_told);
		cost = t ? t->self : 0;
		n_samples = t ? t->n_samples : 0;
	}
	if (is_told)
		return 0;
	l->n++;
	sp_saturating_add(&l->whole, cost);
	sp_saturating_add(&l->n_samples, n_samples);
	sp_json_object(l->j, NULL);
	sp_json_string(l->j, "name", h->name);
	labels_put(h->labels, l->j);
	sp_json_ints(l->j, {"self", cost}, {"total", cost}, {"samples", n_samples}, {"windows", (int64_t)h->n_windows},
		     {"lost", (int64_t)h->n_lost});
	sp_api_put_seconds(l->j, "covered_seconds", h->covered_ns);
	if (h->is_recent)
		sp_json_uint(l->j, "behind_seconds", h->behind_s);
	sp_json_end(l->j);
	return 0;
}

/* The profile of what filters leave, by host. */
static int totals_of_hosts(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_profile **ret_profile,
			   struct sp_totals *ret_totals)
{
	struct sp_store_answer answer = {0};
	uint32_t value = 0;
	int r;

	a->fleet->filter.by_host = a->fleet->filter.leaves_only = true;
	r = sp_api_profile(a, &ask->q, ret_profile, &answer);
	a->fleet->filter.by_host = a->fleet->filter.leaves_only = false;
	if (r == 0)
		r = sp_api_value(*ret_profile, ask->value, &value);
	return r == 0 ? sp_totals_by(*ret_profile, SP_TOTAL_BY_HOST, value, ret_totals) : r;
}

static int rows_put(const struct sp_api *a, const struct sp_api_ask *ask, struct hosts *l)
{
	struct sp_fleet_hosts all = {0};
	int r;

	l->by_samples = ask->value && !strcmp(ask->value, "samples");
	sp_json_array(l->j, "rows");
	sp_json_lines(l->j);
	r = sp_fleet_hosts(a->fleet->f, &a->fleet->filter, &ask->q, &all, host_put, l);
	sp_json_end(l->j);
	if (r == -ENODATA)
		r = note_nothing(a->fleet);
	if (r < 0)
		return fail_server(r);
	sp_json_ints(sp_json_line(l->j), {"n_rows", (int64_t)l->n}, {"whole", l->whole}, {"samples", l->n_samples});
	sp_json_string(l->j, "value", l->by_samples ? "samples" : all.cost_name);
	sp_json_string(l->j, "unit", l->by_samples ? "count" : all.cost_unit);
	sp_json_word(l->j, "note", a->fleet->note);
	return 0;
}

int sp_api_hosts(const struct sp_api *a, const struct sp_api_ask *ask, struct sp_json *j)
{
	const struct sp_store_query *q = &ask->q;
	bool is_filtered = q->library || q->function || q->process || q->cgroup || !q->all_users;
	struct sp_profile *p = NULL;
	struct sp_totals totals = {0};
	struct hosts l = {.j = j};
	int r;

	if (!a->fleet)
		return sp_fail_said(-ENOENT, "hosts are of a fleet: see soprof serve");
	r = is_filtered ? totals_of_hosts(a, ask, &p, &totals) : 0;
	if (r == 0 && is_filtered) {
		l.p = p;
		l.totals = &totals;
		l.is_told = calloc(totals.n_rows + 1, sizeof(*l.is_told));
		r = l.is_told ? 0 : -ENOMEM;
	}
	sp_api_put_seconds(j, "from", q->from_ns);
	sp_api_put_seconds(j, "to", q->to_ns);
	if (r == 0)
		r = rows_put(a, ask, &l);
	free(l.is_told);
	sp_totals_done(&totals);
	sp_profile_free(p);
	return r;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/alert/alert.h"
#include "agent/alert/rule_sums.h"
#include "agent/log.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/time.h"
#include "profile/filter.h"
#include "profile/profile.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Windows are some milliseconds shorter or longer than ten seconds. */
static const double tolerance = 0.95;
#define MIN_SLOT_NS (10 * SP_NS_PER_S)

struct alert {               /* one thing that a rule watches: firing, or a candidate */
	char *name, *parent; /* parent: the library of a function; the program of an upgrade; else "" */
	double sums[SP_ALERT_SLOTS];
	double value;
	bool is_pending; /* beyond the threshold, but not for `for` yet */
	bool is_firing;
	uint64_t pending_ns; /* for so long */
	uint64_t starts_ns;  /* firing since; wall clock */
};
struct watch { /* a rule */
	const struct sp_alert_config *c;
	struct alert *alerts;
	size_t n, capacity;
	/* `over` in n_slots parts, a ring; `at` is the current one */
	size_t n_slots, at;
	uint64_t slot_ns;
	double all[SP_ALERT_SLOTS];
	uint64_t covered_ns[SP_ALERT_SLOTS], samples[SP_ALERT_SLOTS];
};
struct sp_alerts {
	struct sp_alerts_owner owner;
	struct watch *watches;
	size_t n_watches, n_alerts;
	uint64_t end_boot_ns; /* of the last window; 0 = none */
	struct sp_alerts_stats stats;
};

/* --- rules and alerts --- */
static void free_alert(struct alert *a)
{
	free(a->name);
	free(a->parent);
}

static void free_watch(struct sp_alerts *a, struct watch *w)
{
	for (size_t i = 0; i < w->n; i++)
		free_alert(&w->alerts[i]);
	a->n_alerts -= w->n;
	free(w->alerts);
	*w = (struct watch){0};
}

static void init_watch(struct watch *w, const struct sp_alert_config *c)
{
	uint64_t over = SP_MAX(c->rule.over_ns, MIN_SLOT_NS);

	*w = (struct watch){.c = c};
	w->slot_ns = SP_MAX(MIN_SLOT_NS, over / SP_ALERT_SLOTS);
	w->n_slots = (size_t)SP_MIN((over + w->slot_ns - 1) / w->slot_ns, (uint64_t)SP_ALERT_SLOTS);
}

static void clear_sums(struct watch *w)
{
	memset(w->all, 0, sizeof(w->all));
	memset(w->covered_ns, 0, sizeof(w->covered_ns));
	memset(w->samples, 0, sizeof(w->samples));
	for (size_t i = 0; i < w->n; i++) {
		memset(w->alerts[i].sums, 0, sizeof(w->alerts[i].sums));
		w->alerts[i].is_pending = false;
	}
	w->at = 0;
}

/* When the current slot has its length of sampled time, the oldest becomes the current one. */
static void advance_slot(struct watch *w)
{
	if ((double)w->covered_ns[w->at] < (double)w->slot_ns * tolerance)
		return;
	w->at = (w->at + 1) % w->n_slots;
	w->all[w->at] = 0;
	w->covered_ns[w->at] = w->samples[w->at] = 0;
	for (size_t i = 0; i < w->n; i++)
		w->alerts[i].sums[w->at] = 0;
}

static struct alert *find_alert(const struct watch *w, const char *name, size_t len, const char *parent)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strncmp(w->alerts[i].name, name, len) && !w->alerts[i].name[len] &&
		    !strcmp(w->alerts[i].parent, parent))
			return &w->alerts[i];
	return NULL;
}

static int add_alert(struct sp_alerts *a, struct watch *w, const char *name, size_t len, const char *parent,
		     struct alert **ret_alert)
{
	struct alert new = {.name = strndup(name, len), .parent = strdup(parent)};
	int r = new.name &&new.parent ? 0 : -ENOMEM;

	if (r == 0 && a->n_alerts >= SP_ALERT_MAX)
		r = -E2BIG;
	if (r == 0)
		r = sp_grow(&w->alerts, &w->capacity, w->n + 1, sizeof(*w->alerts));
	if (r < 0) {
		free_alert(&new);
		return r;
	}
	a->n_alerts++;
	w->alerts[w->n] = new;
	*ret_alert = &w->alerts[w->n++];
	return 0;
}

static void remove_alert(struct sp_alerts *a, struct watch *w, size_t i)
{
	free_alert(&w->alerts[i]);
	w->alerts[i] = w->alerts[--w->n];
	a->n_alerts--;
}

/* --- notifications --- */
static int add_labels(struct sp_notification *n, const struct sp_alert_rule *rule, const struct alert *alert)
{
	bool is_upgrade = rule->subject == SP_ALERT_RULE_UPGRADE;
	int r = 0;

	if (rule->subject <= SP_ALERT_RULE_CGROUP || is_upgrade)
		r = sp_notification_label(n, sp_alert_subject_name(is_upgrade ? SP_ALERT_RULE_LIBRARY : rule->subject),
					  alert->name);
	if (r == 0 && rule->subject == SP_ALERT_RULE_FUNCTION)
		r = sp_notification_label(n, "library", alert->parent);
	if (r == 0 && is_upgrade)
		r = sp_notification_label(n, "process", alert->parent);
	if (r == 0 && rule->within < SP_N_ALERT_RULES)
		r = sp_notification_label(n, sp_alert_subject_name(rule->within), rule->within_glob);
	return r;
}

static int add_summary(struct sp_notification *n, const struct sp_alert_rule *rule, const struct alert *alert)
{
	static const char *const values[] = {"of all CPU time", "of all CPU time, with what it calls", "of a CPU"};
	const char *relation = rule->is_below ? n->is_over ? "was below" : "below" : n->is_over ? "was over" : "over";
	double percent = alert->value * 100, limit = rule->threshold * 100;
	bool has_parent = *alert->parent;

	if (rule->subject == SP_ALERT_RULE_COMPLETE)
		return sp_notification_summary(n, "%.1f %% of the stacks are complete (%s %g %%)", percent, relation,
					       limit);
	if (rule->subject == SP_ALERT_RULE_LOST)
		return sp_notification_summary(n, "%.2f %% of the samples are lost (%s %g %%)", percent, relation,
					       limit);
	if (rule->subject == SP_ALERT_RULE_UPGRADE)
		return sp_notification_summary(n, "%s%s%s changed by %.1f %% since its upgrade (%s %g %%)", alert->name,
					       has_parent ? " in " : "", alert->parent, percent, relation, limit);
	return sp_notification_summary(n, "%s %.200s%s%.100s: %.1f %% %s%s%s%s%.100s (%s %g %%)",
				       sp_alert_subject_name(rule->subject), alert->name, has_parent ? " of " : "",
				       alert->parent, percent, values[rule->value],
				       rule->within < SP_N_ALERT_RULES ? " in " : "",
				       rule->within < SP_N_ALERT_RULES ? sp_alert_subject_name(rule->within) : "",
				       rule->within < SP_N_ALERT_RULES ? " " : "",
				       rule->within < SP_N_ALERT_RULES ? rule->within_glob : "", relation, limit);
}

static int make_notification(const struct sp_alerts *a, const struct watch *w, const struct alert *alert,
			     uint64_t ends_ns, struct sp_notification *ret_notification)
{
	struct sp_notification n;
	int r = sp_notification_init(&n, w->c);

	if (r < 0)
		return r;
	n.is_over = ends_ns != 0;
	n.starts_ns = alert->starts_ns;
	n.ends_ns = ends_ns;
	n.value = alert->value;
	r = add_labels(&n, &w->c->rule, alert);
	if (r == 0)
		r = add_summary(&n, &w->c->rule, alert);
	if (r == 0 && a->owner.page && *a->owner.page)
		r = sp_notification_link(&n, a->owner.page, w->c->rule.over_ns);
	if (r < 0)
		sp_notification_done(&n);
	else
		*ret_notification = n;
	return r;
}

static void notify_owner(struct sp_alerts *a, const struct watch *w, const struct alert *alert, uint64_t ends_ns,
			 bool is_repeat)
{
	struct sp_notification n;

	if (make_notification(a, w, alert, ends_ns, &n) < 0) {
		sp_log(SP_LOG_ERROR, "alert %s: no memory for a notification", w->c->name);
		return;
	}
	a->owner.notify(a->owner.arg, w->c, &n, is_repeat);
	sp_notification_done(&n);
}

static void fire_alert(struct sp_alerts *a, const struct watch *w, struct alert *alert, uint64_t now_ns)
{
	alert->is_firing = true;
	alert->starts_ns = now_ns;
	a->stats.n_fired++;
	notify_owner(a, w, alert, 0, false);
}

static void resolve_alert(struct sp_alerts *a, const struct watch *w, struct alert *alert, uint64_t now_ns)
{
	alert->is_firing = alert->is_pending = false;
	a->stats.n_resolved++;
	notify_owner(a, w, alert, now_ns, false);
}

/* --- windows --- */
static double compute_value(const struct sp_alert_rule *rule, double amount, double all, uint64_t covered_ns)
{
	double base = rule->value == SP_ALERT_RULE_CPU ? (double)covered_ns : all;

	return base > 0 ? amount / base : 0;
}

/*
 * A new alert needs half of the threshold in one window: what exceeds it over several windows has that in one of them.
 * So the thousands of functions with little CPU time cost nothing.
 */
static int add_match(struct sp_alerts *a, struct watch *w, const struct sp_rule_sums *t,
		     const struct sp_rule_match *match, uint64_t covered_ns)
{
	const struct sp_alert_rule *rule = &w->c->rule;
	size_t len = sp_notification_cut(match->name, match->len);
	struct alert *alert = find_alert(w, match->name, len, match->parent);
	int r = 0;

	if (!alert && rule->subject <= SP_ALERT_RULE_CGROUP &&
	    compute_value(rule, match->amount, t->all, covered_ns) < rule->threshold / 2)
		return 0;
	if (!alert)
		r = add_alert(a, w, match->name, len, match->parent, &alert);
	if (r == 0)
		alert->sums[w->at] += match->amount;
	return r;
}

static int add_window(struct sp_alerts *a, struct watch *w, const struct sp_profile *p, const struct sp_identity *id,
		      const struct sp_store_window *window)
{
	struct sp_rule_sums t;
	int r = sp_rule_sums_of_window(p, id, window, &w->c->rule, &t), failure;

	if (r < 0)
		return r;
	advance_slot(w);
	w->all[w->at] += t.all;
	w->samples[w->at] += t.n_samples;
	w->covered_ns[w->at] += window->duration_ns;
	for (size_t i = 0; i < t.n_matches; i++) {
		failure = add_match(a, w, &t, &t.matches[i], window->duration_ns);
		r = failure < 0 ? failure : r;
	}
	sp_rule_sums_done(&t);
	return r;
}

static double compute_alert_value(const struct watch *w, const struct alert *alert, uint64_t covered_ns)
{
	const struct sp_alert_rule *rule = &w->c->rule;
	double amount = 0, all = 0;
	uint64_t samples = 0;

	for (size_t i = 0; i < w->n_slots; i++) {
		amount += alert->sums[i];
		all += w->all[i];
		samples += w->samples[i];
	}
	/* a machine that does next to nothing: the value is as good as possible */
	if (rule->value != SP_ALERT_RULE_CPU && samples < SP_ALERT_SAMPLES)
		return rule->is_below ? 1 : 0;
	return compute_value(rule, amount, all, covered_ns);
}

static void judge_alert(struct sp_alerts *a, const struct watch *w, struct alert *alert, uint64_t duration_ns,
			uint64_t now_ns)
{
	const struct sp_alert_rule *rule = &w->c->rule;
	double resolve_at = sp_alert_rule_resolve_at(rule);
	bool is_beyond = rule->is_below ? alert->value < rule->threshold : alert->value > rule->threshold;
	bool is_resolved = rule->is_below ? alert->value >= resolve_at : alert->value <= resolve_at;

	if (alert->is_firing) {
		if (is_resolved)
			resolve_alert(a, w, alert, now_ns);
		return;
	}
	alert->pending_ns = is_beyond && alert->is_pending ? alert->pending_ns + duration_ns : 0;
	alert->is_pending = is_beyond;
	if (is_beyond && (double)alert->pending_ns >= (double)rule->for_ns * tolerance)
		fire_alert(a, w, alert, now_ns);
}

static bool is_idle(const struct watch *w, const struct alert *alert)
{
	double sum = 0;

	for (size_t i = 0; i < w->n_slots; i++)
		sum += alert->sums[i];
	return !alert->is_firing && !alert->is_pending && sum <= 0;
}

static void judge_watch(struct sp_alerts *a, struct watch *w, uint64_t duration_ns, uint64_t now_ns)
{
	uint64_t covered_ns = 0;
	size_t i;

	for (i = 0; i < w->n_slots; i++)
		covered_ns += w->covered_ns[i];
	if ((double)covered_ns < (double)SP_MAX(w->c->rule.over_ns, MIN_SLOT_NS) * tolerance)
		return; /* too little sampled time */
	for (i = w->n; i > 0; i--) {
		w->alerts[i - 1].value = compute_alert_value(w, &w->alerts[i - 1], covered_ns);
		judge_alert(a, w, &w->alerts[i - 1], duration_ns, now_ns);
		if (is_idle(w, &w->alerts[i - 1]))
			remove_alert(a, w, i - 1);
	}
}

/* An upgrade's effect is compared for a day; then its alert is resolved. */
static void expire_upgrades(struct sp_alerts *a, struct watch *w, uint64_t now_ns)
{
	for (size_t i = w->n; i > 0; i--) {
		if (w->alerts[i - 1].starts_ns + SP_ALERT_UPGRADE_S * SP_NS_PER_S > now_ns)
			continue;
		resolve_alert(a, w, &w->alerts[i - 1], now_ns);
		remove_alert(a, w, i - 1);
	}
}

static int evaluate_watches(struct sp_alerts *a, const struct sp_profile *p, const struct sp_store_window *w)
{
	uint64_t gap_ns = a->end_boot_ns && w->boot_ns > a->end_boot_ns ? w->boot_ns - a->end_boot_ns : 0;
	uint64_t now_ns = w->wall_ns + w->duration_ns;
	struct sp_identity id;
	int r = sp_identity_new(p, &id), failure;

	if (r < 0)
		return r;
	for (size_t i = 0; i < a->n_watches; i++) {
		struct watch *watch = &a->watches[i];
		if (watch->c->rule.subject == SP_ALERT_RULE_UPGRADE) {
			expire_upgrades(a, watch, now_ns);
			continue;
		}
		if (gap_ns > watch->c->rule.over_ns)
			clear_sums(watch);
		failure = add_window(a, watch, p, &id, w);
		r = failure < 0 ? failure : r;
		judge_watch(a, watch, w->duration_ns, now_ns);
	}
	sp_identity_done(&id);
	return r;
}

void sp_alerts_window(struct sp_alerts *a, const struct sp_profile *p, const struct sp_store_window *w)
{
	if (strcmp(w->source, "cpu") != 0)
		return;
	if (a->n_watches && evaluate_watches(a, p, w) < 0) {
		if (!a->stats.n_unwatched++)
			sp_log(SP_LOG_WARNING,
			       "alerts: not all that the rules mean can be watched: more than %d things", SP_ALERT_MAX);
		sp_error_clear();
	}
	a->end_boot_ns = w->boot_ns + w->duration_ns;
}

/* --- upgrades --- */
/* "LIBRARY in PROGRAM" */
static void split_subject(const char *subject, size_t *ret_len, const char **ret_program)
{
	const char *in = strstr(subject, " in ");

	*ret_len = in ? (size_t)(in - subject) : strlen(subject);
	*ret_program = in ? in + 4 : "";
}

static bool parse_change(const char *data, double *ret_change)
{
	double old, new;

	if (sscanf(data, "old=%lf new=%lf", &old, &new) != 2 || old < 0 || new < 0)
		return false;
	*ret_change = (new > old ? new - old : old - new) / SP_MAX(old, 1e-6);
	return true;
}

void sp_alerts_event(struct sp_alerts *a, const struct sp_store_event *e, uint64_t now_ns)
{
	char library[SP_NOTIFICATION_VALUE + 1];
	const char *program;
	double change = 0;
	size_t len;

	if (!parse_change(e->data, &change))
		return;
	split_subject(e->subject, &len, &program);
	snprintf(library, sizeof(library), "%.*s", (int)SP_MIN(len, (size_t)SP_NOTIFICATION_VALUE), e->subject);
	for (size_t i = 0; i < a->n_watches; i++) {
		struct watch *w = &a->watches[i];
		struct alert *alert;
		if (w->c->rule.subject != SP_ALERT_RULE_UPGRADE || change <= w->c->rule.threshold ||
		    !sp_glob_matches(w->c->rule.glob, library) || find_alert(w, library, strlen(library), program))
			continue;
		if (add_alert(a, w, library, strlen(library), program, &alert) < 0) {
			a->stats.n_unwatched++;
			continue;
		}
		alert->value = change;
		fire_alert(a, w, alert, now_ns);
	}
}

/* --- configuration --- */
static bool are_labels_equal(const struct sp_alert_config *a, const struct sp_alert_config *b)
{
	bool same = a->n_labels == b->n_labels;

	for (size_t i = 0; same && i < a->n_labels; i++)
		same = !strcmp(a->labels[i].name, b->labels[i].name) && !strcmp(a->labels[i].value, b->labels[i].value);
	return same;
}

static struct watch *find_watch(struct sp_alerts *a, const char *name, const char *text)
{
	for (size_t i = 0; i < a->n_watches; i++)
		if (a->watches[i].c && !strcmp(a->watches[i].c->name, name) && !strcmp(a->watches[i].c->text, text))
			return &a->watches[i];
	return NULL;
}

static void resolve_watch(struct sp_alerts *a, struct watch *w, uint64_t now_ns)
{
	for (size_t i = 0; w->c && i < w->n; i++)
		if (w->alerts[i].is_firing)
			resolve_alert(a, w, &w->alerts[i], now_ns);
	free_watch(a, w);
}

int sp_alerts_configure(struct sp_alerts *a, const struct sp_agent_config *c)
{
	struct watch *watches = calloc(c->n_alerts + 1, sizeof(*watches));
	size_t i;

	if (!watches)
		return -ENOMEM;
	for (i = 0; i < c->n_alerts; i++) {
		struct watch *old = find_watch(a, c->alerts[i].name, c->alerts[i].text);

		init_watch(&watches[i], &c->alerts[i]);
		if (!old || !are_labels_equal(old->c, &c->alerts[i]))
			continue;
		watches[i] = *old;
		watches[i].c = &c->alerts[i];
		*old = (struct watch){0};
	}
	for (i = 0; i < a->n_watches; i++)
		resolve_watch(a, &a->watches[i], sp_time_ns(CLOCK_REALTIME));
	free(a->watches);
	a->watches = watches;
	a->n_watches = c->n_alerts;
	return 0;
}

int sp_alerts_new(const struct sp_agent_config *c, const struct sp_alerts_owner *owner, struct sp_alerts **ret_alerts)
{
	struct sp_alerts *a = calloc(1, sizeof(*a));
	int r = a ? sp_alerts_configure(a, c) : -ENOMEM;

	if (r < 0) {
		free(a);
		return r;
	}
	a->owner = *owner;
	*ret_alerts = a;
	return 0;
}

void sp_alerts_free(struct sp_alerts *a)
{
	for (size_t i = 0; a && i < a->n_watches; i++)
		free_watch(a, &a->watches[i]);
	if (a)
		free(a->watches);
	free(a);
}

/* --- restarts --- */
void sp_alerts_write(const struct sp_alerts *a, FILE *out)
{
	for (size_t i = 0; i < a->n_watches; i++)
		for (size_t k = 0; k < a->watches[i].n; k++) {
			struct sp_notification n;
			if (!a->watches[i].alerts[k].is_firing ||
			    make_notification(a, &a->watches[i], &a->watches[i].alerts[k], 0, &n) < 0)
				continue;
			fputs("firing\n", out);
			sp_notification_write(&n, out);
			fputs("ready\n", out);
			sp_notification_done(&n);
		}
}

static const char *get_label(const struct sp_notification *n, const char *name)
{
	for (size_t i = 0; i < n->n_labels; i++)
		if (!strcmp(n->label_names[i], name))
			return n->label_values[i];
	return "";
}

int sp_alerts_restore(struct sp_alerts *a, const struct sp_notification *n)
{
	struct watch *w = find_watch(a, n->name, n->rule);
	const char *name, *parent;
	struct alert *alert;
	int r;

	if (!w)
		return -ENOENT;
	enum sp_alert_subject what = w->c->rule.subject;
	name = what <= SP_ALERT_RULE_CGROUP    ? get_label(n, sp_alert_subject_name(what))
	       : what == SP_ALERT_RULE_UPGRADE ? get_label(n, "library")
					       : "";
	parent = what == SP_ALERT_RULE_FUNCTION  ? get_label(n, "library")
		 : what == SP_ALERT_RULE_UPGRADE ? get_label(n, "process")
						 : "";
	if (find_alert(w, name, strlen(name), parent))
		return 0;
	r = add_alert(a, w, name, strlen(name), parent, &alert);
	if (r < 0)
		return r;
	alert->is_firing = true;
	alert->starts_ns = n->starts_ns;
	alert->value = n->value;
	notify_owner(a, w, alert, 0, true);
	return 0;
}

void sp_alerts_announce(struct sp_alerts *a)
{
	for (size_t i = 0; i < a->n_watches; i++)
		for (size_t k = 0; k < a->watches[i].n; k++)
			if (a->watches[i].alerts[k].is_firing)
				notify_owner(a, &a->watches[i], &a->watches[i].alerts[k], 0, true);
}

void sp_alerts_stats(const struct sp_alerts *a, struct sp_alerts_stats *ret_stats)
{
	*ret_stats = a->stats;
	ret_stats->n_rules = a->n_watches;
	ret_stats->n_watched = a->n_alerts;
	ret_stats->n_firing = 0;
	for (size_t i = 0; i < a->n_watches; i++)
		ret_stats->n_firing += sp_alerts_firing(a, i);
}

size_t sp_alerts_firing(const struct sp_alerts *a, size_t rule)
{
	size_t n = 0;

	for (size_t i = 0; i < a->watches[rule].n; i++)
		n += a->watches[rule].alerts[i].is_firing;
	return n;
}

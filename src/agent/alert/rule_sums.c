/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/alert/rule_sums.h"
#include "base/mem.h"
#include "profile/filter.h"
#include "profile/frames.h"
#include "profile/values.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct window_fold {
	const struct sp_profile *p;
	const struct sp_identity *id;
	const struct sp_alert_rule *rule;
	uint32_t value;     /* of CPU time; UINT32_MAX: none, samples are weighed by ns_a_sample */
	double ns_a_sample; /* then */
	uint8_t *wanted;    /* by key: 0 = not known yet, 1 = no, 2 = yes; NULL = all */
	double *amounts;    /* by item: file, function or process */
	uint32_t *seen_in;  /* by item: row + 1 that was added last */
	uint32_t *matched;  /* by library: its first copy that matches, which has its name; 0 = none */
	struct sp_rule_sums *t;
};

/* --- rows --- */
static double compute_amount(const struct window_fold *f, const struct sp_row *row)
{
	return f->value == UINT32_MAX ? (double)sp_identity_samples(f->id, row) * f->ns_a_sample
				      : (double)row->values[f->value];
}

/* The length of the shortest prefix of the cgroup's path that the pattern matches; 0 = none. */
static size_t match_cgroup(const char *glob, const char *path)
{
	size_t len = strlen(path), at = 1;
	char part[4096];

	while (at <= len && len < sizeof(part)) {
		at += strcspn(path + at, "/");
		memcpy(part, path, at);
		part[at] = '\0';
		if (sp_glob_matches_cgroup(glob, part))
			return at;
		at++;
	}
	return 0;
}

static bool is_within(const struct window_fold *f, uint32_t key)
{
	uint32_t process = sp_profile_key(f->p, key)->process;
	const char *path = sp_profile_string(f->p, sp_profile_process(f->p, process)->cgroup_path);

	return f->rule->within == SP_ALERT_RULE_PROCESS
		   ? sp_profile_process_matches(f->p, process, f->rule->within_glob)
		   : sp_glob_matches_cgroup(f->rule->within_glob, path);
}

static bool is_wanted(struct window_fold *f, const struct sp_row *row)
{
	if (!f->wanted)
		return true;
	if (!f->wanted[row->key])
		f->wanted[row->key] = is_within(f, row->key) ? 2 : 1;
	return f->wanted[row->key] == 2;
}

/* --- libraries and functions --- */
static bool matches_file(const struct window_fold *f, uint32_t file)
{
	const struct sp_file *at = sp_profile_file(f->p, file);

	return sp_glob_matches_file(f->rule->glob, sp_profile_string(f->p, at->name),
				    sp_profile_string(f->p, at->path));
}

/* Frames of a kernel module count for the kernel, unless the pattern matches the module only. */
static uint32_t find_item(const struct window_fold *f, uint32_t frame)
{
	uint32_t library = f->id->library_of[frame], home;

	if (f->rule->subject == SP_ALERT_RULE_FUNCTION)
		return f->id->function_of[frame];
	if (!library || library != f->id->kernel || f->matched[library])
		return library;
	home = sp_identity_function_file(f->p, f->id, frame);
	return home && f->matched[home] ? home : library;
}

static void add_amount(struct window_fold *f, uint32_t item, double amount, uint32_t stamp)
{
	if (!item || f->seen_in[item] == stamp)
		return;
	f->seen_in[item] = stamp;
	f->amounts[item] += amount;
}

static void add_row_frames(struct window_fold *f, const struct sp_row *row, double amount, uint32_t stamp)
{
	const struct sp_frames frames = sp_profile_frames(f->p, row);
	size_t n = f->rule->value == SP_ALERT_RULE_TOTAL ? frames.n : SP_MIN(frames.n, 1U);

	for (size_t i = 0; i < n; i++)
		add_amount(f, find_item(f, sp_frames_at(&frames, i)), amount, stamp);
}

static void add_rows(struct window_fold *f)
{
	bool by_process = f->rule->subject == SP_ALERT_RULE_PROCESS || f->rule->subject == SP_ALERT_RULE_CGROUP;

	for (uint32_t i = 0; i < sp_profile_n_rows(f->p); i++) {
		const struct sp_row *row = sp_profile_row(f->p, i);
		double amount = compute_amount(f, row);

		if (!is_wanted(f, row))
			continue;
		f->t->all += amount;
		f->t->n_samples += (uint64_t)sp_identity_samples(f->id, row);
		if (by_process)
			add_amount(f, sp_profile_key(f->p, row->key)->process, amount, i + 1);
		else
			add_row_frames(f, row, amount, i + 1);
	}
}

/* --- matches --- */
/* Whether the pattern matches the item; sets the match's name. */
static bool match_item(const struct window_fold *f, uint32_t item, struct sp_rule_match *match)
{
	const struct sp_profile *p = f->p;
	const struct sp_func *func;
	bool matched = false;

	switch (f->rule->subject) {
	case SP_ALERT_RULE_LIBRARY:
		match->name = sp_profile_string(p, sp_profile_file(p, f->matched[item])->name);
		matched = f->matched[item] != 0;
		break;
	case SP_ALERT_RULE_FUNCTION:
		func = sp_profile_func(p, item);
		match->name = sp_profile_string(p, func->name);
		match->parent = sp_profile_string(p, sp_profile_file(p, func->file)->name);
		matched = sp_glob_matches(f->rule->glob, match->name) ||
			  sp_glob_matches(f->rule->glob, sp_profile_string(p, func->linkage_name));
		break;
	case SP_ALERT_RULE_PROCESS:
		match->name = sp_profile_string(p, sp_profile_process(p, item)->comm);
		matched = sp_profile_process_matches(p, item, f->rule->glob);
		break;
	default:
		match->name = sp_profile_string(p, sp_profile_process(p, item)->cgroup_path);
		match->len = match_cgroup(f->rule->glob, match->name);
		return match->len > 0;
	}
	match->len = strlen(match->name);
	return matched;
}

static int compare_matches(const void *left, const void *right)
{
	const struct sp_rule_match *a = left, *b = right;
	int c = memcmp(a->name, b->name, SP_MIN(a->len, b->len));

	if (c == 0 && a->len != b->len)
		c = a->len < b->len ? -1 : 1;
	return c ? c : strcmp(a->parent, b->parent);
}

static void merge_matches(struct sp_rule_sums *t)
{
	size_t n = 0;

	if (t->n_matches)
		qsort(t->matches, t->n_matches, sizeof(*t->matches), compare_matches);
	for (size_t i = 0; i < t->n_matches; i++) {
		if (n && compare_matches(&t->matches[n - 1], &t->matches[i]) == 0)
			t->matches[n - 1].amount += t->matches[i].amount;
		else
			t->matches[n++] = t->matches[i];
	}
	t->n_matches = n;
	/* two copies of a library in one stack count twice */
	for (size_t i = 0; i < n; i++)
		t->matches[i].amount = SP_MIN(t->matches[i].amount, t->all);
}

static int find_matches(struct window_fold *f, uint32_t n_items)
{
	size_t capacity = 0;
	int r = 0;

	for (uint32_t i = 1; r == 0 && i < n_items; i++) {
		struct sp_rule_match match = {.parent = "", .amount = f->amounts[i]};

		if (f->amounts[i] <= 0 || !match_item(f, i, &match))
			continue;
		r = sp_grow(&f->t->matches, &capacity, f->t->n_matches + 1, sizeof(*f->t->matches));
		if (r == 0)
			f->t->matches[f->t->n_matches++] = match;
	}
	merge_matches(f->t);
	return r;
}

static uint32_t count_items(const struct window_fold *f)
{
	if (f->rule->subject == SP_ALERT_RULE_LIBRARY)
		return sp_profile_n_files(f->p);
	return f->rule->subject == SP_ALERT_RULE_FUNCTION ? sp_profile_n_funcs(f->p) : sp_profile_n_processes(f->p);
}

static int sum_use(struct window_fold *f)
{
	uint32_t n = count_items(f), n_files = sp_profile_n_files(f->p);
	SP_FREE double *amounts = calloc(n, sizeof(*amounts));
	SP_FREE uint32_t *seen_in = calloc(n, sizeof(*seen_in));
	SP_FREE uint32_t *matched = calloc(n_files, sizeof(*matched));
	SP_FREE uint8_t *wanted = f->rule->within < SP_N_ALERT_RULES ? calloc(sp_profile_n_keys(f->p), 1) : NULL;

	if (!amounts || !seen_in || !matched || (f->rule->within < SP_N_ALERT_RULES && !wanted))
		return -ENOMEM;
	f->amounts = amounts;
	f->seen_in = seen_in;
	f->matched = matched;
	f->wanted = wanted;
	/* copies of a file have other paths, and may have other names */
	for (uint32_t i = n_files; f->rule->subject == SP_ALERT_RULE_LIBRARY && i > 1; i--)
		if (matches_file(f, i - 1))
			matched[f->id->files[i - 1]] = i - 1;
	add_rows(f);
	return find_matches(f, n);
}

/* --- completeness and losses --- */
static int sum_health(struct window_fold *f, const struct sp_store_window *w)
{
	struct sp_rule_sums *t = f->t;
	double complete = 0, samples = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(f->p); i++) {
		const struct sp_row *row = sp_profile_row(f->p, i);
		unsigned how = sp_profile_stack(f->p, row->user).stack_class;
		double n = (double)sp_identity_samples(f->id, row);

		samples += n;
		t->all += row->user && how != SP_CLASS_ABSENT ? n : 0;
		complete += row->user && how == SP_CLASS_COMPLETE ? n : 0;
	}
	if (f->rule->subject == SP_ALERT_RULE_LOST)
		t->all = samples + (double)w->n_lost;
	t->n_samples = (uint64_t)t->all;
	t->matches = calloc(1, sizeof(*t->matches));
	if (!t->matches)
		return -ENOMEM;
	t->matches[0] = (struct sp_rule_match){
	    .name = "", .parent = "", .amount = f->rule->subject == SP_ALERT_RULE_LOST ? (double)w->n_lost : complete};
	t->n_matches = 1;
	return 0;
}

int sp_rule_sums_of_window(const struct sp_profile *p, const struct sp_identity *id, const struct sp_store_window *w,
			   const struct sp_alert_rule *rule, struct sp_rule_sums *ret_sums)
{
	struct sp_rule_sums t = {0};
	struct window_fold f = {
	    .p = p, .id = id, .rule = rule, .value = (uint32_t)sp_profile_find_value(p, "cpu", "nanoseconds"), .t = &t};
	int r = 0;

	f.ns_a_sample = w->rate_millihertz ? 1e12 / (double)w->rate_millihertz : 0;
	if (rule->subject <= SP_ALERT_RULE_CGROUP)
		r = sum_use(&f);
	else if (rule->subject != SP_ALERT_RULE_UPGRADE)
		r = sum_health(&f, w);
	if (r < 0)
		sp_rule_sums_done(&t);
	else
		*ret_sums = t;
	return r;
}

void sp_rule_sums_done(struct sp_rule_sums *t)
{
	free(t->matches);
	*t = (struct sp_rule_sums){0};
}

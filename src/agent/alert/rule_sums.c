/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/alert/rule_sums.h"
#include "base/mem.h"
#include "profile/filter.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct fold {
	const struct sp_profile *p;
	const struct sp_identity *id;
	const struct sp_alert_rule *rule;
	uint32_t value;     /* of CPU time; UINT32_MAX: there is none, samples stand for it */
	double ns_a_sample; /* then */
	uint8_t *wanted;    /* by key: 0 = not known yet, 1 = no, 2 = yes; NULL = all are */
	double *amounts;    /* by item: file, function, process */
	uint32_t *seen_in;  /* by item: row + 1 that was counted last */
	uint32_t *meant;    /* by library: the first of its copies that is meant, which names it; 0 = none is */
	struct sp_rule_sums *t;
};

/* --- what a row is --- */
static uint32_t cpu_value(const struct sp_profile *p)
{
	for (uint32_t i = 0; i < sp_profile_n_value_types(p); i++) {
		const struct sp_value_type *type = sp_profile_value_type(p, i);
		if (!strcmp(sp_profile_string(p, type->name), "cpu") &&
		    !strcmp(sp_profile_string(p, type->unit), "nanoseconds"))
			return i;
	}
	return UINT32_MAX;
}

static double amount_of(const struct fold *f, const struct sp_row *row)
{
	return f->value == UINT32_MAX ? (double)sp_identity_samples(f->id, row) * f->ns_a_sample
				      : (double)row->values[f->value];
}

/* The uppermost directory of the cgroup's path that the pattern means; 0 = none. */
static size_t cgroup_meant(const char *glob, const char *path)
{
	size_t len = strlen(path), at = 1;
	char part[4096];

	while (at <= len && len < sizeof(part)) {
		at += strcspn(path + at, "/");
		memcpy(part, path, at);
		part[at] = '\0';
		if (sp_glob_means_cgroup(glob, part))
			return at;
		at++;
	}
	return 0;
}

static bool is_in(const struct fold *f, uint32_t key)
{
	uint32_t process = sp_profile_key(f->p, key)->process;
	const char *path = sp_profile_string(f->p, sp_profile_process(f->p, process)->cgroup_path);

	return f->rule->within == SP_ALERT_RULE_PROCESS
		   ? sp_profile_process_matches(f->p, process, f->rule->within_glob)
		   : sp_glob_means_cgroup(f->rule->within_glob, path);
}

static bool is_wanted(struct fold *f, const struct sp_row *row)
{
	if (!f->wanted)
		return true;
	if (!f->wanted[row->key])
		f->wanted[row->key] = is_in(f, row->key) ? 2 : 1;
	return f->wanted[row->key] == 2;
}

/* --- libraries and functions --- */
static bool file_is_meant(const struct fold *f, uint32_t file)
{
	const struct sp_file *at = sp_profile_file(f->p, file);

	return sp_glob_means_file(f->rule->glob, sp_profile_string(f->p, at->name), sp_profile_string(f->p, at->path));
}

/* A kernel module's frames are the kernel's, unless only the module is meant. */
static uint32_t item_of(const struct fold *f, uint32_t frame)
{
	uint32_t library = f->id->library_of[frame], home;

	if (f->rule->subject == SP_ALERT_RULE_FUNCTION)
		return f->id->function_of[frame];
	if (!library || library != f->id->kernel || f->meant[library])
		return library;
	home = sp_identity_home(f->p, f->id, frame);
	return home && f->meant[home] ? home : library;
}

static void count(struct fold *f, uint32_t item, double amount, uint32_t stamp)
{
	if (!item || f->seen_in[item] == stamp)
		return;
	f->seen_in[item] = stamp;
	f->amounts[item] += amount;
}

static void row_frames(struct fold *f, const struct sp_row *row, double amount, uint32_t stamp)
{
	const struct sp_stack stacks[] = {sp_profile_stack(f->p, row->kernel), sp_profile_stack(f->p, row->user)};

	for (size_t s = 0; s < SP_COUNT(stacks); s++)
		for (uint32_t i = 0; i < stacks[s].n_frames; i++) {
			count(f, item_of(f, stacks[s].frames[i]), amount, stamp);
			if (f->rule->value != SP_ALERT_RULE_TOTAL)
				return;
		}
}

static void rows_fold(struct fold *f)
{
	bool by_process = f->rule->subject == SP_ALERT_RULE_PROCESS || f->rule->subject == SP_ALERT_RULE_CGROUP;

	for (uint32_t i = 0; i < sp_profile_n_rows(f->p); i++) {
		const struct sp_row *row = sp_profile_row(f->p, i);
		double amount = amount_of(f, row);

		if (!is_wanted(f, row))
			continue;
		f->t->all += amount;
		f->t->n_samples += (uint64_t)sp_identity_samples(f->id, row);
		if (by_process)
			count(f, sp_profile_key(f->p, row->key)->process, amount, i + 1);
		else
			row_frames(f, row, amount, i + 1);
	}
}

/* --- hits --- */
/* Whether the pattern means the item, and by which name. */
static bool hit_make(const struct fold *f, uint32_t item, struct sp_rule_hit *hit)
{
	const struct sp_profile *p = f->p;
	const struct sp_func *func;
	bool meant = false;

	switch (f->rule->subject) {
	case SP_ALERT_RULE_LIBRARY:
		hit->name = sp_profile_string(p, sp_profile_file(p, f->meant[item])->name);
		meant = f->meant[item] != 0;
		break;
	case SP_ALERT_RULE_FUNCTION:
		func = sp_profile_func(p, item);
		hit->name = sp_profile_string(p, func->name);
		hit->subject = sp_profile_string(p, sp_profile_file(p, func->file)->name);
		meant = sp_glob_means(f->rule->glob, hit->name) ||
			sp_glob_means(f->rule->glob, sp_profile_string(p, func->linkage_name));
		break;
	case SP_ALERT_RULE_PROCESS:
		hit->name = sp_profile_string(p, sp_profile_process(p, item)->comm);
		meant = sp_profile_process_matches(p, item, f->rule->glob);
		break;
	default:
		hit->name = sp_profile_string(p, sp_profile_process(p, item)->cgroup_path);
		hit->len = cgroup_meant(f->rule->glob, hit->name);
		return hit->len > 0;
	}
	hit->len = strlen(hit->name);
	return meant;
}

static int compare(const void *left, const void *right)
{
	const struct sp_rule_hit *a = left, *b = right;
	int c = memcmp(a->name, b->name, SP_MIN(a->len, b->len));

	if (c == 0 && a->len != b->len)
		c = a->len < b->len ? -1 : 1;
	return c ? c : strcmp(a->subject, b->subject);
}

static void hits_unite(struct sp_rule_sums *t)
{
	size_t n = 0;

	if (t->n_hits)
		qsort(t->hits, t->n_hits, sizeof(*t->hits), compare);
	for (size_t i = 0; i < t->n_hits; i++) {
		if (n && compare(&t->hits[n - 1], &t->hits[i]) == 0)
			t->hits[n - 1].amount += t->hits[i].amount;
		else
			t->hits[n++] = t->hits[i];
	}
	t->n_hits = n;
	/* copies of a library, both in one stack */
	for (size_t i = 0; i < n; i++)
		t->hits[i].amount = SP_MIN(t->hits[i].amount, t->all);
}

static int hits_find(struct fold *f, uint32_t n_items)
{
	size_t capacity = 0;
	int r = 0;

	for (uint32_t i = 1; r == 0 && i < n_items; i++) {
		struct sp_rule_hit hit = {.subject = "", .amount = f->amounts[i]};

		if (f->amounts[i] <= 0 || !hit_make(f, i, &hit))
			continue;
		r = sp_grow(&f->t->hits, &capacity, f->t->n_hits + 1, sizeof(*f->t->hits));
		if (r == 0)
			f->t->hits[f->t->n_hits++] = hit;
	}
	hits_unite(f->t);
	return r;
}

static uint32_t n_items_of(const struct fold *f)
{
	if (f->rule->subject == SP_ALERT_RULE_LIBRARY)
		return sp_profile_n_files(f->p);
	return f->rule->subject == SP_ALERT_RULE_FUNCTION ? sp_profile_n_funcs(f->p) : sp_profile_n_processes(f->p);
}

static int use_tally(struct fold *f)
{
	uint32_t n = n_items_of(f), n_files = sp_profile_n_files(f->p);
	SP_FREE double *amounts = calloc(n, sizeof(*amounts));
	SP_FREE uint32_t *seen_in = calloc(n, sizeof(*seen_in));
	SP_FREE uint32_t *meant = calloc(n_files, sizeof(*meant));
	SP_FREE uint8_t *wanted = f->rule->within < SP_N_ALERT_RULES ? calloc(sp_profile_n_keys(f->p), 1) : NULL;

	if (!amounts || !seen_in || !meant || (f->rule->within < SP_N_ALERT_RULES && !wanted))
		return -ENOMEM;
	f->amounts = amounts;
	f->seen_in = seen_in;
	f->meant = meant;
	f->wanted = wanted;
	/* copies of a file have other paths, and may have other names */
	for (uint32_t i = n_files; f->rule->subject == SP_ALERT_RULE_LIBRARY && i > 1; i--)
		if (file_is_meant(f, i - 1))
			meant[f->id->files[i - 1]] = i - 1;
	rows_fold(f);
	return hits_find(f, n);
}

/* --- the agent's own health --- */
static int health_tally(struct fold *f, const struct sp_store_window *w)
{
	struct sp_rule_sums *t = f->t;
	double complete = 0, samples = 0;

	for (uint32_t i = 0; i < sp_profile_n_rows(f->p); i++) {
		const struct sp_row *row = sp_profile_row(f->p, i);
		unsigned how = sp_profile_stack(f->p, row->user).stack_class;
		double n = (double)sp_identity_samples(f->id, row);

		samples += n;
		t->all += row->user && how != SP_STACK_ABSENT ? n : 0;
		complete += row->user && how == SP_STACK_COMPLETE ? n : 0;
	}
	if (f->rule->subject == SP_ALERT_RULE_LOST)
		t->all = samples + (double)w->n_lost;
	t->n_samples = (uint64_t)t->all;
	t->hits = calloc(1, sizeof(*t->hits));
	if (!t->hits)
		return -ENOMEM;
	t->hits[0] = (struct sp_rule_hit){
	    .name = "", .subject = "", .amount = f->rule->subject == SP_ALERT_RULE_LOST ? (double)w->n_lost : complete};
	t->n_hits = 1;
	return 0;
}

int sp_rule_sums_of_window(const struct sp_profile *p, const struct sp_identity *id, const struct sp_store_window *w,
			   const struct sp_alert_rule *rule, struct sp_rule_sums *ret_tally)
{
	struct sp_rule_sums t = {0};
	struct fold f = {.p = p, .id = id, .rule = rule, .value = cpu_value(p), .t = &t};
	int r = 0;

	f.ns_a_sample = w->rate_mhz ? 1e12 / (double)w->rate_mhz : 0;
	if (rule->subject <= SP_ALERT_RULE_CGROUP)
		r = use_tally(&f);
	else if (rule->subject != SP_ALERT_RULE_UPGRADE)
		r = health_tally(&f, w);
	if (r < 0)
		sp_rule_sums_done(&t);
	else
		*ret_tally = t;
	return r;
}

void sp_rule_sums_done(struct sp_rule_sums *t)
{
	free(t->hits);
	*t = (struct sp_rule_sums){0};
}

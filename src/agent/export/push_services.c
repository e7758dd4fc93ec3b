/* SPDX-License-Identifier: GPL-2.0-or-later */
/* push_services.c: see push_priv.h. */
#include "agent/export/push_priv.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/sum.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OTHER "other"

/* --- a service's name --- */
/* The innermost NAME.service of a cgroup's path; not user@UID.service, in which all that a user runs may be. */
static const char *unit_find(const char *cgroup, size_t *ret_n)
{
	static const char suffix[] = ".service";
	const char *found = NULL;

	for (const char *at = cgroup; *at;) {
		size_t n = strcspn(at, "/");
		if (n >= sizeof(suffix) && !strncmp(at + n - (sizeof(suffix) - 1), suffix, sizeof(suffix) - 1) &&
		    strncmp(at, "user@", 5) != 0) {
			found = at;
			*ret_n = SP_MIN(n - (sizeof(suffix) - 1), strcspn(at, "@"));
		}
		at += n + (at[n] == '/');
	}
	return found;
}

/* Of a container only its number is known, which is new each time that it starts. Kernel threads: kworker/0:1. */
static void service_name(const struct sp_profile *p, uint32_t key, char ret_name[SP_PUSH_SERVICE_MAX + 1])
{
	const struct sp_key *k = sp_profile_key(p, key);
	const struct sp_process *process = sp_profile_process(p, k->process);
	const char *container = sp_profile_string(p, process->container), *name = NULL;
	size_t n = 0;

	if (!*container)
		name = unit_find(sp_profile_string(p, process->cgroup_path), &n);
	if (!name || !n) {
		name = sp_profile_string(p, process->comm ? process->comm : k->comm);
		n = process->exe ? strlen(name) : strcspn(name, "/:");
	}
	if (!n) {
		name = "unknown";
		n = strlen(name);
	}
	n = SP_MIN(n, (size_t)SP_PUSH_SERVICE_MAX);
	for (size_t i = 0; i < n; i++) {
		bool is_plain = (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z') ||
				(name[i] >= '0' && name[i] <= '9') || strchr("-._", name[i]);
		ret_name[i] = is_plain ? name[i] : '_';
	}
	ret_name[n] = '\0';
}

/* --- those of an interval --- */
static bool is_of_slice(const struct sp_profile *p, uint32_t key, uint32_t slice)
{
	uint32_t of = sp_profile_key(p, key)->slice;

	return of ? of == slice : slice == 1;
}

struct service {
	const char *name;
	uint32_t number;
	int64_t weight;
};
struct finding {
	const struct sp_profile *p;
	struct sp_push_services *s;
	int64_t *weights; /* by number of the name */
	size_t capacity;
	struct service *found; /* the interval's */
	size_t n;
};

static int64_t name_add(struct finding *f, const char *name, int64_t weight)
{
	int64_t n =
	    sp_intern_add_to(f->s->names, name, strlen(name), &f->weights, &f->capacity, sizeof(*f->weights), NULL);

	if (n >= 0)
		sp_saturating_add(&f->weights[n], weight);
	return n;
}

static int rows_weigh(struct finding *f, uint32_t value)
{
	char name[SP_PUSH_SERVICE_MAX + 1];

	for (uint32_t i = 0; i < sp_profile_n_rows(f->p); i++) {
		const struct sp_row *row = sp_profile_row(f->p, i);
		if (!is_of_slice(f->p, row->key, f->s->slice))
			continue;
		service_name(f->p, row->key, name);
		int64_t n = name_add(f, name, row->values[value]);
		if (n < 0)
			return (int)n;
		f->s->of_key[row->key] = (uint32_t)n;
	}
	return 0;
}

static int by_weight(const void *x, const void *y)
{
	const struct service *a = x, *b = y;

	return SP_FALLING(a->weight, b->weight) ?: strcmp(a->name, b->name);
}

static int by_name(const void *x, const void *y)
{
	return strcmp(((const struct service *)x)->name, ((const struct service *)y)->name);
}

/* Those that are left out become "other", which may be one of those that stay. */
static int rare_join(struct finding *f)
{
	uint32_t n_names = sp_intern_count(f->s->names);
	SP_FREE uint32_t *is_now = calloc(n_names, sizeof(*is_now));
	int64_t other;

	if (!is_now)
		return -ENOMEM;
	qsort(f->found, f->n, sizeof(*f->found), by_weight);
	other = name_add(f, OTHER, 0);
	if (other < 0)
		return (int)other;
	for (size_t i = 0; i < f->n; i++)
		is_now[f->found[i].number] = i + 1 < SP_PUSH_SERVICES ? f->found[i].number : (uint32_t)other;
	for (uint32_t i = 0; i < sp_profile_n_keys(f->p); i++)
		if (is_of_slice(f->p, i, f->s->slice))
			f->s->of_key[i] = is_now[f->s->of_key[i]];
	f->n = SP_PUSH_SERVICES - 1;
	for (size_t i = 0; i < f->n; i++)
		if (f->found[i].number == (uint32_t)other)
			return 0;
	f->found[f->n++] = (struct service){.name = OTHER, .number = (uint32_t)other};
	return 0;
}

static int order_make(struct finding *f)
{
	uint32_t n = sp_intern_count(f->s->names);
	int r = 0;

	f->found = calloc((size_t)n + 1, sizeof(*f->found));
	if (!f->found)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		f->found[f->n++] = (struct service){sp_intern_get(f->s->names, i, NULL), i, f->weights[i]};
	if (f->n > SP_PUSH_SERVICES)
		r = rare_join(f);
	f->s->order = calloc(f->n + 1, sizeof(*f->s->order));
	if (r < 0 || !f->s->order)
		return -ENOMEM;
	qsort(f->found, f->n, sizeof(*f->found), by_name);
	for (size_t i = 0; i < f->n; i++)
		f->s->order[i] = f->found[i].number;
	f->s->n = f->n;
	return 0;
}

int sp_push_services_find(const struct sp_profile *p, uint32_t slice, uint32_t value, struct sp_push_services *ret)
{
	struct finding f = {.p = p, .s = ret};
	int r;

	*ret = (struct sp_push_services){.slice = slice};
	ret->of_key = calloc(sp_profile_n_keys(p), sizeof(*ret->of_key));
	r = ret->of_key ? sp_intern_new(&ret->names) : -ENOMEM;
	if (r == 0)
		r = rows_weigh(&f, value);
	if (r == 0)
		r = order_make(&f);
	free(f.weights);
	free(f.found);
	if (r < 0)
		sp_push_services_done(ret);
	return r;
}

void sp_push_services_done(struct sp_push_services *s)
{
	sp_intern_free(s->names);
	free(s->of_key);
	free(s->order);
	*s = (struct sp_push_services){0};
}

const char *sp_push_service_name(const struct sp_push_services *s, size_t i)
{
	return sp_intern_get(s->names, s->order[i], NULL);
}

struct wanted {
	const struct sp_push_services *s;
	uint32_t number;
};

static bool is_wanted(const struct sp_profile *p, const struct sp_row *row, void *arg)
{
	const struct wanted *w = arg;

	return is_of_slice(p, row->key, w->s->slice) && w->s->of_key[row->key] == w->number;
}

int sp_push_service_profile(const struct sp_push_services *s, const struct sp_profile *p, size_t i,
			    struct sp_profile **ret_profile)
{
	struct wanted wanted = {.s = s, .number = s->order[i]};
	struct sp_profile *one = NULL;
	int r = sp_profile_new(&one);

	if (r == 0)
		r = sp_profile_merge_stacks(one, p, is_wanted, &wanted);
	if (r < 0)
		sp_profile_free(one);
	else
		*ret_profile = one;
	return r;
}

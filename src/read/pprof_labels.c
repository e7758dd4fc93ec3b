/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_labels.c: who a sample is of, as far as its labels say.
 *
 * The names are those of our own exports (comm, pid, thread_name, stack, slice), of Parca's agent and of Google's
 * converter of perf.data. A profile has no place for other labels. One pid under two names is two processes, one after
 * the other.
 */
#include "read/pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/mem.h"
#include "base/parse.h"
#include "profile/profile.h"
#include "profile/proto.h"

enum label { LABEL_OTHER, LABEL_PID, LABEL_UID, LABEL_COMM, LABEL_THREAD, LABEL_CGROUP, LABEL_STACK, LABEL_SLICE };

static const struct {
	const char *name;
	enum label label;
} names[] = {
    {"pid", LABEL_PID},
    {"process_id", LABEL_PID},
    {"uid", LABEL_UID},
    {"comm", LABEL_COMM},
    {"process_name", LABEL_COMM},
    {"process_comm", LABEL_COMM},
    {"thread_name", LABEL_THREAD},
    {"thread_comm", LABEL_THREAD},
    {"thread", LABEL_THREAD},
    {"cgroup", LABEL_CGROUP},
    {"cgroup_name", LABEL_CGROUP},
    {"stack", LABEL_STACK},
    {"slice", LABEL_SLICE},
};

/* What a set of labels says; also the identity of a process, when the thread's name and the stack are left out. */
struct said {
	uint32_t pid, uid, comm, cgroup, thread, slice; /* numbers, and strings of the profile */
	int32_t stack_class;
};
struct pprof_people {
	struct pprof *r;
	struct sp_intern *sets; /* of labels: their order */
	struct pprof_who *who;
	struct sp_intern *processes; /* by what is said of them: their order */
	uint32_t *numbers;           /* of the profile */
	struct sp_intern *pids;
	uint32_t *n_named; /* by number of the pid: how many processes have it */
	size_t who_capacity, numbers_capacity, n_named_capacity;
};

static enum label label_of(const char *key)
{
	for (size_t i = 0; i < SP_COUNT(names); i++)
		if (!strcmp(names[i].name, key))
			return names[i].label;
	return LABEL_OTHER;
}

static int32_t class_of(const char *word)
{
	static const char *const words[] = {[SP_STACK_COMPLETE] = "complete",
					    [SP_STACK_CUT] = "cut",
					    [SP_STACK_GUESS] = "guessed",
					    [SP_STACK_ABSENT] = "none"};

	for (size_t i = 0; i < SP_COUNT(words); i++)
		if (!strcmp(words[i], word))
			return (int32_t)i;
	return -1;
}

/* A number that may have been written as a string. */
static uint32_t number_of(const char *text, uint64_t number)
{
	if (*text && sp_parse_number(text, 0, UINT32_MAX, &number) < 0)
		return 0;
	return number <= UINT32_MAX ? (uint32_t)number : 0;
}

static int64_t read_label(struct pprof *r, struct sp_cursor c, enum label *ret_label, uint64_t *ret_number)
{
	uint64_t n[LABEL_NUM + 1] = {0};
	struct pprof_field f;
	int64_t key;

	while (pprof_next(&c, &f))
		if (f.number <= LABEL_NUM && f.wire == PPROF_VARINT)
			n[f.number] = f.value;
	if (c.bad)
		return -EBADMSG;
	if (n[LABEL_KEY] >= r->n_strings || n[LABEL_STR] >= r->n_strings)
		return -ERANGE;
	key = r->strings[n[LABEL_KEY]];
	*ret_label = label_of(sp_profile_string(r->p, (uint32_t)key));
	*ret_number = n[LABEL_NUM];
	return r->strings[n[LABEL_STR]];
}

static int take_label(struct pprof *r, struct sp_cursor c, struct said *who)
{
	enum label label;
	uint64_t number;
	int64_t string = read_label(r, c, &label, &number);
	const char *text;

	if (string < 0)
		return (int)string;
	text = sp_profile_string(r->p, (uint32_t)string);
	if (label == LABEL_PID)
		who->pid = number_of(text, number);
	else if (label == LABEL_SLICE)
		who->slice = number_of(text, number);
	else if (label == LABEL_UID)
		who->uid = number_of(text, number);
	else if (label == LABEL_COMM)
		who->comm = (uint32_t)string;
	else if (label == LABEL_THREAD)
		who->thread = (uint32_t)string;
	else if (label == LABEL_CGROUP)
		who->cgroup = (uint32_t)string;
	else if (label == LABEL_STACK)
		who->stack_class = class_of(text);
	return 0;
}

static int read_labels(struct pprof *r, const uint8_t *labels, size_t n, struct said *ret)
{
	struct said who = {.stack_class = -1};
	struct sp_cursor c = sp_cursor_on(labels, n);

	while (sp_cursor_left(&c)) {
		int e = take_label(r, sp_cursor_sub(&c, sp_cursor_uleb(&c)), &who);

		if (e < 0)
			return e;
	}
	*ret = who;
	return 0;
}

static int64_t add_process(struct pprof_people *x, const struct said *who)
{
	int64_t pid = sp_intern_add(x->pids, &who->pid, sizeof(who->pid));
	int e = pid < 0 ? (int)pid : sp_grow(&x->n_named, &x->n_named_capacity, (size_t)pid + 1, sizeof(*x->n_named));
	struct sp_process process = {.pid = who->pid, .uid = who->uid, .comm = who->comm, .cgroup_path = who->cgroup};

	if (e < 0)
		return e;
	process.exec_id = x->n_named[pid]++ + !who->pid; /* the identity of process 0 is that of none */
	return sp_profile_add_process(x->r->p, &process);
}

static int64_t process_of(struct pprof_people *x, const struct said *who)
{
	struct said identity = {.pid = who->pid, .uid = who->uid, .comm = who->comm, .cgroup = who->cgroup};
	uint32_t n = sp_intern_count(x->processes);
	int64_t order, number;
	int e;

	if (!who->pid && !who->uid && !who->comm && !who->cgroup)
		return 0;
	order = sp_intern_add(x->processes, &identity, sizeof(identity));
	if (order < 0 || order < n)
		return order < 0 ? order : x->numbers[order];
	e = sp_grow(&x->numbers, &x->numbers_capacity, (size_t)order + 1, sizeof(*x->numbers));
	number = e < 0 ? e : add_process(x, who);
	if (number >= 0)
		x->numbers[order] = (uint32_t)number;
	return number;
}

static int64_t key_of(struct pprof_people *x, const struct said *who)
{
	int64_t process = process_of(x, who);
	struct sp_key key = {.comm = who->thread ? who->thread : who->comm, .slice = who->slice};

	if (process < 0)
		return process;
	key.process = (uint32_t)process;
	return sp_profile_add_key(x->r->p, &key);
}

static int bad_labels(struct pprof *r, uint64_t at, int e)
{
	if (e == -ERANGE)
		return sp_input_bad_at(r->in, r->o, r->result, at, "label: a string that is not in the table of %zu",
				       r->n_strings);
	return sp_input_bad_at(r->in, r->o, r->result, at, "label: not a message as profile.proto has it");
}

static int resolve(struct pprof_people *x, const uint8_t *labels, size_t n, uint64_t at, struct pprof_who *ret)
{
	struct said who = {.stack_class = -1};
	int64_t key;
	int e = read_labels(x->r, labels, n, &who);

	if (e == -EBADMSG || e == -ERANGE)
		e = bad_labels(x->r, at, e);
	if (e < 0)
		return e;
	key = key_of(x, &who);
	if (key < 0)
		return (int)key;
	*ret = (struct pprof_who){(uint32_t)key, who.stack_class};
	return 0;
}

int pprof_people_who(struct pprof_people *x, const uint8_t *labels, size_t n, uint64_t at, struct pprof_who *ret_who)
{
	uint32_t n_sets = sp_intern_count(x->sets);
	int64_t set = sp_intern_add(x->sets, labels, n);
	int e = set < 0 ? (int)set : 0;

	if (e >= 0 && set == n_sets) {
		e = sp_grow(&x->who, &x->who_capacity, (size_t)set + 1, sizeof(*x->who));
		if (e >= 0)
			e = resolve(x, labels, n, at, &x->who[set]);
	}
	if (e >= 0)
		*ret_who = x->who[set];
	return e;
}

int pprof_people_new(struct pprof *r, struct pprof_people **ret_people)
{
	struct pprof_people *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	x->r = r;
	if (sp_intern_new(&x->sets) < 0 || sp_intern_new(&x->processes) < 0 || sp_intern_new(&x->pids) < 0) {
		pprof_people_free(x);
		return -ENOMEM;
	}
	*ret_people = x;
	return 0;
}

void pprof_people_free(struct pprof_people *x)
{
	if (!x)
		return;
	sp_intern_free(x->sets);
	sp_intern_free(x->processes);
	sp_intern_free(x->pids);
	free(x->who);
	free(x->numbers);
	free(x->n_named);
	free(x);
}

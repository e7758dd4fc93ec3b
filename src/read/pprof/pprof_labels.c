/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_labels.c: the process, thread and key of a sample, from its labels.
 *
 * The names are those of our own exports (comm, pid, uid, cgroup, thread_name, stack, slice), of Parca's agent and of
 * Google's converter of perf.data. One pid under two names is two processes, one after the other. All other labels are
 * kept with the key, words and numbers with their units, in the order of their names. All our own samples have the
 * label `stack`. Of a sample without it even the labels understood are kept, and its key is marked as having all of
 * them: so other programs' labels are written as they were read. At most MAX_LABELS of a sample, of names and words of
 * at most MAX_LABEL_BYTES, are kept; what is left out is counted in the result.
 */
#include "read/pprof/pprof.h"

#include "base/intern.h"
#include "base/mem.h"
#include "base/parse.h"
#include "profile/container.h"
#include "profile/profile.h"
#include "profile/proto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LABELS = 64, MAX_LABEL_BYTES = 4096 };

enum label { LABEL_OTHER, LABEL_PID, LABEL_UID, LABEL_COMM, LABEL_THREAD, LABEL_CGROUP, LABEL_STACK, LABEL_SLICE };

static const struct name {
	const char *name;
	enum label label;
	bool is_ours;
} names[] = {
    {"pid", LABEL_PID, true},
    {"process_id", LABEL_PID, false},
    {"uid", LABEL_UID, true},
    {"comm", LABEL_COMM, true},
    {"process_name", LABEL_COMM, false},
    {"process_comm", LABEL_COMM, false},
    {"thread_name", LABEL_THREAD, true},
    {"thread_comm", LABEL_THREAD, false},
    {"thread", LABEL_THREAD, false},
    {"cgroup", LABEL_CGROUP, true},
    {"cgroup_name", LABEL_CGROUP, false},
    {"stack", LABEL_STACK, true},
    {"slice", LABEL_SLICE, true},
};

/* What a set of labels says. Without thread name and stack it identifies a process. */
struct said {
	uint32_t pid, uid, comm, cgroup, thread, slice; /* numbers, and strings of the profile */
	int32_t stack_class;
	uint32_t set; /* number of the other labels, for sp_key */
};
struct pprof_people {
	struct pprof *r;
	struct sp_intern *sets; /* of labels: their order */
	struct pprof_who *who;
	struct sp_intern *processes; /* by what is said of them: their order */
	uint32_t *numbers;           /* of the profile */
	struct sp_intern *pids;
	uint32_t *n_named; /* by number of the pid: how many processes have it */
	struct sp_label labels[MAX_LABELS];
	size_t n_labels, n_dropped; /* of the sample at hand */
	size_t who_capacity, numbers_capacity, n_named_capacity;
};

static const struct name *pprof_labels_name_of(const char *key)
{
	static const struct name other = {"", LABEL_OTHER, false};

	for (size_t i = 0; i < SP_COUNT(names); i++)
		if (!strcmp(names[i].name, key))
			return &names[i];
	return &other;
}

static int32_t class_of(const char *word)
{
	static const char *const words[] = {[SP_CLASS_COMPLETE] = "complete",
					    [SP_CLASS_CUT] = "cut",
					    [SP_CLASS_GUESSED] = "guessed",
					    [SP_CLASS_ABSENT] = "none"};

	for (size_t i = 0; i < SP_COUNT(words); i++)
		if (!strcmp(words[i], word))
			return (int32_t)i;
	return -1;
}

/* A number, which may be written as a string. */
static uint32_t pprof_labels_number_of(const char *text, uint64_t number)
{
	if (*text && sp_parse_number(text, 0, UINT32_MAX, &number) < 0)
		return 0;
	return number <= UINT32_MAX ? (uint32_t)number : 0;
}

static int read_label(struct pprof *r, struct sp_cursor c, struct sp_label *ret)
{
	uint64_t n[LABEL_UNIT + 1] = {0};
	struct pprof_field f;

	while (pprof_next(&c, &f))
		if (f.number <= LABEL_UNIT && f.wire == PPROF_VARINT)
			n[f.number] = f.value;
	if (c.bad)
		return -EBADMSG;
	if (n[LABEL_KEY] >= r->n_strings || n[LABEL_STR] >= r->n_strings || n[LABEL_UNIT] >= r->n_strings)
		return -ERANGE;
	ret->name = r->strings[n[LABEL_KEY]];
	ret->word = r->strings[n[LABEL_STR]];
	ret->unit = ret->word ? 0 : r->strings[n[LABEL_UNIT]];
	ret->number = ret->word ? 0 : (int64_t)n[LABEL_NUM];
	return 0;
}

static void understand(const struct sp_profile *p, enum label label, const struct sp_label *l, struct said *who)
{
	const char *text = sp_profile_string(p, l->word);

	if (label == LABEL_PID)
		who->pid = pprof_labels_number_of(text, (uint64_t)l->number);
	else if (label == LABEL_SLICE)
		who->slice = pprof_labels_number_of(text, (uint64_t)l->number);
	else if (label == LABEL_UID)
		who->uid = pprof_labels_number_of(text, (uint64_t)l->number);
	else if (label == LABEL_COMM)
		who->comm = l->word;
	else if (label == LABEL_THREAD)
		who->thread = l->word;
	else if (label == LABEL_CGROUP)
		who->cgroup = l->word;
	else if (label == LABEL_STACK)
		who->stack_class = class_of(text);
}

static void pprof_labels_add_label(struct pprof_people *x, const struct sp_label *l)
{
	const struct sp_profile *p = x->r->p;

	if (x->n_labels < MAX_LABELS && strlen(sp_profile_string(p, l->name)) <= MAX_LABEL_BYTES &&
	    strlen(sp_profile_string(p, l->word)) <= MAX_LABEL_BYTES &&
	    strlen(sp_profile_string(p, l->unit)) <= MAX_LABEL_BYTES)
		x->labels[x->n_labels++] = *l;
	else
		x->n_dropped++;
}

/* Labels that our own view writes anyway are not kept. */
static void drop_ours(struct pprof_people *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->n_labels; i++)
		if (!pprof_labels_name_of(sp_profile_string(x->r->p, x->labels[i].name))->is_ours)
			x->labels[n++] = x->labels[i];
	x->n_labels = n;
}

static int read_labels(struct pprof_people *x, const uint8_t *labels, size_t n, struct said *ret)
{
	struct said who = {.stack_class = -1};
	struct sp_cursor c = sp_cursor_on(labels, n);
	int64_t set;

	x->n_labels = x->n_dropped = 0;
	while (sp_cursor_left(&c)) {
		struct sp_label l = {0};
		int e = read_label(x->r, sp_cursor_sub(&c, sp_cursor_uleb(&c)), &l);

		if (e < 0)
			return e;
		understand(x->r->p, pprof_labels_name_of(sp_profile_string(x->r->p, l.name))->label, &l, &who);
		pprof_labels_add_label(x, &l);
	}
	if (who.stack_class >= 0)
		drop_ours(x);
	set = sp_profile_add_labels(x->r->p, x->labels, x->n_labels);
	if (set < 0)
		return (int)set;
	who.set = (uint32_t)set;
	*ret = who;
	return 0;
}

static int64_t add_process(struct pprof_people *x, const struct said *who)
{
	int64_t pid = sp_intern_add(x->pids, &who->pid, sizeof(who->pid));
	int e = pid < 0 ? (int)pid : sp_grow(&x->n_named, &x->n_named_capacity, (size_t)pid + 1, sizeof(*x->n_named));
	struct sp_process process = {.pid = who->pid, .uid = who->uid, .comm = who->comm};
	int64_t number;

	if (e < 0)
		return e;
	process.exec_id = x->n_named[pid]++ + !who->pid; /* process 0 of the profile has pid 0 and exec_id 0 */
	number = sp_profile_add_process(x->r->p, &process);
	if (number >= 0 && who->cgroup)
		e = sp_profile_set_cgroup(x->r->p, (uint32_t)number, sp_profile_string(x->r->p, who->cgroup));
	return e < 0 ? e : number;
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

static int64_t pprof_labels_key_of(struct pprof_people *x, const struct said *who)
{
	int64_t process = process_of(x, who);
	struct sp_key key = {.comm = who->thread ? who->thread : who->comm, .slice = who->slice, .labels = who->set};

	if (process < 0)
		return process;
	key.process = (uint32_t)process;
	key.flags = who->stack_class < 0 ? SP_KEYF_LABELS_ARE_ALL : 0;
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
	int e = read_labels(x, labels, n, &who);

	if (e == -EBADMSG || e == -ERANGE)
		e = bad_labels(x->r, at, e);
	if (e < 0)
		return e;
	key = pprof_labels_key_of(x, &who);
	if (key < 0)
		return (int)key;
	*ret = (struct pprof_who){(uint32_t)key, who.stack_class, x->n_dropped};
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

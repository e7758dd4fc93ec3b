/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * v8.c: CPU profiles of V8: .cpuprofile files (`node --cpu-prof`, Chrome's inspector), and Chrome's traces that have
 * such profiles in them (events Profile and ProfileChunk).
 *
 * Both are a tree of calls, and the node that ran at each sample. A sample lasts until the next one. (idle), (program)
 * and (garbage collector) are V8's own words for time without JavaScript, and stay; (root) is left out. Values: samples
 * and their time. A function's file is its script.
 */
#include "base/intern.h"
#include "base/mem.h"
#include "base/sum.h"
#include "profile/profile.h"
#include "read/input.h"
#include "read/json/json.h"
#include "read/named.h"
#include "read/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 1 << 14, N_VALUES = 2, NO_NODE = UINT32_MAX };

struct tree_node {
	uint32_t parent; /* NO_NODE: none */
	uint32_t frame;  /* 0: the root, which is no function */
	int64_t n, us;
};
/* One profile: of a thread. */
struct tree {
	int64_t pid, tid;
	uint32_t last; /* the node of the sample that has not ended; NO_NODE: there is none */
	int64_t at_us, end_us;
};
struct node_key {
	uint64_t tree;
	int64_t id;
};
struct thread_key {
	int64_t pid, tid; /* tid 0: the process */
};
struct v8 {
	struct sp_input *in;
	struct sp_doc *d;
	struct sp_read_result *result;
	struct sp_profile *p;
	struct sp_intern *ids, *trees, *threads; /* struct node_key; pid and id in text; struct thread_key */
	struct tree_node *nodes;
	struct tree *of; /* by number of trees */
	uint32_t *names; /* strings, by number of threads */
	size_t nodes_capacity, trees_capacity, names_capacity;
	uint32_t *path;
	size_t path_capacity;
};

/* --- nodes --- */
/* The number of the node of this id, which is made if it is not there yet. */
static int64_t node_of(struct v8 *v, uint32_t tree, int64_t id)
{
	const struct node_key key = {tree, id};
	bool is_new;
	int64_t number =
	    sp_intern_add_to(v->ids, &key, sizeof(key), &v->nodes, &v->nodes_capacity, sizeof(*v->nodes), &is_new);

	if (number >= 0 && is_new)
		v->nodes[number].parent = NO_NODE;
	return number;
}

/* "file:///srv/app.js" is a path. */
static const char *url_path(const char *url)
{
	return strncmp(url, "file:///", 8) ? url : url + 7;
}

static int64_t frame_read(struct v8 *v, uint32_t node)
{
	uint32_t call = sp_doc_member(v->d, node, "callFrame");
	SP_FREE char *url = strdup(sp_doc_string(v->d, sp_doc_member(v->d, call, "url")) ?: "");
	int64_t line = sp_doc_int(v->d, sp_doc_member(v->d, call, "lineNumber"), -1);
	const char *name = sp_doc_string(v->d, sp_doc_member(v->d, call, "functionName"));
	struct sp_read_named named = {.name = name};

	if (!url || !name)
		return -ENOMEM;
	if (!strcmp(name, "(root)") && !*url)
		return 0;
	named.name = *name ? name : "(anonymous)";
	named.file = named.source = url_path(url);
	named.source_line = *url && line >= 0 && line < UINT32_MAX ? (uint32_t)line + 1 : 0;
	return sp_read_named_frame(v->p, &named);
}

static int parent_set(struct v8 *v, uint32_t tree, int64_t id, uint32_t parent)
{
	int64_t child = node_of(v, tree, id);

	if (child >= 0 && (uint32_t)child != parent)
		v->nodes[child].parent = parent;
	return (int)SP_MIN(child, 0);
}

/* A file's node names its children, a trace's its parent. */
static int node_read(struct v8 *v, uint32_t tree, uint32_t node)
{
	uint32_t children = sp_doc_member(v->d, node, "children"), parent = sp_doc_member(v->d, node, "parent");
	uint32_t id = sp_doc_member(v->d, node, "id");
	int64_t number, frame, above;
	int r = 0;

	if (!id)
		return sp_doc_bad(v->d, node, "a node of the call tree without an id");
	number = node_of(v, tree, sp_doc_int(v->d, id, 0));
	frame = number < 0 ? number : frame_read(v, node);
	if (frame < 0)
		return (int)frame;
	v->nodes[number].frame = (uint32_t)frame;
	for (uint32_t i = sp_doc_first(v->d, children); i && r >= 0; i = sp_doc_next(v->d, children, i))
		r = parent_set(v, tree, sp_doc_int(v->d, i, 0), (uint32_t)number);
	if (r < 0 || !parent)
		return r;
	above = node_of(v, tree, sp_doc_int(v->d, parent, 0));
	if (above >= 0 && above != number)
		v->nodes[number].parent = (uint32_t)above;
	return (int)SP_MIN(above, 0);
}

static int nodes_read(struct v8 *v, uint32_t tree, uint32_t nodes)
{
	int r = 0;

	for (uint32_t i = sp_doc_first(v->d, nodes); i && r >= 0; i = sp_doc_next(v->d, nodes, i))
		r = node_read(v, tree, i);
	return r;
}

/* --- samples --- */
static void sample_end(struct v8 *v, struct tree *t, int64_t us)
{
	if (t->last == NO_NODE || us <= 0)
		return;
	sp_saturating_add(&v->nodes[t->last].us, us);
}

static int samples_read(struct v8 *v, uint32_t tree, uint32_t samples, uint32_t deltas)
{
	uint32_t delta = sp_doc_first(v->d, deltas);

	for (uint32_t i = sp_doc_first(v->d, samples); i; i = sp_doc_next(v->d, samples, i)) {
		int64_t us = sp_doc_int(v->d, delta, 0), node = node_of(v, tree, sp_doc_int(v->d, i, 0));
		struct tree *t = &v->of[tree];

		if (node < 0)
			return (int)node;
		sample_end(v, t, us);
		sp_saturating_add(&t->at_us, us);
		t->last = (uint32_t)node;
		v->nodes[node].n++;
		v->result->n_samples++;
		delta = delta ? sp_doc_next(v->d, deltas, delta) : 0;
	}
	return 0;
}

/* Files without a list of samples have how often each node was hit. */
static int hits_read(struct v8 *v, uint32_t tree, uint32_t nodes)
{
	for (uint32_t i = sp_doc_first(v->d, nodes); i; i = sp_doc_next(v->d, nodes, i)) {
		int64_t n = sp_doc_int(v->d, sp_doc_member(v->d, i, "hitCount"), 0);
		int64_t node = node_of(v, tree, sp_doc_int(v->d, sp_doc_member(v->d, i, "id"), 0));

		if (node < 0)
			return (int)node;
		sp_saturating_add(&v->nodes[node].n, SP_MAX(n, 0));
		v->result->n_samples += (uint64_t)SP_MAX(n, 0);
	}
	return 0;
}

/* --- trees --- */
static int64_t tree_of(struct v8 *v, int64_t pid, const char *id)
{
	SP_FREE char *key = NULL;
	int64_t number;
	bool is_new;

	if (asprintf(&key, "%" PRId64 " %s", pid, id) < 0)
		return -ENOMEM;
	number = sp_intern_add_to(v->trees, key, strlen(key), &v->of, &v->trees_capacity, sizeof(*v->of), &is_new);
	if (number >= 0 && is_new)
		v->of[number] = (struct tree){.pid = pid, .last = NO_NODE};
	return number;
}

static int file_read(struct v8 *v)
{
	uint32_t nodes = sp_doc_member(v->d, SP_DOC_ROOT, "nodes"),
		 samples = sp_doc_member(v->d, SP_DOC_ROOT, "samples");
	int64_t tree = tree_of(v, 0, ""), start = sp_doc_int(v->d, sp_doc_member(v->d, SP_DOC_ROOT, "startTime"), 0);
	int r = tree < 0 ? (int)tree : nodes_read(v, (uint32_t)tree, nodes);

	if (r >= 0) {
		v->of[tree].at_us = start;
		v->of[tree].end_us = sp_doc_int(v->d, sp_doc_member(v->d, SP_DOC_ROOT, "endTime"), 0);
		r = samples ? samples_read(v, (uint32_t)tree, samples, sp_doc_member(v->d, SP_DOC_ROOT, "timeDeltas"))
			    : hits_read(v, (uint32_t)tree, nodes);
	}
	return r;
}

/* --- events of a trace --- */
static int name_keep(struct v8 *v, const struct thread_key *key, uint32_t event)
{
	const char *name = sp_doc_string(v->d, sp_doc_at(v->d, event, "args.name"));
	int64_t string = name ? sp_profile_add_string(v->p, name) : -ENOMEM;
	int64_t number = string < 0 ? string
				    : sp_intern_add_to(v->threads, key, sizeof(*key), &v->names, &v->names_capacity,
						       sizeof(*v->names), NULL);

	if (number >= 0)
		v->names[number] = (uint32_t)string;
	return (int)SP_MIN(number, 0);
}

static int64_t event_tree(struct v8 *v, uint32_t event, int64_t pid)
{
	uint32_t id = sp_doc_member(v->d, event, "id");
	const char *text = sp_doc_string(v->d, id);
	char number[24];

	if (!text)
		return -ENOMEM;
	snprintf(number, sizeof(number), "%" PRId64, sp_doc_int(v->d, id, 0));
	return tree_of(v, pid, *text ? text : number);
}

static int chunk_read(struct v8 *v, uint32_t event, uint32_t tree)
{
	uint32_t data = sp_doc_at(v->d, event, "args.data"), profile = sp_doc_member(v->d, data, "cpuProfile");
	int64_t end = sp_doc_int(v->d, sp_doc_member(v->d, data, "endTime"), 0);
	int r = 0;

	if (profile)
		r = nodes_read(v, tree, sp_doc_member(v->d, profile, "nodes"));
	if (r >= 0 && profile)
		r = samples_read(v, tree, sp_doc_member(v->d, profile, "samples"),
				 sp_doc_member(v->d, data, "timeDeltas"));
	if (end > 0)
		v->of[tree].end_us = end;
	return r;
}

static int event_read(struct v8 *v, uint32_t event)
{
	uint32_t name = sp_doc_member(v->d, event, "name");
	int64_t pid = sp_doc_int(v->d, sp_doc_member(v->d, event, "pid"), 0), tree;
	int64_t tid = sp_doc_int(v->d, sp_doc_member(v->d, event, "tid"), 0);
	bool is_profile;

	if (sp_doc_is(v->d, name, "thread_name"))
		return name_keep(v, &(struct thread_key){pid, tid}, event);
	if (sp_doc_is(v->d, name, "process_name"))
		return name_keep(v, &(struct thread_key){pid, 0}, event);
	is_profile = sp_doc_is(v->d, name, "Profile");
	if (!is_profile && !sp_doc_is(v->d, name, "ProfileChunk"))
		return 0;
	tree = event_tree(v, event, pid);
	if (tree < 0)
		return (int)tree;
	if (is_profile) {
		v->of[tree].tid = tid;
		v->of[tree].at_us = sp_doc_int(v->d, sp_doc_at(v->d, event, "args.data.startTime"), 0);
	}
	return chunk_read(v, event, (uint32_t)tree);
}

static int trace_read(struct v8 *v)
{
	uint32_t member = sp_doc_member(v->d, SP_DOC_ROOT, "traceEvents"), events = member ? member : SP_DOC_ROOT;
	int r = 0;

	for (uint32_t i = sp_doc_first(v->d, events); i && r >= 0; i = sp_doc_next(v->d, events, i))
		r = event_read(v, i);
	if (r >= 0 && !sp_intern_count(v->trees))
		return sp_doc_bad(v->d, SP_DOC_ROOT,
				  "a trace without a CPU profile: it is recorded with the category "
				  "disabled-by-default-v8.cpu_profiler");
	return r;
}

/* --- rows --- */
static const char *name_of(const struct v8 *v, int64_t pid, int64_t tid)
{
	int64_t number = sp_intern_find(v->threads, &(struct thread_key){pid, tid}, sizeof(struct thread_key));

	return number < 0 ? "" : sp_profile_string(v->p, v->names[number]);
}

/* The frames of a node and above. -EBADMSG, told: a circle. */
static int path_make(struct v8 *v, uint32_t node, struct sp_read_path *ret_path)
{
	size_t n = 0;

	for (uint32_t i = node; i != NO_NODE; i = v->nodes[i].parent) {
		int r = n < MAX_DEPTH ? sp_grow(&v->path, &v->path_capacity, n + 1, sizeof(*v->path)) : -EBADMSG;

		if (r < 0)
			return r;
		if (v->nodes[i].frame)
			v->path[n++] = v->nodes[i].frame;
		else if (v->nodes[i].parent != NO_NODE)
			return -EBADMSG; /* no node of the file, or a root below another node */
	}
	*ret_path = (struct sp_read_path){.frames = v->path, .n = n, .leaf_first = true};
	return 0;
}

static int row_add(struct v8 *v, uint32_t number)
{
	const struct node_key *of = sp_intern_get(v->ids, number, NULL);
	const struct tree *t = &v->of[of->tree];
	const struct tree_node *node = &v->nodes[number];
	int64_t values[SP_MAX_VALUES] = {node->n, 0}, key;
	SP_FREE char *thread = strdup(name_of(v, t->pid, t->tid)), *process = strdup(name_of(v, t->pid, 0));
	struct sp_read_path path;
	int r;

	if (!node->n)
		return 0;
	if (!thread || !process || __builtin_mul_overflow(node->us, 1000, &values[1]))
		return !thread || !process ? -ENOMEM : sp_doc_bad(v->d, SP_DOC_ROOT, "times that do not fit");
	r = path_make(v, number, &path);
	if (r == -EBADMSG)
		return sp_doc_bad(v->d, SP_DOC_ROOT, "node %" PRId64 " of the call tree is not below its root", of->id);
	key = r < 0 ? r
		    : sp_read_thread(v->p, t->pid > 0 && t->pid <= UINT32_MAX ? (uint32_t)t->pid : 0, process, thread);
	r = key < 0 ? (int)key : sp_read_path_add(v->p, (uint32_t)key, &path, values);
	return r < 0 ? r : sp_input_check_memory(v->in);
}

static int rows_add(struct v8 *v)
{
	struct sp_profile_info *info = sp_profile_info(v->p);
	int r = 0;

	for (uint32_t i = 0; i < sp_intern_count(v->trees); i++)
		sample_end(v, &v->of[i], v->of[i].end_us - v->of[i].at_us);
	for (uint32_t i = 0; i < sp_intern_count(v->ids) && r >= 0; i++)
		r = row_add(v, i);
	info->default_type = sp_profile_value_type(v->p, 1)->name;
	return r;
}

/* --- the whole --- */
static int document_read(struct v8 *v)
{
	int r = sp_profile_add_value_type(v->p, "samples", "count");

	if (r >= 0)
		r = sp_profile_add_value_type(v->p, "time", "nanoseconds");
	if (r >= 0)
		r = sp_intern_new_bare(&v->ids);
	if (r >= 0)
		r = sp_intern_new(&v->trees);
	if (r >= 0)
		r = sp_intern_new_bare(&v->threads);
	if (r >= 0)
		r = sp_doc_member(v->d, SP_DOC_ROOT, "nodes") ? file_read(v) : trace_read(v);
	return r < 0 ? r : rows_add(v);
}

static int v8_read(struct sp_input *in, const struct sp_read_options *o, struct sp_profile *into,
		   struct sp_read_result *result)
{
	struct v8 v = {.in = in, .result = result, .p = into};
	int r = sp_doc_read(in, o, result, &v.d);

	if (r >= 0)
		r = document_read(&v);
	sp_doc_free(v.d);
	sp_intern_free(v.ids);
	sp_intern_free(v.trees);
	sp_intern_free(v.threads);
	free(v.nodes);
	free(v.of);
	free(v.names);
	free(v.path);
	return r;
}

static bool has(const uint8_t *head, size_t n, const char *word)
{
	return memmem(head, n, word, strlen(word)) != NULL;
}

static int v8_recognise(const uint8_t *head, size_t n)
{
	if (!n || (*head != '{' && *head != '['))
		return 0;
	if (has(head, n, "\"callFrame\"") && has(head, n, "\"nodes\""))
		return 90;
	if (has(head, n, "\"traceEvents\""))
		return 85;
	return *head == '[' && has(head, n, "\"ph\"") && has(head, n, "\"pid\"") ? 80 : 0;
}

const struct sp_reader sp_reader_v8 = {
    .name = "v8",
    .summary = "CPU profiles of node and Chrome (.cpuprofile), and Chrome's traces that have one",
    .recognise = v8_recognise,
    .read = v8_read,
};

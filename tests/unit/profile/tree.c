/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees of random profiles against paths made as text, by the words of tree.h and with none of its machinery. */
#include "profile/tree.h"
#include "base/mem.h"
#include "profile/filter.h"
#include "profile/totals.h"
#include "random.h"
#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	N_PROFILES = 8 / SP_FEWER + 1,
	MAX_PATH = 2 * RANDOM_DEPTH + 4,
	STEP = 4 * RANDOM_WORDS,
	TEXT = MAX_PATH * STEP
};

/* --- labels as words --- */
static void label_words(const struct sp_profile *p, const struct sp_tree_label *l, char words[STEP])
{
	char library[RANDOM_WORDS], func[2 * RANDOM_WORDS];
	uint32_t guessed = l->flags & SP_FRAMEF_GUESSED;

	random_file_words(p, l->library, library);
	random_func_words(p, l->func, func);
	if (l->kind == SP_TREE_COMM)
		(void)snprintf(words, STEP, "comm %s", sp_profile_string(p, l->string));
	else if (l->kind == SP_TREE_CUT || l->kind == SP_TREE_NO_STACK)
		(void)snprintf(words, STEP, "%s", l->kind == SP_TREE_CUT ? "[cut]" : "[none]");
	else
		(void)snprintf(words, STEP, "%s %s in %s %u", l->kind == SP_TREE_RUN ? "run" : "frame", func, library,
			       guessed);
}

/* A sample's way from the root to the leaf, step by step. */
struct path {
	char steps[MAX_PATH][STEP];
	char library[MAX_PATH][RANDOM_WORDS]; /* of the frame it was made of; "" = none, or no frame */
	bool focus[MAX_PATH], is_frame[MAX_PATH];
	uint32_t n;
};

static void put_step(struct path *path, const char *words)
{
	(void)snprintf(path->steps[path->n], STEP, "%s", words);
	path->library[path->n][0] = '\0';
	path->focus[path->n] = path->is_frame[path->n] = false;
	path->n++;
}

static void put_frame(const struct sp_profile *p, const struct sp_tree_options *o, uint32_t number, struct path *path)
{
	char library[RANDOM_WORDS], func[2 * RANDOM_WORDS], words[STEP];
	const struct sp_frame *frame = sp_profile_frame(p, number);
	uint32_t guessed = o->marks ? frame->flags & SP_FRAMEF_GUESSED : 0;

	random_library_words(p, number, library);
	random_func_words(p, frame->func, func);
	if (o->granularity == SP_TREE_FUNCTIONS || library[0] == '\0')
		(void)snprintf(words, STEP, "frame %s in %s %u", func, library, guessed);
	else
		(void)snprintf(words, STEP, "run %s in %s 0", o->granularity == SP_TREE_ENTRIES ? func : "", library);
	put_step(path, words);
	(void)snprintf(path->library[path->n - 1], RANDOM_WORDS, "%s", library);
	path->focus[path->n - 1] = o->focus != NULL && o->focus[number];
	path->is_frame[path->n - 1] = true;
}

static void put_half(const struct sp_profile *p, const struct sp_tree_options *o, uint32_t number, struct path *path)
{
	struct sp_stack s = sp_profile_stack(p, number);

	if (number != 0 && o->marks && s.stack_class == SP_CLASS_CUT)
		put_step(path, "[cut]");
	if (number != 0 && o->marks && s.stack_class == SP_CLASS_ABSENT && s.n_frames == 0)
		put_step(path, "[none]");
	for (uint32_t i = s.n_frames; i-- > 0;)
		put_frame(p, o, s.frames[i], path);
}

static void keep(struct path *path, uint32_t first, uint32_t end)
{
	uint32_t n = 0;

	for (uint32_t i = first; i < end; i++, n++) {
		memmove(path->steps[n], path->steps[i], STEP);
		memmove(path->library[n], path->library[i], RANDOM_WORDS);
		path->focus[n] = path->focus[i];
		path->is_frame[n] = path->is_frame[i];
	}
	path->n = n;
}

/* False: the focus is not in it. */
static bool cut_to_focus(const struct sp_tree_options *o, struct path *path)
{
	uint32_t at = 0;

	while (at < path->n && !path->focus[at])
		at++;
	if (at == path->n)
		return false;
	if (o->focus_run) { /* the last run: back from the last frame of the focus, over it and over what is not known
			     */
		for (at = path->n; !path->focus[at - 1];)
			at--;
		for (uint32_t i = at - 1; i < path->n; i--) {
			if (!path->focus[i] && path->library[i][0] != '\0')
				break;
			at = path->focus[i] ? i : at;
		}
	}
	if (o->direction == SP_TREE_CALLEES)
		keep(path, at, path->n);
	else
		keep(path, 0, at + 1);
	return true;
}

static void remove_step(struct path *path, uint32_t at)
{
	path->n--;
	for (uint32_t i = at; i < path->n; i++) {
		memcpy(path->steps[i], path->steps[i + 1], STEP);
		memcpy(path->library[i], path->library[i + 1], RANDOM_WORDS);
		path->is_frame[i] = path->is_frame[i + 1];
	}
}

static void fold_path(const struct sp_tree_options *o, struct path *path)
{
	for (uint32_t i = 1; i < path->n && o->granularity != SP_TREE_FUNCTIONS;)
		if (path->library[i][0] != '\0' && strcmp(path->library[i], path->library[i - 1]) == 0)
			remove_step(path, i); /* the lowest frame gives the run its name */
		else
			i++;
	for (uint32_t i = 0; i < path->n && o->fold_recursion; i++)
		for (uint32_t k = 0; k < i; k++)
			if (path->is_frame[i] && strcmp(path->steps[i], path->steps[k]) == 0) {
				for (uint32_t from = i + 1, to = k + 1; from < path->n; from++, to++) {
					memcpy(path->steps[to], path->steps[from], STEP);
					path->is_frame[to] = path->is_frame[from];
				}
				path->n -= i - k;
				i = k;
				break;
			}
}

/* --- the truth --- */
static void count_path(const struct sp_tree_options *o, const struct path *path, const struct sp_row *row,
		       struct truth *truth)
{
	static char text[TEXT];
	size_t len = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i <= path->n; i++) {
		struct sum *sum = truth_at(truth, text);
		sum->total += row->values[1];
		sum->samples += row->values[1] != 0 ? row->values[0] : 0;
		if (i == path->n) {
			sum->self += row->values[1];
			return;
		}
		uint32_t at = o->direction == SP_TREE_CALLEES ? i : path->n - 1 - i;
		len += (size_t)snprintf(text + len, sizeof(text) - len, ";%s", path->steps[at]);
	}
}

static struct truth count_all(const struct sp_profile *p, const struct sp_tree_options *o)
{
	struct truth truth = truth_new();
	static struct path path;

	(void)truth_at(&truth, "");
	for (uint32_t i = 0; i < sp_profile_n_rows(p); i++) {
		const struct sp_row *row = sp_profile_row(p, i);
		const struct sp_key *key = sp_profile_key(p, row->key);
		char comm[STEP];
		path.n = 0;
		if (row->values[1] == 0 && (!o->has_second || row->values[o->second] == 0))
			continue;
		(void)snprintf(comm, sizeof(comm), "comm %s", sp_profile_string(p, key->comm));
		if (o->comms && *sp_profile_string(p, key->comm) != 0)
			put_step(&path, comm);
		if (!o->kernel_only)
			put_half(p, o, row->user, &path);
		if (!o->user_only)
			put_half(p, o, row->kernel, &path);
		if (o->focus != NULL && !cut_to_focus(o, &path))
			continue;
		fold_path(o, &path);
		count_path(o, &path, row, &truth);
	}
	return truth;
}

/* --- comparisons --- */
/* The way to each node as text: its parent's, and its label. */
static char **node_texts(const struct sp_profile *p, const struct sp_tree *t)
{
	char **texts = calloc(t->n_nodes, sizeof(*texts)), words[STEP];

	assert_non_null(texts);
	texts[0] = strdup("");
	for (uint32_t i = 1; i < t->n_nodes; i++) {
		assert_true(t->nodes[i].parent < i);
		label_words(p, &t->labels[t->nodes[i].label], words);
		assert_true(asprintf(&texts[i], "%s;%s", texts[t->nodes[i].parent], words) > 0);
	}
	return texts;
}

static void nodes_are_true(const struct sp_profile *p, const struct sp_tree_options *o, const struct sp_tree *t)
{
	struct truth truth = count_all(p, o);
	char **texts = node_texts(p, t);

	for (uint32_t i = 0; i < t->n_nodes; i++) {
		struct sum sum = truth_see(&truth, texts[i]);
		assert_int_equal(t->nodes[i].self, sum.self);
		assert_int_equal(t->nodes[i].total, sum.total);
		assert_int_equal(t->nodes[i].n_samples, sum.samples);
	}
	for (uint32_t i = 0; i < t->n_nodes; i++)
		free(texts[i]);
	free(texts);
	truth_all_seen(&truth);
	truth_free(&truth);
}

static bool is_other(const struct sp_tree *t, uint32_t node)
{
	return t->labels[t->nodes[node].label].kind == SP_TREE_OTHER;
}

/* What holds for every tree, whatever its thresholds. Returns how many nodes hang on the root. */
static void hangs_together(const struct sp_tree *t, bool by_name)
{
	uint32_t n = 1;

	for (uint32_t i = 0; i < t->n_nodes; i++) {
		const struct sp_tree_node *node = &t->nodes[i];
		int64_t total = node->self, second = node->second_self;
		for (uint32_t c = node->first; c != 0; c = t->nodes[c].next, n++) {
			const struct sp_tree_node *child = &t->nodes[c], *next = &t->nodes[child->next];
			assert_int_equal(child->parent, i);
			assert_true(c > i);
			assert_int_equal(child->depth, node->depth + 1);
			total += child->total;
			second += child->second_total;
			if (is_other(t, c))
				assert_int_equal(child->next, 0);
			else if (!by_name && child->next != 0 && !is_other(t, child->next))
				assert_true(child->total >= next->total);
		}
		assert_int_equal(node->total, total);
		assert_int_equal(node->second_total, second);
	}
	assert_int_equal(n, t->n_nodes);
}

static int64_t leaves_of(const struct sp_tree *t)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < t->n_nodes; i++)
		sum += t->nodes[i].leaf;
	return sum;
}

/* Whichever way up the tree stands, a function's own share is that of the samples in it: as in the tree of callees. */
static void leaves_are_true(const struct sp_profile *p, struct sp_tree_options o, const struct sp_tree *t)
{
	struct truth truth = truth_new();
	struct sp_tree callees;
	char words[STEP];

	o.direction = SP_TREE_CALLEES;
	assert_int_equal(sp_tree_new(p, &o, &callees), 0);
	for (uint32_t i = 0; i < callees.n_nodes; i++) {
		label_words(p, &callees.labels[callees.nodes[i].label], words);
		truth_at(&truth, words)->self += callees.nodes[i].self;
	}
	for (uint32_t i = 0; i < t->n_nodes; i++) {
		label_words(p, &t->labels[t->nodes[i].label], words);
		truth_at(&truth, words)->self -= t->nodes[i].leaf;
	}
	for (uint32_t i = 0; i < t->n_labels; i++) {
		label_words(p, &t->labels[i], words);
		assert_int_equal(truth_at(&truth, words)->self, 0);
	}
	assert_int_equal(leaves_of(t), t->value);
	sp_tree_done(&callees);
	truth_free(&truth);
}

static void check(const struct sp_profile *p, struct sp_tree_options o)
{
	struct sp_tree whole, cut;

	assert_int_equal(sp_tree_new(p, &o, &whole), 0);
	hangs_together(&whole, o.by_name);
	nodes_are_true(p, &o, &whole);
	if (o.focus == NULL)
		leaves_are_true(p, o, &whole);
	o.min_share = 0.02;
	o.max_depth = 5;
	assert_int_equal(sp_tree_new(p, &o, &cut), 0);
	hangs_together(&cut, o.by_name);
	assert_int_equal(cut.nodes[0].total, whole.nodes[0].total);
	assert_int_equal(cut.nodes[0].self, whole.nodes[0].self);
	assert_int_equal(cut.value, whole.value);
	assert_int_equal(leaves_of(&cut), leaves_of(&whole));
	uint32_t n_cut = 0;
	for (uint32_t i = 1; i < cut.n_nodes; i++) {
		n_cut += cut.nodes[i].n_cut;
		if (!is_other(&cut, i)) {
			assert_true(cut.nodes[i].depth <= 5);
			assert_true(cut.nodes[i].n_cut == 0);
			assert_true((double)cut.nodes[i].total >= 0.02 * (double)cut.nodes[0].total ||
				    (double)cut.nodes[i].second_total >= 0.02 * (double)cut.nodes[0].second_total);
		} else {
			assert_true(cut.nodes[i].n_cut > 0);
		}
	}
	assert_true(n_cut == 0 || cut.n_nodes < whole.n_nodes + n_cut);
	sp_tree_done(&whole);
	sp_tree_done(&cut);
}

/* All combinations of what bends a path, the rest by turns. */
static void check_all(const struct sp_profile *p, const bool *focus, bool focus_run)
{
	for (unsigned int bits = 0; bits < 24; bits++) {
		struct sp_tree_options o = {.value = 1, .focus = focus, .focus_run = focus_run};
		o.direction = bits & 1 ? SP_TREE_CALLERS : SP_TREE_CALLEES;
		o.fold_recursion = bits & 2;
		o.marks = bits & 4;
		o.granularity = (enum sp_tree_granularity)(bits / 8);
		o.comms = bits % 3 == 0;
		o.has_second = bits % 5 == 0;
		o.by_name = bits % 7 == 0;
		o.user_only = bits % 11 == 3;
		o.kernel_only = bits % 11 == 5;
		check(p, o);
	}
}

static void random_trees(void **state)
{
	for (unsigned int seed = 1; seed <= N_PROFILES; seed++) {
		struct sp_profile *p = random_profile(seed);
		bool *function = sp_profile_frames_matching(p, SP_FILTER_FUNCTION, "f3");
		bool *library = sp_profile_frames_matching(p, SP_FILTER_LIBRARY, "lib[56]");
		check_all(p, NULL, false);
		check_all(p, function, false);
		check_all(p, library, true);
		free(function);
		free(library);
		sp_profile_free(p);
	}
}

/* --- the totals once more, by other ways --- */
static void a_focus_has_the_totals(void **state)
{
	struct sp_profile *p = random_profile(77);
	bool *focus = sp_profile_frames_matching(p, SP_FILTER_LIBRARY, "lib[56]"); /* one build id, two files */
	struct sp_totals libraries;
	struct sp_tree t;

	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_LIBRARY, 1, &libraries), 0);
	for (int direction = 0; direction < 2; direction++) {
		struct sp_tree_options o = {.value = 1, .focus = focus, .focus_run = true};
		o.direction = (enum sp_tree_direction)direction;
		assert_int_equal(sp_tree_new(p, &o, &t), 0);
		for (size_t i = 0; i < libraries.n_rows; i++) {
			char words[RANDOM_WORDS];
			random_file_words(p, libraries.rows[i].id, words);
			if (strcmp(words, "id5") != 0)
				continue;
			assert_int_equal(t.nodes[0].total, libraries.rows[i].total);
			assert_int_equal(t.nodes[0].n_samples, libraries.rows[i].n_samples);
			assert_int_equal(t.value, libraries.value);
		}
		sp_tree_done(&t);
	}
	sp_totals_done(&libraries);
	free(focus);
	sp_profile_free(p);
}

/* With recursion folded no path has a function twice, and self is what totals say. */
static void recursion_once(void **state)
{
	struct sp_profile *p = random_profile(78);
	struct sp_tree_options o = {.value = 1, .fold_recursion = true};
	struct sp_totals functions;
	struct sp_tree t;

	assert_int_equal(sp_tree_new(p, &o, &t), 0);
	assert_int_equal(sp_totals_by(p, SP_TOTAL_BY_LIBRARY, 1, &functions), 0);
	for (uint32_t i = 1; i < t.n_nodes; i++)
		for (uint32_t up = t.nodes[i].parent; up != 0; up = t.nodes[up].parent)
			assert_int_not_equal(t.nodes[up].label, t.nodes[i].label);
	for (size_t i = 0; i < functions.n_rows; i++) {
		const struct sp_total *row = &functions.rows[i];
		int64_t self = row->none ? t.nodes[0].self : 0; /* no stack at all */
		for (uint32_t k = 1; k < t.n_nodes; k++)
			if (t.labels[t.nodes[k].label].library == (row->none ? 0 : row->id))
				self += t.nodes[k].self;
		assert_int_equal(self, row->self);
	}
	sp_totals_done(&functions);
	sp_tree_done(&t);
	sp_profile_free(p);
}

static void an_empty_profile_and_wrong_values(void **state)
{
	struct sp_profile *p;
	struct sp_tree t;

	assert_int_equal(sp_profile_new(&p), 0);
	assert_int_equal(sp_profile_add_value_type(p, "samples", "count"), 0);
	struct sp_tree_options o = {.min_share = 0.5, .max_depth = 1};
	assert_int_equal(sp_tree_new(p, &o, &t), 0);
	assert_int_equal(t.n_nodes, 1);
	assert_string_equal(sp_tree_name(p, &t, 0), "");
	sp_tree_done(&t);
	o.value = 1;
	assert_int_equal(sp_tree_new(p, &o, &t), -EINVAL);
	o = (struct sp_tree_options){.has_second = true, .second = 1};
	assert_int_equal(sp_tree_new(p, &o, &t), -EINVAL);
	sp_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(random_trees),
	    cmocka_unit_test(a_focus_has_the_totals),
	    cmocka_unit_test(recursion_once),
	    cmocka_unit_test(an_empty_profile_and_wrong_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

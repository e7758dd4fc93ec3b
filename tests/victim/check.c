/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check.c: compares folded stacks with what is true of a victim.
 *
 * `check [OPTIONS] DIR NAME <FOLDED`: DIR is a variant's directory made by ./build; DIR/../truth/NAME says which calls
 * are legal, DIR/names which functions stand where in the files (written before they were stripped).
 *   --samples N        at least N samples (default 1)
 *   --complete PERCENT at least that share of the samples with a user stack begins at a root (default 0); one that
 *                      does not is always allowed, since a sample may fall into a process's first moments
 *   --deepest NAME=N   the longest run of NAME (or of NAME,OTHER together) is N frames
 *   --comm NAME        only lines of threads called so
 * A truth file has lines of words; # begins a comment:
 *   root NAME...           where a whole chain may begin (also: where libc starts threads, the loader's entry)
 *   call CALLER CALLEE...  legal pairs. `@` is any run of functions that the truth does not name (libc and such); `X@`
 *                          as a caller is such a run entered from X, `@` one that begins the chain, `*@` any.
 *   run NAME N             NAME calls itself at most N frames deep
 *   must NAME...           functions that have to appear
 * Prints one line of counts, and what is wrong. Exit code 0 = all as it should be, 1 = not, 2 = usage or files.
 */
#include "check.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FRAMES = 2304, MAX_SHOWN = 5 };
enum kind { WRONG, BARE, CUT, N_KINDS };

struct result {
	long samples, absent, complete, cut, wrong, bare;
	int shown[N_KINDS];
	int longest;
	bool seen[MAX_WORDS];
};
struct wanted {
	long samples;
	double complete;
	char deepest[128];
	int depth;
	const char *comm;
};

static void complain(struct result *r, enum kind kind, const char *format, ...)
{
	va_list args;

	if (r->shown[kind]++ >= MAX_SHOWN)
		return;
	va_start(args, format);
	printf("  ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
}

/* One chain, root first: the tokens between which the pairs are looked up. */
struct chain {
	const char *frames[MAX_FRAMES];
	struct place places[MAX_FRAMES];
	int n;
	bool absent;
	long count;
};

/* Cuts a folded line into user frames; false if it is not wanted. */
static bool read_chain(char *line, const struct wanted *w, struct chain *c)
{
	char *space = strrchr(line, ' '), *save = NULL, *word;

	*c = (struct chain){.n = 0};
	if (!space)
		return false;
	*space = '\0';
	c->count = strtol(space + 1, NULL, 10);
	word = strtok_r(line, ";", &save);
	if (!word || (w->comm && strcmp(word, w->comm) != 0))
		return false;
	while ((word = strtok_r(NULL, ";", &save)) && c->n < MAX_FRAMES) {
		size_t len = strlen(word);

		if (strcmp(word, "-") == 0 || (len > 4 && strcmp(word + len - 4, "_[k]") == 0))
			break;
		if (strcmp(word, "[Missed User Stack]") == 0)
			break;
		c->frames[c->n++] = word;
	}
	c->absent = c->n == 0;
	return true;
}

static void show_pair(struct result *r, const struct truth *t, const struct chain *c, int caller, int callee, int at)
{
	const char *of = caller >= 0 ? t->words[caller].text : "";

	complain(r, WRONG, "wrong caller: %s -> %s (frame %d of %d; before it %s; %ld samples)", of,
		 callee == FOREIGN ? "@" : t->words[callee].text, at, c->n, at > 0 ? c->frames[at - 1] : "nothing",
		 c->count);
}

/* Goes down the chain: `known` is the last function of the truth, `foreign` whether a run of others stands after it. */
static void check_pairs(const struct truth *t, const struct chain *c, bool complete, struct result *r)
{
	int known = complete ? FROM_ROOT : FROM_CUT;
	bool foreign = false;
	long wrong = 0;

	for (int i = 0; i < c->n; i++) {
		int word = c->places[i].word;
		bool legal = true;

		if (strcmp(c->frames[i], "[shortened]") == 0) { /* the middle was left out: anything may follow */
			known = FROM_CUT;
			foreign = false;
			continue;
		}
		if (word == FOREIGN) {
			if (!foreign && known >= 0)
				legal = truth_calls(t, known, false, FOREIGN);
		} else if (foreign || known >= 0) {
			legal = truth_calls(t, known, foreign, word);
		}
		if (!legal) {
			wrong++;
			show_pair(r, t, c, known, word, i);
		}
		foreign = word == FOREIGN;
		if (word != FOREIGN)
			known = word;
	}
	r->wrong += wrong ? c->count : 0;
}

static void check_runs(const struct truth *t, const struct chain *c, struct result *r)
{
	int length = 0;

	for (int i = 0; i < c->n; i++) {
		int word = c->places[i].word;

		length = i > 0 && word == c->places[i - 1].word ? length + 1 : 1;
		if (word >= 0 && t->words[word].run && length == t->words[word].run + 1) {
			complain(r, WRONG, "wrong caller: %s more than %d deep (%ld samples)", t->words[word].text,
				 t->words[word].run, c->count);
			r->wrong += c->count;
		}
	}
}

static void measure_depth(const struct truth *t, const struct chain *c, const struct wanted *w, struct result *r)
{
	int length = 0;

	for (int i = 0; i < c->n; i++) {
		int word = c->places[i].word;

		length = word >= 0 && word_in_list(w->deepest, t->words[word].text) ? length + 1 : 0;
		if (length > r->longest)
			r->longest = length;
	}
}

static void check_chain(const struct truth *t, struct chain *c, const struct wanted *w, struct result *r)
{
	bool complete;

	r->samples += c->count;
	if (c->absent) {
		r->absent += c->count;
		return;
	}
	for (int i = 0; i < c->n; i++) {
		c->places[i] = truth_place(t, c->frames[i]);
		if (c->places[i].word >= 0)
			r->seen[c->places[i].word] = true;
		if (c->places[i].bare) {
			complain(r, BARE, "bare address: %s (%ld samples)", c->frames[i], c->count);
			r->bare += c->count;
		}
	}
	complete = c->places[0].root;
	*(complete ? &r->complete : &r->cut) += c->count;
	if (!complete)
		complain(r, CUT, "cut before %s (%d frames, leaf %s; %ld samples)", c->frames[0], c->n,
			 c->frames[c->n - 1], c->count);
	check_pairs(t, c, complete, r);
	check_runs(t, c, r);
	measure_depth(t, c, w, r);
}

static bool judge(const struct truth *t, const struct wanted *w, struct result *r, const char *name)
{
	long with = r->samples - r->absent;
	double share = with ? 100.0 * (double)r->complete / (double)with : 0;
	bool good = r->wrong == 0 && r->bare == 0;

	printf("%s: %ld samples, %ld without a user stack, %ld complete (%.2f %%), %ld cut, %ld with a wrong caller, "
	       "%ld bare "
	       "addresses\n",
	       name, r->samples, r->absent, r->complete, share, r->cut, r->wrong, r->bare);
	if (r->samples < w->samples) {
		printf("%s: expected at least %ld samples\n", name, w->samples);
		good = false;
	}
	if (with == 0 || (double)(r->cut - 1) > (double)with * (100 - w->complete) / 100) {
		printf("%s: expected at least %.2f %% complete\n", name, w->complete);
		good = false;
	}
	if (w->depth && r->longest != w->depth) {
		printf("%s: expected %s %d deep, found %d\n", name, w->deepest, w->depth, r->longest);
		good = false;
	}
	for (int i = 0; i < t->n_words && r->samples; i++) {
		if (t->words[i].must && !r->seen[i]) {
			printf("%s: %s never appeared\n", name, t->words[i].text);
			good = false;
		}
	}
	return good;
}

static int usage(void)
{
	fputs("usage: check [--samples N] [--complete PERCENT] [--deepest NAME[,NAME]=N] [--comm NAME] DIR NAME "
	      "<FOLDED\n",
	      stderr);
	return 2;
}

/* Returns the number of arguments used, 0 = wrong. */
static int read_option(char **argv, struct wanted *w)
{
	char *end;

	if (!argv[1])
		return 0;
	if (strcmp(argv[0], "--samples") == 0) {
		w->samples = strtol(argv[1], NULL, 10);
	} else if (strcmp(argv[0], "--complete") == 0) {
		w->complete = strtod(argv[1], NULL);
	} else if (strcmp(argv[0], "--comm") == 0) {
		w->comm = argv[1];
	} else if (strcmp(argv[0], "--deepest") == 0 && (end = strchr(argv[1], '='))) {
		snprintf(w->deepest, sizeof(w->deepest), "%.*s", (int)(end - argv[1]), argv[1]);
		w->depth = (int)strtol(end + 1, NULL, 10);
	} else {
		return 0;
	}
	return 2;
}

int main(int argc, char **argv)
{
	static struct truth truth;
	static struct chain chain;
	struct result result = {0};
	struct wanted wanted = {.samples = 1};
	char *line = NULL;
	size_t size = 0;
	int i = 1;

	while (i < argc && argv[i][0] == '-') {
		int used = read_option(argv + i, &wanted);

		if (!used)
			return usage();
		i += used;
	}
	if (argc - i != 2)
		return usage();
	if (!truth_load(&truth, argv[i], argv[i + 1]))
		return 2;
	while (getline(&line, &size, stdin) > 0) {
		if (read_chain(line, &wanted, &chain))
			check_chain(&truth, &chain, &wanted, &result);
	}
	free(line);
	return judge(&truth, &wanted, &result, argv[i + 1]) ? 0 : 1;
}

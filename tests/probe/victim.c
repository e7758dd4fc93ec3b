/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * victim.c: calls the functions of tests/unit/probe/made.s and looks whether they still do what they are to do.
 *
 * Prints "NAME CALLS" for each, as it has called them. Exit code 1, with a line: a function has returned something
 * else, or data that is typed as a function is no longer what it was.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int (*callee)(int a, int b, int c, int d, int e);
enum { ARGUMENT = 7, RESULT = 8, OTHER = 8 };

static const char *const names[] = {
    "pushes",          "lands",          "frames",       "tests",       "leaf",      "loops_within", "loops_to_entry",
    "entered_short",   "enters_short",   "entered_long", "enters_long", "exchanges", "nops",         "nops_then_pushes",
    "jumps_and_saves", "aligns",         "overwrites",   "falls",       "one_name",  "other_name",   "versioned",
    "chosen",          "chosen_by_word", "fallen_into",
};

static int locked(void *library)
{
	int number = ARGUMENT, r = 0;
	int (*locks)(int *);
	*(void **)&locks = dlsym(library, "locks");
	for (int i = 0; locks && i < 1000; i++, number = ARGUMENT)
		r |= locks(&number) != RESULT;
	printf("locks 1000\n");
	return !locks || r;
}

/* Once round by a table, then out: two passes in one call. */
static int by_table(void *library)
{
	int (*jumps)(int);
	int r = 0;
	*(void **)&jumps = dlsym(library, "jumps_by_table");
	for (int i = 0; jumps && i < 1000; i++)
		r |= jumps(1) != RESULT;
	printf("jumps_by_table 1000\n");
	return !jumps || r;
}

static int call(void *library, const char *name, int n)
{
	callee f;
	*(void **)&f = dlsym(library, name);
	if (!f)
		return 1;
	for (int i = 0; i < n; i++)
		if (f(ARGUMENT, 1, 2, 3, OTHER) != RESULT)
			return 1;
	printf("%s %d\n", name, n);
	return 0;
}

static int data_is_good(void *library)
{
	const uint64_t *number = dlsym(library, "data_typed");
	const char *text = dlsym(library, "text_in_code"), *zeros = dlsym(library, "zeros_in_code");
	return number && text && zeros && *number == 0x5555555555555555 && strcmp(text, "as on a slope: words") == 0 &&
	       !memcmp(zeros, (char[32]){0}, 32);
}

int main(int argc, char **argv)
{
	void *library = argc == 2 ? dlopen(argv[1], RTLD_LAZY) : NULL;
	int r = 0;
	if (!library) {
		fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "victim LIBRARY");
		return 2;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (call(library, names[i], 100 + 10 * (int)i)) {
			printf("%s is broken\n", names[i]);
			r = 1;
		}
	if (locked(library) || by_table(library)) {
		printf("locks or jumps_by_table is broken\n");
		r = 1;
	}
	if (!data_is_good(library)) {
		printf("data is broken\n");
		r = 1;
	}
	return r;
}

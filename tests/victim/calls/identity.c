/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * identity DIRECTORY: compares every address of a function that a process can get, in every way in which it can: each
 * object's code and data, the library's own view, dlsym and dlvsym by each handle, callbacks, dlopen and dlmopen; and
 * calls all functions by name and by each address. Prints one line for each comparison, which must be what it is
 * without an auditor. One source: -DCOUNTED: libidentity.so, -DUSER: libuser.so, -DPLUGIN: libplugin.so, else the
 * program.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS X(one) X(two) X(three) X(hidden_alias) X(symbolic) X(chosen)
#define X(name) N_##name,
enum { FUNCTIONS N };
#undef X
typedef int function(int);
struct view { /* what one object knows */
	function *by_code[N], *by_data[N];
	int sum; /* of calls by name */
};
#define X(name) function identity_##name;
FUNCTIONS
#undef X
void view_counted(struct view *v);
void view_user(struct view *v);
void view_plugin(struct view *v);
int identity_each(int (*call)(int), int n);  /* calls back */
void *identity_given(void);                  /* one of its own functions */
function identity_versioned;                 /* of two versions */
extern function *const identity_versions[3]; /* data: without PIE the program has a copy of it */
void *__attribute__((weak)) identity_nowhere(void);

static function *const data[N] = {
#define X(name) identity_##name,
    FUNCTIONS
#undef X
};
static function *volatile changing[N] = {
#define X(name) identity_##name,
    FUNCTIONS
#undef X
};

static inline void look(struct view *v)
{
#define X(name)                                                                                                        \
	v->by_code[N_##name] = identity_##name;                                                                        \
	v->by_data[N_##name] = changing[N_##name] == data[N_##name] ? data[N_##name] : NULL;                           \
	v->sum += identity_##name(N_##name);
	FUNCTIONS
#undef X
}

#if defined COUNTED
#define PLAIN(name, n)                                                                                                 \
	int identity_##name(int x)                                                                                     \
	{                                                                                                              \
		return 10 * x + n;                                                                                     \
	}
PLAIN(one, 1)
PLAIN(two, 2)
PLAIN(three, 3)
PLAIN(hidden_alias, 4)
__attribute__((visibility("protected"))) PLAIN(symbolic, 5) extern __typeof__(identity_hidden_alias) own_alias
    __attribute__((alias("identity_hidden_alias"), visibility("hidden")));
static int chosen_first(int x)
{
	return 10 * x + 6;
}
static int chosen_second(int x)
{
	return 10 * x + 7;
}
static function *choose(void)
{
	return N > 3 ? chosen_second : chosen_first;
}
function identity_chosen __attribute__((ifunc("choose")));

PLAIN(versioned_1, 8)
PLAIN(versioned_2, 9)
__asm__(".symver identity_versioned_1, identity_versioned@IDENTITY_1");
__asm__(".symver identity_versioned_2, identity_versioned@@IDENTITY_2");
function *const identity_versions[3] = {identity_versioned_1, identity_versioned_2, identity_one};

void view_counted(struct view *v)
{
	look(v);
}
int identity_each(int (*call)(int), int n)
{
	return call == identity_one ? 1 : call == identity_two ? 2 : call(n);
}
void *identity_given(void)
{
	return (void *)own_alias;
}
#elif defined BETWEEN
/* Preloaded: stands before two functions, and calls on. */
int identity_two(int x)
{
	function *next = (function *)dlsym(RTLD_NEXT, "identity_two");

	return next == identity_two ? -1 : next(x) + 1000;
}
void *malloc(size_t bytes)
{
	static void *(*next)(size_t);

	if (next == NULL)
		next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	return next(bytes);
}
#elif defined USER
static struct view early;
__attribute__((constructor)) static void before(void)
{
	look(&early);
}
void view_user(struct view *v)
{
	look(v);
	for (int i = 0; i < N; i++)
		if (early.by_code[i] != v->by_code[i] || early.sum != v->sum)
			v->by_code[i] = NULL;
}
#elif defined PLUGIN
__attribute__((constructor)) static void before(void)
{
	printf("constructor %d\n", identity_one(1) + (identity_two == data[N_two]) + identity_three(3));
}
void view_plugin(struct view *v)
{
	look(v);
}
#else
static const char *const names[N] = {
#define X(name) "identity_" #name,
    FUNCTIONS
#undef X
};

static void compare(const char *what, struct view *mine, function *const *theirs)
{
	for (int i = 0; i < N; i++)
		printf("%s %s: %d %d; %d\n", what, names[i], mine->by_code[i] == theirs[i],
		       mine->by_data[i] == theirs[i], theirs[i] != NULL ? theirs[i](i) : -1);
}

static void compare_views(const char *what, struct view *mine, struct view *theirs)
{
	compare(what, mine, theirs->by_code);
	compare(what, mine, theirs->by_data);
	printf("%s: %d\n", what, theirs->sum);
}

static void compare_found(const char *what, struct view *mine, void *handle, const char *version)
{
	function *found[N];

	for (int i = 0; i < N; i++)
		found[i] = (function *)(version != NULL ? dlvsym(handle, names[i], version) : dlsym(handle, names[i]));
	compare(what, mine, found);
}

static void versions(void)
{
	function *old = (function *)dlvsym(RTLD_DEFAULT, "identity_versioned", "IDENTITY_1"),
		 *new = (function *)dlvsym(RTLD_DEFAULT, "identity_versioned", "IDENTITY_2"),
		 *plain = (function *)dlsym(RTLD_DEFAULT, "identity_versioned");

	printf("versions %d %d %d %d %d; %d %d %d\n", old == identity_versions[0], new == identity_versions[1],
	       new == identity_versioned, plain == new, old == new, old(1), new (1), identity_versioned(1));
	printf("copied %d, weak %d\n", identity_versions[2] == identity_one, identity_nowhere == NULL);
}

enum { PLUGIN, PLUGIN_DEEP, NAMESPACE };

static void compare_plugin(struct view *mine, const char *path, int how)
{
	void *handle = how == NAMESPACE ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW)
					: dlopen(path, how == PLUGIN_DEEP ? RTLD_NOW | RTLD_DEEPBIND : RTLD_LAZY);
	const char *what = how == NAMESPACE ? "namespace" : how == PLUGIN_DEEP ? "deep" : "plugin";
	struct view theirs = {0};
	Dl_info info;

	if (handle == NULL) {
		printf("%s\n", dlerror());
		return;
	}
	((void (*)(struct view *))dlsym(handle, "view_plugin"))(&theirs);
	compare_views(what, mine, &theirs);
	compare_views("itself", &theirs, &theirs);
	compare_found(what, mine, handle, NULL);
	for (int i = 0; i < N; i++)
		printf("%s %s\n", what,
		       dladdr((void *)theirs.by_code[i], &info) && info.dli_sname != NULL ? info.dli_sname : "?");
	dlclose(handle);
}

static int descending(const void *a, const void *b)
{
	return *(const int *)b - *(const int *)a;
}
static void *in_thread(void *argument)
{
	return argument;
}
static volatile int n_signals;
static void on_signal(int number)
{
	n_signals += number == SIGUSR1;
}
static void at_end(void)
{
	puts("end");
}

static void callbacks(struct view *mine)
{
	int numbers[] = {3, 1, 2}, key = 2;
	struct sigaction old;
	pthread_t thread;
	void *result;

	printf("callback %d %d %d %d\n", identity_each(identity_one, 5), identity_each(data[N_two], 5),
	       identity_each(identity_three, 5), identity_each(mine->by_data[N_chosen], 5));
	qsort(numbers, 3, sizeof(int), descending);
	printf("sorted %d %d %d %d\n", numbers[0], numbers[1], numbers[2],
	       bsearch(&key, numbers, 3, sizeof(int), descending) == &numbers[1]);
	printf("given %d %d\n", identity_given() == (void *)identity_hidden_alias,
	       identity_given() == (void *)data[N_hidden_alias]);
	pthread_create(&thread, NULL, in_thread, mine);
	pthread_join(thread, &result);
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	sigaction(SIGUSR1, NULL, &old);
	printf("thread %d signal %d %d\n", result == mine, n_signals, old.sa_handler == on_signal);
	atexit(at_end);
}

/* What libraries think of the functions of libc that they use. */
static void memory_functions(void)
{
	void *xml = dlopen("libxml2.so.2", RTLD_NOW), *crypto = dlopen("libcrypto.so.3", RTLD_NOW);
	void *got[4] = {0}, *taken[3] = {0};
	int (*get)(void **, void **, void **, void **) =
	    xml != NULL ? (int (*)(void **, void **, void **, void **))dlsym(xml, "xmlMemGet") : NULL;
	void (*of)(void **, void **, void **) =
	    crypto != NULL ? (void (*)(void **, void **, void **))dlsym(crypto, "CRYPTO_get_mem_functions") : NULL;

	if (get != NULL)
		get(&got[0], &got[1], &got[2], &got[3]);
	printf("libxml2 %d %d %d %d\n", got[0] == (void *)free, got[1] == (void *)malloc, got[2] == (void *)realloc,
	       got[0] == dlsym(RTLD_NEXT, "free"));
	if (of != NULL)
		of(&taken[0], &taken[1], &taken[2]);
	for (int i = 0; i < 3; i++)
		printf("libcrypto %d\n", crypto != NULL && taken[i] == dlsym(crypto, i == 0   ? "CRYPTO_malloc"
										     : i == 1 ? "CRYPTO_realloc"
											      : "CRYPTO_free"));
	free(malloc(5));
}

int main(int argc, char **argv)
{
	struct view mine = {0}, theirs = {0};
	char path[4096];

	(void)argc;
	look(&mine);
	compare_views("program", &mine, &mine);
	view_user(&theirs);
	compare_views("library", &mine, &theirs);
	theirs = (struct view){0};
	view_counted(&theirs);
	compare_views("counted", &mine, &theirs);
	compare_found("default", &mine, RTLD_DEFAULT, NULL);
	compare_found("next", &mine, RTLD_NEXT, NULL);
	compare_found("version", &mine, RTLD_DEFAULT, "IDENTITY_1");
	snprintf(path, sizeof(path), "%s/libidentity.so", argv[1]);
	compare_found("handle", &mine, dlopen(path, RTLD_LAZY), NULL);
	callbacks(&mine);
	snprintf(path, sizeof(path), "%s/libplugin.so", argv[1]);
	versions();
	for (int i = 0; i < 5; i++)
		compare_plugin(&mine, path, i / 2);
	memory_functions();
	printf("sum %d\n", mine.sum);
	return 0;
}
#endif

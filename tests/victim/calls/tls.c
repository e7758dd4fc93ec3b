/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Libraries that want BYTES of static TLS, at a multiple of ALIGN, and a program that says what it finds: its own
 * arguments, name and environment, whether threads with small stacks can be made, and whether a library that wants 1000
 * bytes can still be opened.
 *   -DLIBRARY: reaches its own data from the thread pointer. -DSHARED: others do. Else the program: tls [LIBRARY].
 */
#define _GNU_SOURCE
#include <stdio.h>

#ifndef ALIGN
#define ALIGN 8
#endif
#if defined LIBRARY
static __thread __attribute__((tls_model("initial-exec"), aligned(ALIGN))) char block[BYTES];
long tls_used(long n);
long tls_used(long n)
{
	for (long i = 0; i < BYTES; i++)
		block[i] = (char)(block[i] + n + i);
	return block[BYTES - 1];
}
#elif defined SHARED
__thread char tls_shared[BYTES];
#else
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#ifdef USES_SHARED
extern __thread char tls_shared[BYTES];
#endif
extern char **environ;

static void *in_thread(void *argument)
{
	return argument;
}

static void print_file(const char *path)
{
	char text[4096];
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text));

	for (ssize_t i = 0; i < n; i++)
		putchar(text[i] != '\0' ? text[i] : '|');
	putchar('\n');
	close(fd);
}

int main(int argc, char **argv)
{
	pthread_attr_t small;
	pthread_t thread;
	char exe[PATH_MAX] = "";
	char **e = environ;

	for (int i = 0; i < argc; i++)
		puts(argv[i]);
	for (; *e != NULL; e++)
		if (strncmp(*e, "LD_AUDIT=", 9) != 0 && strncmp(*e, "SOPROF_CALLS=", 13) != 0)
			puts(*e);
	printf("auxiliary vector: %d\n", ((unsigned long *)(e + 1))[0] == AT_SYSINFO_EHDR &&
					     ((unsigned long *)(e + 1))[1] == getauxval(AT_SYSINFO_EHDR));
	print_file("/proc/self/comm");
	print_file("/proc/self/cmdline");
	printf("%s %zd %s\n", exe, readlink("/proc/self/exe", exe, sizeof(exe) - 1),
	       (const char *)getauxval(AT_EXECFN));
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	printf("small thread %d\n", pthread_create(&thread, &small, in_thread, NULL));
	if (argc > 1)
		printf("opened %d\n", dlopen(argv[1], RTLD_NOW) != NULL);
#ifdef USES_SHARED
	tls_shared[BYTES - 1] = 'x';
#endif
	fflush(stdout);
	if (getenv("TLS_CHILD") != NULL)
		execlp("env", "env", "-0", NULL);
	return 0;
}
#endif

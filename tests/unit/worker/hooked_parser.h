/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser, with hooks: a file whose text is a word makes it do what a broken parser would do. */
#pragma once
#include "base/error.h"
#include "elf/elf.h"
#include "worker/priv.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static int hooked_open(int fd, struct sp_elf **ret_elf);
static int hooked_build(struct sp_elf *e, struct sp_blob **ret_blob);
static int hooked_package(struct sp_elf *e, struct sp_elf_package *ret_package);
#define sp_elf_open_fd hooked_open
#define sp_elf_package(e, p) hooked_package(e, p)
#define sp_blob_build hooked_build
#include <worker/parser.c> /* not the library's: this one has the hooks */
#undef sp_elf_open_fd
#undef sp_elf_package
#undef sp_blob_build

static char word[32]; /* the text of the file in work, when it is not an ELF file */

static bool is(const char *text)
{
	return strcmp(word, text) == 0;
}

static void misbehave(void)
{
	static volatile int *volatile nowhere = (int *)8;
	if (is("crash"))
		*nowhere = 1;
	if (is("abort"))
		abort();
	if (is("leave"))
		syscall(SYS_exit_group, 0); /* a sanitizer's _exit() does more than may be done here */
	while (is("hang"))
		;
	if (is("open") && open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0)
		abort();
	if (is("stat"))
		access("/etc/passwd", R_OK);
	if (is("socket"))
		socket(AF_INET, SOCK_STREAM, 0);
	if (is("ptrace"))
		ptrace(PTRACE_ATTACH, getppid(), 0, 0);
	if (is("kill"))
		kill(1, 0);
	if (is("exec"))
		execl("/bin/true", "true", NULL);
	if (is("fork"))
		(void)!fork();
	if (is("code"))
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (is("memfd"))
		memfd_create("x", 0);
}

static int hooked_open(int fd, struct sp_elf **ret_elf)
{
	ssize_t n = pread(fd, word, sizeof(word) - 1, 0);
	word[n < 0 ? 0 : n] = 0;
	misbehave();
	if (is("blob") || is("huge") || is("memory"))
		return 0; /* with *ret_elf NULL: the hook of the next step asks nothing of it */
	return sp_elf_open_fd(fd, ret_elf);
}

/* A parser that was taken over says what it likes. */
static int hooked_package(struct sp_elf *e, struct sp_elf_package *ret_package)
{
	int r = sp_elf_package(e, ret_package);
	if (r == 0 && strcmp(ret_package->name, "evil") == 0)
		ret_package->name[2] = '\n';
	if (r == 0 && strcmp(ret_package->name, "long") == 0)
		memset(ret_package->version, 'x', sizeof(ret_package->version));
	return r;
}

static int hooked_build(struct sp_elf *e, struct sp_blob **ret_blob)
{
	if (is("memory"))
		return malloc(2UL << 30) ? 0 : -ENOMEM;
	if (is("huge"))
		*ret_blob = calloc(1, 300UL << 20);
	else if (is("blob"))
		*ret_blob = calloc(1, 4096);
	else
		return sp_blob_build(e, ret_blob);
	if (!*ret_blob)
		return -ENOMEM;
	(*ret_blob)->magic = SP_BLOB_MAGIC;
	(*ret_blob)->version = SP_BLOB_VERSION;
	(*ret_blob)->bytes = is("huge") ? 300UL << 20 : 4096;
	return 0;
}

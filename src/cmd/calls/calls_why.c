/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls_why.c: explains why a command counted nothing, or will count nothing.
 *
 * The program is examined as by the kernel: a script's first line names the interpreter. The program's own dynamic
 * linker lists what it would load (--list), which runs nothing of it.
 */
#include "base/machine.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "cmd/calls/calls.h"
#include "profile/filter.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_HEADERS = 64, LIST_BYTES = 16384 };

struct program {
	char path[PATH_MAX];
	char interpreter[PATH_MAX]; /* "" = it has none */
	bool is_elf, is_32_bit, is_foreign, is_set_id;
};

/* --- what the program is --- */
static bool find_in(const char *dirs, const char *name, char *ret_path, size_t size)
{
	while (*dirs) {
		int len = (int)strcspn(dirs, ":");
		const char *slash = len ? "/" : "./";

		if (snprintf(ret_path, size, "%.*s%s%s", len, dirs, slash, name) < (int)size && !access(ret_path, X_OK))
			return true;
		dirs += len + (dirs[len] == ':');
	}
	return false;
}

static void interpreter_read(struct program *p, int fd, const Elf64_Ehdr *e)
{
	for (int i = 0; i < e->e_phnum && i < MAX_HEADERS; i++) {
		Elf64_Phdr h;
		ssize_t n;

		if (pread(fd, &h, sizeof(h), (off_t)(e->e_phoff + (size_t)i * sizeof(h))) != (ssize_t)sizeof(h))
			return;
		if (h.p_type != PT_INTERP)
			continue;
		n = pread(fd, p->interpreter, SP_MIN(h.p_filesz, sizeof(p->interpreter) - 1), (off_t)h.p_offset);
		p->interpreter[n < 0 ? 0 : n] = '\0';
		return;
	}
}

static void elf_look(struct program *p, int fd, const uint8_t *head)
{
	Elf64_Ehdr e;

	memcpy(&e, head, sizeof(e));
	p->is_elf = true;
	p->is_32_bit = e.e_ident[EI_CLASS] == ELFCLASS32;
	p->is_foreign = e.e_machine != SP_MACHINE_ELF && !p->is_32_bit;
	if (!p->is_32_bit && !p->is_foreign)
		interpreter_read(p, fd, &e);
}

static void path_look(struct program *p, int n_scripts);

static void script_look(struct program *p, char *line, int n_scripts)
{
	char *at = line + 2 + strspn(line + 2, " \t");

	at[strcspn(at, " \t\n")] = '\0';
	snprintf(p->path, sizeof(p->path), "%s", at);
	path_look(p, n_scripts + 1);
}

static void path_look(struct program *p, int n_scripts)
{
	SP_CLOSE int fd = open(p->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	union {
		uint8_t bytes[256];
		char text[256];
	} head = {0};
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || pread(fd, head.bytes, sizeof(head) - 1, 0) < 4)
		return;
	if (!memcmp(head.bytes, "#!", 2) && n_scripts < 4) {
		script_look(p, head.text, n_scripts);
		return;
	}
	p->is_set_id = st.st_mode & (S_ISUID | S_ISGID);
	if (!memcmp(head.bytes, ELFMAG, SELFMAG))
		elf_look(p, fd, head.bytes);
}

static void program_look(const char *name, struct program *p)
{
	const char *dirs = getenv("PATH");

	*p = (struct program){0};
	if (strchr(name, '/'))
		snprintf(p->path, sizeof(p->path), "%s", name);
	else if (!find_in(dirs ? dirs : "/usr/bin:/bin", name, p->path, sizeof(p->path)))
		return;
	path_look(p, 0);
}

/* --- what it loads --- */
static void list_run(const struct program *p, int out)
{
	int null = open("/dev/null", O_RDWR);

	dup2(out, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	dup2(null, STDIN_FILENO);
	execl(p->interpreter, p->interpreter, "--list", p->path, NULL);
	_exit(127);
}

/* Lines: a tab, the name, and where it was found. */
static void list_read(const struct program *p, char *ret_text, size_t size)
{
	size_t len = 0;
	ssize_t n = 1;
	int pipes[2];
	pid_t pid;

	*ret_text = '\0';
	if (pipe2(pipes, O_CLOEXEC))
		return;
	pid = fork();
	if (!pid)
		list_run(p, pipes[1]);
	close(pipes[1]);
	while (pid > 0 && len + 1 < size && (n > 0 || (n < 0 && errno == EINTR))) {
		n = read(pipes[0], ret_text + len, size - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	ret_text[len] = '\0';
	close(pipes[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/*
 * Makes of the linker's lines "libz.so.1, libc.so.6", and offers them as what may have been meant. *ret_has: near->word
 * is one of them.
 */
static void names_take(char *text, char *ret_names, size_t size, struct sp_suggest *near, bool *ret_has)
{
	char *save = NULL, *line;
	size_t len = 0;

	*ret_names = '\0';
	*ret_has = false;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *name = line + strspn(line, " \t"), *slash;

		name[strcspn(name, " ")] = '\0';
		slash = strrchr(name, '/');
		name = slash ? slash + 1 : name;
		if (!strncmp(name, "linux-vdso", 10))
			continue;
		sp_suggest_offer(near, name);
		*ret_has = *ret_has || !strcmp(near->word, name);
		if (len < size)
			len += (size_t)snprintf(ret_names + len, size - len, "%s%s", len ? ", " : "", name);
	}
}

static char *not_loaded(const char *command, const struct program *p, const struct sp_words *libraries)
{
	struct sp_suggest near = {.word = libraries->words[0]};
	char list[LIST_BYTES], names[LIST_BYTES / 4];
	char *text = NULL;
	bool has;

	list_read(p, list, sizeof(list));
	names_take(list, names, sizeof(names), &near, &has);
	if (has)
		return asprintf(&text, "nothing that was counted has loaded %s; %s loads it, and was not counted",
				near.word, command) < 0
			   ? NULL
			   : text;
	if (asprintf(&text, "nothing that ran has loaded %s%s; %s loads %s%s%s%s", libraries->words[0],
		     libraries->n > 1 ? " or one of the others" : "", command, *names ? names : "nothing",
		     near.best ? "; did you mean " : "", near.best ? near.best : "", near.best ? "?" : "") < 0)
		return NULL;
	return text;
}

__attribute__((format(printf, 1, 0))) static char *said(const char *format, const char *word)
{
	char *text = NULL;

	return asprintf(&text, format, word) < 0 ? NULL : text;
}

bool sp_calls_is_loaded(const struct sp_calls_snapshot *s)
{
	for (size_t i = 0; i < s->n_libraries; i++)
		if (s->libraries[i].is_target)
			return true;
	return false;
}

static bool is_matched(const struct sp_calls_snapshot *s, const char *glob)
{
	for (size_t i = 0; i < s->n_arcs; i++)
		if (sp_glob_matches(glob, s->callees[s->arcs[i].callee].name))
			return true;
	return false;
}

int sp_calls_unmatched(const struct sp_words *libraries, const struct sp_words *functions,
		       const struct sp_calls_snapshot *s, char **ret_text)
{
	SP_FREE char *text = NULL;
	size_t len, n = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return -ENOMEM;
	fputs("no function of ", out);
	for (size_t i = 0; i < libraries->n; i++)
		fprintf(out, "%s%s", i ? " or " : "",
			strcmp(libraries->words[i], SP_CALLS_ALL) ? libraries->words[i] : "any library");
	fputs(" that was called matches ", out);
	for (size_t i = 0; i < functions->n; i++)
		if (!is_matched(s, functions->words[i]))
			fprintf(out, "%s'%s'", n++ ? " or " : "", functions->words[i]);
	if (fclose(out))
		return -ENOMEM;
	*ret_text = n ? sp_take_ptr(text) : NULL;
	return 0;
}

char *sp_calls_why(char *const *command, const struct sp_words *libraries, const struct sp_words *functions,
		   const struct sp_calls_snapshot *s)
{
	struct program p;
	char *text = NULL;

	if (sp_calls_is_loaded(s) && functions->n)
		return sp_calls_unmatched(libraries, functions, s, &text) < 0 ? NULL : text;
	if (sp_calls_is_loaded(s) && !strcmp(libraries->words[0], SP_CALLS_ALL))
		return said("nothing was counted: no library was called from outside or by its linkage table%s", "");
	if (sp_calls_is_loaded(s))
		return said("nothing was counted: %s was loaded, and not called from outside or by the linkage table",
			    libraries->words[0]);
	program_look(command[0], &p);
	if (s->counters[SP_CALLS_N_PROCESSES])
		return not_loaded(command[0], &p, libraries);
	if (p.is_set_id)
		return said(
		    "nothing was counted: %s is a set-user-id program, and the dynamic linker counts nothing in "
		    "those",
		    p.path);
	if (p.is_32_bit)
		return said("nothing was counted: %s is a 32-bit program; only 64-bit ones are counted", p.path);
	if (p.is_foreign)
		return said("nothing was counted: %s is of another machine", p.path);
	if (p.is_elf && !*p.interpreter)
		return said(
		    "nothing was counted: %1$s is linked statically: no library is called; its own functions are "
		    "counted by probes, as root: soprof calls %1$s 10",
		    p.path);
	if (strstr(p.interpreter, "musl"))
		return said("nothing was counted: %s runs with musl, whose dynamic linker has no LD_AUDIT; calls are "
			    "counted by probes, as root: soprof calls LIB 10",
			    p.path);
	return said("nothing was counted: no program that ran was linked dynamically with glibc (%s)", p.path);
}

/* --- what can be known before --- */
static char *doubt(const char *command, const char *library)
{
	struct sp_suggest near = {.word = library};
	char list[LIST_BYTES], names[LIST_BYTES / 4], *text = NULL;
	struct program p;
	bool has = false;

	program_look(command, &p);
	*list = '\0';
	if (*p.interpreter && !strstr(p.interpreter, "musl"))
		list_read(&p, list, sizeof(list));
	names_take(list, names, sizeof(names), &near, &has);
	if (has)
		return NULL;
	return asprintf(&text,
			"%s is nowhere where ld.so looks by itself, and %s does not name it%s%s%s: counted if a "
			"program loads it from elsewhere",
			library, command, near.best ? " (did you mean " : "", near.best ? near.best : "",
			near.best ? "?)" : "") < 0
		   ? NULL
		   : text;
}

char *sp_calls_doubt(char *const *command, const struct sp_words *libraries)
{
	for (size_t i = 0; i < libraries->n; i++)
		if (strcmp(libraries->words[i], SP_CALLS_ALL) && !sp_calls_library_is_known(libraries->words[i])) {
			char *text = doubt(command[0], libraries->words[i]);

			if (text)
				return text;
		}
	return NULL;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kallsyms.c: names of kernel addresses, by one pass over /proc/kallsyms that keeps only what was asked for.
 *
 * Lines are `ADDRESS TYPE NAME[\t[MODULE]]`, mostly but not wholly sorted; t, T, w and W are code. The file tells no
 * sizes: a function reaches to the next symbol of any type, and not further than SP_KERNEL_FUNCTION_MAX.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/search.h"
#include "symbol/priv.h"
#include "symbol/symbol.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_BYTES = 64 << 10 };

bool sp_kallsyms_line(char *s, struct sp_kernel_line *l)
{
	char *end;
	l->address = strtoull(s, &end, 16);
	if (end == s || end[0] != ' ' || !end[1] || end[2] != ' ')
		return false;
	l->type = end[1];
	char *name = end + 3, *module = strchr(name, '\t');
	if (module)
		*module++ = 0;
	l->name = name;
	l->module = module && *module == '[' ? module : NULL;
	return *name != 0;
}

bool sp_kallsyms_is_text(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

enum sp_symbol_bind sp_kallsyms_bind(char type)
{
	if (type == 'w' || type == 'W')
		return SP_BIND_WEAK;
	return type >= 'A' && type <= 'Z' ? SP_BIND_GLOBAL : SP_BIND_LOCAL;
}

static size_t first_at(const struct sp_kernel_symbol *names, size_t n, uint64_t address)
{
	return SP_N_BELOW(names, n, address, address);
}

static bool better(const struct sp_kernel_symbol *k, const struct sp_kernel_line *l)
{
	if (!k->name || l->address != k->start)
		return !k->name || l->address > k->start;
	if (sp_kallsyms_is_text(l->type) != k->text)
		return sp_kallsyms_is_text(l->type);
	return sp_symbol_prefer(l->name, sp_kallsyms_bind(l->type), k->name, k->bind);
}

/* Keeps the memory of what was there: in a sorted file each line is better than the one before it. */
static int text_replace(char **text, uint32_t *capacity, const char *by)
{
	size_t n = strlen(by) + 1;
	if (n > *capacity) {
		char *grown = realloc(*text, n);
		if (!grown)
			return -ENOMEM;
		*text = grown;
		*capacity = (uint32_t)n;
	}
	memcpy(*text, by, n);
	return 0;
}

static int kallsyms_copy_name(struct sp_kernel_symbol *k, const struct sp_kernel_line *l)
{
	char *module = l->module ? strdup(l->module) : NULL;
	if ((l->module && !module) || text_replace(&k->name, &k->name_capacity, l->name) < 0) {
		free(module);
		return -ENOMEM;
	}
	free(k->module);
	k->module = module;
	k->start = l->address;
	k->bind = sp_kallsyms_bind(l->type);
	k->text = sp_kallsyms_is_text(l->type);
	return 0;
}

struct kallsyms_reading {
	struct sp_kernel_symbol *names;
	size_t n, at;             /* at: where the line before this one belongs */
	bool shown, any, is_rest; /* is_rest: of a line whose beginning was left out */
};

/* While the file is read, `size` is the address of the next symbol; 0 = none yet. */
static int note_line(struct kallsyms_reading *r, const struct sp_kernel_line *l)
{
	struct sp_kernel_symbol *names = r->names;
	size_t i = r->at;
	if ((i > 0 && names[i - 1].address >= l->address) || (i < r->n && names[i].address < l->address))
		i = r->at = first_at(names, r->n, l->address);
	if (i > 0 && (!names[i - 1].size || l->address < names[i - 1].size))
		names[i - 1].size = l->address;
	return i < r->n && better(&names[i], l) ? kallsyms_copy_name(&names[i], l) : 0;
}

static int kallsyms_take_line(struct kallsyms_reading *r, char *line)
{
	struct sp_kernel_line l;
	if (!sp_kallsyms_line(line, &l))
		return 0;
	r->any = true;
	r->shown |= l.address != 0;
	return l.address ? note_line(r, &l) : 0;
}

/* Takes the lines that end in the first n bytes, at the end of the file also the last one; what is left moves down. */
static int kallsyms_take_lines(struct kallsyms_reading *r, char *bytes, bool is_end, size_t *n)
{
	char *line = bytes, *end;
	int failure = 0;
	bytes[*n] = '\n';
	while (!failure && (end = memchr(line, '\n', *n + is_end - (size_t)(line - bytes)))) {
		*end = 0;
		failure = r->is_rest ? 0 : kallsyms_take_line(r, line);
		r->is_rest = false;
		line = end + 1;
	}
	*n -= SP_MIN(*n, (size_t)(line - bytes));
	memmove(bytes, line, *n);
	return failure;
}

/* A stream's own buffer would be 1 KiB, and the kernel gives 4 at a time. */
static int kallsyms_read_lines(FILE *f, struct kallsyms_reading *r)
{
	SP_FREE char *bytes = malloc(INPUT_BYTES + 1);
	size_t n = 0, got;
	int failure = 0;
	if (!bytes)
		return -ENOMEM;
	do {
		if (n == INPUT_BYTES) { /* no line is so long */
			n = 0;
			r->is_rest = true;
		}
		got = fread(bytes + n, 1, INPUT_BYTES - n, f);
		n += got;
		failure = kallsyms_take_lines(r, bytes, !got, &n);
	} while (!failure && got);
	if (!failure && ferror(f))
		return -EIO;
	if (!failure && r->any && !r->shown)
		return sp_fail_said(-EPERM, SP_KALLSYMS_HIDDEN);
	return failure;
}

static int spread(struct sp_kernel_symbol *names, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct sp_kernel_symbol *k = &names[i], *before = &names[i - 1], *late = &names[n - 1 - i];
		if (!k->name && before->name) {
			const struct sp_kernel_line l = {before->start, 0, before->name, before->module};
			int r = kallsyms_copy_name(k, &l);
			if (r)
				return r;
			k->bind = before->bind;
			k->text = before->text;
		}
		uint64_t next = names[n - i].size;
		if (next && (!late->size || next < late->size))
			late->size = next;
	}
	return 0;
}

static void settle(struct sp_kernel_symbol *k)
{
	uint64_t into = k->address - k->start;
	uint64_t size = k->size > k->start ? k->size - k->start : SP_KERNEL_FUNCTION_MAX;
	if (k->name && k->text && into < size && into < SP_KERNEL_FUNCTION_MAX) {
		k->size = SP_MIN(size, (uint64_t)SP_KERNEL_FUNCTION_MAX);
		return;
	}
	free(k->name);
	free(k->module);
	*k = (struct sp_kernel_symbol){.address = k->address};
}

int sp_kallsyms_find(FILE *f, struct sp_kernel_symbol *names, size_t n)
{
	struct kallsyms_reading reading = {.names = names, .n = n};
	int r = kallsyms_read_lines(f, &reading);
	if (!r)
		r = spread(names, n);
	for (size_t i = 0; i < n; i++)
		settle(&names[i]);
	return r ? sp_fail(r, "read the kernel's symbols") : 0;
}

void sp_kallsyms_done(struct sp_kernel_symbol *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(names[i].name);
		free(names[i].module);
		names[i] = (struct sp_kernel_symbol){0};
	}
}

static int tell(const struct sp_kernel_symbol *k, struct sp_name *m)
{
	SP_FREE char *shown = sp_demangle(k->name), *name = NULL; /* Rust's */
	m->linkage_name = strdup(k->name);
	if (!shown || !m->linkage_name ||
	    asprintf(&name, "%s%s%s", shown, k->module ? "\t" : "", k->module ? k->module : "") < 0)
		return -ENOMEM;
	m->name = sp_take_ptr(name);
	m->start = m->vaddr = k->start;
	m->size = k->size;
	return 0;
}

FILE *sp_kallsyms_open(void)
{
	static const char name[] = "/proc/kallsyms";
	char path[sizeof(name) + 1];
	ssize_t n = readlink("/proc/self/fd/0", path, sizeof(path));
	SP_CLOSE int null = -1, fd = -1;

	if (n != sizeof(name) - 1 || memcmp(path, name, sizeof(name) - 1) != 0)
		return fopen(name, "re");
	fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (fd < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0)
		return NULL;
	FILE *f = fdopen(fd, "r");
	if (f)
		(void)sp_take_fd(&fd);
	return f;
}

int sp_symbol_kernel(FILE *kallsyms, const uint64_t *addresses, size_t n, struct sp_name *names)
{
	FILE *ours SP_FCLOSE = kallsyms ? NULL : fopen("/proc/kallsyms", "re");
	if (!kallsyms && !ours)
		return sp_fail(-errno, "open /proc/kallsyms");
	struct sp_kernel_symbol *found SP_FREE = calloc(n + 1, sizeof(*found));
	if (!found)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		found[i].address = addresses[i];
	if (kallsyms)
		rewind(kallsyms);
	int r = sp_kallsyms_find(kallsyms ? kallsyms : ours, found, n);
	for (size_t i = 0; i < n && r == 0; i++)
		r = found[i].name ? tell(&found[i], &names[i]) : 0;
	sp_kallsyms_done(found, n);
	return r;
}

static bool is_one_of(const char *text, size_t n, const char *const *names, size_t n_names)
{
	for (size_t i = 0; i < n_names; i++)
		if (n == strlen(names[i]) && !strncmp(text, names[i], n))
			return true;
	return false;
}

static bool begins_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/*
 * Of several symbols at one address the kernel names the one with the fewest underscores, then the first; better() a
 * global one, then the shortest. They differ at system calls without arguments (__x64_sys_getpid), at code for early
 * use (__pi_), and where interrupts return. Of BPF programs the kernel does not say what they are.
 */
static bool is_doubtful(const char *name, size_t n)
{
	static const char call[] = "__do_sys_";
	static const char *const calls[] = {
	    "fork",       "getegid",         "getegid16",    "geteuid", "geteuid16",   "getgid",   "getgid16",
	    "getpgrp",    "getpid",          "getppid",      "gettid",  "getuid",      "getuid16", "idle",
	    "ni_syscall", "inotify_init",    "munlockall",   "pause",   "sched_yield", "setsid",   "sgetmask",
	    "sync",       "restart_syscall", "rt_sigreturn", "uprobe",  "uretprobe",   "vfork",    "vhangup",
	};
	static const char *const starts[] = {"__do_compat_sys_",         "__pi_",     "__x86_indirect_",
					     "common_interrupt_return+", "bpf_prog_", "bpf_trampoline_",
					     "bpf_dispatcher_"};
	if (begins_with(name, call))
		return is_one_of(name + strlen(call), n - strlen(call), calls, SP_COUNT(calls));
	for (size_t i = 0; i < SP_COUNT(starts); i++)
		if (begins_with(name, starts[i]))
			return true;
	return false;
}

int sp_symbol_kernel_text(uint64_t address, const char *text, struct sp_name *ret_name)
{
	const char *plus = strrchr(text, '+'), *module = plus ? strchr(plus, '[') : NULL;
	unsigned long long offset, size;
	if (!plus || sscanf(plus, "+%llx/%llx", &offset, &size) != 2 || offset >= size ||
	    size > SP_KERNEL_FUNCTION_MAX || is_doubtful(text, (size_t)(plus - text)))
		return 1;
	SP_FREE char *name = strndup(text, (size_t)(plus - text)), *of = module ? strdup(module) : NULL;
	struct sp_kernel_symbol k = {.name = name, .module = of, .start = address - offset, .size = size};
	return !name || (module && !of) ? -ENOMEM : tell(&k, ret_name);
}

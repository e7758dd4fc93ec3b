/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an opener hands out: the process that asks may have been taken over by what it reads, and is not to get secrets
 * by a process that may open everything. So what is opened is looked at here, whatever was asked for: ELF files (no
 * core dumps, which are memory), jit dumps, perf maps in their place, and of /proc what is listed.
 */
#include "base/error.h"
#include "base/io.h"
#include "worker/mounts.h"
#include "worker/priv.h"
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

enum { MAX_LINE = 256 };

static bool is_elf(const unsigned char *bytes, size_t n)
{
	const unsigned char *type = bytes + offsetof(Elf64_Ehdr, e_type);
	/* in either byte order */
	return n >= sizeof(Elf32_Ehdr) && memcmp(bytes, ELFMAG, SELFMAG) == 0 && (type[0] | type[1]) != ET_CORE;
}

static bool is_jit_dump(const unsigned char *bytes, size_t n)
{
	return n >= 8 && (memcmp(bytes, "JiTD", 4) == 0 || memcmp(bytes, "DTiJ", 4) == 0);
}

/* Up to 16 digits, after 0x or not, and a space. NULL: that is something else. */
static const char *after_number(const char *text)
{
	size_t n;
	text += text[0] == '0' && (text[1] | 0x20) == 'x' ? 2 : 0;
	n = strspn(text, "0123456789abcdefABCDEF");
	return n >= 1 && n <= 16 && text[n] == ' ' ? text + n + 1 : NULL;
}

/* By its first line: START SIZE NAME. One that was just made has none. */
static bool is_perf_map(const unsigned char *bytes, size_t n)
{
	char line[MAX_LINE + 1];
	memcpy(line, bytes, n);
	line[n] = 0;
	const char *rest = after_number(line);
	rest = rest ? after_number(rest) : NULL;
	return n == 0 || (rest && *rest && *rest != '\n');
}

/* The number in a path of this form, and nothing behind it; 0: it has another form. */
static pid_t number_in(const char *path, const char *before, const char *behind)
{
	size_t n = strlen(before);
	char *end;
	if (strncmp(path, before, n) != 0 || path[n] < '1' || path[n] > '9')
		return 0;
	unsigned long number = strtoul(path + n, &end, 10);
	return number <= INT32_MAX && strcmp(end, behind) == 0 ? (pid_t)number : 0;
}

/* Of others' memory only that of processes that have code there which is in no file. */
static int check_proc(const char *path)
{
	pid_t pid = number_in(path, "/proc/", "/mem");
	if (number_in(path, "/proc/", "/maps"))
		return 0;
	if (pid && sp_maps_has_made_code(pid))
		return 0;
	return sp_fail_said(-EACCES, "nothing in /proc that soprof reads");
}

int sp_opener_check(const struct sp_job_message *m, int fd)
{
	char path[64] = "";
	unsigned char head[MAX_LINE];
	struct statfs disk;
	if (m->kind == SP_JOB_OPEN_PATH && m->path_len < sizeof(path))
		snprintf(path, sizeof(path), "%.*s", (int)m->path_len, m->path);
	if (fstatfs(fd, &disk) < 0)
		return -errno;
	if (disk.f_type == PROC_SUPER_MAGIC)
		return check_proc(m->in_root ? "" : path);
	ssize_t n = sp_read_most_at(fd, head, sizeof(head), 0);
	if (n < 0)
		return (int)n;
	if (is_elf(head, (size_t)n) || is_jit_dump(head, (size_t)n))
		return 0;
	if (m->kind == SP_JOB_OPEN && !m->open.start && !m->open.end && !m->open.key.ino)
		return sp_fail_said(-EBADMSG, "not a jit dump"); /* nothing else is looked for by its name alone */
	if (!m->in_root || !number_in(path, "/tmp/perf-", ".map"))
		return sp_fail_said(-ENOEXEC, "not an ELF file");
	return is_perf_map(head, (size_t)n) ? 0 : sp_fail_said(-EBADMSG, "not a perf map");
}

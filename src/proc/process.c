/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/process.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/text.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATUS_MAX_BYTES = 64 << 10, CPUS_MAX_BYTES = 64 << 10, CPUS_MAX = 1 << 16, USER_MAX_BYTES = 64 << 10 };

/* A process that /proc does not show may still exist: signal 0 tells. */
static int why_hidden(uint32_t tid, int r)
{
	sp_error_clear();
	if (r != -ENOENT && r != -ESRCH)
		return sp_fail(r, "read the status of process %u", tid);
	if (kill((pid_t)tid, 0) == 0 || errno == EPERM)
		return sp_fail(-EACCES, "read the status of process %u", tid);
	return sp_fail(-ESRCH, "process %u", tid);
}

/* Finds the number behind a word at the beginning of a line in a file of /proc. */
static int number_in(const char *path, char *text, const char *word, uint32_t *ret_number)
{
	uint64_t number;
	char *line = strstr(text, word);

	if (!line)
		return sp_fail(-EBADMSG, "find %.*s in %s", (int)strlen(word) - 3, word + 1, path);
	line += strlen(word);
	line[strcspn(line, "\n")] = '\0';
	int r = sp_parse_number(line, 1, INT32_MAX, &number);
	if (r < 0)
		return sp_fail(-EBADMSG, "read %.*s in %s", (int)strlen(word) - 3, word + 1, path);
	*ret_number = (uint32_t)number;
	return 0;
}

int sp_process_tgid(uint32_t tid, uint32_t *ret_tgid)
{
	SP_FREE char *text = NULL;
	char path[64];

	if (tid == 0 || tid > INT32_MAX)
		return sp_fail(-ESRCH, "process %u", tid);
	(void)snprintf(path, sizeof(path), "/proc/%u/status", tid);
	int r = sp_text_read(path, STATUS_MAX_BYTES, &text, NULL);
	return r < 0 ? why_hidden(tid, r) : number_in(path, text, "\nTgid:\t", ret_tgid);
}

int sp_process_of_pidfd(int pidfd, uint32_t *ret_pid)
{
	SP_FREE char *text = NULL;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	int r = sp_text_read(path, STATUS_MAX_BYTES, &text, NULL);
	return r < 0 ? r : number_in(path, text, "\nPid:\t", ret_pid);
}

int sp_process_cpus_online(uint32_t **ret_cpus, size_t *ret_n)
{
	static const char path[] = "/sys/devices/system/cpu/online";
	SP_FREE char *text = NULL;
	int r = sp_text_read(path, CPUS_MAX_BYTES, &text, NULL);

	if (r < 0)
		return access("/sys/devices", F_OK) < 0 ? sp_fail(r, "see the CPUs: is /sys mounted") : r;
	text[strcspn(text, "\n")] = '\0';
	r = sp_parse_list(text, CPUS_MAX - 1, CPUS_MAX, ret_cpus, ret_n);
	return r < 0 ? sp_fail(r, "understand %s", path) : 0;
}

void sp_process_user_name(uint32_t uid, char *ret_name, size_t size)
{
	SP_FREE char *buffer = malloc(USER_MAX_BYTES);
	struct passwd entry, *found = NULL;

	if (buffer && getpwuid_r(uid, &entry, buffer, USER_MAX_BYTES, &found) == 0 && found)
		(void)snprintf(ret_name, size, "%s", found->pw_name);
	else
		(void)snprintf(ret_name, size, "%u", uid);
}

int sp_process_setting(const char *name, int *ret_value)
{
	SP_FREE char *text = NULL;
	char path[256];
	uint64_t value;

	if ((size_t)snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name) >= sizeof(path))
		return sp_fail(-ENAMETOOLONG, "read setting %s", name);
	int r = sp_text_read(path, 64, &text, NULL);
	if (r < 0)
		return r;
	text[strcspn(text, "\n")] = '\0';
	int is_negative = text[0] == '-'; /* perf_event_paranoid may be negative */
	r = sp_parse_number(text + is_negative, 0, INT32_MAX, &value);
	if (r < 0)
		return sp_fail(-EBADMSG, "read a number in %s", path);
	*ret_value = is_negative ? -(int)value : (int)value;
	return 0;
}

bool sp_process_is_filtered(void)
{
	SP_FREE char *status = NULL;
	const char *mode;

	if (sp_text_read("/proc/self/status", STATUS_MAX_BYTES, &status, NULL) < 0) {
		sp_error_clear();
		return false;
	}
	mode = strstr(status, "\nSeccomp:\t");
	return mode && strtol(mode + sizeof("\nSeccomp:\t") - 1, NULL, 10) > 0;
}

/* The kernel's own namespaces have fixed inode numbers (include/linux/proc_ns.h). */
bool sp_process_is_in_user_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/user", &st) == 0 && st.st_ino != 0xeffffffd;
}

bool sp_process_is_in_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) != 0 || st.st_ino != 0xeffffffc;
}

/* Field 22 of /proc/PID/stat: clock ticks since boot; the name before it, in brackets, may hold anything. */
uint64_t sp_process_start_ns(uint32_t pid)
{
	SP_FREE char *text = NULL;
	char path[64], *at;
	int field;

	(void)snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (sp_text_read(path, 4096, &text, NULL) < 0) {
		sp_error_clear();
		return 0;
	}
	at = strrchr(text, ')');
	for (field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) * (1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK)) : 0;
}

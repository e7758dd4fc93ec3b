/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor_sampling.c: tries what sampling needs from the kernel: BPF, perf events, files of processes. */
#include "base/error.h"
#include "base/mem.h"
#include "cmd/doctor/doctor.h"
#include "cmd/profile/profile_parts.h"
#include "proc/process.h"

#include <bpf/bpf.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_LOOKED_AT = 4096 };

/* --- BPF --- */
static void btf(struct sp_doctor *d)
{
	static const char path[] = "/sys/kernel/btf/vmlinux";
	struct stat st;

	if (!access(path, R_OK) && !stat(path, &st)) {
		sp_doctor_add(d, "btf", "type information (BTF)", SP_DOCTOR_YES, "%s, %lld KiB", path,
			      (long long)st.st_size >> 10);
		return;
	}
	sp_doctor_add(d, "btf", "type information (BTF)", SP_DOCTOR_NO, "%s: %s", path, sp_doctor_errno(-errno));
	sp_doctor_cure(d, "a kernel with CONFIG_DEBUG_INFO_BTF, as distributions build them; /sys has to be mounted");
}

/* Why the kernel does not do something with BPF, and what would help. */
static void bpf_refused(struct sp_doctor *d, const char *key, const char *what, int r)
{
	int unprivileged = -1;

	sp_process_setting("unprivileged_bpf_disabled", &unprivileged);
	if (unprivileged < 0)
		sp_doctor_add(d, key, what, SP_DOCTOR_NO, "%s", sp_doctor_errno(r));
	else
		sp_doctor_add(d, key, what, SP_DOCTOR_NO, "%s; kernel.unprivileged_bpf_disabled is %d",
			      sp_doctor_errno(r), unprivileged);
	if (r == -ENOSYS)
		sp_doctor_cure(d, "a kernel with CONFIG_BPF_SYSCALL");
	else if (d->in_namespace)
		sp_doctor_cure(d, "capabilities of a user namespace do not count: run it outside, as root");
	else if (sp_doctor_has(d, CAP_SYS_ADMIN))
		sp_doctor_cure(d, "a filter (seccomp) or a security module refuses it: let it pass bpf");
	else
		sp_doctor_cure(d, "run as root, or with CAP_BPF and CAP_PERFMON");
}

static void bpf_maps(struct sp_doctor *d)
{
	SP_CLOSE int fd = bpf_map_create(BPF_MAP_TYPE_HASH, "sp_doctor", 4, 4, 1, NULL);

	if (fd < 0)
		bpf_refused(d, "bpf", "BPF system call", fd == -1 ? -errno : fd);
	else
		sp_doctor_add(d, "bpf", "BPF system call", SP_DOCTOR_YES, "made a map");
}

/* reads: of the kernel's memory, by helper 113, which lockdown=confidentiality takes away. */
static int program_load(bool reads)
{
	const struct bpf_insn plain[] = {
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K},
	    {.code = BPF_JMP | BPF_EXIT},
	};
	const struct bpf_insn reading[] = {
	    {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 3, .src_reg = 1},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 10},
	    {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = -8},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 8},
	    {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_probe_read_kernel},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K},
	    {.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "sp_doctor", "GPL", reads ? reading : plain,
			       reads ? SP_COUNT(reading) : SP_COUNT(plain), NULL);

	return fd == -1 ? -errno : fd;
}

static void bpf_programs(struct sp_doctor *d)
{
	SP_CLOSE int fd = program_load(false);

	d->no_bpf = fd < 0;
	if (fd < 0) {
		bpf_refused(d, "bpf_programs", "BPF programs", fd);
		return;
	}
	sp_doctor_add(d, "bpf_programs", "BPF programs", SP_DOCTOR_YES, "loaded one for perf events");
	SP_CLOSE int reading = program_load(true);
	if (reading >= 0) {
		sp_doctor_add(d, "bpf_reads", "BPF reads of the kernel", SP_DOCTOR_YES,
			      "loaded a program that reads the kernel's memory");
		return;
	}
	sp_doctor_add(d, "bpf_reads", "BPF reads of the kernel", SP_DOCTOR_NO,
		      "%s: the verifier refuses bpf_probe_read_kernel", sp_doctor_errno(reading));
	sp_doctor_cure(d, "boot with lockdown=integrity, if the row lockdown says confidentiality");
}

void sp_doctor_bpf(struct sp_doctor *d)
{
	btf(d);
	bpf_maps(d);
	bpf_programs(d);
	sp_error_clear();
}

/* --- perf events --- */
const char *sp_doctor_perf_cure(const struct sp_doctor *d, enum sp_doctor_perf what)
{
	bool admin = sp_doctor_has(d, CAP_SYS_ADMIN), perfmon = sp_doctor_has(d, CAP_PERFMON);

	if (d->in_namespace)
		return "capabilities of a user namespace do not count: run it outside, as root";
	if (admin)
		return "a filter (seccomp) or a security module refuses it: let it pass perf_event_open";
	if (d->paranoid >= 3 && perfmon)
		return "sysctl kernel.perf_event_paranoid=2: at 3 Debian's kernels want CAP_SYS_ADMIN, not CAP_PERFMON";
	if (what == SP_DOCTOR_PERF_OWN_USER)
		return "sysctl kernel.perf_event_paranoid=2";
	if (what == SP_DOCTOR_PERF_OWN)
		return "sysctl kernel.perf_event_paranoid=1; or CAP_PERFMON where that is 2 or less";
	return "run as root; or with CAP_PERFMON where kernel.perf_event_paranoid is 2 or less";
}

static void perf_one(struct sp_doctor *d, const char *key, const char *what, enum sp_doctor_perf kind)
{
	bool all = kind == SP_DOCTOR_PERF_ALL;
	int r =
	    sp_event_try(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, all ? -1 : 0, kind != SP_DOCTOR_PERF_OWN_USER);

	if (r >= 0) {
		d->has_own_kernel |= kind == SP_DOCTOR_PERF_OWN;
		d->has_all |= all;
		sp_doctor_add(d, key, what, SP_DOCTOR_YES, "opened cpu-clock");
		return;
	}
	if (d->paranoid == INT_MIN)
		sp_doctor_add(d, key, what, SP_DOCTOR_NO, "%s", sp_doctor_errno(r));
	else
		sp_doctor_add(d, key, what, SP_DOCTOR_NO, "%s; kernel.perf_event_paranoid is %d", sp_doctor_errno(r),
			      d->paranoid);
	if (r == -ENOSYS)
		sp_doctor_cure(d, "a kernel with CONFIG_PERF_EVENTS");
	else
		sp_doctor_cure(d, "%s", sp_doctor_perf_cure(d, kind));
}

static void perf_cycles(struct sp_doctor *d)
{
	int r = sp_event_try(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0, false);

	if (r >= 0) {
		sp_doctor_add(d, "pmu", "hardware counters", SP_DOCTOR_YES, "opened cycles");
		return;
	}
	if (r == -ENOENT || r == -EOPNOTSUPP) {
		sp_doctor_add(d, "pmu", "hardware counters", SP_DOCTOR_NO,
			      "%s: this machine has none, as most virtual ones", sp_doctor_errno(r));
		sp_doctor_cure(d, "none is needed: the default event is cpu-clock");
		return;
	}
	sp_doctor_add(d, "pmu", "hardware counters", SP_DOCTOR_NO, "%s", sp_doctor_errno(r));
	sp_doctor_cure(d, "%s", sp_doctor_perf_cure(d, SP_DOCTOR_PERF_OWN_USER));
}

static void perf_settings(struct sp_doctor *d)
{
	static const char *const may[] = {"the whole machine", "their own processes, and the kernel in them",
					  "their own processes, in user mode", "nothing"};
	int level = SP_MIN(SP_MAX(d->paranoid, 0), (int)SP_COUNT(may) - 1), kib;

	if (d->paranoid != INT_MIN) {
		sp_doctor_add(d, "perf_event_paranoid", "sampling by everybody",
			      level < 2    ? SP_DOCTOR_YES
			      : level == 2 ? SP_DOCTOR_PARTLY
					   : SP_DOCTOR_NO,
			      "kernel.perf_event_paranoid is %d: without capabilities users may sample %s", d->paranoid,
			      may[level])
		    ->is_fact = true;
		sp_doctor_value(d, d->paranoid);
	}
	if (sp_process_setting("perf_event_mlock_kb", &kib) < 0)
		return;
	sp_doctor_add(d, "perf_event_mlock_kb", "buffers of perf events", SP_DOCTOR_YES,
		      "kernel.perf_event_mlock_kb is %d, for each user and CPU%s", kib,
		      sp_doctor_has(d, CAP_IPC_LOCK) ? "; CAP_IPC_LOCK lifts it" : "")
	    ->is_fact = true;
	sp_doctor_value(d, kib);
}

void sp_doctor_perf(struct sp_doctor *d)
{
	perf_settings(d);
	perf_one(d, "perf_own_user", "own processes, user mode", SP_DOCTOR_PERF_OWN_USER);
	perf_one(d, "perf_own_kernel", "own processes, kernel too", SP_DOCTOR_PERF_OWN);
	perf_one(d, "perf_all", "whole machine", SP_DOCTOR_PERF_ALL);
	perf_cycles(d);
	sp_error_clear();
}

/* --- files of other processes
 * -----------------------------------------------------------------------------------------
 */
enum look { LOOK_NOTHING, LOOK_OPENED, LOOK_LISTED, LOOK_BY_PATH, LOOK_REFUSED };

static enum look look_refused(int why)
{
	return why == EACCES || why == EPERM ? LOOK_REFUSED : LOOK_NOTHING;
}

/* The first mapped file. O_PATH asks nothing of the file's server. */
static enum look look_into(DIR *map_files, int *ret_errno)
{
	struct dirent *e;
	char link[16];

	errno = 0;
	while ((e = readdir(map_files)) && *e->d_name == '.')
		;
	*ret_errno = errno;
	if (!e)
		return look_refused(errno);
	if (readlinkat(dirfd(map_files), e->d_name, link, sizeof(link)) < 0) {
		*ret_errno = errno;
		return look_refused(errno);
	}
	SP_CLOSE int file = openat(dirfd(map_files), e->d_name, O_PATH | O_CLOEXEC);
	*ret_errno = file < 0 ? errno : 0;
	return file < 0 ? LOOK_LISTED : LOOK_OPENED;
}

/* Newer kernels let CAP_PERFMON read the list of what is mapped. */
static bool maps_readable(const char *pid)
{
	char path[64], byte;

	snprintf(path, sizeof(path), "/proc/%.20s/maps", pid);
	SP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, &byte, 1) == 1;
}

static enum look look_at(const char *pid, int *ret_errno)
{
	char path[64];
	enum look found;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%.20s/map_files", pid);
	dir = opendir(path);
	*ret_errno = errno;
	found = dir ? look_into(dir, ret_errno) : look_refused(errno);
	if (dir)
		closedir(dir);
	return found == LOOK_REFUSED && maps_readable(pid) ? LOOK_BY_PATH : found;
}

/* Of the first processes of other users that have files mapped, the one that gets us furthest. */
static enum look look_at_others(int *ret_errno)
{
	enum look best = LOOK_NOTHING;
	DIR *proc = opendir("/proc");
	struct dirent *e;
	struct stat st;

	for (int n = 0; proc && best != LOOK_OPENED && n < MAX_LOOKED_AT && (e = readdir(proc));) {
		int why;
		enum look found;

		if (!isdigit((unsigned char)*e->d_name) || fstatat(dirfd(proc), e->d_name, &st, 0) ||
		    st.st_uid == geteuid())
			continue;
		n++;
		found = look_at(e->d_name, &why);
		if (found == LOOK_NOTHING || (best != LOOK_NOTHING && found >= best))
			continue;
		best = found;
		*ret_errno = why;
	}
	if (proc)
		closedir(proc);
	return best;
}

void sp_doctor_files(struct sp_doctor *d)
{
	static const char what[] = "files of all processes";
	bool capable = sp_doctor_has(d, CAP_SYS_PTRACE) && sp_doctor_has(d, CAP_DAC_READ_SEARCH);
	int why = 0;

	switch (look_at_others(&why)) {
	case LOOK_OPENED:
		d->can_open = true;
		sp_doctor_add(d, "map_files", what, SP_DOCTOR_YES, "opened one of another user's process (map_files)");
		return;
	case LOOK_NOTHING:
		d->can_open = capable && !d->in_namespace;
		sp_doctor_add(d, "map_files", what, d->can_open ? SP_DOCTOR_YES : SP_DOCTOR_NO,
			      "no other user's process is here to try; CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH are %s",
			      capable ? "there" : "not both there");
		break;
	case LOOK_LISTED:
		d->can_open = true;
		sp_doctor_add(d, "map_files", what, SP_DOCTOR_PARTLY,
			      "deleted ones, and those of other mount namespaces, cannot be opened: %s",
			      sp_doctor_errno(-why));
		sp_doctor_cure(d, "CAP_CHECKPOINT_RESTORE");
		return;
	case LOOK_BY_PATH:
		sp_doctor_add(
		    d, "map_files", what, SP_DOCTOR_PARTLY,
		    "of other users' processes by their paths only (/proc/PID/maps): not those that are private, "
		    "deleted or in containers; map_files: %s",
		    sp_doctor_errno(-why));
		break;
	case LOOK_REFUSED:
		sp_doctor_add(d, "map_files", what, SP_DOCTOR_NO, "of another user's process: %s",
			      sp_doctor_errno(-why));
		break;
	}
	if (!d->can_open)
		sp_doctor_cure(d,
			       "run as root, or with CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and CAP_CHECKPOINT_RESTORE");
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor_user.c: the user as the kernel sees him: ids, namespaces, capabilities, filters, limits; and the machine.
 */
#include "base/error.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/doctor/doctor.h"
#include "proc/process.h"
#include "worker/broker.h"

#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { FLOOR_MAJOR = 6, FLOOR_MINOR = 1, MANY_FILES = 4096, TEXT_BYTES = 1 << 20 };

/* --- user --- */
static void user(struct sp_doctor *d)
{
	char name[64];
	uint32_t uid = geteuid();

	sp_process_user_name(uid, name, sizeof(name));
	sp_doctor_add(d, "root", "root", uid ? SP_DOCTOR_NO : SP_DOCTOR_YES, "user %s, uid %u", name, uid)->is_fact =
	    true;
	sp_doctor_value(d, uid);
}

/* The kernel's own namespaces have fixed inode numbers (include/linux/proc_ns.h). */
static bool is_in_initial_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) || st.st_ino == 0xeffffffc;
}

static void namespaces(struct sp_doctor *d)
{
	bool pid = is_in_initial_pid_namespace(), users = !sp_process_is_in_user_namespace();

	d->in_namespace = !users;
	if (pid && users) {
		sp_doctor_add(d, "host", "outside of containers", SP_DOCTOR_YES, "initial pid and user namespaces");
		return;
	}
	sp_doctor_add(d, "host", "outside of containers", users ? SP_DOCTOR_PARTLY : SP_DOCTOR_NO, "%s",
		      users ? "a pid namespace of our own: -p and names of processes are of this namespace only"
		      : pid ? "a user namespace of our own: its capabilities do not count for the kernel"
			    : "pid and user namespaces of our own: their capabilities do not count for the kernel");
	sp_doctor_cure(d, "run it on the host%s",
		       users ? ", or the container with the host's pid namespace (docker run --pid=host)"
			     : ", as root");
}

static void capability(struct sp_doctor *d, int number, const char *key, const char *what, const char *cost)
{
	bool has = sp_doctor_has(d, number);

	sp_doctor_add(d, key, what, has ? SP_DOCTOR_YES : SP_DOCTOR_NO, "%s%s",
		      has ? "" : "without it: ", has ? "in the effective set" : cost);
	if (!has)
		sp_doctor_cure(d, "run as root, or with it as an ambient capability (setpriv, or systemd's "
				  "AmbientCapabilities=)");
}

static void capabilities_all(struct sp_doctor *d)
{
	static const struct {
		int number;
		const char *key, *what, *cost;
	} all[] = {
	    {CAP_BPF, "cap_bpf", "CAP_BPF", "no BPF maps or programs, so no sampling in the kernel"},
	    {CAP_PERFMON, "cap_perfmon", "CAP_PERFMON",
	     "no sampling of other users' processes or of the kernel, no BPF programs that trace"},
	    {CAP_SYS_ADMIN, "cap_sys_admin", "CAP_SYS_ADMIN",
	     "no sampling of the whole machine where kernel.perf_event_paranoid is 3 or more, no uprobes by perf"},
	    {CAP_SYS_PTRACE, "cap_sys_ptrace", "CAP_SYS_PTRACE",
	     "files of other users' processes are not found: their stacks are cut or guessed, without names"},
	    {CAP_DAC_READ_SEARCH, "cap_dac_read_search", "CAP_DAC_READ_SEARCH",
	     "private files of others cannot be read, and files of processes that have gone cannot be found"},
	    {CAP_CHECKPOINT_RESTORE, "cap_checkpoint_restore", "CAP_CHECKPOINT_RESTORE",
	     "deleted files, and files of other mount namespaces, cannot be opened"},
	    {CAP_SYSLOG, "cap_syslog", "CAP_SYSLOG", "kernel functions have no names where the kernel hides addresses"},
	    {CAP_IPC_LOCK, "cap_ipc_lock", "CAP_IPC_LOCK",
	     "buffers of perf events are limited to kernel.perf_event_mlock_kb a CPU"},
	};

	for (size_t i = 0; i < SP_COUNT(all); i++)
		capability(d, all[i].number, all[i].key, all[i].what, all[i].cost);
}

/* The number behind "\nNAME:\t" of /proc/self/status; -1: none. */
static void seccomp(struct sp_doctor *d)
{
	if (!sp_process_is_filtered()) {
		sp_doctor_add(d, "seccomp", "no seccomp filter", SP_DOCTOR_YES, "all system calls reach the kernel");
		return;
	}
	sp_doctor_add(d, "seccomp", "no seccomp filter", SP_DOCTOR_PARTLY,
		      "there is one: it may refuse bpf and perf_event_open whatever the capabilities are");
	sp_doctor_cure(d,
		       "containers: --security-opt seccomp=unconfined; systemd: SystemCallFilter=bpf perf_event_open");
}

static void yama(struct sp_doctor *d)
{
	int scope;

	if (sp_process_setting("yama/ptrace_scope", &scope) < 0) {
		sp_doctor_add(d, "yama", "no yama ptrace_scope", SP_DOCTOR_YES, "the kernel has none");
		return;
	}
	sp_doctor_add(d, "yama", "no yama ptrace_scope", scope ? SP_DOCTOR_NO : SP_DOCTOR_YES,
		      "kernel.yama.ptrace_scope is %d, which does not change what soprof may read", scope)
	    ->is_fact = true;
	sp_doctor_value(d, scope);
}

static void limits(struct sp_doctor *d)
{
	struct rlimit files;
	bool many;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	many = files.rlim_max >= MANY_FILES;
	sp_doctor_add(d, "nofile", "open files", many ? SP_DOCTOR_YES : SP_DOCTOR_PARTLY,
		      "RLIMIT_NOFILE is %" PRIu64 ", and may be raised to %" PRIu64
		      ": each library that is met stays open",
		      (uint64_t)files.rlim_cur, (uint64_t)files.rlim_max);
	sp_doctor_value(d, (int64_t)SP_MIN(files.rlim_max, (rlim_t)INT64_MAX));
	if (!many)
		sp_doctor_cure(d, "ulimit -Hn %d", MANY_FILES);
}

void sp_doctor_user(struct sp_doctor *d)
{
	d->capabilities = sp_privileges();
	if (sp_process_setting("perf_event_paranoid", &d->paranoid) < 0)
		d->paranoid = INT_MIN;
	user(d);
	namespaces(d);
	capabilities_all(d);
	seccomp(d);
	yama(d);
	limits(d);
	sp_error_clear();
}

/* --- machine --- */
bool sp_doctor_version(const char *release, unsigned *ret_major, unsigned *ret_minor)
{
	return sscanf(release, "%u.%u", ret_major, ret_minor) == 2;
}

static void kernel(struct sp_doctor *d)
{
	unsigned major, minor;
	struct utsname u;
	bool old;

	if (uname(&u) || !sp_doctor_version(u.release, &major, &minor))
		return;
	old = major < FLOOR_MAJOR || (major == FLOOR_MAJOR && minor < FLOOR_MINOR);
	sp_doctor_add(d, "kernel", "kernel", old ? SP_DOCTOR_NO : SP_DOCTOR_YES, "Linux %s on %s; tested from %d.%d on",
		      u.release, u.machine, FLOOR_MAJOR, FLOOR_MINOR);
	if (old)
		sp_doctor_cure(d, "a newer kernel: what the rows of sampling say counts, not the number");
	if (strcmp(u.machine, SP_MACHINE_NAME) != 0) {
		sp_doctor_add(d, "architecture", "architecture", SP_DOCTOR_NO, "%s; there is " SP_MACHINE_NAME " only",
			      u.machine);
		return;
	}
	sp_doctor_add(d, "architecture", "architecture", SP_DOCTOR_YES, SP_MACHINE_NAME);
}

static void cpus(struct sp_doctor *d)
{
	SP_FREE uint32_t *list = NULL;
	size_t n = 0;
	int r = sp_process_cpus_online(&list, &n);

	if (r < 0)
		sp_doctor_add(d, "cpus", "CPUs", SP_DOCTOR_NO, "%s", sp_error_text(r));
	else
		sp_doctor_add(d, "cpus", "CPUs", SP_DOCTOR_YES, "%zu online", n)->is_fact = true;
	sp_doctor_value(d, (int64_t)n);
}

bool sp_doctor_lockdown(const char *text, char *ret_level, size_t size)
{
	const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;

	if (!close)
		return false;
	snprintf(ret_level, size, "%.*s", (int)(close - open - 1), open + 1);
	return true;
}

static void lockdown(struct sp_doctor *d)
{
	static const char path[] = "/sys/kernel/security/lockdown";
	SP_FREE char *text = NULL;
	char level[32];
	int r = sp_text_read(path, 256, &text, NULL);

	if (r < 0 || !sp_doctor_lockdown(text, level, sizeof(level))) {
		sp_doctor_add(d, "lockdown", "no lockdown", SP_DOCTOR_YES, "%s does not say that there is one", path);
		return;
	}
	if (!strcmp(level, "confidentiality")) {
		sp_doctor_add(d, "lockdown", "no lockdown", SP_DOCTOR_NO,
			      "%s: BPF programs may not read the kernel's memory", level);
		sp_doctor_cure(d, "boot with lockdown=integrity");
		return;
	}
	sp_doctor_add(d, "lockdown", "no lockdown", SP_DOCTOR_YES, "%s%s", level,
		      strcmp(level, "none") ? ", which forbids nothing that soprof does" : "");
}

static const char *field(const char *line, unsigned n, int *ret_len)
{
	while (n-- && *line)
		line += strcspn(line, " \n") + (*(line + strcspn(line, " \n")) == ' ');
	*ret_len = (int)strcspn(line, " \n");
	return line;
}

static void mount_line(const char *line, char hidepid[32], bool *v1, bool *v2)
{
	const char *end = line + strcspn(line, "\n"), *dash = strstr(line, " - "), *type, *at, *option;
	int len, at_len;

	if (!dash || dash >= end)
		return;
	type = dash + 3;
	at = field(line, 4, &at_len);
	len = (int)strcspn(type, " \n");
	*v1 |= len == 6 && !strncmp(type, "cgroup", 6);
	*v2 |= len == 7 && !strncmp(type, "cgroup2", 7);
	if (len != 4 || strncmp(type, "proc", 4) || at_len != 5 || strncmp(at, "/proc", 5))
		return;
	option = strstr(type, "hidepid=");
	*hidepid = 0;
	if (option && option < end)
		snprintf(hidepid, 32, "%.*s", (int)strcspn(option + 8, ", \n"), option + 8);
}

/* The fields are: id, parent, device, root, mount point, options, tags, "-", type, source, options (proc(5)). */
void sp_doctor_mounts(const char *mountinfo, char ret_hidepid[32], bool *ret_v1, bool *ret_v2)
{
	*ret_hidepid = 0;
	*ret_v1 = *ret_v2 = false;
	while (*mountinfo) {
		mount_line(mountinfo, ret_hidepid, ret_v1, ret_v2);
		mountinfo += strcspn(mountinfo, "\n");
		mountinfo += *mountinfo == '\n';
	}
}

static void cgroups(struct sp_doctor *d, bool v1, bool v2)
{
	if (v2) {
		sp_doctor_add(d, "cgroup", "cgroup v2", SP_DOCTOR_YES, "%s",
			      v1 ? "hybrid: beside version 1" : "unified");
		return;
	}
	sp_doctor_add(d, "cgroup", "cgroup v2", SP_DOCTOR_NO, "%s: nothing can be filtered by --cgroup",
		      v1 ? "version 1 only" : "none is mounted");
	sp_doctor_cure(d,
		       v1 ? "boot with systemd.unified_cgroup_hierarchy=1" : "mount -t cgroup2 cgroup2 /sys/fs/cgroup");
}

static void mounts(struct sp_doctor *d)
{
	SP_FREE char *text = NULL;
	bool v1, v2, open;
	char hidepid[32];

	if (sp_text_read("/proc/self/mountinfo", TEXT_BYTES, &text, NULL) < 0)
		return;
	sp_doctor_mounts(text, hidepid, &v1, &v2);
	cgroups(d, v1, v2);
	open = !*hidepid || !strcmp(hidepid, "0") || !strcmp(hidepid, "off");
	sp_doctor_add(d, "hidepid", "/proc shows all", open ? SP_DOCTOR_YES : SP_DOCTOR_PARTLY, "%s%s",
		      open ? "mounted without hidepid" : "mounted with hidepid=", open ? "" : hidepid);
	if (!open)
		sp_doctor_cure(d, "CAP_SYS_PTRACE sees all; or: mount -o remount,hidepid=0 /proc");
}

void sp_doctor_machine(struct sp_doctor *d)
{
	kernel(d);
	cpus(d);
	lockdown(d);
	mounts(d);
	sp_error_clear();
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"
#include "base/filter.h"
#include "base/machine.h"
#include "base/mem.h"
#include "worker/broker.h"
#include "worker/priv.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	NOBODY = 65534,
	/*
	 * Open files of who hands out descriptors. He holds few; but the limit is also that of the descriptors that all
	 * processes of his user have sent and that nobody has received yet, when he sends one: files on their way to
	 * parsers that get no CPU, of every session of root's.
	 */
	MANY_FILES = 1024
};
#define BIT(capability) (1ULL << (capability))

static int limit(int resource, rlim_t value)
{
	struct rlimit l;
	if (getrlimit(resource, &l) < 0)
		return -errno;
	l.rlim_cur = l.rlim_max = SP_MIN(value, l.rlim_max);
	return setrlimit(resource, &l) < 0 ? -errno : 0;
}

uint64_t sp_privileges(void)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {{0}};
	return syscall(SYS_capget, &h, d) < 0 ? 0 : (uint64_t)d[1].effective << 32 | d[0].effective;
}

/* Of those that may be had by executing a program (which PR_SET_NO_NEW_PRIVS forbids as well). */
static void drop_bounding(uint64_t keep)
{
	for (unsigned i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		if (!(keep >> i & 1))
			prctl(PR_CAPBSET_DROP, i, 0, 0, 0); /* takes CAP_SETPCAP, which a service need not have */
}

/* Has at most the capabilities in `keep`: for ever, or until more of the permitted ones are wanted again. */
static int set_capabilities(uint64_t keep, bool for_ever)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2];
	if (syscall(SYS_capget, &h, d) < 0)
		return -errno;
	for (unsigned i = 0; i < 2; i++) {
		d[i].effective = d[i].permitted & (uint32_t)(keep >> (32 * i));
		d[i].permitted = for_ever ? d[i].effective : d[i].permitted;
		d[i].inheritable = for_ever ? 0 : d[i].inheritable;
	}
	return syscall(SYS_capset, &h, d) < 0 ? -errno : 0;
}

static int drop_capabilities(uint64_t keep)
{
	return set_capabilities(keep, true);
}

/* Who is not root would lose at the exec what the program's file or his parent gave him. */
void sp_sandbox_keep_over_exec(void)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2];
	if (geteuid() == 0 || syscall(SYS_capget, &h, d) < 0)
		return;
	d[0].inheritable = d[0].permitted;
	d[1].inheritable = d[1].permitted;
	if (syscall(SYS_capset, &h, d) < 0)
		return;
	for (unsigned i = 0; i < 64; i++)
		if (d[i / 32].permitted >> (i % 32) & 1)
			prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0);
}

/* Where the identity cannot be changed (a user namespace without that id) the filter alone has to hold. */
static int become_nobody(bool in_empty_root)
{
	if (!(sp_privileges() & BIT(CAP_SETUID)))
		return 0;
	/* An empty root: its own fdinfo, which holds numbers and cannot be written to. */
	if (in_empty_root && chroot("/proc/self/fdinfo") == 0 && chdir("/") < 0)
		return -errno;
	if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return errno == EPERM || errno == EINVAL ? 0 : -errno;
	return 0;
}

#define NR offsetof(struct seccomp_data, nr)
#define ARG(i) (offsetof(struct seccomp_data, args) + 8 * (i)) /* the low half */
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
#define SKIP_IF(test, value, n) BPF_JUMP(BPF_JMP | (test) | BPF_K, (value), (n), 0)
#define SKIP_UNLESS(test, value, n) BPF_JUMP(BPF_JMP | (test) | BPF_K, (value), 0, (n))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define KILL RETURN(SECCOMP_RET_KILL_PROCESS)
#define ALLOWED RETURN(SECCOMP_RET_ALLOW)
#define ALLOW(name) SKIP_UNLESS(BPF_JEQ, SYS_##name, 1), ALLOWED

/*
 * What is left: to read and write descriptors that are held, memory that is not executable, the clock and the end.
 * newfstatat with AT_EMPTY_PATH is the C library's fstat(); a path given with it leads into the empty root.
 */
static int filter_calls(void)
{
	static struct sock_filter program[] = {
	    LOAD(offsetof(struct seccomp_data, arch)),
	    SKIP_IF(BPF_JEQ, SP_MACHINE_AUDIT, 1),
	    KILL,
	    LOAD(NR),
	    SKIP_UNLESS(BPF_JGE, 0x40000000u, 1), /* x32 */
	    KILL,
	    ALLOW(read),
	    ALLOW(pread64),
	    ALLOW(pwrite64),
	    ALLOW(recvmsg),
	    ALLOW(sendmsg),
	    ALLOW(close),
	    ALLOW(fstat),
	    ALLOW(lseek),
	    ALLOW(munmap),
	    ALLOW(mremap),
	    ALLOW(brk),
	    ALLOW(madvise),
	    ALLOW(futex),
	    ALLOW(clock_gettime),
	    ALLOW(getrandom), /* malloc() begins with it */
	    ALLOW(sysinfo),   /* qsort() asks for the size of the memory */
	    ALLOW(rt_sigreturn),
	    ALLOW(restart_syscall),
	    ALLOW(exit),
	    ALLOW(exit_group),
	    /* libelf asks whether a descriptor is open, and libdw looks for more files: they are told that there are
	       none */
	    SKIP_UNLESS(BPF_JEQ, SYS_fcntl, 1),
	    RETURN(SECCOMP_RET_ERRNO | EPERM),
	    SKIP_UNLESS(BPF_JEQ, SYS_openat, 1),
	    RETURN(SECCOMP_RET_ERRNO | ENOENT),
	    SKIP_UNLESS(BPF_JEQ, SYS_readlink, 1),
	    RETURN(SECCOMP_RET_ERRNO | ENOENT),
	    SKIP_UNLESS(BPF_JEQ, SYS_newfstatat, 4),
	    LOAD(ARG(3)),
	    SKIP_UNLESS(BPF_JEQ, AT_EMPTY_PATH, 1),
	    ALLOWED,
	    KILL,
	    SKIP_UNLESS(BPF_JEQ, SYS_mmap, 6),
	    LOAD(ARG(2)),
	    SKIP_IF(BPF_JSET, PROT_EXEC, 3),
	    LOAD(ARG(3)),
	    SKIP_UNLESS(BPF_JSET, MAP_ANONYMOUS, 1),
	    ALLOWED,
	    KILL,
	    KILL,
	};
	struct sock_fprog p = {.len = SP_COUNT(program), .filter = program};
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) < 0 ? -errno : 0;
}

static int set_limits(void)
{
	int r = limit(RLIMIT_CORE, 0);
	r = r < 0 ? r : limit(RLIMIT_NOFILE, 16);
	r = r < 0 ? r : limit(RLIMIT_FSIZE, SP_JOB_MAX_BYTES); /* the memfd of an answer */
#ifndef __SANITIZE_ADDRESS__                                   /* whose shadow takes terabytes of address space */
	r = r < 0 ? r : limit(RLIMIT_AS, 512UL << 20);
#endif
	return r;
}

static int close_up(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 ? -errno : 0;
}

/* The parent's death ends the child; this comes after the change of identity, which would cancel it. */
static int bind_to_parent(void)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ? -errno : close_up();
}

int sp_sandbox_enter(void)
{
	prctl(PR_SET_NAME, "soprof-parser");
	/* else /proc/self is root's, as the broker's: of a process with privileges that nobody may look into */
	prctl(PR_SET_DUMPABLE, 1);
	sp_process_expendable();
	drop_bounding(0);
	int r = become_nobody(true);
	r = r < 0 ? r : drop_capabilities(0);
	r = r < 0 ? r : set_limits();
	r = r < 0 ? r : bind_to_parent();
	return r < 0 ? r : filter_calls();
}

int sp_privileges_become(const char *name, uid_t uid, gid_t gid)
{
	bool is_kept = prctl(PR_SET_KEEPCAPS, 1) == 0;
	if (!is_kept || initgroups(name, gid) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return sp_fail(-errno, "become user %s", name);
	int r = set_capabilities(~0ULL, false);
	return r < 0 ? sp_fail(r, "keep capabilities as user %s", name) : 0;
}

int sp_privileges_drop(struct sp_broker *b)
{
	int r = b ? sp_broker_seal(b) : 0;
	drop_bounding(0);
	r = r < 0 ? r : drop_capabilities(0);
	if (r < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return sp_fail(r < 0 ? r : -errno, "give up privileges");
	return 0;
}

#define OPENING (BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_CHECKPOINT_RESTORE))
#define BECOMING_NOBODY (BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_SYS_CHROOT))
#define SAMPLING (BIT(CAP_BPF) | BIT(CAP_PERFMON))
#define BROKER (OPENING | BECOMING_NOBODY | SAMPLING | BIT(CAP_KILL))

/* Debian's kernels want CAP_SYS_ADMIN for perf events where kernel.perf_event_paranoid is 3: here it is tried. */
static bool needs_admin(void)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_period = 1000000000,
				       .disabled = 1};
	if (set_capabilities(BROKER, false) < 0)
		return true;
	int cpu = sched_getcpu();
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, SP_MAX(cpu, 0), -1, PERF_FLAG_FD_CLOEXEC);
	bool is_refused = fd < 0 && (errno == EACCES || errno == EPERM);
	sp_cleanup_close(&fd);
	return is_refused;
}

int sp_sandbox_broker_settle(bool has_output)
{
	static bool is_settled, with_admin;
	with_admin = is_settled ? with_admin : needs_admin();
	is_settled = true;
	/* the output may go to a user's directory */
	return drop_capabilities(BROKER | (with_admin ? BIT(CAP_SYS_ADMIN) : 0) |
				 (has_output ? BIT(CAP_DAC_OVERRIDE) : 0));
}

int sp_sandbox_broker(void)
{
	prctl(PR_SET_NAME, "soprof-broker");
	drop_bounding(BROKER); /* a fetcher is executed with these, and gives them up */
	int r = sp_sandbox_broker_settle(true);
	r = r < 0 ? r : limit(RLIMIT_CORE, 0);
	r = r < 0 ? r : limit(RLIMIT_NOFILE, MANY_FILES);
	r = r < 0 ? r : limit(RLIMIT_FSIZE, SP_JOB_MAX_BYTES); /* a parser's */
	r = r < 0 ? r : close_up(); /* it sees the end of its socket, and then takes away a file that is not whole */
	return r < 0 ? r : sp_filter_enter(SP_FILTER_BROKER);
}

/* What it fetches may be as long as any answer. */
int sp_sandbox_fetcher(void)
{
	prctl(PR_SET_NAME, "soprof-fetcher");
	drop_bounding(0);
	int r = become_nobody(false);
	r = r < 0 ? r : drop_capabilities(0);
	r = r < 0 ? r : limit(RLIMIT_CORE, 0);
	r = r < 0 ? r : limit(RLIMIT_NOFILE, MANY_FILES);
	r = r < 0 ? r : limit(RLIMIT_FSIZE, SP_JOB_MAX_BYTES);
	return r < 0 ? r : bind_to_parent();
}

/* Without that one capability it may read the memory of processes that have no more of them than it has itself. */
int sp_sandbox_reader(void)
{
	prctl(PR_SET_NAME, "soprof-reader");
	drop_bounding(0);
	int r = sp_privileges() & BIT(CAP_SYS_PTRACE) ? drop_capabilities(BIT(CAP_SYS_PTRACE)) : 0;
	r = r < 0 ? r : limit(RLIMIT_CORE, 0);
	r = r < 0 ? r : limit(RLIMIT_NOFILE, 8);
	r = r < 0 ? r : limit(RLIMIT_FSIZE, 0);
	return r < 0 ? r : bind_to_parent();
}

/*
 * CAP_PERFMON is to see what others have mapped, by /proc/PID/maps. Without CAP_SYS_PTRACE /proc shows files of those
 * only that have no capability more: commands that we start have ours.
 */
int sp_sandbox_opener(void)
{
	uint64_t kept = OPENING | BIT(CAP_PERFMON);

	prctl(PR_SET_NAME, "soprof-opener");
	drop_bounding(0);
	int r = drop_capabilities(sp_privileges() & BIT(CAP_SYS_PTRACE) ? kept : kept | SAMPLING);
	r = r < 0 ? r : limit(RLIMIT_CORE, 0);
	r = r < 0 ? r : limit(RLIMIT_NOFILE, MANY_FILES);
	r = r < 0 ? r : limit(RLIMIT_FSIZE, 0);
	r = r < 0 ? r : bind_to_parent();
	return r < 0 ? r : sp_filter_enter(SP_FILTER_OPENER);
}

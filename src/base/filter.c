/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/filter.h"
#include "base/machine.h"
#include "base/mem.h"
#include <errno.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_INSTRUCTIONS = 1024, X32 = 0x40000000 };

/* --- the lists --- */
/* clang-format off */
#define C(name) SYS_##name
/* Descriptors that are open, memory, threads' locks, clocks, signals, the end. */
static const uint16_t common[] = {
    C(read), C(readv), C(pread64), C(write), C(writev), C(pwrite64), C(lseek), C(fstat), C(newfstatat), C(statx),
    C(fstatfs), C(close), C(fcntl), C(openat), C(openat2), C(readlink), C(readlinkat), C(access), C(faccessat),
    C(faccessat2), C(getdents64), C(ioctl), C(poll), C(ppoll), C(recvmsg), C(sendmsg), C(mmap), C(mprotect),
    C(munmap), C(mremap), C(brk), C(madvise), C(futex), C(clock_gettime), C(clock_getres), C(gettimeofday),
    C(nanosleep), C(time), C(getrandom), C(clock_nanosleep), C(sysinfo), C(uname), C(getpid), C(gettid), C(getppid),
    C(getuid), C(geteuid), C(getgid), C(getegid), C(getrusage), C(getcpu), C(rt_sigaction), C(rt_sigprocmask),
    C(rt_sigreturn), C(sigaltstack), C(tgkill), C(prlimit64), C(getrlimit), C(setrlimit), C(restart_syscall), C(exit),
    C(exit_group), C(rseq), C(set_robust_list), C(membarrier), C(sched_yield), C(sched_getaffinity), C(setitimer),
    C(getcwd), C(futex_waitv), C(stat), C(lstat), C(open), C(statfs), C(set_tid_address), C(times),
    454, 455, 456 /* futex_wake, _wait, _requeue, of Linux 6.7 */
};
/* What a service and the programs that it starts do besides. */
static const uint16_t service[] = {
    /* files */
    C(creat), C(dup), C(dup2), C(dup3), C(pipe), C(pipe2), C(close_range), C(fallocate), C(fadvise64), C(flock),
    C(fsync), C(fdatasync), C(sync), C(syncfs), C(sync_file_range), C(truncate), C(ftruncate), C(getdents), C(link),
    C(linkat), C(symlink), C(symlinkat), C(unlink), C(unlinkat), C(rename), C(renameat), C(renameat2), C(mkdir),
    C(mkdirat), C(mknod), C(mknodat), C(rmdir), C(umask), C(utime), C(utimes), C(futimesat), C(utimensat), C(chdir),
    C(fchdir), C(chmod), C(fchmod), C(fchmodat), 452 /* fchmodat2 */, C(chown), C(fchown), C(lchown), C(fchownat),
    C(getxattr), C(lgetxattr), C(fgetxattr), C(listxattr), C(llistxattr), C(flistxattr), C(setxattr), C(lsetxattr),
    C(fsetxattr), C(removexattr), C(lremovexattr), C(fremovexattr), C(preadv), C(pwritev), C(preadv2), C(pwritev2),
    C(sendfile), C(copy_file_range), C(splice), C(tee), C(vmsplice), C(readahead), C(inotify_init), C(inotify_init1),
    C(inotify_add_watch), C(inotify_rm_watch), C(memfd_create), C(msync), C(mincore), C(mlock), C(mlock2), C(munlock),
    C(mlockall), C(munlockall), C(pkey_alloc), C(pkey_free), C(pkey_mprotect), C(remap_file_pages),
    C(landlock_create_ruleset), C(landlock_add_rule), C(landlock_restrict_self),
    C(name_to_handle_at),
    /* waiting, and the network */
    C(select), C(pselect6), C(epoll_create), C(epoll_create1), C(epoll_ctl), C(epoll_wait), C(epoll_pwait),
    C(epoll_pwait2), C(eventfd), C(eventfd2), C(signalfd), C(signalfd4), C(timerfd_create), C(timerfd_settime),
    C(timerfd_gettime), C(socket), C(socketpair), C(bind), C(listen), C(accept), C(accept4), C(connect), C(shutdown),
    C(getsockname), C(getpeername), C(getsockopt), C(setsockopt), C(sendto), C(recvfrom), C(sendmmsg), C(recvmmsg),
    /* processes and threads */
    C(clone), C(clone3), C(fork), C(vfork), C(execve), C(wait4), C(waitid), C(kill), C(tkill), C(rt_sigqueueinfo),
    C(rt_tgsigqueueinfo), C(rt_sigpending), C(rt_sigsuspend), C(rt_sigtimedwait), C(pause), C(alarm), C(getitimer),
    C(timer_create), C(timer_settime), C(timer_gettime), C(timer_getoverrun), C(timer_delete), C(pidfd_open),
    C(pidfd_send_signal), C(setsid), C(getsid), C(setpgid), C(getpgid), C(getpgrp), C(prctl), C(arch_prctl),
    C(seccomp), C(capget), C(capset), C(get_robust_list), C(setuid), C(setgid), C(setreuid), C(setregid),
    C(setresuid), C(setresgid), C(getresuid), C(getresgid), C(setfsuid), C(setfsgid), C(getgroups), C(setgroups),
    C(getpriority), C(setpriority), C(ioprio_get), C(ioprio_set), C(sched_setaffinity), C(sched_getparam),
    C(sched_setparam), C(sched_getscheduler), C(sched_setscheduler), C(sched_getattr), C(sched_setattr),
    C(sched_get_priority_max), C(sched_get_priority_min), C(sched_rr_get_interval), C(get_mempolicy),
    /* what programs share */
    C(shmget), C(shmat), C(shmdt), C(shmctl), C(semget), C(semop), C(semtimedop), C(semctl), C(msgget), C(msgsnd),
    C(msgrcv), C(msgctl), C(mq_open), C(mq_unlink), C(mq_timedsend), C(mq_timedreceive), C(mq_notify),
    C(mq_getsetattr)
};
/* To start parsers, which give these up; to open files by their inode. */
static const uint16_t privileged[] = {
    C(chroot), C(perf_event_open), C(open_by_handle_at)
};
static const uint16_t opening[] = {
    C(name_to_handle_at), C(open_by_handle_at), C(capget)
};
/* SQLite's, which tries to mend what an agent that was killed left behind. */
static const uint16_t answering[] = {
    C(ftruncate), C(fsync), C(fdatasync), C(fchown), C(fchmod), C(unlink), C(dup), C(umask)
};
/* Names of users: the C library loads modules and asks services (nscd, sssd, systemd). */
static const uint16_t naming_users[] = {
    C(socket), C(connect), C(bind), C(sendto), C(recvfrom), C(sendmmsg), C(recvmmsg), C(getsockopt), C(setsockopt),
    C(getsockname), C(getpeername), C(shutdown), C(select), C(pselect6), C(epoll_create1), C(epoll_ctl), C(epoll_wait),
    C(timerfd_create), C(timerfd_settime), C(prctl), C(dup), C(getpgid), C(getsid), C(pidfd_open), C(getresuid),
    C(getresgid), C(socketpair), C(dup3), C(eventfd2), C(signalfd4), C(sched_getparam), C(sched_getscheduler), C(flock)
};
/* What no process of ours does once it is set up; who has taken one over would begin with these. */
static const uint16_t dangerous[] = {
    C(ptrace), C(process_vm_readv), C(process_vm_writev), C(pidfd_getfd), C(kcmp), C(bpf), C(perf_event_open),
    C(userfaultfd), C(io_uring_setup), C(io_uring_enter), C(io_uring_register), C(keyctl), C(add_key), C(request_key),
    C(init_module), C(finit_module), C(delete_module), C(kexec_load), C(kexec_file_load), C(reboot), C(mount),
    C(umount2), C(mount_setattr), C(open_tree), C(move_mount), C(fsopen), C(fsconfig), C(fsmount), C(fspick),
    C(pivot_root), C(chroot), C(setns), C(unshare), C(swapon), C(swapoff), C(acct), C(quotactl), C(quotactl_fd),
    C(settimeofday), C(clock_settime), C(clock_adjtime), C(adjtimex), C(sethostname), C(setdomainname), C(syslog),
    C(iopl), C(ioperm), C(modify_ldt), C(personality), C(vhangup), C(fanotify_init), C(open_by_handle_at),
    C(execveat), C(memfd_secret), C(lookup_dcookie), C(execve), C(fork), C(vfork), C(clone), C(clone3), C(socket),
    C(connect), C(bind), C(kill), C(setuid), C(setresuid), C(setgid), C(setresgid), C(capset)
};
#undef C
/* clang-format on */
/*
 * Maps are read and written by descriptor; the broker makes arrays. Programs of ours are run to add up waits that go on
 * (an agent's source wall), and to ask the kernel for the name of an address.
 */
static const uint16_t bpf_of_agent[] = {BPF_MAP_LOOKUP_ELEM,     BPF_MAP_UPDATE_ELEM,
					BPF_MAP_DELETE_ELEM,     BPF_MAP_GET_NEXT_KEY,
					BPF_OBJ_GET_INFO_BY_FD,  BPF_MAP_LOOKUP_AND_DELETE_ELEM,
					BPF_MAP_LOOKUP_BATCH,    BPF_MAP_LOOKUP_AND_DELETE_BATCH,
					BPF_MAP_UPDATE_BATCH,    BPF_MAP_DELETE_BATCH,
					BPF_LINK_CREATE,         /* for a CPU that comes online */
					BPF_RAW_TRACEPOINT_OPEN, /* as sampling begins */
					BPF_PROG_TEST_RUN};
static const uint16_t bpf_of_broker[] = {BPF_MAP_CREATE};

struct list {
	const uint16_t *calls;
	size_t n;
};
#define LIST(calls)                                                                                                    \
	{                                                                                                              \
		(calls), SP_COUNT(calls)                                                                               \
	}

static const struct role {
	struct list lists[3], bpf;
	bool is_last; /* it starts no programs, and makes no code executable */
} roles[SP_N_FILTERS] = {
    [SP_FILTER_AGENT] = {{LIST(common), LIST(service)}, LIST(bpf_of_agent), false},
    [SP_FILTER_SAMPLING] = {{LIST(common), LIST(service)}, LIST(bpf_of_agent), false},
    [SP_FILTER_BROKER] = {{LIST(common), LIST(service), LIST(privileged)}, LIST(bpf_of_broker), false},
    [SP_FILTER_OPENER] = {{LIST(common), LIST(opening)}, {0}, true},
    [SP_FILTER_ANSWER_NAMES] = {{LIST(common), LIST(answering), LIST(naming_users)}, {0}, false},
    [SP_FILTER_ANSWER] = {{LIST(common), LIST(answering)}, {0}, true},
};

/* --- what is seen of it --- */
static char *put(char *to, const char *text)
{
	size_t n = strlen(text);
	memcpy(to, text, n);
	return to + n;
}

static char *put_number(char *to, unsigned number)
{
	char digits[12];
	size_t n = 0;
	do
		digits[n++] = (char)('0' + number % 10);
	while (number /= 10);
	while (n)
		*to++ = digits[--n];
	return to;
}

static char name[17]; /* the process's, as it was when the filter was set */

static void refused(int signal, siginfo_t *info, void *context)
{
	char line[160], *end = line;
	(void)signal;
	(void)context;
	end = put(put(put(end, "soprof: process "), name), " (");
	end = put(put_number(end, (unsigned)getpid()), ") ended: its seccomp filter does not allow system call ");
	end = put(put_number(end, (unsigned)info->si_syscall), "\n");
	if (write(STDERR_FILENO, line, (size_t)(end - line)) < 0)
		_exit(SP_FILTER_EXIT); /* nobody hears of it */
	_exit(SP_FILTER_EXIT);
}

/* --- the filter --- */
struct program {
	struct sock_filter code[MAX_INSTRUCTIONS];
	unsigned short n;
};

static void add(struct program *p, struct sock_filter instruction)
{
	p->code[p->n++] = instruction;
}

static void load(struct program *p, size_t offset)
{
	add(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

/* The loaded word is this value: then that action. */
static void on(struct program *p, uint32_t value, uint32_t action)
{
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
	add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void otherwise(struct program *p, uint32_t action)
{
	add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void on_all(struct program *p, const struct list *l, uint32_t action)
{
	for (size_t i = 0; i < l->n; i++)
		on(p, l->calls[i], action);
}

/* One call with conditions: the instructions that follow, up to end(), are run for it alone. */
static unsigned short begin(struct program *p, uint32_t call, unsigned argument)
{
	unsigned short at = p->n;
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 0));
	load(p, offsetof(struct seccomp_data, args) + 8 * (size_t)argument);
	return at;
}

static void end(struct program *p, unsigned short at, uint32_t action)
{
	otherwise(p, action);
	p->code[at].jf = (unsigned char)(p->n - at - 1);
}

static void on_executable(struct program *p, uint32_t call, uint32_t action)
{
	unsigned short at = begin(p, call, 2);
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1));
	otherwise(p, action);
	end(p, at, SECCOMP_RET_ALLOW);
}

static void write_program(struct program *p, const struct role *r, bool is_strict)
{
	static const struct list worst = LIST(dangerous);
	uint32_t refuse = is_strict ? SECCOMP_RET_TRAP : SECCOMP_RET_ERRNO | ENOSYS;
	uint32_t severe = is_strict || r->is_last ? SECCOMP_RET_TRAP : SECCOMP_RET_ERRNO | EPERM;
	load(p, offsetof(struct seccomp_data, arch));
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SP_MACHINE_AUDIT, 1, 0));
	otherwise(p, SECCOMP_RET_KILL_PROCESS);
	load(p, offsetof(struct seccomp_data, nr));
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1));
	otherwise(p, SECCOMP_RET_KILL_PROCESS);
	if (r->is_last) {
		on_executable(p, SYS_mmap, severe);
		on_executable(p, SYS_mprotect, severe);
	}
	if (r->bpf.n) {
		unsigned short at = begin(p, SYS_bpf, 0);
		on_all(p, &r->bpf, SECCOMP_RET_ALLOW);
		end(p, at, severe);
	}
	for (size_t i = 0; i < SP_COUNT(r->lists); i++)
		on_all(p, &r->lists[i], SECCOMP_RET_ALLOW);
	on_all(p, &worst, severe);
	otherwise(p, refuse);
}

int sp_filter_enter(enum sp_filter which)
{
	const char *mode = getenv("SOPROF_FILTER");
	struct sigaction action = {.sa_sigaction = refused, .sa_flags = SA_SIGINFO};
	SP_FREE struct program *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	write_program(p, &roles[which], mode && strcmp(mode, "strict") == 0);
	struct sock_fprog whole = {.len = p->n, .filter = p->code};
	prctl(PR_GET_NAME, name);
	if (sigaction(SIGSYS, &action, NULL) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole) < 0 ? -errno : 0;
}

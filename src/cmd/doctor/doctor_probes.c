/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor_probes.c: tries kinds of probes, each attached for a moment.
 *
 * uprobes: on a function of ours that nobody calls, for our own process only. kprobes and fentry: on bpf_fentry_test1,
 * which exists in the kernel for tests. Numbers are our own where the headers of Debian 12 (6.1) lack the name:
 * uprobe_multi came with Linux 6.6.
 */
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/doctor/doctor.h"
#include "recipe/recipe.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KERNEL_FUNCTION "bpf_fentry_test1"
enum { TRACE_UPROBE_MULTI = 48 }; /* enum bpf_attach_type */

/* Only its first instruction is of interest. */
__attribute__((noinline)) static void target(void)
{
	__asm__ volatile("");
}

/* Where the function stands in our own program's file. */
static bool target_offset(uint64_t *ret_offset)
{
	SP_FCLOSE FILE *f = fopen("/proc/self/maps", "re");
	uint64_t at = (uint64_t)(uintptr_t)target, start, end, offset;
	char line[4352];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) != 3)
			continue;
		if (at < start || at >= end)
			continue;
		*ret_offset = at - start + offset;
		return true;
	}
	return false;
}

/* The number of a kind of events; -ENOENT: the kernel has none of it. */
static int event_type(const char *kind)
{
	SP_FREE char *text = NULL;
	char path[96];
	int r;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", kind);
	r = sp_text_read(path, 32, &text, NULL);
	sp_error_clear();
	return r < 0 ? r : (int)strtol(text, NULL, 10);
}

static int probe_open(const char *kind, uint64_t what, uint64_t offset, pid_t pid)
{
	int type = event_type(kind), fd;
	struct perf_event_attr attr = {.size = sizeof(attr), .sample_period = 1, .wakeup_events = 1};

	if (type < 0)
		return type;
	attr.type = (uint32_t)type;
	attr.config1 = what;
	attr.config2 = offset;
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, pid < 0 ? 0 : -1, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* --- each returns a descriptor, or why there is none --- */
static int uprobe(uint64_t offset)
{
	return probe_open("uprobe", (uint64_t)(uintptr_t) "/proc/self/exe", offset, 0);
}

static int kprobe(uint64_t offset)
{
	(void)offset;
	return probe_open("kprobe", (uint64_t)(uintptr_t)KERNEL_FUNCTION, 0, -1);
}

static int program_load(enum bpf_prog_type type, int attach_type, int btf_id)
{
	const struct bpf_insn insns[] = {
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K},
	    {.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, o, .expected_attach_type = (enum bpf_attach_type)attach_type,
		    .attach_btf_id = (uint32_t)btf_id);
	int fd = bpf_prog_load(type, "sp_doctor", "GPL", insns, SP_COUNT(insns), &o);

	return fd == -1 ? -errno : fd;
}

/* The link_create of union bpf_attr, with the part that came with Linux 6.6. */
static int uprobe_multi_link(int program, const uint64_t *offset)
{
	struct {
		uint32_t program, target, attach_type, flags;
		uint64_t path, offsets, ref_ctr_offsets, cookies;
		uint32_t n, multi_flags, pid, zero;
	} attr = {.program = (uint32_t)program,
		  .attach_type = TRACE_UPROBE_MULTI,
		  .path = (uint64_t)(uintptr_t) "/proc/self/exe",
		  .offsets = (uint64_t)(uintptr_t)offset,
		  .n = 1,
		  .pid = (uint32_t)getpid()};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

static int uprobe_multi(uint64_t offset)
{
	SP_CLOSE int program = program_load(BPF_PROG_TYPE_KPROBE, TRACE_UPROBE_MULTI, 0);
	int link = program < 0 ? program : uprobe_multi_link(program, &offset);

	return link == -E2BIG ? -EINVAL : link; /* it knows of nothing behind the flags */
}

static int fentry_attach(int btf_id)
{
	SP_CLOSE int program = program_load(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, btf_id);
	int fd = program < 0 ? program : bpf_raw_tracepoint_open(NULL, program);

	return fd == -1 ? -errno : fd;
}

static int fentry(uint64_t offset)
{
	libbpf_print_fn_t print = libbpf_set_print(NULL); /* it says so on stderr where there is none */
	struct btf *kernel = btf__load_vmlinux_btf();
	int id = kernel ? btf__find_by_name_kind(kernel, KERNEL_FUNCTION, BTF_KIND_FUNC) : -errno;

	(void)offset;
	libbpf_set_print(print);
	btf__free(kernel);
	return id < 0 ? id : fentry_attach(id);
}

static int thread_return(uint64_t offset)
{
	SP_CLOSE int program = program_load(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0);
	int fd = program < 0 ? program : bpf_raw_tracepoint_open(SP_RETURN_AT, program);

	(void)offset;
	return fd == -1 ? -errno : fd;
}

/* --- what is said of them --- */
static const struct probe {
	const char *key, *what, *done, *needs;
	const char *since; /* the kernel that has it; else NULL */
	int (*set)(uint64_t offset);
} probes[] = {
    {"uprobe", "uprobes", "set one on soprof itself", "CAP_SYS_ADMIN", NULL, uprobe},
    {"uprobe_multi", "uprobes, many at once", "set one on soprof itself (uprobe_multi)", "CAP_BPF and CAP_PERFMON",
     "Linux 6.6", uprobe_multi},
    {"kprobe", "kprobes", "set one on " KERNEL_FUNCTION, "CAP_PERFMON (CAP_SYS_ADMIN, where perf_event_paranoid is 3)",
     NULL, kprobe},
    {"fentry", "fentry", "attached to " KERNEL_FUNCTION, "CAP_BPF and CAP_PERFMON", NULL, fentry},
    {"thread_return", "return of threads", "attached to " SP_RETURN_AT ", with which profile --min costs little",
     "CAP_BPF and CAP_PERFMON", "Linux 6.15", thread_return},
};
enum { N_OF_USER = 2 }; /* of the first ones: they need a place in soprof */

static void try_probe(struct sp_doctor *d, const struct probe *p, uint64_t offset)
{
	SP_CLOSE int fd = p->set(offset);
	bool is_unknown = fd == -ENOENT || fd == -EINVAL || fd == -EOPNOTSUPP;

	if (fd >= 0) {
		sp_doctor_add(d, p->key, p->what, SP_DOCTOR_YES, "%s", p->done);
		return;
	}
	sp_doctor_add(d, p->key, p->what, SP_DOCTOR_NO, "%s%s", sp_doctor_errno(fd),
		      is_unknown ? ": this kernel has none" : "");
	if ((fd == -EINVAL || fd == -ENOENT) && p->since)
		sp_doctor_cure(d, "%s", p->since);
	else if (!is_unknown && sp_doctor_has(d, CAP_SYS_ADMIN))
		sp_doctor_cure(d, "nothing that we know of: this kernel was built, or is filtered, to refuse it");
	else if (!is_unknown)
		sp_doctor_cure(d, "run as root, or with %s", p->needs);
}

/* Not below /sys/kernel/debug: to look there would mount it. */
static void tracefs(struct sp_doctor *d)
{
	static const char path[] = "/sys/kernel/tracing/events/sched/sched_switch/id";
	SP_FREE char *text = NULL;
	int r = sp_text_read(path, 64, &text, NULL);

	sp_error_clear();
	if (r >= 0) {
		sp_doctor_add(d, "tracefs", "tracepoints (tracefs)", SP_DOCTOR_YES, "read %s", path);
		return;
	}
	sp_doctor_add(d, "tracefs", "tracepoints (tracefs)", SP_DOCTOR_NO, "%s: %s", path, sp_doctor_errno(r));
	sp_doctor_cure(d, r == -EACCES  ? "run as root, or with CAP_DAC_READ_SEARCH"
			  : r == -EPERM ? "boot with lockdown=integrity"
					: "mount -t tracefs none /sys/kernel/tracing");
}

void sp_doctor_probes(struct sp_doctor *d)
{
	uint64_t offset = 0;

	for (size_t i = target_offset(&offset) ? 0 : N_OF_USER; i < SP_COUNT(probes); i++)
		try_probe(d, &probes[i], offset);
	tracefs(d);
	sp_error_clear();
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* privileges.c: tells whether this user may sample, before anything is tried. */
#include "base/error.h"
#include "base/mem.h"
#include "cmd/profile/profile_parts.h"
#include "proc/process.h"
#include "worker/broker.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PERIOD = 10000000 }; /* ns or cycles: any will do */

/* The names of those that are needed for BPF programs and not there; "" = none. */
static void missing_put(uint64_t have, char *ret_text, size_t size)
{
	static const struct {
		int number;
		const char *name;
	} needed[] = {{CAP_BPF, "CAP_BPF"}, {CAP_PERFMON, "CAP_PERFMON"}};
	bool in_namespace = sp_process_is_in_user_namespace();
	size_t i, n = 0;

	if (in_namespace) /* the kernel asks for those of the first one */
		have = 0;
	*ret_text = 0;
	for (i = 0; i < SP_COUNT(needed) && !(have >> CAP_SYS_ADMIN & 1); i++)
		if (!(have >> needed[i].number & 1))
			n += (size_t)snprintf(ret_text + n, size - n, "%s%s", n ? " and " : "", needed[i].name);
	if (in_namespace)
		snprintf(ret_text + n, size - n, " outside of this user namespace");
}

static int paranoid_level(void)
{
	int level = 2;

	if (sp_process_setting("perf_event_paranoid", &level) < 0)
		sp_error_clear();
	return level;
}

int sp_event_try(uint32_t type, uint64_t config, pid_t pid, bool with_kernel)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = type,
				       .config = config,
				       .sample_period = PERIOD,
				       .disabled = 1,
				       .exclude_kernel = !with_kernel,
				       .exclude_hv = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, pid < 0 ? 0 : -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int try_event(pid_t pid, bool with_kernel)
{
	return sp_event_try(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, pid, with_kernel);
}

/* Debian's kernels, where it is 3, let nobody sample who has no CAP_SYS_ADMIN. Linux itself knows no level above 2. */
static void missing_find(char *ret_text, size_t size)
{
	uint64_t have = sp_privileges();

	missing_put(have, ret_text, size);
	if (!*ret_text && !(have >> CAP_SYS_ADMIN & 1) && paranoid_level() > 2 && try_event(-1, true) == -EACCES)
		snprintf(ret_text, size, "CAP_SYS_ADMIN");
}

int sp_privileges_check(const char *what)
{
	char missing[64];

	missing_find(missing, sizeof(missing));
	if (!*missing)
		return 0;
	if (!strcmp(missing, "CAP_SYS_ADMIN"))
		return sp_fail_said(-EPERM,
				    "cannot %s: needs %s, as kernel.perf_event_paranoid is %d: set it to 2 (sysctl "
				    "kernel.perf_event_paranoid=2), or run it as root, with sudo",
				    what, missing, paranoid_level());
	return sp_fail_said(-EPERM, "cannot %s: needs %s (kernel.perf_event_paranoid is %d); run it as root, with sudo",
			    what, missing, paranoid_level());
}

static int refuse_all(const char *missing)
{
	return sp_fail_said(
	    -EPERM,
	    "cannot sample all processes: needs %s (kernel.perf_event_paranoid is %d); run it as root, "
	    "with sudo, or sample your own: -p PID, or -- COMMAND; exact counts need no privilege: soprof "
	    "calls LIB -- COMMAND",
	    missing, paranoid_level());
}

static int refuse_any(int r, const char *missing)
{
	int level = paranoid_level();

	if (level > 2)
		return sp_fail_said(-EPERM,
				    "cannot sample: needs %s; kernel.perf_event_paranoid is %d, which lets ordinary "
				    "users sample nothing: run it as root, with sudo, or have root set it to 2 "
				    "(sysctl kernel.perf_event_paranoid=2); exact counts need no privilege: soprof "
				    "calls LIB -- COMMAND",
				    missing, level);
	return sp_fail_said(-EPERM,
			    "cannot sample: needs %s, and perf_event_open is refused here, too (%s): in a container "
			    "its seccomp profile must allow it; or run it as root, with sudo",
			    missing, strerror(-r));
}

int sp_privileges_backend(bool has_targets, struct sp_backend_choice *ret_choice)
{
	struct sp_backend_choice choice = {.kind = SP_BACKEND_PERF};
	int r;

	missing_find(choice.missing, sizeof(choice.missing));
	if (!*choice.missing) {
		*ret_choice = (struct sp_backend_choice){.kind = SP_BACKEND_BPF};
		return 0;
	}
	r = try_event(0, false); /* first: who may not sample his own is not told to */
	if (r < 0)
		return refuse_any(r, choice.missing);
	if (!has_targets && try_event(-1, true) < 0)
		return refuse_all(choice.missing);
	choice.user_mode_only = try_event(0, true) < 0;
	*ret_choice = choice;
	return 0;
}

int sp_privileges_other_backend(bool has_targets, struct sp_backend_choice *choice)
{
	bool with_kernel = !try_event(has_targets ? 0 : -1, true);
	int r = with_kernel ? 0 : has_targets ? try_event(0, false) : -EPERM;

	if (r < 0)
		return r;
	choice->kind = SP_BACKEND_PERF;
	choice->user_mode_only = !with_kernel;
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* privileges.c: whether this user may sample, said before anything is tried. */
#include "base/error.h"
#include "base/mem.h"
#include "cmd/profile_parts.h"
#include "proc/process.h"
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	if (syscall(SYS_capget, &head, data))
		return 0;
	return (uint64_t)data[1].effective << 32 | data[0].effective;
}

int sp_privileges_check(void)
{
	static const struct {
		int number;
		const char *name;
	} needed[] = {{CAP_BPF, "CAP_BPF"}, {CAP_PERFMON, "CAP_PERFMON"}};
	uint64_t have = capabilities();
	char missing[64] = "";
	int paranoid = 0;
	size_t i, n = 0;

	if (have >> CAP_SYS_ADMIN & 1)
		return 0;
	for (i = 0; i < SP_COUNT(needed); i++)
		if (!(have >> needed[i].number & 1))
			n += (size_t)snprintf(missing + n, sizeof(missing) - n, "%s%s", n ? " and " : "",
					      needed[i].name);
	if (!n)
		return 0;
	sp_process_setting("perf_event_paranoid", &paranoid);
	return sp_fail_said(-EPERM,
			    "cannot sample: needs %s (kernel.perf_event_paranoid is %d); run it as root, with sudo",
			    missing, paranoid);
}

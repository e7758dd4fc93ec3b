/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/exec/self.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NICE = 10, LARGE_BYTES = 64 << 10 };
#if defined(__SANITIZE_ADDRESS__) /* whose shadow is larger than any limit */
enum { HAS_SHADOW = true };
#else
enum { HAS_SHADOW = false };
#endif

int sp_self_open(void)
{
	int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);

	return fd < 0 ? sp_fail(-errno, "/proc/self/exe") : fd;
}

int sp_self_start(struct sp_program *c, int self, const char *argument, int input, unsigned timeout_ms)
{
	char path[64], *argv[] = {"soprof", (char *)(uintptr_t)argument, NULL};
	struct sp_program_spec spec = {
	    .path = path, .argv = argv, .env = environ, .input = input, .timeout_ms = timeout_ms};

	snprintf(path, sizeof(path), "/proc/self/fd/%d", self);
	return sp_program_start(c, &spec);
}

void sp_self_limit(unsigned cpu_s, uint64_t memory_bytes)
{
	const struct rlimit none = {0}, cpu = {.rlim_cur = cpu_s, .rlim_max = cpu_s + 1};
	const struct rlimit memory = {.rlim_cur = memory_bytes, .rlim_max = memory_bytes};

	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_CPU, &cpu);
	setpriority(PRIO_PROCESS, 0, NICE);
	sp_process_expendable();
	sp_heap_return_large(LARGE_BYTES);
	if (memory_bytes && !HAS_SHADOW)
		setrlimit(RLIMIT_DATA, &memory);
}

int sp_self_put_secret(const char *file, size_t most, FILE *out)
{
	char *text SP_FREE = NULL;
	size_t n = 0;
	int r = file ? sp_text_read_config(file, most, &text, NULL) : 0;

	if (r < 0)
		return r;
	if (text) {
		n = strcspn(text, "\r\n");
		fwrite(text, 1, n, out);
		explicit_bzero(text, n);
	}
	fputc('\n', out);
	return 0;
}

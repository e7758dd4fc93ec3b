/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel.c: time in the kernel, under known user stacks: read() of /dev/zero, and page faults. */
#include "victim.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 1 << 18 };
static char buffer[BYTES];

VICTIM static long read_zero(int fd)
{
	long n = 0;

	for (int i = 0; i < 20; i++)
		n += read(fd, buffer, sizeof(buffer));
	return n;
}

VICTIM static void touch(volatile char *p)
{
	for (int i = 0; i < BYTES; i += 4096)
		p[i] = 1;
}

VICTIM static void fault(void)
{
	char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return;
	touch(p);
	munmap(p, BYTES);
	KEEP_FRAME();
}

int main(int argc, char **argv)
{
	int fd = open("/dev/zero", O_RDONLY);
	long n = 0;

	victim_start(argc, argv);
	while (going_on()) {
		n += read_zero(fd);
		for (int i = 0; i < 5; i++)
			fault();
	}
	return n < 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reader.c: reads one byte after the other from /dev/zero: a program that is mostly inside the kernel. */
#include <fcntl.h>
#include <unistd.h>

int main(void)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char c;

	while (read(fd, &c, 1) == 1)
		;
	return 1;
}

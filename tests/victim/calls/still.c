/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A static program: nobody can count in it, and it must run all the same. */
#include <stdio.h>

int main(void)
{
	puts("static");
	return 7;
}

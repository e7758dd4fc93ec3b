/* SPDX-License-Identifier: GPL-2.0-or-later */
/* main.c: the program's entry: finds the command and runs it. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--version")) {
		puts("soprof " SP_VERSION);
		return 0;
	}
	fputs("usage: soprof COMMAND [OPTIONS]\n", stderr);
	return 2;
}

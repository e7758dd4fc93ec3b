/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * banned.h: functions that nobody here may call; force-included by the build into every file.
 *
 * Unbounded writes (strcpy ...), hidden state (strtok), conversions without errors (atoi), shells (system, popen),
 * racy names (tmpnam, mktemp) and unchecked memory on the stack (strdupa; alloca and variable-length arrays are
 * refused by -Walloca and -Wvla, because headers of libraries name alloca in macros). The headers that declare them
 * are included first: a poisoned name may not even be declared afterwards.
 */
#ifndef SP_BASE_BANNED_H
#define SP_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* clang warns when a poisoned name is a macro, as glibc makes some with _FORTIFY_SOURCE. */
#undef strcpy
#undef stpcpy
#undef strcat
#undef sprintf
#undef vsprintf
#undef strdupa
#undef strndupa
#pragma GCC poison strcpy stpcpy strcat sprintf vsprintf gets
#pragma GCC poison strtok atoi atol atoll atof
#pragma GCC poison system popen tmpnam tempnam mktemp
#pragma GCC poison strdupa strndupa

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * banned.h: functions that nobody here may call; force-included by the build into every file.
 *
 * Unbounded writes (strcpy ...), hidden state (strtok), numbers without errors (atoi), shells (system, popen), racing
 * names (tmpnam, mktemp) and memory from the stack without a check (alloca; variable-length arrays are refused by
 * -Wvla). The headers that declare them come first, because a poisoned name may not even be declared after this.
 * What a pragma cannot see (__builtin_alloca) is found by tools/check-banned.
 */
#ifndef SP_BASE_BANNED_H
#define SP_BASE_BANNED_H

#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#pragma GCC poison strcpy stpcpy strcat sprintf vsprintf gets
#pragma GCC poison strtok atoi atol atoll atof
#pragma GCC poison system popen tmpnam tempnam mktemp
#undef alloca
#undef strdupa
#undef strndupa
#pragma GCC poison alloca strdupa strndupa

#endif

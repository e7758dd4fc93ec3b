/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * follow.bpf.c: the programs that follow a command, in an object of their own: they need the kernel's types, which
 * libbpf reads anew for each object that does, and there is one object for each attach point.
 */
#include "bpf/follow.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that parser.c says, of parsers that a broker starts and ends for a process without any capability. */
#define WITH_BROKER
#include "parser.c"

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * called.h: a library whose functions are probed, and counts on its own what it did, as a probe should see it.
 *
 * Its program (caller.c) opens whichever copy it is told to, and prints the library's own counts. One thread.
 */
#ifndef TEST_CALLED_H
#define TEST_CALLED_H

struct called_counts {
	long mid, leaf, argument_sum, returned_sum;
};

#endif

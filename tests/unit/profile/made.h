/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made.h: recordings of programs that never ran, of which it is known what changed: to measure how often a difference
 * finds a change, and how often it takes noise for one.
 *
 * On each CPU one activity follows the other: a function of a library, entered through one of two callers, for a time
 * of its own kind (some last a fraction of a millisecond, some tenths of a second), and what is likely next depends on
 * the phase that all CPUs are in. A clock samples. The target, library SP_MADE_TARGET, has the share asked for, of the
 * time that is expected. Random by a state of its own, so a seed tells all. Profiles are as recordings of `soprof
 * profile` are: values samples and cpu, keys with slices, functions with names.
 */
#ifndef SP_TEST_PROFILE_MADE_H
#define SP_TEST_PROFILE_MADE_H

#include <stdbool.h>
#include <stdint.h>

struct sp_profile;

enum { SP_MADE_LIBRARIES = 14, SP_MADE_TARGET = 4 };

struct sp_made_kind {
	const char *name;
	double longest_s; /* how long the longest kind of activity lasts, on average */
	double phase_s;   /* how long a phase lasts, on average; 0: there are none */
	double swing;     /* the deviation of the logarithm of what a phase makes of a library's share */
};

struct sp_made {
	const struct sp_made_kind *kind;
	double seconds, hz;
	unsigned n_cpus, n_slices; /* slices 0: keys tell none */
	double share;              /* of the target */
	uint64_t program;          /* seed: the program's libraries, phases ... */
	uint64_t seed;             /* of this recording of it */
};

/* The caller frees it; NULL: out of memory. */
struct sp_profile *sp_made_record(const struct sp_made *m);

#endif

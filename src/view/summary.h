/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * summary.h: the summary on stderr: the libraries, the samples and how complete they are, and what soprof itself used.
 * Not a view: it needs more than a profile, and no option names it.
 *
 * The libraries, the classes of user stacks, the reasons why stacks were cut and the notes of files (sp_file.note) come
 * from the profile; all else comes in a plain struct, which is only read. Value 0 of the profile must be the number of
 * samples. Lines are at most `width` columns long, as far as a single word allows. Returns 0 or a negative errno
 * (memory); the caller checks the stream's error flag. Reentrant.
 */
#ifndef SP_VIEW_SUMMARY_H
#define SP_VIEW_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sp_profile;

struct sp_summary_count {
	const char *what; /* any bytes: encoded here */
	uint64_t n;
};

struct sp_summary {
	uint64_t
	    n_samples; /* taken; 0 = as many as the profile holds. It may hold fewer: filters (-l, --comm) drop some */
	/* Samples (and other things) lost, each reason once; those with 0 are not shown. */
	const struct sp_summary_count *lost;
	size_t n_lost;
	/* Files with unwind rows that could not be expressed: the name of the file, and how many rows. */
	const struct sp_summary_count *unexpressed;
	size_t n_unexpressed;
	/* What soprof itself used, over duration_ns of the profile's info. */
	uint64_t user_ns, system_ns; /* CPU time of all its processes */
	uint64_t bpf_ns;             /* run time of the BPF programs */
	uint64_t memory_bytes;       /* of all its processes, at the highest */
	uint64_t map_bytes;          /* of all BPF maps */
	uint64_t n_tables;           /* unwind tables loaded, repetitions included; shown if some were evicted */
	uint64_t n_evicted;
	uint32_t counted;       /* value that is the number of stacks taken; 0 = the first, the samples */
	uint32_t value;         /* of which the libraries' shares are; 0 = the samples */
	uint32_t n_libraries;   /* rows shown at most, 0 = 10 */
	uint32_t width;         /* columns, 0 = 80 */
	const char *guard;      /* what the guard did, a line for each event; NULL = nothing */
	const char *next;       /* what to do next; NULL = nothing */
	bool without_libraries; /* the view has them */
	bool kernel_only;       /* sampled with -K: nothing is said about user stacks */
	bool bpf_time_unknown;  /* the kernel does not tell (kernel.bpf_stats_enabled could not be set) */
	bool without_bpf;       /* sampled by perf_event_open: nothing is said about BPF */
	uint64_t ring_bytes;    /* then: of its ring buffers */
	bool colour;
};

int sp_summary_write(const struct sp_profile *p, const struct sp_summary *s, FILE *out);

#endif

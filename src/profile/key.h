/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * key.h: who a row of a profile is of: a thread of a process, in a slice of time, and what its producer said of it in
 * labels. Part of profile.h, whose rules for numbers, ownership and errors hold here, too.
 *
 * A set of labels is interned as a whole, so that a key names it by one number; recordings of our own have none, and
 * pay nothing. Sets are ordered by name: labels of one name keep the order in which they were given.
 */
#ifndef SP_PROFILE_KEY_H
#define SP_PROFILE_KEY_H

#include <stddef.h>
#include <stdint.h>

struct sp_profile;

struct sp_process {
	uint32_t pid, ns_pid;
	uint32_t uid;
	uint32_t exe;         /* file */
	uint32_t comm;        /* string: the leader's */
	uint32_t cgroup_path; /* string, "" until looked up */
	uint32_t container;   /* string: the one that its cgroup tells (container.h), "" = none; set together */
	uint32_t root;        /* string: in which its paths begin, "" = in ours; distinct while it is there */
	uint32_t exec_id;     /* changes at each execve: another program in the same process */
	uint64_t start_ns;    /* CLOCK_BOOTTIME */
	uint64_t cgroup;
};
/* A word, or a number of a unit. */
struct sp_label {
	int64_t number; /* if there is no word */
	uint32_t name;  /* string */
	uint32_t word;  /* string, "" = none */
	uint32_t unit;  /* string, of the number; may be "" */
	uint32_t unused;
};
enum {
	/* The labels are all that a foreign profile said, what the other fields were read from included. */
	SP_KEYF_LABELS_ARE_ALL = 1,
};
struct sp_key {
	uint32_t process;
	uint32_t comm;   /* string: the thread's name */
	uint32_t recipe; /* string */
	uint32_t
	    slice; /* 0 = not told, else which of the recording's slices of equal length, from 1; real times only */
	uint32_t labels; /* set of labels, 0 = none */
	uint32_t flags;
};

int64_t sp_profile_add_process(struct sp_profile *p,
			       const struct sp_process *process); /* distinct by pid, start_ns, exec_id */
/* The set of these labels, in any order; 0 of none. */
int64_t sp_profile_add_labels(struct sp_profile *p, const struct sp_label *labels, size_t n);
int64_t sp_profile_add_key(struct sp_profile *p, const struct sp_key *key);

uint32_t sp_profile_n_processes(const struct sp_profile *p);
uint32_t sp_profile_n_label_sets(const struct sp_profile *p);
uint32_t sp_profile_n_keys(const struct sp_profile *p);
struct sp_process *sp_profile_process(const struct sp_profile *p, uint32_t process); /* mutable: labels only */
const struct sp_label *sp_profile_labels(const struct sp_profile *p, uint32_t set, size_t *ret_n);
const struct sp_key *sp_profile_key(const struct sp_profile *p, uint32_t key);

#endif

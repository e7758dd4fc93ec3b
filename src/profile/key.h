/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * key.h: the key of a row, which says whom it is of: a thread of a process, in a slice of time, with its producer's
 * labels. A part of profile.h, with the same rules for numbers, ownership and errors.
 *
 * A set of labels is interned as a whole, so that a key refers to it by one number. soprof's own are state
 * (capture/drain.c), lock, memory and fault (capture/objects.c); the store keeps none. A set is sorted by name; labels
 * of one name keep the order in which they were given. Not thread-safe.
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
	uint32_t container;   /* string: by its cgroup (container.h), "" = none; set with cgroup_path */
	uint32_t root;     /* string: its root directory, if it is not ours; "" = ours. Equal text: equal root, while it
			      exists */
	uint32_t exec_id;  /* changes at each execve: another program in the same process */
	uint64_t start_ns; /* CLOCK_BOOTTIME */
	uint64_t cgroup;
};
/* Its value is a text, or a number with a unit. */
struct sp_label {
	int64_t number; /* if there is no text */
	uint32_t name;  /* string */
	uint32_t word;  /* string: the text, "" = none */
	uint32_t unit;  /* string, of the number; may be "" */
	uint32_t unused;
};
enum {
	/* The labels are a foreign profile's, complete: those from which the key's other fields were read are among
	   them. */
	SP_KEYF_LABELS_ARE_ALL = 1,
};
struct sp_key {
	uint32_t process;
	uint32_t comm;   /* string: the thread's name */
	uint32_t recipe; /* string */
	uint32_t slice;  /* which of the recording's slices of equal length, from 1; 0 = not known */
	uint32_t labels; /* set of labels, 0 = none */
	uint32_t flags;
};

int64_t sp_profile_add_process(struct sp_profile *p,
			       const struct sp_process *process); /* distinct by pid, start_ns, exec_id */
/* The set of these labels, given in any order; 0 if n is 0. */
int64_t sp_profile_add_labels(struct sp_profile *p, const struct sp_label *labels, size_t n);
int64_t sp_profile_add_key(struct sp_profile *p, const struct sp_key *key);

uint32_t sp_profile_n_processes(const struct sp_profile *p);
uint32_t sp_profile_n_label_sets(const struct sp_profile *p);
uint32_t sp_profile_n_keys(const struct sp_profile *p);
struct sp_process *sp_profile_process(const struct sp_profile *p, uint32_t process); /* mutable: labels only */
const struct sp_label *sp_profile_labels(const struct sp_profile *p, uint32_t set, size_t *ret_n);
const struct sp_key *sp_profile_key(const struct sp_profile *p, uint32_t key);

#endif

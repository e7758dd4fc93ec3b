/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor.h: the parts of `soprof doctor`: checks of this machine, and how they are printed.
 *
 * A check has a key for scripts, words for people, an answer (yes, no, partly), a reason and what would help. Answers
 * come from trying or reading, never from the kernel's version; a refusal is an answer, no error; nothing is left
 * behind. doctor.c runs the checks; doctor_sampling.c: what sampling needs; doctor_trial.c: a recipe on a child of
 * ours; doctor_probes.c: probes; doctor_names.c: what names need; doctor_user.c: user and namespaces; doctor_agent.c:
 * the agent; doctor_print.c prints. Texts are encoded when printed. `failed` is set if memory ran out. One thread.
 */
#ifndef SP_CMD_DOCTOR_DOCTOR_H
#define SP_CMD_DOCTOR_DOCTOR_H

#include "cmd/cmd.h"
#include <stdio.h>

enum sp_doctor_state { SP_DOCTOR_YES, SP_DOCTOR_PARTLY, SP_DOCTOR_NO };

struct sp_doctor_check {
	const char *group, *key, *what; /* constant */
	enum sp_doctor_state state;
	bool is_fact;   /* neither good nor bad */
	bool has_value; /* a setting, a size */
	int64_t value;
	char *why, *cure; /* NULL = none */
};

struct sp_doctor {
	const char *group; /* of what is added next */
	struct sp_doctor_check *checks;
	size_t n_checks, capacity;
	bool failed;
	uint64_t capabilities; /* effective, a bit each */
	int paranoid;          /* perf_event_paranoid; INT_MIN = this kernel does not say */
	bool in_namespace;     /* of users: our capabilities do not count for the kernel itself */
	bool no_bpf;           /* BPF programs are refused as such */
	bool has_all;          /* perf_event_open lets us have the whole machine */
	bool has_own_kernel;   /* of own processes the kernel may be sampled too */
	/* Samples of our own process came, their stacks were whole; others' files can be opened. */
	bool can_sample, can_unwind, can_open;
	bool can_own; /* whole stacks of own programs can be had without BPF */
};

extern const struct sp_cmd sp_cmd_doctor;

/* A new check, with its reason; "" = none. Never NULL. */
struct sp_doctor_check *sp_doctor_add(struct sp_doctor *d, const char *key, const char *what,
				      enum sp_doctor_state state, const char *why, ...)
    __attribute__((format(printf, 5, 6)));
/* What would help, for a check that is not all right; the last one's. */
void sp_doctor_cure(struct sp_doctor *d, const char *cure, ...) __attribute__((format(printf, 2, 3)));
void sp_doctor_value(struct sp_doctor *d, int64_t value); /* the last one's */
void sp_doctor_done(struct sp_doctor *d);

/* "Permission denied (EACCES)" of a negative errno; lives until the next call. */
const char *sp_doctor_errno(int r);
bool sp_doctor_has(const struct sp_doctor *d, int capability);

void sp_doctor_user(struct sp_doctor *d);
void sp_doctor_machine(struct sp_doctor *d);
void sp_doctor_bpf(struct sp_doctor *d);
void sp_doctor_perf(struct sp_doctor *d);
void sp_doctor_recipes(struct sp_doctor *d);
void sp_doctor_files(struct sp_doctor *d); /* those of other processes */
void sp_doctor_names(struct sp_doctor *d);
void sp_doctor_probes(struct sp_doctor *d);
void sp_doctor_agent(struct sp_doctor *d);

/* width 0: lines are as long as they are. */
int sp_doctor_print(const struct sp_doctor *d, unsigned width, bool colour, FILE *out);
int sp_doctor_print_json(const struct sp_doctor *d, bool is_whole, FILE *out);

/* What would let perf_event_open() do it; NULL = nothing that we know. For sp_doctor_perf() and its test. */
enum sp_doctor_perf { SP_DOCTOR_PERF_OWN_USER, SP_DOCTOR_PERF_OWN, SP_DOCTOR_PERF_ALL };
const char *sp_doctor_perf_cure(const struct sp_doctor *d, enum sp_doctor_perf what);
/* The word in brackets, of "none [integrity] confidentiality"; false: there is none. */
bool sp_doctor_lockdown(const char *text, char *ret_level, size_t size);
/* Major and minor of "6.1.0-38-amd64"; false: it is no such thing. */
bool sp_doctor_version(const char *release, unsigned *ret_major, unsigned *ret_minor);
/* From /proc/self/mountinfo: hidepid of the mount at /proc ("" = not given), and the kinds of cgroups. */
void sp_doctor_mounts(const char *mountinfo, char ret_hidepid[32], bool *ret_v1, bool *ret_v2);

#endif

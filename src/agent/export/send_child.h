/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * send_child.h: the process that sends to one receiver (senders.h): reads what it is told, sends, says what it sent.
 *
 * Its input is a line of words, lines of sources and labels, an empty line, and secrets. Its output is SP_SEND_SLOW as
 * soon as an answer takes long; a line of counts; and, if it failed or something was refused, one with the reason.
 * main() calls sp_send_main() first, which does not return if the program was executed for that. fleet_child.c and
 * push_child.c have the parts of their own. 0 or a negative errno with sp_error_text(). One thread.
 */
#ifndef SP_AGENT_EXPORT_SEND_CHILD_H
#define SP_AGENT_EXPORT_SEND_CHILD_H

#include "agent/export/push.h"
#include "agent/export/senders.h"
#include "agent/request.h"

#define SP_SEND_ARGUMENT "--send"
#define SP_SEND_SLOW "slow\n"
enum { SP_SEND_FAILED = 3 }; /* exit code */
void sp_send_main(int argc, char **argv);

struct sp_send_job {
	char line[SP_LINE_MAX + 2]; /* of which the words are */
	struct sp_line words;
	enum sp_receiver to;
	const char *url, *ca_file, *host, *store;                                /* ca_file: NULL = the system's */
	const char *sources[SP_AGENT_MAX_SOURCES], *labels[SP_AGENT_MAX_LABELS]; /* labels: "NAME=VALUE" */
	size_t n_sources, n_labels;
	uint32_t resolution_s;
};
struct sp_send_result {
	uint64_t counts[SP_SENT_COUNTS]; /* as sp_sent_words has them */
	uint64_t later_s, to_ns;         /* later_s: of push.h */
	char why_refused[SP_PUSH_WHY];   /* "" = nothing was */
};
int sp_send_windows(const struct sp_send_job *job, struct sp_send_result *ret_result);
int sp_send_profiles(const struct sp_send_job *job, struct sp_send_result *ret_result);

/* Says that an answer takes long. */
void sp_send_slow(const char *server, unsigned seconds);

/* The next line of the input, without its line break. 1: there is none. */
int sp_send_read_line(char *ret_line, size_t size);

#endif

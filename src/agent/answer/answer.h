/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer.h: the process that answers one request of a client of the agent.
 *
 * main() calls sp_answer_main() first, which does not return if the program was executed for that (server_priv.h has
 * the interface). The process sets its own limits before it opens the store, only reads the store's files, and writes
 * the whole answer to the client on descriptor 1: `ok ...`, or `error ...`, also when its time or memory is used up. It
 * leaves out what the client may not see.
 */
#ifndef SP_AGENT_ANSWER_ANSWER_H
#define SP_AGENT_ANSWER_ANSWER_H

void sp_answer_main(int argc, char **argv);

#endif

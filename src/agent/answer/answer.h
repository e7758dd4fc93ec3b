/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer.h: the process that answers one question of one client of the agent.
 *
 * main() calls sp_answer_main() first: where the program was executed for that (server_priv.h says how) the call does
 * not return. The process limits itself before it opens the store, reads the store's files only, and writes the whole
 * answer to the client on descriptor 1: `ok ...`, or `error ...` with what went wrong, also when its time or its memory
 * is over. What the client may not see is left out here.
 */
#ifndef SP_AGENT_ANSWER_ANSWER_H
#define SP_AGENT_ANSWER_ANSWER_H

void sp_answer_main(int argc, char **argv);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log.h: the agent's log: one line on stderr per call, control characters made visible.
 *
 * Under systemd (JOURNAL_STREAM is our stderr) a line begins with its level, <3> to <7>, see sd-daemon(3); else with
 * the time of day. Lines less urgent than sp_log_open()'s level are dropped. Never fails: a line that stderr does not
 * take is lost, one over 2 KiB is cut. No memory is kept. One thread.
 */
#ifndef SP_AGENT_LOG_H
#define SP_AGENT_LOG_H

enum sp_log_level { SP_LOG_ERROR, SP_LOG_WARNING, SP_LOG_NOTICE, SP_LOG_INFO, SP_LOG_DEBUG, SP_N_LOG_LEVELS };

void sp_log_open(int level);
void sp_log(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

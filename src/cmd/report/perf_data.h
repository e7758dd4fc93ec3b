/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_data.h: perf.data files, which only the perf that wrote them understands: `perf script` makes text of them.
 *
 * Its text is read while it runs, by the reader of such text. Without perf on this machine the command to be run on the
 * other one is told. 0 or a negative errno with sp_error_text(). No state.
 */
#ifndef SP_CMD_REPORT_PERF_DATA_H
#define SP_CMD_REPORT_PERF_DATA_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether the file begins as perf.data does; of what cannot be read twice nothing is known. */
bool sp_perf_data_is(int fd);
/* Starts perf on the file of this name; its text comes from *ret_fd. */
int sp_perf_data_open(const char *name, int *ret_fd, pid_t *ret_pid);
/* Waits for it. ret: what has become of the reading, which is given back if perf has not failed. */
int sp_perf_data_close(const char *name, pid_t pid, int ret);

#endif

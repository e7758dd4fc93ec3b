/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * output.h: writes a command's output to a file or to standard output.
 *
 * A regular file is written under a temporary name and renamed when it is complete, so a full disk or a failure leaves
 * the old one; a symbolic link stays one. Devices and pipes are written directly. A reader of standard output that
 * goes away (head) is no error. 0 or a negative errno with sp_error_text() that names the file.
 */
#ifndef SP_CMD_OUTPUT_H
#define SP_CMD_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct sp_broker;
struct sp_view;

/* path NULL or "-": standard output. write says 0 or a negative errno; the stream's errors are looked after here. */
int sp_output(const char *path, int (*write)(void *arg, FILE *out), void *arg);
/* On standard error, if standard output is used for something else. */
int sp_output_stderr(int (*write)(void *arg, FILE *out), void *arg);

/*
 * For what is written bit by bit, while events happen: into the file itself. Without a path to standard output, or,
 * beside a command, to standard error, as strace and perf stat do, so that the command's own output stays apart. The
 * stream of a path is closed, the others are flushed; a reader that has gone away is no error.
 */
int sp_output_open(const char *path, bool has_command, FILE **ret_out);
int sp_output_close(const char *path, FILE *out); /* out may be NULL */

/* "-" is standard output, which has no path: true, and *path is NULL from then on. */
bool sp_output_is_stdout(const char **path);

/* Whether that could begin now; leaves nothing behind. For what is long in coming. */
int sp_output_check(const char *path);

/*
 * The same in two steps, for a process that drops its privileges between them: the file beside the place is made first,
 * by the broker, which puts it there in the end. *ret_file NULL: not a plain file, or no broker; sp_output() does it
 * all then. prepared closes the file.
 */
int sp_output_prepare(const char *path, struct sp_broker *broker, FILE **ret_file);
int sp_output_prepared(const char *path, struct sp_broker *broker, FILE *file, int (*write)(void *arg, FILE *out),
		       void *arg);

/* The view of the suffix of -o; of those alone that choice names. -EINVAL says which suffixes there are. */
int sp_output_view(const char *path, const char *(*choice)(size_t), const struct sp_view **ret_view);
/* -EINVAL if the view is binary and would go to a terminal, or is two files and would not go to a plain one. */
int sp_output_fits(const struct sp_view *view, const char *path);

/* Names of views and of the groupings of tables, for SP_OPT_CHOICE; NULL after the last. */
const char *sp_view_choice(size_t i);
const char *sp_sample_view_choice(size_t i); /* only of views that need no counted calls */
const char *sp_grouping_choice(size_t i);

#endif

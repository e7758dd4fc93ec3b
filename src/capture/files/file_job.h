/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file_job.h: a request to the workers about a file, shared by files.c and look.c. Private to src/capture.
 *
 * The job is owned by whoever gets its callback, which comes once. A file may have been forgotten meanwhile, and the
 * profile may be the caller's again: then the job is late, and its answer is thrown away.
 */
#ifndef SP_CAPTURE_FILE_JOB_H
#define SP_CAPTURE_FILE_JOB_H

#include <stdbool.h>
#include <stdint.h>

struct sp_capture;
struct sp_message_file;

struct sp_file_job {
	struct sp_capture *c;
	uint32_t id, user;
	uint64_t birth, cpu_ns;
	struct sp_file_job
	    *next; /* in the list of tables being built, of those waiting for the same one, or of looks */
	struct sp_file_job *waiting; /* copies of the file: when its table is built they find it in the cache */
};

struct sp_file_job *sp_file_job_new(struct sp_capture *c, uint32_t id);
bool sp_file_job_is_late(const struct sp_file_job *job);

/* files.c */
void sp_files_fail_once(struct sp_capture *c, int r, const char *what);
void sp_files_note(struct sp_capture *c, uint32_t id, const char *note); /* why it has no names */
void sp_files_refuse_table(struct sp_capture *c, uint32_t id);           /* it has none, and goes no further */
/* look.c */
void sp_files_look(struct sp_capture *c, uint32_t id, const struct sp_message_file *r);

#endif

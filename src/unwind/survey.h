/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * survey.h: counts what an unwind table contains: rows, bytes of code, and rows that could not be expressed.
 *
 * Rows are counted as stored, with the copies at the beginning of groups. Bytes are file offsets from one row to the
 * next. Rows that could not be expressed are counted by reason (enum sp_bad_why of bpf/wire.h). The blob must be valid
 * (sp_blob_validate). Pure; no state.
 */
#ifndef SP_UNWIND_SURVEY_H
#define SP_UNWIND_SURVEY_H

#include "unwind/build.h"

struct sp_blob_survey {
	uint64_t n_rows;
	uint64_t n_derived_rows;  /* rows not from the file's tables but derived from its instructions */
	uint64_t n_bad[SP_N_BAD]; /* rows, by reason */
	uint64_t derived_bytes;   /* of code with derived rules */
	uint64_t ruled_bytes;     /* of code with rules from the file, inexpressible ones included */
	uint64_t bad_bytes;       /* of these, with a rule that could not be expressed */
};

struct sp_blob_survey sp_blob_survey(const struct sp_blob *b);

#endif

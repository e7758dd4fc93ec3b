/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * files.h: what a session knows of files, by the kernel half's numbers and by the profile's. Private to src/capture.
 *
 * files.c takes a file from its first sight to its table: opened, identified, its table loaded, each step by the
 * workers; jit.c holds what there is about memory without a file. forget.c takes numbers back from files that are not
 * in use any more, while nothing is sampled, and moves the others to a fresh profile. Tables and descriptors are the
 * session's. Callbacks of the workers find their file by its number and birth: an answer for a file that was forgotten
 * meanwhile is thrown away. 0 or a negative errno.
 */
#ifndef SP_CAPTURE_FILES_H
#define SP_CAPTURE_FILES_H

#include "unwind/runtime.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_capture;
struct sp_capture_keep;
struct sp_jit_at;
struct sp_profile;
struct sp_rule;

/*
 * LATER: its table may not be built now, and it goes without; FREE: no file has this number; GIVEN: it is in the map
 * free_files, and the kernel half may assign it again.
 */
enum sp_seen_state { SP_SEEN_NEW, SP_SEEN_LOADING, SP_SEEN_DONE, SP_SEEN_LATER, SP_SEEN_FREE, SP_SEEN_GIVEN };

struct sp_seen_file { /* by file id */
	struct sp_file_key key;
	uint32_t number;   /* in the profile */
	uint8_t state;     /* enum sp_seen_state */
	uint8_t n_met;     /* LATER: windows in which it was in use */
	uint32_t loaded;   /* window of its last load */
	uint32_t n_wanted; /* how often a sample was found to wait for its table */
	uint64_t birth;    /* which of the announcements it was: a number may stand for another file later */
};

struct sp_known_file { /* by number in the profile */
	int fd;
	int jit_dump_fd, memory_fd; /* of memory without a file: what its process writes of it, and itself; 0 = none */
	bool is_memory_asked, is_memory_refused;
	uint32_t n_made, n_not_made; /* frames in it that were found, and that were not */
	uint32_t uid, mode;
	uint8_t n_tries;
	bool is_identified; /* or never will be: its names and its build id are what they are */
	uint32_t build_id_len;
	uint8_t build_id[32];
	uint64_t size, changed_ns; /* when it was opened */
	uint64_t n_bad_rows;
	struct sp_runtime runtime; /* what it makes code with */
};

/* files.c */
int sp_files_record(struct sp_capture *c, const struct sp_message_file *r);
uint32_t sp_files_number(const struct sp_capture *c, uint32_t id); /* 0 = unknown */
void sp_files_want(struct sp_capture *c, uint32_t id);             /* an absent table is wanted (again), and soon */
void sp_files_done(struct sp_capture *c);
void sp_known_file_done(struct sp_known_file *k);       /* its descriptors */
void sp_files_table(struct sp_capture *c, uint32_t id); /* from the cache, or built, or put off */
/* jit.c: what the process of memory without a file writes of it, if it does. */
void sp_jit_want(struct sp_capture *c, uint32_t id, const struct sp_message_file *r);
/* jit.c: a descriptor of its process's memory, which stays ours; -EAGAIN: not yet; -ENOENT: it cannot be had. */
int sp_memory_want(struct sp_capture *c, uint32_t id);
/* jit_frames.c: of struct sp_finish_memory; capture: a struct sp_capture. */
int sp_jit_frame(void *capture, const struct sp_jit_at *at, struct sp_rule *ret_rule);
/* behind.c: of struct sp_finish_memory. */
int sp_behind_call(void *capture, uint64_t word, uint64_t offset);
/* regions.c: a table came, and with it what is known of its file's runtime. */
struct sp_blob;
void sp_regions_note(struct sp_capture *c, uint32_t id, const struct sp_blob *blob);
/*
 * Whether this is memory without a file. Whose code it is, is then told by what else is mapped, as soon as it is known
 * of all of that.
 */
struct sp_finish_memory;
bool sp_regions_want(struct sp_capture *c, uint32_t id, const struct sp_finish_memory *memory);
/* later.c: tables that are not to be built now; and, when a window is over, those of files that were met again. */
bool sp_files_may_build(const struct sp_capture *c, uint32_t id);
void sp_files_put_off(struct sp_capture *c, uint32_t id);
void sp_files_begin_window(struct sp_capture *c, uint32_t window);
/* forget.c: while nothing is sampled; and the files that are left, with what was known by their old numbers. */
int sp_files_forget(struct sp_capture *c, const struct sp_capture_keep *keep);
int sp_files_move(struct sp_capture *c, const struct sp_profile *from, struct sp_known_file *known, size_t n_known);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * files.h: what a session knows of files, by the kernel half's numbers and by the profile's. Private to src/capture.
 *
 * files.c takes a file from its first sight to its table: opened, identified, table loaded, each step done by the
 * workers; jit.c does what concerns memory without a file. forget.c takes numbers back from files that are not in use
 * any more, while nothing is sampled, and moves the others to a fresh profile. Tables and descriptors are the
 * session's. Callbacks of the workers find their file by its number and birth: an answer about a file that was
 * forgotten meanwhile is thrown away. 0 or a negative errno.
 */
#ifndef SP_CAPTURE_FILES_H
#define SP_CAPTURE_FILES_H

#include "base/entries.h"
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
 * LATER: the table may not be built now, and frames are guessed meanwhile; FREE: no file has this number; GIVEN: the
 * number is in the map free_files, and the kernel half may assign it again.
 */
enum sp_seen_state { SP_SEEN_NEW, SP_SEEN_LOADING, SP_SEEN_DONE, SP_SEEN_LATER, SP_SEEN_FREE, SP_SEEN_GIVEN };

struct sp_seen_file { /* by file id */
	struct sp_file_key key;
	uint32_t number;   /* in the profile */
	uint8_t state;     /* enum sp_seen_state */
	uint8_t n_met;     /* LATER: drains in which it was in use */
	uint32_t loaded;   /* drain of its last load */
	bool is_crowded;   /* LATER: its table, which was evicted, is not loaded again so soon */
	uint32_t n_wanted; /* how often a sample was found to wait for its table: what is built first */
	uint64_t birth;    /* serial number of the announcement: the number may stand for another file later */
};

struct sp_known_file { /* by number in the profile */
	int fd;
	int jit_dump_fd, memory_fd; /* of memory without a file: its process's jit dump and memory; 0 = none */
	bool is_memory_asked, is_memory_refused;
	uint32_t n_made, n_not_made; /* JIT frames in it that were found, and not found */
	uint32_t uid, mode;          /* of the file */
	uint32_t user;               /* whose process it was met in last */
	uint8_t n_tries,
	    n_met; /* n_met: of struct sp_seen_file, if it is to be announced again since its user may not */
	bool is_deleted, is_memory; /* the descriptor is what keeps its bytes: in memory, else on a disk */
	uint64_t kept_bytes;        /* so many, if it is */
	bool is_passing;            /* these are too many: the descriptor is closed once its table is there */
	bool is_identified;         /* its name and build id are final, known or not */
	uint32_t build_id_len;
	uint8_t build_id[32];
	uint64_t size;
	struct sp_file_state state;        /* when it was opened */
	uint64_t image_vaddr, image_bytes; /* of struct sp_identify_result; 0 bytes = not known */
	uint64_t n_bad_rows, table_bytes;  /* of its table, when it was loaded last */
	struct sp_runtime runtime;         /* by which it makes code */
};

/* files.c */
int sp_files_record(struct sp_capture *c, const struct sp_message_file *r);
uint32_t sp_files_number(const struct sp_capture *c, uint32_t id); /* 0 = unknown */
void sp_files_want(struct sp_capture *c, uint32_t id);             /* a sample waits for its table: load it, and soon */
void sp_files_done(struct sp_capture *c);
void sp_known_file_done(struct sp_known_file *k);         /* closes its descriptors */
void sp_files_table(struct sp_capture *c, uint32_t id);   /* loads it from the cache, or has it built, or puts it off */
void sp_files_allowed(struct sp_capture *c, uint32_t id); /* the same of a file whose table may be built */
/* deleted.c: before its descriptor is kept, whether it may be for long. */
struct sp_open_result;
void sp_files_note_deleted(struct sp_capture *c, struct sp_known_file *k, const struct sp_open_result *o);
/* Now and then: such files may have grown since. */
void sp_files_bound_deleted(struct sp_capture *c);
uint64_t sp_files_deleted_bytes(const struct sp_capture *c, bool in_memory); /* that are kept now */
/* jit.c: opens the perf map or jit dump that the process of this memory writes, if it writes one. */
void sp_jit_want(struct sp_capture *c, uint32_t id, const struct sp_message_file *r);
/*
 * jit.c: a descriptor of the process's memory, which stays the session's; -EAGAIN: not yet; -ENOENT: it cannot be had.
 */
int sp_memory_want(struct sp_capture *c, uint32_t id);
/* jit_frames.c: a callback of struct sp_finish_memory; capture: a struct sp_capture. */
int sp_jit_frame_ask(void *capture, const struct sp_jit_at *at, struct sp_rule *ret_rule);
/* after_call.c: a callback of struct sp_finish_memory. */
int sp_code_before(void *capture, uint64_t word, uint64_t offset, uint8_t *ret);
/* regions.c: takes in what a file's new table says of its runtime. */
struct sp_blob;
void sp_regions_note(struct sp_capture *c, uint32_t id, const struct sp_blob *blob);
/*
 * Whether the id is that of memory without a file. If so, finds whose code it is, from the other files that the process
 * has mapped, once all of these are known.
 */
struct sp_finish_memory;
bool sp_regions_want(struct sp_capture *c, uint32_t id, const struct sp_finish_memory *memory);
/* users.c: the callers of users.h. */
#define SP_OVER_NAME "[unidentified]"
bool sp_users_may_look(struct sp_capture *c, uint32_t uid);                       /* and if so: it is begun */
void sp_users_looked(struct sp_capture *c, uint32_t uid, int r, uint64_t cpu_ns); /* it is over */
void sp_users_parsed(const struct sp_capture *c, uint32_t uid, uint64_t cpu_ns);
/* Adds the file by which all are known that a user may not have looked at now; its number in the profile. */
int64_t sp_users_file(struct sp_capture *c, uint32_t uid);
void sp_users_begin_drain(struct sp_capture *c);
/* look.c: asks no more for files of this user that no worker has been given yet. */
void sp_files_cancel(struct sp_capture *c, uint32_t uid);
/* later.c: whether a file's table may be built now; and, at each drain, asks again for files that were met. */
bool sp_files_may_build(const struct sp_capture *c, uint32_t id);
/*
 * The same of code made at run time that is to be read out of its process. If not it may be put off: its frames are
 * guessed until a later drain allows it, and no sample waits for them. And what it has cost.
 */
bool sp_files_may_read(const struct sp_capture *c, uint32_t id);
void sp_files_put_off_code(struct sp_capture *c, uint32_t id);
void sp_files_have_read(const struct sp_capture *c, uint32_t id, uint64_t cpu_ns);
void sp_files_crowd_out(struct sp_capture *c, uint32_t id);
void sp_files_not_later(struct sp_capture *c, uint32_t id);        /* it is put off no more, if it was */
bool sp_files_is_crowded(const struct sp_capture *c, uint32_t id); /* its table is not to be loaded again now */
void sp_files_put_off(struct sp_capture *c, uint32_t id);
void sp_files_begin_drain(struct sp_capture *c, uint32_t drain);
/* forget.c: forgets files while nothing is sampled; moves those that are left to a fresh profile. */
int sp_files_forget(struct sp_capture *c, const struct sp_capture_keep *keep);
int sp_files_move(struct sp_capture *c, const struct sp_profile *from, struct sp_known_file *known, size_t n_known);

#endif

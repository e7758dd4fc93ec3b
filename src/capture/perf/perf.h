/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf.h: sampling by perf_event_open, without a kernel half. Private to src/capture.
 *
 * perf.c         the backend: opens events, reads the rings in the order of time, keeps track of tasks
 * perf_events.c  opens one event for each thread and CPU, all of a CPU into one ring
 * perf_files.c   which file a mapping shows ("object"), and its announcement as the kernel half would make it
 * perf_sample.c  a sample: process record, kernel stack, user stack walked at once
 * perf_proc.c    what no record tells: which processes run already, and what they have mapped
 * Pure parts, with headers of their own: perf_record, perf_ring, perf_space, perf_tasks.
 * Everything hangs on c->perf. Functions return 0 or a negative errno with sp_error_text(). One thread.
 */
#ifndef SP_CAPTURE_PERF_PERF_H
#define SP_CAPTURE_PERF_PERF_H

#include "capture/perf/perf_record.h"
#include "capture/perf/perf_ring.h"
#include "capture/perf/perf_space.h"
#include "capture/perf/perf_tasks.h"
#include "capture/priv.h"

struct sp_mapped_object { /* a file, or memory without one, as it was seen mapped */
	struct sp_file_key key;
	char *path;
	uint32_t id;    /* as announced; 0 = not announced, or forgotten */
	uint32_t older; /* the next older object of this device and inode number */
};

struct sp_perf_cpu {
	struct sp_perf_ring ring;
	unsigned cpu;
	int fd;              /* the event that owns the ring; -1 = none yet */
	uint32_t n_samples;  /* since one was taken (see thin) */
	size_t record_bytes; /* size of the next record, which is in `record`; 0 = not parsed yet */
	struct sp_perf_record record;
};

struct sp_perf {
	struct perf_event_attr attr;
	struct sp_perf_format format;
	uint32_t thin; /* one of so many samples is taken, and stands for all of them */
	struct sp_perf_cpu *cpus;
	size_t n_cpus;
	int *fds;
	size_t n_fds, fds_capacity;
	int epoll;
	bool is_ending; /* the events are off: nothing more comes into the rings */
	struct sp_tasks tasks;
	struct sp_mapped_object *objects; /* numbered from 1 */
	size_t n_objects, objects_capacity;
	struct sp_numbers inodes; /* {device, inode number} -> its newest object */
	uint32_t *object_of;      /* file id -> object; 0 = none */
	size_t n_object_of;
	uint32_t last_file, last_process;
	uint32_t n_losses; /* how often records were lost */
	uint64_t clock_to_boot_ns;
	volatile struct sp_slicing slicing;
	volatile sp_u32 drain;
	struct sp_message_pending pending; /* of the sample that is being walked */
};

/* perf_events.c */
int sp_perf_attr_make(struct sp_capture *c);
int sp_perf_open_thread(struct sp_capture *c, uint32_t tid);
int sp_perf_open_all(struct sp_capture *c); /* of the whole machine */
void sp_perf_switch(struct sp_capture *c, bool on);
void sp_perf_events_done(struct sp_perf *p);

/* perf_files.c */
/* Adds a process's mapping, as a record (or /proc) describes it. */
int sp_perf_mapping_add(struct sp_capture *c, struct sp_task_process *t, const struct sp_perf_mmap *m);
/*
 * Fill in the frame words of all mappings, and announce what is mapped: files, then memory without files, which needs
 * the process record. 0; 1: no number is left; or a negative errno.
 */
int sp_perf_announce_files(struct sp_capture *c, struct sp_task_process *t);
int sp_perf_announce_memory(struct sp_capture *c, struct sp_task_process *t);
void sp_perf_forget(struct sp_capture *c, uint32_t file_id);
const char *sp_perf_path(const struct sp_capture *c, uint32_t file_id);
void sp_perf_files_done(struct sp_perf *p);

/* perf_sample.c */
int sp_perf_sample(struct sp_capture *c, const struct sp_perf_record *r);

/* perf_proc.c */
int sp_perf_proc_maps(struct sp_capture *c, struct sp_task_process *t); /* a process that has gone is no error */
int sp_perf_proc_add(struct sp_capture *c, uint32_t pid, struct sp_task_process **ret_process);
void sp_perf_proc_describe(struct sp_task_process *t); /* uid, ns_pid, cgroup: once */
/* The threads of a process, by number. Free *ret_tids. -ESRCH: it has gone. */
int sp_perf_proc_threads(uint32_t pid, uint32_t **ret_tids, size_t *ret_n);
void sp_perf_proc_comm(uint32_t tid, char ret_comm[SP_COMM_LEN]);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * objects.h: rows that say what their event was about: what a page fault touched, which lock was waited for.
 *
 * The kernel half tells of each object once, before the first row that names it. A row becomes one of the profile when
 * the session ends, with the object's name as a label: by then the object's file has its own name (its soname). Equal
 * rows are one until then. Only in sessions that ask for it (sp_capture_options.objects), which end. All but
 * the places of locks is private to src/capture. The session owns it. Errors: negative errnos.
 */
#ifndef SP_CAPTURE_OBJECTS_H
#define SP_CAPTURE_OBJECTS_H

#include "bpf/wire.h"
#include "profile/key.h"
#include <stdint.h>

struct sp_capture;

enum { SP_OBJECT_LABELS = 2 };

int sp_objects_open(struct sp_capture *c);
void sp_objects_done(struct sp_capture *c);
int sp_objects_take(struct sp_capture *c, const struct sp_message_object *r);
int sp_objects_keep(struct sp_capture *c, const struct sp_count_key *key, const struct sp_count *value);
/* Adds the rows to the profile; all stacks are there. */
int sp_objects_finish(struct sp_capture *c);
/* The labels of a row's object; returns how many. */
int sp_objects_labels(struct sp_capture *c, const struct sp_count_key *key,
		      struct sp_label ret_labels[SP_OBJECT_LABELS]);

/* The locks in files that rows have as a label, in whose place somebody who finds its name may put it. */
struct sp_lock_place {
	uint32_t word; /* string: the label's, LIBRARY+0xADDRESS */
	uint32_t file;
	uint64_t at; /* address of the file's symbol tables */
};
/* They stay the session's. */
const struct sp_lock_place *sp_capture_lock_places(const struct sp_capture *c, size_t *ret_n);

#endif

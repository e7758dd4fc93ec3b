/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks.h: profiles from text, for the tests of pictures.
 *
 * A line is `VALUE[,VALUE...] TAB COMM TAB user stack TAB kernel stack`, or before these `#NAME/UNIT`, a type of value.
 * A stack is frames, root first, with ";" between them, "" for none; with "~" before it, it is cut short. A frame is
 * "LIBRARY`FUNCTION", or "`FUNCTION" in no library; "?" before it: it is guessed. Libraries in brackets are the
 * kernel's, but for [anon..., [vdso] and [waker], whose functions are words (profile/frames.h). The same words are the
 * same file and the same function.
 * What goes wrong fails the test. Who gets a profile frees it.
 */
#ifndef TESTS_VIEW_STACKS_H
#define TESTS_VIEW_STACKS_H

#include "profile/profile.h"
#include "view/view.h"

#include <stdio.h>

enum { STACKS_MAX_DEPTH = 512 };

/* Fails on a negative errno. */
uint32_t stacks_number(int64_t n);
/* name NULL: without a type of value. */
struct sp_profile *stacks_profile(const char *name, const char *unit);
/* Without a type of value in the file: samples. */
struct sp_profile *stacks_read(const char *path);
void stacks_line(struct sp_profile *p, const char *line);
/* Values: SP_MAX_VALUES of them. */
void stacks_row(struct sp_profile *p, const char *comm, uint32_t user, uint32_t kernel, const int64_t *values);
uint32_t stacks_file(struct sp_profile *p, const char *name, uint8_t kind, const char *build_id, uint64_t tag);
uint32_t stacks_frame(struct sp_profile *p, uint32_t file, const char *name, uint32_t flags);
uint32_t stacks_stack(struct sp_profile *p, const uint32_t *rootward, uint32_t n, bool is_cut);

/* What is written by the view, or a part of it; free it. And how often a text stands in another. */
char *stacks_written(const struct sp_profile *p, const struct sp_view_options *o,
		     int (*write)(const struct sp_profile *p, const struct sp_view_options *o, FILE *out));
uint32_t stacks_count(const char *text, const char *wanted);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * html_data.h: a profile as the data of the HTML page: one JSON object, without any `<`.
 *
 *   format     1
 *   title, subtitle
 *   values     [[name, unit, index of the value that it is compared with, or -1], ...]: values called "old" and "new",
 *              "old samples" and "new samples" and so on are compared (profile/diff.h makes such profiles)
 *   value      the index of the value that is shown first
 *   samples    the index of the number of samples; if no value is called so, a last one counts the rows
 *   libraries  [[name, path, build id, package, kind (profile.h's), note, is deleted, light colour, dark colour], ...];
 *              number 0 is none
 *   names      strings
 *   entities   name, library, module's name, kind (html_tables.h's) of each: numbers one after the other
 *   tints      where one library is nearly all: [[light, dark], ...]
 *   tint       for each entity the number of its own of these, or -1
 *   noise      of a difference: html_noise.h
 *   n_slices, slice_ns, duration_ns  where the recording tells of slices of time: how many, how long each and all are
 *   n_nodes, n_paths
 *   paths      base64 of varints (LEB128): for each path, in order: with slices its own, from 1, 0 = not known; frames
 *              to go back from the end of the last one, frames to go on, that many entities, and each value, zigzag
 *
 * Errors: 0 or a negative errno; the stream's error flag is the caller's. Only reads the profile; reentrant.
 */
#ifndef SP_VIEW_HTML_HTML_DATA_H
#define SP_VIEW_HTML_HTML_DATA_H

#include <stdint.h>
#include <stdio.h>

struct sp_json;
struct sp_profile;
struct sp_view_options;

int sp_html_data_write(const struct sp_profile *p, const struct sp_view_options *o, FILE *out);

/* For the agent's API: one element of `values`. */
void sp_html_put_value(struct sp_json *j, const char *name, const char *unit, int old);

#endif

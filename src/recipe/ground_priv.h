/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ground_priv.h: what the two parts of the ground's user half share: ground.c, the object and its perf events, and
 * ground_fronts.c, the fronts of the other attach points.
 *
 * The struct owns all that it names, and is freed by ground.c. Functions return 0 or a negative errno with
 * sp_error_text().
 */
#ifndef SP_RECIPE_GROUND_PRIV_H
#define SP_RECIPE_GROUND_PRIV_H

#include "capture/recipe_ops.h"

struct bpf_link;
struct sp_front;
struct sp_recipe_watch;

struct event_link {
	unsigned cpu, recipe, point;
	int fd; /* the event's descriptor, which the link owns */
	struct bpf_link *link;
};
/* By the kind of the fronts' point; those of whole calls have one of their own. */
enum { SP_SINK_SESSION = SP_AT_KPROBE + 1, SP_N_SINKS };
struct ground {
	struct ground_bpf *skel;
	struct event_link *links;
	size_t n_links, links_capacity;
	struct bpf_link *follow_links[3];
	struct sp_front *fronts[SP_MAX_RECIPES * SP_MAX_POINTS];
	unsigned front_recipe[SP_MAX_RECIPES * SP_MAX_POINTS];
	size_t n_fronts;
	unsigned first_sink;                         /* the kind of that in the skeleton; 0: no front needs one */
	int sinks[SP_N_SINKS];                       /* where fronts go on: programs of these objects */
	struct bpf_object *sink_objects[SP_N_SINKS]; /* NULL: no front needs it, or it is in the skeleton */
	bool is_off[SP_MAX_RECIPES];
	bool has_stamps;               /* threads are walked only when they are back */
	struct sp_recipe_watch *watch; /* NULL: there are no probes */
	bool owns_watch;
};

/* Whether a recipe of the session has a point of this kind. */
bool sp_ground_has(const struct sp_capture_options *o, enum sp_at at);
/* Those that the session's points need: the first is in the skeleton, each further one takes as long again. */
void sp_sinks_choose(struct ground *s, const struct sp_capture_options *o); /* before the skeleton is loaded */
int sp_sinks_load(struct ground *s, const struct sp_capture_options *o);    /* after it */
int sp_fronts_attach(struct ground *s, const struct sp_capture_options *o);
int sp_fronts_watch(struct ground *s, const struct sp_capture_options *o);
void sp_fronts_detach(struct ground *s, int recipe);
int sp_fronts_pause(struct ground *s, bool is_paused);
int sp_fronts_wait(void); /* until no program runs that was attached before */

#endif

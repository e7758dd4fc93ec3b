/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frames.h: a sample's frames, leaf first: those of its kernel stack, then those of its user stack.
 *
 * What sums samples over their stacks reads them by this. The frames belong to the profile, and are valid until a
 * stack is added to it. Cannot fail; only reads the profile.
 */
#ifndef SP_PROFILE_FRAMES_H
#define SP_PROFILE_FRAMES_H

#include "profile/profile.h"

#include <stddef.h>

struct sp_frames {
	const uint32_t *kernel, *user;
	size_t n_kernel, n; /* n: of both */
};

static inline struct sp_frames sp_profile_frames(const struct sp_profile *p, const struct sp_row *row)
{
	struct sp_stack kernel = sp_profile_stack(p, row->kernel), user = sp_profile_stack(p, row->user);

	return (struct sp_frames){.kernel = kernel.frames,
				  .user = user.frames,
				  .n_kernel = kernel.n_frames,
				  .n = (size_t)kernel.n_frames + user.n_frames};
}

static inline uint32_t sp_frames_at(const struct sp_frames *f, size_t i)
{
	return i < f->n_kernel ? f->kernel[i] : f->user[i - f->n_kernel];
}

#endif

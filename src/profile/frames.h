/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frames.h: a sample's own frames, leaf first: those of its kernel stack, then those of its user stack.
 *
 * What sums samples over their stacks reads them by this. For flame graphs and trees a stack may have more at its
 * leaf's end, which is not the thread's own: a label as a word (leaves.h), or who woke the thread, with its stack,
 * behind a word that separates both. All of that, up to the word nearest to the root, is left out here, so that "self"
 * is the code's. Pictures take all frames of a stack; sp_profile_n_beside() says how many of them are not its own. The
 * frames belong to the profile, and are valid until a stack is added to it. Cannot fail; only reads the profile.
 */
#ifndef SP_PROFILE_FRAMES_H
#define SP_PROFILE_FRAMES_H

#include "profile/profile.h"

#include <stddef.h>
#include <string.h>

#define SP_WORD_WOKEN_BY "--" /* between a thread's frames and those of who woke it, as bcc's offwaketime has it */

struct sp_frames {
	const uint32_t *kernel, *user;
	size_t n_kernel, n; /* n: of both */
};

bool sp_profile_has_words(const struct sp_profile *p); /* files of that kind */

static inline uint32_t sp_profile_n_beside(const struct sp_profile *p, const struct sp_stack *stack)
{
	uint32_t n = sp_profile_has_words(p) ? stack->n_frames : 0;

	while (n && sp_profile_file(p, sp_profile_frame(p, stack->frames[n - 1])->file)->kind != SP_FILE_WORDS)
		n--;
	return n;
}

/* A function's name in flame graphs and trees. */
static inline const char *sp_profile_drawn_name(const struct sp_profile *p, uint32_t func)
{
	const struct sp_func *it = sp_profile_func(p, func);
	const char *name = sp_profile_string(p, it->name);
	bool is_word = sp_profile_file(p, it->file)->kind == SP_FILE_WORDS;

	return is_word && strcmp(name, SP_WORD_WOKEN_BY) == 0 ? "woken by" : name;
}

static inline struct sp_frames sp_profile_frames(const struct sp_profile *p, const struct sp_row *row)
{
	struct sp_stack kernel = sp_profile_stack(p, row->kernel), user = sp_profile_stack(p, row->user);
	uint32_t of_kernel = sp_profile_n_beside(p, &kernel), of_user = sp_profile_n_beside(p, &user);
	size_t n_kernel = kernel.n_frames - of_kernel;

	return (struct sp_frames){.kernel = kernel.frames + of_kernel,
				  .user = user.frames + of_user,
				  .n_kernel = n_kernel,
				  .n = n_kernel + user.n_frames - of_user};
}

static inline uint32_t sp_frames_at(const struct sp_frames *f, size_t i)
{
	return i < f->n_kernel ? f->kernel[i] : f->user[i - f->n_kernel];
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * behind.c: whether a call ends right before a return address, told from the bytes of its file, which the session has
 * open.
 *
 * For samples that are walked in the user half; the kernel half looks at the code in memory (sp_is_suspect). Only the
 * page cache is read (RWF_NOWAIT), which has code that has just run: a disk may keep a reader waiting. overlayfs and
 * tmpfs do not have that flag; their files are read without it, since openers refuse what may hang (worker/mounts.h).
 * Answers are kept, because the same places are returned to again and again.
 */
#include "capture/priv.h"
#include "unwind/finish.h"
#include "unwind/step_types.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

enum { N_KEPT = 4096, CALL_BYTES = 8 };

struct sp_behind { /* an answer; birth 0: free */
	uint64_t word, birth;
	bool is_call;
};

static bool read_cached(int fd, const struct iovec *to, off_t at)
{
	ssize_t n = preadv2(fd, to, 1, at, RWF_NOWAIT);
	if (n < 0 && errno == EOPNOTSUPP)
		n = preadv(fd, to, 1, at);
	return n == (ssize_t)to->iov_len;
}

static int look(const struct sp_capture *c, uint32_t id, uint64_t offset)
{
	int fd = c->seen[id].number ? sp_known_of(c, id)->fd : -1;
	uint8_t code[CALL_BYTES];
	struct iovec to = {code, sizeof(code)};

	if (fd < 0 || offset < CALL_BYTES || !read_cached(fd, &to, (off_t)(offset - CALL_BYTES)))
		return -ENOENT;
	return sp_ends_in_call(code);
}

int sp_behind_call(void *capture, sp_u64 word, sp_u64 offset)
{
	struct sp_capture *c = capture;
	uint32_t id = word >> SP_FRAME_ID_SHIFT & SP_FRAME_ID_MASK;
	struct sp_behind *kept;
	int r;

	if (word >> SP_FRAME_KIND_SHIFT != SP_FRAME_FILE || id >= c->n_seen || c->is_over)
		return -ENOENT;
	if (!c->behind)
		c->behind = calloc(N_KEPT, sizeof(*c->behind));
	if (!c->behind)
		return -ENOENT;
	word = (uint64_t)id << SP_FRAME_ID_SHIFT | (offset & SP_FRAME_OFFSET_MASK);
	kept = &c->behind[word * 0x9e3779b97f4a7c15ULL >> 32 & (N_KEPT - 1)];
	if (kept->word == word && kept->birth == c->seen[id].birth + 1)
		return kept->is_call;
	r = look(c, id, offset);
	if (r >= 0)
		*kept = (struct sp_behind){.word = word, .birth = c->seen[id].birth + 1, .is_call = r};
	return r;
}

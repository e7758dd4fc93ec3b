/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * after_call.c: the code right before a return address, which tells whether a call ends there, from its file, which
 * the session has open.
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
#include <string.h>
#include <sys/uio.h>

enum { N_KEPT = 4096 };

struct sp_code_known { /* an answer; birth 0: free */
	uint64_t word, birth;
	uint8_t code[SP_CALL_BYTES];
};

static bool read_cached(int fd, const struct iovec *to, off_t at)
{
	ssize_t n = preadv2(fd, to, 1, at, RWF_NOWAIT);
	if (n < 0 && errno == EOPNOTSUPP)
		n = preadv(fd, to, 1, at);
	return n == (ssize_t)to->iov_len;
}

static bool look(const struct sp_capture *c, uint32_t id, uint64_t offset, uint8_t *ret)
{
	int fd = c->seen[id].number ? sp_known_of(c, id)->fd : -1;
	struct iovec to = {ret, SP_CALL_BYTES};

	return fd >= 0 && offset >= SP_CALL_BYTES && read_cached(fd, &to, (off_t)(offset - SP_CALL_BYTES));
}

int sp_code_before(void *capture, sp_u64 word, sp_u64 offset, sp_u8 *ret)
{
	struct sp_capture *c = capture;
	uint32_t id = word >> SP_FRAME_ID_SHIFT & SP_FRAME_ID_MASK;
	struct sp_code_known *kept, found = {0};

	if (word >> SP_FRAME_KIND_SHIFT != SP_FRAME_FILE || id >= c->n_seen || c->is_over)
		return -ENOENT;
	if (!c->code_known)
		c->code_known = calloc(N_KEPT, sizeof(*c->code_known));
	if (!c->code_known)
		return -ENOENT;
	word = (uint64_t)id << SP_FRAME_ID_SHIFT | (offset & SP_FRAME_OFFSET_MASK);
	kept = &c->code_known[word * 0x9e3779b97f4a7c15ULL >> 32 & (N_KEPT - 1)];
	if (kept->word != word || kept->birth != c->seen[id].birth + 1) {
		if (!look(c, id, offset, found.code))
			return -ENOENT;
		found.word = word;
		found.birth = c->seen[id].birth + 1;
		*kept = found;
	}
	memcpy(ret, kept->code, sizeof(kept->code));
	return 0;
}

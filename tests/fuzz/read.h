/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * read.h: what the fuzzers of readers share: bytes as a file of a format, read strictly or with keep_going.
 *
 * What does not hold aborts, which is a finding. Who gets a profile frees it. A reader may refuse bytes by -EBADMSG
 * alone, with words that begin with the name of the file and where in it something is wrong.
 */
#ifndef TESTS_FUZZ_READ_H
#define TESTS_FUZZ_READ_H

#include "base/error.h"
#include "file.h"
#include "profile/profile.h"
#include "read/read.h"
#include "require.h"

#include <errno.h>
#include <string.h>

/*
 * What libraries that unpack may take by what a header says, before anything is unpacked: bzip2 for its largest blocks,
 * zstd and xz for the largest window that they accept.
 */
static inline size_t unpacker_bytes(const uint8_t *b, size_t n)
{
	bool zstd = n >= 4 && (memcmp(b, "\x28\xb5\x2f\xfd", 4) == 0 ||
			       ((b[0] & 0xf0) == 0x50 && memcmp(b + 1, "\x2a\x4d\x18", 3) == 0)),
	     xz = n >= 4 && memcmp(b, "\xfd\x37\x7a\x58", 4) == 0;

	return zstd || xz ? 130 << 20 : n >= 3 && memcmp(b, "BZh", 3) == 0 ? 4 << 20 : 0;
}

/* words: with what an error begins. The file is called as the format. 0 or -EBADMSG. */
static inline int read_as(const char *format, const char *words, const void *data, size_t size, bool keep_going,
			  struct sp_profile **ret_profile, struct sp_read_result *ret_result)
{
	const struct sp_read_options o = {.keep_going = keep_going, .format = format};
	fuzz_bytes_besides = unpacker_bytes(data, size);
	int r = sp_read_fd(fuzz_file(data, size), format, &o, ret_profile, ret_result);

	require(r == 0 || r == -EBADMSG);
	require(r == 0 || strncmp(sp_error_text(r), words, strlen(words)) == 0);
	sp_error_clear();
	return r;
}

/*
 * Whether what was read strictly is read with keep_going, too: each eighth, since it goes the same way again, and what
 * it finds of a loss that is none it finds for many an input. What was refused is always read so.
 */
static inline bool read_again(bool good)
{
	static unsigned n;

	return !good || n++ % 8 == 0;
}

/* What is read strictly is read the same with keep_going, without a loss; what is not, not at all or with one. */
static inline void read_both_ways(int (*read)(const uint8_t *data, size_t size, bool keep_going,
					      struct sp_read_result *ret_result),
				  const uint8_t *data, size_t size)
{
	struct sp_read_result strict, lenient;
	bool good = read(data, size, false, &strict) == 0;

	if (!read_again(good))
		return;
	if (read(data, size, true, &lenient) == 0)
		require(!good == !!lenient.n_lost && (!good || strict.n_samples == lenient.n_samples));
	else
		require(!good);
}

#endif

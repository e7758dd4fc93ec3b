/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * read.h: reads foreign profiles: from a descriptor to a struct sp_profile.
 *
 * Each reader is a file src/read/NAME.c with `const struct sp_reader sp_reader_NAME`, named in meson.build, from
 * which the table is generated. The format is detected by content, never by file name. Input is streamed and
 * decompressed (gzip, zstd, xz, bzip2): memory depends on what is distinct in the profile and on the longest line or
 * message, not on the input's size. It is bounded: by SP_READ_MEMORY and SP_READ_MEMORY_TIMES the bytes of the file
 * read so far; what takes more is refused by -EFBIG. Only what is compressed a hundredfold can reach that, and may be
 * unpacked first. Errors: 0 or a negative errno, with the input's name, the line or byte offset and what was expected
 * in the error chain; -EBADMSG for malformed input. With keep_going malformed parts are skipped, and counted in the
 * result. Prints nothing. Not thread-safe on one profile; readers have no state.
 */
#ifndef SP_READ_READ_H
#define SP_READ_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_profile;

enum { SP_READ_MEMORY = 256 << 20, SP_READ_MEMORY_TIMES = 128 };

/* The ELF file to which the addresses of a profile belong, for formats with addresses only. */
enum { SP_READ_MAX_SEGMENTS = 16, SP_READ_MAX_PATH = 4096 };
struct sp_read_segment {
	uint64_t vaddr, offset, size;
};
struct sp_read_object {
	char name[256], path[SP_READ_MAX_PATH]; /* "" = not known */
	uint8_t build_id[32];
	size_t build_id_len, n_segments;
	struct sp_read_segment segments[SP_READ_MAX_SEGMENTS];
};

struct sp_read_options {
	bool keep_going;    /* malformed parts are skipped and counted */
	const char *format; /* a reader's name; NULL: detect it */
	/* Called now and then with the bytes of input read, and its size (0 = not known: a pipe). Non-zero: -EINTR. */
	int (*progress)(void *arg, uint64_t bytes, uint64_t size);
	void *arg;
	/*
	 * Finds the ELF file for formats with addresses only. library: its name, with the page-aligned range of its
	 * code; NULL: the program. 1: *ret_object, zeroed before, is set; 0: not known. May be NULL.
	 */
	int (*object)(void *arg, const char *library, uint64_t low, uint64_t high, struct sp_read_object *ret_object);
	void *object_arg;
};

struct sp_read_result {
	const char *format;        /* the reader's name */
	uint64_t n_samples;        /* stacks in the input, before equal ones were merged */
	uint64_t n_lost;           /* lines, samples or messages skipped */
	uint64_t n_labels_dropped; /* labels beyond the limits of number and length */
	bool wants_names;          /* the format has no function names: the caller may symbolize the frames */
	uint64_t bytes;            /* of the input, still compressed */
	char first_loss[256];      /* where and why the first one was lost; "" = none was */
};

/* Reads all of fd into a new profile. name: for messages ("-": standard input). fd stays open. */
int sp_read_fd(int fd, const char *name, const struct sp_read_options *o, struct sp_profile **ret_profile,
	       struct sp_read_result *ret_result);

struct sp_input;
struct sp_reader {
	const char *name;    /* --input-format NAME */
	const char *summary; /* one line of help */
	/* Whether the input is of this format, by its first bytes (decompressed, at most 64 KiB): 0 no, else the
	 * confidence, 1 to 100. */
	int (*recognise)(const uint8_t *head, size_t n);
	int (*read)(struct sp_input *in, const struct sp_read_options *o, struct sp_profile *into,
		    struct sp_read_result *result);
};
extern const struct sp_reader *const sp_readers[]; /* NULL at the end; generated */

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * read.h: foreign profiles in: bytes from a descriptor become a struct sp_profile.
 *
 * Each reader is one file src/read/NAME.c with one `const struct sp_reader sp_reader_NAME`, and its name stands in one
 * list in meson.build, from which the table is generated. The format is told from the content, never from a file's
 * name. Input is streamed (gzip and zstd are undone on the way): memory is bounded by what is distinct in the profile,
 * and by the cap of one line or message, not by the size of the input.
 * Errors: 0 or a negative errno, with the input's name, the line or byte offset and what was expected in the error
 * chain; -EBADMSG for malformed input. With keep_going, what was readable is kept and the loss is told in the result.
 * Nothing is printed. Not thread-safe on one profile; readers have no state of their own.
 */
#ifndef SP_READ_READ_H
#define SP_READ_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_profile;

/* The ELF file that a profile of bare addresses is of: where it is, and which of its bytes lie where. */
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
	bool keep_going;    /* malformed pieces are counted and passed over */
	const char *format; /* a reader's name; NULL: told from the content */
	/* Called now and then: bytes of the input consumed, and its size (0 = not known: a pipe). Non-zero ends the
	 * reading with -EINTR. */
	int (*progress)(void *arg, uint64_t bytes, uint64_t size);
	void *arg;
	/*
	 * Asked by readers of formats that have addresses and no files: of a library, its name and the page-aligned
	 * range of its code; of a program, NULL. 1: *ret_object is filled in (it is zeroed); 0: nobody knows. May be
	 * NULL.
	 */
	int (*object)(void *arg, const char *library, uint64_t low, uint64_t high, struct sp_read_object *ret_object);
	void *object_arg;
};

struct sp_read_result {
	const char *format;        /* the reader's name */
	uint64_t n_samples;        /* read: stacks in the input, before equal ones were merged */
	uint64_t n_lost;           /* lines, samples or messages that were passed over */
	uint64_t n_labels_dropped; /* of samples that have too many of them, or too long ones */
	bool wants_names;          /* the format has none; who has the object can name the frames without a function */
	uint64_t bytes;            /* of the input, as it lies on disk */
	char first_loss[256];      /* where and why, of the first one lost; "" = none */
};

/* Reads all of fd into a new profile. name is used in messages ("-" for standard input). fd stays open. */
int sp_read_fd(int fd, const char *name, const struct sp_read_options *o, struct sp_profile **ret_profile,
	       struct sp_read_result *ret_result);

struct sp_input;
struct sp_reader {
	const char *name;    /* --input-format NAME */
	const char *summary; /* one line of help */
	/* Whether the input, whose first bytes (undone of compression; at most 64 KiB) these are, is of this format: 0
	 * no, else how sure, 1 to 100. */
	int (*recognise)(const uint8_t *head, size_t n);
	int (*read)(struct sp_input *in, const struct sp_read_options *o, struct sp_profile *into,
		    struct sp_read_result *result);
};
extern const struct sp_reader *const sp_readers[]; /* NULL at the end; generated */
const struct sp_reader *sp_reader_by_name(const char *name);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * numbers.h: the profile's number of a thing, by the bytes that the kernel half knows it by (0 = not known yet); and
 * lists of elements in the order in which they came.
 *
 * The owner of the table calls done(), also if init() failed. Errors: -ENOMEM. Private to src/capture.
 */
#ifndef SP_CAPTURE_NUMBERS_H
#define SP_CAPTURE_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

struct sp_intern;

struct sp_numbers { /* maps the bytes of a thing to its number in the profile */
	struct sp_intern *bytes;
	uint32_t *number;
	size_t n_number;
};
struct sp_listed {                /* elements in the order in which they came, each found by its key */
	struct sp_numbers places; /* and 1 */
	char *list;
	size_t n, capacity, element_bytes;
};

int sp_numbers_init(struct sp_numbers *t);
size_t sp_numbers_memory_bytes(const struct sp_numbers *t);
void sp_numbers_done(struct sp_numbers *t);
uint32_t sp_numbers_find(const struct sp_numbers *t, const void *bytes, size_t len);
int sp_numbers_set(struct sp_numbers *t, const void *bytes, size_t len, uint32_t number);

int sp_listed_init(struct sp_listed *l, size_t element_bytes);
void sp_listed_done(struct sp_listed *l);
/* NULL: there is none. Valid until one is added. */
void *sp_listed_find(const struct sp_listed *l, const void *key, size_t len);
int sp_listed_add(struct sp_listed *l, const void *key, size_t len, const void *element);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libs.h: the parts of `soprof libs`: mapped files, the libraries that they are, their cost, the output.
 *
 * libs.c runs it; libs_find.c asks workers about each mapped file and about what its path leads to now; libs_group.c
 * groups files into libraries and lists their users; libs_cost.c adds the samples; libs_label.c finds packages, users
 * and short names of cgroups; libs_table.c and libs_json.c print. libs.c frees struct sp_libs; strings belong to the
 * table of mappings, the interned strings or the files, and are encoded when printed.
 */
#ifndef SP_CMD_LIBS_LIBS_H
#define SP_CMD_LIBS_LIBS_H

#include "cmd/cmd.h"
#include "cmd/fleet/fleet_args.h"
#include "cmd/sampling.h"
#include "proc/mapped.h"
#include <stdio.h>

struct sp_intern;

enum sp_libs_sort { SP_LIBS_BY_COST, SP_LIBS_BY_TOTAL, SP_LIBS_BY_PROCESSES, SP_LIBS_BY_STALE, SP_LIBS_BY_NAME };

struct sp_libs_args {
	struct sp_words globs;
	struct sp_u32_list pids;
	bool stale, csv, json, verbose;
	uint64_t seconds, limit, frequency_hz; /* UINT64_MAX = not said */
	int sort;
	const char *output;
	struct sp_fleet_args fleet; /* url NULL: this machine */
	const char *from, *to;
};
/* Asks the fleet, and prints. */
int sp_libs_fleet(const struct sp_libs_args *a);

/* Of a mapped file whose path leads elsewhere now. The worse of two is the greater. Moved: it has another name. */
enum sp_libs_state { SP_LIBS_CURRENT, SP_LIBS_REPLACED, SP_LIBS_MOVED, SP_LIBS_DELETED };
extern const char *const sp_libs_states[];

struct sp_libs_file {                                       /* beside each file of the mapped table */
	char *path, *soname;                                /* NULL = not known */
	const char *package, *version;                      /* as it says itself; NULL = it does not */
	const char *disk_version;                           /* of the one that is there now; NULL = not known */
	char *why;                                          /* it could not be looked at; NULL = it could */
	uint64_t dev, ino, ctime_ns, since_ns, unlinked_ns; /* unlinked: it has no name left, since then */
	uint8_t build_id[32], disk_id[32]; /* of the one that is mapped, of the one that is there now */
	uint8_t build_id_len, disk_id_len;
	bool is_open, is_elf, is_gone, is_ours, has_disk;
	enum sp_libs_state state;
	uint32_t library; /* index, UINT32_MAX = it is none */
};

struct sp_libs_use {                     /* a process uses a library */
	uint32_t library, process, file; /* the file: of several the worst state's */
	enum sp_libs_state state;
	int64_t self, total; /* samples */
};

struct sp_libs_library {
	const char *name, *path, *package; /* of the file that stands for it */
	const char *version;               /* of the package that this build is of, not of what replaced it; "" */
	size_t file;
	uint8_t build_id[32], build_id_len;
	uint32_t first_use, n_uses;      /* n_uses: processes that map it now */
	uint32_t n_stale, n_ran, n_gone; /* ran: processes that were sampled in it; gone: of which are no more */
	int64_t self, total;
	bool is_wanted;
};

struct sp_libs {
	const struct sp_libs_args *args;
	struct sp_sampling sampling;
	bool sampled;
	const char *not_sampled; /* why, where it was not for the asking */
	uint64_t sampled_ns;
	int64_t n_samples, n_kernel, n_other; /* other: neither in a library nor in the kernel */
	struct sp_mapped *mapped;
	struct sp_intern *strings;
	struct sp_libs_file *files;
	struct sp_libs_library *libraries;
	size_t n_libraries, library_capacity;
	uint32_t *order; /* libraries that are wanted, as they are to be shown */
	size_t n_order;
	struct sp_libs_use *uses; /* by library, then by cost and pid */
	size_t n_uses;
	const char **users, **places; /* by process */
	FILE *output;                 /* made before the privileges were dropped; NULL: not yet */
	uint64_t n_not_elf, n_not_open;
	const char *why_not_open; /* the first */
};

/* What a mapped file is called: soname, or the last component of its path. */
const char *sp_libs_file_name(const struct sp_libs *l, size_t file);

/* Each returns 0 or a negative errno. */
int sp_libs_find(struct sp_libs *l);
int sp_libs_group(struct sp_libs *l);
int sp_libs_cost(struct sp_libs *l);
int sp_libs_label(struct sp_libs *l);
int sp_libs_arrange(struct sp_libs *l); /* what is wanted, in the order that was asked for */
void sp_libs_files_done(struct sp_libs *l);

bool sp_libs_shows_uses(const struct sp_libs_args *a); /* the processes of each library are listed */
bool sp_libs_shows_use(const struct sp_libs *l, const struct sp_libs_use *u);

int sp_libs_print_table(struct sp_libs *l, FILE *out);
int sp_libs_print_stale(struct sp_libs *l, FILE *out);
int sp_libs_print_json(struct sp_libs *l, FILE *out);
int sp_libs_print_csv(struct sp_libs *l, FILE *out);

/* A copy of the text that lives as long as l; NULL: out of memory. */
const char *sp_libs_keep(struct sp_libs *l, const char *text);
/* Whether the file that is there now is the same build. */
bool sp_libs_is_same(const struct sp_libs_file *f);
double sp_libs_percent(const struct sp_libs *l, int64_t samples);
/* The names of the library's users or, with comms, of its processes, the most frequent first: "a 12, b 3, c". */
int sp_libs_who(const struct sp_libs *l, const struct sp_libs_library *lib, bool comms, char **ret_text);

#endif

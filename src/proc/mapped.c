/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/mapped.h"

#include "base/error.h"
#include "base/intern.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/search.h"
#include "proc/maps.h"
#include "proc/priv.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { DEADLINE_MS = 1000, MAX_PID = 1 << 22, MAX_PATH = 16 << 10 };

/* The identity of a file, followed by its path. */
struct file_key {
	uint64_t ino, mount_ns;
	uint32_t dev, zero;
};

struct table { /* the result, and what is needed to build it */
	struct sp_mapped m;
	struct sp_intern *strings;
	struct sp_intern *keys; /* struct file_key and path */
	uint32_t *last_user;    /* by file: 1 + the index of the last process that used it */
	size_t process_capacity, file_capacity, use_capacity, last_capacity;
	uint32_t memory_devs[2], without;
	char key[sizeof(struct file_key) + MAX_PATH];
};

/* --- kernel memory: all of it is on one or two internal mounts --- */
static uint32_t dev_of_memory(unsigned flags)
{
	SP_CLOSE int fd = memfd_create("soprof", flags | MFD_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	return major(st.st_dev) << 20 | minor(st.st_dev);
}

static bool is_memory(const struct table *t, uint32_t dev, const char *path)
{
	return path[0] != '/' || (dev != 0 && (dev == t->memory_devs[0] || dev == t->memory_devs[1]));
}

/* --- files and their uses --- */
static const char *keep_string(struct table *t, const char *text)
{
	int64_t number = sp_intern_add(t->strings, text, strlen(text));

	return number < 0 ? NULL : sp_intern_get(t->strings, (uint32_t)number, NULL);
}

static int new_file(struct table *t, const struct sp_maps_line *l, uint64_t mount_ns)
{
	int r = sp_grow(&t->m.files, &t->file_capacity, t->m.n_files + 1, sizeof(*t->m.files));
	if (r == 0)
		r = sp_grow(&t->last_user, &t->last_capacity, t->m.n_files + 1, sizeof(*t->last_user));
	const char *path = r == 0 ? keep_string(t, l->path) : NULL;
	if (!path)
		return -ENOMEM;
	t->m.files[t->m.n_files++] =
	    (struct sp_mapped_file){.path = path, .ino = l->ino, .dev = l->dev, .mount_ns = mount_ns};
	return 0;
}

/* The index of the file, which is added if it is new; -ENOSPC: over a limit. */
static int64_t mapped_file_of(struct table *t, const struct sp_maps_line *l, uint64_t mount_ns)
{
	struct file_key key = {.ino = l->ino, .mount_ns = mount_ns, .dev = l->dev};
	size_t len = strlen(l->path);

	if (len > MAX_PATH)
		return -ENOSPC;
	memcpy(t->key, &key, sizeof(key));
	memcpy(t->key + sizeof(key), l->path, len);
	int64_t number = sp_intern_find(t->keys, t->key, sizeof(key) + len);
	if (number >= 0)
		return number;
	if (t->m.n_files >= SP_MAPPED_MAX_FILES)
		return -ENOSPC;
	number = sp_intern_add(t->keys, t->key, sizeof(key) + len);
	int r = number < 0 ? (int)number : new_file(t, l, mount_ns);
	return r < 0 ? r : number;
}

static int add_use(struct table *t, const struct sp_maps_line *l, uint32_t file)
{
	uint32_t process = (uint32_t)t->m.n_processes;

	if (t->last_user[file] == process + 1)
		return 0;
	if (t->m.n_uses >= SP_MAPPED_MAX_USES) {
		t->m.n_left_out++;
		return 0;
	}
	int r = sp_grow(&t->m.uses, &t->use_capacity, t->m.n_uses + 1, sizeof(*t->m.uses));
	if (r < 0)
		return r;
	t->last_user[file] = process + 1;
	t->m.files[file].n_uses++;
	t->m.uses[t->m.n_uses++] =
	    (struct sp_mapped_use){.process = process, .file = file, .start = l->start, .end = l->end};
	return 0;
}

static int mapped_add_line(struct table *t, const struct sp_scanned *s, char *text)
{
	struct sp_maps_line l;

	if (!sp_maps_parse(text, &l)) {
		t->m.n_left_out++;
		return 0;
	}
	if (is_memory(t, l.dev, l.path)) {
		t->m.n_memory++;
		return 0;
	}
	int64_t file = mapped_file_of(t, &l, s->mount_ns);
	if (file == -ENOSPC) {
		t->m.n_left_out++;
		return 0;
	}
	return file < 0 ? (int)file : add_use(t, &l, (uint32_t)file);
}

/* --- processes --- */
static int add_process(struct table *t, const struct sp_scanned *s)
{
	const char *comm = keep_string(t, s->comm), *cgroup = keep_string(t, s->cgroup);
	int r = sp_grow(&t->m.processes, &t->process_capacity, t->m.n_processes + 1, sizeof(*t->m.processes));

	if (r < 0 || !comm || !cgroup)
		return -ENOMEM;
	t->m.processes[t->m.n_processes] = (struct sp_mapped_process){
	    .pid = s->pid, .uid = s->uid, .start_ticks = s->start_ticks, .comm = comm, .cgroup = cgroup};
	return 0;
}

static int add_scanned(struct table *t, const struct sp_scanned *s)
{
	size_t n_uses = t->m.n_uses;
	int r = 0;

	if (t->without != 0 && (s->pid == t->without || s->parent == t->without))
		return 0;
	t->m.n_left_out += s->n_left_out;
	if (s->r < 0 || s->len == 0) {
		t->m.n_ended += s->r == -ESRCH;
		t->m.n_stuck += s->r == -ETIMEDOUT;
		t->m.n_refused += s->r < 0 && s->r != -ESRCH && s->r != -ETIMEDOUT;
		return 0;
	}
	for (char *line, *rest = s->lines; r == 0 && (line = strsep(&rest, "\n"));)
		r = *line == '\0' ? 0 : mapped_add_line(t, s, line);
	if (r == 0 && t->m.n_uses > n_uses) {
		r = add_process(t, s);
		t->m.n_processes += r == 0;
	}
	return r;
}

static int add_all(struct table *t, const char *proc, unsigned deadline_ms, const uint32_t *pids, size_t n_pids)
{
	struct sp_scanned *s;
	struct sp_mapped_scan *scan;
	int r = sp_scan_new(proc, pids, n_pids, deadline_ms, &scan);

	if (r < 0)
		return r;
	while ((r = sp_mapped_scan_next(scan, &s)) > 0) {
		r = add_scanned(t, s);
		sp_scanned_free(s);
		if (r < 0)
			break;
	}
	sp_scan_free(scan);
	return r;
}

static int list_pids(const char *proc, uint32_t **ret_pids, size_t *ret_n)
{
	SP_FREE uint32_t *pids = NULL;
	size_t capacity = 0, n = 0;
	DIR *dir = opendir(proc);
	int r = 0;

	if (!dir)
		return sp_fail(-errno, "open %s", proc);
	for (const struct dirent *e; r == 0 && (e = readdir(dir));) {
		uint64_t pid;
		if (sp_parse_number(e->d_name, 1, MAX_PID, &pid) < 0)
			continue;
		r = sp_grow(&pids, &capacity, n + 1, sizeof(*pids));
		if (r == 0)
			pids[n++] = (uint32_t)pid;
	}
	closedir(dir);
	if (r < 0)
		return r;
	if (n > 0)
		qsort(pids, n, sizeof(*pids), sp_compare_u32);
	*ret_pids = sp_take_ptr(pids);
	*ret_n = n;
	return 0;
}

/* --- the answer --- */
static int table_new(struct table **ret_table)
{
	struct table *t = calloc(1, sizeof(*t));

	if (!t || sp_intern_new(&t->strings) < 0 || sp_intern_new(&t->keys) < 0) {
		if (t)
			sp_mapped_free(&t->m);
		return -ENOMEM;
	}
	t->memory_devs[0] = dev_of_memory(0);
	t->memory_devs[1] = dev_of_memory(MFD_HUGETLB);
	*ret_table = t;
	return 0;
}

int sp_mapped_read(const struct sp_mapped_options *o, struct sp_mapped **ret_mapped)
{
	const char *proc = o && o->proc ? o->proc : "/proc";
	unsigned deadline_ms = o && o->deadline_ms != 0 ? o->deadline_ms : DEADLINE_MS;
	SP_FREE uint32_t *listed = NULL;
	struct table *t = NULL;
	size_t n = o && o->pids ? o->n_pids : 0;
	int r = o && o->pids ? 0 : list_pids(proc, &listed, &n);

	if (r == 0)
		r = table_new(&t);
	if (r < 0)
		return r;
	t->without = o ? o->without : 0;
	r = add_all(t, proc, deadline_ms, listed ? listed : o ? o->pids : NULL, n);
	if (r < 0) {
		sp_mapped_free(&t->m);
		return r;
	}
	*ret_mapped = &t->m;
	return 0;
}

void sp_mapped_free(struct sp_mapped *m)
{
	struct table *t = (struct table *)(void *)m; /* its first member */

	if (!m)
		return;
	sp_intern_free(t->strings);
	sp_intern_free(t->keys);
	free(t->last_user);
	free(m->processes);
	free(m->files);
	free(m->uses);
	free(t);
}

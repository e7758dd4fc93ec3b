/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints the stack of every thread of some processes twice: as soprof's user half unwinds it, and as libdw does.
 *   unwind-stacks PID...
 * For tests/pairs/stacks.py, which compares them and asks gdb and the machine code. The processes are stopped by
 * SIGSTOP already, and stay so. Lines:
 *   thread PID TID STOP MARKS LIBDW   STOP: enum sp_stop, or `whole`; MARKS: guessed or -; LIBDW: how its walk ended
 *   soprof ADDRESS OFFSET MARK PATH   a frame, the leaf first; a caller's address is that of its call's last byte
 *   libdw ADDRESS OFFSET PATH         the same of libdw, which does not tell whether a caller was interrupted
 */
#include "stopped.h"
#include "test.h"
#include "unwind/step_types.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static const struct sp_map *map_of_word(const struct victim *v, uint64_t word)
{
	const uint64_t file = word & ~(SP_FRAME_MARKS | SP_FRAME_OFFSET_MASK), offset = word & SP_FRAME_OFFSET_MASK;

	for (uint32_t i = 0; i < v->n_maps; i++) {
		const struct sp_map *m = &v->maps[i];

		if (m->word == file && offset >= ((m->start + m->shift_by) & SP_FRAME_OFFSET_MASK) &&
		    offset - ((m->start + m->shift_by) & SP_FRAME_OFFSET_MASK) < m->end - m->start)
			return m;
	}
	return NULL;
}

static uint64_t address_of(const struct sp_map *m, uint64_t offset)
{
	if (!m)
		return 0;
	return m->shift_by ? offset - m->shift_by : (m->start & ~SP_FRAME_OFFSET_MASK) | offset;
}

static const char *path_of(const struct victim *v, const struct sp_map *m)
{
	const char *path = m ? v->path[m - v->maps] : "";

	path += strspn(path, " ");
	return *path ? path : "-";
}

static void print_ours(const struct victim *v)
{
	const struct sp_message_pending *r = v->r;

	for (uint32_t i = 0; i < r->n_frames && i < SP_MAX_FRAMES - SP_ROOT_FRAMES; i++) {
		const uint64_t word = r->frames[i], offset = word & SP_FRAME_OFFSET_MASK;
		const struct sp_map *m = map_of_word(v, word);
		const uint64_t marks = word & SP_FRAME_MARKS;
		const char *mark = marks == SP_FRAME_RUNTIME   ? "runtime"
				   : marks == SP_FRAME_GUESSED ? "guessed"
				   : marks == SP_FRAME_DERIVED ? "derived"
							       : "-";

		printf("soprof %#llx %#llx %s %s\n", (unsigned long long)address_of(m, offset),
		       (unsigned long long)offset, mark, path_of(v, m));
	}
}

static void print_libdw(const struct victim *v)
{
	for (uint32_t i = 0; i < v->n_frames; i++) {
		const struct sp_map *m = stopped_map_at(v, v->frames[i].pc);

		printf("libdw %#llx %#llx %s\n", (unsigned long long)v->frames[i].pc,
		       (unsigned long long)(m ? v->frames[i].pc + m->shift_by : 0), path_of(v, m));
	}
}

static void print_thread(struct victim *v)
{
	char stop[16] = "whole";
	int status;

	if (ptrace(PTRACE_SEIZE, v->tid, NULL, NULL))
		return;
	if (ptrace(PTRACE_INTERRUPT, v->tid, NULL, NULL) || waitpid(v->tid, &status, __WALL) != v->tid ||
	    !WIFSTOPPED(status))
		return;
	stopped_maps_renew(v);
	stopped_unwind_libdw(v);
	stopped_unwind_ours(v);
	ptrace(PTRACE_DETACH, v->tid, NULL, NULL);
	if (!sp_stop_is_whole(v->stop))
		snprintf(stop, sizeof(stop), "%u", v->stop);
	printf("thread %d %d %s %s %s\n", v->pid, v->tid, stop, v->r->guessed ? "guessed" : "-", v->libdw_error);
	print_ours(v);
	print_libdw(v);
}

static void print_process(pid_t pid)
{
	static struct victim v;
	char path[64];
	struct dirent *e;
	DIR *dir;

	v = (struct victim){.pid = pid, .r = malloc(sizeof(*v.r))};
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (v.r && dir && (e = readdir(dir))) {
		v.tid = (pid_t)strtol(e->d_name, NULL, 10);
		if (v.tid)
			print_thread(&v);
	}
	if (dir)
		closedir(dir);
	if (v.dwfl)
		dwfl_end(v.dwfl);
	free(v.maps_text);
	free(v.r);
}

int main(int argc, char **argv)
{
	if (stopped_tables_make(NULL))
		return 1;
	for (int i = 1; i < argc; i++)
		print_process((pid_t)strtol(argv[i], NULL, 10));
	return stopped_tables_drop(NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memory_reader.h: reads the memory of other processes, in a process that may hang.
 *
 * A read of memory waits for the process's lock of its mappings, and for the pages: where these lie in a file of a
 * hostile FUSE mount it never ends, not even by SIGKILL. So a child process reads, by process_vm_readv(2), which needs
 * CAP_SYS_PTRACE for the processes of others. It holds no descriptor but its socket, and no other privilege: where
 * memory is read at a session's end, it is begun with the session, which gives its own up. After a deadline it is
 * abandoned and replaced, three times at most; then every read fails with -ETIMEDOUT.
 */
#ifndef SP_CAPTURE_MEMORY_READER_H
#define SP_CAPTURE_MEMORY_READER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SP_READER_BYTES = 2 << 20 };

struct sp_memory_reader { /* all 0: none; freed with sp_memory_reader_end() */
	pid_t child;
	int socket;
	void *memory; /* what was read; shared with the child */
	unsigned n_abandoned;
};

int sp_memory_reader_begin(struct sp_memory_reader *ret_reader);
/*
 * Reads up to `bytes` (SP_READER_BYTES at most) at `addr` of process `pid` into reader->memory. Returns how many there
 * were, up to the first page that cannot be read, or a negative errno.
 */
ssize_t sp_memory_reader_read(struct sp_memory_reader *reader, pid_t pid, uint64_t addr, size_t bytes);
void sp_memory_reader_end(struct sp_memory_reader *reader);

#endif

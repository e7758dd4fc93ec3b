/* SPDX-License-Identifier: GPL-2.0-or-later */
/* presets_file.c: presets about files and mounts. */
#include "trace/presets.h"
#include <sys/syscall.h>

#define TEXT(x) #x
#define NUMBER(x) TEXT(x)
#define CALLS(list) CALLS_THAT_KEEP(list, "")
#define CALLS_THAT_KEEP(list, kept) "raw:sys_enter[sys in {" list "}]" kept "..raw:sys_exit"
#define READS_AND_WRITES NUMBER(SYS_read) ", " NUMBER(SYS_write) ", " NUMBER(SYS_pread64) ", " NUMBER(SYS_pwrite64)
#define FILE_OF_CALL "dentry=task->files->fdt->fd[sysarg0]->f_path.dentry"
#define IS_REGULAR "(dentry->d_inode->i_mode & 0170000) == 0100000"
#define OPEN "sys in {" NUMBER(SYS_open) ", " NUMBER(SYS_creat) ", " NUMBER(SYS_openat) ", " NUMBER(SYS_openat2) "}"
#define IS(call) "sys == " NUMBER(SYS_##call)

/*
 * Names are read where the call ends: by then their page is there. creat(2) has no flags; those of openat2(2) are in
 * the caller's memory, and are not read.
 */
const struct sp_trace_preset sp_trace_presets_file[] = {
    {.name = "opens",
     .also = "opensnoop",
     .summary = "files that are opened, or not",
     .event = "raw:sys_enter[" OPEN "]{flags=sys < " NUMBER(SYS_openat) " ? sysarg1 : sysarg2}..raw:sys_exit",
     .print = "file=ustr(sys < " NUMBER(SYS_openat) " ? sysarg0 : sysarg1), "
						    "flags=" IS(openat2) " ? -1 : flags, ret, dur"},
    {.name = "stats",
     .also = "statsnoop",
     .summary = "files that are asked about by stat(2)",
     .event = CALLS(NUMBER(SYS_stat) ", " NUMBER(SYS_lstat) ", " NUMBER(SYS_newfstatat) ", " NUMBER(SYS_statx)),
     .print = "file=ustr(sys < " NUMBER(SYS_newfstatat) " ? sysarg0 : sysarg1), ret, dur"},
    {.name = "reads",
     .also = "readsize",
     .summary = "sizes of what read(2) gives, a histogram",
     .event = "syscalls:sys_exit_read[ret >= 0]",
     .hist = "ret"},
    {.name = "slowfiles",
     .also = "fileslower",
     .summary = "reads and writes of 10 ms or more",
     .event = CALLS_THAT_KEEP(READS_AND_WRITES, "{" FILE_OF_CALL "}"),
     .which = IS_REGULAR,
     .min_ns = 10000000,
     .print = "call=sys, file=kstr(dentry->d_name.name), bytes=sysarg2, ret, dur"},
    {.name = "filetop",
     .summary = "files that are read and written, by whom",
     .event = CALLS_THAT_KEEP(READS_AND_WRITES,
			      "{" FILE_OF_CALL ", writes=sys in {" NUMBER(SYS_write) ", " NUMBER(SYS_pwrite64) "}}"),
     .which = "ret > 0 && " IS_REGULAR, /* not of the second point: a read that gives nothing ends, too */
     .by = "comm, pid, file=kstr(dentry->d_name.name)",
     .sum = "read_bytes=!writes * ret, written_bytes=writes * ret"},
    {.name = "filelife",
     .needs_kprobes = true,
     .summary = "files that are removed soon, and their age",
     .event = "kprobe:security_inode_create on dentry..&kprobe:vfs_unlink on dentry",
     .print = "file=kstr(dentry->d_name.name), dur"},
    {.name = "filelife",
     .summary = "files that are removed soon, and their age",
     .event = "raw:ext4_allocate_inode on inode->i_ino, inode->i_sb->s_dev..&"
	      "raw:ext4_free_inode on inode->i_ino, inode->i_sb->s_dev",
     .print = "inode=inode->i_ino, dev=inode->i_sb->s_dev, dur"},
    {.name = "vfsstat",
     .needs_kprobes = true,
     .summary = "the kernel's functions that open, read, write",
     .event = "kprobe:vfs_read; kprobe:vfs_write; kprobe:vfs_fsync_range; kprobe:vfs_open; kprobe:vfs_create",
     .counts = true},
    {.name = "vfsstat",
     .summary = "system calls that open, read, write",
     .event = "raw:sys_enter[sys in {" READS_AND_WRITES ", " NUMBER(SYS_readv) ", " NUMBER(SYS_writev) ", " NUMBER(
	 SYS_open) "} || sys in {" NUMBER(SYS_openat) ", " NUMBER(SYS_fsync) ", " NUMBER(SYS_fdatasync) "}]",
     .by = "call=sys"},
    {.name = "cachestat",
     .needs_kprobes = true,
     .summary = "the page cache: used, added, written to",
     .event = "kprobe:folio_mark_accessed; kprobe:filemap_add_folio; kprobe:mark_buffer_dirty; "
	      "raw:writeback_dirty_folio",
     .counts = true},
    {.name = "cachestat",
     .summary = "the page cache: read, added, written to",
     .event = "raw:mm_filemap_get_pages; raw:mm_filemap_add_to_page_cache; raw:writeback_dirty_folio",
     .counts = true},
    {.name = "mounts",
     .also = "mountsnoop",
     .summary = "mount(2) and umount(2)",
     .event = CALLS(NUMBER(SYS_mount) ", " NUMBER(SYS_umount2)),
     .print = "call=sys, first=ustr(sysarg0), at=ustr(" IS(mount) " ? sysarg1 : 0), ret, dur"},
    {0},
};

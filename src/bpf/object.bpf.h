/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * object.bpf.h: what an address of the current process lies in (struct sp_message_object): which file, or the heap, a
 * stack. By the mapping that is there, and those before it; no state but what was sent.
 *
 * A library's image is a row of neighbouring mappings of one file, the first of which has its ELF header, and behind
 * them memory without a file, as far as the header says (.bss). Whatever else is mapped there, and may have become one
 * mapping with it, is not the library's.
 */
#ifndef SP_BPF_OBJECT_BPF_H
#define SP_BPF_OBJECT_BPF_H

#include "bpf/aggregate.bpf.h"
#include "bpf/x86_64/call.bpf.h"

enum {
	SP_VM_WRITE = 0x2,
	SP_VM_SHARED = 0x8,
	SP_IMAGE_MAPPINGS = 8,
	SP_IMAGE_SEGMENTS = 16,
	SP_ELF_MAGIC = 0x464c457f,
	SP_ELF_EXEC = 2, /* linked for one address */
	SP_ELF_LOAD = 1,
	SP_ELF_SEGMENT_BYTES = 56,
	SP_BELOW_STACK = 256,    /* a thread writes there before it moves its stack pointer */
	SP_VVAR_REACH = 0x10000, /* [vvar] ends where [vdso] begins, or another part of it */
};

/* Looks at the mapping of an address, if there is one; else -1. *ret_flags: VM_ bits. */
static __always_inline int sp_object_look(struct sp_scratch *s, sp_u64 addr, sp_u64 *ret_flags)
{
	sp_u64 last = 0, vma = sp_vma_walk(s, addr, &last);

	if (!vma || sp_kfield(vma, struct vm_area_struct, vm_mm) != s->mm)
		return -1;
	sp_vma_view_of(vma, &s->view);
	*ret_flags = sp_kfield(vma, struct vm_area_struct, vm_flags);
	return addr >= s->view.start && addr < s->view.end ? 0 : -1;
}

/* Goes back to the mapping that ends where the one in view begins. -1: there is none, and the view may be another. */
static __always_inline int sp_object_back(struct sp_scratch *s)
{
	sp_u64 start = s->view.start, flags;

	return sp_object_look(s, start - 1, &flags) || s->view.end != start ? -1 : 0;
}

/* Finds where the image begins of which a file's mapping is in view; of a file that is not mapped so, its offset 0. */
static __noinline int sp_image_find(struct sp_scratch *s)
{
	sp_u64 file;
	int i;

	if (!s)
		return 0;
	file = s->view.file;
	s->image = s->view.start - s->view.pgoff;
	for (i = 0; i < SP_IMAGE_MAPPINGS && s->view.pgoff; i++) {
		if (sp_object_back(s) || s->view.file != file)
			break;
		s->image = s->view.start - s->view.pgoff;
	}
	s->view.file = file;
	return 0;
}

struct sp_image_head { /* of Elf64_Ehdr, as far as it is read */
	sp_u32 magic, ident[3];
	sp_u16 type, machine;
	sp_u32 version;
	sp_u64 entry, segments_at, sections_at;
	sp_u32 flags;
	sp_u16 bytes, segment_bytes, n_segments, pad;
};
struct sp_image_segment { /* Elf64_Phdr */
	sp_u32 type, flags;
	sp_u64 offset, vaddr, paddr, file_bytes, memory_bytes, align;
};

struct sp_image_loop {
	sp_u64 segments, vaddr;
	sp_u32 n, holds;
};

static long sp_image_next(sp_u32 i, struct sp_image_loop *loop)
{
	struct sp_image_segment segment;

	if (i >= loop->n ||
	    bpf_probe_read_user(&segment, sizeof(segment), (void *)(loop->segments + i * SP_ELF_SEGMENT_BYTES)))
		return 1;
	loop->holds = segment.type == SP_ELF_LOAD && loop->vaddr - segment.vaddr < segment.memory_bytes;
	return loop->holds;
}

/*
 * The address of the image's symbol tables at which addr is, or ~0: it lies in no segment of the image, or in none that
 * can be read.
 */
static __noinline sp_u64 sp_image_vaddr(struct sp_scratch *s, sp_u64 addr)
{
	struct sp_image_loop loop = {};
	struct sp_image_head head;

	if (!s || bpf_probe_read_user(&head, sizeof(head), (void *)s->image) || head.magic != SP_ELF_MAGIC ||
	    head.segment_bytes != SP_ELF_SEGMENT_BYTES)
		return ~0ULL;
	loop.segments = s->image + head.segments_at;
	loop.vaddr = head.type == SP_ELF_EXEC ? addr : addr - s->image;
	loop.n = head.n_segments;
	bpf_loop(SP_IMAGE_SEGMENTS, sp_image_next, &loop, 0);
	return loop.holds ? loop.vaddr : ~0ULL;
}

/*
 * What memory without a file is, which is in view, if it is behind a library's image, whose file is in view then: data
 * (.bss), unless the image ends before the address. Where the headers are not ours to read, the user half decides.
 */
static __always_inline sp_u32 sp_object_behind_image(struct sp_scratch *s, sp_u64 addr)
{
	if (sp_object_back(s) || !s->view.file) {
		s->view.file = 0;
		return SP_OBJECT_ANON;
	}
	sp_image_find(s);
	if (s->other.task)
		return SP_OBJECT_ANON;
	if (sp_image_vaddr(s, addr) != ~0ULL)
		return SP_OBJECT_DATA;
	s->view.file = 0;
	return SP_OBJECT_ANON;
}

static __always_inline int sp_object_is_stack(const struct sp_scratch *s, struct task_struct *task, sp_u64 addr)
{
	sp_u64 main = sp_kfield(s->mm, struct mm_struct, start_stack), sp = sp_saved_stack(task);

	if (main >= s->view.start && main <= s->view.end)
		return 1;
	return sp >= s->view.start && sp < s->view.end && addr >= sp - SP_BELOW_STACK;
}

/* What the memory without a file is, that is in view. */
static __always_inline sp_u32 sp_object_of_memory(struct sp_scratch *s, struct task_struct *task, sp_u64 addr)
{
	if (s->view.start == s->vdso)
		return SP_OBJECT_VDSO;
	if (s->view.end <= s->vdso && s->vdso - s->view.start <= SP_VVAR_REACH)
		return SP_OBJECT_VVAR;
	if (addr >= sp_kfield(s->mm, struct mm_struct, start_brk) && addr < sp_kfield(s->mm, struct mm_struct, brk))
		return SP_OBJECT_HEAP;
	if (sp_object_is_stack(s, task, addr))
		return SP_OBJECT_STACK;
	return sp_object_behind_image(s, addr);
}

/* enum sp_object_kind of an address; of a file's, that is in view. */
static __noinline sp_u32 sp_object_kind_at(struct sp_scratch *s, struct task_struct *task, sp_u64 addr)
{
	sp_u64 flags = 0;

	s->view.file = 0;
	if (!sp_mm_take(s, task))
		return SP_OBJECT_NONE;
	if (sp_object_look(s, addr, &flags))
		return SP_OBJECT_NONE;
	if (!s->view.file)
		return sp_object_of_memory(s, task, addr);
	if (flags & SP_VM_EXEC)
		return SP_OBJECT_CODE;
	return flags & SP_VM_WRITE && !(flags & SP_VM_SHARED) ? SP_OBJECT_DATA : SP_OBJECT_FILE;
}

/* Sends what an id stands for, unless it was sent before. Returns the id, or 0: there was no room. */
static __noinline sp_u64 sp_object_tell(struct sp_scratch *s, sp_u64 object, sp_u32 kind, sp_u64 at, sp_u64 image)
{
	struct sp_message_object *r;
	struct sp_file_key key = {};
	sp_u64 id = object;
	sp_u32 one = 1;

	if (!s || bpf_map_lookup_elem(&stacks, &id))
		return id;
	if (s->view.file)
		sp_file_key_of(s->view.file, &key);
	r = bpf_ringbuf_reserve(&samples, sizeof(*r), 0);
	if (!r) {
		sp_tally(SP_N_LOST_OBJECTS, 1);
		return 0;
	}
	r->type = SP_MESSAGE_OBJECT;
	r->kind = kind;
	r->id = id;
	r->at = at;
	r->image = image;
	r->key = key;
	sp_file_basename(s->view.file, r->name);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	bpf_map_update_elem(&stacks, &id, &one, BPF_ANY);
	return id;
}

/* The object of a page fault at an address: a kind, or the kind with a file. */
static __always_inline sp_u64 sp_memory_object(struct sp_scratch *s, struct task_struct *task, sp_u64 addr)
{
	sp_u32 kind = sp_object_kind_at(s, task, addr);
	sp_u64 inode, id;

	if (!s->view.file)
		return (sp_u64)kind << SP_OBJECT_KIND_SHIFT;
	inode = sp_kfield(s->view.file, struct file, f_inode);
	id = sp_hash_mix(sp_hash_mix(kind, inode), sp_kfield(inode, struct inode, i_ino));
	id = (id & ~SP_OBJECT_MAJOR) | SP_OBJECT_HASH;
	return sp_object_tell(s, id, kind, 0, 0);
}

/* Sends where a lock is that was not sent before. */
static __always_inline sp_u64 sp_lock_tell(struct sp_scratch *s, sp_u64 id, sp_u32 kind, sp_u64 addr)
{
	sp_u64 vaddr;

	if (!s->view.file)
		return sp_object_tell(s, id, kind, addr, 0);
	sp_image_find(s);
	vaddr = s->other.task ? ~0ULL : sp_image_vaddr(s, addr);
	return vaddr != ~0ULL ? sp_object_tell(s, id, kind, vaddr, 0) : sp_object_tell(s, id, kind, addr, s->image);
}

/* The object of a lock: its process and address. Looked at only when it was not sent before. */
static __always_inline sp_u64 sp_lock_object(struct sp_scratch *s, struct task_struct *task, sp_u64 addr)
{
	sp_u64 id = sp_hash_mix(sp_hash_mix(s->key.process.start_ns, s->key.process.tgid), addr);
	sp_u32 kind;

	id = (sp_hash_mix(id, s->key.process.exec_id) & ~SP_OBJECT_MAJOR) | SP_OBJECT_HASH;
	if (bpf_map_lookup_elem(&stacks, &id))
		return id;
	kind = sp_object_kind_at(s, task, addr);
	return sp_lock_tell(s, id, kind, addr);
}

#endif

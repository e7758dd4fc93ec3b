/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vma.bpf.h: which mapping, and which file, is at an address of the current process. No state per process.
 *
 * The method: walk the maple tree mm->mm_mt by hand (maple.bpf.h). The leaf's slot is the mapping. Nothing is locked: a
 * node that died while it was read is detected (it is its own parent) and the walk begins again; a mapping is accepted
 * only if it belongs to this mm and spans the address. On kernels that change trees in place (6.1) a sample may
 * interrupt such a change on its own CPU. Then it finds a mapping that fails this check, which is counted, but never
 * accepts a wrong one.
 */
#ifndef SP_BPF_VMA_BPF_H
#define SP_BPF_VMA_BPF_H

#include "bpf/maple.bpf.h"
#include "bpf/pid.bpf.h"

enum { SP_E2BIG = 7, SP_ENOMEM = 12 };

/* Forces a value through a register, so that the compiler forgets what it proved and the verifier sees each mask. */
#define sp_opaque(x) asm volatile("" : "+r"(x))

/*
 * To follow a pointer of a task, the verifier of a kernel that knows casts searches all of the kernel's types for three
 * names, again at each visit, in all 1.2 ms: so there it is loaded by cast.
 */
static __always_inline int sp_mm_take_by(int by_cast, struct sp_scratch *s, struct task_struct *task)
{
	struct mm_struct *mm;

	if (by_cast) {
		s->mm = sp_kfield_by(1, (sp_u64)task, struct task_struct, mm);
		s->maple_root = sp_kfield_by(1, s->mm, struct mm_struct, mm_mt.ma_root);
		s->vdso = sp_kfield_by(1, s->mm, struct mm_struct, context.vdso);
		return s->mm != 0;
	}
	mm = task->mm;
	if (!mm)
		return 0;
	s->mm = (sp_u64)mm;
	s->maple_root = (sp_u64)mm->mm_mt.ma_root;
	s->vdso = (sp_u64)mm->context.vdso;
	return 1;
}

/* The memory in which mappings are looked up from now on. 0: the task has none of its own. */
static __always_inline int sp_mm_take(struct sp_scratch *s, struct task_struct *task)
{
	return sp_has_cast() ? sp_mm_take_by(1, s, task) : sp_mm_take_by(0, s, task);
}

/*
 * One level down: returns the slot for addr in this node, and in *ret_last the last address that the slot covers. 0
 * with *ret_last = 0: the node is dead.
 */
__noinline sp_u64 sp_node_slot(struct sp_scratch *s, sp_u64 node, sp_u64 addr, sp_u64 *ret_last)
{
	if (!s || !ret_last)
		return 0;
	return sp_has_cast() ? sp_node_slot_by(1, s->node, node, addr, ret_last)
			     : sp_node_slot_by(0, s->node, node, addr, ret_last);
}

/* Returns the mapping that may hold addr, or 0. *ret_last: the last address of the mapping, or of the hole. */
__noinline sp_u64 sp_vma_walk(struct sp_scratch *s, sp_u64 addr, sp_u64 *ret_last)
{
	sp_u64 node, last = ~0ULL;
	int level;

	if (!s || !ret_last)
		return 0;
	node = s->maple_root;
	if ((node & 3) != 2)
		return 0;
	for (level = 0; level < 3 * SP_MAPLE_LEVELS; level++) {
		sp_u64 type = (node >> 3) & 0xf;

		if (type < SP_MAPLE_LEAF || type > SP_MAPLE_ARANGE)
			return 0;
		node = sp_node_slot(s, node, addr, &last);
		if (!last) { /* no count of these, whose every value the verifier would follow */
			node = s->maple_root;
			last = ~0ULL;
			continue;
		}
		if (type == SP_MAPLE_LEAF) {
			*ret_last = last;
			return node;
		}
	}
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SP_MAX_FILES);
	__uint(key_size, sizeof(struct sp_file_key));
	__uint(value_size, 8);
} files SEC(".maps");

/*
 * New files for which a sample had no free element in `files`: the kernel keeps few ready on each CPU, four at first,
 * and makes more only after the sample, while a program may have more files (ffmpeg: 220). All elements of this map
 * exist beforehand. The user half moves its entries to `files`. Where this map is full as well, the file is counted as
 * lost, and announced with a later sample.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256); /* more where there are more than two CPUs */
	__uint(key_size, sizeof(struct sp_file_key));
	__uint(value_size, 8);
} new_files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} events SEC(".maps");

sp_u32 sp_last_file; /* the last file id given; 0 is none */

/* Ids that the user half has taken back from files; it does so only while nothing is sampled. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, SP_MAX_FREE_FILES); /* few where no file is forgotten */
	__uint(value_size, 4);
} free_files SEC(".maps");

/* Returns an id that no file has; 0: none is left. */
static __always_inline sp_u32 sp_file_number(void)
{
	sp_u32 id = 0;

	if (!bpf_map_pop_elem(&free_files, &id))
		return id;
	if (sp_last_file >= SP_MAX_FILES - 1)
		return 0;
	id = __sync_fetch_and_add(&sp_last_file, 1) + 1;
	return id < SP_MAX_FILES ? id : 0;
}

static __always_inline void sp_file_number_back(sp_u32 id)
{
	bpf_map_push_elem(&free_files, &id, 0);
}

/* Copies a file's basename from its dentry, to have a name if the file cannot be opened. */
static __always_inline void sp_file_basename(sp_u64 file, char *ret_name)
{
	sp_u64 dentry, name;

	ret_name[0] = 0;
	if (!file)
		return;
	dentry = sp_kload(file + bpf_core_field_offset(struct file, f_path.dentry));
	name = sp_kload(dentry + bpf_core_field_offset(struct dentry, d_name.name));
	bpf_probe_read_kernel_str(ret_name, SP_NAME_LEN, (void *)name);
}

static __always_inline sp_u32 sp_file_known(const struct sp_file_key *key)
{
	sp_u64 *id = bpf_map_lookup_elem(&files, key);

	if (!id)
		id = bpf_map_lookup_elem(&new_files, key);
	return id ? (sp_u32)*id : 0;
}

/* Keeps a file's id. 0: kept; *ret_is_new: in new_files, not in `files`. Counts it as lost where both have no room. */
static __always_inline long sp_file_keep(const struct sp_file_key *key, sp_u64 id, sp_u32 *ret_is_new)
{
	long r = bpf_map_update_elem(&files, key, &id, BPF_NOEXIST);

	*ret_is_new = r == -SP_ENOMEM;
	if (*ret_is_new)
		r = bpf_map_update_elem(&new_files, key, &id, BPF_NOEXIST);
	if (r == -SP_E2BIG)
		sp_tally(SP_N_LOST_FILES, 1);
	return r;
}

/*
 * Users who have made more new files than the user half will look at for now, by their numbers in the first user
 * namespace. Only in sessions that ask for it (sp_config.users).
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SP_MAX_OVER_USERS);
	__uint(key_size, 4);
	__uint(value_size, 4);
} over_users SEC(".maps");

/* Whether one entry is to stand for the file, and for all others that are new of the same user: then its key. */
static __always_inline int sp_file_is_over(sp_u32 uid, struct sp_file_key *key)
{
	if (!sp_config.users || key->dev >= SP_DEV_OVER || !bpf_map_lookup_elem(&over_users, &uid))
		return 0;
	*key = (struct sp_file_key){.ino = uid, .dev = SP_DEV_OVER};
	return 1;
}

/*
 * Gives a new file an id and announces it to the user half. 0: no id is left, or no room for the announcement
 * (counted).
 */
__noinline sp_u32 sp_file_announce(const struct sp_file_key *key, const struct sp_vma_view *view)
{
	struct sp_message_file *r;
	struct sp_file_key own; /* a copy: 6.1 accepts no map key in memory that a function got as argument */
	sp_u32 id, uid = bpf_get_current_uid_gid();

	if (!key || !view)
		return 0;
	own = *key;
	id = sp_file_known(&own);
	if (!id && sp_file_is_over(uid, &own))
		id = sp_file_known(&own);
	if (id)
		return id;
	id = sp_file_number();
	if (!id)
		return 0;
	r = bpf_ringbuf_reserve(&events, sizeof(*r), 0);
	if (!r) {
		sp_file_number_back(id);
		sp_tally(SP_N_LOST_FILES, 1);
		return 0;
	}
	r->type = SP_MESSAGE_FILE;
	r->id = id;
	r->key = own;
	r->start = view->start;
	r->end = view->end;
	r->pgoff = view->pgoff;
	r->tgid = view->tgid;
	r->uid = uid;
	sp_file_basename(view->file, r->name);
	if (sp_file_keep(&own, id, &r->is_new)) {
		/* Another CPU was faster, whose id stands, or the map is full. */
		bpf_ringbuf_discard(r, 0);
		sp_file_number_back(id);
		return sp_file_known(&own);
	}
	bpf_ringbuf_submit(r, 0);
	return id;
}

static __always_inline sp_u32 sp_file_id(const struct sp_file_key *key, const struct sp_vma_view *view)
{
	sp_u64 *id = bpf_map_lookup_elem(&files, key);

	return id ? (sp_u32)*id : sp_file_announce(key, view);
}

static __always_inline void sp_vma_view_by(int by_cast, sp_u64 vma, struct sp_vma_view *ret_view)
{
	ret_view->start = sp_kfield_by(by_cast, vma, struct vm_area_struct, vm_start);
	ret_view->end = sp_kfield_by(by_cast, vma, struct vm_area_struct, vm_end);
	ret_view->pgoff = sp_kfield_by(by_cast, vma, struct vm_area_struct, vm_pgoff) << 12;
	ret_view->file = sp_kfield_by(by_cast, vma, struct vm_area_struct, vm_file);
	ret_view->mm = sp_kfield_by(by_cast, vma, struct vm_area_struct, vm_mm);
	ret_view->flags = sp_kfield_by(by_cast, vma, struct vm_area_struct, vm_flags);
}

/* Reads what a mapping shows, and where. The caller fills in the process (tgid). */
static __always_inline void sp_vma_view_of(sp_u64 vma, struct sp_vma_view *ret_view)
{
	if (sp_has_cast())
		sp_vma_view_by(1, vma, ret_view);
	else
		sp_vma_view_by(0, vma, ret_view);
}

static __always_inline void sp_file_key_by(int by_cast, sp_u64 file, struct sp_file_key *ret_key)
{
	sp_u64 inode = sp_kfield_by(by_cast, file, struct file, f_inode);
	sp_u64 sb = sp_kfield_by(by_cast, inode, struct inode, i_sb);

	ret_key->ino = sp_kfield_by(by_cast, inode, struct inode, i_ino);
	ret_key->size = sp_kfield_by(by_cast, inode, struct inode, i_size);
	ret_key->mtime_ns = sp_inode_mtime_ns(by_cast, inode);
	ret_key->dev = sp_kfield_by(by_cast, sb, struct super_block, s_dev);
	ret_key->generation = sp_kfield_by(by_cast, inode, struct inode, i_generation);
}

static __always_inline void sp_file_key_of(sp_u64 file, struct sp_file_key *ret_key)
{
	if (sp_has_cast())
		sp_file_key_by(1, file, ret_key);
	else
		sp_file_key_by(0, file, ret_key);
}

#endif
